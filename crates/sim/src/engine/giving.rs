//! A free processor is given to a thread.

use crate::index::ThreadIndex;
use crate::processor::{ProcessorThread, SimProcessor};
use crate::queue::Event;
use crate::time::Moment;
use crate::world::World;

impl World {
    /// Gives a free processor to its next ready thread, if any, and returns the result of `give`.
    #[inline(never)]
    pub(super) fn dispatch(&self, processor: &SimProcessor) -> Option<ThreadIndex> {
        if processor.running.get().is_some() {
            return None;
        }
        let thread = processor.threads.borrow_mut().ready.pop_front()?;
        let number = self.threads.number_of(thread);
        self.give(processor, ProcessorThread { thread, number })
    }

    /// Gives a free processor to a thread. Returns the thread if the processor ran it last.
    /// Otherwise returns `None`, and queues the event that continues the thread after a switch.
    #[inline(always)]
    pub(super) fn give(
        &self,
        processor: &SimProcessor,
        who: ProcessorThread,
    ) -> Option<ThreadIndex> {
        processor.running.set(Some(who));
        let now = self.clock.now().max(processor.busy_until.get());
        let mut observer = self.observers.observer.borrow_mut();
        if let Some(by) = processor.woken_by.take() {
            observer.is_woken(now, processor.id, by);
        }
        observer.goes_on(now, processor.id, who.number);
        drop(observer);
        if processor.loaded.get() == Some(who.thread) {
            return Some(who.thread);
        }
        processor.loaded.set(Some(who.thread));
        self.resume_at(now + self.costs.switch, who.thread);
        None
    }

    // `inline(never)` keeps the code that runs for an arriving word small.
    #[cold]
    #[inline(never)]
    fn resume_at(&self, time: Moment, thread: ThreadIndex) {
        self.clock.plan(time, Event::resume(thread));
    }

    /// Queues an event at the present time that continues a thread.
    pub fn resume_now(&self, thread: Option<ThreadIndex>) {
        if let Some(thread) = thread {
            self.clock.plan_now(Event::resume(thread));
        }
    }
}
