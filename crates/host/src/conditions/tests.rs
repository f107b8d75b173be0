//! Tests of the conditions of other computers, which are given as trees of files or as numbers.

use std::collections::BTreeSet;

use cellworks_machine::{CellMachine, Machine, ModuleId, Span, SpeId};

use super::usage::{Periods, Reading, Spent, read_periods, read_stat};
use super::*;
use crate::cpu_time::cpu_time_of_this_thread;
use crate::cpus::list::write_list;
use crate::cpus::tests::machines;
use crate::cpus::tests::tree::{Tree, set};
use crate::host::HostBuilder;
use crate::skipped::skipped;

const MS: u64 = 1_000_000;

fn host(tree: &Tree) -> Host {
    Host::of(HostBuilder::default(), tree.source()).unwrap()
}

/// Returns the message of an error, without the path of the tree.
fn message<T>(tree: &Tree, result: Result<T, CpusError>) -> String {
    let error = result.map(drop).unwrap_err();
    error.to_string().replace(tree.root(), "")
}

/// Returns a computer of 8 CPUs, with all files, in a container that may use 2.5 of the CPUs.
fn computer() -> Tree {
    let tree = machines::one_socket(8);
    tree.write("sys/devices/system/cpu/online", "0-6\n");
    tree.write(
        "sys/devices/system/clocksource/clocksource0/current_clocksource",
        "hpet\n",
    );
    for cpu in 0..8 {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq");
        let governor = if cpu == 1 {
            "powersave\n"
        } else {
            "performance\n"
        };
        tree.write(format!("{folder}/scaling_governor"), governor);
        let khz = 3_000_000 + cpu;
        tree.write(format!("{folder}/cpuinfo_max_freq"), &format!("{khz}\n"));
    }
    tree.write("proc/loadavg", "7.25 3.50 1.00 2/345 6789\n");
    tree.write("proc/self/cgroup", "0::/pod\n");
    tree.write(
        "proc/self/mountinfo",
        "29 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n",
    );
    tree.write("cg/pod/cpu.max", "250000 100000\n");
    tree
}

#[test]
fn all_files_of_a_computer_are_read() {
    let tree = computer();
    let conditions = host(&tree).conditions().unwrap();
    assert_eq!(conditions.cpus, set("0-1"));
    assert_eq!(conditions.cpus_online, 7);
    let left_out: Vec<_> = conditions
        .left_out
        .iter()
        .map(|left_out| format!("CPU {}: {}", left_out.os_index, left_out.why))
        .collect();
    let unpaid = |cpu| format!("CPU {cpu}: not paid for by the quota of CPU time");
    let mut expected: Vec<_> = (2..=6).map(unpaid).collect();
    expected.push("CPU 7: offline".to_owned());
    assert_eq!(left_out, expected);
    assert_eq!(conditions.quota.as_ref().map(Quota::cpus), Some(2.5));
    assert_eq!(conditions.load_average, Some(7.25));
    let governors = [("performance", "0"), ("powersave", "1")];
    assert_eq!(
        conditions.governors,
        governors
            .map(|(name, cpus)| (name.to_owned(), set(cpus)))
            .into()
    );
    assert_eq!(conditions.highest_clock_hz, Some(3_000_001_000));
    assert_eq!(conditions.clock_source.as_deref(), Some("hpet"));
    assert_eq!(conditions.usage, Err(UsageUnknown::Hidden));
}

#[test]
fn a_computer_without_files_has_no_state() {
    let tree = Tree::empty();
    tree.write("sys/devices/system/cpu/online", "0\n");
    let conditions = host(&tree).conditions().unwrap();
    let expected = Conditions {
        clock: conditions.clock,
        clock_source: None,
        transparent_huge_pages: conditions.transparent_huge_pages.clone(),
        memory_left: conditions.memory_left.clone(),
        usage: Err(UsageUnknown::Hidden),
        ..quiet()
    };
    assert_eq!(conditions, expected);
}

#[test]
fn empty_files_of_governors_and_clocks_give_no_value() {
    let tree = computer();
    for cpu in 0..2 {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq");
        tree.write(format!("{folder}/scaling_governor"), "\n");
        tree.write(format!("{folder}/cpuinfo_max_freq"), "0\n");
    }
    let conditions = host(&tree).conditions().unwrap();
    assert_eq!(conditions.governors, BTreeMap::new());
    assert_eq!(conditions.highest_clock_hz, None);

    let most = "sys/devices/system/cpu/cpu1/cpufreq/cpuinfo_max_freq";
    tree.write(most, &format!("{}\n", u64::MAX));
    let conditions = host(&tree).conditions().unwrap();
    assert_eq!(conditions.highest_clock_hz, Some(u64::MAX));
}

#[test]
fn clocks_bound_figures_where_turbo_is_among_them() {
    let clock = |hz, driver: Option<&str>| NamedClock {
        hz,
        driver: driver.map(str::to_owned),
    };
    let pstate = |hz| clock(Some(hz), Some("intel_pstate"));
    assert_eq!(bound(&[pstate(3_000), pstate(5_000)]), Some(10_000));
    assert_eq!(bound(&[clock(Some(5_000), None)]), Some(10_000));
    assert_eq!(bound(&[pstate(u64::MAX)]), Some(u64::MAX));
    assert_eq!(bound(&[pstate(5_000), clock(None, None)]), None);
    let without_turbo = clock(Some(1_100), Some("acpi-cpufreq"));
    assert_eq!(bound(&[pstate(5_000), without_turbo]), None);
    assert_eq!(bound(&[]), None);
}

