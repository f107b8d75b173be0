//! The event loop, which runs on the stacks of waiting threads.

use std::fmt;

use cellworks_machine::SpeId;
use cellworks_threads::{self as threads, Idle, Thread, Verdict};

use crate::bus::Owner;
use crate::index::ThreadIndex;
use crate::queue::{Event, EventKind};
use crate::threads::OWNER;
use crate::world::{Failure, World};

impl World {
    /// Runs the event loop until the calling thread `me` continues.
    #[inline(always)]
    pub(super) fn suspend(&self, me: ThreadIndex) {
        match self.advance() {
            Some(next) if next == me => self.observers.pulse.beat(self.clock.now()),
            // Later, another thread runs the event loop on its own stack and switches back to `me`.
            Some(next) => {
                OWNER.hand_over(self.next_turn(next), &"its turn");
                self.wait_for_turn(me, &"its turn");
            }
            None => {
                self.cancel();
                Self::unwind();
            }
        }
    }

    /// Unwinds the calling thread of a cancelled run. Returns if the thread is already unwinding.
    pub(super) fn unwind() {
        OWNER.park(&"its end");
    }

    /// Makes `next` the thread that may run, and returns the handle that wakes it.
    #[inline(always)]
    fn next_turn(&self, next: ThreadIndex) -> Thread {
        let (handle, processor, number) = self.threads.give_turn(next);
        let pulse = &self.observers.pulse;
        pulse.turn_of(self.clock.now(), processor, number);
        handle
    }

    /// Blocks a newly started thread until it may run.
    pub fn first_turn(&self, me: ThreadIndex) {
        self.wait_for_turn(me, &"its first turn");
    }

    /// Blocks the calling thread `me` until it may run. Returns at once if the run is cancelled and
    /// `me` is unwinding.
    #[inline(always)]
    fn wait_for_turn(&self, me: ThreadIndex, why: &dyn fmt::Display) {
        while !self.threads.has_turn(me) && !threads::is_cancelled() {
            OWNER.park(why);
        }
    }

    /// Handles events until a thread can continue, and returns this thread. Returns `None` if the
    /// queue is empty or the time limit is reached.
    #[inline(never)]
    fn advance(&self) -> Option<ThreadIndex> {
        // A `ready` closure must not handle events, because an event could call the closure again.
        assert!(
            !self.threads.is_in_condition(),
            "the condition of a wait tried to wait; conditions must not wait"
        );
        loop {
            let Some((time, event)) = self.clock.take_next() else {
                if self.raise_late_errors() {
                    continue;
                }
                return None;
            };
            if time > self.clock.limit() {
                self.exceed_limit();
                return None;
            }
            self.clock.handle_at(time);
            self.observers.sample_if_due(time, &self.bus);
            if event.kind != EventKind::Resume {
                self.yields.end();
            }
            let next = match event.kind {
                EventKind::Word => self.check_waiters(self.word_arrives(event.index)),
                _ => self.handle(event),
            };
            if next.is_some() {
                return next;
            }
        }
    }

    /// Handles an event. Returns the thread that continues now, if any.
    // `inline(never)` keeps the code that runs for an arriving word small.
    #[inline(never)]
    fn handle(&self, Event { kind, index }: Event) -> Option<ThreadIndex> {
        match kind {
            EventKind::Resume => Some(index),
            EventKind::Word => self.check(self.word_arrives(index)),
            EventKind::Check => self.check(self.processor(index as usize)),
            EventKind::Fabric => self.handle_fabric(index),
            EventKind::MfcRequest => self.send_requests(SpeId::new(index as u16)),
            EventKind::SendWord => {
                self.send_word(index);
                None
            }
        }
    }

    // `inline(never)` keeps the code that runs for an arriving word small.
    #[inline(never)]
    fn handle_fabric(&self, index: u32) -> Option<ThreadIndex> {
        let mut done = self.bus.handle(&self.clock, index);
        let mut next = None;
        for token in done.drain(..) {
            let resumed = match Owner::of(token) {
                Owner::Thread(thread) => Some(thread),
                Owner::Line { spe, line } => {
                    self.line_arrives(SpeId::new(spe as u16), line as usize)
                }
                Owner::Word(flight) => self.check(self.word_arrives(flight)),
            };
            if let Some(later) = next.and(resumed) {
                self.clock.plan_now(Event::resume(later));
            }
            next = next.or(resumed);
        }
        self.bus.keep(done);
        next
    }

    #[cold]
    #[inline(never)]
    fn exceed_limit(&self) {
        *self.failure.borrow_mut() = Some(Failure::TimeLimit(self.running(), self.waits()));
    }
}

/// The thread library calls `idle` if a thread has ended and no other thread is ready.
impl Idle for World {
    fn idle(&self) -> Verdict {
        if threads::is_cancelled() {
            return Verdict::Stuck;
        }
        match self.advance() {
            Some(next) => {
                self.next_turn(next).unpark();
                Verdict::Continue
            }
            None => {
                self.record_deadlock();
                self.clock.forget_events();
                Verdict::Stuck
            }
        }
    }

    fn programs(&self) -> Vec<String> {
        self.observers.pulse.programs()
    }
}
