//! The worker that tasks receive.

use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cellworks_machine::{Payload, Processor, Spe};

use crate::frames::Frames;
use crate::job::Job;
use crate::node::Node;
use crate::place::{self, sealed::Sealed};
use crate::program::WorkerProgram;
use crate::request::Request;
use crate::room::MOST_QUEUED;
use crate::shared::Destination;
use crate::waits::Waits;

/// The worker that runs a task. The task starts more work with the methods of the worker. A
/// `Worker` cannot leave its thread:
///
/// ```compile_fail,E0277
/// use cellworks_machine::Spe;
/// use cellworks_tasks::Worker;
///
/// fn program<S: Spe>(worker: &Worker<'_, S>) {
///     worker.scope(|scope| {
///         scope.spawn(worker, |_| {
///             // `worker` is not the worker that runs this closure.
///             worker.join(|_| (), |_| ());
///         });
///     });
/// }
/// ```
pub struct Worker<'w, S: Spe> {
    program: &'w WorkerProgram<'w, S>,
    frames: Frames<S>,
    request: &'w Request,
    /// The submitted task that runs on this thread, if any.
    current: RefCell<Option<Arc<Node<S>>>>,
}

impl<'w, S: Spe> Worker<'w, S> {
    pub(crate) fn new(program: &'w WorkerProgram<'w, S>) -> Self {
        Self {
            program,
            frames: Frames::new(),
            request: &program.seat().request,
            current: RefCell::default(),
        }
    }

    /// Returns the SPE, with which the task stages data, computes, waits and reads the clock.
    pub fn spe(&self) -> &S {
        self.program.spe
    }

    /// Returns the number of workers of the pool.
    pub fn workers(&self) -> usize {
        self.program.shared.workers.len()
    }

    pub(crate) fn set_current(&self, task: Option<Arc<Node<S>>>) {
        *self.current.borrow_mut() = task;
    }

    pub(crate) fn program(&self) -> &'w WorkerProgram<'w, S> {
        self.program
    }

    pub(crate) fn frames(&self) -> &Frames<S> {
        &self.frames
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.program.spe.is_cancelled()
    }

    #[inline(always)]
    pub(crate) fn guarded<R>(&self, part: impl FnOnce() -> R) -> Result<R, Payload> {
        catch_unwind(AssertUnwindSafe(part))
    }

    /// Returns whether another worker asks this worker for work.
    #[inline(always)]
    pub(crate) fn is_wanted(&self) -> bool {
        self.program.spe.catch_up();
        self.request.is_asked()
    }

    /// Offers the oldest half of a `join`, if another worker asks for work.
    #[inline(always)]
    pub(crate) fn answer(&self) {
        if self.is_wanted() {
            self.program.answer();
        }
    }
}

impl<S: Spe> Sealed<S> for Worker<'_, S> {
    #[inline]
    fn processor(&self) -> Processor {
        Processor::Spe(self.program.spe.id())
    }

    #[inline]
    fn pool(&self) -> usize {
        self.program.shared.id()
    }

    #[inline]
    fn push(&self, job: Job<S>) {
        match (job, &self.program.central) {
            (Job::Task(task), Some(central)) => central.post(task),
            (job, _) => self.program.push(job),
        }
    }

    #[inline]
    fn wait_for_room(&self) -> Result<(), Payload> {
        if self.program.queued_here() < MOST_QUEUED {
            return Ok(());
        }
        self.program.wait_for_room(self, Destination::Starter)
    }

    fn wait_for_room_at(&self, destination: Destination, _: usize) -> Result<(), Payload> {
        if self.program.queued_at(destination) < MOST_QUEUED {
            return Ok(());
        }
        self.program.wait_for_room(self, destination)
    }

    fn queue_of(&self, job: &Job<S>) -> Destination {
        self.program.shared.queue_of(job)
    }

    fn notify(&self, to: Processor) {
        self.program.spe.notify(to);
    }

    fn current_task(&self) -> Option<Arc<Node<S>>> {
        self.current.borrow().clone()
    }

    fn waits(&self) -> &Waits<S> {
        &self.program.shared.waits
    }

    #[track_caller]
    fn wait_for(
        &self,
        why: &dyn fmt::Display,
        done: &mut dyn FnMut() -> bool,
    ) -> Result<(), Payload> {
        self.program.hand_in_ended();
        if done() {
            return Ok(());
        }
        let _waiting = self.program.spe.activity("waiting");
        self.program
            .wait_for_others(|| place::wait_for(self.program.spe, self.program.shared, why, done))
    }
}
