//! A store-load barrier for two threads that is cheap for one thread and expensive for the other.
//!
//! Assume that each of two threads writes a word of its own and then reads the word of the other
//! thread. Each thread needs a full barrier between its write and its read. Without barriers both
//! threads may miss the other thread's write.
//!
//! The thread that executes the barrier often calls [`light`], which costs almost nothing. The
//! thread that executes it seldom calls [`heavy`], which makes the kernel interrupt every core that
//! runs this process (`membarrier(2)`, Linux 4.14). If the kernel does not offer this call, or
//! under Miri, both functions are fences.

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
        // The first choice is kept, because both threads must use the same kind of barrier.
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

    #[cfg(all(target_os = "linux", not(miri)))]
    fn interrupt_all() {
        // SAFETY: the command only has the effect of a barrier.
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

    pub(super) fn heavy() {
        fence(Ordering::SeqCst);
    }
}

/// The barrier for the thread that calls the barrier often.
///
/// The first call of [`light`] or [`heavy`] in a process registers the process with the kernel. The
/// registration may take tens of milliseconds if the process has several threads.
#[inline]
pub fn light() {
    imp::light();
}

/// The barrier for the thread that calls the barrier seldom. A call takes microseconds.
pub fn heavy() {
    imp::heavy();
}