#[test]
fn the_clock_of_another_computer_bounds_nothing_here() {
    let conditions = host(&computer()).conditions().unwrap();
    assert_eq!(conditions.highest_clock_hz, Some(3_000_001_000));
    assert_eq!(conditions.clock_bound_hz, None);
}

#[test]
fn cpus_beyond_the_most_that_a_host_uses_are_left_out() {
    let tree = Tree::empty();
    tree.write("sys/devices/system/cpu/online", "0-4097\n");
    let host = host(&tree);
    assert_eq!(host.topology().spes().len(), 4_096);
    let left_out: Vec<_> = left_out(&host)
        .iter()
        .map(|left_out| format!("CPU {}: {}", left_out.os_index, left_out.why))
        .collect();
    let too_many = |cpu| format!("CPU {cpu}: beyond the 4096 CPUs that a host uses at most");
    assert_eq!(left_out, [4_096, 4_097].map(too_many));
}

#[test]
fn a_driver_that_does_not_answer_gives_no_value() {
    let tree = computer();
    let folder = "sys/devices/system/cpu/cpu0/cpufreq";
    for file in ["scaling_governor", "cpuinfo_max_freq"] {
        let file = format!("{folder}/{file}");
        tree.remove(&file);
        // Linux maps nothing at address 0, so reading this file fails with `EIO`.
        tree.link(&file, "/proc/self/mem");
    }
    let conditions = host(&tree).conditions().unwrap();
    assert_eq!(
        conditions.governors,
        [("powersave".to_owned(), set("1"))].into()
    );
    assert_eq!(conditions.highest_clock_hz, Some(3_000_001_000));
}

#[test]
fn this_computer_has_a_state() {
    let host = Host::new().unwrap();
    let conditions = host.conditions().unwrap();
    assert!(conditions.cpus_online >= 1);
    assert_eq!(conditions.cpus, host.used_cpus());
    assert!(
        conditions
            .memory_left
            .is_none_or(|left| left.bytes > 1 << 20)
    );
}

#[test]
fn the_choice_of_huge_pages_is_the_word_in_brackets() {
    let tree = Tree::empty();
    let choice = || memory::transparent_huge_pages(&tree.source());
    assert_eq!(choice().unwrap(), None);
    let file = "sys/kernel/mm/transparent_hugepage/enabled";
    tree.write(file, "always [madvise] never\n");
    assert_eq!(choice().unwrap().as_deref(), Some("madvise"));
    tree.write(file, "always madvise never\n");
    assert_eq!(
        message(&tree, choice()),
        format!(
            "/{file} reads \"always madvise never\", but a choice such as \"always [madvise] never\" \
             was expected; {REMEDY}"
        )
    );
}

#[test]
fn memory_is_what_the_kernel_and_the_groups_leave() {
    let tree = Tree::empty();
    let left = || memory::left(&tree.source()).unwrap();
    let available = || left().map(|left| left.bytes);
    assert_eq!(available(), None);
    tree.write(
        "proc/meminfo",
        "MemTotal: 9000 kB\nMemFree: 9 kB\nMemAvailable:   8000 kB\n",
    );
    assert_eq!(
        left().unwrap().to_string(),
        "8000 KB, the memory that this computer has left (MemAvailable in /proc/meminfo); end \
         programs that use memory"
    );

    tree.write("proc/self/cgroup", "5:memory:/old\n0::/pod/main\n");
    let mounts = "33 31 0:31 / /v1 rw - cgroup cgroup rw,memory\n\
                  29 23 0:26 / /v2 rw - cgroup2 cgroup2 rw\n";
    tree.write("proc/self/mountinfo", mounts);
    tree.write("v2/pod/main/memory.max", "max\n");
    tree.write("v2/pod/memory.max", "4000000\n");
    tree.write("v2/pod/memory.current", "3000000\n");
    assert_eq!(available(), Some(1_000_000));
    // Inactive files count as free memory.
    tree.write(
        "v2/pod/memory.stat",
        "anon 7\nfile 2100000\ninactive_file 2000000\n",
    );
    assert_eq!(available(), Some(3_000_000));

    tree.write("v1/old/memory.limit_in_bytes", "9223372036854771712\n");
    tree.write("v1/old/memory.usage_in_bytes", "3000000\n");
    assert_eq!(available(), Some(3_000_000));
    tree.write("v1/old/memory.limit_in_bytes", "3500000\n");
    assert_eq!(available(), Some(500_000));
    tree.write(
        "v1/old/memory.stat",
        "inactive_file 9\ntotal_inactive_file 100000\n",
    );
    assert_eq!(available(), Some(600_000));
    assert_eq!(
        left().unwrap().to_string().replace(tree.root(), ""),
        "585.9 KB, by the limit of a control group, 3500000 bytes (set in \
         /v1/old/memory.limit_in_bytes); raise it, or run this outside of the container"
    );
    // A limit may be lower than the used memory.
    tree.write("v1/old/memory.limit_in_bytes", "4096\n");
    assert_eq!(available(), Some(0));

    tree.write("v2/pod/memory.max", "much\n");
    assert_eq!(
        message(&tree, memory::left(&tree.source())),
        format!(
            "/v2/pod/memory.max reads \"much\", but a number of bytes or \"max\" was expected; {REMEDY}"
        )
    );
}

