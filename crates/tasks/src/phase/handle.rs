//! Handles to submitted tasks, with which a program waits for a task or cancels it.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use cellworks_machine::Spe;

use crate::error::TaskError;
use crate::phase::node::{End, Node};
use crate::place::{Place, WokenBy};

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

    pub(crate) fn pool(&self) -> usize {
        self.pool
    }

    /// Returns whether the task has ended.
    pub fn has_ended(&self) -> bool {
        self.node.end().is_some()
    }

    /// Cancels the task and the tasks that come after it. Returns false if the task has begun.
    pub fn cancel(&self) -> bool {
        self.node.cancel()
    }

    /// Waits until the task has ended. Meanwhile, other tasks run. `from` is the caller's
    /// [`Place`].
    ///
    /// # Errors
    ///
    /// - Returns [`TaskError::Circle`] if this task cannot end before the calling task, because it
    ///   waits for the calling task, comes after it, or needs a lock that it holds, directly or
    ///   through other tasks. Closures of a scope and halves of a join belong to the task that has
    ///   started them.
    /// - Returns [`TaskError::DidNotRun`] if this task or a task before it was cancelled or failed.
    ///
    /// # Panics
    ///
    /// Panics if `from` and the task belong to different pools, or if the run is cancelled while
    /// this call waits.
    #[track_caller]
    pub fn wait(&self, from: &impl Place<S>) -> Result<(), TaskError> {
        let node = &self.node;
        assert!(
            from.pool() == self.pool,
            "task {node} belongs to another pool than the worker that waits for it: name the worker that the caller \
             was handed by the pool of the task"
        );
        let end = node.announce_to(from.sleeper());
        let end = match end {
            Some(end) => end,
            None => {
                // SAFETY: the calling code belongs to this task, so the task has not ended.
                let waiter = unsafe { from.current().task() };
                let waits = waiter.map(|waiter| from.waits().begin(waiter, node));
                let _waits = waits.transpose()?;
                // No other program borrows from this wait, so a cancelled run may unwind it.
                let why = format_args!("task {node} to end");
                from.wait(&why, WokenBy::Name, &mut || node.end().is_some());
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
