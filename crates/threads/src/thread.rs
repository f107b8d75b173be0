//! Handles to threads.

use std::fmt;
use std::ptr;

use crate::block::Block;
use crate::scheduler::{Scheduler, with};

/// A handle to a thread of this core, by which the thread is [unparked](Thread::unpark).
///
/// It may be kept for longer than the thread lives. It cannot go to another OS thread.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Thread {
    pub(crate) block: *const Block,
    pub(crate) serial: u64,
}

impl Thread {
    /// The running thread of a core.
    #[inline]
    pub(crate) fn running(s: &Scheduler) -> Self {
        Self::of(s.current())
    }

    /// The thread that has this block.
    #[inline]
    pub(crate) fn of(block: &Block) -> Self {
        Self {
            block,
            serial: block.serial.get(),
        }
    }

    /// Ends the thread's [`park`](crate::park), or its next park if it is not parked. Nothing
    /// happens if the thread has ended.
    #[inline(always)]
    pub fn unpark(self) {
        self.try_unpark();
    }

    /// As [`unpark`](Self::unpark), if this is, or was, a thread of the present run of this core.
    /// Otherwise it does nothing and returns false.
    #[inline(always)]
    pub fn try_unpark(self) -> bool {
        with(|s| s.try_unpark(self.block, self.serial))
    }

    /// Whether it is the running thread. The caller knows that the thread has not ended: otherwise
    /// another thread may have its place.
    #[inline(always)]
    pub fn runs(self) -> bool {
        with(|s| s.runs(self.block))
    }
}

impl Thread {
    /// The thread as two numbers, which can go to other OS threads.
    #[inline]
    pub fn into_raw(self) -> (usize, u64) {
        (self.block.expose_provenance(), self.serial)
    }

    /// The thread for which [`into_raw`](Self::into_raw) returned these numbers. On an OS thread
    /// that is not its core, and after the end of its run, unparking it does nothing.
    ///
    /// # Safety
    ///
    /// The numbers came from one call of `into_raw` in this process, or the second is 0, which
    /// names no thread.
    #[inline]
    pub unsafe fn from_raw((block, serial): (usize, u64)) -> Self {
        Self {
            block: ptr::with_exposed_provenance(block),
            serial,
        }
    }
}

impl fmt::Debug for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Thread").field(&self.serial).finish()
    }
}
