//! Patience: ends the process if a cancelled thread never ends.

// Rejected: leaving a thread that never ends suspended for ever. Its stack holds borrows of values
// that the caller of `run` owns, so `run` could never return.

use std::cell::Cell;
use std::fmt::Display;
use std::process::abort;

/// The limit for unwindings of one thread, which take about half a second together. A program that
/// catches the panic of each piece of its work separately stays below this limit.
const UNWINDINGS: u32 = 1 << 18;

/// The number of waits that take about as long as one unwinding, if they return at once.
const WAITS_OF_AN_UNWINDING: u32 = 1 << 3;

/// Counts the failed attempts to end a cancelled thread. When it is clear that the thread will
/// never end, ends the process with an error that names the thread. That takes about a second.
///
/// A cancelled thread is unwound, and then `run` returns. A program prevents this if it catches
/// each panic that unwinds it, or if a destructor waits in a loop. `run` cannot return while the
/// thread lives, because the thread's stack holds borrows of values that the caller of `run` owns.
#[derive(Debug, Default)]
pub struct Patience {
    lost: Cell<u32>,
}

impl Patience {
    /// A count of zero, for a new thread.
    pub const fn new() -> Self {
        Self { lost: Cell::new(0) }
    }

    /// Counts an unwinding of the thread. `who` is the name of the thread in the error, and
    /// `programs` returns the programs that run, one in each line.
    pub fn unwinds(&self, who: &dyn Display, programs: &dyn Fn() -> Vec<String>) {
        self.lose(WAITS_OF_AN_UNWINDING, who, programs);
    }

    /// Counts a wait of the thread that returns at once because the thread is unwinding. `who` and
    /// `programs` are as in [`unwinds`](Self::unwinds).
    pub fn waits(&self, who: &dyn Display, programs: &dyn Fn() -> Vec<String>) {
        self.lose(1, who, programs);
    }

    /// Resets the count for another thread, which gets the same block.
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
