//! The CPUs on which OS threads may run.

// Rejected: keeping the caller of `run` (the PPE) pinned after the run.
// Rejected: `rustix::thread::CpuSet`. It has room for 1,024 CPUs, and Linux refuses to write a mask
// into a buffer with less room than the computer may have CPUs.

use std::collections::BTreeSet;
use std::io;
use std::panic::resume_unwind;

/// The number of CPUs beyond which no buffer is tried. Linux has at most 8,192 (x86-64).
const CPUS_MAX: usize = 1 << 16;

const WORD_BITS: usize = libc::c_ulong::BITS as usize;

/// Returns the online CPUs on which the calling thread may run. A pinned thread has one.
///
/// # Errors
///
/// Returns the error of `sched_getaffinity`, which sandboxes may forbid.
pub fn allowed_cpus() -> io::Result<BTreeSet<u32>> {
    allowed(1_024)
}

/// As [`allowed_cpus`]. The first buffer has room for `cpus` CPUs, and each further buffer for twice
/// as many.
fn allowed(mut cpus: usize) -> io::Result<BTreeSet<u32>> {
    loop {
        let mut words = vec![0 as libc::c_ulong; cpus.div_ceil(WORD_BITS)];
        // SAFETY: the kernel writes at most as many bytes as the vector has, which is exclusive.
        let result = unsafe {
            libc::syscall(
                libc::SYS_sched_getaffinity,
                0,
                size_of_val(&words[..]),
                words.as_mut_ptr(),
            )
        };
        if result >= 0 {
            let is_set = |cpu: &usize| words[cpu / WORD_BITS] & (1 << (cpu % WORD_BITS)) != 0;
            let cpus = (0..words.len() * WORD_BITS).filter(is_set);
            return Ok(cpus.map(|cpu| cpu as u32).collect());
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINVAL) || cpus >= CPUS_MAX {
            return Err(error);
        }
        cpus = (2 * cpus).max(WORD_BITS);
    }
}

/// Confines the calling thread, and the threads and processes that it starts from now on, to CPUs.
/// CPUs that do not exist are ignored.
///
/// # Errors
///
/// Returns the error of `sched_setaffinity`: `InvalidInput` if the thread may use none of the CPUs.
pub fn confine_to(cpus: &BTreeSet<u32>) -> io::Result<()> {
    let highest = cpus.last().map_or(0, |cpu| *cpu as usize);
    if highest >= CPUS_MAX {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut words = vec![0 as libc::c_ulong; highest / WORD_BITS + 1];
    for cpu in cpus.iter().map(|cpu| *cpu as usize) {
        words[cpu / WORD_BITS] |= 1 << (cpu % WORD_BITS);
    }
    // SAFETY: the kernel reads as many bytes as the vector has.
    let result = unsafe {
        libc::syscall(
            libc::SYS_sched_setaffinity,
            0,
            size_of_val(&words[..]),
            words.as_ptr(),
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Runs `f` on a new OS thread that may use these CPUs.
pub(crate) fn on_thread_with<R: Send>(
    cpus: Option<&BTreeSet<u32>>,
    f: impl FnOnce() -> R + Send,
) -> io::Result<R> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("unpinned".to_owned());
        let thread = thread.spawn_scoped(scope, || {
            cpus.map_or(Ok(()), confine_to)?;
            Ok(f())
        })?;
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// A pinned thread. `drop` restores the CPUs of the thread.
pub(crate) struct Pinned {
    before: BTreeSet<u32>,
}

impl Pinned {
    pub(crate) fn to(cpu: u32) -> io::Result<Self> {
        let before = allowed_cpus()?;
        confine_to(&BTreeSet::from([cpu]))?;
        Ok(Self { before })
    }

    /// Keeps the thread pinned forever.
    pub(crate) fn for_good(mut self) {
        // The set would never be freed.
        drop(std::mem::take(&mut self.before));
        std::mem::forget(self);
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // If this fails, the system has taken the CPUs away, and has already moved the thread.
        let _ = confine_to(&self.before);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_with_too_little_room_grows() {
        assert_eq!(allowed(0).unwrap(), allowed_cpus().unwrap());
    }

    #[test]
    fn cpus_that_do_not_exist_are_ignored_and_none_is_an_error() {
        let all = allowed_cpus().unwrap();
        let confined = std::thread::spawn(move || {
            let last = *all.last().unwrap();
            confine_to(&BTreeSet::from([last, 9_999])).unwrap();
            assert_eq!(allowed_cpus().unwrap(), BTreeSet::from([last]));
            for none in [
                BTreeSet::new(),
                BTreeSet::from([9_999]),
                BTreeSet::from([u32::MAX]),
            ] {
                let error = confine_to(&none).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{none:?}");
            }
        });
        confined.join().unwrap();
    }
}
