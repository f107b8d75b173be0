//! The passing of simulated time on a processor. The module `engine` explains the *lag*.

use cellworks_threads as threads;

use crate::bus::Owner;
use crate::fabric::{Token, Transaction};
use crate::observe::{Activity, Cause};
use crate::processor::SimProcessor;
use crate::queue::Event;
use crate::time::{Femtoseconds, Moment};
use crate::world::World;

/// The maximum lag in cycles. A longer lag is added to the clock at once, so that an endless loop
/// of `compute` ends at the time limit.
const LAG_CYCLES_MAX: u64 = 1 << 20;

impl World {
    /// Adds `span` to a processor's lag, at most until clock plus lag exceeds the time limit.
    #[inline]
    pub fn add_lag(&self, processor: &SimProcessor, span: Femtoseconds) {
        self.yields.end();
        let beyond_limit = self.clock.limit() - self.clock.now() + Femtoseconds(1);
        let lag = processor.lag.get().saturating_add(span);
        processor.lag.set(lag.min(beyond_limit));
    }

    /// Adds cycles to the lag of a processor. Adds a lag above [`LAG_CYCLES_MAX`] to the clock.
    pub fn compute(&self, processor: &SimProcessor, cycles: u64) {
        self.add_lag(processor, self.costs.cycle.saturating_mul(cycles));
        let lag = processor.lag.get();
        let left = self.clock.limit() - self.clock.now();
        if lag > left.min(LAG_CYCLES_MAX * self.costs.cycle) && !self.threads.is_in_condition() {
            self.pass(processor, Femtoseconds::ZERO);
        }
    }

    /// Adds the lag of a processor to the clock if the lag is longer than a channel access. A
    /// shorter lag remains, although the words of two senders may then arrive in the wrong order.
    /// In the `ready` closure of a wait, does nothing.
    #[inline]
    pub fn settle(&self, processor: &SimProcessor) {
        if !self.threads.is_in_condition() && processor.lag() > self.costs.channel {
            self.pass(processor, Femtoseconds::ZERO);
        }
    }

    /// Lets the clock advance by the lag of a processor and `span`, without a switch to another
    /// thread of the processor. In the `ready` closure of a wait, only adds `span` to the lag.
    #[inline]
    pub fn pass(&self, processor: &SimProcessor, span: Femtoseconds) {
        self.yields.end();
        self.advance_by(processor, span);
    }

    /// Implements [`pass`](Self::pass), also for yields.
    #[inline]
    pub(super) fn advance_by(&self, processor: &SimProcessor, span: Femtoseconds) {
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

    /// Begins a bus transaction after `start`, and blocks the processor until the transaction ends.
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
