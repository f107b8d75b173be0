//! Sleepers: the workers that wait for a task, and are woken when a task is queued.
//!
//! A worker without a task calls [`lie_down`](Sleepers::lie_down) and then checks the queues again.
//! A worker with a new task queues the task and then calls [`are_there`](Sleepers::are_there). The
//! barriers in both calls ensure that the first worker finds the task, or that `are_there` returns
//! true.

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicBool, AtomicUsize, Ordering, barrier};

pub(crate) struct Sleepers {
    asleep: CachePadded<AtomicUsize>,
    workers: Box<[CachePadded<AtomicBool>]>,
}

impl Sleepers {
    pub(crate) fn new(workers: usize) -> Self {
        let awake = || CachePadded::new(AtomicBool::new(false));
        Self {
            asleep: CachePadded::new(AtomicUsize::new(0)),
            workers: std::iter::repeat_with(awake).take(workers).collect(),
        }
    }

    /// Records that a worker sleeps. The worker must check the queues again before it waits.
    /// Returns false if the worker is already recorded.
    pub(crate) fn lie_down(&self, worker: usize) -> bool {
        if self.workers[worker].load(Ordering::Relaxed) {
            return false;
        }
        self.asleep.fetch_add(1, Ordering::Relaxed);
        // A store would be enough, but loom does not keep the order of stores among swaps.
        self.workers[worker].swap(true, Ordering::Relaxed);
        barrier::heavy();
        true
    }

    /// Records that a worker has found a task.
    pub(crate) fn get_up(&self, worker: usize) {
        if self.workers[worker].load(Ordering::Relaxed) {
            self.wake(worker);
        }
    }

    fn wake(&self, worker: usize) -> bool {
        let slept = self.workers[worker].swap(false, Ordering::Relaxed);
        if slept {
            self.asleep.fetch_sub(1, Ordering::Relaxed);
        }
        slept
    }

    /// Returns whether a worker sleeps. The caller has queued a task.
    #[inline(always)]
    pub(crate) fn are_there(&self) -> bool {
        barrier::light();
        self.asleep.load(Ordering::Relaxed) != 0
    }

    /// Returns whether one of these workers sleeps. Like [`are_there`](Self::are_there), but for
    /// some of the workers.
    pub(crate) fn are_among(&self, workers: impl IntoIterator<Item = usize>) -> bool {
        let sleeps = |worker: usize| self.workers[worker].load(Ordering::Relaxed);
        self.are_there() && workers.into_iter().any(sleeps)
    }

    /// Returns the first sleeper in `order` for the caller to wake, and records it as awake.
    pub(crate) fn one_to_wake(&self, order: impl IntoIterator<Item = usize>) -> Option<usize> {
        order
            .into_iter()
            .find(|&worker| self.workers[worker].load(Ordering::Relaxed) && self.wake(worker))
    }

    #[cfg(all(test, loom))]
    pub(crate) fn asleep(&self) -> usize {
        self.asleep.load(Ordering::SeqCst)
    }
}
