//! The check of the threads that wait on a processor: who goes on.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cellworks_threads as threads;

use crate::index::ThreadIndex;
use crate::processor::{ProcessorThreads, SimProcessor, Waiter};
use crate::queue::{Event, EventKind};
use crate::time::Moment;
use crate::world::World;

impl World {
    /// Queues an event at the present time that checks the waiting threads of a processor, because
    /// of what another processor did.
    pub fn notify_by(&self, by: &SimProcessor, processor: &SimProcessor) {
        if !processor.threads.borrow().waiting.is_empty() {
            processor.woken_by.set(Some(by.index));
        }
        self.notify(processor);
    }

    /// Queues an event at the present time that checks the waiting threads of a processor.
    pub fn notify(&self, processor: &SimProcessor) {
        if processor.threads.borrow().waiting.is_empty() || threads::is_cancelled() {
            return;
        }
        self.check_at(self.clock.now(), processor);
    }

    #[inline(never)]
    pub(super) fn check_at(&self, time: Moment, processor: &SimProcessor) {
        let event = Event {
            kind: EventKind::Check,
            index: processor.index as u32,
        };
        self.clock.plan(time, event);
    }

    /// Calls the `ready` closures of a processor's threads. Returns the thread that continues now.
    #[inline(never)]
    pub fn check(&self, processor: &SimProcessor) -> Option<ThreadIndex> {
        self.check_waiters(processor)
    }

    /// Implements [`check`](Self::check), inlined for the event loop.
    #[inline(always)]
    pub(super) fn check_waiters(&self, processor: &SimProcessor) -> Option<ThreadIndex> {
        if processor.busy_until.get() > self.clock.now() {
            self.check_at(processor.busy_until.get(), processor);
            return None;
        }
        let mut place = 0;
        loop {
            let waiter = processor.threads.borrow().waiting.get(place).copied();
            let Some(Waiter { who, ready, .. }) = waiter else {
                break;
            };
            let lag = processor.lag.get();
            // SAFETY: the thread waits, so its call of `wait` still borrows the closure. The thread
            // does not run now, and no `ready` closure calls another.
            let ready = unsafe { &mut *ready };
            let is_ready = catch_unwind(AssertUnwindSafe(|| self.threads.check(ready)));
            match is_ready {
                Ok(false) => {
                    // A check that fails takes no simulated time, so the lag is restored.
                    processor.lag.set(lag);
                    place += 1;
                    continue;
                }
                Ok(true) => {}
                Err(panic) => {
                    self.threads.keep_panic(who.thread, panic);
                }
            }
            let mut threads = processor.threads.borrow_mut();
            let ProcessorThreads { ready, waiting } = &mut *threads;
            // The only thread of a processor, as on most SPEs, does not use the ready queue.
            let is_only = waiting.len() == 1 && ready.is_empty();
            if is_only && processor.running.get().is_none() {
                waiting.clear();
                drop(threads);
                return self.give(processor, who);
            }
            threads.make_ready(place);
        }
        let next = self.dispatch(processor);
        processor.woken_by.set(None);
        next
    }
}
