//! Keeping an OS thread on one CPU.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The calling thread stays on one CPU until this is dropped; then it may go where it could
/// before.
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

    /// Stays there for good.
    pub(crate) fn for_good(self) {
        std::mem::forget(self);
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // The mask was the thread's own a moment ago; where the system has taken those CPUs away
        // since, it has moved the thread itself.
        let _ = sched_setaffinity(None, &self.before);
    }
}
