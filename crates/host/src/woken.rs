//! The threads of a worker that other OS threads have woken.
//!
//! A wake-up moves only one cache line between the cores: the line with the names of the woken
//! threads. An idle worker polls this line.

use std::mem;
use std::sync::{Mutex, PoisonError};

use crate::sync::{AtomicU32, AtomicU64, AtomicUsize, Backoff, Ordering};

/// The name of a thread, from [`Sleeper::thread`](cellworks_machine::Sleeper::thread).
pub(crate) type Name = (usize, u64);

/// The number of names that fit into one cache line together with `state`: see [`WokenThreads`].
const IN_LINE: usize = 3;

/// The bit of `state` that is the lock for the thread names in `in_line` and `more`.
const LOCKED: u32 = 1 << 8;
/// The bit of `state` that is set if `more` contains names that did not fit into `in_line`.
const MORE: u32 = 1 << 9;

/// The threads of one worker that other OS threads have woken, in the order of waking.
#[repr(C, align(64))]
#[derive(Default)]
pub(crate) struct WokenThreads {
    /// The number of names in `in_line`, with the bits [`LOCKED`] and [`MORE`].
    state: AtomicU32,
    /// The names in the cache line. Only the OS thread that has set [`LOCKED`] changes them.
    in_line: [(AtomicUsize, AtomicU64); IN_LINE],
    more: Mutex<Vec<Name>>,
}

impl WokenThreads {
    /// Returns whether a thread was woken or is being woken.
    #[inline]
    pub(crate) fn has_some(&self) -> bool {
        self.state.load(Ordering::Acquire) != 0
    }

    pub(crate) fn add(&self, (block, serial): Name) {
        let state = self.lock();
        let Some(place) = self.in_line.get(state as usize) else {
            self.more_names().push((block, serial));
            return self.unlock(IN_LINE as u32 | MORE);
        };
        place.0.store(block, Ordering::Relaxed);
        place.1.store(serial, Ordering::Relaxed);
        self.unlock(state + 1);
    }

    /// Removes all names, and calls `each` for each name.
    pub(crate) fn take(&self, mut each: impl FnMut(Name)) {
        if !self.has_some() {
            return;
        }
        let state = self.lock();
        let names = self.in_line.each_ref().map(|(block, serial)| {
            let block = block.load(Ordering::Relaxed);
            (block, serial.load(Ordering::Relaxed))
        });
        let more = match state & MORE {
            0 => Vec::new(),
            _ => mem::take(&mut *self.more_names()),
        };
        self.unlock(0);
        let in_line = (state & !MORE) as usize;
        names
            .into_iter()
            .take(in_line)
            .chain(more)
            .for_each(&mut each);
    }

    /// Sets [`LOCKED`], and returns the other bits of `state`.
    fn lock(&self) -> u32 {
        let backoff = Backoff::new();
        loop {
            let state = self.state.load(Ordering::Relaxed) & !LOCKED;
            let locked = self.state.compare_exchange_weak(
                state,
                state | LOCKED,
                Ordering::Acquire,
                Ordering::Relaxed,
            );
            if locked.is_ok() {
                return state;
            }
            backoff.snooze();
        }
    }

    fn unlock(&self, state: u32) {
        self.state.store(state, Ordering::Release);
    }

    fn more_names(&self) -> std::sync::MutexGuard<'_, Vec<Name>> {
        self.more.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn threads_are_taken_in_the_order_in_which_they_were_woken() {
        let woken = WokenThreads::default();
        for count in 0..10 {
            assert!(!woken.has_some());
            (0..count).for_each(|name| woken.add((name, 7)));
            assert_eq!(woken.has_some(), count > 0);
            let mut names = Vec::new();
            woken.take(|name| names.push(name));
            assert_eq!(names, Vec::from_iter((0..count).map(|name| (name, 7))));
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;

    #[test]
    fn each_thread_that_two_wake_is_taken_once() {
        // More preemptions would take hours to check.
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let woken = Arc::new(WokenThreads::default());
            let wakers = [1, 2].map(|waker| {
                let woken = Arc::clone(&woken);
                thread::spawn(move || {
                    for name in [waker, 10 * waker] {
                        woken.add((name, name as u64));
                    }
                })
            });
            let mut names = Vec::new();
            let mut take = || {
                woken.take(|(block, serial)| {
                    assert_eq!(block as u64, serial);
                    names.push(block);
                })
            };
            take();
            for waker in wakers {
                waker.join().unwrap();
            }
            take();
            assert!(!woken.has_some());
            assert_eq!(names.len(), 4, "{names:?}");
            let place = |name| names.iter().position(|other| *other == name);
            assert!(place(1) < place(10) && place(2) < place(20), "{names:?}");
        });
    }
}