/// Returns conditions of a computer with one CPU. They cause no warning.
fn quiet() -> Conditions {
    Conditions {
        cpus: BTreeSet::from([0]),
        cpus_online: 1,
        left_out: Vec::new(),
        quota: None,
        load_average: None,
        usage: Ok(usage_of(&[(0, 0.0, 0.0)])),
        governors: BTreeMap::new(),
        highest_clock_hz: None,
        clock_bound_hz: None,
        clock_source: Some("tsc".to_owned()),
        clock: Clock {
            step: Some(Span::from_nanoseconds(20)),
            reading: Span::from_nanoseconds(28),
        },
        transparent_huge_pages: None,
        memory_left: None,
    }
}

#[test]
fn each_warning_has_the_problem_and_advice() {
    assert_eq!(quiet().warnings(), [""; 0]);
    let warning = |conditions: Conditions| {
        let [warning] = conditions.warnings().try_into().unwrap();
        warning
    };

    let on_two = Conditions {
        cpus_online: 2,
        ..quiet()
    };
    let load = |load| Conditions {
        load_average: Some(load),
        ..on_two.clone()
    };
    assert_eq!(load(2.0).warnings(), [""; 0]);
    assert_eq!(
        warning(load(3.456)),
        "3.46 threads on average wanted to run in the last minute, on 2 CPUs; wait until other \
         programs have ended"
    );

    let governed = |name: &str| Conditions {
        governors: [(name.to_owned(), set("0-7,9"))].into(),
        ..quiet()
    };
    assert_eq!(governed("performance").warnings(), [""; 0]);
    assert_eq!(
        warning(governed("schedutil")),
        "the frequency governor of CPUs 0-7,9 is `schedutil`, so the clock frequency changes with \
         the load; choose `performance`, for example with `cpupower frequency-set -g performance`"
    );

    let limited = |microseconds, left_out: &[u32]| Conditions {
        quota: Some(Quota {
            microseconds,
            period_microseconds: 100_000,
            set_in: "/sys/fs/cgroup/cpu.max".into(),
        }),
        left_out: left_out
            .iter()
            .map(|&os_index| LeftOut {
                os_index,
                why: WhyLeftOut::Quota,
            })
            .collect(),
        ..quiet()
    };
    assert_eq!(limited(100_000, &[]).warnings(), [""; 0]);
    assert_eq!(
        warning(limited(150_000, &[1])),
        "a quota leaves 1.50 CPUs (150000 us in each 100000 us, set in /sys/fs/cgroup/cpu.max) of \
         2 CPUs, and when it is used up, all threads stop until the period ends; raise it, or \
         measure outside of the container"
    );
    assert!(warning(limited(50_000, &[])).contains(" of 1 CPU, "));

    let usage = Conditions {
        usage: Ok(usage_of(&[(0, 0.5, 0.0)])),
        ..quiet()
    };
    assert_eq!(
        warning(usage),
        "other programs used 50 % of the time of CPU 0 just before the measurement; stop them, or \
         choose other CPUs with `taskset`"
    );
}

#[test]
fn unknown_usage_is_a_warning_with_its_cause() {
    let causes = [
        (UsageUnknown::TooShort, "less than 100 ms were watched"),
        (
            UsageUnknown::Hidden,
            "/proc/stat cannot be read, as in some containers",
        ),
        (
            UsageUnknown::Lacks(set("2-7")),
            "/proc/stat lacks CPUs 2-7, so it may number the CPUs in its own way, as lxcfs has it \
             in containers",
        ),
        (
            UsageUnknown::StandsStill,
            "the times in /proc/stat stand still, as in some sandboxes",
        ),
    ];
    for (why, cause) in causes {
        let conditions = Conditions {
            usage: Err(why),
            ..quiet()
        };
        assert_eq!(
            conditions.warnings(),
            [format!(
                "it cannot be told whether other programs use the CPUs: {cause}; see to it that \
                 they do not, or measure outside of the container"
            )]
        );
        assert_eq!(conditions.disturbances(), [""; 0]);
    }
}

#[test]
fn a_clock_that_is_no_good_is_warned_of() {
    let warnings = |name: Option<&str>, step: Option<u64>, reading| {
        let conditions = Conditions {
            clock_source: name.map(str::to_owned),
            clock: Clock {
                step: step.map(Span::from_nanoseconds),
                reading: Span::from_nanoseconds(reading),
            },
            ..quiet()
        };
        conditions.warnings()
    };
    let remedy = "so latencies of single operations are not known; choose a better one of \
                  /sys/devices/system/clocksource/clocksource0/available_clocksource, such as \
                  `tsc`, by writing its name to current_clocksource beside it";
    assert_eq!(warnings(Some("hpet"), Some(100), 200), [""; 0]);
    assert_eq!(
        warnings(Some("acpi_pm"), Some(280), 900),
        [format!(
            "the clock (clock source `acpi_pm`) goes in steps of 280.0 ns, {remedy}"
        )]
    );
    assert_eq!(
        warnings(Some("hpet"), Some(70), 850),
        [format!(
            "the clock (clock source `hpet`) takes 850.0 ns to read, {remedy}"
        )]
    );
    assert_eq!(
        warnings(None, None, 25),
        [format!("the clock stood still while it was read, {remedy}")]
    );
    for name in ["tsc", "arch_sys_counter"] {
        assert_eq!(
            warnings(Some(name), Some(280), 25),
            [format!(
                "the clock (clock source `{name}`) goes in steps of 280.0 ns, so latencies of \
                 single operations are not known; it is the counter of the processor, and Linux \
                 has no better one: measure on another computer, or without the emulator or \
                 virtual machine"
            )]
        );
    }
}

