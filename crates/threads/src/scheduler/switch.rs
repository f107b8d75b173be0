//! The switch from one thread to another.

use std::cell::Cell;

use super::Scheduler;
use crate::arch::{self, Context, Frame};

impl Scheduler {
    /// # Safety
    ///
    /// See [`arch::switch`].
    #[cfg(not(cellworks_sanitizer))]
    #[inline(always)]
    pub(super) unsafe fn switch(&self, save: *const Cell<Context>, to: Context) {
        // SAFETY: by the contract of this function.
        unsafe { arch::switch(save, to) }
    }

    /// # Safety
    ///
    /// See [`arch::switch`].
    #[cfg(cellworks_sanitizer)]
    pub(super) unsafe fn switch(&self, save: *const Cell<Context>, to: Context) {
        // SAFETY: by the contract of this function.
        unsafe {
            let stacks = &self.run().blocks.sanitized;
            stacks.announced(to, || arch::switch(save, to));
        }
    }

    /// # Safety
    ///
    /// See [`arch::switch_to_frame`].
    pub(super) unsafe fn switch_to_frame(&self, save: *const Cell<Context>, to: &Frame) {
        // SAFETY: by the contract of this function.
        unsafe {
            #[cfg(not(cellworks_sanitizer))]
            arch::switch_to_frame(save, to);
            #[cfg(cellworks_sanitizer)]
            {
                let stacks = &self.run().blocks.sanitized;
                stacks.announced(to.context(), || arch::switch_to_frame(save, to));
            }
        }
    }
}
