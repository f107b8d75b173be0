//! How time passes on a processor.
//!
//! The times of a program's calls are added to the processor's *lag*, which `engine` explains.

use cellworks_threads as threads;

use crate::bus::Owner;
use crate::fabric::{Token, Transaction};
use crate::observe::{Activity, Cause};
use crate::processor::SimProcessor;
use crate::queue::Event;
use crate::time::{Femtoseconds, Moment};
use crate::world::World;

/// The maximum lag in cycles. A longer lag passes at once, so that an endless loop that only
/// computes ends at the time limit of the run.
const LAG_CYCLES_MAX: u64 = 1 << 20;

impl World {
    /// Adds `span` to the lag of a processor. The lag does not grow beyond the time limit of the
    /// run, so that times do not overflow.
    #[inline]
    pub fn add_lag(&self, processor: &SimProcessor, span: Femtoseconds) {
        let beyond_limit = self.clock.limit() - self.clock.now() + Femtoseconds(1);
        let lag = processor.lag.get().saturating_add(span);
        processor.lag.set(lag.min(beyond_limit));
    }

    /// Adds cycles of computation to the lag of a processor. A long lag passes at once: see
    /// [`LAG_CYCLES_MAX`].
    pub fn compute(&self, processor: &SimProcessor, cycles: u64) {
        self.add_lag(processor, self.costs.cycle.saturating_mul(cycles));
        let lag = processor.lag.get();
        let left = self.clock.limit() - self.clock.now();
        if lag > left.min(LAG_CYCLES_MAX * self.costs.cycle) && !self.threads.is_in_condition() {
            self.pass(processor, Femtoseconds::ZERO);
        }
    }

    /// Lets the lag of a processor and then `span` pass, without a switch to another thread of the
    /// processor. In a condition, this only adds `span` to the lag.
    #[inline]
    pub fn pass(&self, processor: &SimProcessor, span: Femtoseconds) {
        if self.threads.is_in_condition() {
            self.add_lag(processor, span);
            return;
        }
        let lag = processor.lag.take();
        let until = self.clock.now().saturating_add(lag).saturating_add(span);
        self.sleep_until(processor, until);
    }

    #[inline(never)]
    fn sleep_until(&self, processor: &SimProcessor, until: Moment) {
        if threads::is_cancelled() {
            return Self::unwind();
        }
        let resume = || Event::resume(processor.running().thread);
        if self.clock.jump_or_plan(until, resume) {
            self.observers.pulse.beat(until);
        } else {
            self.suspend(processor.running().thread);
        }
    }

    /// Begins a transaction after `start`, and waits for its end without a switch to another thread
    /// of the processor.
    pub fn transact(
        &self,
        processor: &SimProcessor,
        cause: Cause,
        start: Femtoseconds,
        transaction: impl FnOnce(Token) -> Transaction,
    ) {
        let does = |activity| {
            let mut observer = self.observers.observer.borrow_mut();
            observer.activity(self.clock.now(), processor.id, activity);
        };
        self.pass(processor, Femtoseconds::ZERO);
        does(Activity::Waiting(cause));
        self.pass(processor, start);
        if threads::is_cancelled() {
            return;
        }
        let me = processor.running().thread;
        let transaction = transaction(Owner::Thread(me).token());
        self.bus.begin(&self.clock, transaction);
        self.suspend(me);
        does(Activity::Computing);
    }
}
