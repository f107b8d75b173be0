//! Counts of the actions of a pool's workers.

use std::cell::Cell;

use cellworks_machine::{Flow, Flows, Party, Processor, Span, SpeId};

/// The counts of a pool that [`Pool::run_counted`](crate::Pool::run_counted) returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The counts of each worker, in the order of the SPEs.
    pub workers: Vec<WorkerCounters>,
    /// The counts of the queues in main memory. All 0 with `Scheduler::Stealing`.
    pub scheduler: SchedulerCounters,
    /// How often each worker took work from each other worker, and from the main program. The
    /// parties are the workers, in the order of the SPEs, and then `main`.
    ///
    /// A message is one time that a worker took work: several tasks that it took at once count
    /// once, and so does a half of a [`join`](crate::Worker::join). So what a worker has received
    /// from other workers is its number of [`steals`](WorkerCounters::steals).
    ///
    /// Bytes are those of the work itself. For a task of a [phase](crate::Main::phase) they are the
    /// bytes of the task's data. For a closure they are its size: the values that it has captured,
    /// and 8 bytes for each reference, but not what it refers to. The pool does not know which
    /// worker wrote the data.
    ///
    /// Tasks with a priority are not counted, because the pool does not know who started them.
    /// Tasks that should run on one worker (`near`) are not counted unless another worker takes
    /// them: then they come from the worker for which they waited. With the scheduler of three
    /// levels, what comes from `main` is what a worker took from the queues, one task at a time.
    pub flows: Flows,
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

pub(crate) struct WorkerCells {
    /// How often the worker took work from each worker, and from the main program, which is last,
    /// and the bytes of this work.
    taken: Box<[Cell<(u64, u64)>]>,
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
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            taken: vec![Cell::default(); workers + 1].into(),
            tasks: Cell::default(),
            steals: Cell::default(),
            offers: Cell::default(),
            diced: Cell::default(),
            parts: Cell::default(),
            deferred: Cell::default(),
            staged_ahead: Cell::default(),
            wasted: Cell::default(),
            idle: Cell::default(),
        }
    }

    /// Counts that the worker took work of some bytes from another worker.
    pub(crate) fn stole_from(&self, other: usize, bytes: usize) {
        self.steals.set(self.steals.get() + 1);
        self.took_from(other, bytes);
    }

    /// Counts that the worker took work of some bytes that the main program has started.
    pub(crate) fn took_from_main(&self, bytes: usize) {
        self.took_from(self.taken.len() - 1, bytes);
    }

    fn took_from(&self, other: usize, bytes: usize) {
        let taken = &self.taken[other];
        let (messages, before) = taken.get();
        taken.set((messages + 1, before.saturating_add(bytes as u64)));
    }

    /// Returns what the worker with the number `worker` took from each other party.
    pub(crate) fn flows(&self, worker: usize) -> Vec<Flow> {
        let taken = self.taken.iter().map(Cell::get).enumerate();
        let flows = taken.map(|(from, (messages, bytes))| Flow {
            from,
            to: worker,
            messages,
            bytes,
        });
        flows.filter(|flow| flow.messages > 0).collect()
    }

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

/// Returns the parties of a pool with workers on `spes`: the workers, and the main program.
pub(crate) fn parties(spes: impl Iterator<Item = SpeId>) -> Vec<Party> {
    let workers = (0..).zip(spes).map(|(unit, at)| Party {
        name: format!("worker {unit}"),
        at: Some(Processor::Spe(at)),
        unit,
    });
    let mut parties: Vec<Party> = workers.collect();
    parties.push(Party {
        name: "main".to_owned(),
        at: Some(Processor::Ppe),
        unit: parties.len(),
    });
    parties
}
