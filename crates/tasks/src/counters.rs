//! What the workers of a pool have done, in numbers.

use std::cell::Cell;

use cellworks_machine::Span;

/// What the workers of a pool have done: see [`Pool::run_counted`](crate::Pool::run_counted).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Of each worker, in the order of their SPEs.
    pub workers: Vec<WorkerCounters>,
    /// Of the queues in main memory: all 0 with [`Scheduler::Stealing`](crate::Scheduler).
    pub scheduler: SchedulerCounters,
}

/// What happened at the queues in main memory, with another [`Scheduler`](crate::Scheduler) than
/// the one that steals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedulerCounters {
    /// Tasks that the PPE's scheduler has taken from the prefilter to the reorder buffer.
    pub imported: u64,
    /// Times that a worker looked for tasks in main memory.
    pub check_outs: u64,
    /// Those of them that found none.
    pub empty_check_outs: u64,
    /// Times that a processor looked at a lock that another one had.
    pub lock_polls: u64,
    /// Tasks that the PPE's scheduler has diced.
    pub diced: u64,
    /// Parts that came of them.
    pub parts: u64,
    /// Times that it would have diced a task that cannot be.
    pub undiced: u64,
    /// Tasks that filters have dropped.
    pub dropped: u64,
}

/// What a worker has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerCounters {
    /// Tasks of phases that it has run, each part of a diced task by itself.
    pub tasks: u64,
    /// Times that it took work from another worker.
    pub steals: u64,
    /// Halves of `join` that it has offered to others.
    pub offers: u64,
    /// Tasks that it has diced.
    pub diced: u64,
    /// Parts that came of them.
    pub parts: u64,
    /// Tasks that it put aside because another one had their lock.
    pub deferred: u64,
    /// Tasks whose data it began to get while another task ran.
    pub staged_ahead: u64,
    /// Those of them whose data was got in vain, because the room was needed.
    pub wasted: u64,
    /// How long it ran nothing: it had no task, or all that it had waited for other tasks or for
    /// room in a queue. A task that waits for something else, such as its data or a word of another
    /// program, counts as one that runs.
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
