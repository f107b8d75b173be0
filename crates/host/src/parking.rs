//! Lets OS threads sleep until other threads wake them, and detects when all threads sleep.
//!
//! Each OS thread of a run has a seat with a state: the thread runs, waits or was notified.
//!
//! ```text
//!   sleeping thread (one for each seat)      notifying thread
//!   state = running                          makes the condition true
//!   prepare: state = waiting                 notify:
//!   heavy barrier                              light barrier
//!   checks its conditions once more            is the state waiting?
//!     a condition is true ─► resume              active += 1
//!     none is true ─► park: active -= 1          waiting ─► notified, unpark
//!       was active 1? all threads sleep          (if the sleeper resumed: active -= 1)
//!       otherwise sleep until notified
//! ```
//!
//! Either the last check of the sleeping thread reads the new condition, or `notify` reads the
//! state `waiting`. Therefore no wake-up is lost.
//!
//! `active` counts the running threads, and the notified threads that have not continued yet. A
//! running thread increments `active` before it wakes another thread. Therefore `active` is 0 only
//! in a deadlock: all threads sleep, and none was notified.
//!
//! A thread without a seat (`outside.rs`) is also counted while it may notify. It calls
//! [`Parking::dismiss_unless_last`] before it waits. Another thread calls [`Parking::admit`] before
//! it wakes the waiting thread.

use std::sync::OnceLock;

use cellworks_machine::barrier;
use crossbeam_utils::CachePadded;

use crate::sync::{AtomicU32, AtomicUsize, Ordering, Thread, current, park, park_timeout};

const EMPTY: u32 = 0;
const RUNNING: u32 = 1;
const WAITING: u32 = 2;
const NOTIFIED: u32 = 3;

/// The seats of the OS threads of one run.
pub(crate) struct Parking {
    active: CachePadded<AtomicUsize>,
    /// The number of threads that were notified and have not continued yet.
    waking: CachePadded<AtomicUsize>,
    seats: Box<[CachePadded<Seat>]>,
}

struct Seat {
    state: AtomicU32,
    thread: OnceLock<Thread>,
}

/// The reason why [`Parking::park`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    Notified,
    /// All other threads sleep, so this thread did not sleep.
    AllSleep,
}

impl Parking {
    pub(crate) fn new(seats: usize) -> Self {
        let seat = || {
            CachePadded::new(Seat {
                state: AtomicU32::new(EMPTY),
                thread: OnceLock::new(),
            })
        };
        Self {
            active: CachePadded::new(AtomicUsize::new(0)),
            waking: CachePadded::new(AtomicUsize::new(0)),
            seats: (0..seats).map(|_| seat()).collect(),
        }
    }

    /// Counts one more thread as running. Call this method before that thread is started or woken.
    pub(crate) fn admit(&self) {
        self.active.fetch_add(1, Ordering::Relaxed);
    }

    /// Stops counting a thread that has ended or was not started.
    pub(crate) fn dismiss(&self) {
        self.active.fetch_sub(1, Ordering::AcqRel);
    }

    /// Like [`dismiss`](Self::dismiss), but returns false without effect if all other threads
    /// sleep.
    pub(crate) fn dismiss_unless_last(&self) -> bool {
        let is_last = self.active.fetch_sub(1, Ordering::AcqRel) == 1;
        if is_last {
            self.active.fetch_add(1, Ordering::Relaxed);
        }
        !is_last
    }

    /// Takes a seat for the calling thread, which was admitted before.
    pub(crate) fn take_seat(&self, seat: usize) {
        let taken = self.seats[seat].thread.set(current());
        assert!(taken.is_ok(), "seat {seat} was taken before");
        self.seats[seat].state.store(RUNNING, Ordering::Relaxed);
    }

    /// Returns whether the thread of a seat runs or was notified. The result may be out of date.
    pub(crate) fn runs(&self, seat: usize) -> bool {
        matches!(
            self.seats[seat].state.load(Ordering::Relaxed),
            RUNNING | NOTIFIED
        )
    }

