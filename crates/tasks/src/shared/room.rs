//! Room in the queues. A program that starts jobs faster than the workers run them has to wait,
//! because memory must stay bounded. Other threads of the same worker run jobs meanwhile.
//!
//! If all threads wait and the local store has no room for another thread, the program continues,
//! because the other threads may wait for the program.

use std::cell::RefCell;

use cellworks_machine::{Payload, Sleeper, Spe};

use crate::place::WokenBy;
use crate::place::sealed::Sealed;
use crate::shared::{Destination, Shared};

/// The number of queued jobs at which a program that starts jobs has to wait. A power of two,
/// because the buffer of the queue has a power of two as its length.
pub(crate) const MOST_QUEUED: usize = 4_096;

/// The number of jobs in the queue at which the waiting program continues.
const FEW_QUEUED: usize = MOST_QUEUED / 2;

/// The largest number of threads of a worker that wait for room. Without the limit, closures that
/// start closures would all wait, and each would keep a stack.
const MOST_WAITING: usize = 8;

/// The threads of a worker that wait for room, each with the queue that it waits for.
#[derive(Default)]
pub(crate) struct WaitingForRoom(RefCell<Vec<(Sleeper, Destination)>>);

impl WaitingForRoom {
    /// Waits until few jobs are left in a queue into which this worker puts jobs, or until the
    /// worker `is_stuck`. If the run was cancelled, fails with the panic that the caller must
    /// resume.
    #[cold]
    #[inline(never)]
    pub(crate) fn wait<S: Spe>(
        &self,
        worker: &impl Sealed<S>,
        (sleeper, destination): (Sleeper, Destination),
        queued: impl Fn() -> usize,
        is_stuck: impl Fn() -> bool,
    ) -> Result<(), Payload> {
        if self.0.borrow().len() == MOST_WAITING {
            return Ok(());
        }
        self.0.borrow_mut().push((sleeper, destination));
        let waited = worker.wait_for(
            &"room for a task in its queue",
            WokenBy::Notification,
            &mut || queued() <= FEW_QUEUED || is_stuck(),
        );
        self.0.borrow_mut().retain(|(other, _)| *other != sleeper);
        waited
    }

    /// Wakes the threads whose queue, by `queued_at`, has few jobs left.
    #[inline]
    pub(crate) fn wake<S: Spe>(&self, spe: &S, queued_at: impl Fn(Destination) -> usize) {
        // A woken thread removes itself from the list, or waits again if the queue is full again.
        for &(sleeper, destination) in &*self.0.borrow() {
            if queued_at(destination) <= FEW_QUEUED {
                spe.wake(sleeper);
            }
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
    pub(crate) fn has_made_room(&self, destination: Destination) -> bool {
        self.room.is_waited_for() && self.queued_from_main(destination) <= FEW_QUEUED
    }
}
