//! Waiting, waking, and waiting until a time, for SPEs and the PPE.
//!
//! | to | a thread calls |
//! |---|---|
//! | wait until a condition is true | [`Wait::wait_until`], [`Wake::wait_until_deadline`] |
//! | make all threads of a processor check their conditions | [`Wake::notify`] |
//! | wait until another thread wakes this one | [`Wake::sleeper`], [`Wake::wait_until_woken`] |
//! | wake one thread | [`Wake::wake`] |
//! | wake one thread without a reference to a processor | [`Wake::remote_waker`] |
//! | read the time, and whether the run was cancelled | [`Wake::now`], [`Wake::is_cancelled`] |
//! | let other OS threads take part | [`PpeCore::outside`](crate::PpeCore::outside) |

use std::fmt;
use std::sync::Arc;

use crate::id::{Processor, SpeId};
use crate::time::Time;

/// Waiting. Every operation of a machine that waits is built on this trait.
pub trait Wait {
    /// Waits until `ready` returns true. Meanwhile the other cooperative threads of the core run.
    /// The report of a deadlock contains "waits for" and the text of `why`.
    ///
    /// The machine calls `ready` on the thread's own core, at least once after every
    /// [`notify`](Wake::notify) of this processor, until `ready` returns true. `ready` must not
    /// wait or panic.
    ///
    /// Every change that makes `ready` return true must be followed by a `notify`. Otherwise the
    /// run ends as a deadlock when all other threads wait. To wait for a time, use
    /// [`wait_until_deadline`](Wake::wait_until_deadline). To wait for an action of a plain OS
    /// thread, write a loop that checks the condition and calls
    /// [`yield_now`](crate::Spe::yield_now).
    ///
    /// Returns true, with one exception. If the run is cancelled, because of a deadlock or because
    /// the main program panicked, the waiting thread is unwound. If a destructor calls this method
    /// during that unwinding and `ready` returns false, this method returns false.
    #[track_caller]
    fn wait_until(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool;
}

/// Waking: of all waiting threads of a processor, or of a single thread.
pub trait Wake: Wait {
    /// The time since the start of the run.
    fn now(&self) -> Time;

    /// Whether the run has been cancelled. Threads of a cancelled run are unwound when they wait.
    fn is_cancelled(&self) -> bool;

    /// Makes the waiting threads of `to` check their conditions again. A program calls this method
    /// after it has changed ordinary memory for which another processor [waits](Wait::wait_until).
    /// Mailboxes, signals and the MFC of a Cell notify without a call.
    ///
    /// # Panics
    ///
    /// Panics if `to` is an SPE that the machine does not have.
    #[track_caller]
    fn notify(&self, to: Processor);

    /// Returns a handle to the calling thread, by which other threads can [`wake`](Self::wake) that
    /// thread.
    fn sleeper(&self) -> Sleeper;

    /// Sets a description of the calling thread's work, such as "process `a`", for the report of a
    /// stack overflow. Returns the old description. Machines that report no overflows do nothing.
    fn set_task(&self, task: Option<String>) -> Option<String> {
        let _ = task;
        None
    }

    /// Waits as [`wait_until`](Wait::wait_until) does, but for a condition that another thread
    /// makes true before it [wakes](Self::wake) this thread. The machine need not call `ready`
    /// after a [`notify`](Self::notify). Therefore a `notify` stays fast if many threads of the
    /// core wait in this way.
    #[track_caller]
    #[inline(always)]
    fn wait_until_woken(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool {
        self.wait_until(why, ready)
    }

    /// Returns a hint for a thread that another core will [wake](Self::wake): whether the thread
    /// should wait by [`wait_until`](Wait::wait_until) and give the waking thread a
    /// [polling](Sleeper::polling) sleeper. The hint is true if no other thread of the core is
    /// ready and few threads wait by `wait_until`, because such a core polls all the time and wakes
    /// its threads faster.
    #[inline(always)]
    fn would_poll(&self) -> bool {
        false
    }

    /// Whether `sleeper` is the calling thread. The thread of `sleeper` must not have ended: after
    /// its end, `sleeper` may equal the handle of a newer thread.
    #[inline]
    fn is_calling(&self, sleeper: Sleeper) -> bool {
        self.sleeper() == sleeper
    }

    /// Makes one thread check again the condition for which it [waits](Wait::wait_until). The
    /// caller has just made the condition true. Does nothing if the thread does not wait, or has
    /// ended.
    ///
    /// On a host, a thread of the caller's own core is woken directly, which takes a few
    /// nanoseconds. A thread of another core is woken through a queue of that core.
    ///
    /// On a simulated machine this method and [`notify`](Self::notify) take no simulated time. The
    /// caller simulates the communication that carries the news to the other processor.
    #[inline(always)]
    fn wake(&self, sleeper: Sleeper) {
        if !self.wake_here(sleeper) {
            self.wake_elsewhere(sleeper);
        }
    }

    /// Does the same as [`wake`](Self::wake), if the thread belongs to the caller's own core and
    /// can be woken directly. Otherwise does nothing and returns false.
    #[inline(always)]
    fn wake_here(&self, sleeper: Sleeper) -> bool {
        let _ = sleeper;
        false
    }

    /// Does the same as [`wake`](Self::wake), for a thread for which [`wake_here`](Self::wake_here)
    /// has returned false.
    fn wake_elsewhere(&self, sleeper: Sleeper);

    /// Returns a handle that wakes threads of this run from any of its programs. The handle holds
    /// no reference to a processor, so a destructor can use the handle.
    fn remote_waker(&self) -> RemoteWaker;

    /// Waits in a cancelled run until `done` returns true, and then unwinds the calling thread. A
    /// thread calls this method while unfinished programs borrow from its stack. Meanwhile the
    /// other threads of the core are unwound.
    ///
    /// The machine calls `done` repeatedly. The caller must have caught the panic that unwound this
    /// thread and must not have resumed the panic yet. No simulated time passes.
    fn outlast(&self, done: &mut dyn FnMut() -> bool);

    /// Waits for some nanoseconds, in which another core may fulfil the condition that the caller
    /// is about to wait for, and returns true. If another thread of this core is ready, this method
    /// does not wait and returns false. On a PPE, and where time is simulated, the method always
    /// returns false.
    #[inline(always)]
    fn wait_briefly(&self) -> bool {
        false
    }

    /// Waits as [`wait_until`](Wait::wait_until) does, but returns false if `deadline` has passed
    /// and `ready` still returns false.
    ///
    /// A thread that waits with a deadline is never part of a deadlock.
    #[track_caller]
    fn wait_until_deadline(
        &self,
        why: &dyn fmt::Display,
        deadline: Time,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool;
}

/// Wakes threads of one run from any program of that run: see [`Wake::remote_waker`].
#[derive(Clone)]
pub struct RemoteWaker(Arc<dyn Fn(Sleeper) + Send + Sync>);

impl RemoteWaker {
    /// Returns a waker that calls `wake`, which wakes a thread of the run. Machines call this
    /// function.
    ///
    /// `wake` may be called on any OS thread, and after the end of the run. During the run `wake`
    /// must work on OS threads that run programs of the machine and on [admitted](Outside::admit)
    /// threads. In other cases `wake` may do nothing.
    pub fn new(wake: impl Fn(Sleeper) + Send + Sync + 'static) -> Self {
        Self(Arc::new(wake))
    }

    /// Makes a thread check its condition again, as [`Wake::wake`] does. Does nothing if the run
    /// has ended, or if the calling OS thread neither runs a program of the run nor is
    /// [admitted](Outside::admit).
    pub fn wake(&self, sleeper: Sleeper) {
        (self.0)(sleeper);
    }
}

impl fmt::Debug for RemoteWaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RemoteWaker")
    }
}

/// The interface of a run for *outside threads*: OS threads that run no program of the run, but
/// wake its threads. See [`PpeCore::outside`](crate::PpeCore::outside).
///
/// A run counts outside threads, because a run is not in a deadlock while an outside thread may
/// still wake its programs.
pub trait Outside: Send + Sync {
    /// See [`Wake::now`].
    fn now(&self) -> Time;

