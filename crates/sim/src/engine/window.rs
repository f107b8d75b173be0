//! The counters of a run, or of a window of it.

use std::io;

use crate::observe::{Counters, PartCounters};
use crate::part::Part;
use crate::processor::SimProcessor;
use crate::time::{Femtoseconds, Moment};
use crate::world::World;

impl World {
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

    /// Lets the clock advance by the lag of a processor. Without a lag, nothing else happens
    /// either.
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
