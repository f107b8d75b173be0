//! `cellworks stats` beside another program that uses its CPUs.
#![cfg(target_os = "linux")]

mod common;

use std::mem::zeroed;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Scope;

use common::{Run, stats};

/// The CPUs that this process may use.
fn allowed() -> Vec<usize> {
    // SAFETY: a set of CPUs is made of integers, for which zero is a value.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    // SAFETY: `set` is valid for writes of its size.
    let answered = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) };
    assert_eq!(answered, 0);
    // SAFETY: each number is below the size of the set.
    let is_in = |cpu: &usize| unsafe { libc::CPU_ISSET(*cpu, &set) };
    (0..libc::CPU_SETSIZE as usize).filter(is_in).collect()
}

/// A thread of this process that keeps a CPU busy until it is told to stop.
fn keep_busy<'s>(scope: &'s Scope<'s, '_>, cpu: usize, stop: &'s AtomicBool) {
    scope.spawn(move || {
        // SAFETY: a set of CPUs is made of integers, for which zero is a value.
        let mut set: libc::cpu_set_t = unsafe { zeroed() };
        // SAFETY: the number is below the size of the set, which is valid for reads of its size.
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

/// Stops the busy threads also where an assertion fails, because their scope waits for them.
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
        // Sandboxes without a true /proc/stat do not show who uses a CPU.
        return;
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
    // What was measured is there all the same.
    assert_eq!(report["measurements"].as_array().unwrap().len(), 1);
    assert_eq!(report["complete"], true);
    let page = std::fs::read_to_string(&page).unwrap();
    for shown in [&table.out, &page] {
        assert!(shown.contains("Not trustworthy"), "{shown}");
        assert!(shown.contains("other programs used"), "{shown}");
    }
}
