//! The end of a run.

use std::io;

use crate::observe::{Counters, PartCounters};
use crate::part::Part;
use crate::processor::SimProcessor;
use crate::queue::Event;
use crate::threads::OWNER;
use crate::time::{Femtoseconds, Moment};
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

    /// Begins the window of the counters, after the lag of a processor.
    pub fn begin_window(&self, processor: &SimProcessor) {
        if self.observers.window_is_by_calls() {
            self.catch_up(processor);
            self.begin_window_now();
        }
    }

    /// Ends the window of the counters, after the lag of a processor.
    pub fn end_window(&self, processor: &SimProcessor) {
        if self.observers.window_is_by_calls() {
            self.catch_up(processor);
            self.end_window_now();
        }
    }

    /// Lets the clock advance by the lag of a processor. Without a lag, nothing else happens either.
    fn catch_up(&self, processor: &SimProcessor) {
        if processor.lag.get() > Femtoseconds::ZERO {
            self.pass(processor, Femtoseconds::ZERO);
        }
    }

    pub fn begin_window_now(&self) {
        let (now, resources) = (self.now(), self.bus.resources());
        let parts = self.parts(now);
        let mut observer = self.observers.observer.borrow_mut();
        observer.begin_window(now, resources, parts);
    }

    pub fn end_window_now(&self) {
        let (now, resources) = (self.now(), self.bus.resources());
        let parts = self.parts(now);
        let mut observer = self.observers.observer.borrow_mut();
        observer.end_window(now, resources, parts);
    }

    /// Returns the times of the fabric's parts, and of the requests of the MFCs.
    fn parts(&self, now: Moment) -> Vec<PartCounters> {
        let requests = self.mfcs.all().iter().zip(self.topology.spes());
        let requests = requests.map(|(mfc, spe)| {
            let busy = mfc.borrow().busy_with_requests(now);
            PartCounters::new(Part::MfcRequests, format!("the MFC of {spe}"), busy)
        });
        self.bus.parts().into_iter().chain(requests).collect()
    }

    /// Ends the observation of the run. Returns its counters, or the error of writing its trace.
    pub fn finish(&self) -> io::Result<Counters> {
        // Before a deadlock, a wait may begin later than the last event, by the processor's lag.
        let busy_until = self
            .processors
            .iter()
            .map(|processor| processor.busy_until.get());
        let end = busy_until.fold(self.clock.now(), Moment::max);
        let parts = self.parts(end);
        self.observers
            .finish(end, &self.bus, parts, self.clock.handled())
    }
}
