//! The names in results of `cellworks stats`: whether data is in a cache or in memory, the time
//! that the library adds to an operation, the kind of a start, and the SPEs that share a CPU.

use serde_json::Value;

use crate::common::tree::{Shape, Tree};
use crate::common::{Run, at_once, list, stats, stats_command, stats_on};

/// The only measurement of a report.
#[track_caller]
fn only(report: &Value) -> &Value {
    let measurements = list(report, "measurements");
    assert_eq!(measurements.len(), 1);
    &measurements[0]
}

/// The text without its line breaks.
fn in_a_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A computer with one CPU.
fn single() -> Tree {
    let one_cpu = Shape {
        sockets: 1,
        cells: 1,
        cores: 1,
        threads: 1,
    };
    Tree::new(one_cpu, "A single")
}

#[test]
fn data_that_fits_into_the_last_cache_is_named_cache_and_larger_data_memory() {
    let tree = single();
    let cache = "sys/devices/system/cpu/cpu0/cache/index3";
    tree.write(&format!("{cache}/size"), "4096K");
    at_once(
        [
            ("-f dmaget -b 16k", "cache", "cache-CPU"),
            ("-f dmaput -b 4m", "cache", "cache-CPU"),
            ("-f dmaget -b 5m", "partly", "partly-CPU"),
            ("-f dmaget -b 8m", "memory", "memory-CPU"),
            ("-f copy -b 2m", "cache", "cache-CPU"),
            ("-f copy -b 4m", "memory", "memory-CPU"),
            ("-f fetchadd", "cache", "cache-CPU"),
        ],
        |(flags, lies_in, said)| {
            let run =
                |format: &str| stats_on(&tree, &format!("{flags} -i 3 -w 1 --quiet {format}"));
            let report = run("--format json").json();
            let measurement = only(&report);
            assert_eq!(measurement["lies_in"], lies_in, "{flags}");
            // Names that scripts use do not change.
            assert_eq!(measurement["parameters"]["between"], "memory-spe");
            let table = run("");
            table.measured();
            assert!(
                table.out.contains(&format!("\n{said} ")),
                "{flags}: {}",
                table.out
            );
            let note = "partly: the last-level cache may hold a part of the data.";
            assert_eq!(
                table.out.contains(note),
                lies_in == "partly",
                "{}",
                table.out
            );
            assert!(run("--format csv").out.contains(",memory-spe,"));
        },
    );
    // If the size of a cache is unknown, it is unknown whether the data is in the cache.
    let report = stats_on(&single(), "-f dmaget -i 3 -w 1 --quiet --format json").json();
    assert!(only(&report)["lies_in"].is_null());
}

#[test]
fn an_odd_size_of_a_cache_is_noted_and_not_needed() {
    let tree = single();
    tree.write("sys/devices/system/cpu/cpu0/cache/index3/size", "much");
    let run = stats_on(&tree, "-f dmaget -i 3 -w 1 --format json");
    let note = "index3/size";
    assert!(run.measured().contains(note), "{}", run.err);
    assert!(
        run.err.contains("the size of a cache, such as 32768K"),
        "{}",
        run.err
    );
    assert!(only(&run.report())["lies_in"].is_null());
}

#[test]
fn a_simulated_cell_has_no_caches_and_no_bare_operations() {
    let report = stats("--machine qs20 -f fetchadd --format json").report();
    let measurement = only(&report);
    assert!(measurement["lies_in"].is_null());
    assert!(measurement["bare_ns"].is_null());
    let table = stats("--machine qs20 -f mkthread");
    assert!(!table.out.contains("waiting worker"), "{}", table.out);
}

#[test]
fn an_atomic_operation_stands_beside_the_instruction_of_the_processor() {
    for function in ["fetchadd", "fetchsub", "fetchinc", "fetchdec", "fetchset"] {
        let report = stats(&format!("-f {function} -i 20k --quiet --format json")).json();
        assert!(only(&report)["bare_ns"].as_f64().unwrap() > 0.0);
    }
    // With a column of doubts, the table has all columns only in the widest output.
    let table = Run::of(stats_command("-f fetchadd -i 20k --quiet").env("COLUMNS", "120"));
    table.measured();
    let heading = table.out.lines().find(|line| line.starts_with("between"));
    let heading: Vec<&str> = heading.unwrap().split_whitespace().collect();
    let at = heading.iter().position(|name| *name == "bare");
    assert_eq!(at.map(|at| heading[at + 1]), Some("adds"), "{}", table.out);
    let note = "bare: the median of the same by one instruction of the processor, without the library; the library \
                adds the rest of the median.";
    assert!(in_a_line(&table.out).contains(note), "{}", table.out);
    // A line is changed by a reservation, for which there is no single instruction. A copy is not
    // an atomic operation.
    for flags in ["-f fetchadd -b 128", "-f copy"] {
        let report = stats(&format!("{flags} -i 100 --quiet --format json")).json();
        assert!(only(&report)["bare_ns"].is_null());
    }
}

#[test]
fn a_start_is_on_a_waiting_worker_and_a_thread_is_measured_as_well() {
    let table = stats("-f mkthread -f osthread -i 50 --quiet");
    table.measured();
    for text in [
        "Each CPU has an OS thread that waits for programs: this is a start on a waiting worker. What it takes to \
         create an OS thread is measured by osthread.",
        "osthread: create a thread of the operating system and join it",
    ] {
        let plain = in_a_line(&table.out)
            .replace("\u{1b}[1m", "")
            .replace("\u{1b}[0m", "");
        assert!(plain.contains(text), "{plain}");
    }
    let report = stats("-f osthread --quiet --format json").json();
    assert_eq!(only(&report)["function"], "osthread");
    stats("-f osthread --machine qs20").refused(
        "error: -f: osthread creates threads of an operating system, and qs20 is simulated without one; \
         measure mkthread, or this computer\n  example: cellworks stats --machine qs20 -f mkthread\n",
    );
    stats("-f osthread -n 2").refused(
        "error: -n: 2 CPUs: no CPU takes part in osthread, whose threads the main thread creates one after the other; leave \
         it out\n  example: cellworks stats -f osthread -n 1\n",
    );
}

#[test]
fn a_cpu_that_both_ends_of_an_exchange_share_is_reported() {
    let tree = single();
    for function in ["mailbox", "signal", "wakeup"] {
        let run =
            |format: &str| stats_on(&tree, &format!("-f {function} -i 5 -w 1 --quiet {format}"));
        let report = run("--format json").json();
        assert_eq!(only(&report)["shared_cpu"], serde_json::json!([0]));
        let said = format!(
            "{function}, 1 CPU, main-CPU: the main thread and CPU 0 share one CPU and take turns on it, so the time is not one \
             between CPUs."
        );
        let table = run("");
        assert!(in_a_line(&table.out).contains(&said), "{}", table.out);
    }
    // With two CPUs, SPE 0 has its own CPU, and SPE 1 shares the CPU of the PPE.
    let two_cpus = Shape {
        sockets: 1,
        cells: 1,
        cores: 2,
        threads: 1,
    };
    let tree = Tree::new(two_cpus, "A pair");
    for (flags, shared) in [("-n 1", vec![]), ("-n 2", vec![1]), ("-n 2 -s", vec![])] {
        let arguments = format!("-f mailbox {flags} -i 5 -w 1 --quiet --format json");
        let report = stats_on(&tree, &arguments).json();
        assert_eq!(
            only(&report)["shared_cpu"],
            serde_json::json!(shared),
            "{flags}"
        );
    }
}
