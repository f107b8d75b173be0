//! Finds which of several failures was first, because this failure may have caused the others.
//!
//! ```text
//!   a process    read()? ── error becomes a ProcessError ─── its ends are dropped ─── the network is told
//!   fails                   │  moment of this failure            │
//!                                                                ▼
//!   another process                                      its channel is closed ── unwrap() panics ── the network is told
//! ```
//!
//! A process drops its ends before the network gets the error of the process. Another process may
//! then find a channel closed, fail for this reason, and be reported first. Therefore each failure
//! has a [`Moment`], which lies before the process drops its ends.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::panicking;

/// The time of a failure. If one failure causes another, the cause has the earlier moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

impl Moment {
    /// Returns a moment that is later than all moments returned before.
    pub fn now() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // `Relaxed` is enough: this call happens after the calls for all causes of this failure.
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

thread_local! {
    /// The moment of the first drop of an end by the process that unwinds on this OS thread.
    static UNWINDS_SINCE: Cell<Option<Moment>> = const { Cell::new(None) };
}

pub(crate) fn end_dropped() {
    let since = UNWINDS_SINCE.get();
    // If no panic unwinds this thread, the recorded moment is of an earlier panic.
    UNWINDS_SINCE.set(panicking().then(|| since.unwrap_or_else(Moment::now)));
}

/// Called when the panic of a process of this OS thread was caught. Returns the moment when the
/// process dropped its first end, because no other process could notice the panic earlier.
pub(crate) fn unwound() -> Moment {
    // If this thread still unwinds, the moment is of a process that waits in a destructor.
    let is_of_another = panicking();
    let since = if is_of_another {
        None
    } else {
        UNWINDS_SINCE.take()
    };
    since.unwrap_or_else(Moment::now)
}