/// Returns two readings, one second apart. `cpus` contains for each CPU: its number, and the
/// milliseconds of programs, of interrupts and of other virtual machines.
fn second(cpus: &[(u32, u64, u64, u64)]) -> [Reading; 2] {
    let before = Reading {
        at_ns: 7_000 * MS,
        cpus: Ok(cpus
            .iter()
            .map(|&(cpu, ..)| (cpu, Spent::default()))
            .collect()),
        cores: cpus.iter().map(|&(cpu, ..)| (cpu, [cpu].into())).collect(),
        own_ns: cpus.iter().map(|&(cpu, ..)| (cpu, 0)).collect(),
        process_ns: 0,
        periods: None,
    };
    let mut after = before.clone();
    after.at_ns += 1_000 * MS;
    for &(cpu, busy, interrupts, stolen) in cpus {
        let spent = Spent {
            idle_ns: (1_000 - busy - interrupts - stolen) * MS,
            interrupts_ns: interrupts * MS,
            stolen_ns: stolen * MS,
            all_ns: 1_000 * MS,
        };
        after.cpus.as_mut().unwrap().insert(cpu, spent);
    }
    [before, after]
}

/// Returns the number of each CPU, and the shares of other programs and of the hypervisor.
fn shares(usage: &Usage) -> Vec<(u32, f64, f64)> {
    let of = |cpu: &CpuUsage| (cpu.cpu, cpu.by_others, cpu.stolen);
    usage.cpus.iter().map(of).collect()
}

fn usage_of(cpus: &[(u32, f64, f64)]) -> Usage {
    let mean =
        |of: fn(&(u32, f64, f64)) -> f64| cpus.iter().map(of).sum::<f64>() / cpus.len() as f64;
    Usage {
        elapsed: Span::from_nanoseconds(1_000 * MS),
        by_others: mean(|cpu| cpu.1),
        stolen: mean(|cpu| cpu.2),
        throttled: None,
        cpus: cpus
            .iter()
            .map(|&(cpu, by_others, stolen)| CpuUsage {
                cpu,
                by_others,
                stolen,
            })
            .collect(),
        siblings: Vec::new(),
    }
}

#[test]
fn a_busy_loop_beside_an_spe_is_seen_on_its_cpu() {
    let [before, mut after] = second(&[(0, 1_000, 0, 0), (1, 900, 20, 0)]);
    // SPEs ran on both CPUs. Another program also ran on CPU 0.
    after.own_ns = [(0, 500 * MS), (1, 900 * MS)].into();
    after.process_ns = 1_400 * MS;
    let usage = before.usage_until(&after).unwrap();
    assert_eq!(shares(&usage), [(0, 0.5, 0.0), (1, 0.0, 0.0)]);
    assert_eq!((usage.by_others, usage.stolen), (0.25, 0.0));
    assert_eq!(
        usage.disturbances(),
        [
            "other programs used 50 % of the time of CPU 0 during the measurement; stop them, or \
             choose other CPUs with `taskset`"
        ]
    );
}

#[test]
fn time_of_the_process_on_unknown_cpus_is_subtracted_from_every_cpu() {
    let [before, mut after] = second(&[(0, 600, 0, 0), (1, 450, 0, 0)]);
    after.own_ns = [(0, 300 * MS), (1, 350 * MS)].into();
    // The process used 150 ms more than its pinned threads.
    after.process_ns = 800 * MS;
    let usage = before.usage_until(&after).unwrap();
    assert_eq!(shares(&usage), [(0, 0.15, 0.0), (1, 0.0, 0.0)]);
    assert_eq!(usage.by_others, 0.125);
}

#[test]
fn the_sum_is_used_if_threads_are_not_pinned() {
    let [before, mut after] = second(&[(0, 900, 0, 0), (1, 900, 0, 0)]);
    after.process_ns = 1_000 * MS;
    let usage = before.usage_until(&after).unwrap();
    assert_eq!(shares(&usage), [(0, 0.0, 0.0), (1, 0.0, 0.0)]);
    assert_eq!(
        usage.disturbances(),
        [
            "other programs used 40 % of the time of CPUs 0-1 during the measurement; stop them, \
             or choose other CPUs with `taskset`"
        ]
    );
}

#[test]
fn other_virtual_machines_are_not_other_programs() {
    let [before, mut after] = second(&[(0, 800, 0, 150), (1, 800, 0, 0), (4, 800, 0, 70)]);
    after.own_ns = [(0, 800 * MS), (1, 800 * MS), (4, 800 * MS)].into();
    after.process_ns = 2_400 * MS;
    let usage = before.usage_until(&after).unwrap();
    assert_eq!(
        shares(&usage),
        [(0, 0.0, 0.15), (1, 0.0, 0.0), (4, 0.0, 0.07)]
    );
    assert_eq!(
        usage.disturbances(),
        [
            "the hypervisor gave up to 15 % of the time of CPUs 0,4 to others during the \
             measurement; measure while its other virtual machines are quiet, or on one that has \
             its CPUs for itself"
        ]
    );
}

#[test]
fn daemons_and_interrupts_do_not_disturb() {
    let [before, after] = second(&[(0, 90, 300, 40), (1, 20, 0, 0)]);
    let usage = before.usage_until(&after).unwrap();
    assert_eq!(shares(&usage), [(0, 0.09, 0.04), (1, 0.02, 0.0)]);
    assert_eq!(usage.disturbances(), [""; 0]);
}

