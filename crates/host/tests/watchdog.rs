//! Programs that block their OS thread for ever by means of `std` are named, and the process ends.
//!
//! Each case runs in a child process. The test has no harness, because the harness's own threads
//! wait with time limits, and so could always go on.

#[path = "../../../tests/skipped.rs"]
mod skipped;

use std::process::{Command, Output};
use std::sync::Mutex;

use cellworks_host::Host;
use cellworks_machine::{Machine, Spe, SpeId};
use skipped::skipped;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("lock") => lock_held_across_a_yield(),
        Some("receive") => receive_that_nobody_answers(),
        Some("sleep") => sleep_that_ends(),
        None if std::fs::read("/proc/self/syscall").is_err() => {
            // There is no proof then, and so no end.
            let why = "the kernel does not tell by /proc/self/syscall what threads wait for, so a program that is \
                       stuck cannot be named";
            skipped(&format!("a lock held across a yield: {why}"));
            skipped(&format!("a message that is never sent: {why}"));
            a_program_that_sleeps_is_left_alone();
            println!("1 passed, 0 failed, 2 skipped");
        }
        _ => {
            a_stuck_program_is_named("lock", "lock_held_across_a_yield");
            a_stuck_program_is_named("receive", "receive_that_nobody_answers");
            a_program_that_sleeps_is_left_alone();
            println!("3 passed, 0 failed");
        }
    }
}

fn child(case: &str) -> Output {
    let this = std::env::current_exe().expect("this program has a path");
    Command::new(this)
        .arg(case)
        .output()
        .expect("the child can be run")
}

fn a_stuck_program_is_named(case: &str, program: &str) {
    let output = child(case);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{error}");
    assert!(
        error.contains("cellworks: stuck: every OS thread of this process waits"),
        "{error}"
    );
    assert!(
        error.contains(&format!("{program}::{{{{closure}}}}")),
        "{error}"
    );
    assert!(
        error.contains("on SPE 0, spawned at ") && error.contains("watchdog.rs:"),
        "{error}"
    );
}

fn a_program_that_sleeps_is_left_alone() {
    let output = child("sleep");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn run(program: impl FnOnce(&cellworks_host::HostSpe) + Send) {
    let host = Host::builder()
        .spes(1)
        .build()
        .expect("this computer is a host");
    host.run(|ppe| drop(ppe.spawn(SpeId::new(0), program)))
        .expect("the program ends");
}

fn lock_held_across_a_yield() {
    let lock = Mutex::new(0);
    run(|spe| {
        spe.threads(2, |_| {
            let mut held = lock.lock().unwrap();
            spe.yield_now();
            *held += 1;
        })
        .unwrap();
    });
}

fn receive_that_nobody_answers() {
    let (sender, receiver) = std::sync::mpsc::channel::<u32>();
    run(move |_| {
        let _ = receiver.recv();
    });
    drop(sender);
}

fn sleep_that_ends() {
    run(|_| std::thread::sleep(std::time::Duration::from_secs(4)));
}
