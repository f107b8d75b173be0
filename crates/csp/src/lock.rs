//! What keeps the state of a channel to one process at a time.

use std::cell::Cell;

/// A lock that is held for some tens of instructions, never across a wait.
pub trait Lock: Default {
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
    #[inline]
    fn lock(&self) {
        debug_assert!(!self.0.replace(true), "a turn ended within a channel");
    }

    #[inline]
    fn unlock(&self) {
        self.0.set(false);
    }
}

#[cfg_attr(loom, allow(dead_code, reason = "modelled on its own"))]
mod spin {
    use super::Lock;
    use crate::sync::{AtomicBool, Backoff, Ordering};

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
                backoff.snooze();
                // Looks that write nothing; loom could see an old value for ever.
                #[cfg(not(loom))]
                while self.0.load(Ordering::Relaxed) {
                    backoff.snooze();
                }
            }
        }
    }
}

/// Stands for the spinning lock in models of channels, where its looks would be most of what is explored.
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

#[cfg(all(test, loom))]
mod models {
    use loom::cell::UnsafeCell;
    use loom::thread;

    use super::Lock;
    use super::spin::Spin;
    use crate::sync::Arc;

    #[test]
    fn one_at_a_time_has_the_lock_and_sees_what_the_last_one_did() {
        loom::model(|| {
            let shared = Arc::new((Spin::default(), UnsafeCell::new(0)));
            let add = |shared: &(Spin, UnsafeCell<u32>)| {
                shared.0.lock();
                // SAFETY: it has the lock.
                let sum = shared.1.with_mut(|sum| unsafe {
                    *sum += 1;
                    *sum
                });
                shared.0.unlock();
                sum
            };
            let other = {
                let shared = Arc::clone(&shared);
                thread::spawn(move || add(&shared))
            };
            let sum = add(&shared);
            assert_eq!(sum + other.join().unwrap(), 3);
        });
    }
}
