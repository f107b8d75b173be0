//! A store-load barrier for two threads that is cheap in one thread and expensive in the other.
//!
//! Two threads each write their own word and then read the other thread's word. Without a full
//! barrier in between, both threads may miss the other thread's write. The thread with frequent
//! barriers calls [`light`], which takes almost no time. The other thread calls [`heavy`], for
//! which the kernel interrupts every core that runs this process (`membarrier(2)`, Linux 4.14).
//! Without this system call, or under Miri, both functions are fences.

// Rejected: the crate `membarrier` 0.2, because it links a Windows library on Linux.

#[cfg(not(loom))]
mod imp {
    use std::sync::atomic::{AtomicU8, Ordering, compiler_fence, fence};

    const UNKNOWN: u8 = 0;
    const FENCES: u8 = 1;
    const KERNEL: u8 = 2;

    static WAY: AtomicU8 = AtomicU8::new(UNKNOWN);

    #[cold]
    fn choose() -> u8 {
        // If two threads choose at once, both use the first choice, because their kinds must match.
        let offered = if register() { KERNEL } else { FENCES };
        match WAY.compare_exchange(UNKNOWN, offered, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => offered,
            Err(chosen) => chosen,
        }
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn register() -> bool {
        // SAFETY: this command only registers the process for `MEMBARRIER_CMD_PRIVATE_EXPEDITED`.
        let result = unsafe {
            let command = libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED;
            libc::syscall(libc::SYS_membarrier, command, 0, 0)
        };
        result == 0
    }

    #[cfg(any(not(target_os = "linux"), miri))]
    fn register() -> bool {
        false
    }

    #[inline]
    pub(super) fn light() {
        if WAY.load(Ordering::Relaxed) == KERNEL {
            compiler_fence(Ordering::SeqCst);
        } else {
            choose_or_fence();
        }
    }

    /// Does the work of `light` before the first choice, and without the system call. Not inlined,
    /// so that `light` needs few registers.
    #[cold]
    #[inline(never)]
    fn choose_or_fence() {
        let way = match WAY.load(Ordering::Relaxed) {
            UNKNOWN => choose(),
            way => way,
        };
        if way == KERNEL {
            compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
    }

    pub(super) fn heavy() {
        let way = match WAY.load(Ordering::Relaxed) {
            UNKNOWN => choose(),
            way => way,
        };
        fence(Ordering::SeqCst);
        if way == KERNEL {
            interrupt_all();
            fence(Ordering::SeqCst);
        }
    }

    pub(super) fn is_asymmetric() -> bool {
        match WAY.load(Ordering::Relaxed) {
            UNKNOWN => choose() == KERNEL,
            way => way == KERNEL,
        }
    }

    #[inline(always)]
    pub(super) fn light_if_asymmetric() {
        compiler_fence(Ordering::SeqCst);
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn interrupt_all() {
        // SAFETY: the command is only a barrier and accesses no memory of this process.
        let result = unsafe {
            let command = libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED;
            libc::syscall(libc::SYS_membarrier, command, 0, 0)
        };
        assert_eq!(result, 0, "the process was registered for membarrier");
    }

    #[cfg(any(not(target_os = "linux"), miri))]
    fn interrupt_all() {
        unreachable!("`register` has refused");
    }
}

#[cfg(loom)]
mod imp {
    use loom::sync::atomic::{Ordering, fence};

    pub(super) fn light() {
        fence(Ordering::SeqCst);
    }

    pub(super) fn light_if_asymmetric() {
        fence(Ordering::SeqCst);
    }

    pub(super) fn heavy() {
        fence(Ordering::SeqCst);
    }

    pub(super) fn is_asymmetric() -> bool {
        true
    }
}

/// Executes the cheap barrier, for the thread that needs barriers often. The first call of
/// [`light`] or [`heavy`] registers the process with the kernel, in up to tens of milliseconds.
#[inline]
pub fn light() {
    imp::light();
}

/// Executes the expensive barrier in some microseconds, for the thread that rarely needs barriers.
pub fn heavy() {
    imp::heavy();
}

/// Executes the cheap barrier if the kernel has `membarrier`, and otherwise no barrier. Faster than
/// [`light`], which checks this. The other thread must not rely on the barrier unless
/// [`is_asymmetric`] returns true.
#[inline(always)]
pub fn light_if_asymmetric() {
    imp::light_if_asymmetric();
}

/// Returns whether [`heavy`] makes [`light_if_asymmetric`] a barrier.
pub fn is_asymmetric() -> bool {
    imp::is_asymmetric()
}
