//! Which of several failures was first, and so may be the cause of the others.
//!
//! ```text
//!   a process    read()? ── error becomes a ProcessError ─── its ends are dropped ─── the network is told
//!   fails                   │  from here on it counts            │
//!                                                                ▼
//!   another one                                          its channel is closed ── unwrap() panics ── the network is told
//! ```
//!
//! A body owns its ends, and drops them before anybody sees its result. So another process may meet
//! a channel that is closed for that reason, fail, and be the first that the network is told of.
//! What counts is therefore not when the network is told, but a [`Moment`] that is before the
//! failing process drops its ends.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::panicking;

/// When something went wrong, compared with other such moments. If one failure makes another
/// happen, its moment is earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u64);

impl Moment {
    /// After all that have been taken.
    pub fn now() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // Who fails because of another has seen what that did later, so it gets a later number
        // without an ordering.
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

thread_local! {
    /// When a process that unwinds on this OS thread dropped its first end.
    static UNWINDS_SINCE: Cell<Option<Moment>> = const { Cell::new(None) };
}

/// An end is going to be dropped on this OS thread.
pub(crate) fn end_dropped() {
    let since = UNWINDS_SINCE.get();
    // If nothing unwinds, a process has caught the panic that it was.
    UNWINDS_SINCE.set(panicking().then(|| since.unwrap_or_else(Moment::now)));
}

/// A process of this OS thread has been unwound, and its panic was caught: since when it unwound,
/// as far as others could notice.
pub(crate) fn unwound() -> Moment {
    // One that waits in a destructor while this one came and went unwinds for longer: the moment is
    // its.
    let is_of_another = panicking();
    let since = match is_of_another {
        true => None,
        false => UNWINDS_SINCE.take(),
    };
    since.unwrap_or_else(Moment::now)
}
