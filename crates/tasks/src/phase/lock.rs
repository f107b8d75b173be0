//! Locks for tasks. While a task holds a lock, other tasks with the same lock are deferred.

use std::collections::VecDeque;

/// The state of a lock, with the deferred tasks.
pub(crate) struct LockState<T> {
    /// The task that holds the lock.
    holder: Option<T>,
    deferred: VecDeque<T>,
}

impl<T: Clone> LockState<T> {
    pub(crate) fn new() -> Self {
        Self {
            holder: None,
            deferred: VecDeque::new(),
        }
    }

    /// Takes the lock for a task and returns true, or defers the task and returns false.
    pub(crate) fn take(&mut self, task: &T) -> bool {
        let is_free = self.holder.is_none();
        if is_free {
            self.holder = Some(task.clone());
        } else {
            self.deferred.push_back(task.clone());
        }
        is_free
    }

    /// Returns whether a deferred task is the one that `is_it` looks for.
    pub(crate) fn defers(&self, is_it: impl Fn(&T) -> bool) -> bool {
        self.deferred.iter().any(is_it)
    }

    pub(crate) fn holder(&self) -> Option<T> {
        self.holder.clone()
    }

    /// Releases the lock, or passes it to the task that was deferred first and returns this task.
    pub(crate) fn give_back(&mut self) -> Option<T> {
        self.holder = self.deferred.pop_front();
        self.holder.clone()
    }
}
