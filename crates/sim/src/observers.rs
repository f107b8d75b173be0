//! The observers of a run, a part of [`World`](crate::world::World). They do not change the run.

use std::cell::{Cell, RefCell};
use std::io;
use std::sync::Arc;

use crate::bus::Bus;
use crate::hazard::{HazardWatch, Hazards};
use crate::observe::{Counters, Observer};
use crate::time::{Femtoseconds, Moment};
use crate::watchdog::Pulse;

/// The interval between samples of the resources in a trace: 1 us.
const SAMPLE: Femtoseconds = Femtoseconds(1_000_000_000);

pub(crate) struct Observers {
    pub observer: RefCell<Observer>,
    pub hazards: RefCell<Hazards>,
    /// The numbers that the watchdog of the process reads.
    pub pulse: Arc<Pulse>,
    /// The time of the next sample of the resources, or `Moment::NEVER` without a trace.
    next_sample: Cell<Moment>,
}

impl Observers {
    pub fn new(observer: Observer, hazards: Hazards, pulse: Arc<Pulse>) -> Self {
        let next_sample = match observer.is_tracing() {
            true => Moment::START,
            false => Moment::NEVER,
        };
        Self {
            observer: RefCell::new(observer),
            hazards: RefCell::new(hazards),
            pulse,
            next_sample: Cell::new(next_sample),
        }
    }

    /// Writes the use of all rings, modules and links to the trace if a sample is due.
    #[inline(always)]
    pub fn sample_if_due(&self, now: Moment, bus: &Bus) {
        if now >= self.next_sample.get() {
            self.sample(now, bus);
        }
    }

    #[cold]
    #[inline(never)]
    fn sample(&self, now: Moment, bus: &Bus) {
        let resources = bus.resources();
        self.observer.borrow_mut().resources(now, &resources);
        self.next_sample.set(now.saturating_add(SAMPLE));
    }

    /// Ends the observation of a run. Returns its counters, or the error of writing its trace.
    pub fn finish(&self, end: Moment, bus: &Bus, events: u64) -> io::Result<Counters> {
        let observer = self.observer.replace(Observer::new("", 0, None));
        let nothing = Hazards::new(HazardWatch::Off, Vec::new());
        let hazards = self.hazards.replace(nothing);
        let mut counters = observer.finish(end, bus.resources(), events)?;
        (counters.hazards, counters.hazards_seen) = hazards.finish();
        Ok(counters)
    }
}