#[test]
fn one_disturbed_cpu_of_hundreds_is_found() {
    let mut cpus: Vec<_> = (0..576).map(|cpu| (cpu, 5, 0, 0)).collect();
    cpus[300].1 = 480;
    let [before, after] = second(&cpus);
    let usage = before.usage_until(&after).unwrap();
    assert!(usage.by_others < 0.006);
    assert_eq!(
        usage.disturbances(),
        [
            "other programs used 48 % of the time of CPU 300 during the measurement; stop them, \
             or choose other CPUs with `taskset`"
        ]
    );
}

#[test]
fn others_may_use_the_cpus_that_are_not_measured() {
    let [before, mut after] = second(&[(0, 500, 0, 0), (1, 1_000, 0, 0), (2, 500, 0, 0)]);
    after.own_ns = [(0, 500 * MS), (1, 0), (2, 500 * MS)].into();
    after.process_ns = 1_000 * MS;
    let usage = before.usage_until(&after).unwrap();
    assert_eq!(shares(&usage), [(0, 0.0, 0.0), (2, 0.0, 0.0)]);
    assert_eq!(usage.by_others, 0.0);
}

#[test]
fn a_busy_sibling_of_a_measured_cpu_is_seen() {
    let busy = [(0, 900), (1, 900), (2, 50), (4, 800), (5, 300), (6, 1_000)];
    let [mut before, mut after] = second(&busy.map(|(cpu, busy)| (cpu, busy, 0, 0)));
    // The host uses CPUs 0, 1, 2, 5 and 6, but not CPU 4. Only CPUs 0 and 1 were measured.
    before.cores = [(0, "0,4"), (1, "1,5"), (2, "2,6"), (5, "1,5"), (6, "2,6")]
        .map(|(cpu, core)| (cpu, set(core)))
        .into();
    after.own_ns = [(0, 900 * MS), (1, 900 * MS)].into();
    after.process_ns = 1_800 * MS;
    let usage = before.usage_until(&after).unwrap();
    assert_eq!(shares(&usage), [(0, 0.0, 0.0), (1, 0.0, 0.0)]);
    let siblings: Vec<_> = usage.siblings.iter().collect();
    let sibling = |cpu, shares_core_with, by_others| SiblingUsage {
        cpu,
        shares_core_with,
        by_others,
    };
    assert_eq!(siblings, [&sibling(4, 0, 0.8), &sibling(5, 1, 0.3)]);
    assert_eq!(
        usage.by_others, 0.0,
        "no other program used the measured CPUs"
    );
    assert_eq!(
        usage.disturbances(),
        [
            "other programs used up to 80 % of the time of CPUs 4-5, which share cores with CPUs \
             0-1, during the measurement; stop them, or choose other CPUs with `taskset`"
        ]
    );

    // The process used this time on unknown CPUs.
    after.process_ns += 250 * MS;
    assert_eq!(
        before.usage_until(&after).unwrap().disturbances(),
        [
            "other programs used 55 % of the time of CPU 4, which shares a core with CPU 0, during \
             the measurement; stop them, or choose other CPUs with `taskset`"
        ]
    );

    // CPU 5 is measured now, and CPU 4 is offline.
    after.own_ns.insert(5, 50 * MS);
    after.process_ns += 50 * MS;
    after.cpus.as_mut().unwrap().remove(&4);
    let usage = before.usage_until(&after).unwrap();
    assert_eq!((usage.cpus.len(), usage.siblings), (3, vec![]));
}

#[test]
fn siblings_outside_of_the_mask_are_those_of_the_cores() {
    let tree = machines::xeon_e5_2680_v4_twice();
    let cpus = tree.read("0-2");
    let host = Host::with_cpus(HostBuilder::default(), tree.source(), cpus).unwrap();
    let watch = host.watch().unwrap();
    let cores = ["0,28", "1,29", "2,30"].map(set);
    assert!(watch.start.cores.values().eq(&cores));
}

#[test]
fn a_short_time_takes_more_to_be_sure() {
    let [before, after] = second(&[(0, 1_000, 0, 0)]);
    let until = |ms: u64, idle_ms: u64| {
        let mut after = after.clone();
        after.at_ns = before.at_ns + ms * MS;
        let spent = after.cpus.as_mut().unwrap().get_mut(&0).unwrap();
        spent.all_ns = ms * MS;
        spent.idle_ns = idle_ms * MS;
        before.usage_until(&after)
    };
    assert_eq!(until(99, 0), Err(UsageUnknown::TooShort));
    // 40 ms of 200 ms are 20 %, but are ignored: they are only four steps of `/proc/stat`.
    assert_eq!(until(200, 160).unwrap().disturbances(), [""; 0]);
    assert_eq!(until(200, 140).unwrap().disturbances().len(), 1);
}

#[test]
fn a_quota_that_was_used_up_disturbs() {
    let [mut before, mut after] = second(&[(0, 0, 0, 0)]);
    let periods = |all, throttled| Some(Periods { all, throttled });
    before.periods = periods(100, 40);
    after.periods = periods(110, 40);
    assert_eq!(before.usage_until(&after).unwrap().throttled, Some(0.0));
    after.periods = periods(110, 44);
    assert_eq!(
        before.usage_until(&after).unwrap().disturbances(),
        [
            "the quota of CPU time was used up in 40 % of its periods during the measurement, and \
             all threads stopped; raise it, or measure outside of the container"
        ]
    );
}

