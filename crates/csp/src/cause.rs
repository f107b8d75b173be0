//! Finds which of several failures was first, and so may be the cause of the others.
//!
//! ```text
//!   a process    read()? ── error becomes a ProcessError ─── its ends are dropped ─── the network is told
//!   fails                   │  from here on it counts            │
//!                                                                ▼
//!   another one                                          its channel is closed ── unwrap() panics ── the network is told
//! ```
//!
//! The body of a process owns its ends, and drops them before its result is known. So another
//! process may find a channel closed, and fail for this reason. The network may then be told of the
//! second failure first. Therefore each failure has a [`Moment`], which lies before the failing
//! process drops its ends.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::panicking;

/// The time of a failure. If one failure causes another, the first one has the earlier moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

impl Moment {
    /// Returns a moment that is later than all moments returned before.
    pub fn now() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // `Relaxed` is enough. If a process fails because of another failure, it has seen something
        // that happened after the moment of that failure. So it gets a later number.
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

thread_local! {
    /// The moment when the process that unwinds on this OS thread dropped its first end.
    static UNWINDS_SINCE: Cell<Option<Moment>> = const { Cell::new(None) };
}

/// Called when an end is going to be dropped on this OS thread.
pub(crate) fn end_dropped() {
    let since = UNWINDS_SINCE.get();
    // If this thread does not unwind now, the panic that set an earlier moment was caught.
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
