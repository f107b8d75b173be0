//! Locks for tasks. While a task holds a lock, other tasks with the same lock are deferred.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;

use cellworks_machine::Spe;

use crate::node::Node;
use crate::sync::{Mutex, locked};

/// A lock for tasks of a phase, made by [`Phase::lock`](crate::Phase::lock). Only one of the tasks
/// that are [locked](crate::Task::locked) by the same lock runs at a time.
pub struct TaskLock<'scope, S: Spe> {
    state: Arc<Mutex<LockState<Arc<Node<S>>>>>,
    /// The id of the only phase that may use the lock.
    phase: usize,
    scope: PhantomData<&'scope ()>,
}

impl<S: Spe> Clone for TaskLock<'_, S> {
    fn clone(&self) -> Self {
        Self {
            state: Arc::clone(&self.state),
            ..*self
        }
    }
}

impl<S: Spe> TaskLock<'_, S> {
    pub(crate) fn new(phase: usize) -> Self {
        Self {
            state: Arc::new(Mutex::new(LockState::new())),
            phase,
            scope: PhantomData,
        }
    }

    pub(crate) fn phase(&self) -> usize {
        self.phase
    }

    pub(crate) fn into_state(self) -> Arc<Mutex<LockState<Arc<Node<S>>>>> {
        self.state
    }
}

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

pub(crate) fn take<S: Spe>(lock: &Mutex<LockState<Arc<Node<S>>>>, task: &Arc<Node<S>>) -> bool {
    locked(lock).take(|| Arc::clone(task))
}

pub(crate) fn give_back<S: Spe>(lock: &Mutex<LockState<Arc<Node<S>>>>) -> Option<Arc<Node<S>>> {
    locked(lock).give_back()
}
