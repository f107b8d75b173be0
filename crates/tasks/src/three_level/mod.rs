//! The scheduler of the paper, an alternative to queues with stealing: there are queues in main
//! memory, from which workers take tasks by the operations of a Cell, and a scheduler on the PPE.
//!
//! ```text
//!   main program ── Prefilter ── import ──► reorder buffer ──────► Ready buffer ──► inbox ──► task
//!        │            ▲                      1,024 tasks            check-out
//!        │            │ flush                filters, dicing        by workers
//!        ▼            └───────────────────── by the PPE ── outbox ◄── tasks that a task submits
//!   waits at the completion gate ◄── the last worker at the finished gate
//! ```
//!
//! **Numbers and tasks.** The buffers, locks, gates and counters lie in a region of main memory.
//! SPEs use them by DMA, `getllar` and `putllc`, the PPE by loads, stores and atomic updates. The
//! buffers hold numbers of tasks. The tasks themselves lie in a separate table, from which a task
//! is taken once: by the worker that runs it, the dicer that splits it, the filter that drops it,
//! or the end of a cancelled run.
//!
//! **Simulated time.** These operations take the time that the machine simulates, and instructions
//! the time in `costs`. The simulated PPE is one thread, on which the main program and the
//! scheduler take turns. The scheduler imports whenever the main program has submitted some tasks.
//! It imports and dices whenever the main program waits and a worker has changed a buffer. So
//! nothing is diced while the main program still submits.
//!
//! **Polling.** A processor that waits for a lock polls it. On an SPE each poll is simulated, with
//! the transfers of figure 4.3, because locks are held only for some microseconds. In the paper, a
//! worker that has found no task checks out again and again. That is not simulated: the worker
//! waits until tasks have come to the buffers, and then checks out with all operations. In the same
//! way a worker reads the gate only when the gate has moved, and the PPE reads the buffers only
//! when a worker has changed them.
//!
//! **Differences from the paper:** workers do not take tasks out of the inboxes of other workers.
//! Closures of `join` and `scope` are not tasks of these queues: they are distributed by stealing.
//!
//! MARS, as the paper describes it, has only the Ready buffer: the main program puts tasks into it,
//! SPEs take one at a time and get its object, and the PPE does nothing else. Tasks are not diced
//! and not staged ahead. Its barrier is the counter of tasks that have not ended.
//!
//! This scheduler works on all machines that are Cells, including the host, which performs the same
//! operations in its own way.

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

    /// Takes a task, if there is one, and does the other work of a worker that looks for a task.
    fn take(&self) -> Option<Arc<Node<S>>>;

    /// Takes a task out of the inbox, to stage its data while another task runs. If the inbox is
    /// empty and `is_first` says that nothing is staged yet, the inbox is filled before.
    fn take_ahead(&self, is_first: bool) -> Option<Arc<Node<S>>>;

    /// Puts a task back that was taken.
    fn put_back(&self, task: Arc<Node<S>>);

    /// Puts a task into the outbox that a task has submitted, or that may start now.
    fn post(&self, task: Arc<Node<S>>);

    /// Gets the binary of a task that is about to run, if it is not there.
    fn load(&self, task: &Node<S>);

    /// Called when a task of a phase of the main program, or a part of one, has ended.
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
    /// The payload of a filter that has panicked.
    fn phase_ends(&self) -> Result<(), Payload>;

    /// Does the work of the PPE's scheduler: imports, filters, dices.
    fn serve(&self);

    /// Whether the PPE's scheduler has something to do.
    fn is_wanted(&self) -> bool;
}

/// Functions that make the sides, on a machine that is a Cell.
pub(crate) struct Sides<M: Machine> {
    /// Makes what the sides share.
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

/// Returns the functions that make the sides, which use the MFCs and the main memory of a Cell.
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
