//! The one place from which this crate takes what threads share: std's, or loom's when it is model-checked.

use std::mem::MaybeUninit;

#[cfg(not(loom))]
pub(crate) use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
};

#[cfg(loom)]
pub(crate) use loom::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
};

/// Lets who is in the middle of a few instructions finish them.
pub(crate) fn spin() {
    #[cfg(not(loom))]
    std::hint::spin_loop();
    #[cfg(loom)]
    loom::thread::yield_now();
}

/// Room for an item, accessed by one at a time.
#[cfg(not(loom))]
pub(crate) struct Slot<T>(std::cell::UnsafeCell<MaybeUninit<T>>);

#[cfg(not(loom))]
impl<T> Slot<T> {
    pub(crate) fn new(item: MaybeUninit<T>) -> Self {
        Self(std::cell::UnsafeCell::new(item))
    }

    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, access: impl FnOnce(*mut MaybeUninit<T>) -> R) -> R {
        access(self.0.get())
    }
}

/// Room for an item, which fails a model check if it is accessed by two at a time.
#[cfg(loom)]
pub(crate) type Slot<T> = loom::cell::UnsafeCell<MaybeUninit<T>>;
