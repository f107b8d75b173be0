//! Ends the process if a cancelled thread never ends.

// Rejected: returning from `run` while a cancelled thread is still suspended. The stack of the
// thread may hold borrows of the caller's values.

use std::cell::Cell;
use std::fmt::Display;
use std::process::abort;

/// The largest number of unwindings of one thread. All of these unwindings together take about half
/// a second. A program that catches one panic per work item stays below this limit.
const UNWINDINGS: u32 = 1 << 18;

/// The number of waits that are counted as one unwinding, because together they take as long.
const WAITS_OF_AN_UNWINDING: u32 = 1 << 3;

/// The count of failed attempts to end a cancelled thread. After about a second of attempts, the
/// process ends with an error. An attempt fails if the thread catches the panic or waits in a
/// destructor.
#[derive(Debug, Default)]
pub struct Patience {
    lost: Cell<u32>,
}

impl Patience {
    /// Returns a count of zero.
    pub const fn new() -> Self {
        Self { lost: Cell::new(0) }
    }

    /// Counts an unwinding of the thread. `who` names the thread in the error, and `programs`
    /// returns a line for each program that runs.
    pub fn unwinds(&self, who: &dyn Display, programs: &dyn Fn() -> Vec<String>) {
        self.lose(WAITS_OF_AN_UNWINDING, who, programs);
    }

    /// Counts a wait that returns at once because the thread is unwinding. For `who` and
    /// `programs`, see [`unwinds`](Self::unwinds).
    pub fn waits(&self, who: &dyn Display, programs: &dyn Fn() -> Vec<String>) {
        self.lose(1, who, programs);
    }

    /// Resets the count for a new thread in the same control block.
    pub(crate) fn restore(&self) {
        self.lost.set(0);
    }

    fn lose(&self, amount: u32, who: &dyn Display, programs: &dyn Fn() -> Vec<String>) {
        let lost = self.lost.get() + amount;
        if lost > UNWINDINGS * WAITS_OF_AN_UNWINDING {
            give_up(who, &programs());
        }
        self.lost.set(lost);
    }
}

#[cold]
fn give_up(who: &dyn Display, programs: &[String]) -> ! {
    eprintln!(
        "cellworks: {who} cannot be ended: it was cancelled, and again and again it catches the panic that should unwind it, or \
         waits in a destructor while it unwinds. Pass on what `catch_unwind` returns with `resume_unwind`, at least if it is a \
         `Cancelled`, and let loops of waits in destructors end when the run is cancelled."
    );
    if !programs.is_empty() {
        eprintln!("Programs that had not ended:");
    }
    for program in programs {
        eprintln!("  {program}");
    }
    abort();
}
