//! What keeps the state of a channel to one process at a time.

use std::cell::Cell;

use crate::sync::{AtomicBool, Backoff, Ordering};

/// A lock that is held for some tens of instructions, never across a wait.
pub trait Lock: Default {
    fn lock(&self);
    fn unlock(&self);
}

/// For processes that may run at the same time.
#[derive(Debug, Default)]
pub struct Spin(AtomicBool);

impl Lock for Spin {
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
                backoff.snooze();
            }
        }
    }
}

/// For processes of one SPE, which take turns: it only sees to it that nobody breaks that rule.
#[derive(Debug, Default)]
pub struct Turns(Cell<bool>);

impl Lock for Turns {
    #[inline]
    fn lock(&self) {
        debug_assert!(!self.0.replace(true), "a turn ended within a channel");
    }

    #[inline]
    fn unlock(&self) {
        self.0.set(false);
    }
}
