//! Sources: the files of this computer, or the tree of another computer.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::error::CpusError;

/// The environment variable that names the folder of another computer's tree. If it is set, that
/// tree is read instead of this computer's files.
pub const FSROOT: &str = "CELLWORKS_FSROOT";

/// A source: the root of a file system that has Linux's `sys` and `proc`.
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

    /// Returns the computer of the tree that [`FSROOT`] names, or else this computer.
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

    /// Returns the CPUs that the calling thread may use, or `None` for another computer, because
    /// only the cpuset in its tree sets limits.
    ///
    /// # Errors
    ///
    /// Returns [`CpusError::Mask`] if the system does not answer.
    pub fn allowed(&self) -> Result<Option<BTreeSet<u32>>, CpusError> {
        self.is_this_computer().then(allowed_now).transpose()
    }
}

/// Asks the system which CPUs the calling thread may use. The answer has no offline CPUs.
///
/// A pinned thread sees only the CPU to which it is pinned, so call this function before pinning.
///
/// # Errors
///
/// Returns [`CpusError::Mask`] if the system does not answer.
pub fn allowed_now() -> Result<BTreeSet<u32>, CpusError> {
    let mask = rustix::thread::sched_getaffinity(None).map_err(CpusError::Mask)?;
    let allowed = (0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| mask.is_set(cpu));
    Ok(allowed.filter_map(|cpu| u32::try_from(cpu).ok()).collect())
}
