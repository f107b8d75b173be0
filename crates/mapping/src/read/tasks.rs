//! Tasks from files.

use crate::volumes::Volumes;

/// Tasks from a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Tasks {
    /// The volumes between the tasks, which are numbered from 0.
    pub volumes: Volumes,
    /// The number that the file gives to the first task: 0 or 1.
    pub first: usize,
    /// What the file has and a problem does not, and how a file was read that has two meanings.
    pub notes: Vec<String>,
}
