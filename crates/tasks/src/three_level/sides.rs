//! What a worker and the main program do with the queues.

use std::sync::Arc;

use cellworks_machine::{Payload, Spe};

use crate::phase::node::Node;

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
