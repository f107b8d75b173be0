//! The scheduler of the paper: queues in main memory, from which workers take tasks by the
//! operations of a Cell, and a scheduler on the PPE. An alternative to queues with stealing.
//!
//! ```text
//!   main program ── Prefilter ── import ──► reorder buffer ──────► Ready buffer ──► inbox ──► task
//!        │            ▲                      1,024 tasks            check-out
//!        │            │ flush                filters, dicing        by workers
//!        ▼            └───────────────────── by the PPE ── outbox ◄── tasks that a task submits
//!   waits at the completion gate ◄── the last worker at the finished gate
//! ```
//!
//! **Numbers and tasks.** The buffers, locks, gates and counters lie in a region of main memory,
//! and are used by DMA, `getllar` and `putllc` on SPEs, by loads, stores and atomic updates on the
//! PPE. What the buffers hold are numbers; the tasks themselves lie in a table beside them, from
//! which a task is taken once: by the worker that runs it, the dicer that splits it, the filter
//! that drops it, or the end of a run that was cancelled.
//!
//! **What takes time** is what these operations take on the machine, and for instructions what
//! `costs` says. The PPE of the simulation is one thread: the main program and the scheduler take
//! turns. The scheduler imports whenever the main program has submitted some tasks, and imports and
//! dices whenever the main program waits and a worker has changed a buffer. So nothing is diced
//! while the main program still submits.
//!
//! **What spins.** A processor that waits for a lock polls it, on an SPE with the transfers of
//! figure 4.3, each of which is simulated: locks are held for some microseconds. A worker that has
//! found nothing would check out again and again, for as long as there is nothing. That is not
//! simulated: it waits until tasks have come to the buffers, and then checks out with all
//! operations. In the same way it looks at the gate when that has moved, and the PPE at the buffers
//! when a worker has changed them.
//!
//! **Dropped from the paper:** nothing takes tasks out of the inboxes of others. What `join` and
//! `scope` start is no task of these queues: it goes the way of the pool that steals.
//!
//! MARS, as the paper describes it, has the Ready buffer alone: the main program puts tasks into
//! it, SPEs take one at a time and get its object, and the PPE does nothing else. Tasks are not
//! diced and not staged ahead. Its barrier is the counter of tasks that have not ended.
//!
//! All machines that are Cells have this, the host included, where the same operations are what the
//! host does for them.

mod buffer;
mod costs;
mod dicing;
mod filter;
mod kernel;
mod queues;
mod scheduler;

use std::sync::Arc;

use cellworks_machine::memory::AllocateError;
use cellworks_machine::{CellMachine, Machine, OnCell, Payload, Spe, SpeId, StageError};

pub use filter::PendingTask;

pub(crate) use buffer::BUFFER_TASKS;
pub(crate) use filter::Filter;
pub(crate) use queues::Queues;

use crate::node::Node;
use crate::settings::Scheduler;
use kernel::Kernel;
use scheduler::PpeScheduler;

/// A worker's side of the queues.
pub(crate) trait WorkerSide<S: Spe> {
    /// Whether [`take`](Self::take) may find a task, or has something else to do.
    fn may_find(&self) -> bool;

    /// Takes a task, if there is one, and does what else a worker does when it looks for one.
    fn take(&self) -> Option<Arc<Node<S>>>;

    /// Takes a task to stage its data while another one runs: from the inbox, which is filled
    /// before if it is empty and `is_first` says that nothing is staged yet.
    fn take_ahead(&self, is_first: bool) -> Option<Arc<Node<S>>>;

    /// Puts a task back that was taken.
    fn put_back(&self, task: Arc<Node<S>>);

    /// Puts a task into the outbox that a task has submitted, or that may start now.
    fn post(&self, task: Arc<Node<S>>);

    /// Gets the binary of a task that is about to run, if it is not there.
    fn load(&self, task: &Node<S>);

    /// A task of a phase of the main program has ended, or a part of one.
    fn job_ended(&self);
}

/// The main program's side of the queues, with the PPE's scheduler.
pub(crate) trait MainSide<S: Spe> {
    /// Submits a task; waits while there is no room.
    fn post(&self, task: Arc<Node<S>>);

    /// A phase of the main program begins (`BeginSubmit` of the paper).
    fn phase_begins(&self);

    /// No more tasks will be submitted to a phase of the main program (`EndSubmit`).
    fn all_submitted(&self);

    /// Waits at the completion gate (`WaitForCompletion`), after all tasks of a phase have ended.
    ///
    /// # Errors
    ///
    /// What a filter has panicked with.
    fn phase_ends(&self) -> Result<(), Payload>;

    /// Does what the PPE's scheduler has to do: imports, filters, dices.
    fn serve(&self);

    /// Whether it has something to do.
    fn is_wanted(&self) -> bool;
}

/// How the sides are made, on a machine that has what they use.
pub(crate) struct Sides<M: Machine> {
    /// What they share.
    pub(crate) queues: WhatSidesShare<M>,
    /// The side of a worker.
    pub(crate) of_worker: SideOfWorker<M::Spe>,
    /// The side of the main program, with the number of tasks below which it dices.
    pub(crate) of_main: SideOfMain<M>,
}

/// Makes what the sides share, for the workers on these SPEs.
pub(crate) type WhatSidesShare<M> =
    fn(&M, Scheduler, &[SpeId]) -> Result<Queues<<M as Machine>::Spe>, AllocateError>;

/// Makes the side of a worker.
pub(crate) type SideOfWorker<S> =
    for<'a> fn(&'a S, &'a Queues<S>) -> Result<Box<dyn WorkerSide<S> + 'a>, StageError>;

/// Makes the side of the main program.
pub(crate) type SideOfMain<M> = for<'a> fn(
    &'a <M as Machine>::Core,
    &'a Queues<<M as Machine>::Spe>,
    Option<usize>,
    &'a [Filter<'a>],
) -> Box<dyn MainSide<<M as Machine>::Spe> + 'a>;

/// Says how the sides are made: they use the MFCs and the main memory of a Cell.
pub(crate) struct SidesOfCell;

impl<M: Machine> OnCell<M> for SidesOfCell {
    type Output = Sides<M>;

    fn run(self, _: &M) -> Sides<M>
    where
        M: CellMachine,
    {
        Sides {
            queues: Queues::new,
            of_worker: |spe, queues| Ok(Box::new(Kernel::new(spe, queues)?)),
            of_main: |core, queues, enough, filters| {
                Box::new(PpeScheduler::new(core, queues, enough, filters))
            },
        }
    }
}
