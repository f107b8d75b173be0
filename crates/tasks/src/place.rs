//! Places from which a program starts tasks: a worker, or the PPE.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cellworks_machine::{Cancelled, Payload, Processor, Spe, Wake};

use crate::job::Job;
use crate::node::Node;
use crate::shared::{Destination, Shared};
use crate::waits::Waits;

/// The place from which a program starts tasks: the [`Worker`](crate::Worker) on which the program
/// runs, or the [`Main`](crate::Main) program of the pool.
pub trait Place<S: Spe>: sealed::Sealed<S> {}

impl<S: Spe, P: sealed::Sealed<S>> Place<S> for P {}

pub(crate) mod sealed {
    use super::{Arc, Destination, Job, Node, Payload, Processor, Spe, Waits, fmt};

    /// Methods that only this crate calls.
    pub trait Sealed<S: Spe> {
        fn processor(&self) -> Processor;

        fn pool(&self) -> usize;

        /// Puts a job into a queue, and wakes a worker.
        fn push(&self, job: Job<S>);

        /// If many jobs are queued, waits until few are left. Called after each start of a closure.
        /// If the run was cancelled, fails with the panic that the caller must resume.
        fn wait_for_room(&self) -> Result<(), Payload>;

        /// Does the same as [`wait_for_room`](Self::wait_for_room) for the queue `destination`.
        /// Called after each submission of a task, with its `number`.
        fn wait_for_room_at(&self, destination: Destination, number: usize) -> Result<(), Payload>;

        /// Returns the queue into which this place puts a job.
        fn queue_of(&self, job: &Job<S>) -> Destination;

        fn notify(&self, to: Processor);

        /// Begins a phase of this place.
        fn phase_begins(&self) {}

        /// Records that the program at this place has submitted all tasks of a phase.
        fn all_submitted(&self) {}

        /// Ends a phase of this place after its tasks have ended. Fails if a filter has panicked.
        fn phase_ends(&self) -> Result<(), Payload> {
            Ok(())
        }

        /// Returns the task that runs at this place, if any.
        fn current_task(&self) -> Option<Arc<Node<S>>>;

        /// Returns the record of the tasks in this pool that wait for other tasks.
        fn waits(&self) -> &Waits<S>;

        /// Waits until `done` returns true, even in a cancelled run. Other tasks can run during
        /// this wait. If the run was cancelled, fails with the panic that the caller must resume.
        fn wait_for(
            &self,
            why: &dyn fmt::Display,
            done: &mut dyn FnMut() -> bool,
        ) -> Result<(), Payload>;
    }
}

/// See [`sealed::Sealed::wait_for`].
#[track_caller]
pub(crate) fn wait_for<S: Spe>(
    processor: &impl Wake,
    shared: &Shared<S>,
    why: &dyn fmt::Display,
    done: &mut dyn FnMut() -> bool,
) -> Result<(), Payload> {
    wait_by(processor, shared, done, |done| {
        processor.wait_until(why, done)
    })
}

/// Waits until `done` returns true, by calling `wait(done)`. If `wait` returns false because the
/// caller is already unwinding, waits by `Wake::outlast` and returns an error.
pub(crate) fn wait_by<S: Spe>(
    processor: &impl Wake,
    shared: &Shared<S>,
    done: &mut dyn FnMut() -> bool,
    wait: impl FnOnce(&mut dyn FnMut() -> bool) -> bool,
) -> Result<(), Payload> {
    let waited = catch_unwind(AssertUnwindSafe(|| wait(done)));
    let panic = match waited {
        Ok(true) => return Ok(()),
        Ok(false) => Box::new(Cancelled) as Payload,
        Err(panic) => panic,
    };
    processor.outlast(&mut || {
        shared.discard_jobs();
        done()
    });
    Err(panic)
}
