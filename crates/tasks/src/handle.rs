//! Handles to submitted tasks, with which a program waits for a task or cancels it.

use std::fmt;
use std::marker::PhantomData;
use std::panic::resume_unwind;
use std::sync::Arc;

use cellworks_machine::Spe;

use crate::error::TaskError;
use crate::node::{End, Node};
use crate::place::Place;

/// A handle to a submitted task. Dropping the handle does not affect the task.
pub struct Handle<'scope, S: Spe> {
    pub(crate) node: Arc<Node<S>>,
    pool: usize,
    phase: PhantomData<&'scope ()>,
}

impl<S: Spe> Clone for Handle<'_, S> {
    fn clone(&self) -> Self {
        Self {
            node: Arc::clone(&self.node),
            pool: self.pool,
            phase: PhantomData,
        }
    }
}

impl<S: Spe> fmt::Debug for Handle<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task {}", self.node)
    }
}

impl<S: Spe> Handle<'_, S> {
    pub(crate) fn new(node: Arc<Node<S>>, pool: usize) -> Self {
        Self {
            node,
            pool,
            phase: PhantomData,
        }
    }

    /// Returns whether the task has ended.
    pub fn has_ended(&self) -> bool {
        self.node.end().is_some()
    }

    /// Cancels the task and the tasks that come after it. Returns false if the task has begun.
    pub fn cancel(&self) -> bool {
        if self.node.has_begun() {
            return false;
        }
        self.node.drop_it();
        !self.node.has_begun()
    }

    /// Waits until the task has ended. Meanwhile, other tasks run. `from` is the caller's
    /// [`Place`].
    ///
    /// # Errors
    ///
    /// - Returns [`TaskError::Circle`] if this task cannot end before the calling task.
    /// - Returns [`TaskError::DidNotRun`] if this task or a task before it was cancelled or failed.
    ///
    /// # Panics
    ///
    /// Panics if `from` and the task belong to different pools.
    #[track_caller]
    pub fn wait(&self, from: &impl Place<S>) -> Result<(), TaskError> {
        let node = &self.node;
        assert!(
            from.pool() == self.pool,
            "task {node} belongs to another pool than the worker that waits for it: name the worker that the caller \
             was handed by the pool of the task"
        );
        let end = node.announce_at(from.processor());
        let end = match end {
            Some(end) => end,
            None => {
                let waiter = from.current_task();
                if let Some(waiter) = &waiter {
                    from.waits().begin(waiter, node)?;
                }
                let why = format_args!("task {node} to end");
                let waited = from.wait_for(&why, &mut || node.end().is_some());
                if let Some(waiter) = &waiter {
                    from.waits().end(waiter);
                }
                waited.unwrap_or_else(|panic| resume_unwind(panic));
                node.end().unwrap_or(End::Failed)
            }
        };
        match end {
            End::Done => Ok(()),
            End::Failed => Err(TaskError::DidNotRun {
                task: node.to_string(),
            }),
        }
    }
}
