//! Threads of a scope that take turns among themselves: the mode *rotating*. See [`Rotation`] for
//! the order.

use std::ptr;
use std::thread::panicking;

use super::{ROTATING, ROUNDS, Scheduler, with};
use crate::arch;
use crate::block::{Block, State};
use crate::rotation::Rotation;
use crate::scope_state::ScopeState;

impl Scheduler {
    /// See [`Owner::take_turn_after`](crate::Owner::take_turn_after).
    ///
    /// # Safety
    ///
    /// There is a running thread, and `before` calls nothing of this crate.
    #[inline(always)]
    pub(crate) unsafe fn take_turn_after(&self, before: impl FnOnce()) -> bool {
        // SAFETY: there is a running thread, whose block stays in its place until the end of the
        // run.
        let me = unsafe { &*self.current.get() };
        // SAFETY: null or a block of the same rotation.
        match unsafe { me.turn.get().as_ref() } {
            Some(next) if !panicking() => {
                before();
                // SAFETY: `turn` is not null only if the thread is in a rotation, and then it is
                // the next thread. Everything that ends the mode *rotating* takes the running
                // thread out of the rotation. `next` is another thread, because a rotation of one
                // thread pauses at it.
                unsafe { self.turn(me, next) };
                true
            }
            _ => false,
        }
    }

    /// See [`crate::begin_turns`].
    #[inline(always)]
    pub(crate) fn begin_turns(&self) {
        // One branch checks both, because each branch counts when data is in a cache.
        if self.ready.len() | usize::from(self.mode.get()) != 0 {
            yield_to_rotation();
        }
    }

    /// Lets the next thread of the rotation go on.
    ///
    /// The thread that gives up its turn sets `current` to the next one. So that takes one store,
    /// and none in the frame of a thread.
    ///
    /// # Safety
    ///
    /// `me` is the running thread, the core is rotating, and `next` is the next thread of the
    /// rotation and not `me`.
    #[inline(always)]
    unsafe fn turn(&self, me: &Block, next: &Block) {
        self.current.set(next);
        // SAFETY: `next` is suspended in its frame and in no queue, so it is continued only here.
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

    /// As [`turn`](Self::turn), if other threads may be ready too. These run at the end of the
    /// round.
    pub(super) fn turn_in_round(&self) {
        let me = self.current();
        let scope = self.scope_of_running();
        if !scope.rotation.ends_with(me) || self.mode.get() == ROTATING {
            // SAFETY: while rotating the running thread is in the rotation, which has at least two
            // threads here.
            return unsafe { self.turn(me, &*me.ahead.get()) };
        }
        if scope.rotation.ready.get() == 0 {
            return;
        }
        self.stop_rotating(scope);
        // SAFETY: as in `go_round`.
        unsafe { self.switch(me.frame.place(), self.ready.pop()) };
    }

    /// Lets the threads of a rotation take turns, until one of them does something else, or other
    /// threads are ready at the end of a round. Returns false at once if the rotation is empty or
    /// the core is cancelled.
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
        self.mode.set(match pauses {
            true => ROTATING | ROUNDS,
            false => ROTATING,
        });
        self.current.set(next);
        // SAFETY: as in `turn`. `me` is in no queue, and `stop_rotating` puts it into the ready
        // queue once.
        unsafe { self.switch_to_frame(&me.context, &next.frame) };
        self.current.set(me);
        true
    }

    /// Puts the running thread into the rotation of its scope and suspends it. Returns false at
    /// once if its parent does not wait for the scope to end. At least one thread is ready.
    pub(super) fn join_rotation(&self) -> bool {
        let me = self.current();
        // SAFETY: null or the scope of a thread, which outlives it.
        let Some(scope) = (unsafe { ScopeState::of(me).as_ref() }) else {
            return false;
        };
        // SAFETY: null or a thread that is in `drain`.
        let Some(parent) = (unsafe { scope.drainer.get().as_ref() }) else {
            return false;
        };
        scope.rotation.push(me);
        // Otherwise the parent is in the ready queue already.
        if parent.state.get() == State::Joining {
            self.wake(parent);
        }
        // SAFETY: as in `go_round`.
        unsafe { self.switch(me.frame.place(), self.ready.pop()) };
        true
    }

    /// If the running thread is in a rotation, takes it out.
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

    /// Restores the ready queue, and puts the parent into it for the threads that are in the
    /// rotation.
    fn stop_rotating(&self, scope: &ScopeState) {
        self.mode.set(0);
        self.ready.show(scope.rotation.ready.get());
        // SAFETY: the parent is in `rotate`, as it is whenever its threads take turns.
        self.ready
            .push(unsafe { (*scope.drainer.get()).context.get() });
    }

    /// The scope of the running thread, which is not the main one.
    fn scope_of_running(&self) -> &ScopeState {
        // SAFETY: a scope outlives its threads.
        unsafe { &*ScopeState::of(self.current()) }
    }

    pub(super) fn is_rotating(&self) -> bool {
        self.mode.get() & ROTATING != 0
    }

    /// Whether another thread than the running one is ready.
    pub(crate) fn has_others(&self) -> bool {
        match self.is_rotating() {
            true => self.mode.get() == ROTATING || self.has_others_in_round(),
            false => !self.ready.is_empty(),
        }
    }

    #[cold]
    fn has_others_in_round(&self) -> bool {
        let me = self.current();
        !ptr::eq(me.ahead.get(), me) || self.scope_of_running().rotation.ready.get() != 0
    }
}

/// It gets the address of the scheduler itself: as an argument, callers that often take turns would
/// keep it in their frames.
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
