//! The ends that processes had when their run ended in a deadlock.
//!
//! Ends move into processes as other values do, so it is not known which process has an end that
//! was never used. But a deadlock cancels all processes, and while a process unwinds, it drops its
//! ends. So the ends that are dropped between the cancelled call and the end of the process
//! belonged to the process.

use std::cell::{Cell, RefCell};

use crate::cause;
use crate::link::Link;
use crate::side::Side;

/// An end of a channel. All ends of one side of a channel are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Held {
    pub channel: usize,
    pub side: Side,
}

thread_local! {
    static UNWINDS: Cell<bool> = const { Cell::new(false) };
    static DROPPED: RefCell<Vec<Held>> = const { RefCell::new(Vec::new()) };
}

/// Called when a process of this OS thread is cancelled. All ends that are dropped from now on
/// belonged to this process.
pub(crate) fn cancelled() {
    UNWINDS.set(true);
}

/// Called when an end is dropped.
pub(crate) fn dropped(channel: &dyn Link, side: Side) {
    cause::end_dropped();
    if UNWINDS.get() {
        let channel = channel.address();
        DROPPED.with_borrow_mut(|dropped| dropped.push(Held { channel, side }));
    }
}

/// Called when a process has ended. If the process was cancelled, returns the ends that it has
/// dropped since then. Processes of one OS thread are unwound one after the other.
pub(crate) fn take() -> Vec<Held> {
    UNWINDS.set(false);
    DROPPED.take()
}
