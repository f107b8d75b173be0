//! Room in the queues: a program that starts closures faster than the workers run them waits, so
//! that any number of them needs bounded memory.
//!
//! It waits as every task does: other threads of its worker take the jobs, on stacks of their own.
//! If they cannot, because all of them wait and the local store has no room for another one, the
//! program goes on, as those may wait for what it does next.

use std::cell::RefCell;

use cellworks_machine::{Payload, Sleeper, Spe};

use crate::core::Core;
use crate::place::sealed::Sealed;
use crate::shared::Shared;
use crate::sync::{AtomicBool, Ordering, barrier};
use crate::worker::Worker;

/// With this number of jobs in the queue a program that starts closures waits. A power of two,
/// which is what the queue's memory grows to.
pub(crate) const MOST_QUEUED: usize = 4_096;

/// With this number left it goes on.
const FEW_QUEUED: usize = MOST_QUEUED / 2;

/// Threads of one worker that wait for room at a time. Closures that start closures would
/// otherwise all wait, each with a stack. Those that do not wait run to their end, and with them
/// the queue grows by what one branch of the program starts, not by all of them.
const MOST_WAITING: usize = 8;

/// The threads of a worker that wait for room in its queue.
#[derive(Default)]
pub(crate) struct Room(RefCell<Vec<Sleeper>>);

impl<S: Spe> Core<'_, S> {
    /// Waits until few jobs are left in the queue of this worker.
    ///
    /// # Errors
    ///
    /// What unwinds the caller because the run was cancelled.
    #[cold]
    #[inline(never)]
    pub(crate) fn wait_for_room(&self, worker: &Worker<'_, S>) -> Result<(), Payload> {
        let Room(waiting) = &self.room;
        if waiting.borrow().len() == MOST_WAITING {
            return Ok(());
        }
        let sleeper = self.spe.sleeper();
        waiting.borrow_mut().push(sleeper);
        let waited = worker.wait_for(&"room for a task in its queue", &mut || {
            self.queued_here() <= FEW_QUEUED || self.seat().is_stuck()
        });
        waiting.borrow_mut().retain(|&other| other != sleeper);
        waited
    }

    /// The caller is about to take a job. If few are left, those that wait for room go on.
    #[inline]
    pub(crate) fn make_room(&self) {
        let Room(waiting) = &self.room;
        if !waiting.borrow().is_empty() && self.queued_here() <= FEW_QUEUED {
            for sleeper in waiting.take() {
                self.spe.wake(sleeper);
            }
        }
    }
}

/// Whether the main program waits for room in the queue of what it starts.
pub(crate) struct FreshRoom {
    main_waits: AtomicBool,
}

impl FreshRoom {
    pub(crate) fn new() -> Self {
        Self {
            main_waits: AtomicBool::new(false),
        }
    }

    /// The main program is about to wait, and has to look once more before that: either it sees
    /// that a job is gone, or the worker that has taken it sees that the main program waits.
    pub(crate) fn begin_to_wait(&self) {
        self.main_waits.store(true, Ordering::Relaxed);
        barrier::heavy();
    }

    pub(crate) fn end_to_wait(&self) {
        self.main_waits.store(false, Ordering::Relaxed);
    }

    /// Whether the main program waits, for a worker that has just taken a job.
    #[inline]
    pub(crate) fn is_waited_for(&self) -> bool {
        barrier::light();
        self.main_waits.load(Ordering::Relaxed)
    }
}

impl<S: Spe> Shared<S> {
    /// Waits on the PPE until few jobs of the main program are left.
    ///
    /// # Errors
    ///
    /// What unwinds the caller because the run was cancelled.
    #[cold]
    #[inline(never)]
    pub(crate) fn wait_for_room(&self, main: &impl Sealed<S>) -> Result<(), Payload> {
        self.room.begin_to_wait();
        let waited = main.wait_for(&"room for a task in the queue of the pool", &mut || {
            self.fresh.len() <= FEW_QUEUED || self.workers.iter().all(|seat| seat.is_stuck())
        });
        self.room.end_to_wait();
        waited
    }

    /// A worker has taken jobs of the main program. True if it has to be woken.
    #[inline]
    pub(crate) fn has_made_room(&self) -> bool {
        self.room.is_waited_for() && self.fresh.len() <= FEW_QUEUED
    }
}
