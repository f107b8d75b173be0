//! What a worker and the main program do with the queues, and the doors to the queues: the values
//! by which the rest of the crate does it. If the scheduler of a pool has no queues in main memory,
//! nothing is behind a door.

use std::sync::Arc;

use cellworks_machine::{Payload, Spe};

use crate::phase::node::Node;
use crate::shared::job::Job;

/// The operations of a worker on the queues.
pub(crate) trait WorkerSide<S: Spe> {
    /// Returns whether [`take`](Self::take) may find a task or other work.
    fn may_find(&self) -> bool;

    /// Takes a task, if any. Also flushes the outbox and reads the gate.
    fn take(&self) -> Option<Arc<Node<S>>>;

    /// Takes a task out of the inbox, to stage its data while another task runs. Fills an empty
    /// inbox first if no task is staged yet (`is_first`).
    fn take_ahead(&self, is_first: bool) -> Option<Arc<Node<S>>>;

    fn put_back(&self, task: Arc<Node<S>>);

    /// Puts a task that was submitted by a task, or has become ready, into the outbox.
    fn post(&self, task: Arc<Node<S>>);

    /// Gets the binary of a task that is about to run, unless the local store holds it.
    fn load(&self, task: &Node<S>);

    /// Records the end of a task of a phase of the main program, or of a part of such a task.
    fn job_ended(&self);
}

/// The operations of the main program on the queues, and the PPE's scheduler.
pub(crate) trait MainSide<S: Spe> {
    /// Submits a task. Waits while the queues have no room.
    fn post(&self, task: Arc<Node<S>>);

    /// Begins a phase of the main program (`BeginSubmit` of the paper).
    fn phase_begins(&self);

    /// Records that the main program has submitted all tasks of a phase (`EndSubmit`).
    fn all_submitted(&self);

    /// Waits at the completion gate (`WaitForCompletion`), after the tasks of the phase have ended.
    /// If a filter has panicked, fails with its payload.
    fn phase_ends(&self) -> Result<(), Payload>;

    /// Runs the PPE's scheduler: imports, filters and dices.
    fn serve(&self);

    /// Returns whether the PPE's scheduler has work.
    fn is_wanted(&self) -> bool;
}

/// The door of a worker to the queues.
pub(crate) struct WorkerDoor<'w, S: Spe>(Option<Box<dyn WorkerSide<S> + 'w>>);

impl<'w, S: Spe> WorkerDoor<'w, S> {
    pub(crate) fn new(side: Option<Box<dyn WorkerSide<S> + 'w>>) -> Self {
        Self(side)
    }

    /// Returns whether there are queues.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// See [`WorkerSide::may_find`].
    #[inline]
    pub(crate) fn may_find(&self) -> bool {
        self.0.as_ref().is_some_and(|side| side.may_find())
    }

    /// See [`WorkerSide::take`].
    #[inline]
    pub(crate) fn take(&self) -> Option<Arc<Node<S>>> {
        self.0.as_ref()?.take()
    }

    /// See [`WorkerSide::take_ahead`].
    pub(crate) fn take_ahead(&self, is_first: bool) -> Option<Arc<Node<S>>> {
        self.0.as_ref()?.take_ahead(is_first)
    }

    /// Puts a task back that was taken. Returns a job that the queues do not take.
    pub(crate) fn put_back(&self, job: Job<S>) -> Result<(), Job<S>> {
        match (job, &self.0) {
            (Job::Task(task), Some(side)) => side.put_back(task),
            (job, _) => return Err(job),
        }
        Ok(())
    }

    /// See [`WorkerSide::post`]. Returns a job that the queues do not take.
    #[inline(always)]
    pub(crate) fn post(&self, job: Job<S>) -> Result<(), Job<S>> {
        match (job, &self.0) {
            (Job::Task(task), Some(side)) => side.post(task),
            (job, _) => return Err(job),
        }
        Ok(())
    }

    /// See [`WorkerSide::load`].
    pub(crate) fn load(&self, task: &Node<S>) {
        if let Some(side) = &self.0 {
            side.load(task);
        }
    }

    /// See [`WorkerSide::job_ended`].
    pub(crate) fn job_ended(&self) {
        if let Some(side) = &self.0 {
            side.job_ended();
        }
    }
}

/// The door of the main program to the queues.
pub(crate) struct MainDoor<'p, S: Spe>(Option<Box<dyn MainSide<S> + 'p>>);

impl<'p, S: Spe> MainDoor<'p, S> {
    pub(crate) fn new(side: Option<Box<dyn MainSide<S> + 'p>>) -> Self {
        Self(side)
    }

    /// See [`MainSide::post`]. Returns a job that the queues do not take.
    #[inline(always)]
    pub(crate) fn post(&self, job: Job<S>) -> Result<(), Job<S>> {
        match (job, &self.0) {
            (Job::Task(task), Some(side)) => side.post(task),
            (job, _) => return Err(job),
        }
        Ok(())
    }

    /// See [`MainSide::phase_begins`].
    pub(crate) fn phase_begins(&self) {
        if let Some(side) = &self.0 {
            side.phase_begins();
        }
    }

    /// See [`MainSide::all_submitted`].
    pub(crate) fn all_submitted(&self) {
        if let Some(side) = &self.0 {
            side.all_submitted();
        }
    }

    /// See [`MainSide::phase_ends`].
    pub(crate) fn phase_ends(&self) -> Result<(), Payload> {
        self.0.as_ref().map_or(Ok(()), |side| side.phase_ends())
    }

    /// See [`MainSide::serve`].
    pub(crate) fn serve(&self) {
        if let Some(side) = &self.0 {
            side.serve();
        }
    }

    /// See [`MainSide::is_wanted`].
    pub(crate) fn is_wanted(&self) -> bool {
        self.0.as_ref().is_some_and(|side| side.is_wanted())
    }
}
