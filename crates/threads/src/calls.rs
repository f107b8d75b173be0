//! What programs call on a core of their own.
//!
//! On a core that has an [`Owner`](crate::Owner) the calls that start, suspend or wake threads are
//! refused: the owner alone knows what its threads wait for. What only looks is never refused.

use std::fmt::Display;
use std::panic::Location;
use std::thread::panicking;

use crate::config::{Config, Idle};
use crate::report::{Blocked, BlockedThread, Cause};
use crate::scheduler::{self, Scheduler, here, with};
use crate::scope::{self, Scope};
use crate::thread::Thread;

/// Makes the calling OS thread a core: `main` becomes its first cooperative thread, on the OS
/// thread's own stack.
///
/// Returns what `main` returns, after all threads have ended; [`scope`] sees to it that `main`
/// cannot leave any behind. `idle` is asked whenever no thread is ready;
/// [`NoOutside`](crate::NoOutside) if nothing outside can wake a thread. Stacks are kept in a pool
/// and given back at the end.
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
/// [`Blocked`] if the threads were cancelled, because `idle` said
/// [`Verdict::Stuck`](crate::Verdict::Stuck) or by [`cancel_all`]. All threads have been unwound by
/// then.
///
/// # Panics
///
/// With the panic of `main`, of a thread that it did not join, or of `idle`; such a panic wins over
/// the cancellation that it may have caused. If the OS thread runs a core already, or a program of
/// a machine. If the process has no memory left for an alternate signal stack.
#[track_caller]
pub fn run<R>(config: &Config, idle: &dyn Idle, main: impl FnOnce() -> R) -> Result<R, Blocked> {
    with(|s| s.refuse_if_owned("run"));
    scheduler::run(config, idle, main, false)
}

/// Runs `f`, in which threads can be spawned that borrow whatever outlives this call.
///
/// Like [`std::thread::scope`], but the threads are those of this core: nothing has to be `Send`,
/// and plain cells can be shared. Returns when `f` has returned and all threads spawned in it have
/// ended, also when it unwinds.
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
/// With the panic of `f`, else with the first panic of a thread that was not joined, else of a
/// destructor of a result that was not fetched. A panic wins over [`Cancelled`](crate::Cancelled).
/// Panics outside of [`run`], and in a program of a machine.
#[track_caller]
pub fn scope<'env, R>(f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R) -> R {
    with(|s| s.refuse_if_owned("scope"));
    scope::scope_at(Location::caller(), f)
}

/// Lets every other ready thread of this core run once, then goes on.
///
/// Returns at once if no other thread is ready. Outside of [`run`] it does nothing.
///
/// During unwinding it returns at once as well: destructors that yield would show other threads a
/// `std::thread::panicking()` that is not theirs. If the core has been cancelled it unwinds, as
/// every call that waits.
///
/// # Panics
///
/// In a program of a machine, which yields with `Spe::yield_now`.
#[track_caller]
#[inline(always)]
pub fn yield_now() {
    let s = here();
    s.refuse_if_owned("yield_now");
    s.yield_now();
}

/// If the running thread takes turns with others, lets each of them have its turn and says true;
/// else returns false, at once.
///
/// Threads of one scope take turns that have called [`begin_turns`], as long as their parent waits
/// for them: a turn is a switch without the ready queue, as it is known who is next. A thread that
/// waits, or starts or wakes another, takes none until it calls `begin_turns` again. A thread that
/// unwinds takes none.
///
/// Use [`yield_now`] unless a switch is what costs: it lets every ready thread of the core run, and
/// can be called anywhere. Turns are for a few threads of one scope that do the same work and switch
/// after some nanoseconds of it; the other threads of the core wait meanwhile.
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
/// In a program of a machine.
#[track_caller]
#[inline(always)]
pub fn take_turn() -> bool {
    let s = here();
    s.refuse_if_owned("take_turn");
    // SAFETY: nothing is called, and there is a running thread.
    s.is_running() && unsafe { s.take_turn_after(|| ()) }
}

