//! Keeps an OS thread on one CPU.

// Rejected: pinning the caller's thread for good. The PPE is pinned during `run`, and then gets its
// mask back.

use std::io;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Pins the calling thread to one CPU until this value is dropped. After that the thread may use
/// the same CPUs as before.
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

    /// Leaves the thread pinned for ever.
    pub(crate) fn for_good(self) {
        std::mem::forget(self);
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // An error is ignored. The thread had this mask before; if the system has taken those CPUs
        // away since, it has moved the thread already.
        let _ = sched_setaffinity(None, &self.before);
    }
}
