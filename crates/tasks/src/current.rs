use std::ptr;
use std::sync::Arc;

use cellworks_machine::Spe;

use crate::node::Node;

/// The submitted task to which running code belongs, if any: the task itself, the closures of its
/// scopes, the halves of its joins, and their cooperative threads. The task waits for all of them.
pub struct Current<S: Spe>(*const Arc<Node<S>>);

impl<S: Spe> Clone for Current<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Spe> Copy for Current<S> {}

// SAFETY: the value gives access only by `task`, whose caller ensures that the task exists. A task
// is `Sync`.
unsafe impl<S: Spe> Send for Current<S> {}
// SAFETY: as above.
unsafe impl<S: Spe> Sync for Current<S> {}

impl<S: Spe> Current<S> {
    pub(crate) fn none() -> Self {
        Self(ptr::null())
    }

    pub(crate) fn of(task: &Arc<Node<S>>) -> Self {
        Self(ptr::from_ref(task.whole()))
    }

    /// # Safety
    ///
    /// While the result is used, the reference that was given to [`of`](Self::of) is valid. It is
    /// valid until the task has ended.
    pub(crate) unsafe fn task<'a>(self) -> Option<&'a Arc<Node<S>>> {
        // SAFETY: by the contract of this function.
        unsafe { self.0.as_ref() }
    }
}
