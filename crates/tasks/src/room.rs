//! Room in the queues. A program that starts closures or tasks faster than the workers run them has
//! to wait, so that memory stays bounded.
//!
//! While it waits, other threads of its worker run jobs, on stacks of their own. If all of them
//! wait too, and the local store has no room for another thread, the program goes on: they may wait
//! for what it does next.

use std::cell::RefCell;

use cellworks_machine::{Payload, Processor, Sleeper, Spe};

use crate::place::sealed::Sealed;
use crate::program::WorkerProgram;
use crate::shared::{Destination, Shared};
use crate::sync::{AtomicBool, Ordering, barrier};
use crate::worker::Worker;

/// A program that starts jobs waits if this many jobs are in the queue. It is a power of two, as
/// the sizes of the queue's memory are.
pub(crate) const MOST_QUEUED: usize = 4_096;

/// The program goes on when this many jobs are left.
const FEW_QUEUED: usize = MOST_QUEUED / 2;

/// How many threads of one worker may wait for room at a time. Without this limit, closures that
/// start closures would all wait, each with a stack. Closures beyond the limit do not wait and run
/// to their end. They let the queue grow only by what one branch of the program starts.
const MOST_WAITING: usize = 8;

/// The threads of a worker that wait for room in a queue.
#[derive(Default)]
pub(crate) struct Room(RefCell<Vec<(Sleeper, Destination)>>);

impl<S: Spe> WorkerProgram<'_, S> {
    /// Waits until few jobs are left in a queue that this worker puts jobs into.
    ///
    /// # Errors
    ///
    /// The payload that unwinds the caller because the run was cancelled.
    #[cold]
    #[inline(never)]
    pub(crate) fn wait_for_room(
        &self,
        worker: &Worker<'_, S>,
        destination: Destination,
    ) -> Result<(), Payload> {
        let Room(waiting) = &self.room;
        if waiting.borrow().len() == MOST_WAITING {
            return Ok(());
        }
        let sleeper = self.spe.sleeper();
        waiting.borrow_mut().push((sleeper, destination));
        let waited = worker.wait_for(&"room for a task in its queue", &mut || {
            self.queued_at(destination) <= FEW_QUEUED || self.seat().is_stuck()
        });
        waiting.borrow_mut().retain(|(other, _)| *other != sleeper);
        waited
    }

    /// Called when the caller is about to take a job. If few jobs are left, this wakes the threads
    /// that wait for room.
    #[inline]
    pub(crate) fn make_room(&self) {
        let Room(waiting) = &self.room;
        // A woken thread removes itself from the list: other threads may have filled the queue
        // again by then, and it goes on waiting.
        for &(sleeper, destination) in &*waiting.borrow() {
            if self.queued_at(destination) <= FEW_QUEUED {
                self.spe.wake(sleeper);
            }
        }
    }

    /// Called when the caller has taken a job from a queue that all processors put jobs into: the
    /// queue of the main program, or a queue of tasks that go to a certain place.
    #[inline]
    pub(crate) fn has_taken_from(&self, destination: Destination) {
        if self.shared.has_made_room(destination) {
            self.spe.notify(Processor::Ppe);
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

    /// Called when the main program is about to wait. After this call it must check the queue once
    /// more: either it sees that a job was taken, or the worker that has taken the job sees that
    /// the main program waits.
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
    /// Waits on the PPE until few jobs are left in a queue that the main program puts jobs into.
    ///
    /// # Errors
    ///
    /// The payload that unwinds the caller because the run was cancelled.
    #[cold]
    #[inline(never)]
    pub(crate) fn wait_for_room(
        &self,
        main: &impl Sealed<S>,
        destination: Destination,
    ) -> Result<(), Payload> {
        self.room.begin_to_wait();
        let waited = main.wait_for(&"room for a task in the queue of the pool", &mut || {
            self.queued_from_main(destination) <= FEW_QUEUED
                || self.workers.iter().all(|seat| seat.is_stuck())
        });
        self.room.end_to_wait();
        waited
    }

    /// How many jobs wait in a queue, for the main program.
    pub(crate) fn queued_from_main(&self, destination: Destination) -> usize {
        self.queued_at(destination, || self.fresh.len())
    }

    /// Called when a worker has taken jobs of a queue that the main program puts jobs into. Returns
    /// true if the main program has to be woken.
    #[inline]
    fn has_made_room(&self, destination: Destination) -> bool {
        self.room.is_waited_for() && self.queued_from_main(destination) <= FEW_QUEUED
    }
}
