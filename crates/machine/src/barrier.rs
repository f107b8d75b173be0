//! A store-load barrier whose cost falls on one side.
//!
//! Two threads that each write one word and then read the other's need a full barrier between the
//! two, or both may miss the other's write. Where one of them does so all the time and the other
//! seldom, the first takes [`light`], which costs nothing, and the second [`heavy`], which has the
//! kernel interrupt every core that runs this process: `membarrier(2)`, Linux 4.14. Where the
//! kernel does not offer that, both are fences; so they are under Miri, which has no kernel.

#[cfg(not(loom))]
mod imp {
    use std::sync::atomic::{AtomicU8, Ordering, compiler_fence, fence};

    const UNKNOWN: u8 = 0;
    const FENCES: u8 = 1;
    const KERNEL: u8 = 2;

    static WAY: AtomicU8 = AtomicU8::new(UNKNOWN);

    #[cold]
    fn choose() -> u8 {
        // What is chosen first stays: the two sides must agree.
        let offered = if register() { KERNEL } else { FENCES };
        match WAY.compare_exchange(UNKNOWN, offered, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => offered,
            Err(chosen) => chosen,
        }
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    fn register() -> bool {
        // SAFETY: this command only registers the process for the one below.
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
        // SAFETY: the command has no effect but the barrier.
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

/// The half for the thread that comes by all the time.
///
/// The first call of either half in a process asks the kernel for the service; that may take tens
/// of milliseconds if the process has several threads.
#[inline]
pub fn light() {
    imp::light();
}

/// The half for the thread that comes by seldom: takes microseconds.
pub fn heavy() {
    imp::heavy();
}
