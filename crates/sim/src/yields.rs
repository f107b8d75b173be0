//! How often threads have yielded without any other call.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::Location;

use crate::index::ThreadIndex;
use crate::time::Moment;

/// The number of yields after which the run looks who yields.
const LOOK_AFTER: u64 = 1 << 25;

/// The number of yields from one look to the next.
const LOOK_EVERY: u64 = 1 << 12;

/// The yields since a thread has last made another call.
#[derive(Default)]
pub(crate) struct Yields {
    count: Cell<u64>,
    /// The time of the first one.
    since: Cell<Moment>,
    /// From [`LOOK_AFTER`] on: the threads that yield, with their calls.
    threads: RefCell<BTreeMap<ThreadIndex, &'static Location<'static>>>,
}

impl Yields {
    /// Records that something else than a yield has happened.
    #[inline(always)]
    pub fn end(&self) {
        self.count.set(0);
    }

    /// Records a yield. Returns whether there were enough that the run has to [`note`](Self::note)
    /// who yields.
    #[inline]
    pub fn add(&self, now: Moment) -> bool {
        let count = self.count.get();
        if count == 0 {
            self.since.set(now);
        }
        self.count.set(count + 1);
        count >= LOOK_AFTER
    }

    /// Notes that a thread yields. Returns whether it is time to look whether all threads do.
    pub fn note(&self, thread: ThreadIndex, location: &'static Location<'static>) -> bool {
        let count = self.count.get() - LOOK_AFTER;
        let mut threads = self.threads.borrow_mut();
        if count == 1 {
            threads.clear();
        }
        threads.insert(thread, location);
        count.is_multiple_of(LOOK_EVERY)
    }

    /// Returns the call and the first time of a thread that does nothing but yield.
    pub fn of(&self, thread: ThreadIndex) -> Option<(&'static Location<'static>, Moment)> {
        let call = self.threads.borrow().get(&thread).copied()?;
        (self.count.get() > LOOK_AFTER).then(|| (call, self.since.get()))
    }
}