    /// Returns whether a notified thread has not continued yet. The result may be out of date.
    pub(crate) fn is_waking(&self) -> bool {
        self.waking.load(Ordering::Relaxed) > 0
    }

    /// Returns the number of counted threads. The result may be out of date.
    pub(crate) fn active(&self) -> usize {
        self.active.load(Ordering::Relaxed)
    }

    /// Announces that the calling thread is about to sleep. The thread must then check its
    /// conditions once more, and call [`resume`](Self::resume) or [`park`](Self::park).
    pub(crate) fn prepare(&self, seat: usize) {
        self.seats[seat].state.store(WAITING, Ordering::SeqCst);
        barrier::heavy();
    }

    /// Ends the wait that [`prepare`](Self::prepare) began, without sleeping.
    pub(crate) fn resume(&self, seat: usize) {
        if self.seats[seat].state.swap(RUNNING, Ordering::AcqRel) == NOTIFIED {
            self.waking.fetch_sub(1, Ordering::Relaxed);
            self.active.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Sleeps until the seat is notified. Returns immediately if all other threads sleep.
    pub(crate) fn park(&self, seat: usize) -> Woken {
        let state = &self.seats[seat].state;
        if !self.dismiss_unless_last() {
            state.store(RUNNING, Ordering::Relaxed);
            return Woken::AllSleep;
        }
        while state.load(Ordering::Acquire) != NOTIFIED {
            park();
        }
        state.store(RUNNING, Ordering::Relaxed);
        self.waking.fetch_sub(1, Ordering::Relaxed);
        Woken::Notified
    }

    /// Sleeps until the seat is notified or `time` has passed. The thread still counts as running.
    pub(crate) fn park_for(&self, seat: usize, time: std::time::Duration) {
        let until = std::time::Instant::now() + time;
        while self.seats[seat].state.load(Ordering::Acquire) != NOTIFIED {
            let left = until.saturating_duration_since(std::time::Instant::now());
            if left.is_zero() {
                break;
            }
            park_timeout(left);
        }
        self.resume(seat);
    }

    /// Wakes the thread of a seat if that thread has called [`prepare`](Self::prepare). The caller
    /// must be a running thread that has made the condition of the other thread true.
    #[inline]
    pub(crate) fn notify(&self, seat: usize) {
        barrier::light();
        if self.seats[seat].state.load(Ordering::Acquire) == WAITING {
            self.wake(seat);
        }
    }

    #[cold]
    fn wake(&self, seat: usize) {
        let seat = &self.seats[seat];
        self.active.fetch_add(1, Ordering::AcqRel);
        self.waking.fetch_add(1, Ordering::Relaxed);
        let notified =
            seat.state
                .compare_exchange(WAITING, NOTIFIED, Ordering::AcqRel, Ordering::Relaxed);
        if notified.is_ok() {
            let thread = seat.thread.get().expect("a thread that waits has sat down");
            thread.unpark();
        } else {
            self.waking.fetch_sub(1, Ordering::Relaxed);
            self.active.fetch_sub(1, Ordering::AcqRel);
        }
    }

    pub(crate) fn notify_all(&self) {
        for seat in 0..self.seats.len() {
            self.notify(seat);
        }
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::sync::Arc;
    use loom::sync::atomic::AtomicBool;
    use loom::thread;

    use super::*;

    /// Waits for a flag by `prepare`, a check and `park`. Returns whether all other threads slept.
    fn wait(parking: &Parking, seat: usize, flag: &AtomicBool) -> bool {
        loop {
            if flag.load(Ordering::Acquire) {
                return false;
            }
            parking.prepare(seat);
            if flag.load(Ordering::Acquire) {
                parking.resume(seat);
                return false;
            }
            if parking.park(seat) == Woken::AllSleep {
                return true;
            }
        }
    }

    fn parking(seats: usize) -> Arc<Parking> {
        let parking = Parking::new(seats);
        for _ in 0..seats {
            parking.admit();
        }
        Arc::new(parking)
    }

    #[test]
    fn no_wake_up_is_lost_and_no_deadlock_is_invented() {
        loom::model(|| {
            let parking = parking(2);
            let flag = Arc::new(AtomicBool::new(false));
            let sleeper = {
                let (parking, flag) = (Arc::clone(&parking), Arc::clone(&flag));
                thread::spawn(move || {
                    parking.take_seat(1);
                    assert!(!wait(&parking, 1, &flag), "the other thread never slept");
                })
            };
            flag.store(true, Ordering::Release);
            parking.notify(1);
            sleeper.join().unwrap();
            assert!(!parking.is_waking());
        });
    }

    #[test]
    fn each_wakes_the_other() {
        loom::model(|| {
            let parking = parking(2);
            let flags = Arc::new([AtomicBool::new(false), AtomicBool::new(false)]);
            let other = {
                let (parking, flags) = (Arc::clone(&parking), Arc::clone(&flags));
                thread::spawn(move || {
                    parking.take_seat(1);
                    assert!(!wait(&parking, 1, &flags[1]));
                    flags[0].store(true, Ordering::Release);
                    parking.notify(0);
                })
            };
            parking.take_seat(0);
            flags[1].store(true, Ordering::Release);
            parking.notify(1);
            assert!(!wait(&parking, 0, &flags[0]));
            other.join().unwrap();
            assert!(!parking.is_waking());
        });
    }

    #[test]
    fn one_of_the_threads_that_wait_for_each_other_notices() {
        loom::model(|| {
            let parking = parking(2);
            let cancelled = Arc::new(AtomicBool::new(false));
            let wait_for_ever = |seat: usize| {
                let (parking, cancelled) = (Arc::clone(&parking), Arc::clone(&cancelled));
                move || {
                    parking.take_seat(seat);
                    let noticed = wait(&parking, seat, &cancelled);
                    if noticed {
                        cancelled.store(true, Ordering::Release);
                        parking.notify_all();
                    }
                    noticed
                }
            };
            let other = thread::spawn(wait_for_ever(1));
            let noticed = wait_for_ever(0)();
            // The first thread that detects the deadlock wakes the other, which may detect it too.
            assert!(noticed | other.join().unwrap());
            assert!(!parking.is_waking());
        });
    }

    #[test]
    fn a_thread_outside_is_one_of_those_that_wait_for_each_other() {
        loom::model(|| {
            let parking = parking(2);
            let cancelled = Arc::new(AtomicBool::new(false));
            let sleeper = {
                let (parking, cancelled) = (Arc::clone(&parking), Arc::clone(&cancelled));
                thread::spawn(move || {
                    parking.take_seat(0);
                    wait(&parking, 0, &cancelled)
                })
            };
            let was_dismissed = parking.dismiss_unless_last();
            if !was_dismissed {
                cancelled.store(true, Ordering::Release);
                parking.notify_all();
            }
            assert_eq!(sleeper.join().unwrap(), was_dismissed);
        });
    }

    #[test]
    fn two_notifiers_wake_one_sleeper() {
        // More preemptions would take hours to check.
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let parking = parking(3);
            let flag = Arc::new(AtomicBool::new(false));
            let notify = |parking: &Arc<Parking>, flag: &Arc<AtomicBool>| {
                let (parking, flag) = (Arc::clone(parking), Arc::clone(flag));
                thread::spawn(move || {
                    flag.store(true, Ordering::Release);
                    parking.notify(0);
                })
            };
            let others = [notify(&parking, &flag), notify(&parking, &flag)];
            parking.take_seat(0);
            assert!(!wait(&parking, 0, &flag));
            for other in others {
                other.join().unwrap();
            }
            assert!(!parking.is_waking());
        });
    }
}
