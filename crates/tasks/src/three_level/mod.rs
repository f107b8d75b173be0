//! The scheduler of the Jack Rabbit thesis (here "the paper"), with its figure and section numbers.
//! Queues lie in main memory. Workers take tasks by operations of a Cell, and a scheduler runs on
//! the PPE.
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
//! updates. The buffers hold numbers of tasks, and a table holds the tasks. A task is taken out of
//! the table once: to run, to be split into parts (diced), or to be dropped.
//!
//! **Simulated time.** These operations take the time that the machine simulates. Other
//! instructions take the time in `costs`. The main program and the scheduler share one thread of
//! the PPE. The scheduler imports and dices tasks when the main program has submitted some tasks,
//! and when the main program waits and a worker has changed a buffer.
//!
//! **Polling.** Each poll of a lock is simulated, with the transfers of figure 4.3, because locks
//! are held for some microseconds only. Other polls are not simulated. A worker checks out (looks
//! for tasks in the buffers) only when tasks have come, and reads the gate only when the gate has
//! changed. The PPE reads the buffers only when a worker has changed them.
//!
//! **Differences from the paper:** workers take no tasks out of the inboxes of other workers.
//! Closures of `join` and `scope` are distributed by stealing.
//!
//! **MARS**, as the paper describes it, has only the Ready buffer, from which SPEs take one task at
//! a time. Tasks are neither diced nor staged ahead. The barrier is the counter of live tasks.
//!
//! Read `buffer` first (a queue in memory), then `queues` (what all sides share), `sides` (the
//! doors for the rest of the crate), `kernel` (the side of a worker) and `scheduler` (that of the
//! PPE), with `filter` and `dicing`, which it calls. `costs` has times and sizes.

mod buffer;
mod costs;
mod dicing;
mod filter;
mod kernel;
mod queues;
mod scheduler;
mod sides;

use cellworks_machine::memory::AllocateError;
use cellworks_machine::{CellMachine, Machine, OnCell, SpeId, StageError};

pub use filter::PendingTask;

pub(crate) use buffer::BUFFER_TASKS;
pub(crate) use filter::Filter;
pub(crate) use queues::Queues;
pub(crate) use sides::{MainDoor, WorkerDoor};
use sides::{MainSide, WorkerSide};

use crate::pool::settings::Scheduler;
use kernel::Kernel;
use scheduler::PpeScheduler;

/// The constructors of the queues and of the types that access them, on a Cell.
pub(crate) struct Sides<M: Machine> {
    pub(crate) queues: WhatSidesShare<M>,
    /// Makes the [`WorkerSide`] of a worker.
    pub(crate) of_worker: SideOfWorker<M::Spe>,
    /// Makes the [`MainSide`]. Tasks are diced if fewer than the given number of tasks wait.
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

/// Makes [`Sides`], which use the MFCs and the main memory of a Cell.
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
