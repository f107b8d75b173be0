//! The waits of threads, with `ready` closures that the event loop calls on any thread's stack.

use std::cell::RefCell;
use std::fmt;
use std::panic::Location;

use cellworks_machine::Sleeper;
use cellworks_threads as threads;

use crate::index::ThreadIndex;
use crate::observe::{Activity, Cause};
use crate::processor::{ProcessorThread, ProcessorThreads, SimProcessor, Waiter};
use crate::queue::Event;
use crate::time::{Femtoseconds, Moment};
use crate::world::World;

/// An entry in a processor's list of waiting threads. Dropping a `Waits` removes the entry.
struct Waits<'a> {
    threads: &'a RefCell<ProcessorThreads>,
    thread: ThreadIndex,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        // The list still has the entry only if the thread was cancelled.
        self.threads
            .borrow_mut()
            .waiting
            .retain(|waiter| waiter.who.thread != self.thread);
    }
}

impl World {
    /// Implements [`Wait::wait_until`](cellworks_machine::Wait::wait_until).
    pub fn wait_until(
        &self,
        processor: &SimProcessor,
        cause: Cause,
        why: &dyn fmt::Display,
        location: &'static Location<'static>,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        self.assert_may_wait(processor);
        self.pass(processor, Femtoseconds::ZERO);
        if self.threads.check(&mut *ready) {
            return true;
        }
        self.wait(processor, cause, why, location, ready, false)
    }

    /// Implements [`Wake::wait_until_deadline`](cellworks_machine::Wake::wait_until_deadline).
    pub fn wait_until_deadline(
        &self,
        processor: &SimProcessor,
        why: &dyn fmt::Display,
        location: &'static Location<'static>,
        deadline: Moment,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        let mut came_true = false;
        let mut ready_or_late = || {
            came_true = ready();
            came_true || self.clock.now() >= deadline
        };
        self.assert_may_wait(processor);
        self.pass(processor, Femtoseconds::ZERO);
        if !self.threads.check(&mut ready_or_late) {
            self.check_at(deadline, processor);
            self.wait(
                processor,
                Cause::Other,
                why,
                location,
                &mut ready_or_late,
                false,
            );
        }
        came_true
    }

    /// Waits until `ready` returns true, which only an event of this processor may cause. The lag
    /// is added to the clock during the wait, not before.
    // This is inlined down to the switch of stacks. A call would add about twenty instructions to
    // each message, and a return that is mispredicted because the stack was switched.
    #[inline(always)]
    pub fn wait_for_event(
        &self,
        processor: &SimProcessor,
        cause: Cause,
        why: &dyn fmt::Display,
        location: &'static Location<'static>,
        ready: &mut dyn FnMut() -> bool,
    ) {
        if self.threads.is_in_condition() || processor.has_ready() {
            // Another thread is ready and would run now, so the lag must be added before the wait.
            self.wait_until(processor, cause, why, location, ready);
            return;
        }
        self.wait(processor, cause, why, location, ready, false);
    }

    /// Waits on a processor that runs no program. A deadlock report does not list this wait.
    pub fn wait_without_program(
        &self,
        processor: &SimProcessor,
        location: &'static Location<'static>,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        if threads::is_cancelled() {
            return false;
        }
        ready()
            || self.wait(
                processor,
                Cause::Other,
                &"a program to run",
                location,
                ready,
                true,
            )
    }

    #[inline(always)]
    fn wait(
        &self,
        processor: &SimProcessor,
        cause: Cause,
        why: &dyn fmt::Display,
        location: &'static Location<'static>,
        ready: &mut dyn FnMut() -> bool,
        is_idle: bool,
    ) -> bool {
        if threads::is_cancelled() {
            Self::unwind();
            return self.threads.check(ready);
        }
        self.yields.end();
        let who = processor.running();
        let ProcessorThread { thread: me, number } = who;
        let since = self.clock.now().saturating_add(processor.lag.take());
        processor.busy_until.set(since);
        // SAFETY: only the lifetimes change. Only `check` and `waits` use the pointers, while the
        // waiter is in the list. `check` and `raise_late_errors` remove the waiter before this call
        // returns. If this call unwinds, `Waits` removes the waiter.
        let (why, condition) = unsafe {
            (
                std::mem::transmute::<&dyn fmt::Display, *const dyn fmt::Display>(why),
                std::mem::transmute::<&mut dyn FnMut() -> bool, *mut dyn FnMut() -> bool>(
                    &mut *ready,
                ),
            )
        };
        // If this call unwinds, for example in a trace writer, `Waits` removes the entry.
        let waits = Waits {
            threads: &processor.threads,
            thread: me,
        };
        let mut threads = processor.threads.borrow_mut();
        threads.waiting.push(Waiter {
            who,
            why,
            ready: condition,
            location,
            since,
            is_idle,
        });
        let has_ready = !threads.ready.is_empty();
        drop(threads);
        processor.running.set(None);
        let mut observer = self.observers.observer.borrow_mut();
        if is_idle {
            observer.activity(since, processor.id, Activity::Idle);
        } else {
            observer.waits(since, processor.id, number, cause);
        }
        drop(observer);
        if has_ready && let Some(next) = self.dispatch(processor) {
            self.clock.plan(since, Event::resume(next));
        }
        self.suspend(me);
        if threads::is_cancelled() {
            // The thread is unwinding. A wait in one of its destructors must return at once.
            drop(waits);
            return self.threads.check(ready);
        }
        // `check` has removed the entry, which refers to values of this call.
        assert!(
            processor.running.get().is_some_and(|who| who.thread == me),
            "a thread of {} went on before its wait had ended",
            processor.id
        );
        std::mem::forget(waits);
        self.threads.resume_panic_of(me);
        true
    }

    /// Panics in the `ready` closure of a wait, which must not wait.
    pub fn assert_may_wait(&self, processor: &SimProcessor) {
        assert!(
            !self.threads.is_in_condition(),
            "{} waits within the condition of another wait; conditions must not wait",
            processor.id
        );
    }

    /// Returns the value by which other threads wake the calling thread.
    pub fn sleeper(&self, processor: &SimProcessor) -> Sleeper {
        // A cancelled thread that is unwinding has no processor, and is never woken.
        let thread = processor
            .running
            .get()
            .map_or(usize::MAX, |running| running.thread as usize);
        // SAFETY: this machine finds a thread by its processor, of which it checks all waiting
        // threads. The index of the thread only makes handles of different threads unequal.
        unsafe { Sleeper::new(processor.id, (thread, 0)) }
    }
}
