//! Owners: cores that belong to another scheduler on top of this one, which decides itself which
//! thread runs when.

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
/// such a thread waits for. A program that parked a thread, or woke the thread of another program,
/// would break assumptions of the machine. So on a core that was begun with [`Owner::run`] the
/// functions of this crate that do so panic. The machine uses the methods of its `Owner`, which do
/// the same as the functions of the same names.
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
    /// An owner of the threads of cores that the caller begins with [`run`](Self::run).
    ///
    /// # Safety
    ///
    /// It is used only on those cores, and programs have no access to it: other owners may rely on
    /// being the only ones that wake their threads.
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
    /// names the main program and says what to do.
    pub fn run_main<R>(self, program: impl FnOnce() -> R) -> R {
        overflow::with_main(program)
    }

    /// Sets the description of what the running thread does, such as "process `a`", and returns the
    /// one before. If the stack of the thread overflows, the report contains the description beside
    /// the name of the thread.
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

    /// Runs `program` on an OS thread that is no core, and refuses the same calls as on a core of
    /// this owner: so a program of the machine behaves the same wherever it runs.
    pub fn run_without_core<R>(self, program: impl FnOnce() -> R) -> R {
        /// Restores the value before when it is dropped.
        struct Before(bool);
        impl Drop for Before {
            fn drop(&mut self) {
                with(|s| s.is_owned.set(self.0));
            }
        }
        let _before = Before(with(|s| s.is_owned.replace(true)));
        program()
    }

    /// As [`crate::scope`](crate::scope()), with `at` as the place that reports of blocked threads
    /// name.
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

    /// As [`take_turn`](Self::take_turn), but calls `before` first if there is a turn to take. So
    /// one check serves both.
    ///
    /// # Safety
    ///
    /// It is called inside of [`run`](Self::run). `before` calls nothing of this crate, not even
    /// indirectly: that could make the check invalid.
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

    /// As [`park`](Self::park), if another thread is ready to run meanwhile and the core is not in
    /// a special mode. Otherwise it does nothing and returns false at once.
    ///
    /// For callers that do something else before they park if no other thread is ready, such as
    /// polling.
    #[track_caller]
    #[inline(always)]
    pub fn try_park(self, why: &dyn Display) -> bool {
        here().try_park(why)
    }

    /// Ends the park of `next`, parks the running thread, and continues `next` at once, before
    /// threads that are ready.
    ///
    /// It is `next.unpark()` and then [`park`](Self::park) in fewer steps, and `next` runs first.
    /// If `next` is not parked it is only unparked, and the running thread parks.
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
    /// [`Thread::unpark`], this does not end the thread's next park.
    ///
    /// It is for an event outside that may concern the thread. The thread checks that, and parks
    /// again if it does not.
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

    /// Waits on a cancelled core until `done` returns true, before the calling thread is unwound.
    /// It is for a thread whose stack is still borrowed by other threads, perhaps of other cores.
    /// The other threads of this core are unwound meanwhile.
    ///
    /// `done` is called repeatedly. Call this method after a [`Cancelled`](crate::Cancelled) was
    /// caught and before it is resumed, never while the thread unwinds. Outside of
    /// [`run`](Self::run) the OS thread yields to other OS threads until `done` returns true.
    pub fn outlast(self, done: &mut dyn FnMut() -> bool) {
        with(|s| s.outlast(done));
    }

    /// As [`crate::cancel_all`].
    pub fn cancel_all(self) {
        with(|s| s.cancel(Cause::Cancelled));
    }
}
