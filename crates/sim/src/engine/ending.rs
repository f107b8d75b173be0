//! The end of a run.

use crate::queue::Event;
use crate::threads::OWNER;
use crate::world::{Failure, World};

impl World {
    pub fn take_failure(&self) -> Option<Failure> {
        self.failure.borrow_mut().take()
    }

    /// For each processor with a late error (an error of its MFC commands that no call has
    /// returned), makes a waiting thread panic with this error. Returns false if no thread will
    /// panic.
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

    /// Cancels all threads after a deadlock or at the time limit of the run.
    pub(super) fn cancel(&self) {
        self.record_deadlock();
        self.cancel_all();
    }

    /// Records a deadlock as the failure of the run, if there is no failure yet.
    pub(super) fn record_deadlock(&self) {
        if self.failure.borrow().is_none() {
            let waits = self.waits();
            *self.failure.borrow_mut() = Some(Failure::Deadlock(waits));
        }
    }

    pub fn cancel_all(&self) {
        self.clock.forget_events();
        OWNER.cancel_all();
    }
}
