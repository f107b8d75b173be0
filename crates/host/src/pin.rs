//! Pins OS threads to CPUs.

// Rejected: keeping the caller of `run` (the PPE) pinned after the run.

use std::io;
use std::panic::resume_unwind;

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

/// Returns the CPUs of the calling thread, or `None` if the system does not tell.
pub(crate) fn cpus_of_this_thread() -> Option<CpuSet> {
    sched_getaffinity(None).ok()
}

/// Runs `f` on a new OS thread that may use these CPUs.
pub(crate) fn on_thread_with<R: Send>(
    cpus: Option<&CpuSet>,
    f: impl FnOnce() -> R + Send,
) -> io::Result<R> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("unpinned".to_owned());
        let thread = thread.spawn_scoped(scope, || {
            cpus.map_or(Ok(()), |cpus| sched_setaffinity(None, cpus))?;
            Ok(f())
        })?;
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}
