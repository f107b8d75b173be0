//! Types for the files that loom checks: from loom in a model check, otherwise from std.

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

/// Replaces `park_timeout` under loom, which has no clock: the wait may end at any moment.
#[cfg(loom)]
pub(crate) fn park_timeout(_: std::time::Duration) {
    loom::thread::yield_now();
}

/// Replaces crossbeam's `Backoff` under loom, in which a thread cannot wait for a time.
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
