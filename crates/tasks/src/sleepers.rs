//! Sleepers: the workers that wait for a task. A worker with a new task can wake a sleeper.
//!
//! A worker that finds no task [lies down](Sleepers::lie_down) and then checks once more. A worker
//! with a new task puts the task into a queue and then [checks for
//! sleepers](Sleepers::one_to_wake). Each worker has a barrier between the two steps. Therefore the
//! worker without a task finds the task, or the other worker sees the sleeper. The worker without a
//! task makes the heavy barrier.

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

    /// Records that a worker has found no task. The worker must check once more before it waits.
    /// Returns false if the worker already sleeps.
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

    /// Returns whether the caller, which has just pushed a task, should wake a worker.
    #[inline(always)]
    pub(crate) fn are_there(&self) -> bool {
        barrier::light();
        self.asleep.load(Ordering::Relaxed) != 0
    }

    /// Returns the first sleeper in `order`, for the caller to wake. The sleeper counts as awake
    /// from now on, so the next task wakes another worker.
    pub(crate) fn one_to_wake(&self, order: impl IntoIterator<Item = usize>) -> Option<usize> {
        order
            .into_iter()
            .find(|&worker| self.workers[worker].load(Ordering::Relaxed) && self.wake(worker))
    }

    /// Returns the number of workers that sleep.
    #[cfg(all(test, loom))]
    pub(crate) fn asleep(&self) -> usize {
        self.asleep.load(Ordering::SeqCst)
    }
}