/// As [`yield_now`], and from then on the running thread [takes turns](take_turn) with those of its
/// scope that do, too.
///
/// # Panics
///
/// In a program of a machine.
#[track_caller]
#[inline(always)]
pub fn begin_turns() {
    let s = here();
    s.refuse_if_owned("begin_turns");
    s.begin_turns();
}

/// Waits until another thread, or [`Idle::idle`], calls [`Thread::unpark`] on this thread. An
/// unpark that came before is used up instead, and the call returns at once.
///
/// `why` says what is waited for, as in "thread 'a' waits for *a word in its mailbox*"; it is
/// formatted only when a report is made. It can return without an unpark only if the core was
/// cancelled while this thread was unwinding, and a second unpark before the park is not counted;
/// so call it in a loop that looks at what is waited for, and, if it can run in a destructor, at
/// [`is_cancelled`].
///
/// During unwinding it waits as well. Other threads then see `std::thread::panicking()` say `true`.
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

/// The running thread.
///
/// # Panics
///
/// Outside of [`run`], and in a program of a machine.
#[track_caller]
#[inline]
pub fn current() -> Thread {
    let s = here();
    s.refuse_if_owned("current");
    Thread::running(s)
}

/// Cancels all threads of this core; does nothing if that has been done, or outside of [`run`].
///
/// Every thread that waits is unwound with [`Cancelled`](crate::Cancelled), youngest first, so that
/// children end before their parents. This begins when the calling thread waits or ends. Threads
/// that run or are ready, the calling one included, are unwound by their next call that waits or
/// yields; threads that have not begun drop their closure. [`run`] returns [`Blocked`] with the
/// threads that waited at the time of this call.
///
/// # Panics
///
/// In a program of a machine.
#[track_caller]
pub fn cancel_all() {
    with(|s| {
        s.refuse_if_owned("cancel_all");
        s.cancel(Cause::Cancelled);
    });
}

/// Whether another thread of this core wants to run: whether spinning would keep it from doing so.
#[inline]
pub fn others_ready() -> bool {
    with(Scheduler::has_others)
}

/// How many threads of this core have been spawned and have not ended, and the main thread; 0
/// outside of [`run`].
#[inline]
pub fn alive() -> usize {
    with(|s| s.live_count.get())
}

/// Whether this OS thread runs cooperative threads: whether this is inside of [`run`].
#[inline]
pub fn is_running() -> bool {
    with(Scheduler::is_running)
}

/// Whether the threads of this core have been cancelled.
#[inline]
pub fn is_cancelled() -> bool {
    with(Scheduler::is_cancelled)
}

/// Whether the running thread is unwinding; outside of [`run`], whether the OS thread is.
///
/// What `std::thread::panicking` says belongs to the OS thread: it is true for all threads of a
/// core while one of them waits in a destructor.
pub fn is_unwinding() -> bool {
    with(|s| match s.is_running() {
        true => s.is_unwinding(),
        false => panicking(),
    })
}

/// The threads of this core that wait at this moment, in order of creation; none outside of
/// [`run`].
pub fn blocked_threads() -> Vec<BlockedThread> {
    with(Scheduler::blocked_threads)
}

/// How many bytes of its stack the running thread has used at most, its closure included.
///
/// Finds the lowest byte that is not zero. A stack from the pool may have been used by other
/// threads before: the figure is the deepest use since it was mapped. Frames whose lowest bytes
/// were only written with zeros, or not at all, are missed. Costs a system call and up to a page of
/// reading. `None` for the main thread, whose stack is the OS thread's.
///
/// # Panics
///
/// Outside of [`run`].
pub fn stack_high_water_bytes() -> Option<usize> {
    with(|s| {
        let block = s.current();
        let ours = !block.stack.guard().is_empty();
        ours.then(|| block.stack.touched_bytes(block.top))
    })
}

/// How many bytes of its stack the running thread has not used: from this call's frame to the
/// guard. `None` for the main thread, whose stack is the OS thread's.
///
/// # Panics
///
/// Outside of [`run`].
pub fn free_stack_bytes() -> Option<usize> {
    with(|s| {
        let block = s.current();
        let here = 0_u8;
        let ours = !block.stack.guard().is_empty();
        ours.then(|| (&raw const here).addr() - block.stack.limit().addr())
    })
}
