//! The descriptions of waiting tasks that the pool passes to a [filter](crate::Pool::filter).

use std::fmt;

use crate::pool::settings::Priority;

/// A waiting task in the list that a [filter](crate::Pool::filter) changes.
#[derive(Debug)]
pub struct PendingTask<'a> {
    /// The place of the task in the buffer before the filters were called.
    pub(super) place: usize,
    pub(super) name: &'a str,
    pub(super) number: usize,
    pub(super) priority: Priority,
    pub(super) is_part: bool,
}

impl PendingTask<'_> {
    /// Returns the name of the task. Tasks that do the same work have the same name.
    pub fn name(&self) -> &str {
        self.name
    }

    /// Returns the number of the task in its phase, from 1 on. Parts have the number of their task.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Returns the priority of the task.
    pub fn priority(&self) -> Priority {
        self.priority
    }

    /// Returns whether this is a part of a diced task. After a filter has dropped a part, no
    /// further part of the task begins.
    pub fn is_part(&self) -> bool {
        self.is_part
    }
}

impl fmt::Display for PendingTask<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' ({})", self.name, self.number)
    }
}

/// A function that reorders the tasks of the vector, or drops some of them.
pub(crate) type Filter<'m> = Box<dyn Fn(&mut Vec<PendingTask<'_>>) + 'm>;
