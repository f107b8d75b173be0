//! Counts of what the workers of a pool have done.

use std::cell::Cell;

use cellworks_machine::Span;

/// Counts of what the workers of a pool have done: see
/// [`Pool::run_counted`](crate::Pool::run_counted).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The counts of each worker, in the order of their SPEs.
    pub workers: Vec<WorkerCounters>,
    /// The counts of the queues in main memory: all 0 with
    /// [`Scheduler::Stealing`](crate::Scheduler).
    pub scheduler: SchedulerCounters,
}

/// Counts of the queues in main memory, for a [`Scheduler`](crate::Scheduler) that has them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedulerCounters {
    /// Tasks that the PPE's scheduler has taken from the prefilter to the reorder buffer.
    pub imported: u64,
    /// How often a worker checked for tasks in main memory.
    pub check_outs: u64,
    /// How many of these checks found no task.
    pub empty_check_outs: u64,
    /// How often a processor polled a lock that another one had.
    pub lock_polls: u64,
    /// Tasks that the PPE's scheduler has diced.
    pub diced: u64,
    /// The parts that dicing has made.
    pub parts: u64,
    /// How often the PPE's scheduler would have diced a task that cannot be diced.
    pub undiced: u64,
    /// Tasks that filters have dropped.
    pub dropped: u64,
}

/// Counts of what a worker has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerCounters {
    /// Tasks of phases that it has run. Each part of a diced task counts.
    pub tasks: u64,
    /// How often it took work from another worker.
    pub steals: u64,
    /// Halves of `join` that it has offered to other workers.
    pub offers: u64,
    /// Tasks that it has diced.
    pub diced: u64,
    /// The parts that dicing has made.
    pub parts: u64,
    /// Tasks that it put aside because another one had their lock.
    pub deferred: u64,
    /// Tasks whose data it began to get while another task ran.
    pub staged_ahead: u64,
    /// How many of these tasks were staged in vain, because their room was needed.
    pub wasted: u64,
    /// How long it ran no task: it had none, or all its tasks waited for other tasks or for room in
    /// a queue. A task that waits for something else, such as its data or a word of another
    /// program, counts as running.
    pub idle: Span,
}

/// The counters of a worker that runs.
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
