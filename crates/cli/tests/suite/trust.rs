//! `cellworks stats` with unreliable numbers: beside a busy program, and with a wrong clock.
#![cfg(target_os = "linux")]

use std::fs;
use std::mem::zeroed;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::{Run, is_emulated, list, skipped, stats, stats_command};

/// The CPUs that this process may use.
fn allowed() -> Vec<usize> {
    // SAFETY: a set of CPUs consists of integers, for which zero is a valid value.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    // SAFETY: `set` is valid for writes of its size.
    let answered = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) };
    assert_eq!(answered, 0);
    // SAFETY: each number is below the size of the set.
    let is_in = |cpu: &usize| unsafe { libc::CPU_ISSET(*cpu, &set) };
    (0..libc::CPU_SETSIZE as usize).filter(is_in).collect()
}

/// Starts a thread that keeps a CPU busy until `stop` is set.
fn keep_busy<'s>(scope: &'s Scope<'s, '_>, cpu: usize, stop: &'s AtomicBool) {
    scope.spawn(move || {
        // SAFETY: a set of CPUs consists of integers, for which zero is a valid value.
        let mut set: libc::cpu_set_t = unsafe { zeroed() };
        // SAFETY: the number is below the size of the set, and the set is valid for reads of its
        // size.
        let pinned = unsafe {
            libc::CPU_SET(cpu, &mut set);
            libc::sched_setaffinity(0, size_of_val(&set), &raw const set)
        };
        assert_eq!(pinned, 0);
        while !stop.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    });
}

/// Stops the busy threads even if an assertion fails. Otherwise their scope would wait forever.
struct StopOnDrop<'s>(&'s AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_run_beside_busy_loops_is_refused() {
    let stop = AtomicBool::new(false);
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    let one = "-f mailbox --budget 500ms --quiet";
    let (json, table): (Run, Run) = std::thread::scope(|scope| {
        let _stop = StopOnDrop(&stop);
        for cpu in allowed() {
            keep_busy(scope, cpu, &stop);
        }
        (
            stats(&format!("{one} --format json --html {}", page.display())),
            stats(one),
        )
    });
    let report = json.json();
    if report["environment"]["host"]["busy_during"].is_null() {
        return skipped("/proc/stat does not show who uses a CPU, as in some sandboxes");
    }
    let why = "of the time of CPU";
    let what_to_do = "during the measurement; stop them, or choose other CPUs with `taskset`";
    for run in [&json, &table] {
        run.measured();
        assert_eq!(run.code, Some(3), "{}", run.err);
        let is_reason = |line: &str| {
            line.starts_with("  other programs used ")
                && line.contains(why)
                && line.ends_with(what_to_do)
        };
        assert!(run.err.lines().any(is_reason), "{}", run.err);
    }
    assert_eq!(report["trust"]["trustworthy"], false);
    assert_eq!(report["trust"]["kinds"][0], "disturbed");
    // The report still contains the measurement.
    assert_eq!(report["measurements"].as_array().unwrap().len(), 1);
    assert_eq!(report["complete"], true);
    let page = std::fs::read_to_string(&page).unwrap();
    for shown in [&table.out, &page] {
        assert!(shown.contains("Not trustworthy"), "{shown}");
        assert!(shown.contains("other programs used"), "{shown}");
    }
}

/// Asserts that a run with `--until-trusted` is trustworthy if its measurements are, and only then.
#[track_caller]
fn judged_by_its_measurements(run: &Run) -> Vec<Value> {
    let report = run.json();
    let measurements = list(&report, "measurements");
    let doubts = |one: &Value| one["doubts"].as_array().unwrap().clone();
    let doubts: Vec<Value> = measurements.iter().flat_map(doubts).collect();
    // Wide intervals spoil a run only if more than half of the medians have one.
    let wide = doubts.iter().filter(|doubt| **doubt == "uncertain").count();
    let is_spoiled = wide < doubts.len() || 2 * wide > measurements.len();
    assert_eq!(report["trust"]["trustworthy"], !is_spoiled, "{report}");
    doubts
}

