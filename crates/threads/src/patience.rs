//! What ends a process of which a cancelled thread never ends.

use std::cell::Cell;
use std::fmt::Display;
use std::process::abort;

/// Unwindings of one thread that are too many. They take about half a second, and it is more than a
/// program has pieces of work that it guards one by one.
const UNWINDINGS: u32 = 1 << 18;

/// Waits that return at once in the time of an unwinding, about.
const WAITS_OF_AN_UNWINDING: u32 = 1 << 3;

/// Counts what a cancelled thread does instead of coming to its end, and ends the process when it
/// is clear that the thread never will.
///
/// A cancelled thread is unwound, and then its run returns. A program prevents that if it catches
/// each panic that unwinds it, or if a destructor waits in a loop. The run cannot return then,
/// because the thread's stack holds borrows of what the caller owns; and it would never return.
/// After a second or so of such attempts the process ends with an error that says which thread it
/// is.
#[derive(Debug, Default)]
pub struct Patience {
    lost: Cell<u32>,
}

impl Patience {
    /// As for a thread that has done nothing yet.
    pub const fn new() -> Self {
        Self { lost: Cell::new(0) }
    }

    /// The thread is about to be unwound, perhaps not for the first time. `who` names it in the
    /// error, and `programs` says in a line each what runs.
    pub fn unwinds(&self, who: &dyn Display, programs: &dyn Fn() -> Vec<String>) {
        self.lose(WAITS_OF_AN_UNWINDING, who, programs);
    }

    /// A wait of the thread is about to return at once, because the thread is being unwound. `who`
    /// and `programs` as above.
    pub fn waits(&self, who: &dyn Display, programs: &dyn Fn() -> Vec<String>) {
        self.lose(1, who, programs);
    }

    /// Begins anew, for another thread.
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
