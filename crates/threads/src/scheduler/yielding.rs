//! Yields: the running thread goes behind the ready threads, or into the rotation of its scope.

use std::thread::panicking;

use super::{Scheduler, with};
use crate::block::State;
use crate::scope_state::ScopeState;

impl Scheduler {
    /// Lets all ready threads run before the calling thread. The ready queue must not be empty.
    #[inline(always)]
    fn go_round(&self) {
        let (next, place) = self.ready.go_round();
        let me = self.current.get();
        // SAFETY: `place` is free, because the ready queue has room for all threads. Only this line
        // continues `next`, because each suspended thread is in the queue at most once.
        unsafe { self.switch(place, next) };
        self.current.set(me);
    }

    #[inline(always)]
    pub(crate) fn yield_now(&self) {
        if !self.ready.is_empty() && !panicking() {
            self.go_round();
        } else if !self.ready.is_empty() || self.mode.get() != 0 {
            self.yield_slowly();
        }
    }

    #[cold]
    #[inline(never)]
    fn yield_slowly(&self) {
        if self.is_frozen() {
            return;
        }
        self.unwind_if_cancelled();
        // If no other thread is unwinding, `panicking()` is about the calling thread.
        if panicking() && !self.others_unwinding.get() {
            return;
        }
        if self.is_rotating() {
            self.turn_in_round();
        } else if !self.ready.is_empty() {
            self.go_round();
        }
    }

    #[inline(always)]
    pub(crate) fn begin_turns(&self) {
        // One branch for two conditions is faster than two branches if the data are in a cache.
        if self.ready.len() | usize::from(self.mode.get()) != 0 {
            yield_to_rotation();
        }
    }

    /// Adds the running thread to the rotation of its scope and suspends it. Returns false at once
    /// if the parent does not wait for the scope to end. Another thread must be ready.
    fn join_rotation(&self) -> bool {
        let me = self.current();
        // SAFETY: the pointer is null or the running thread's scope, which outlives the thread.
        let Some(scope) = (unsafe { ScopeState::of(me).as_ref() }) else {
            return false;
        };
        // SAFETY: the pointer is null or a thread that is in `drain`.
        let Some(parent) = (unsafe { scope.drainer.get().as_ref() }) else {
            return false;
        };
        scope.rotation.push(me);
        // A parent that is not `Joining` is in the ready queue already. A thread is ready, so the
        // mode is normal.
        if parent.state.get() == State::Joining {
            parent.state.set(State::Ready);
            self.ready.push(parent.context.get());
        }
        // SAFETY: the next thread came out of the ready queue, so only this line continues it. The
        // frame of `me` is free, because `me` runs. Stacks of live threads are mapped.
        unsafe { self.switch(me.frame.place(), self.ready.pop()) };
        true
    }
}

/// Yields. Is not a method of the scheduler, because callers would have to keep a reference to the
/// scheduler in their stack frames.
#[inline(never)]
fn yield_to_rotation() {
    with(|s| {
        if panicking() || s.ready.is_empty() {
            s.yield_slowly();
        } else if !s.join_rotation() {
            s.go_round();
        }
    });
}
