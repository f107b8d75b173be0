//! Handles to threads.

use std::fmt;
use std::ptr;

use crate::block::Block;
use crate::scheduler::{Scheduler, with};

/// A handle that [unparks](Thread::unpark) a thread of this core. The handle may outlive the
/// thread.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Thread {
    pub(crate) block: *const Block,
    pub(crate) serial: u64,
}

impl Thread {
    #[inline]
    pub(crate) fn running(s: &Scheduler) -> Self {
        Self::of(s.current())
    }

    #[inline]
    pub(crate) fn of(block: &Block) -> Self {
        Self {
            block,
            serial: block.serial.get(),
        }
    }

    /// Ends the [`park`](crate::park) of this thread. If the thread is not parked, ends its next
    /// park instead. If the thread has ended, does nothing.
    #[inline(always)]
    pub fn unpark(self) {
        self.try_unpark();
    }

    /// [Unparks](Self::unpark) this thread and returns true, even if the thread has ended. If the
    /// thread belongs to another run or core, returns false.
    #[inline(always)]
    pub fn try_unpark(self) -> bool {
        with(|s| s.try_unpark(self.block, self.serial))
    }

    /// Returns whether this thread is running. The thread must not have ended, because a later
    /// thread may use the same control block.
    #[inline(always)]
    pub fn runs(self) -> bool {
        with(|s| s.runs(self.block))
    }
}

impl Thread {
    /// Returns this handle as two numbers, which can be sent to other OS threads.
    #[inline]
    pub fn into_raw(self) -> (usize, u64) {
        (self.block.expose_provenance(), self.serial)
    }

    /// Returns the handle from which [`into_raw`](Self::into_raw) returned these numbers. Unparking
    /// the handle does nothing on another OS thread, and after the end of the run.
    ///
    /// # Safety
    ///
    /// The numbers came from one call of `into_raw` in this process, or the second number is 0.
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
