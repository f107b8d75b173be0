//! The worker that tasks receive.
//!
//! ```text
//!   WorkerProgram: one on each SPE                    Worker: one on each of its threads
//!     threads        start, and take jobs               what a task is given
//!       program        finds the next job               job: the halves of its `join` calls,
//!       running        runs it                            and its task
//!     its parts
//!       thread_counts  the threads with a job, and the idle time
//!       requests       the halves that it asks for, and those that it offers
//!       ended          the ended tasks that are not counted yet
//!       ahead          the data on its way
//!       WaitingForRoom, in `shared`: the threads that wait until a queue has room
//!       WorkerDoor, in `three_level`: the queues in main memory
//! ```
//!
//! Read this file first (what a task may do), then `threads` (a job after the other, and the waits
//! for one), `program` (where the next job comes from) and `running` (how a job runs). Each part
//! has a state that no other file changes. `depth` is the number of tasks whose data is staged
//! ahead.

mod ahead;
mod depth;
mod ended;
pub(crate) mod program;
mod requests;
mod running;
mod thread_counts;
mod threads;

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use cellworks_machine::{Payload, Processor, Sleeper, Spe};

use crate::elsewhere::UsableElsewhere;
use crate::join::halves::RunningJob;
use crate::join::request::Request;
use crate::phase::node::CurrentTask;
use crate::phase::waits::Waits;
use crate::place::WokenBy;
use crate::place::sealed::Sealed;
use crate::shared::Destination;
use crate::shared::job::Job;
use crate::shared::room::MOST_QUEUED;
use crate::worker::program::{WaitsForOthers, WorkerProgram};

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
    job: RunningJob<S>,
    request: &'w Request,
    /// The name that the system knows for the task of this thread, null for no task. `None` if the
    /// name may be at the address of a later one. To tell the same name again would take longer
    /// than a small task.
    named: Cell<Option<*const str>>,
}

// SAFETY: no type implements `UsableElsewhere`, so no `Worker` is `Sync`.
unsafe impl<S: Spe> Sync for Worker<'_, S> where Self: UsableElsewhere {}

impl<'w, S: Spe> Worker<'w, S> {
    pub(crate) fn new(program: &'w WorkerProgram<'w, S>) -> Self {
        Self {
            program,
            job: RunningJob::new(),
            request: &program.seat().exchange.request,
            named: Cell::new(Some(no_name())),
        }
    }

    /// Returns the SPE, with which the task stages data, computes, waits and reads the clock.
    pub fn spe(&self) -> &S {
        self.program.spe
    }

    /// Returns the number of this worker, from 0 to less than [`workers`](Self::workers).
    pub fn number(&self) -> usize {
        self.program.number
    }

    /// Returns the number of workers of the pool.
    pub fn workers(&self) -> usize {
        self.program.shared.workers.len()
    }

    /// Calls `body`, whose code belongs to the task `current`, and which is the thread's job.
    #[inline]
    pub(crate) fn with_current<R>(&self, current: CurrentTask<S>, body: impl FnOnce() -> R) -> R {
        self.job.current.set(current);
        // SAFETY: the task waits for the job.
        self.name(unsafe { current.task() }.map(|task| task.name()));
        let result = body();
        self.job.current.set(CurrentTask::none());
        result
    }

    pub(crate) fn program(&self) -> &'w WorkerProgram<'w, S> {
        self.program
    }

    /// Names the task of this thread for the report of a stack overflow, or no task.
    #[inline]
    fn name(&self, task: Option<&Cow<'static, str>>) {
        let name = match task {
            None => no_name(),
            Some(Cow::Borrowed(name)) => ptr::from_ref(*name),
            // Another task may have had another name at the same address.
            Some(Cow::Owned(_)) => return self.rename(task, None),
        };
        if self.named.get() != Some(name) {
            self.rename(task, Some(name));
        }
    }

    #[cold]
    fn rename(&self, task: Option<&Cow<'static, str>>, name: Option<*const str>) {
        self.named.set(name);
        let task = task.map(|name| format!("the task '{name}'"));
        self.program.spe.set_task(task);
    }

    pub(crate) fn job(&self) -> &RunningJob<S> {
        &self.job
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

    /// Returns whether a worker sleeps that could take a half of this worker.
    #[inline]
    pub(crate) fn do_others_sleep(&self) -> bool {
        self.program.shared.sleepers.are_there()
    }

    /// Tells the workers that ask for work that this worker has seen it.
    #[inline]
    pub(crate) fn decline(&self) {
        self.request.decline();
    }

    /// Offers the oldest half of a `join`, if another worker asks for work.
    #[inline(always)]
    pub(crate) fn offer_if_asked(&self) {
        if self.is_wanted() {
            let program = self.program;
            self.request.answer(
                move || program.offer_oldest(),
                move || program.shared.sleepers.are_among(program.requests.others()),
            );
        }
    }
}

/// Returns the null pointer that stands for no task.
fn no_name() -> *const str {
    ptr::slice_from_raw_parts(ptr::null::<u8>(), 0) as *const str
}

impl<S: Spe> Sealed<S> for Worker<'_, S> {
    #[inline]
    fn processor(&self) -> Processor {
        Processor::Spe(self.program.spe.id())
    }

    #[inline]
    fn sleeper(&self) -> Sleeper {
        self.program.spe.sleeper()
    }

    #[inline]
    fn pool(&self) -> usize {
        self.program.shared.id()
    }

    #[inline(always)]
    fn catch_up(&self) -> Result<(), Payload> {
        self.guarded(|| self.program.spe.catch_up())
    }

    #[inline]
    fn push(&self, job: Job<S>) {
        match self.program.central.post(job) {
            Ok(()) => self.program.wake_idle_thread(),
            Err(job) => self.program.push(job),
        }
    }

    fn push_to(&self, worker: usize, job: Job<S>) {
        let shared = self.program.shared;
        shared.push_to(worker, job, |processor| self.notify(processor));
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

    fn current(&self) -> CurrentTask<S> {
        self.job.current.get()
    }

    fn waits(&self) -> &Waits<S> {
        &self.program.shared.waits
    }

    #[track_caller]
    fn wait(
        &self,
        why: &dyn fmt::Display,
        woken_by: WokenBy,
        done: &mut dyn FnMut() -> bool,
    ) -> bool {
        self.program.hand_in_ended();
        if done() {
            return true;
        }
        let spe = self.program.spe;
        let _waiting = spe.activity("waiting");
        let _for_others = WaitsForOthers::new(self.program);
        match woken_by {
            WokenBy::Notification => spe.wait_until(why, done),
            WokenBy::Name => spe.wait_until_woken(why, done),
        }
    }

    fn outlast(&self, done: &mut dyn FnMut() -> bool) {
        let shared = self.program.shared;
        self.program.spe.outlast(&mut || {
            shared.discard_jobs();
            done()
        });
    }
}
