//! The source of `sys` and `proc`: this computer, or the tree of another computer.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::error::CpusError;
use crate::pin::allowed_cpus;

/// The environment variable with the folder of another computer's tree.
pub const FSROOT: &str = "CELLWORKS_FSROOT";

/// The root of a file system with Linux's `sys` and `proc`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// `/` for this computer, or the folder with the tree of another computer.
    pub root: PathBuf,
}

impl Source {
    pub fn this_computer() -> Self {
        Self {
            root: PathBuf::from("/"),
        }
    }

    /// Returns the tree of [`FSROOT`], or this computer if the variable is not set.
    pub fn of_environment() -> Self {
        match std::env::var_os(FSROOT) {
            Some(root) if !root.is_empty() => Self {
                root: PathBuf::from(root),
            },
            _ => Self::this_computer(),
        }
    }

    pub fn is_this_computer(&self) -> bool {
        self.root == Path::new("/")
    }

    /// Returns the CPUs that the calling thread may use, or `None` for another computer.
    ///
    /// # Errors
    ///
    /// Returns [`CpusError::Mask`] if the system does not return the CPUs.
    pub fn allowed(&self) -> Result<Option<BTreeSet<u32>>, CpusError> {
        self.is_this_computer().then(allowed_now).transpose()
    }
}

/// Returns the online CPUs that the calling thread may use: only one for a pinned thread.
///
/// # Errors
///
/// Returns [`CpusError::Mask`] if the system does not return the CPUs.
pub fn allowed_now() -> Result<BTreeSet<u32>, CpusError> {
    allowed_cpus().map_err(CpusError::Mask)
}
