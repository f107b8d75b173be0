//! The scheduler of the Jack Rabbit thesis, an alternative to queues with stealing. Queues lie in
//! main memory, and workers take tasks by the operations of a Cell. A scheduler runs on the PPE. In
//! this module "the paper" and numbers of figures and sections refer to the thesis.
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
//! SPEs access this region by DMA, `getllar` and `putllc`, and the PPE by loads, stores and atomic
//! updates. The buffers hold numbers of tasks. The tasks themselves lie in a separate table. Each
//! task is taken out of the table once: to run, to be split into parts (diced), or to be dropped.
//!
//! **Simulated time.** These operations take the time that the machine simulates, and instructions
//! take the time in `costs`. The simulated PPE is one thread, on which the main program and the
//! scheduler take turns. When the main program has submitted some tasks, the scheduler imports
//! these tasks. When the main program waits and a worker has changed a buffer, the scheduler
//! imports and dices.
//!
//! **Polling.** A processor that waits for a lock polls the lock. On an SPE each poll is simulated,
//! with the transfers of figure 4.3, because locks are held for some microseconds only. In the
//! paper, a worker that has found no task checks out (looks for tasks in the buffers) again and
//! again. These check-outs are not simulated. Instead the worker waits until tasks have come to the
//! buffers, and then checks out with all operations. In the same way, a worker reads the gate only
//! when the gate has moved, and the PPE reads the buffers only when a worker has changed them.
//!
//! **Differences from the paper:** workers do not take tasks out of the inboxes of other workers.
//! Closures of `join` and `scope` are distributed by stealing.
//!
//! MARS, as the paper describes it, has only the Ready buffer. The main program puts tasks into
//! this buffer, and SPEs take one task at a time and get the object of the task. The PPE does
//! nothing else, and tasks are neither diced nor staged ahead. The barrier of MARS is the counter
//! of tasks that have not ended.

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

/// The side of a worker: its access to the queues.
pub(crate) trait WorkerSide<S: Spe> {
    /// Returns whether [`take`](Self::take) may find a task or other work.
    fn may_find(&self) -> bool;

    /// Takes a task, if the worker can find one. Also flushes the outbox and reads the gate.
    fn take(&self) -> Option<Arc<Node<S>>>;

    /// Takes a task out of the inbox, to stage its data while another task runs. If the inbox is
    /// empty and no task is staged yet (`is_first`), first fills the inbox.
    fn take_ahead(&self, is_first: bool) -> Option<Arc<Node<S>>>;

    fn put_back(&self, task: Arc<Node<S>>);

    /// Puts a task into the outbox. The task was submitted by a task, or has become ready.
    fn post(&self, task: Arc<Node<S>>);

    /// Gets the binary of a task that is about to run, if the local store does not hold the binary.
    fn load(&self, task: &Node<S>);

    /// Records that a task of a phase of the main program, or a part of such a task, has ended.
    fn job_ended(&self);
}

/// The side of the main program: its access to the queues, and the PPE's scheduler.
pub(crate) trait MainSide<S: Spe> {
    /// Submits a task. While the queues have no room, waits.
    fn post(&self, task: Arc<Node<S>>);

    /// Begins a phase of the main program (`BeginSubmit` of the paper).
    fn phase_begins(&self);

    /// Records that the main program has submitted all its tasks to a phase (`EndSubmit`).
    fn all_submitted(&self);

    /// Waits at the completion gate (`WaitForCompletion`), after all tasks of the phase have ended.
    ///
    /// # Errors
    ///
    /// Returns the payload of a filter that has panicked.
    fn phase_ends(&self) -> Result<(), Payload>;

    /// Runs the PPE's scheduler: imports, filters and dices.
    fn serve(&self);

    /// Returns whether the PPE's scheduler has work.
    fn is_wanted(&self) -> bool;
}

/// The functions that make the queues and the sides, on a machine that is a Cell.
pub(crate) struct Sides<M: Machine> {
    /// Makes the queues, which the sides share.
    pub(crate) queues: WhatSidesShare<M>,
    /// Makes the side of a worker.
    pub(crate) of_worker: SideOfWorker<M::Spe>,
    /// Makes the side of the main program. Tasks are diced below the given number of tasks.
    pub(crate) of_main: SideOfMain<M>,
}

pub(crate) type WhatSidesShare<M> =
    fn(&M, Scheduler, &[SpeId]) -> Result<Queues<<M as Machine>::Spe>, AllocateError>;

pub(crate) type SideOfWorker<S> =
    for<'a> fn(&'a S, &'a Queues<S>) -> Result<Box<dyn WorkerSide<S> + 'a>, StageError>;

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
