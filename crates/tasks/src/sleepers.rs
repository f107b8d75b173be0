//! Which workers wait for a task, so that the one that has a new task wakes one of them.
//!
//! A worker that finds no task [lies down](Sleepers::lie_down) and then looks once more; a worker
//! with a new task puts it into a queue and then [looks for sleepers](Sleepers::one_to_wake).
//! Between its two steps each has a barrier, so at least one of them sees the other: the heavy one
//! is that of the worker that has nothing to do.

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicBool, AtomicUsize, Ordering, barrier};

/// Which workers wait for a task.
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

    /// A worker has found no task. It has to look once more before it waits. False if it lies
    /// already.
    pub(crate) fn lie_down(&self, worker: usize) -> bool {
        if self.workers[worker].load(Ordering::Relaxed) {
            return false;
        }
        self.asleep.fetch_add(1, Ordering::Relaxed);
        // A store would do, but loom does not keep the order of stores among swaps.
        self.workers[worker].swap(true, Ordering::Relaxed);
        barrier::heavy();
        true
    }

    /// A worker has found a task. It, or the caller, was woken, or woke by itself.
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

    /// Whether the caller, which has just put a task into a queue, should wake a worker.
    #[inline(always)]
    pub(crate) fn are_there(&self) -> bool {
        barrier::light();
        self.asleep.load(Ordering::Relaxed) != 0
    }

    /// A worker to be woken, the first in this order. It counts as awake from now on, so that the
    /// next task wakes another one.
    pub(crate) fn one_to_wake(&self, order: impl IntoIterator<Item = usize>) -> Option<usize> {
        order
            .into_iter()
            .find(|&worker| self.workers[worker].load(Ordering::Relaxed) && self.wake(worker))
    }

    /// How many workers wait.
    #[cfg(all(test, loom))]
    pub(crate) fn asleep(&self) -> usize {
        self.asleep.load(Ordering::SeqCst)
    }
}
