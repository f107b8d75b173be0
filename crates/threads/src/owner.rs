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
/// A machine runs the programs of its users on cooperative threads, and only the machine knows what
/// each thread waits for. If a program parked or woke a thread, the program would break assumptions
/// of the machine. Therefore, on a core that [`Owner::run`] began, the functions of this crate that
/// start, suspend, wake or cancel threads panic. The machine uses its `Owner` instead.
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
    /// Makes the owner of the threads of all cores that the caller begins with [`run`](Self::run).
    ///
    /// # Safety
    ///
    /// The caller uses the owner only on these cores, and gives programs no access to the owner.
    /// Another owner may rely on being the only waker of its threads.
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

    /// Runs the main program of a machine. If the program overflows the stack of the OS thread, the
    /// report names the main program.
    pub fn run_main<R>(self, program: impl FnOnce() -> R) -> R {
        overflow::with_main(program)
    }

    /// Sets the description of the running thread's work, such as "process `a`", and returns the
    /// old description. The report of a stack overflow shows the description.
    ///
    /// On an OS thread that runs no core, the method does nothing.
    pub fn set_task(self, task: Option<String>) -> Option<String> {
        with(|s| {
            let old = s
                .is_running()
                .then(|| s.current().set_task(task.map(Into::into)));
            old.flatten().map(String::from)
        })
    }

    /// Runs `program` on an OS thread that runs no core. The functions that panic on a core of this
    /// owner also panic in `program`.
    pub fn run_without_core<R>(self, program: impl FnOnce() -> R) -> R {
        /// Restores the old value on drop.
        struct Before(bool);
        impl Drop for Before {
            fn drop(&mut self) {
                with(|s| s.is_owned.set(self.0));
            }
        }
        let _before = Before(with(|s| s.is_owned.replace(true)));
        program()
    }

    /// Does the same as [`crate::scope`](crate::scope()). Reports name the place `at`.
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

    /// Takes a turn as [`take_turn`](Self::take_turn) does. If the running thread takes a turn,
    /// calls `before` first.
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

    /// If another thread is ready and no threads take turns, [parks](Self::park) the running thread
    /// and returns true. Otherwise, in [`Idle::idle`], or on a cancelled core, returns false.
    #[track_caller]
    #[inline(always)]
    pub fn try_park(self, why: &dyn Display) -> bool {
        here().try_park(why)
    }

    /// Ends the park of `next`, parks the running thread, and continues `next` at once.
    ///
    /// If `next` is not parked, the call does the same as `next.unpark()` and then
    /// [`park`](Self::park).
    ///
    /// # Panics
    ///
    /// See [`crate::park`].
    #[track_caller]
    #[inline(always)]
    pub fn hand_over(self, next: Thread, why: &dyn Display) {
        here().hand_over((next.block, next.serial), why);
    }

    /// Ends the park of a thread of this core. If the thread is not parked, does nothing: unlike
    /// [`Thread::unpark`], this method does not end the thread's next park.
    ///
    /// Use this method for an event outside of the core that may concern the thread.
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

    /// Suspends the calling thread of a cancelled core until `done` returns true. The other threads
    /// of this core are unwound meanwhile. Use this method when other threads, perhaps of other
    /// cores, still borrow the calling thread's stack.
    ///
    /// The method calls `done` repeatedly. Call the method after a [`Cancelled`](crate::Cancelled)
    /// was caught, and never while the thread unwinds. Outside of [`run`](Self::run), the OS thread
    /// yields to other OS threads until `done` returns true.
    pub fn outlast(self, done: &mut dyn FnMut() -> bool) {
        with(|s| s.outlast(done));
    }

    /// Does the same as [`crate::cancel_all`].
    pub fn cancel_all(self) {
        with(|s| s.cancel(Cause::Cancelled));
    }
}
