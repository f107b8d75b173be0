//! What keeps the state of a channel to one process at a time.

use std::cell::Cell;

/// A lock that is held for some tens of instructions, never across a wait.
pub trait Lock: Default {
    /// Whether it is for several processors.
    const IS_SHARED: bool;
    fn lock(&self);
    fn unlock(&self);
}

#[cfg(not(loom))]
pub(crate) use self::spin::Spin;

#[cfg(loom)]
pub(crate) use self::modelled::Spin;

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
        debug_assert!(self.0.replace(false), "unlocked twice");
    }
}

#[cfg(not(loom))]
mod spin {
    use super::Lock;
    use crate::sync::{AtomicBool, Backoff, Ordering};

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
                    backoff.snooze();
                }
            }
        }
    }
}

/// Stands for the spinning lock in models: loom does not come to an end with two who spin.
#[cfg(loom)]
mod modelled {
    use std::cell::UnsafeCell;
    use std::mem::transmute;

    use loom::sync::{Mutex, MutexGuard};

    use super::Lock;

    #[derive(Default)]
    pub struct Spin {
        /// Before the mutex, which it borrows.
        guard: UnsafeCell<Option<MutexGuard<'static, ()>>>,
        mutex: Box<Mutex<()>>,
    }

    // SAFETY: the guard is accessed by who has the mutex.
    unsafe impl Sync for Spin {}
    // SAFETY: as above; loom's threads are one OS thread.
    unsafe impl Send for Spin {}

    impl Lock for Spin {
        const IS_SHARED: bool = true;

        fn lock(&self) {
            let guard = self.mutex.lock().unwrap();
            // SAFETY: the mutex stays where it is for as long as the guard, and this has it.
            unsafe {
                *self.guard.get() = Some(transmute::<MutexGuard<'_, ()>, MutexGuard<'static, ()>>(
                    guard,
                ))
            };
        }

        fn unlock(&self) {
            // SAFETY: this has the mutex.
            drop(unsafe { (*self.guard.get()).take() });
        }
    }
}
