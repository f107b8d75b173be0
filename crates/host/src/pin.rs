//! Keeps an OS thread on one CPU.

// Rejected: pinning the caller's thread for good. The caller's thread, which is the PPE, is pinned
// only during `run`, and then gets its old CPU mask back.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Pins the calling thread to one CPU. Dropping this value restores the CPUs of the thread.
pub(crate) struct Pinned {
    before: CpuSet,
}

impl Pinned {
    pub(crate) fn to(cpu: u32) -> io::Result<Self> {
        if cpu as usize >= CpuSet::MAX_CPU {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let before = sched_getaffinity(None)?;
        let mut only = CpuSet::new();
        only.set(cpu as usize);
        sched_setaffinity(None, &only)?;
        Ok(Self { before })
    }

    /// Leaves the thread pinned forever.
    pub(crate) fn for_good(self) {
        std::mem::forget(self);
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // An error means that the system has taken CPUs away, and has already moved the thread.
        let _ = sched_setaffinity(None, &self.before);
    }
}
