//! What keeps the state of a channel to one process at a time.

use std::cell::Cell;

use crossbeam_utils::Backoff;

use crate::sync::{AtomicBool, Ordering};

/// A lock that is held for some tens of instructions, never across a wait.
pub trait Lock: Default {
    /// Whether it is for several processors.
    const IS_SHARED: bool;
    fn lock(&self);
    fn unlock(&self);
}

/// For processes that may run at the same time.
#[derive(Debug, Default)]
pub struct Spin(AtomicBool);

impl Lock for Spin {
    const IS_SHARED: bool = true;

    #[inline]
    fn lock(&self) {
        if self.0.swap(true, Ordering::Acquire) {
            self.lock_slowly();
        }
    }

    #[inline]
    fn unlock(&self) {
        self.0.store(false, Ordering::Release);
    }
}

impl Spin {
    #[cold]
    fn lock_slowly(&self) {
        // Who holds the lock may have lost its CPU: then the backoff gives this one away.
        let backoff = Backoff::new();
        while self.0.swap(true, Ordering::Acquire) {
            while self.0.load(Ordering::Relaxed) {
                #[cfg(not(loom))]
                backoff.snooze();
                #[cfg(loom)]
                loom::thread::yield_now();
            }
        }
        let _ = &backoff;
    }
}

/// For processes of one SPE, which take turns: it only sees to it that nobody breaks that rule.
#[derive(Debug, Default)]
pub struct Turns(Cell<bool>);

impl Lock for Turns {
    const IS_SHARED: bool = false;

    #[inline]
    fn lock(&self) {
        debug_assert!(!self.0.replace(true), "a turn ended within a channel");
    }

    #[inline]
    fn unlock(&self) {
        self.0.set(false);
    }
}
