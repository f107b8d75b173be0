//! Waits: the running thread is suspended until another thread wakes it.

use std::fmt::Display;
use std::panic::Location;
use std::ptr::NonNull;

use super::Scheduler;
use crate::block::{Block, State};

impl Scheduler {
    #[track_caller]
    #[inline(always)]
    pub(crate) fn park(&self, why: &dyn Display) {
        if !self.try_park(why) {
            self.park_slowly(why, Location::caller());
        }
    }

    #[track_caller]
    #[inline(always)]
    pub(crate) fn try_park(&self, why: &dyn Display) -> bool {
        let at = Location::caller();
        if self.ready.is_empty() {
            return false;
        }
        debug_assert_eq!(
            self.mode.get(),
            0,
            "the ring looks empty in every other mode"
        );
        // SAFETY: a thread is ready, so this call is inside of `run`. Blocks are not moved.
        let me = unsafe { &*self.current.get() };
        if me.token.get() {
            me.token.set(false);
        } else {
            self.give_way(me, why, at);
        }
        true
    }

    #[inline(never)]
    fn park_slowly(&self, why: &dyn Display, at: &'static Location<'static>) {
        // Before the token, which belongs to the thread on whose stack the hook runs.
        self.assert_not_frozen("park");
        let me = self.current();
        if me.token.replace(false) {
            return;
        }
        self.wait_cancellably(State::Parked, why, at);
        me.token.set(false);
    }

    /// Parks the running thread and continues the first ready thread. The mode must be normal.
    #[inline(always)]
    fn give_way(&self, me: &Block, why: &dyn Display, at: &'static Location<'static>) {
        // The pop comes first, so that the load of the stack pointer of `next` begins early: all
        // code after the switch waits for this load.
        let next = self.ready.pop();
        // SAFETY: only the lifetime changes. `why` is used only while `state` is a waiting state.
        let why = unsafe { std::mem::transmute::<&dyn Display, &'static dyn Display>(why) };
        me.why.set(Some(NonNull::from(why)));
        me.at.set(at);
        me.state.set(State::Parked);
        self.note_unwinding();
        // SAFETY: `next` came out of the ready queue, so only this line continues it. Stacks of
        // live threads are mapped.
        unsafe { self.switch(&me.context, next) };
        self.current.set(me);
        me.state.set(State::Ready);
        self.unwind_if_cancelled();
        me.token.set(false);
    }

    /// Parks the running thread and continues the parked thread `next`. The mode must be normal.
    #[inline(always)]
    fn exchange(
        &self,
        me: &Block,
        next: &Block,
        why: &dyn Display,
        at: &'static Location<'static>,
    ) {
        // SAFETY: only the lifetime changes. `why` is used only while `state` is a waiting state.
        let why = unsafe { std::mem::transmute::<&dyn Display, &'static dyn Display>(why) };
        me.why.set(Some(NonNull::from(why)));
        me.at.set(at);
        me.state.set(State::Parked);
        self.note_unwinding();
        next.state.set(State::Ready);
        // SAFETY: `next` was parked, so it is suspended and in no queue, and only this line
        // continues it. Contexts of live threads lie on mapped stacks.
        unsafe { self.switch(&me.context, next.context.get()) };
        self.current.set(me);
        me.state.set(State::Ready);
        self.unwind_if_cancelled();
        me.token.set(false);
    }

    /// Suspends the running thread until the thread is woken or the core is cancelled.
    pub(crate) fn wait(&self, state: State, why: &dyn Display, at: &'static Location<'static>) {
        self.end_turns();
        let me = self.current();
        // SAFETY: only the lifetime changes. `why` is used only while `state` is a waiting state.
        let why = unsafe { std::mem::transmute::<&dyn Display, &'static dyn Display>(why) };
        me.why.set(Some(NonNull::from(why)));
        me.at.set(at);
        me.state.set(state);
        self.note_unwinding();
        if let Some(next) = self.next(Some(me)) {
            // SAFETY: `next` came out of the ready queue, or is a suspended thread of a cancelled
            // core. So only this line continues `next`. Stacks of live threads are mapped.
            unsafe { self.switch(&me.context, next) };
            self.current.set(me);
        }
        me.state.set(State::Ready);
    }

    /// Does the same as [`wait`](Self::wait), but on a cancelled core unwinds the running thread,
    /// or returns at once if the thread is already unwinding.
    pub(crate) fn wait_cancellably(
        &self,
        state: State,
        why: &dyn Display,
        at: &'static Location<'static>,
    ) {
        self.assert_not_frozen("park");
        self.unwind_if_cancelled();
        if !self.is_cancelled() {
            self.wait(state, why, at);
            self.unwind_if_cancelled();
        }
    }

    /// See [`Owner::hand_over`](crate::Owner::hand_over).
    #[track_caller]
    #[inline(always)]
    pub(crate) fn hand_over(&self, (block, serial): (*const Block, u64), why: &dyn Display) {
        let at = Location::caller();
        let me = self.current();
        match self.parked(block, serial) {
            Some(next) if self.mode.get() == 0 && !me.token.get() => {
                self.exchange(me, next, why, at);
            }
            _ => self.unpark_and_park((block, serial), why),
        }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn unpark_and_park(&self, next: (*const Block, u64), why: &dyn Display) {
        self.try_unpark(next.0, next.1);
        self.park(why);
    }
}
