//! The types with which workers share data. They come from std, or from loom if the crate is
//! model-checked. Other files of this crate take these types from here.

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

/// Locks a mutex. If a task panicked while it held the lock, locks the mutex all the same, because
/// the data of every mutex of this crate stays consistent.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
