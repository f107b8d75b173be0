//! Cancellation: unwinds the threads of a core, the youngest thread first.

use std::ptr::{self, NonNull};

use super::unwinding::resume;
use super::{CANCELLED, Scheduler};
use crate::arch::Context;
use crate::block::Block;
use crate::cancelled::Cancelled;
use crate::report::{Blocked, Cause};
use crate::scope_state::ScopeState;

impl Scheduler {
    pub(crate) fn cancel(&self, cause: Cause) {
        if self.is_cancelled() || self.run.get().is_null() {
            return;
        }
        self.end_turns();
        self.mode.set(self.mode.get() | CANCELLED);
        self.live
            .iter()
            .for_each(|block| block.turn.set(ptr::null()));
        let run = self.run();
        run.take_woken();
        run.interrupt(&self.ready);
        let threads = self.blocked_threads();
        run.blocked.set(Some(Blocked { threads, cause }));
    }

    /// Unwinds the running thread if the core is cancelled, unless the thread is already unwinding.
    #[inline]
    pub(super) fn unwind_if_cancelled(&self) {
        if self.is_cancelled() {
            self.unwind();
        }
    }

    #[cold]
    #[inline(never)]
    fn unwind(&self) {
        let patience = &self.current().patience;
        let who = self.current().label();
        // SAFETY: `run` borrows the hook and has not returned.
        let programs = || unsafe { &*self.run().idle }.programs();
        if self.is_unwinding() {
            patience.waits(&who, &programs);
        } else {
            patience.unwinds(&who, &programs);
            resume(Cancelled::payload());
        }
    }

    pub(crate) fn outlast(&self, done: &mut dyn FnMut() -> bool) {
        while !done() {
            if !self.is_running() || !self.is_cancelled() || !self.let_another_end() {
                std::thread::yield_now();
            }
        }
    }

    /// Continues another thread of a cancelled core, and returns true when the calling thread is
    /// continued. Returns false if the core has no other thread to continue.
    fn let_another_end(&self) -> bool {
        let me = self.current();
        let run = self.run();
        let interrupted = run.interrupted.borrow_mut().pop_front();
        let other = interrupted.or_else(|| {
            let other = self.youngest_that_can_end(me)?;
            self.current.set(other);
            Some(Self::suspended_at(other))
        });
        let other = other.or_else(|| self.next_that_outlasts());
        let Some(other) = other else {
            return false;
        };
        run.outlasting.borrow_mut().push_back(NonNull::from(me));
        self.note_unwinding();
        // SAFETY: `other` is a suspended thread of a cancelled core and was taken out of the
        // queues, so only this line continues it. Contexts of live threads lie on mapped stacks.
        unsafe { self.switch(&me.context, other) };
        self.current.set(me);
        true
    }

    /// Takes the thread that has waited longest in [`outlast`](Self::outlast).
    pub(super) fn next_that_outlasts(&self) -> Option<Context> {
        let next = self.run().outlasting.borrow_mut().pop_front()?;
        // SAFETY: a thread in the queue is suspended in `outlast`.
        Some(Self::suspended_at(unsafe { next.as_ref() }))
    }

    /// Returns the context of a suspended thread, from its frame if the thread took turns.
    pub(super) fn suspended_at(thread: &Block) -> Context {
        // SAFETY: `thread` does not run, because another thread of the same core calls this method.
        let in_turn = unsafe { thread.frame.take() };
        in_turn.unwrap_or(thread.context.get())
    }

    /// Returns the youngest thread other than `me` that waits neither in `outlast` nor in `drain`.
    fn youngest_that_can_end(&self, me: &Block) -> Option<&Block> {
        let outlasting = self.run().outlasting.borrow();
        let waits_for = |parent: &Block, child: &Block| {
            let scope = ScopeState::of(child);
            // SAFETY: the pointer is null for the main thread. Scopes of other live threads exist.
            unsafe { scope.as_ref() }.is_some_and(|scope| ptr::eq(scope.drainer.get(), parent))
        };
        let can_end = |block: &&Block| {
            !ptr::eq(*block, me)
                && !outlasting.contains(&NonNull::from(*block))
                && !self.live.iter().any(|child| waits_for(block, child))
        };
        self.live.iter().filter(can_end).last()
    }
}
