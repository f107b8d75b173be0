//! Switches between the threads of a processor.

// Rejected: a queue of ready threads for the whole machine. The seed permutes events, and must also
// permute the wakes of threads. So each wake must be an event or part of one.

use cellworks_machine::SpeId;
use cellworks_threads as threads;

use crate::index::ThreadIndex;
use crate::observe::Activity;
use crate::processor::{ProcessorThread, SimProcessor};
use crate::queue::Event;
use crate::world::World;

impl World {
    /// Adds the calling thread to a processor. The main thread of a program has `number` 0.
    pub fn adopt(&self, processor: &SimProcessor, number: u32) -> ThreadIndex {
        self.threads.adopt(processor.index, number)
    }

    /// Makes a thread the running thread of its processor, which must run no thread.
    pub fn take_processor(&self, thread: ThreadIndex) {
        let number = self.threads.number_of(thread);
        let processor = self.processor(self.threads.processor_of(thread));
        processor
            .running
            .set(Some(ProcessorThread { thread, number }));
        processor.loaded.set(Some(thread));
    }

    /// Makes a newly adopted thread ready.
    pub fn make_ready(&self, thread: ThreadIndex) {
        let processor = self.processor(self.threads.processor_of(thread));
        processor.threads.borrow_mut().ready.push_back(thread);
    }

    /// Yields, but takes no switch time if no other thread is ready.
    pub fn yield_ready(&self, processor: &SimProcessor) {
        self.pass(processor, self.costs.cycle);
        let has_others = processor.has_ready();
        if has_others && !self.threads.is_in_condition() && !threads::is_cancelled() {
            self.go_behind_others(processor, processor.running().thread);
        }
    }

    /// Switches an SPE to the next ready thread, which must exist. The calling thread `me` becomes
    /// the last of the ready threads.
    pub(super) fn go_behind_others(&self, processor: &SimProcessor, me: ThreadIndex) {
        processor.threads.borrow_mut().ready.push_back(me);
        processor.running.set(None);
        if let Some(next) = self.dispatch(processor) {
            self.clock.plan_now(Event::resume(next));
        }
        self.suspend(me);
    }

    /// Records that the running thread of a processor begins an activity named by the program.
    pub fn activity_begins(&self, processor: &SimProcessor, name: &str) {
        let mut observer = self.observers.observer.borrow_mut();
        if let Some(thread) = processor.running.get().filter(|_| observer.is_tracing()) {
            let now = self.clock.now() + processor.lag.get();
            observer.activity_begins(now, processor.id, thread.number, name);
        }
    }

    /// Records that the running thread of a processor ends the activity that it began last.
    pub fn activity_ends(&self, processor: &SimProcessor) {
        let mut observer = self.observers.observer.borrow_mut();
        if let Some(thread) = processor.running.get().filter(|_| observer.is_tracing()) {
            let now = self.clock.now() + processor.lag.get();
            observer.activity_ends(now, processor.id, thread.number);
        }
    }

    /// Records that the PPE begins to start a program on an SPE.
    pub fn start_begins(&self, ppe: &SimProcessor, spe: SpeId) {
        self.activity_begins(ppe, &format!("start of {spe}"));
        let now = self.clock.now() + ppe.lag.get();
        self.observers.observer.borrow_mut().start_begins(now, spe);
    }

    /// Records that the PPE has started the program.
    pub fn start_ends(&self, ppe: &SimProcessor) {
        let now = self.clock.now() + ppe.lag.get();
        self.observers.observer.borrow_mut().start_ends(now);
        self.activity_ends(ppe);
    }

    /// Ends the running thread of a processor, and switches to the next ready thread.
    pub fn end_thread(&self, processor: &SimProcessor) {
        let ProcessorThread { thread: me, number } = processor.running();
        let now = self.clock.now();
        self.observers
            .observer
            .borrow_mut()
            .thread_ended(now, processor.id, number);
        processor.running.set(None);
        processor.loaded.set(None);
        self.yields.end();
        self.threads.forget(me);
        if let Some(next) = self.check(processor) {
            self.clock.plan(now, Event::resume(next));
        }
    }

    /// Marks a processor as idle after its last program.
    pub fn leave(&self, processor: &SimProcessor) {
        processor.running.set(None);
        // Before a deadlock, a wait may begin later than the last event, by the processor's lag.
        let now = self.clock.now().max(processor.busy_until.get());
        self.observers
            .observer
            .borrow_mut()
            .activity(now, processor.id, Activity::Idle);
    }
}
