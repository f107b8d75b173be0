//! Whether the running thread is unwinding: the standard library counts panics of the OS thread.

use std::panic::resume_unwind;
use std::thread::panicking;

use super::{Scheduler, with};
use crate::cancelled::Payload;

impl Scheduler {
    /// Returns whether the running thread is unwinding.
    ///
    /// `panicking()` is also true while another thread of this core waits in a destructor during
    /// unwinding. Then `others_unwinding` is set, because `panicking()` was true when that thread
    /// was suspended. While `others_unwinding` is set, this function returns the thread's own
    /// `Block::unwinding`, which is wrong if the thread has begun or caught a panic since it was
    /// last continued.
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

    /// Records whether the running thread is unwinding, before the thread is suspended.
    #[inline(always)]
    pub(super) fn note_unwinding(&self) {
        let unwinding = panicking();
        if unwinding {
            self.is_unwinding();
        }
        self.others_unwinding.set(unwinding);
    }
}

/// Unwinds the running thread with `payload`.
pub(crate) fn resume(payload: Payload) -> ! {
    with(|s| s.current().unwinding.set(true));
    resume_unwind(payload)
}