#[test]
fn cpus_that_the_system_does_not_show_are_unknown() {
    let [before, mut after] = second(&[(0, 500, 0, 0), (1, 500, 0, 0)]);
    after.cpus.as_mut().unwrap().remove(&0);
    assert_eq!(
        shares(&before.usage_until(&after).unwrap()),
        [(1, 0.5, 0.0)]
    );
    // In some sandboxes the times never change.
    after.cpus.clone_from(&before.cpus);
    let still = Err(UsageUnknown::StandsStill);
    assert_eq!(before.usage_until(&after), still);
    // A hidden file is reported even if the time was too short.
    after.cpus = Err(UsageUnknown::Hidden);
    after.at_ns = before.at_ns;
    assert_eq!(before.usage_until(&after), Err(UsageUnknown::Hidden));
}

#[test]
fn times_of_cpus_are_read_from_their_columns() {
    let tree = Tree::empty();
    tree.write(
        "proc/stat",
        "cpu  9 9 9 9 9 9 9 9 9 9\n\
         cpu0 1 2 3 4 5 6 7 8 9 10\n\
         cpu1 9 9 9 9 9 9 9 9 9 9\n\
         cpu12 10 20 30 40\n\
         intr 1 2 3\n",
    );
    let tick_ns = 1_000 * MS / rustix::param::clock_ticks_per_second();
    let spent = |idle, interrupts, stolen, all| Spent {
        idle_ns: idle * tick_ns,
        interrupts_ns: interrupts * tick_ns,
        stolen_ns: stolen * tick_ns,
        all_ns: all * tick_ns,
    };
    let read = |there| read_stat(&tree.source(), &set(there)).unwrap();
    let expected = [
        (0, spent(9, 13, 8, 36)),
        (1, spent(18, 18, 9, 72)),
        (12, spent(40, 0, 0, 100)),
    ];
    assert_eq!(read("0,12"), Ok(expected.into()));
    assert_eq!(read("0,12-14"), Err(UsageUnknown::Lacks(set("13-14"))));
    tree.write("proc/stat", "");
    assert_eq!(read("0"), Err(UsageUnknown::Hidden));
}

