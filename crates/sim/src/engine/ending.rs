//! How a run ends.

use std::io;

use crate::observe::Counters;
use crate::queue::Event;
use crate::threads::OWNER;
use crate::time::Moment;
use crate::world::{Failure, World};

impl World {
    /// Takes the reason why the engine cancelled the programs, if it cancelled them.
    pub fn take_failure(&self) -> Option<Failure> {
        self.failure.borrow_mut().take()
    }

    /// Lets a thread panic on each processor that has a late error: an error of an MFC that no
    /// program has seen yet. Such an error may be the cause of a deadlock, so this is called before
    /// a deadlock is reported. Returns whether there was a late error.
    #[cold]
    #[inline(never)]
    pub(super) fn raise_late_errors(&self) -> bool {
        let mut has_told = false;
        for processor in &self.processors {
            let threads = processor.threads.borrow();
            let place = threads.waiting.iter().position(|waiter| !waiter.is_idle);
            drop(threads);
            let Some(place) = place else {
                continue;
            };
            let Some(error) = self.take_late_error(processor) else {
                continue;
            };
            let thread = processor.threads.borrow_mut().make_ready(place);
            self.threads.keep_panic(thread, error);
            has_told = true;
        }
        for processor in &self.processors {
            if let Some(next) = self.dispatch(processor) {
                let time = self.clock.now().max(processor.busy_until.get());
                self.clock.plan(time, Event::resume(next));
            }
        }
        has_told
    }

    /// Unwinds all threads, because no thread can go on or the run has reached its limit.
    pub(super) fn cancel(&self) {
        self.record_deadlock();
        self.cancel_all();
    }

    /// Records a deadlock, because no event is left. An earlier failure of the run is kept instead.
    pub(super) fn record_deadlock(&self) {
        if self.failure.borrow().is_none() {
            let waits = self.waits();
            *self.failure.borrow_mut() = Some(Failure::Deadlock(waits));
        }
    }

    /// Unwinds all threads.
    pub fn cancel_all(&self) {
        self.clock.forget_events();
        OWNER.cancel_all();
    }

    /// Ends the observation of the run, and returns its counters.
    ///
    /// # Errors
    ///
    /// The error of writing the trace.
    pub fn finish(&self) -> io::Result<Counters> {
        // After a deadlock, the last event may be earlier than the end of a program's last
        // computation.
        let busy_until = self
            .processors
            .iter()
            .map(|processor| processor.busy_until.get());
        let end = busy_until.fold(self.clock.now(), Moment::max);
        self.observers.finish(end, &self.bus, self.clock.handled())
    }
}
