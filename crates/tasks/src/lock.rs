//! Mutual exclusion of tasks: one that cannot have the lock is put aside, and its worker runs
//! others.

use std::collections::VecDeque;
use std::sync::Arc;

use cellworks_machine::Spe;

use crate::node::Node;
use crate::sync::{Mutex, locked};

/// A lock for tasks: of those that are [locked](crate::Task::locked) by it, one at a time runs.
///
/// A task that finds the lock taken is deferred; deferred tasks get the lock in the order in which
/// they asked for it, so each has its turn.
pub struct TaskLock<S: Spe>(Mutex<State<Arc<Node<S>>>>);

/// Who has a lock, and who is deferred.
pub(crate) struct State<T> {
    is_taken: bool,
    deferred: VecDeque<T>,
}

impl<T> State<T> {
    pub(crate) fn new() -> Self {
        Self {
            is_taken: false,
            deferred: VecDeque::new(),
        }
    }

    /// Takes the lock for a task, or defers the task and says false.
    pub(crate) fn take(&mut self, task: impl FnOnce() -> T) -> bool {
        if self.is_taken {
            self.deferred.push_back(task());
            return false;
        }
        self.is_taken = true;
        true
    }

    /// Gives the lock back: to the task that has been deferred longest, which has it now, if there
    /// is one.
    pub(crate) fn give_back(&mut self) -> Option<T> {
        let next = self.deferred.pop_front();
        self.is_taken = next.is_some();
        next
    }
}

impl<S: Spe> TaskLock<S> {
    /// A lock that no task has.
    pub fn new() -> Self {
        Self(Mutex::new(State::new()))
    }

    /// Takes the lock for a task, or defers the task and says false.
    pub(crate) fn take(&self, task: &Arc<Node<S>>) -> bool {
        locked(&self.0).take(|| Arc::clone(task))
    }

    /// Gives the lock back; the task that has it now, if one was deferred.
    pub(crate) fn give_back(&self) -> Option<Arc<Node<S>>> {
        locked(&self.0).give_back()
    }
}

impl<S: Spe> Default for TaskLock<S> {
    fn default() -> Self {
        Self::new()
    }
}
