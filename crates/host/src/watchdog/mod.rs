//! The watchdog detects that no OS thread of the process can ever run again. The usual cause is a
//! program that has blocked its OS thread without using the methods of its SPE.
//!
//! ```text
//!   from one check to the next, every   no    a thread may run again: nothing is printed
//!   thread except the watchdog waits   ────►
//!   without a time limit
//!        │ yes
//!        ▼
//!   is it certain that no thread        no    a warning, once for each such state: the process
//!   can ever run again?                ────►  goes on
//!        │ yes
//!        ▼
//!   a report, and the process is aborted
//! ```
//!
//! [`standstill`] lists the facts that must hold for an abort. Deadlocks within Cellworks are
//! detected without the watchdog.
//!
//! In each check, the watchdog also looks for a run all of whose programs wait. Only outside
//! threads can make such a run go on, so they are [asked](cellworks_machine::Outsiders) what is
//! known.

mod standstill;
mod switches;

#[cfg(all(test, not(loom)))]
mod tests;

use std::sync::{Arc, Mutex, Once, PoisonError, Weak};
use std::time::Duration;

use crate::cpus::Source;
use crate::run::Run;
use standstill::Standstill;

/// The time between two checks. A message is printed only if no thread runs in this time.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// The longest time between two checks, when no thread has run for long. To wake up takes an idle
/// process some 0.07 ms of CPU time.
const CHECK_IDLE_EVERY: Duration = Duration::from_secs(4);

const ADVICE: &str = "blocks its core, for example by a lock of std that another thread of the same \
    core holds across a yield, or by a channel of std; use what `Spe` offers instead. Programs that \
    have not ended:";

static RUNS: Mutex<Vec<Weak<Run>>> = Mutex::new(Vec::new());
static STARTED: Once = Once::new();

/// Watches a run until it ends.
pub(crate) fn watch(run: &Arc<Run>) {
    let mut runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    runs.retain(|run| run.strong_count() > 0);
    runs.push(Arc::downgrade(run));
    drop(runs);
    STARTED.call_once(|| {
        let thread = std::thread::Builder::new().name("cellworks watchdog".to_owned());
        // If the thread cannot be started, a stuck process is not reported.
        drop(thread.spawn(watch_for_ever));
    });
}

fn watch_for_ever() {
    // This process is described in the files of this computer, even if `CELLWORKS_FSROOT` is set.
    let source = Source::this_computer();
    let mut switches_before = None;
    let mut was_idle = false;
    let mut seen = None;
    let mut warned_of: Option<Standstill> = None;
    let mut pause = CHECK_EVERY;
    loop {
        std::thread::sleep(pause);
        hint();
        // A thread that has run and waits now has left its CPU.
        let switches = switches::of_other_threads();
        let is_idle = switches.is_some() && switches == switches_before;
        pause = if is_idle {
            CHECK_IDLE_EVERY.min(2 * pause)
        } else {
            CHECK_EVERY
        };
        // The files are read once in a time in which no thread runs, and not at all in a process
        // that does something, because reading them takes 0.1 to 0.3 ms.
        seen = match (was_idle, is_idle) {
            (_, false) => None,
            (false, true) => Standstill::read(&source)
                // All threads have waited since the last check, and not only since this reading.
                .filter(|_| switches::of_other_threads() == switches),
            (true, true) => seen,
        };
        (switches_before, was_idle) = (switches, is_idle);
        if let Some(standstill) = &seen
            && warned_of.as_ref().is_none_or(|warned_of| !warned_of.waits_like(standstill))
            // If there is no run, Cellworks did not block the threads.
            && let Some((programs, outside)) = programs()
        {
            let doubts = standstill.doubts(&source);
            // The doubts are valid only if no thread has run while they were read.
            if Standstill::read(&source) == seen {
                say(&message(&doubts, &programs, &outside));
                if doubts.is_empty() {
                    std::process::abort();
                }
                warned_of.clone_from(&seen);
            }
        }
    }
}

fn runs() -> Vec<Arc<Run>> {
    let runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    runs.iter().filter_map(Weak::upgrade).collect()
}

/// Returns the running programs and the outside threads, or `None` if there is no run.
fn programs() -> Option<(Vec<String>, Vec<String>)> {
    let live = runs();
    let programs = live.iter().flat_map(|run| run.running()).collect();
    let outsiders = live.iter().filter_map(|run| run.outsiders());
    let outside = outsiders.flat_map(|outsiders| outsiders.list()).collect();
    (!live.is_empty()).then_some((programs, outside))
}

/// Says what outside threads know of a run all of whose programs wait.
fn hint() {
    for run in runs().iter().filter(|run| run.do_all_programs_wait()) {
        let hint = run.outsiders().and_then(|it| it.all_programs_wait());
        if let Some(hint) = hint {
            say(&format!("cellworks: {hint}\n"));
        }
    }
}

/// Returns the message: a warning if there are doubts, otherwise the reason for the abort. Threads
/// outside are named first, because a program that waits for them does nothing wrong.
fn message(doubts: &[String], programs: &[String], outside: &[String]) -> String {
    let mut message = if doubts.is_empty() {
        "cellworks: stuck: every OS thread of this process waits for another, for ever, and not all of \
         them through Cellworks."
            .to_owned()
    } else {
        format!(
            "cellworks: warning: every OS thread of this process waits without a time limit, and not all \
             of them through Cellworks. That need not be for ever, so the process goes on: {}.",
            doubts.join("; ")
        )
    };
    if !outside.is_empty() {
        message += "\nThreads outside keep a run from ending until they drop their ends:\n";
        for thread in outside {
            message += &format!("  {thread}\n");
        }
    }
    message += match (outside.is_empty(), doubts.is_empty()) {
        (true, true) => " A program ",
        (true, false) => " If it is for ever, a program ",
        (false, _) => "If it is not that, a program ",
    };
    message += ADVICE;
    message += "\n";
    if programs.is_empty() {
        message += "  none but the main program\n";
    }
    for program in programs {
        message += &format!("  {program}\n");
    }
    message
}

/// Writes to standard error without its lock, because a blocked thread may hold this lock.
fn say(message: &str) {
    let mut rest = message.as_bytes();
    let write =
        |rest: &[u8]| rustix::io::retry_on_intr(|| rustix::io::write(std::io::stderr(), rest));
    // Errors are ignored, because they cannot be reported anywhere.
    while let Ok(written @ 1..) = write(rest) {
        rest = &rest[written..];
    }
}