    /// See [`Wake::is_cancelled`].
    fn is_cancelled(&self) -> bool;

    /// See [`Wake::notify`]. The caller must be a counted outside thread.
    #[track_caller]
    fn notify(&self, to: Processor);

    /// Counts one more outside thread. The caller must be a program of the run that does not wait,
    /// or a counted outside thread.
    fn admit(&self);

    /// Counts one outside thread less. An outside thread calls this method when it ends, and before
    /// it waits for a program of the run. Before that program wakes the thread, the program
    /// [admits](Self::admit) the thread again. If all other threads of the run wait too, this call
    /// ends the run as a deadlock.
    fn dismiss(&self);
}

/// Calls `attempt` until `attempt` returns a value. In the unwinding of a cancelled run, returns
/// the default.
#[track_caller]
#[inline]
pub(crate) fn wait_for_some<W: Wait + ?Sized, R: Default>(
    waiter: &W,
    why: &dyn fmt::Display,
    mut attempt: impl FnMut() -> Option<R>,
) -> R {
    if let Some(result) = attempt() {
        return result;
    }
    let mut result = None;
    waiter.wait_until(why, &mut || {
        result = attempt();
        result.is_some()
    });
    result.unwrap_or_default()
}

/// A handle to a thread, by which other threads [wake](Wake::wake) it.
///
/// A sleeper may be kept after the thread has ended, and may be sent to any OS thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sleeper {
    thread: (usize, u64),
    /// The number of the thread's SPE, or [`PPE`], and the bit [`POLLS`]. One word holds both
    /// values, because wakers copy this word often.
    processor: u32,
}

/// The number that stands for the PPE. No SPE has this number.
const PPE: u32 = POLLS - 1;

/// The bit that says that the wait is polled. The bit is above all numbers of SPEs.
const POLLS: u32 = 1 << 31;

impl Sleeper {
    /// Returns the handle of a thread of a processor. Machines call this function.
    ///
    /// # Safety
    ///
    /// `thread` must be data by which the machine finds the thread. Only the machine knows which
    /// values are valid.
    #[inline]
    pub unsafe fn new(processor: Processor, thread: (usize, u64)) -> Self {
        let processor = match processor {
            Processor::Ppe => PPE,
            Processor::Spe(spe) => spe.index() as u32,
        };
        Self { thread, processor }
    }

    /// Returns a handle of the same thread. `polls` says whether the thread waits by
    /// [`wait_until`](Wait::wait_until). If so, the thread's core polls the condition, and a
    /// [`notify`](Wake::notify) is enough to wake the thread.
    #[inline]
    pub fn polling(self, polls: bool) -> Self {
        let flag = if polls { POLLS } else { 0 };
        Self {
            processor: self.processor & !POLLS | flag,
            ..self
        }
    }

    /// Whether the thread [polls](Self::polling) its condition.
    #[inline]
    pub fn polls(self) -> bool {
        self.processor & POLLS != 0
    }

    /// The processor on which the thread runs.
    #[inline]
    pub fn processor(self) -> Processor {
        match self.processor & !POLLS {
            PPE => Processor::Ppe,
            spe => Processor::Spe(SpeId::new(spe as u16)),
        }
    }

    /// The data that was passed to [`new`](Self::new), for machines.
    #[inline]
    pub fn thread(self) -> (usize, u64) {
        self.thread
    }
}
