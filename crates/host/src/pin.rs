//! Pins OS threads to CPUs.

// Rejected: keeping the caller of `run` (the PPE) pinned after the run.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// A pinned thread. `drop` restores the CPUs of the thread.
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

    /// Keeps the thread pinned forever.
    pub(crate) fn for_good(self) {
        std::mem::forget(self);
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // If this fails, the system has taken the CPUs away, and has already moved the thread.
        let _ = sched_setaffinity(None, &self.before);
    }
}
