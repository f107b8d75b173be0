//! Room in the queues. A program that starts jobs faster than the workers run them has to wait,
//! because memory must stay bounded. Other threads of the same worker run jobs meanwhile.
//!
//! If all threads wait and the local store has no room for another thread, the program continues,
//! because the other threads may wait for the program.

use cellworks_machine::{Payload, Processor, Spe};

use crate::place::WokenBy;
use crate::place::sealed::Sealed;
use crate::program::WorkerProgram;
use crate::shared::{Destination, Shared};

/// The number of queued jobs at which a program that starts jobs has to wait. A power of two,
/// because the buffer of the queue has a power of two as its length.
pub(crate) const MOST_QUEUED: usize = 4_096;

/// The number of jobs in the queue at which the waiting program continues.
const FEW_QUEUED: usize = MOST_QUEUED / 2;

/// The largest number of threads of a worker that wait for room. Without the limit, closures that
/// start closures would all wait, and each would keep a stack.
const MOST_WAITING: usize = 8;

impl<S: Spe> WorkerProgram<'_, S> {
    /// Waits until few jobs are left in a queue into which this worker puts jobs. If the run was
    /// cancelled, fails with the panic that the caller must resume.
    #[cold]
    #[inline(never)]
    pub(crate) fn wait_for_room(
        &self,
        worker: &impl Sealed<S>,
        destination: Destination,
    ) -> Result<(), Payload> {
        let waiting = &self.waiting_for_room;
        if waiting.borrow().len() == MOST_WAITING {
            return Ok(());
        }
        let sleeper = self.spe.sleeper();
        waiting.borrow_mut().push((sleeper, destination));
        let waited = worker.wait_for(
            &"room for a task in its queue",
            WokenBy::Notification,
            &mut || self.queued_at(destination) <= FEW_QUEUED || self.seat().is_stuck(),
        );
        waiting.borrow_mut().retain(|(other, _)| *other != sleeper);
        waited
    }

    /// If few jobs are left in a queue, wakes the threads that wait for room in this queue.
    #[inline]
    pub(crate) fn make_room(&self) {
        let waiting = &self.waiting_for_room;
        // A woken thread removes itself from the list, or waits again if the queue is full again.
        for &(sleeper, destination) in &*waiting.borrow() {
            if self.queued_at(destination) <= FEW_QUEUED {
                self.spe.wake(sleeper);
            }
        }
    }

    /// Wakes the main program if it waits for room in a queue and few jobs are left in the queue.
    /// This worker has just taken a job from the queue.
    #[inline]
    pub(crate) fn has_taken_from(&self, destination: Destination) {
        if self.shared.has_made_room(destination) {
            self.spe.notify(Processor::Ppe);
        }
    }
}

impl<S: Spe> Shared<S> {
    /// Waits on the PPE until few jobs are left in a queue into which the main program puts jobs.
    /// If the run was cancelled, fails with the panic that the caller must resume.
    #[cold]
    #[inline(never)]
    pub(crate) fn wait_for_room(
        &self,
        main: &impl Sealed<S>,
        destination: Destination,
    ) -> Result<(), Payload> {
        self.room.begin_to_wait();
        let waited = main.wait_for(
            &"room for a task in the queue of the pool",
            WokenBy::Notification,
            &mut || {
                self.queued_from_main(destination) <= FEW_QUEUED
                    || self.workers.iter().all(|seat| seat.is_stuck())
            },
        );
        self.room.end_to_wait();
        waited
    }

    /// Returns the number of jobs in a queue of the main program.
    pub(crate) fn queued_from_main(&self, destination: Destination) -> usize {
        self.queued_at(destination, || self.fresh.len())
    }

    /// Returns whether the main program must be woken, after a job was taken from a queue.
    #[inline]
    fn has_made_room(&self, destination: Destination) -> bool {
        self.room.is_waited_for() && self.queued_from_main(destination) <= FEW_QUEUED
    }
}
