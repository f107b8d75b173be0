//! Yields, and runs in which no thread does anything else.
//!
//! A thread that looks at an ordinary atomic in a loop of yields waits for another thread. If all
//! threads wait or yield, and no event is pending, none of them can end what it waits for. The run
//! cannot know what a thread does between two yields. So it takes many of them without any other
//! call for such a loop. The number does not depend on the computer, so neither does the result.

// Rejected: an end after a simulated time, because an SPE with threads yields less often in it than
// an SPE without, and a program that computes without calls must not be ended after few yields.

use std::panic::Location;

use cellworks_threads as threads;

use crate::index::ThreadIndex;
use crate::processor::SimProcessor;
use crate::world::{Failure, World};

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
        if self.yields.note(me, location) && self.do_all_yield(me) {
            *self.failure.borrow_mut() = Some(Failure::Deadlock(self.waits()));
            self.cancel_all();
            Self::unwind();
        }
    }

    /// Returns whether all threads wait or yield, and no event is pending except the ends of
    /// yields.
    fn do_all_yield(&self, me: ThreadIndex) -> bool {
        let mut ends = 0;
        for processor in &self.processors {
            let running = processor.running.get();
            ends += usize::from(running.is_some_and(|running| running.thread != me));
            if !(processor.able().into_iter()).all(|thread| self.yields.of(thread).is_some()) {
                return false;
            }
        }
        self.clock.queue().len() == ends
    }
}
