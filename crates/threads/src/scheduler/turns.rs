//! The mode *rotating*: threads of a scope take turns in the order of a [`Rotation`].

use std::ptr;
use std::thread::panicking;

use super::{ROTATING, ROUNDS, Scheduler};
use crate::arch;
use crate::block::Block;
use crate::rotation::Rotation;
use crate::scope_state::ScopeState;

impl Scheduler {
    /// See [`Owner::take_turn_after`](crate::Owner::take_turn_after).
    ///
    /// # Safety
    ///
    /// The caller runs on a thread of this core, and `before` calls no function of this crate.
    #[inline(always)]
    pub(crate) unsafe fn take_turn_after(&self, before: impl FnOnce()) -> bool {
        // SAFETY: the caller runs on a cooperative thread, so `current` points to its control
        // block. Control blocks do not move until the run ends.
        let me = unsafe { &*self.current.get() };
        // SAFETY: the pointer is null or a block of the same rotation.
        match unsafe { me.turn.get().as_ref() } {
            Some(next) if !panicking() => {
                before();
                // SAFETY: `turn` is not null, so `me` is in a rotation of several threads, and
                // `next` is its next thread. Leaving the rotation clears `turn`.
                unsafe { self.turn(me, next) };
                true
            }
            _ => false,
        }
    }

    /// Continues `next`. Sets `current` before the switch, so that `next` need not set it.
    ///
    /// # Safety
    ///
    /// The core is rotating, `me` is the running thread, and `next` is the next thread, not `me`.
    #[inline(always)]
    unsafe fn turn(&self, me: &Block, next: &Block) {
        self.current.set(next);
        // SAFETY: `next` is suspended in its frame and in no queue, so only this turn continues it.
        unsafe {
            #[cfg(not(cellworks_sanitizer))]
            arch::turn(&me.frame, &next.frame);
            #[cfg(cellworks_sanitizer)]
            {
                let stacks = &self.run().blocks.sanitized;
                stacks.announced(next.frame.context(), || arch::turn(&me.frame, &next.frame));
            }
        }
    }

    /// Continues the next thread of the rotation. After the last turn of a round, lets the ready
    /// threads outside of the rotation run first.
    pub(super) fn turn_in_round(&self) {
        let me = self.current();
        let scope = self.scope_of_running();
        if !scope.rotation.ends_with(me) || self.mode.get() == ROTATING {
            // SAFETY: while rotating, `me` is in the rotation. By the condition, `me` is not the
            // only thread of the rotation.
            return unsafe { self.turn(me, &*me.ahead.get()) };
        }
        if scope.rotation.ready.get() == 0 {
            return;
        }
        self.stop_rotating(scope);
        // SAFETY: the next thread came out of the ready queue, so only this line continues it. The
        // frame of `me` is free, because `me` runs. Stacks of live threads are mapped.
        unsafe { self.switch(me.frame.place(), self.ready.pop()) };
    }

    /// Lets the threads of a rotation take turns. Returns true when a thread has left the rotation,
    /// or after one round if other threads are ready. Returns false if no thread can take turns.
    pub(crate) fn rotate(&self, rotation: &Rotation) -> bool {
        let Some(next) = rotation.next() else {
            return false;
        };
        self.end_turns();
        if self.mode.get() != 0 {
            return false;
        }
        let me = self.current();
        self.note_unwinding();
        let ready = self.ready.hide();
        rotation.ready.set(ready);
        let pauses = ready != 0 || rotation.ends_with(next);
        rotation.begin(pauses);
        self.mode
            .set(if pauses { ROTATING | ROUNDS } else { ROTATING });
        self.current.set(next);
        // SAFETY: `next` is suspended in its frame and in no queue, so only this line continues it.
        // `me` is in no queue until `stop_rotating` makes it ready.
        unsafe { self.switch_to_frame(&me.context, &next.frame) };
        self.current.set(me);
        true
    }

    /// If the running thread is in a rotation, removes it from the rotation.
    #[inline]
    pub(crate) fn end_turns(&self) {
        if self.is_rotating() {
            self.leave_rotation();
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn leave_rotation(&self) {
        let scope = self.scope_of_running();
        scope.rotation.remove(self.current());
        self.stop_rotating(scope);
    }

    /// Restores the ready queue, and adds the parent of the threads that take turns.
    fn stop_rotating(&self, scope: &ScopeState) {
        self.mode.set(0);
        self.ready.show(scope.rotation.ready.get());
        // SAFETY: the parent is in `rotate` whenever its threads take turns.
        self.ready
            .push(unsafe { (*scope.drainer.get()).context.get() });
    }

    /// Returns the scope of the running thread, which must not be the main thread.
    fn scope_of_running(&self) -> &ScopeState {
        // SAFETY: a scope outlives its threads.
        unsafe { &*ScopeState::of(self.current()) }
    }

    /// Returns whether another thread is ready.
    pub(crate) fn has_others(&self) -> bool {
        if self.is_rotating() {
            self.mode.get() == ROTATING || self.has_others_in_round()
        } else {
            !self.ready.is_empty()
        }
    }

    #[cold]
    fn has_others_in_round(&self) -> bool {
        let me = self.current();
        !ptr::eq(me.ahead.get(), me) || self.scope_of_running().rotation.ready.get() != 0
    }
}
