//! The public functions of this crate. Functions that start, suspend or wake threads panic on a
//! core that has an [`Owner`](crate::Owner).

use std::fmt::Display;
use std::panic::Location;
use std::thread::panicking;

use crate::config::{Config, Idle};
use crate::report::{Blocked, BlockedThread, Cause};
use crate::scheduler::{self, Scheduler, here, with};
use crate::scope::{self, Scope};
use crate::thread::Thread;

/// Makes the calling OS thread a core, and runs `main` as its first cooperative thread, on the OS
/// thread's own stack. Returns the result of `main` after all threads of the core have ended.
///
/// The core calls `idle` whenever no thread is ready. If no event outside of the core can wake a
/// thread, pass [`NoOutside`](crate::NoOutside).
///
/// ```
/// use cellworks_threads::{Config, NoOutside, run, scope, yield_now};
///
/// let sum = run(&Config::default(), &NoOutside, || {
///     scope(|s| {
///         let threads: Vec<_> = (0..3)
///             .map(|i| s.spawn(move || { yield_now(); i }))
///             .collect();
///         threads.into_iter().map(|t| t.join().unwrap()).sum::<i32>()
///     })
/// });
/// assert_eq!(sum, Ok(3));
/// ```
///
/// # Errors
///
/// Returns [`Blocked`] if `idle` returned [`Verdict::Stuck`](crate::Verdict::Stuck), or if
/// [`cancel_all`] was called. All threads have been unwound by then.
///
/// # Panics
///
/// Passes on a panic of `main`, of a thread that was not joined, or of `idle`. Panics if the OS
/// thread already runs a core or a program of a machine, or if `mmap` fails.
#[track_caller]
pub fn run<R>(config: &Config, idle: &dyn Idle, main: impl FnOnce() -> R) -> Result<R, Blocked> {
    with(|s| s.refuse_if_owned("run"));
    scheduler::run(config, idle, main, false)
}

/// Runs `f`, which can spawn threads that borrow values from outside of this call. Returns, or
/// unwinds, when `f` and all threads of the scope have ended.
///
/// Unlike in [`std::thread::scope`], values need not be `Send`, and threads can share plain cells.
///
/// ```
/// use std::cell::Cell;
/// # use cellworks_threads::{Config, NoOutside, run, scope, yield_now};
/// # run(&Config::default(), &NoOutside, || {
/// let visits = Cell::new(0);
/// scope(|s| {
///     for _ in 0..3 {
///         s.spawn(|| {
///             visits.set(visits.get() + 1);
///             yield_now();
///             visits.set(visits.get() + 1);
///         });
///     }
/// });
/// assert_eq!(visits.get(), 6);
/// # }).unwrap();
/// ```
///
/// # Panics
///
/// Passes on the panic of `f`. If `f` did not panic, passes on the first panic of a thread that was
/// not joined, or of the destructor of a result that was not fetched. A panic takes precedence over
/// [`Cancelled`](crate::Cancelled). Panics outside of [`run`], and in a program of a machine.
#[track_caller]
pub fn scope<'env, R>(f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R) -> R {
    with(|s| s.refuse_if_owned("scope"));
    scope::scope_at(Location::caller(), f)
}

/// Lets every other ready thread of this core run once, and then continues the calling thread. Does
/// nothing if no other thread is ready, or outside of [`run`].
///
/// On a cancelled core, unwinds the calling thread. If this thread is already unwinding, returns at
/// once, because otherwise `std::thread::panicking()` would return true in other threads.
///
/// # Panics
///
/// Panics in a program of a machine: use `Spe::yield_now` there.
#[track_caller]
#[inline(always)]
pub fn yield_now() {
    let s = here();
    s.refuse_if_owned("yield_now");
    s.yield_now();
}

/// Lets each other thread that takes turns run once, and returns true. Returns false at once if the
/// running thread does not take turns, or if other ready threads must run first.
///
/// The threads of one scope that have called [`begin_turns`] take turns while the caller of
/// [`scope()`] waits for the end of the scope. A turn is faster than [`yield_now`]. A thread that
/// waits, unwinds, or starts or wakes another thread must call `begin_turns` again.
///
/// Use turns for a few threads of one scope that do the same work and switch after some nanoseconds
/// of work. Other threads of the core run only after each of these threads had a turn.
///
/// ```
/// use cellworks_threads::{Config, NoOutside, begin_turns, run, scope, take_turn};
///
/// run(&Config::default(), &NoOutside, || {
///     scope(|s| {
///         for _ in 0..2 {
///             s.spawn(|| {
///                 for _ in 0..1_000 {
///                     if !take_turn() {
///                         begin_turns();
///                     }
///                 }
///             });
///         }
///     });
/// }).unwrap();
/// ```
///
/// # Panics
///
/// Panics in a program of a machine.
#[track_caller]
#[inline(always)]
pub fn take_turn() -> bool {
    let s = here();
    s.refuse_if_owned("take_turn");
    // SAFETY: the closure calls nothing, and a thread is running.
    s.is_running() && unsafe { s.take_turn_after(|| ()) }
}

