//! Room in the queues: a program that starts closures or tasks faster than the workers run them
//! waits, so that any number of them needs bounded memory.
//!
//! It waits as every task does: other threads of its worker take the jobs, on stacks of their own.
//! If they cannot, because all of them wait and the local store has no room for another one, the
//! program goes on, as those may wait for what it does next.

use std::cell::RefCell;

use cellworks_machine::{Payload, Processor, Sleeper, Spe};

use crate::place::sealed::Sealed;
use crate::program::WorkerProgram;
use crate::shared::{Destination, Shared};
use crate::sync::{AtomicBool, Ordering, barrier};
use crate::worker::Worker;

/// With this number of jobs in the queue a program that starts more of them waits. A power of two,
/// which is what the queue's memory grows to.
pub(crate) const MOST_QUEUED: usize = 4_096;

/// With this number left it goes on.
const FEW_QUEUED: usize = MOST_QUEUED / 2;

/// Threads of one worker that wait for room at a time. Closures that start closures would
/// otherwise all wait, each with a stack. Those that do not wait run to their end, and with them
/// the queue grows by what one branch of the program starts, not by all of them.
const MOST_WAITING: usize = 8;

/// The threads of a worker that wait for room in a queue.
#[derive(Default)]
pub(crate) struct Room(RefCell<Vec<(Sleeper, Destination)>>);

impl<S: Spe> WorkerProgram<'_, S> {
    /// Waits until few jobs are left in a queue that this worker puts jobs into.
    ///
    /// # Errors
    ///
    /// What unwinds the caller because the run was cancelled.
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

    /// The caller is about to take a job. Where few are left, the threads that wait for room go on.
    #[inline]
    pub(crate) fn make_room(&self) {
        let Room(waiting) = &self.room;
        // A thread that goes on leaves the list itself: others may have filled the queue again by
        // then, and it goes on waiting.
        for &(sleeper, destination) in &*waiting.borrow() {
            if self.queued_at(destination) <= FEW_QUEUED {
                self.spe.wake(sleeper);
            }
        }
    }

    /// The caller has taken a job from a queue that all processors put jobs into: that of the main
    /// program, or one of tasks that go to a certain place.
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
    /// Waits on the PPE until few jobs are left in a queue that the main program puts jobs into.
    ///
    /// # Errors
    ///
    /// What unwinds the caller because the run was cancelled.
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

    /// How many jobs wait in a queue, from where the main program stands.
    pub(crate) fn queued_from_main(&self, destination: Destination) -> usize {
        self.queued_at(destination, || self.fresh.len())
    }

    /// A worker has taken jobs of a queue that the main program puts jobs into. True if that has to
    /// be woken.
    #[inline]
    fn has_made_room(&self, destination: Destination) -> bool {
        self.room.is_waited_for() && self.queued_from_main(destination) <= FEW_QUEUED
    }
}
