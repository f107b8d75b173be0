//! Cancellation: the threads of a core are unwound, the youngest first.

use std::panic::resume_unwind;
use std::ptr;
use std::thread::panicking;

use super::{CANCELLED, Scheduler, with};
use crate::cancelled::{Cancelled, Payload};
use crate::report::{Blocked, Cause};

impl Scheduler {
    /// Cancels all threads of this core; does nothing if that has been done, or outside of a run.
    pub(crate) fn cancel(&self, cause: Cause) {
        if self.is_cancelled() || self.run.get().is_null() {
            return;
        }
        self.end_turns();
        self.mode.set(self.mode.get() | CANCELLED);
        self.live
            .iter()
            .for_each(|block| block.turn.set(ptr::null()));
        let run = self.run();
        run.take_woken();
        self.interrupt_ready();
        let threads = self.blocked_threads();
        run.blocked.set(Some(Blocked { threads, cause }));
    }

    /// Moves the ready threads of a cancelled core to where they are continued from once.
    pub(super) fn interrupt_ready(&self) {
        let mut interrupted = self.run().interrupted.borrow_mut();
        while !self.ready.is_empty() {
            interrupted.push_back(self.ready.pop());
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.mode.get() & CANCELLED != 0
    }

    /// Cancels the running thread, unless it is unwinding already: then waiting must end at once,
    /// not panic again.
    #[inline]
    pub(super) fn unwind_if_cancelled(&self) {
        if self.is_cancelled() {
            self.unwind();
        }
    }

    #[cold]
    #[inline(never)]
    fn unwind(&self) {
        let patience = &self.current().patience;
        let who = self.current().label();
        // SAFETY: the hook is borrowed by `run`, which has not returned.
        let programs = || unsafe { &*self.run().idle }.programs();
        if self.is_unwinding() {
            patience.waits(&who, &programs);
        } else {
            patience.unwinds(&who, &programs);
            resume(Cancelled::payload());
        }
    }

    /// Whether the running thread is unwinding.
    ///
    /// `std` counts panics for each OS thread, so `panicking()` is also true while another thread
    /// waits in a destructor during *its* unwinding. `others_unwinding` says whether that can be:
    /// it is set when a thread is suspended while `panicking()`, and cleared when the count is seen
    /// at zero. While it is not set, `panicking()` is exact. While it is, we go by what was last
    /// known of the running thread: exact, but for a thread that began a panic of its own, or
    /// caught one, in the meantime.
    #[inline(never)]
    pub(crate) fn is_unwinding(&self) -> bool {
        let me = self.current();
        if !panicking() {
            self.others_unwinding.set(false);
            me.unwinding.set(false);
        } else if !self.others_unwinding.get() {
            me.unwinding.set(true);
        }
        me.unwinding.get()
    }

    /// Records whether the running thread is unwinding, which is about to be suspended.
    #[inline(always)]
    pub(super) fn note_unwinding(&self) {
        let unwinding = panicking();
        if unwinding {
            self.is_unwinding();
        }
        self.others_unwinding.set(unwinding);
    }
}

/// Goes on unwinding the running thread.
pub(crate) fn resume(payload: Payload) -> ! {
    with(|s| s.current().unwinding.set(true));
    resume_unwind(payload)
}
