//! Sleepers: the workers that wait for a task, and are woken when a task is queued.
//!
//! A worker without a task calls [`lie_down`](Sleepers::lie_down) and then checks the queues again.
//! A worker with a new task queues the task and then calls [`are_there`](Sleepers::are_there). The
//! barriers in both calls ensure that the first worker finds the task, or that `are_there` returns
//! true.
//!
//! On a host, the workers of one CPU are a group: they share an OS thread, which sleeps only if no
//! worker of the group can work. If one of them works, the others cannot be woken. They look for
//! tasks when the OS thread has nothing else to do, so that they need not be woken either. So a
//! group is asleep if all its workers are.

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicBool, AtomicUsize, Ordering, barrier};

pub(crate) struct Sleepers {
    /// The number of groups that are asleep, or more for a moment.
    asleep: CachePadded<AtomicUsize>,
    workers: Box<[CachePadded<Worker>]>,
    /// The number of workers of each group that are not asleep.
    awake: Box<[CachePadded<AtomicUsize>]>,
}

struct Worker {
    is_asleep: AtomicBool,
    group: usize,
}

impl Sleepers {
    /// Makes the record for workers that are awake. `groups` are the numbers of their groups, which
    /// are less than the number of workers.
    pub(crate) fn new(groups: &[usize]) -> Self {
        let worker = |&group: &usize| {
            let is_asleep = AtomicBool::new(false);
            CachePadded::new(Worker { is_asleep, group })
        };
        let members = |group| groups.iter().filter(|&&of| of == group).count();
        let awake = |group| CachePadded::new(AtomicUsize::new(members(group)));
        Self {
            asleep: CachePadded::new(AtomicUsize::new(0)),
            workers: groups.iter().map(worker).collect(),
            awake: (0..groups.len()).map(awake).collect(),
        }
    }

    /// Records that a worker sleeps. The worker must check the queues again before it waits.
    /// Returns false if the worker is already recorded.
    pub(crate) fn lie_down(&self, worker: usize) -> bool {
        let Worker { is_asleep, .. } = &*self.workers[worker];
        if is_asleep.load(Ordering::Relaxed) {
            return false;
        }
        // A store would be enough, but loom does not keep the order of stores among swaps.
        is_asleep.swap(true, Ordering::Relaxed);
        self.rests(worker);
        true
    }

    /// Records that a worker has found a task.
    pub(crate) fn get_up(&self, worker: usize) {
        if self.workers[worker].is_asleep.load(Ordering::Relaxed) {
            self.wake(worker);
        }
    }

    fn wake(&self, worker: usize) -> bool {
        let slept = self.workers[worker]
            .is_asleep
            .swap(false, Ordering::Relaxed);
        if slept {
            self.works(worker);
        }
        slept
    }

    /// Records that a worker takes no task, although it does not sleep, or sleeps.
    pub(crate) fn rests(&self, worker: usize) {
        // Before the group can be woken, because whoever wakes it subtracts it again.
        self.asleep.fetch_add(1, Ordering::Relaxed);
        if self.awake_beside(worker).fetch_sub(1, Ordering::Relaxed) != 1 {
            self.asleep.fetch_sub(1, Ordering::Relaxed);
        }
        barrier::heavy();
    }

    /// Ends a call of [`rests`](Self::rests).
    pub(crate) fn works(&self, worker: usize) {
        if self.awake_beside(worker).fetch_add(1, Ordering::Relaxed) == 0 {
            self.asleep.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Returns the number of workers of the worker's group that are not asleep.
    fn awake_beside(&self, worker: usize) -> &AtomicUsize {
        &self.awake[self.workers[worker].group]
    }

    /// Returns whether a group sleeps. The caller has queued a task.
    #[inline(always)]
    pub(crate) fn are_there(&self) -> bool {
        barrier::light();
        self.asleep.load(Ordering::Relaxed) != 0
    }

    /// Returns whether one of these workers sleeps, and its group. Like
    /// [`are_there`](Self::are_there), but for some of the workers.
    pub(crate) fn are_among(&self, workers: impl IntoIterator<Item = usize>) -> bool {
        self.are_there() && workers.into_iter().any(|worker| self.can_be_woken(worker))
    }

    fn can_be_woken(&self, worker: usize) -> bool {
        self.workers[worker].is_asleep.load(Ordering::Relaxed)
            && self.awake_beside(worker).load(Ordering::Relaxed) == 0
    }

    /// Returns the first worker in `order` that sleeps, and its group, for the caller to wake.
    /// Records the worker as awake.
    pub(crate) fn one_to_wake(&self, order: impl IntoIterator<Item = usize>) -> Option<usize> {
        order
            .into_iter()
            .find(|&worker| self.can_be_woken(worker) && self.wake(worker))
    }

    #[cfg(all(test, loom))]
    pub(crate) fn asleep(&self) -> usize {
        self.asleep.load(Ordering::SeqCst)
    }
}
