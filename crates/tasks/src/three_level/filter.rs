//! What a filter sees of the tasks that wait in the reorder buffer.

use std::fmt;

use crate::task::Priority;

/// A task that waits in the reorder buffer, as a [filter](crate::Pool::filter) sees it.
#[derive(Debug)]
pub struct PendingTask<'a> {
    /// Its place in the buffer before the filters were called.
    pub(super) place: usize,
    pub(super) name: &'a str,
    pub(super) number: usize,
    pub(super) priority: Priority,
    pub(super) is_part: bool,
}

impl PendingTask<'_> {
    /// Its name: tasks of one kind have one name.
    pub fn name(&self) -> &str {
        self.name
    }

    /// Its number in its phase: tasks are numbered from 1 on, in the order in which they were
    /// submitted. Parts of one task have one number.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Its priority.
    pub fn priority(&self) -> Priority {
        self.priority
    }

    /// Whether it is a part of a task that was diced. To drop a part is to drop the task: parts of
    /// it that have not begun do not run either.
    pub fn is_part(&self) -> bool {
        self.is_part
    }
}

impl fmt::Display for PendingTask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' ({})", self.name, self.number)
    }
}

/// Reorders the tasks that it is handed, or drops some of them.
pub(crate) type Filter<'m> = Box<dyn Fn(&mut Vec<PendingTask<'_>>) + 'm>;
