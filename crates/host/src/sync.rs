//! The one place from which this crate takes what threads share: std's, or loom's when it is
//! model-checked.

#[cfg(not(loom))]
pub(crate) use std::{
    sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering},
    thread::{Thread, current, park},
};

#[cfg(loom)]
pub(crate) use loom::{
    sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering},
    thread::{Thread, current, park},
};
