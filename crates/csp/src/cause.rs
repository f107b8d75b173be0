//! Which of several failures was first, and so may be the cause of the others.
//!
//! ```text
//!   a process    read()? ── error becomes a ProcessError ─── its ends are dropped ─── the network is told
//!   fails                   │  from here on it counts            │
//!                                                                ▼
//!   another one                                          its channel is closed ── unwrap() panics ── the network is told
//! ```
//!
//! A body owns its ends, and drops them before its result is known. So another process may find a
//! channel closed for that reason, fail, and be the first whose failure the network is told of.
//! Therefore the order of failures is not the order in which the network is told. Each failure has
//! a [`Moment`] that lies before the failing process drops its ends.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::panicking;

/// When a failure happened. If one failure causes another, its moment is earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

impl Moment {
    /// A moment after all that were taken before.
    pub fn now() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // `Relaxed` is enough: a process that fails because of another has seen something that the
        // other did after it took its moment, so it gets a later number.
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

thread_local! {
    /// The moment when the process that unwinds on this OS thread dropped its first end.
    static UNWINDS_SINCE: Cell<Option<Moment>> = const { Cell::new(None) };
}

/// An end is going to be dropped on this OS thread.
pub(crate) fn end_dropped() {
    let since = UNWINDS_SINCE.get();
    // If the thread does not unwind, the panic of an earlier moment was caught.
    UNWINDS_SINCE.set(panicking().then(|| since.unwrap_or_else(Moment::now)));
}

/// Called when a process of this OS thread was unwound and its panic was caught. Returns the first
/// moment at which other processes could notice that it failed.
pub(crate) fn unwound() -> Moment {
    // If this OS thread still unwinds, then another process waits in a destructor here, and the
    // recorded moment belongs to that process.
    let is_of_another = panicking();
    let since = match is_of_another {
        true => None,
        false => UNWINDS_SINCE.take(),
    };
    since.unwrap_or_else(Moment::now)
}
