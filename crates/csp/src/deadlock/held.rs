//! The ends that processes had when their run ended in a deadlock.
//!
//! The network does not record which process has a never-used end. But a deadlock cancels all
//! processes, and an end that is dropped after a cancelled call belonged to the calling process.

use std::cell::{Cell, RefCell};

use crate::channel::link::{Link, Side};
use crate::network::cause;

/// The identifier of an end: its channel's address and its side. Equal for clones of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Held {
    pub channel: usize,
    pub side: Side,
}

thread_local! {
    static UNWINDS: Cell<bool> = const { Cell::new(false) };
    /// In the destructors of an OS thread that ends, this may be gone: then a report knows less.
    static DROPPED: RefCell<Vec<Held>> = const { RefCell::new(Vec::new()) };
}

/// Called when a process of this OS thread is cancelled, and will drop its ends.
pub(crate) fn cancelled() {
    UNWINDS.set(true);
}

pub(crate) fn dropped(channel: &dyn Link, side: Side) {
    cause::end_dropped();
    if UNWINDS.get() {
        let channel = channel.address();
        let _ = DROPPED.try_with(|dropped| dropped.borrow_mut().push(Held { channel, side }));
    }
}

/// Called when a process has ended. Returns the ends that it dropped after it was cancelled.
pub(crate) fn take() -> Vec<Held> {
    UNWINDS.set(false);
    DROPPED.try_with(RefCell::take).unwrap_or_default()
}
