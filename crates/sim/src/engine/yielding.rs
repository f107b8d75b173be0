//! Yields, and runs in which no thread does anything else.
//!
//! A thread that looks at an ordinary atomic in a loop of yields waits for another thread. If all
//! threads wait or yield, and no event is pending, none of them can end what it waits for. The run
//! cannot know what a thread does between two yields. So it takes many of them without any other
//! call for such a loop. The number does not depend on the computer, so neither does the result.

// Rejected: an end after a simulated time, because an SPE with threads yields less often in it than
// an SPE without, and a program that computes without calls must not be ended after few yields.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::Location;

use cellworks_threads as threads;

use crate::index::ThreadIndex;
use crate::processor::SimProcessor;
use crate::time::Moment;
use crate::world::{Failure, World};

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

    /// Records a yield. Returns whether there have been so many that the run has to look.
    #[inline]
    fn add(&self, now: Moment) -> bool {
        let count = self.count.get();
        if count == 0 {
            self.since.set(now);
        }
        self.count.set(count + 1);
        count >= LOOK_AFTER
    }

    /// Returns the call and the first time of a thread that does nothing but yield.
    pub fn of(&self, thread: ThreadIndex) -> Option<(&'static Location<'static>, Moment)> {
        let call = self.threads.borrow().get(&thread).copied()?;
        (self.count.get() > LOOK_AFTER).then(|| (call, self.since.get()))
    }
}

impl World {
    /// Lets each other ready thread of a processor run once. Does nothing in the `ready` closure of
    /// a wait.
    pub fn yield_now(&self, processor: &SimProcessor, location: &'static Location<'static>) {
        let is_counted = !self.threads.is_in_condition() && !threads::is_cancelled();
        if is_counted && self.yields.add(self.clock.now()) {
            self.look_at_yields(processor.running().thread, location);
        }
        self.advance_by(processor, self.costs.cycle);
        if self.threads.is_in_condition() || threads::is_cancelled() {
            return;
        }
        let me = processor.running().thread;
        if !processor.has_ready() {
            // Even without a switch, the thread library saves and restores the registers. A program
            // without threads does not use this library, so its yield takes no switch time.
            if self.threads.number_of(me) > 0 {
                self.advance_by(processor, self.costs.switch);
            }
            return;
        }
        self.go_behind_others(processor, me);
    }

    /// Ends the run as a deadlock if all threads wait or yield, and no event is pending.
    #[cold]
    #[inline(never)]
    fn look_at_yields(&self, me: ThreadIndex, location: &'static Location<'static>) {
        let count = self.yields.count.get() - LOOK_AFTER;
        let mut yielding = self.yields.threads.borrow_mut();
        if count == 1 {
            yielding.clear();
        }
        yielding.insert(me, location);
        drop(yielding);
        if count.is_multiple_of(LOOK_EVERY) && self.do_all_yield(me) {
            *self.failure.borrow_mut() = Some(Failure::Deadlock(self.waits()));
            self.cancel_all();
            Self::unwind();
        }
    }

    /// Returns whether all threads wait or yield, and no event is pending except the ends of
    /// yields.
    fn do_all_yield(&self, me: ThreadIndex) -> bool {
        let yielding = self.yields.threads.borrow();
        let mut ends = 0;
        for processor in &self.processors {
            let running = processor.running.get();
            ends += usize::from(running.is_some_and(|running| running.thread != me));
            if !(processor.able().iter()).all(|thread| yielding.contains_key(thread)) {
                return false;
            }
        }
        self.clock.queue().len() == ends
    }
}
