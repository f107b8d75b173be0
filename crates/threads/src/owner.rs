//! The owner of a core: a machine, which schedules the threads of its cores itself.

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
/// On a core that [`Owner::run`] began, the free functions of this crate for these operations
/// panic. Otherwise a program could wake a thread that the machine expects to wait.
///
/// ```
/// use cellworks_threads::{Config, NoOutside, Owner, yield_now};
///
/// // SAFETY: no code relies on which other code wakes a thread of this core.
/// let owner = unsafe { Owner::new() };
/// let program = || std::panic::catch_unwind(yield_now).is_err();
/// assert_eq!(owner.run(&Config::default(), &NoOutside, program), Ok(true));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Owner(());

impl Owner {
    /// Makes an owner for the cores that the caller begins with [`run`](Self::run).
    ///
    /// # Safety
    ///
    /// The caller uses the owner only on these cores, and gives programs no access to the owner.
    /// The owner of another core may rely on being the only waker of its threads.
    pub const unsafe fn new() -> Self {
        Self(())
    }

    /// Runs a core that belongs to this owner, as [`crate::run`] does.
    ///
    /// # Errors
    ///
    /// See [`crate::run`].
    ///
    /// # Panics
    ///
    /// See [`crate::run`].
    pub fn run<R>(
        self,
        config: &Config,
        idle: &dyn Idle,
        main: impl FnOnce() -> R,
    ) -> Result<R, Blocked> {
        scheduler::run(config, idle, main, true)
    }

    /// Runs the main program of a machine, so that reports of stack overflows name the main
    /// program.
    pub fn run_main<R>(self, program: impl FnOnce() -> R) -> R {
        overflow::with_main(program)
    }

    /// Sets the description of the running thread's work, such as "process `a`", which the report
    /// of a stack overflow shows. Returns the old description. Outside of a core, does nothing.
    pub fn set_task(self, task: Option<String>) -> Option<String> {
        with(|s| {
            let old = s
                .is_running()
                .then(|| s.current().set_task(task.map(Into::into)));
            old.flatten().map(String::from)
        })
    }

    /// Runs `program` on an OS thread without a core. Functions that panic on a core with an owner
    /// also panic in `program`.
    pub fn run_without_core<R>(self, program: impl FnOnce() -> R) -> R {
        struct Before(bool);
        impl Drop for Before {
            fn drop(&mut self) {
                with(|s| s.is_owned.set(self.0));
            }
        }
        let _before = Before(with(|s| s.is_owned.replace(true)));
        program()
    }

    /// Does the same as [`crate::scope`](crate::scope()). Reports show the location `at`.
    ///
    /// # Panics
    ///
    /// See [`crate::scope`](crate::scope()).
    pub fn scope_at<'env, R>(
        self,
        at: &'static Location<'static>,
        f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
    ) -> R {
        scope::scope_at(at, f)
    }

    /// Does the same as [`crate::yield_now`].
    #[inline(always)]
    pub fn yield_now(self) {
        with(|s| s.yield_now());
    }

    /// Does the same as [`crate::take_turn`].
    #[inline(always)]
    pub fn take_turn(self) -> bool {
        let s = here();
        // SAFETY: the closure calls nothing, and a thread is running.
        s.is_running() && unsafe { s.take_turn_after(|| ()) }
    }

    /// Does the same as [`take_turn`](Self::take_turn), but calls `before` before a switch.
    ///
    /// # Safety
    ///
    /// The caller is inside of [`run`](Self::run). `before` calls no function of this crate, not
    /// even indirectly, because such a call could end the turns.
    #[inline(always)]
    pub unsafe fn take_turn_after(self, before: impl FnOnce()) -> bool {
        // SAFETY: by the contract of this function.
        unsafe { here().take_turn_after(before) }
    }

    /// Does the same as [`crate::begin_turns`].
    #[inline(always)]
    pub fn begin_turns(self) {
        with(|s| s.begin_turns());
    }

    /// Does the same as [`crate::park`].
    ///
    /// # Panics
    ///
    /// See [`crate::park`].
    #[track_caller]
    #[inline(always)]
    pub fn park(self, why: &dyn Display) {
        here().park(why);
    }

    /// [Parks](Self::park) the running thread and returns true. Returns false at once if no other
    /// thread is ready, if threads take turns, in [`Idle::idle`], and on a cancelled core.
    #[track_caller]
    #[inline(always)]
    pub fn try_park(self, why: &dyn Display) -> bool {
        here().try_park(why)
    }

    /// Ends the park of `next`, parks the running thread, and continues `next` at once. If `next`
    /// is not parked, unparks `next` and then [parks](Self::park) the running thread.
    ///
    /// # Panics
    ///
    /// See [`crate::park`].
    #[track_caller]
    #[inline(always)]
    pub fn hand_over(self, next: Thread, why: &dyn Display) {
        here().hand_over((next.block, next.serial), why);
    }

    /// Ends the park of a thread of this core. Unlike [`Thread::unpark`], does nothing if the
    /// thread is not parked. Use this method for an event that does not always concern the thread.
    #[inline]
    pub fn unpark_parked(self, thread: Thread) {
        here().unpark_parked(thread.block, thread.serial);
    }

    /// Does the same as [`crate::current`].
    ///
    /// # Panics
    ///
    /// Panics outside of [`run`](Self::run).
    #[inline]
    pub fn current(self) -> Thread {
        Thread::running(here())
    }

    /// Suspends the calling thread of a cancelled core until `done` returns true, while the core
    /// unwinds its other threads. Use this method while other threads borrow the calling thread's
    /// stack.
    ///
    /// Call this method after a [`Cancelled`](crate::Cancelled) was caught, and never while the
    /// thread unwinds. Outside of [`run`](Self::run), yields the OS thread instead.
    pub fn outlast(self, done: &mut dyn FnMut() -> bool) {
        with(|s| s.outlast(done));
    }

    /// Does the same as [`crate::cancel_all`].
    pub fn cancel_all(self) {
        with(|s| s.cancel(Cause::Cancelled));
    }
}
