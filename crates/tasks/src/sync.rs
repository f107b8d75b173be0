//! The one place from which this crate takes what workers share: std's, or loom's when it is
//! model-checked.

pub(crate) use cellworks_machine::barrier;

#[cfg(not(loom))]
pub(crate) use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicIsize, AtomicU8, AtomicUsize, Ordering},
};

#[cfg(loom)]
pub(crate) use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, AtomicIsize, AtomicU8, AtomicUsize, Ordering},
};

/// Locks a mutex, also one that a task had locked when it panicked: what such a mutex protects
/// here is whole all the same.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
