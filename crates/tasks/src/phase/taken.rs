//! A task that a worker has taken out of a queue.

use std::ops::Deref;
use std::sync::Arc;

use cellworks_machine::Spe;

use crate::phase::node::{Node, PhaseState};
use crate::phase::work::Work;

/// A task that the owner of this value has taken out of a queue. The owner alone uses the work of
/// the task, and the task is not counted as ended, until the owner gives the task up: it ends the
/// task, puts it back into a queue, or leaves it to the holder of its lock or to its parts.
pub(crate) struct Taken<S: Spe>(Arc<Node<S>>);

impl<S: Spe> Taken<S> {
    /// # Safety
    ///
    /// The caller has taken the task out of a queue, and makes one value for it. When the task is
    /// given up, the value is used neither for the phase nor for the work any more.
    pub(crate) unsafe fn new(task: Arc<Node<S>>) -> Self {
        Self(task)
    }

    /// Returns the task, for a queue.
    pub(crate) fn give_up(self) -> Arc<Node<S>> {
        self.0
    }

    pub(crate) fn phase(&self) -> &PhaseState<S> {
        // SAFETY: by the contract of `new`, the task is not counted as ended, so its phase exists.
        unsafe { &*self.0.phase }
    }

    pub(crate) fn work(&self) -> &(dyn Work<S> + 'static) {
        // SAFETY: by the contract of `new`, the task was taken out of a queue.
        unsafe { self.0.work() }
    }

    pub(crate) fn drop_work(&mut self) {
        // SAFETY: as in `work`, and no reference to the work is left.
        unsafe { self.0.drop_work() };
    }
}

impl<S: Spe> Deref for Taken<S> {
    type Target = Arc<Node<S>>;

    fn deref(&self) -> &Arc<Node<S>> {
        &self.0
    }
}