#[test]
fn times_that_lxcfs_shows_are_those_of_other_cpus() {
    // If a container has CPUs 2 and 5, lxcfs gives them the numbers 0 and 1.
    let tree = machines::one_socket(8);
    tree.write("proc/stat", "cpu0 1 2 3 4\ncpu1 1 2 3 4\n");
    let lacks = |allowed: &str| {
        let cpus = tree.read(allowed);
        let host = Host::with_cpus(HostBuilder::default(), tree.source(), cpus).unwrap();
        match host.watch().unwrap().read().unwrap() {
            Err(UsageUnknown::Lacks(cpus)) => Some(write_list(&cpus)),
            // On a slow computer, enough time passes to see that these times stand still.
            Err(UsageUnknown::TooShort | UsageUnknown::StandsStill) => None,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(lacks("2,5").as_deref(), Some("2-7"));
    // lxcfs may also provide the file `online`, which then lacks CPUs of the host.
    tree.write("sys/devices/system/cpu/online", "0-1\n");
    assert_eq!(lacks("2,5").as_deref(), Some("2,5"));
    assert_eq!(lacks("1-2").as_deref(), Some("2"));
    // The numbers of lxcfs are correct if the container has the first CPUs, or all CPUs.
    assert_eq!(lacks("0-1"), None);
}

#[test]
fn the_time_of_pinned_threads_is_known_by_cpu() {
    let busy = || {
        let before_ns = cpu_time_of_this_thread();
        while cpu_time_of_this_thread() < before_ns + 20 * MS {
            std::hint::spin_loop();
        }
    };
    let host = Host::new().unwrap();
    let place = host.topology().place_of(SpeId::new(0)).to_owned();
    let used = |place: &str| {
        let watch = host.watch().unwrap();
        let cpu = place.trim_start_matches("CPU ").parse().unwrap();
        watch.start.own_ns[&cpu]
    };
    host.run(|ppe| ppe.spawn(SpeId::new(0), |_| busy()).join().unwrap())
        .unwrap();
    let by_spe_ns = used(&place);
    assert!(by_spe_ns >= 20 * MS, "{by_spe_ns}");

    let place = format!("CPU {}", host.layout.ppe_cpu);
    let before_ns = used(&place);
    host.run(|_| busy()).unwrap();
    let by_ppe_ns = used(&place) - before_ns;
    assert!(by_ppe_ns >= 20 * MS, "{by_ppe_ns}");
}

#[test]
fn cpus_that_went_away_are_named() {
    let tree = machines::one_socket(8);
    let host = host(&tree);
    host.check_cpus().unwrap();
    let after = "while the host still has SPEs there; give them back, or start again to do with \
                 those that are left";
    tree.write("sys/devices/system/cpu/online", "0-2,4-7\n");
    assert_eq!(
        message(&tree, host.check_cpus()),
        format!("CPU 3 went offline, {after}")
    );
    tree.write("sys/devices/system/cpu/online", "0-2,7\n");
    assert_eq!(
        message(&tree, host.check_cpus()),
        format!("CPUs 3-6 went offline, {after}")
    );

    let gone = |cpu, why| LeftOut { os_index: cpu, why };
    let error = CpusError::Gone(vec![
        gone(1, WhyLeftOut::Offline),
        gone(2, WhyLeftOut::NotAllowed),
        gone(3, WhyLeftOut::NotAllowed),
    ]);
    assert_eq!(
        error.to_string(),
        format!(
            "CPU 1 went offline and CPUs 2-3 may no longer be used by this process (`taskset`, a \
             cpuset or the container), {after}"
        )
    );
}

#[test]
fn a_cpu_that_no_spe_has_may_go() {
    let tree = machines::one_socket(8);
    let host = Host::of(Host::builder().spes(2), tree.source()).unwrap();
    tree.write("sys/devices/system/cpu/online", "0-1,7\n");
    host.check_cpus().unwrap();
    tree.write("sys/devices/system/cpu/online", "1,7\n");
    host.check_cpus().unwrap_err();
}

#[test]
fn a_thread_that_may_use_fewer_cpus_than_the_host_is_told() {
    let host = Host::new().unwrap();
    host.check_cpus().unwrap();
    let mut used = host.used_cpus();
    let only = used.pop_first().unwrap();
    let pinned = std::thread::scope(|scope| {
        let check = || {
            crate::pin::Pinned::to(only).unwrap().for_good();
            host.check_cpus()
        };
        scope.spawn(check).join().unwrap()
    });
    match pinned {
        Ok(()) => {
            assert!(used.is_empty());
            skipped("the host has one CPU, and a thread cannot be kept from all");
        }
        Err(CpusError::Gone(gone)) => {
            assert!(gone.iter().map(|gone| gone.os_index).eq(used));
            assert!(gone.iter().all(|gone| gone.why == WhyLeftOut::NotAllowed));
        }
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn programs_run_on_though_their_cpus_went_away() {
    let tree = machines::one_socket(8);
    let host = host(&tree);
    tree.write("sys/devices/system/cpu/online", "0\n");
    let answer = host.run(|ppe| {
        let programs: Vec<_> = (0..8)
            .map(|spe| ppe.spawn(SpeId::new(spe), move |_| spe))
            .collect();
        programs
            .into_iter()
            .map(|program| program.join().unwrap())
            .sum::<u16>()
    });
    assert_eq!(answer.unwrap(), 28);
    host.check_cpus().unwrap_err();
}

const REMEDY: &str = "if a container or emulator provides this file, correct it there, \
                      otherwise report it with the output of `uname -a`";

#[test]
fn malformed_files_are_named() {
    let cases = [
        (
            "proc/loadavg",
            "low\n",
            "low",
            "load averages such as \"0.32 0.22 0.36 4/98 4553\"",
        ),
        (
            "proc/loadavg",
            "-1 0 0\n",
            "-1 0 0",
            "load averages such as \"0.32 0.22 0.36 4/98 4553\"",
        ),
        (
            "proc/stat",
            "cpu0 1 2 3\n",
            "cpu0 1 2 3",
            "ticks in at least four columns such as \"cpu0 1520 0 848 91317\"",
        ),
        (
            "proc/stat",
            "cpu0 1 2 3 4 x\n",
            "cpu0 1 2 3 4 x",
            "ticks in at least four columns such as \"cpu0 1520 0 848 91317\"",
        ),
        (
            "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",
            "fast\n",
            "fast",
            "a clock frequency in kHz",
        ),
        (
            "cg/pod/cpu.stat",
            "nr_periods 3\nnr_throttled few\n",
            "nr_throttled few",
            "\"nr_throttled\" and a number",
        ),
    ];
    let tree = computer();
    let host = host(&tree);
    for (file, content, shown, expected) in cases {
        tree.write(file, content);
        assert_eq!(
            message(&tree, host.conditions()),
            format!("/{file} reads {shown:?}, but {expected} was expected; {REMEDY}"),
        );
        tree.remove(file);
    }
    host.conditions().unwrap();
}

#[test]
fn the_periods_of_a_quota_are_beside_it() {
    let tree = computer();
    let periods = || read_periods(host(&tree).cpus.quota.as_ref().unwrap()).unwrap();
    assert_eq!(periods(), None);
    tree.write(
        "cg/pod/cpu.stat",
        "usage_usec 12\nnr_periods 20\nnr_throttled 3\nthrottled_usec 7\n",
    );
    let expected = Periods {
        all: 20,
        throttled: 3,
    };
    assert_eq!(periods(), Some(expected));
}

#[test]
fn hundreds_of_spes_run_on_the_cpus_that_are_here() {
    let tree = machines::hundreds_of_cpus();
    let host = host(&tree);
    let topology = host.topology();
    assert_eq!(topology.name(), "A large processor");
    assert_eq!(
        (
            topology.spes().len(),
            topology.cells().len(),
            topology.modules().len()
        ),
        (576, 24, 2)
    );
    let root = tree.root();
    assert_eq!(
        host.warnings()[0],
        format!(
            "CELLWORKS_FSROOT is set: the CPUs and memory modules are those described in {root}, \
             but the times are those of this computer"
        )
    );
    let answer = host.run(|ppe| {
        let far = ppe.spawn(SpeId::new(574), |_| 40);
        ppe.spawn(SpeId::new(0), |_| 2).join().unwrap() + far.join().unwrap()
    });
    assert_eq!(answer.unwrap(), 42);
    for module in topology.modules() {
        host.allocate(module, 4096).unwrap();
    }
}

#[test]
fn each_spe_of_a_cell_over_two_memory_nodes_has_the_memory_of_its_cpu() {
    let host = host(&machines::sub_numa_clustering());
    let topology = host.topology();
    let modules = topology.spes().map(|spe| topology.module_of(spe).index());
    let places = topology.spes().map(|spe| topology.place_of(spe).to_owned());
    let expected = [
        ("CPU 0", 0),
        ("CPU 4", 0),
        ("CPU 2", 2),
        ("CPU 6", 2),
        ("CPU 1", 1),
        ("CPU 5", 1),
        ("CPU 3", 3),
        ("CPU 7", 3),
    ];
    let expected = expected.map(|(place, module)| (place.to_owned(), module));
    assert_eq!(places.zip(modules).collect::<Vec<_>>(), expected);
    let nearest = topology.cells().map(|cell| topology.nearest_module(cell));
    let nearest: Vec<_> = nearest.map(ModuleId::index).collect();
    assert_eq!(nearest, [0, 1]);
    // Mistakes of the firmware are shown to the user.
    let tree = machines::sub_numa_clustering();
    tree.node(3, "3,7", 1, "10");
    let warnings = self::host(&tree).warnings().to_vec();
    assert!(
        warnings[1].starts_with("a file is not used: ") && warnings[1].contains("node3/distance"),
        "{warnings:?}"
    );
}

#[test]
fn cells_without_memory_of_their_own_are_named() {
    let tree = machines::xeon_e5_2680_v4_twice();
    let modules = |tree: &Tree| {
        let host = host(tree);
        let topology = host.topology();
        let nearest = topology.cells().map(|cell| topology.nearest_module(cell));
        let nearest: Vec<_> = nearest.map(ModuleId::index).collect();
        for module in topology.modules() {
            host.allocate(module, 4096).unwrap();
        }
        let warnings = host.warnings();
        let about_memory = warnings.iter().filter(|warning| warning.contains("NUMA"));
        (
            topology.modules().len(),
            nearest,
            about_memory.cloned().collect::<Vec<_>>(),
        )
    };
    assert_eq!(modules(&tree), (2, vec![0, 1], vec![]));

    tree.write("proc/self/status", "Mems_allowed_list:\t0\n");
    let forbidden = "NUMA node 1 has no memory that this process may use (a cpuset, or \
                     `--cpuset-mems`), so CPUs 14-27,42-55 are next to no memory, \
                     and that of node 0 counts as theirs; choose CPUs of node 0 with \
                     `taskset` where this matters";
    assert_eq!(modules(&tree), (1, vec![0, 0], vec![forbidden.to_owned()]));
    tree.remove("proc/self/status");

    tree.node(0, "0-13,28-41", 0, "10 21");
    let empty = "NUMA node 0 has no memory, so CPUs 0-13,28-41 are next to no memory, \
                 and that of node 1 counts as theirs; choose CPUs of node 1 with \
                 `taskset` where this matters";
    assert_eq!(modules(&tree), (1, vec![1, 1], vec![empty.to_owned()]));
}

#[test]
fn a_cpu_beyond_all_masks_is_one_that_nothing_is_pinned_to() {
    let tree = Tree::empty();
    tree.write("sys/devices/system/cpu/online", "5000\n");
    let host = host(&tree);
    assert_eq!(
        host.warnings()[1],
        "threads cannot be pinned to CPU 5000: Invalid argument (os error 22); results may \
         depend on where the system moves them"
    );
    let answer = host.run(|ppe| ppe.spawn(SpeId::new(0), |_| 42).join().unwrap());
    assert_eq!(answer.unwrap(), 42);
}

#[test]
fn memory_of_this_computer_is_at_home_on_no_module_of_another() {
    let host = host(&machines::xeon_e5_2680_v4_twice());
    let region = host.allocate(ModuleId::new(1), 4096).unwrap();
    assert_eq!(host.home_of(region.at(0)), None);
}

#[test]
fn a_folder_without_a_computer_is_refused_with_what_it_lacks() {
    let tree = Tree::empty();
    tree.write("file", "");
    let refused = |root: &str| {
        let source = Source {
            root: format!("{}{root}", tree.root()).into(),
        };
        let result = Host::of(HostBuilder::default(), source).map(drop);
        result
            .unwrap_err()
            .to_string()
            .replace(tree.root(), "/folder")
    };
    let expected = |root: &str, lack: &str| {
        format!(
            "CELLWORKS_FSROOT names /folder{root}, {lack}; have it name a folder with the `sys` and \
             `proc` of a computer, or unset it to use this computer"
        )
    };
    assert_eq!(refused("/none"), expected("/none", "which does not exist"));
    assert_eq!(refused("/file"), expected("/file", "which is not a folder"));
    assert_eq!(
        refused("/file/below"),
        expected(
            "/file/below",
            "which cannot be looked at: Not a directory (os error 20)"
        )
    );
    let lack = "which has no file `sys/devices/system/cpu/online`, or an empty one, and no folder \
                `cpu0` beside it";
    assert_eq!(refused(""), expected("", lack));
    tree.write("sys/devices/system/cpu/online", "");
    assert_eq!(refused(""), expected("", lack));

    tree.write("sys/devices/system/cpu/online", "all\n");
    assert_eq!(
        refused(""),
        "the CPUs of the computer in /folder cannot be read: \
         /folder/sys/devices/system/cpu/online reads \"all\", but a list of numbers below 65536 \
         such as \"0-3,8,10-11\" was expected; if a container or emulator provides this file, \
         correct it there, otherwise report it with the output of `uname -a`"
    );
}
