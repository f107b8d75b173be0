//! Jobs: the elements of a worker's queue.

use std::sync::Arc;

use cellworks_machine::Spe;

use crate::discard::forgiving;
use crate::join::offer::Offer;
use crate::phase::node::{Node, ScopeOf};
use crate::scope::closure::Closure;

/// Work that any worker may take from a queue.
pub enum Job<S: Spe> {
    Offered(Arc<Offer<S>>),
    Spawned(Spawned<S>),
    /// A task of a phase, or a part of such a task.
    Task(Arc<Node<S>>),
}

pub struct Spawned<S: Spe> {
    /// Valid until the closure is counted as ended.
    pub(crate) scope: *const ScopeOf<S>,
    /// The closure. Its borrows are valid until the closure is counted as ended.
    pub(crate) body: Closure<S>,
}

// SAFETY: the closure is `Send`, and the state of a scope is `Sync`.
unsafe impl<S: Spe> Send for Spawned<S> {}

impl<S: Spe> Job<S> {
    /// Returns the scope to which the job belongs, or `None` for a half of a `join`.
    pub(crate) fn scope(&self) -> Option<*const ScopeOf<S>> {
        match self {
            Self::Offered(_) => None,
            Self::Spawned(spawned) => Some(spawned.scope),
            // SAFETY: the task has not been counted as ended.
            Self::Task(task) => Some(unsafe { &raw const (*task.phase).scope }),
        }
    }

    /// Returns the size of the closure, or of the data of the task, in bytes. The caller has taken
    /// the job out of a queue.
    pub(crate) fn bytes(&mut self) -> usize {
        match self {
            Self::Offered(offer) => offer.half.bytes(),
            Self::Spawned(spawned) => spawned.body.bytes(),
            // SAFETY: the caller has taken the task out of a queue.
            Self::Task(task) => unsafe { task.work() }.bytes(),
        }
    }

    /// Drops the job without running it, because the run was cancelled.
    pub(crate) fn discard(self) {
        match self {
            // The owner of the half withdraws the offer.
            Self::Offered(_) => {}
            Self::Spawned(Spawned { scope, body }) => {
                // Destructors of values that the closure owns may panic.
                forgiving(|| body.discard());
                // SAFETY: the closure has not been counted as ended.
                let scope = unsafe { &*scope };
                // In a cancelled run the owner checks the count without being woken.
                let _: bool = scope.count.end(1);
            }
            Self::Task(task) => task.discard(),
        }
    }
}
