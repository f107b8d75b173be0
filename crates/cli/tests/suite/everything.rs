//! `cellworks stats` without a function measures everything, in a short time and on one CPU.

use crate::common::{Run, list, stats, stats_command};
use serde_json::Value;

const SMALL: &str = "--budget 1s --quiet --format json";

/// Each measurement that was not done, with the reason.
fn reasons(report: &Value) -> Vec<(&str, &str)> {
    list(report, "not_measured")
        .iter()
        .map(|left| {
            (
                left["what"].as_str().unwrap(),
                left["why"].as_str().unwrap(),
            )
        })
        .collect()
}

#[test]
fn measurements_without_time_are_named() {
    let run = stats(SMALL);
    assert_eq!(run.measured(), "");
    let report = run.json();
    assert_eq!(report["complete"], false);
    assert_eq!(list(&report, "measurements")[0]["function"], "mkthread");
    let left = reasons(&report);
    let no_time = "the budget was spent before; give more with --budget";
    assert!(left.iter().any(|(_, why)| *why == no_time), "{left:?}");
    let named = left
        .iter()
        .all(|(what, why)| !what.is_empty() && !why.is_empty());
    assert!(named, "{left:?}");
    // The table shows the same names.
    let table = stats("--budget 1s --quiet");
    assert_eq!(table.measured(), "");
    for text in ["Not complete", "Not measured", no_time] {
        assert!(table.out.contains(text), "{}", table.out);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn on_one_cpu_everything_is_measured_that_takes_one_spe() {
    use std::os::unix::process::CommandExt;

    let on_one_cpu = |arguments: &str| {
        let mut command = stats_command(arguments);
        // SAFETY: between fork and exec this closure only makes two system calls, with a set on its
        // own stack.
        unsafe { command.pre_exec(keep_one_cpu) };
        Run::of(&mut command)
    };
    let run = on_one_cpu(SMALL);
    assert_eq!(run.measured(), "");
    let report = run.json();
    let machine = &report["machine"];
    assert_eq!(machine["spes"], 1);
    assert!(!list(&report, "measurements").is_empty());
    let why = format!(
        "{} has one CPU, and it takes two",
        machine["name"].as_str().unwrap()
    );
    assert_eq!(
        reasons(&report)[..3],
        [
            "messages, signals, transfers and matrices between CPUs",
            "shared and private buffers and variables of several CPUs",
            "memory latency under load",
        ]
        .map(|what| (what, why.as_str()))
    );
    let left_out = list(&report["environment"]["host"], "cpus_left_out");
    let not_allowed = "not allowed by `taskset`, a cpuset or the container";
    let known = |cpu: &Value| cpu["why"] == not_allowed || cpu["why"] == "offline";
    assert!(left_out.iter().all(known), "{left_out:?}");

    for function in ["wakeup", "copy", "chase", "fetchadd"] {
        let run = on_one_cpu(&format!("-f {function} -i 10 --quiet"));
        assert_eq!(run.measured(), "");
    }
    let run = on_one_cpu("-f mailbox -s");
    assert_eq!((run.code, run.out.as_str()), (Some(2), ""));
    let refused = format!(
        "error: -n: 2 CPUs: {} has 1; use 1\n  example: cellworks stats -f mailbox -n 1\n  not used: CPU",
        machine["name"].as_str().unwrap()
    );
    assert!(run.err.starts_with(&refused), "{}", run.err);
    assert!(run.err.contains(not_allowed), "{}", run.err);
}

/// Removes all except one of the CPUs that the calling process may use.
#[cfg(target_os = "linux")]
fn keep_one_cpu() -> std::io::Result<()> {
    // SAFETY: a set of CPUs consists of integers, for which zero is a valid value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    let size = size_of_val(&set);
    // SAFETY: `set` is valid for writes and reads of its size, and each number is below that size.
    let done = unsafe {
        libc::sched_getaffinity(0, size, &raw mut set);
        let first = (0..libc::CPU_SETSIZE as usize).find(|cpu| libc::CPU_ISSET(*cpu, &set));
        libc::CPU_ZERO(&mut set);
        libc::CPU_SET(first.unwrap_or(0), &mut set);
        libc::sched_setaffinity(0, size, &raw const set)
    };
    if done == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}
