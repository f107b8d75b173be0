//! Cores that belong to a scheduler on top of this one, which decides itself who runs when.

use std::fmt::Display;
use std::panic::Location;

use crate::config::{Config, Idle};
use crate::overflow;
use crate::report::{Blocked, Cause};
use crate::scheduler::{self, here, with};
use crate::scope::{self, Scope};
use crate::thread::Thread;

/// The right to start, suspend, wake and cancel the threads of cores that belong to a machine.
///
/// A machine runs programs that it has not written on cooperative threads, and what such a thread
/// waits for is known to the machine alone. Programs that parked a thread, or woke the thread of
/// another program, would break what the machine takes for granted. So on a core that was begun
/// with [`Owner::run`] the functions of this crate that do so panic, and the machine uses these
/// methods, which do what the functions of the same names do elsewhere.
///
/// ```
/// use cellworks_threads::{Config, NoOutside, Owner, yield_now};
///
/// // SAFETY: no code relies on who wakes a thread of this core.
/// let owner = unsafe { Owner::new() };
/// let program = || std::panic::catch_unwind(yield_now).is_err();
/// assert_eq!(owner.run(&Config::default(), &NoOutside, program), Ok(true));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Owner(());

impl Owner {
    /// The right to the threads of cores that the caller begins with [`run`](Self::run).
    ///
    /// # Safety
    ///
    /// It is used on those cores alone, and kept from programs: other owners may rely on it that
    /// nothing but themselves wakes their threads.
    pub const unsafe fn new() -> Self {
        Self(())
    }

    /// As [`crate::run`], for a core that belongs to this owner.
    ///
    /// # Errors
    ///
    /// As [`crate::run`].
    ///
    /// # Panics
    ///
    /// As [`crate::run`].
    pub fn run<R>(
        self,
        config: &Config,
        idle: &dyn Idle,
        main: impl FnOnce() -> R,
    ) -> Result<R, Blocked> {
        scheduler::run(config, idle, main, true)
    }

    /// Runs the main program of a machine. If it overflows the stack of the OS thread, the report
    /// names it and says what to do.
    pub fn run_main<R>(self, program: impl FnOnce() -> R) -> R {
        overflow::with_main(program)
    }

    /// Says what the running thread does from now on, such as "process `a`": if its stack
    /// overflows, the report says so beside the name of the thread. Returns what was said before.
    ///
    /// On an OS thread that is no core it does nothing.
    pub fn set_task(self, task: Option<String>) -> Option<String> {
        with(|s| {
            let old = s
                .is_running()
                .then(|| s.current().set_task(task.map(Into::into)));
            old.flatten().map(String::from)
        })
    }

    /// Runs `program` on an OS thread that is no core, and refuses there what is refused on a core
    /// of this owner: so that a program of the machine finds the same wherever it runs.
    pub fn run_without_core<R>(self, program: impl FnOnce() -> R) -> R {
        /// What was before, for when this is dropped.
        struct Before(bool);
        impl Drop for Before {
            fn drop(&mut self) {
                with(|s| s.is_owned.set(self.0));
            }
        }
        let _before = Before(with(|s| s.is_owned.replace(true)));
        program()
    }

    /// As [`crate::scope`](crate::scope()), for a caller that speaks for the place `at`: reports of
    /// blocked threads name it.
    ///
    /// # Panics
    ///
    /// As [`crate::scope`](crate::scope()).
    pub fn scope_at<'env, R>(
        self,
        at: &'static Location<'static>,
        f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
    ) -> R {
        scope::scope_at(at, f)
    }

    /// As [`crate::yield_now`].
    #[inline(always)]
    pub fn yield_now(self) {
        with(|s| s.yield_now());
    }

    /// As [`crate::take_turn`].
    #[inline(always)]
    pub fn take_turn(self) -> bool {
        let s = here();
        // SAFETY: nothing is called, and there is a running thread.
        s.is_running() && unsafe { s.take_turn_after(|| ()) }
    }

    /// As [`take_turn`](Self::take_turn), but calls `before` first, if there is a turn to take: so
    /// one question serves both.
    ///
    /// # Safety
    ///
    /// To be called inside of [`run`](Self::run). `before` calls nothing of this crate, not even
    /// through others: it could end what has just been found out.
    #[inline(always)]
    pub unsafe fn take_turn_after(self, before: impl FnOnce()) -> bool {
        // SAFETY: by the contract of this function.
        unsafe { here().take_turn_after(before) }
    }

    /// As [`crate::begin_turns`].
    #[inline(always)]
    pub fn begin_turns(self) {
        with(|s| s.begin_turns());
    }

    /// As [`crate::park`].
    ///
    /// # Panics
    ///
    /// As [`crate::park`].
    #[track_caller]
    #[inline(always)]
    pub fn park(self, why: &dyn Display) {
        here().park(why);
    }

    /// As [`park`](Self::park), if another thread is ready to run meanwhile and nothing else stands
    /// against it; else does nothing and says false, at once.
    ///
    /// For callers that do something else before they park when they are alone: look again, for
    /// instance.
    #[track_caller]
    #[inline(always)]
    pub fn try_park(self, why: &dyn Display) -> bool {
        here().try_park(why)
    }

    /// Ends the park of `next`, parks the running thread, and continues `next` at once, before
    /// threads that are ready.
    ///
    /// As `next.unpark()` and then [`park`](Self::park), but for that order, and in fewer steps. If
    /// `next` is not parked it is only unparked, and the running thread parks.
    ///
    /// # Panics
    ///
    /// As [`crate::park`].
    #[track_caller]
    #[inline(always)]
    pub fn hand_over(self, next: Thread, why: &dyn Display) {
        here().hand_over((next.block, next.serial), why);
    }

    /// Ends the park of a thread of this core if it is parked. Otherwise nothing happens: unlike
    /// [`Thread::unpark`], it does not end its next one.
    ///
    /// For something outside that may concern the thread: it looks whether it does, and parks again
    /// if not.
    #[inline]
    pub fn unpark_parked(self, thread: Thread) {
        here().unpark_parked(thread.block, thread.serial);
    }

    /// As [`crate::current`].
    ///
    /// # Panics
    ///
    /// Outside of [`run`](Self::run).
    #[inline]
    pub fn current(self) -> Thread {
        Thread::running(here())
    }

    /// Waits until `done` says true, on a core that was cancelled, before the calling thread is
    /// unwound: for a thread that has lent what is on its stack to others, perhaps of other cores,
    /// which have not ended yet. The other threads of this core are unwound meanwhile.
    ///
    /// `done` is asked again and again. Not to be called while the thread unwinds, but between the
    /// catch of a [`Cancelled`](crate::Cancelled) and its resumption. Outside of
    /// [`run`](Self::run) the OS thread lets others run until `done` says true.
    pub fn outlast(self, done: &mut dyn FnMut() -> bool) {
        with(|s| s.outlast(done));
    }

    /// As [`crate::cancel_all`].
    pub fn cancel_all(self) {
        with(|s| s.cancel(Cause::Cancelled));
    }
}
