//! Counts of the actions of a pool's workers.

use std::cell::Cell;

use cellworks_machine::Span;

/// The counts of a pool that [`Pool::run_counted`](crate::Pool::run_counted) returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The counts of each worker, in the order of the SPEs.
    pub workers: Vec<WorkerCounters>,
    /// The counts of the queues in main memory. All 0 with `Scheduler::Stealing`.
    pub scheduler: SchedulerCounters,
}

/// Counts of the queues in main memory, which only some [`Scheduler`](crate::Scheduler)s have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedulerCounters {
    /// The number of tasks that the PPE's scheduler moved from the prefilter to the reorder buffer.
    pub imported: u64,
    /// The number of times that a worker checked for tasks in main memory.
    pub check_outs: u64,
    /// The number of these checks that found no task.
    pub empty_check_outs: u64,
    /// The number of times that a processor polled a lock that another processor held.
    pub lock_polls: u64,
    /// The number of tasks that the PPE's scheduler has diced (split into parts).
    pub diced: u64,
    /// The number of parts into which the PPE's scheduler has diced tasks.
    pub parts: u64,
    /// The number of times that the PPE's scheduler tried to dice a task that cannot be diced.
    pub undiced: u64,
    /// The number of tasks that filters have dropped.
    pub dropped: u64,
}

/// Counts of the actions of one worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerCounters {
    /// The number of tasks of phases, and parts of tasks, that the worker has run.
    pub tasks: u64,
    /// The number of times that the worker took work from another worker.
    pub steals: u64,
    /// The number of second closures of `join` that the worker has offered to other workers.
    pub offers: u64,
    /// The number of tasks that the worker has diced (split into parts).
    pub diced: u64,
    /// The number of parts into which the worker has diced tasks.
    pub parts: u64,
    /// The number of times that the worker deferred a task because the lock of this task was taken.
    pub deferred: u64,
    /// The number of tasks that the worker has staged while another task ran.
    pub staged_ahead: u64,
    /// The number of tasks that were staged ahead in vain, because another task needed the local
    /// store.
    pub wasted: u64,
    /// The time in which the worker had no task, or in which its tasks waited for other tasks or
    /// for room in a queue. Waits for other events, such as data, are not counted.
    pub idle: Span,
}

#[derive(Default)]
pub(crate) struct WorkerCells {
    pub(crate) tasks: Cell<u64>,
    pub(crate) steals: Cell<u64>,
    pub(crate) offers: Cell<u64>,
    pub(crate) diced: Cell<u64>,
    pub(crate) parts: Cell<u64>,
    pub(crate) deferred: Cell<u64>,
    pub(crate) staged_ahead: Cell<u64>,
    pub(crate) wasted: Cell<u64>,
    idle: Cell<Span>,
}

impl WorkerCells {
    pub(crate) fn was_idle(&self, span: Span) {
        self.idle.set(self.idle.get() + span);
    }

    pub(crate) fn read(&self) -> WorkerCounters {
        WorkerCounters {
            tasks: self.tasks.get(),
            steals: self.steals.get(),
            offers: self.offers.get(),
            diced: self.diced.get(),
            parts: self.parts.get(),
            deferred: self.deferred.get(),
            staged_ahead: self.staged_ahead.get(),
            wasted: self.wasted.get(),
            idle: self.idle.get(),
        }
    }
}