#[test]
fn what_was_disturbed_is_measured_again_until_the_time_is_over() {
    let flags = "-f mailbox -f fetchadd --budget 600ms --quiet --format json --until-trusted";
    let stop = AtomicBool::new(false);
    let (always, at_first) = std::thread::scope(|scope| {
        let _stop = StopOnDrop(&stop);
        for cpu in allowed() {
            keep_busy(scope, cpu, &stop);
        }
        let always = stats(&format!("{flags} 1s"));
        let at_first = stats_command(&format!("{flags} 20s"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_secs(1));
        stop.store(true, Ordering::Relaxed);
        (always, Run::from(at_first.wait_with_output().unwrap()))
    });
    if always.report()["environment"]["host"]["busy_during"].is_null() {
        return skipped("/proc/stat does not show who uses a CPU, as in some sandboxes");
    }
    let doubts = judged_by_its_measurements(&always);
    assert!(doubts.contains(&json!("disturbed")), "{doubts:?}");
    assert_eq!(always.code, Some(3), "{}", always.err);
    let why = " measurements were disturbed each time, until the time of --until-trusted (1s) was over; stop other \
               programs, or give more time";
    assert!(always.err.contains(why), "{}", always.err);
    // Other tests may disturb this run until its end.
    judged_by_its_measurements(&at_first);
}

/// The C source of a clock that replaces the clock of the C library. `distorted` is the expression
/// for its time, in which `ns` is the right time.
fn clock(distorted: &str) -> String {
    format!(
        "#include <sys/syscall.h>
        #include <time.h>
        #include <unistd.h>
        int clock_gettime(clockid_t clock, struct timespec *now) {{
            int failed = (int)syscall(SYS_clock_gettime, clock, now);
            long long ns = now->tv_sec * 1000000000LL + now->tv_nsec;
            ns = {distorted};
            now->tv_sec = ns / 1000000000LL;
            now->tv_nsec = ns % 1000000000LL;
            return failed;
        }}"
    )
}

/// Runs `cellworks stats` with a distorted clock. `None` if there is no C compiler
/// for this processor.
fn stats_with_clock(distorted: &str, arguments: &str) -> Option<Run> {
    if is_emulated() {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let (source, library) = (
        folder.path().join("clock.c"),
        folder.path().join("clock.so"),
    );
    fs::write(&source, clock(distorted)).unwrap();
    let compiled = Command::new("cc")
        .args(["-D_GNU_SOURCE", "-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status();
    assert!(compiled.ok()?.success());
    let mut command = stats_command(arguments);
    Some(Run::of(command.env("LD_PRELOAD", &library)))
}

#[test]
fn results_that_cannot_be_true_end_with_1() {
    for (distorted, arguments, what, why) in [
        (
            "ns - ns % 200000000",
            "-f mailbox -i 10 -w 0",
            "mailbox, 1 CPU",
            [
                " time of mailbox is 0 ns, and an operation takes more than 0 ns; ",
                "",
            ],
        ),
        (
            "ns / 10000",
            "-f dmaget -b 4m -i 10 -w 0",
            "dmaget 4 MB, 1 CPU",
            [
                "dmaget moved ",
                " bytes a second with 1 CPU, which can move ",
            ],
        ),
    ] {
        let stats =
            |format: &str| stats_with_clock(distorted, &format!("{arguments} --quiet {format}"));
        let (Some(table), Some(json)) = (stats(""), stats("--format json")) else {
            return skipped("there is no C compiler `cc` that could make a wrong clock");
        };
        let first =
            format!("error: measured what cannot be true:\n  {what}: the result cannot be true: ");
        for run in [&table, &json] {
            assert_eq!(run.code, Some(1), "{}", run.err);
            assert!(run.err.starts_with(&first), "{}", run.err);
            assert!(why.iter().all(|part| run.err.contains(part)), "{}", run.err);
            assert!(
                run.err.contains("look at the clock source of the machine"),
                "{}",
                run.err
            );
        }
        assert!(table.out.contains("Not trustworthy"), "{}", table.out);
        let report = json.report();
        let trust = &report["trust"];
        assert_eq!(trust["trustworthy"], false);
        assert_eq!(trust["kinds"][0], "impossible");
        let reasons = list(trust, "reasons")
            .iter()
            .map(|reason| reason.as_str().unwrap());
        let said = format!(
            "measured what cannot be true:\n  {}\n",
            reasons.collect::<Vec<_>>().join("\n  ")
        );
        assert!(json.err.ends_with(&said), "{}", json.err);
        // An impossible number is not a result.
        assert_eq!(list(&report, "measurements").len(), 0);
        assert_eq!(report["not_measured"][0]["what"], what);
        assert_eq!(report["complete"], false);
    }
}

/// The clock is right for 200 ms, then eight times too fast for 200 ms, and so on. The times are
/// like those of virtual CPUs that are near each other at first and far apart later.
const TWO_STATES: &str = "ns / 400000000 * 1800000000 + (ns % 400000000 < 200000000 \
                          ? ns % 400000000 : ns % 400000000 * 8 - 1400000000)";

#[test]
fn a_computer_that_changes_during_the_run_is_refused_with_both_states() {
    if allowed().len() < 2 {
        return skipped("the reference of a run is between two SPEs, and there is one CPU");
    }
    let arguments = "-f mailbox -s --budget 12s --quiet";
    let stats = |format: &str| stats_with_clock(TWO_STATES, &format!("{arguments} {format}"));
    let (Some(table), Some(json)) = (stats(""), stats("--format json")) else {
        return skipped("there is no C compiler `cc` that could make a wrong clock");
    };
    for run in [&table, &json] {
        assert_eq!(run.code, Some(3), "{}", run.err);
        let is_reason = |line: &str| {
            line.starts_with("  the computer was in two states")
                && line.contains(" took ")
                && line.contains(" % and ")
                && line.ends_with(
                    "this run mixes numbers of both states; measure again, and if the message comes again, measure \
                     on a computer without virtual CPUs, or on virtual CPUs that are pinned to cores",
                )
        };
        assert!(run.err.lines().any(is_reason), "{}", run.err);
    }
    assert!(table.out.contains("Not trustworthy"), "{}", table.out);
    let report = json.report();
    assert_eq!(report["trust"]["trustworthy"], false);
    let kinds = list(&report["trust"], "kinds");
    assert!(kinds.iter().any(|kind| kind == "unsteady"), "{kinds:?}");
    let reference = &report["reference"];
    assert_eq!(reference["spes"], serde_json::json!([0, 1]));
    let two_states = ["exchange", "line"].map(|what| list(reference, what).len() == 2);
    let peaks = list(&report["measurements"][0], "states").len() == 2;
    assert!(peaks || two_states.contains(&true), "{reference}");
}

#[test]
fn a_run_has_the_times_of_its_reference() {
    let report = stats("-f fetchadd --quiet --format json").json();
    let reference = &report["reference"];
    if allowed().len() < 2 {
        return assert!(reference.is_null());
    }
    assert!(reference["readings"].as_u64().unwrap() >= 2, "{reference}");
    for what in ["exchange", "line"] {
        let shares = list(reference, what).iter().map(|state| {
            assert!(state["ns"].as_f64().unwrap() > 0.0, "{reference}");
            state["share"].as_f64().unwrap()
        });
        assert!((shares.sum::<f64>() - 1.0).abs() < 1e-9, "{reference}");
    }
    // If the user gives a number of iterations, the reference is not measured.
    let few = stats("-f fetchadd -i 100 --quiet --format json").json();
    assert!(few["reference"].is_null());
}
