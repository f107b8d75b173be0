//! The observers of a run, a part of [`World`](crate::world::World). They do not change the run.

use std::cell::{Cell, RefCell};
use std::io;
use std::sync::Arc;

use cellworks_machine::SpeId;

use crate::bus::Bus;
use crate::hazard::{HazardWatch, Hazards};
use crate::observe::{Counters, Observer, PartCounters};
use crate::setup::Window;
use crate::time::{Femtoseconds, Moment};
use crate::watchdog::Pulse;

/// The interval between samples of the resources in a trace: 1 us.
const SAMPLE: Femtoseconds = Femtoseconds(1_000_000_000);

pub(crate) struct Observers {
    pub observer: RefCell<Observer>,
    pub hazards: RefCell<Hazards>,
    /// The numbers that the watchdog of the process reads.
    pub pulse: Arc<Pulse>,
    /// The setting of the window. A call of a program changes `AfterStart` to `ByCalls`.
    window: Cell<Window>,
    /// The SPEs on which a program has begun, and the number of programs that run.
    begun: RefCell<Vec<SpeId>>,
    running: Cell<usize>,
    /// The time of the next sample of the resources, or `Moment::NEVER` without a trace.
    next_sample: Cell<Moment>,
}

impl Observers {
    pub fn new(observer: Observer, hazards: Hazards, pulse: Arc<Pulse>, window: Window) -> Self {
        let next_sample = if observer.is_tracing() {
            Moment::START
        } else {
            Moment::NEVER
        };
        Self {
            observer: RefCell::new(observer),
            hazards: RefCell::new(hazards),
            pulse,
            window: Cell::new(window),
            begun: RefCell::default(),
            running: Cell::new(0),
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

    /// Returns whether a program that begins on an SPE begins the window.
    pub fn window_begins_with(&self, spe: SpeId) -> bool {
        self.running.set(self.running.get() + 1);
        let mut begun = self.begun.borrow_mut();
        let is_first = !begun.contains(&spe);
        if is_first {
            begun.push(spe);
        }
        is_first && self.window.get() == Window::AfterStart
    }

    /// Returns whether a program that ends also ends the window.
    pub fn window_ends_with_program(&self) -> bool {
        self.running.set(self.running.get() - 1);
        self.running.get() == 0 && self.window.get() == Window::AfterStart
    }

    /// Returns whether the calls of programs choose the window. From now on, only they do.
    pub fn window_is_by_calls(&self) -> bool {
        if self.window.get() == Window::AfterStart {
            self.window.set(Window::ByCalls);
        }
        self.window.get() == Window::ByCalls
    }

    /// Ends the observation of a run. Returns its counters, or the error of writing its trace.
    pub fn finish(
        &self,
        end: Moment,
        bus: &Bus,
        parts: Vec<PartCounters>,
        events: u64,
    ) -> io::Result<Counters> {
        let observer = self.observer.replace(Observer::new("", 0, None));
        let nothing = Hazards::new(HazardWatch::Off, Vec::new());
        let hazards = self.hazards.replace(nothing);
        let mut counters = observer.finish(end, bus.resources(), parts, events)?;
        (counters.hazards, counters.hazards_seen) = hazards.finish();
        Ok(counters)
    }
}
