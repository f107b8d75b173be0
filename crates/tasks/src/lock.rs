//! Locks for tasks. While a task holds a lock, other tasks with the same lock are deferred.

use std::collections::VecDeque;

/// The state of a lock, with the deferred tasks.
pub(crate) struct LockState<T> {
    is_taken: bool,
    deferred: VecDeque<T>,
}

impl<T> LockState<T> {
    pub(crate) fn new() -> Self {
        Self {
            is_taken: false,
            deferred: VecDeque::new(),
        }
    }

    /// Takes the lock for a task and returns true, or defers the task and returns false.
    pub(crate) fn take(&mut self, task: impl FnOnce() -> T) -> bool {
        if self.is_taken {
            self.deferred.push_back(task());
            return false;
        }
        self.is_taken = true;
        true
    }

    /// Releases the lock, or passes it to the task that was deferred first and returns this task.
    pub(crate) fn give_back(&mut self) -> Option<T> {
        let next = self.deferred.pop_front();
        self.is_taken = next.is_some();
        next
    }
}
