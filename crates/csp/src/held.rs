//! Which ends the processes of a run had that ended in a deadlock.
//!
//! Nothing tells which process has an end that it never used: ends move into processes as other
//! values do. But a deadlock cancels them all, and while a process unwinds, its ends are dropped on
//! its stack. So what is dropped between the call that was cancelled and the end of the process was
//! the process's.

use std::cell::{Cell, RefCell};

use crate::cause;
use crate::link::Link;
use crate::side::Side;

/// An end, or several of one side, of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Held {
    pub channel: usize,
    pub side: Side,
}

thread_local! {
    static UNWINDS: Cell<bool> = const { Cell::new(false) };
    static DROPPED: RefCell<Vec<Held>> = const { RefCell::new(Vec::new()) };
}

/// A process of this OS thread was cancelled: ends that are dropped from now on were its own.
pub(crate) fn cancelled() {
    UNWINDS.set(true);
}

/// An end is dropped.
pub(crate) fn dropped(channel: &dyn Link, side: Side) {
    cause::end_dropped();
    if UNWINDS.get() {
        let channel = channel.address();
        DROPPED.with_borrow_mut(|dropped| dropped.push(Held { channel, side }));
    }
}

/// A process has ended: what it dropped since it was cancelled, if it was. Processes of one OS
/// thread are unwound one after the other.
pub(crate) fn take() -> Vec<Held> {
    UNWINDS.set(false);
    DROPPED.take()
}