/// Yields as [`yield_now`] does. Afterwards, the running thread [takes turns](take_turn) with other
/// threads of its scope.
///
/// # Panics
///
/// Panics in a program of a machine.
#[track_caller]
#[inline(always)]
pub fn begin_turns() {
    let s = here();
    s.refuse_if_owned("begin_turns");
    s.begin_turns();
}

/// Waits until another thread, or [`Idle::idle`], calls [`Thread::unpark`] on this thread. If this
/// thread was already unparked since its last park, returns at once.
///
/// `why` is shown in reports, as in "thread 'a' waits for *a word in its mailbox*".
///
/// On a cancelled core, a park during unwinding returns without an unpark. Therefore call `park` in
/// a loop that checks the condition, and also [`is_cancelled`] if the loop can run in a destructor.
///
/// If the core is not cancelled, a park during unwinding waits. During this wait
/// `std::thread::panicking()` returns true in all threads of the core.
///
/// # Panics
///
/// Unwinds with [`Cancelled`](crate::Cancelled) if the core has been cancelled. Panics outside of
/// [`run`], inside of [`Idle::idle`], and in a program of a machine.
#[track_caller]
#[inline(always)]
pub fn park(why: &dyn Display) {
    let s = here();
    s.refuse_if_owned("park");
    s.park(why);
}

/// Returns the running thread.
///
/// # Panics
///
/// Panics outside of [`run`], and in a program of a machine.
#[track_caller]
#[inline]
pub fn current() -> Thread {
    let s = here();
    s.refuse_if_owned("current");
    Thread::running(s)
}

/// Cancels all threads of this core. On a cancelled core, or outside of [`run`], does nothing.
///
/// The waiting threads are unwound with [`Cancelled`](crate::Cancelled), the youngest first, when
/// the calling thread waits or ends. The calling thread and each ready thread are unwound by their
/// next call that waits or yields. A thread that has not begun drops its closure. [`run`] returns
/// [`Blocked`] with the threads that waited at the time of this call.
///
/// # Panics
///
/// Panics in a program of a machine.
#[track_caller]
pub fn cancel_all() {
    with(|s| {
        s.refuse_if_owned("cancel_all");
        s.cancel(Cause::Cancelled);
    });
}

/// Returns whether another thread of this core is ready, so that the calling thread should yield.
#[inline]
pub fn others_ready() -> bool {
    with(Scheduler::has_others)
}

/// Returns the number of threads of this core that have not ended. 0 outside of [`run`].
#[inline]
pub fn alive() -> usize {
    with(|s| s.live_count.get())
}

/// Returns whether the caller is inside of [`run`].
#[inline]
pub fn is_running() -> bool {
    with(Scheduler::is_running)
}

/// Returns whether the threads of this core have been cancelled.
#[inline]
pub fn is_cancelled() -> bool {
    with(Scheduler::is_cancelled)
}

/// Returns whether the running thread, or the OS thread outside of [`run`], is unwinding.
///
/// Unlike this function, `std::thread::panicking` also returns true if another thread of the core
/// waits during its unwinding.
pub fn is_unwinding() -> bool {
    with(|s| {
        if s.is_running() {
            s.is_unwinding()
        } else {
            panicking()
        }
    })
}

/// Returns the waiting threads of this core, in the order of creation. Empty outside of [`run`].
pub fn blocked_threads() -> Vec<BlockedThread> {
    with(Scheduler::blocked_threads)
}

/// Returns the largest number of bytes of stack that the running thread has used so far, including
/// the closure. `None` for the main thread, which runs on the stack of the OS thread.
///
/// The function searches for the lowest nonzero byte, which an earlier thread on the same stack may
/// have written. The result is too low if the lowest bytes in use are zero.
///
/// # Panics
///
/// Panics outside of [`run`].
pub fn stack_high_water_bytes() -> Option<usize> {
    with(|s| {
        let block = s.current();
        let ours = !block.stack.guard().is_empty();
        ours.then(|| block.stack.touched_bytes(block.top))
    })
}

/// Returns the number of bytes of stack that the running thread has left above the guard. `None`
/// for the main thread, which runs on the stack of the OS thread.
///
/// # Panics
///
/// Panics outside of [`run`].
pub fn free_stack_bytes() -> Option<usize> {
    with(|s| {
        let block = s.current();
        let here = 0_u8;
        let ours = !block.stack.guard().is_empty();
        ours.then(|| (&raw const here).addr() - block.stack.limit().addr())
    })
}
