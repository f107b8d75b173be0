//! Places from which a program starts tasks: a worker, or the PPE.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use cellworks_machine::{Payload, Processor, Sleeper, Spe};

use crate::phase::node::CurrentTask;
use crate::phase::waits::Waits;
use crate::shared::Destination;
use crate::shared::job::Job;

/// The place from which a program starts tasks: the [`Worker`](crate::Worker) on which the program
/// runs, or the [`Main`](crate::Main) program of the pool.
pub trait Place<S: Spe>: sealed::Sealed<S> {}

impl<S: Spe, P: sealed::Sealed<S>> Place<S> for P {}

/// What makes a waiting thread check its condition again.
#[derive(Clone, Copy, Debug)]
pub enum WokenBy {
    /// A notification of its processor, on which all waiting threads check their conditions.
    Notification,
    /// A wake-up by the thread's [`Sleeper`]. Thousands of threads may wait so.
    Name,
}

pub(crate) mod sealed {
    use super::{
        AssertUnwindSafe, CurrentTask, Destination, Job, Payload, Processor, Sleeper, Spe, Waits,
        WokenBy, catch_unwind, fmt,
    };

    /// Methods that only this crate calls.
    pub trait Sealed<S: Spe> {
        fn processor(&self) -> Processor;

        /// Returns the handle by which the calling thread is woken.
        fn sleeper(&self) -> Sleeper;

        fn pool(&self) -> usize;

        /// Lets the other processors of a simulated machine run up to the time of this place, so
        /// that a job that is queued next is queued at that time. If the run was cancelled, fails
        /// with the panic that the caller must resume, after it has discarded what it was given.
        fn catch_up(&self) -> Result<(), Payload>;

        /// Puts a job into a queue, and wakes a worker.
        fn push(&self, job: Job<S>);

        /// Puts a job into the queue of the worker with this number, which alone may run it.
        fn push_to(&self, worker: usize, job: Job<S>);

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

        /// Returns the task to which the running code at this place belongs, if any.
        fn current(&self) -> CurrentTask<S>;

        /// Returns the record of the tasks in this pool that wait for other tasks.
        fn waits(&self) -> &Waits<S>;

        /// Waits until `done` returns true, and returns true. Other tasks can run during this
        /// wait. If the run was cancelled, unwinds the caller, or returns false if the caller is
        /// unwinding already.
        #[track_caller]
        fn wait(
            &self,
            why: &dyn fmt::Display,
            woken_by: WokenBy,
            done: &mut dyn FnMut() -> bool,
        ) -> bool;

        /// Waits in a cancelled run until `done` returns true. Drops the queued jobs meanwhile.
        fn outlast(&self, done: &mut dyn FnMut() -> bool);

        /// Does the same as [`wait`](Self::wait), but returns only when `done` has returned true,
        /// even in a cancelled run. For code whose stack other jobs borrow: they all end, because
        /// they are unwound or dropped.
        ///
        /// If the run was cancelled, fails with the panic that the caller must resume, unless the
        /// caller is unwinding already.
        #[track_caller]
        fn wait_for(
            &self,
            why: &dyn fmt::Display,
            woken_by: WokenBy,
            done: &mut dyn FnMut() -> bool,
        ) -> Result<(), Payload> {
            let outcome = catch_unwind(AssertUnwindSafe(|| self.wait(why, woken_by, done)));
            if !matches!(outcome, Ok(true)) {
                self.outlast(done);
            }
            outcome.map(|_| ())
        }
    }
}
