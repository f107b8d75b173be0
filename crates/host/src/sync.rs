//! The types that the model-checked files share between threads. In a model check they are those of
//! loom, otherwise those of std.

#[cfg(not(loom))]
pub(crate) use crossbeam_utils::Backoff;
#[cfg(not(loom))]
pub(crate) use std::{
    sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering},
    thread::{Thread, current, park, park_timeout},
};

#[cfg(loom)]
pub(crate) use loom::{
    sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering},
    thread::{Thread, current, park},
};

/// loom has no time. A wait with a time limit may therefore end at any moment.
#[cfg(loom)]
pub(crate) fn park_timeout(_: std::time::Duration) {
    loom::thread::yield_now();
}

/// A thread in loom cannot wait for a time, so this replacement lets other threads run.
#[cfg(loom)]
pub(crate) struct Backoff;

#[cfg(loom)]
impl Backoff {
    pub(crate) fn new() -> Self {
        Self
    }

    pub(crate) fn snooze(&self) {
        loom::thread::yield_now();
    }
}
