//! Switching and waking: which thread goes on when another thread yields, waits or ends.

use std::cell::Cell;
use std::fmt::Display;
use std::panic::Location;
use std::ptr::{self, NonNull};
use std::thread::panicking;

use super::Scheduler;
use crate::arch::{self, Context, Frame};
use crate::block::{Block, State};

impl Scheduler {
    /// Lets all ready threads run before the calling thread. The ready queue must not be empty.
    #[inline(always)]
    pub(super) fn go_round(&self) {
        let (next, place) = self.ready.go_round();
        let me = self.current.get();
        // SAFETY: `place` is free, because the ready queue has room for all threads. Only this line
        // continues `next`, because each suspended thread is in the queue at most once.
        unsafe { self.switch(place, next) };
        self.current.set(me);
    }

    /// # Safety
    ///
    /// See [`arch::switch`].
    #[cfg(not(cellworks_sanitizer))]
    #[inline(always)]
    pub(super) unsafe fn switch(&self, save: *const Cell<Context>, to: Context) {
        // SAFETY: by the contract of this function.
        unsafe { arch::switch(save, to) }
    }

    /// # Safety
    ///
    /// See [`arch::switch`].
    #[cfg(cellworks_sanitizer)]
    pub(super) unsafe fn switch(&self, save: *const Cell<Context>, to: Context) {
        // SAFETY: by the contract of this function.
        unsafe {
            let stacks = &self.run().blocks.sanitized;
            stacks.announced(to, || arch::switch(save, to));
        }
    }

    /// # Safety
    ///
    /// See [`arch::switch_to_frame`].
    pub(super) unsafe fn switch_to_frame(&self, save: *const Cell<Context>, to: &Frame) {
        // SAFETY: by the contract of this function.
        unsafe {
            #[cfg(not(cellworks_sanitizer))]
            arch::switch_to_frame(save, to);
            #[cfg(cellworks_sanitizer)]
            {
                let stacks = &self.run().blocks.sanitized;
                stacks.announced(to.context(), || arch::switch_to_frame(save, to));
            }
        }
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
    pub(super) fn yield_slowly(&self) {
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
        // SAFETY: as in `wait`.
        let why = unsafe { std::mem::transmute::<&dyn Display, &'static dyn Display>(why) };
        me.why.set(Some(NonNull::from(why)));
        me.at.set(at);
        me.state.set(State::Parked);
        self.note_unwinding();
        // SAFETY: as in `go_round`: `next` came out of the ready queue.
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
        // SAFETY: as in `wait`.
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

    /// Returns the block if the thread was started in the present run of this core.
    #[inline(always)]
    fn of_this_run(&self, block: *const Block, serial: u64) -> Option<&Block> {
        // SAFETY: blocks stay in their places until the end of the run.
        self.is_of_this_run(serial).then(|| unsafe { &*block })
    }

    /// Returns the block if the thread belongs to the present run of this core and is parked.
    #[inline(always)]
    fn parked(&self, block: *const Block, serial: u64) -> Option<&Block> {
        self.of_this_run(block, serial)
            .filter(|block| block.serial.get() == serial && block.state.get() == State::Parked)
    }

    /// See [`Thread::try_unpark`](crate::Thread::try_unpark).
    #[inline(always)]
    pub(crate) fn try_unpark(&self, block: *const Block, serial: u64) -> bool {
        let block = self.of_this_run(block, serial);
        if let Some(block) = block {
            self.unpark(block, serial);
        }
        block.is_some()
    }

    /// Ends the park of the thread with this serial number. If the thread is not parked, ends its
    /// next park instead. If the thread has ended, does nothing.
    #[inline(always)]
    fn unpark(&self, block: &Block, serial: u64) {
        if block.serial.get() != serial {
            return;
        }
        if block.state.get() == State::Parked {
            self.wake(block);
        } else {
            block.token.set(true);
        }
    }

    #[inline(always)]
    pub(crate) fn wake(&self, block: &Block) {
        block.state.set(State::Ready);
        if self.mode.get() == 0 {
            self.ready.push(block.context.get());
        } else {
            self.wake_later(block);
        }
    }

    /// Wakes a thread in a mode other than normal. On a cancelled core, does nothing, because a
    /// cancelled core continues all of its threads.
    #[cold]
    fn wake_later(&self, block: &Block) {
        if self.is_cancelled() {
            return;
        }
        if self.is_rotating() {
            self.leave_rotation();
            return self.ready.push(block.context.get());
        }
        let woken = &self.run().woken;
        let (first, last) = woken.get();
        block.next.set(ptr::null());
        // SAFETY: the pointer is null or a block of this run.
        match unsafe { last.as_ref() } {
            Some(last) => {
                last.next.set(block);
                woken.set((first, block));
            }
            None => woken.set((block, block)),
        }
    }

    /// See [`Owner::unpark_parked`](crate::Owner::unpark_parked).
    #[inline]
    pub(crate) fn unpark_parked(&self, block: *const Block, serial: u64) {
        if let Some(block) = self.parked(block, serial) {
            self.wake(block);
        }
    }

    /// Returns the thread to continue when the running thread waits or has ended. `waiting` is the
    /// running thread, or `None` if it has ended. Returns `None` if the running thread can go on.
    pub(super) fn next(&self, waiting: Option<&Block>) -> Option<Context> {
        loop {
            // This check is the first, because the running thread is in no queue, so no other code
            // would continue it.
            if waiting.is_some_and(|me| me.state.get() == State::Ready) {
                return None;
            }
            if !self.ready.is_empty() {
                return Some(self.ready.pop());
            }
            if self.is_cancelled() {
                let interrupted = self.run().interrupted.borrow_mut().pop_front();
                // The condition of a thread in `outlast` may be true by now.
                let outlasting = || self.next_that_outlasts();
                return interrupted.or_else(outlasting).or_else(|| {
                    let youngest = self.live.last().expect("the main thread is alive");
                    let continues_itself = waiting.is_some_and(|me| ptr::eq(me, youngest));
                    (!continues_itself).then(|| {
                        self.current.set(youngest);
                        Self::suspended_at(youngest)
                    })
                });
            }
            self.ask_outside();
        }
    }
}
