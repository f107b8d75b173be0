//! Cancellation: unwinds the threads of a core, the youngest thread first.

use std::panic::resume_unwind;
use std::ptr::{self, NonNull};
use std::thread::panicking;

use super::{CANCELLED, Scheduler, with};
use crate::arch::Context;
use crate::block::Block;
use crate::cancelled::{Cancelled, Payload};
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
        self.interrupt_ready();
        let threads = self.blocked_threads();
        run.blocked.set(Some(Blocked { threads, cause }));
    }

    /// Moves the ready threads of a cancelled core to `interrupted`.
    pub(super) fn interrupt_ready(&self) {
        let mut interrupted = self.run().interrupted.borrow_mut();
        while !self.ready.is_empty() {
            interrupted.push_back(self.ready.pop());
        }
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.mode.get() & CANCELLED != 0
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

    /// Returns whether the running thread is unwinding.
    ///
    /// `panicking()` is also true while another thread of this core waits in a destructor during
    /// unwinding. Then `others_unwinding` is set, because `panicking()` was true when that thread
    /// was suspended. While `others_unwinding` is set, this function returns the thread's own
    /// `Block::unwinding`, which is wrong if the thread has begun or caught a panic since it was
    /// last continued.
    #[inline(never)]
    pub(crate) fn is_unwinding(&self) -> bool {
        let me = self.current();
        if !panicking() {
            self.others_unwinding.set(false);
            me.unwinding.set(false);
        } else if !self.others_unwinding.get() {
            me.unwinding.set(true);
        }
        me.unwinding.get()
    }

    /// Records whether the running thread is unwinding, before the thread is suspended.
    #[inline(always)]
    pub(super) fn note_unwinding(&self) {
        let unwinding = panicking();
        if unwinding {
            self.is_unwinding();
        }
        self.others_unwinding.set(unwinding);
    }
}

/// Unwinds the running thread with `payload`.
pub(crate) fn resume(payload: Payload) -> ! {
    with(|s| s.current().unwinding.set(true));
    resume_unwind(payload)
}
