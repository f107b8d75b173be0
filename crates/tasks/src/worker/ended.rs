//! The account of a worker: the ended tasks of one scope that are not counted in the scope yet. A
//! locked instruction for each task would take longer than a small task.

use std::cell::Cell;
use std::ptr;

use cellworks_machine::Spe;

use crate::phase::node::ScopeOf;

/// Ended tasks of a scope, each of which must be counted once.
pub(crate) struct Ended<S: Spe>(Cell<(*const ScopeOf<S>, isize)>);

impl<S: Spe> Ended<S> {
    pub(crate) fn new() -> Self {
        Self(Cell::new((ptr::null(), 0)))
    }

    /// Adds a task of `scope`, which waits for it. Returns false, and adds nothing, if there are
    /// tasks of another scope.
    #[must_use]
    pub(crate) fn add(&self, scope: *const ScopeOf<S>) -> bool {
        let (of, tasks) = self.0.get();
        let fits = of == scope || of.is_null();
        if fits {
            self.0.set((scope, tasks + 1));
        }
        fits
    }

    /// Returns the scope of the tasks, or null if there are none.
    pub(crate) fn scope(&self) -> *const ScopeOf<S> {
        self.0.get().0
    }

    /// Takes the tasks out of the account.
    pub(crate) fn take(&self) -> Batch<S> {
        let (scope, tasks) = self.0.replace((ptr::null(), 0));
        Batch { scope, tasks }
    }
}

/// Ended tasks that are in no account.
#[must_use]
pub(crate) struct Batch<S: Spe> {
    scope: *const ScopeOf<S>,
    tasks: isize,
}

impl<S: Spe> Batch<S> {
    /// One task of `scope`, which waits for it.
    pub(crate) fn one_of(scope: *const ScopeOf<S>) -> Self {
        Self { scope, tasks: 1 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.scope.is_null()
    }

    /// Counts the tasks in their scope, and wakes the thread that waits for it if they were the
    /// last ones.
    pub(crate) fn count(self, spe: &S) {
        // SAFETY: the pointer is null, or a scope that waits for these tasks.
        let Some(scope) = (unsafe { self.scope.as_ref() }) else {
            return;
        };
        // The owner may free the scope when the last task is counted.
        let waiter = scope.waiter;
        if scope.count.end(self.tasks) {
            spe.wake(waiter);
        }
    }
}
