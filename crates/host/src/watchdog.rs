//! Notices when no OS thread of the process can ever run again because a program blocks one by
//! other means than its SPE.
//!
//! The proof is in `/proc/self/task/*/syscall`: if every thread but the watchdog waits for a futex
//! without a time limit, nobody is left to wake any of them. Two looks in a row must show the same.
//! (A futex that is shared with another process would be an exception; nothing of `std` is.) A
//! process that blocks on anything else, such as input, may go on, and is left alone.
//!
//! A deadlock within the runtime is not its business: there the last thread awake notices itself.

use std::fs;
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};
use std::time::Duration;

use crate::run::Run;

/// How long the process must have been stuck: the look after the first.
const LOOK_EVERY: Duration = Duration::from_secs(1);

static RUNS: Mutex<Vec<Weak<Run>>> = Mutex::new(Vec::new());
static STARTED: Once = Once::new();

/// Watches a run until it is gone.
pub(crate) fn watch(run: &Arc<Run>) {
    let mut runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    runs.retain(|run| run.strong_count() > 0);
    runs.push(Arc::downgrade(run));
    drop(runs);
    STARTED.call_once(|| {
        let thread = std::thread::Builder::new().name("cellworks watchdog".to_owned());
        // Without a thread for it, a stuck process stays stuck, as it would without Cellworks.
        drop(thread.spawn(look_for_ever));
    });
}

fn look_for_ever() {
    let mut before = None;
    loop {
        std::thread::sleep(LOOK_EVERY);
        let now = everybody_waits();
        if now.is_some() && now == before {
            report_and_abort();
        }
        before = now;
    }
}

/// What each thread but this one waits for, if all of them wait for a futex without a time limit.
fn everybody_waits() -> Option<Vec<String>> {
    // SAFETY: the call has no arguments and cannot fail.
    let me = unsafe { libc::gettid() }.to_string();
    let mut waits = Vec::new();
    for task in fs::read_dir("/proc/self/task").ok()? {
        let task = task.ok()?;
        if task.file_name().to_str() == Some(&me) {
            continue;
        }
        let call = fs::read_to_string(task.path().join("syscall")).ok()?;
        let mut words = call.split_whitespace();
        let number = words.next()?.parse::<libc::c_long>().ok()?;
        // futex(address, operation, value, time limit, ..)
        let time_limit = words.nth(3)?;
        if number != libc::SYS_futex || time_limit != "0x0" {
            return None;
        }
        waits.push(call);
    }
    Some(waits)
}

fn report_and_abort() {
    let runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    let live: Vec<Arc<Run>> = runs.iter().filter_map(Weak::upgrade).collect();
    drop(runs);
    if live.is_empty() {
        // Whoever is stuck has nothing to do with Cellworks.
        return;
    }
    let mut programs: Vec<String> = live.iter().flat_map(|run| run.running()).collect();
    if programs.is_empty() {
        programs.push("none but the main program".to_owned());
    }
    eprintln!(
        "cellworks: stuck: every OS thread of this process waits for another, for ever, and not \
         through Cellworks. A program blocks its core, for example by a lock of std that another \
         thread of the same core holds across a yield, or by a channel of std; use what `Spe` \
         offers instead. Programs that had not ended:"
    );
    for program in programs {
        eprintln!("  {program}");
    }
    std::process::abort();
}
