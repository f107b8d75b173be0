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
use std::sync::{Arc, Weak};

use crate::id::{Processor, SpeId};
use crate::run_id::RunId;
use crate::time::Time;

/// The operation of waiting for a condition, which all waiting methods of a machine use.
pub trait Wait {
    /// Waits until `ready` returns true. Other cooperative threads of the core run meanwhile. The
    /// report of a deadlock prints `why` after "waits for".
    ///
    /// The machine calls `ready` on the thread's core, at least once after every
    /// [`notify`](Wake::notify) of this processor. `ready` must not wait or panic.
    ///
    /// After a change that makes `ready` return true, the program must call `notify`. Otherwise the
    /// run ends as a deadlock once all other threads wait. To wait for a time, use
    /// [`wait_until_deadline`](Wake::wait_until_deadline). To wait for an OS thread outside the
    /// run, check the condition in a loop that calls [`yield_now`](crate::Spe::yield_now).
    ///
    /// Returns true. If the run is cancelled, this method unwinds the thread, or returns the result
    /// of `ready` if the thread is unwinding already.
    #[track_caller]
    fn wait_until(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool;
}

/// The operations of waking all threads of a processor or a single thread.
pub trait Wake: Wait {
    /// Returns the identifier of the run in which this processor takes part.
    fn run_id(&self) -> &RunId;

    /// Returns the time since the start of the run.
    fn now(&self) -> Time;

    /// Returns whether the run was cancelled. In a cancelled run, threads that wait are unwound.
    fn is_cancelled(&self) -> bool;

    /// Makes the waiting threads of `to` check their [conditions](Wait::wait_until) again. Needed
    /// after changes in ordinary memory, but not for mailboxes, signals and the MFC.
    ///
    /// # Panics
    ///
    /// Panics if the machine has no SPE `to`.
    #[track_caller]
    fn notify(&self, to: Processor);

    /// Returns a handle to the calling thread, for [`wake`](Self::wake).
    fn sleeper(&self) -> Sleeper;

    /// Sets the name of the thread's task for the report of a stack overflow. Returns the old name.
    /// Machines without such reports do nothing.
    fn set_task(&self, task: Option<String>) -> Option<String> {
        let _ = task;
        None
    }

    /// Waits until `ready` returns true and another thread [wakes](Self::wake) this thread. A
    /// [`notify`](Self::notify) need not wake this thread, so `notify` is fast even if many threads
    /// wait.
    #[track_caller]
    #[inline(always)]
    fn wait_until_woken(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool {
        self.wait_until(why, ready)
    }

    /// Returns whether this thread should poll its condition instead of sleeping. Another core can
    /// then wake it faster. To poll, call [`wait_until`](Wait::wait_until), and give the waking
    /// thread a [polling](Sleeper::polling) sleeper. Returns true if no other thread of this core
    /// is ready and few threads poll. A PPE of a host always polls.
    #[inline(always)]
    fn would_poll(&self) -> bool {
        false
    }

    /// Returns whether this thread should poll, as [`would_poll`](Self::would_poll), if the thread
    /// that will fulfil its condition is probably on another core. Other threads of this core may
    /// be ready.
    #[inline(always)]
    fn would_poll_elsewhere(&self) -> bool {
        self.would_poll()
    }

    /// Returns whether `sleeper` is the calling thread. Must not be called after the thread of
    /// `sleeper` has ended, because a newer thread may have an equal handle.
    #[inline]
    fn is_calling(&self, sleeper: Sleeper) -> bool {
        self.sleeper() == sleeper
    }

    /// Makes one thread check its [condition](Wait::wait_until) again, which the caller has made
    /// true. Does nothing if the thread does not wait or has ended.
    ///
    /// A sleeper belongs to the run of its thread. If `sleeper` belongs to another run than this
    /// processor, the thread is not woken. If nothing else wakes the thread, its run ends as a
    /// deadlock whose report has the wait of this thread.
    ///
    /// On a host, this method takes a few nanoseconds within a core, and uses a queue to other
    /// cores. On a simulated machine, this method and [`notify`](Self::notify) take no time, so the
    /// caller must simulate the communication between the processors.
    ///
    /// # Panics
    ///
    /// Panics if `sleeper` belongs to another run, and the machine has no SPE of this number.
    #[inline(always)]
    fn wake(&self, sleeper: Sleeper) {
        if !self.wake_here(sleeper) {
            self.wake_elsewhere(sleeper);
        }
    }

    /// Wakes a thread as [`wake`](Self::wake) does, if this is possible directly on this core, and
    /// returns true. Otherwise does nothing and returns false.
    #[inline(always)]
    fn wake_here(&self, sleeper: Sleeper) -> bool {
        let _ = sleeper;
        false
    }

    /// Wakes a thread after [`wake_here`](Self::wake_here) has returned false.
    fn wake_elsewhere(&self, sleeper: Sleeper);

    /// Returns a handle that wakes threads of this run. Code that has no reference to a processor,
    /// such as a destructor, can use the handle.
    fn remote_waker(&self) -> RemoteWaker;

    /// Waits in a cancelled run until `done` returns true, and then unwinds the calling thread. The
    /// wait keeps the stack alive while unfinished programs borrow from the stack.
    ///
    /// The machine calls `done` repeatedly while other threads of the core unwind. The caller must
    /// have caught the panic of the cancellation. No simulated time passes.
    fn outlast(&self, done: &mut dyn FnMut() -> bool);

    /// Waits for some nanoseconds, in which another core may fulfil a condition, and returns true.
    /// Returns false without waiting if another thread of this core is ready, or if time is
    /// simulated.
    #[inline(always)]
    fn wait_briefly(&self) -> bool {
        false
    }

    /// Returns whether this processor is going to sleep if no condition that it checks now is true.
    /// Meaningful only within a [condition](Wait::wait_until). `None` if the machine does not say,
    /// as by default; each check may then be the last one. Such a machine returns `None` always,
    /// also outside of conditions, and need not check conditions without a notification.
    ///
    /// A host checks the conditions for some microseconds before it sleeps. A condition that must
    /// tell other processors that it will sleep, which is expensive, does so at the last check.
    #[inline]
    fn is_last_check(&self) -> Option<bool> {
        None
    }

    /// Waits until `ready` returns true, or returns false at `deadline`. This wait never deadlocks.
    #[track_caller]
    fn wait_until_deadline(
        &self,
        why: &dyn fmt::Display,
        deadline: Time,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool;
}

/// A handle that wakes threads of one run: see [`Wake::remote_waker`].
#[derive(Clone)]
pub struct RemoteWaker(Arc<dyn Fn(Sleeper) + Send + Sync>);

impl RemoteWaker {
    /// Returns a waker that calls `wake` to wake a thread of the run. Machines call this function.
    ///
    /// `wake` may be called on any OS thread, even after the run. It must do nothing after the run,
    /// and on OS threads that neither run a program of the run nor are [admitted](Outside::admit).
    pub fn new(wake: impl Fn(Sleeper) + Send + Sync + 'static) -> Self {
        Self(Arc::new(wake))
    }

    /// Makes a thread check its condition again, as [`Wake::wake`] does. Does nothing after the
    /// run, and on OS threads that neither run its programs nor are [admitted](Outside::admit).
    pub fn wake(&self, sleeper: Sleeper) {
        (self.0)(sleeper);
    }
}

impl fmt::Debug for RemoteWaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RemoteWaker")
    }
}

/// The interface of a run for *outside threads*: OS threads that run no program of the run but wake
/// its threads. See [`PpeCore::outside`](crate::PpeCore::outside). The run counts these threads,
/// because there is no deadlock while one of them may still wake a program.
pub trait Outside: Send + Sync {
    /// See [`Wake::run_id`].
    fn run_id(&self) -> &RunId;

    /// See [`Wake::now`].
    fn now(&self) -> Time;

    /// See [`Wake::is_cancelled`].
    fn is_cancelled(&self) -> bool;

    /// Notifies a processor: see [`Wake::notify`]. The caller must be a counted outside thread.
    #[track_caller]
    fn notify(&self, to: Processor);

    /// Increments the count of outside threads. The caller must be a counted outside thread, or a
    /// program of the run that does not wait.
    fn admit(&self);

    /// Decrements the count of outside threads. An outside thread must call this method before it
    /// ends, or before it waits for a program. A program that wakes a waiting outside thread must
    /// call [`admit`](Self::admit) first. If all other threads of the run wait, the run ends as a
    /// deadlock.
    fn dismiss(&self);

    /// Tells the machine whom to ask about the outside threads when the run does not go on. A
    /// machine without a watchdog does not ask.
    fn ask(&self, outsiders: Weak<dyn Outsiders>) {
        drop(outsiders);
    }
}

/// What the watchdog of a machine asks about the outside threads of a run.
pub trait Outsiders: Send + Sync {
    /// Returns a line for each outside thread: who it is, and what is known of it.
    fn list(&self) -> Vec<String>;

    /// Called in each check in which all programs of the run wait, so only outside threads can make
    /// them go on. Returns a message for standard error, if there is one.
    fn all_programs_wait(&self) -> Option<String>;
}

/// Calls `attempt` until it returns a value. Returns the default while a cancelled run unwinds.
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

/// A handle for [`Wake::wake`], which may outlive its thread and be used on any OS thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sleeper {
    thread: (usize, u64),
    /// The index of the SPE, or [`PPE`]. The bit [`POLLS`] is set if the thread polls.
    processor: u32,
}

/// The value of `processor` for the PPE, which is not the number of an SPE.
const PPE: u32 = POLLS - 1;

/// The bit for a thread that polls, above all numbers of SPEs.
const POLLS: u32 = 1 << 31;

impl Sleeper {
    /// Returns the handle of a thread of a processor. Machines call this function.
    ///
    /// # Safety
    ///
    /// `thread` must be data by which the machine can find the thread.
    #[inline]
    pub unsafe fn new(processor: Processor, thread: (usize, u64)) -> Self {
        let processor = match processor {
            Processor::Ppe => PPE,
            Processor::Spe(spe) => spe.index() as u32,
        };
        Self { thread, processor }
    }

    /// Returns this handle with a flag: whether the thread waits by
    /// [`wait_until`](Wait::wait_until). If so, a [`notify`](Wake::notify) wakes the thread.
    #[inline]
    pub fn polling(self, polls: bool) -> Self {
        let flag = if polls { POLLS } else { 0 };
        Self {
            processor: self.processor & !POLLS | flag,
            ..self
        }
    }

    /// Returns whether the thread [polls](Self::polling) its condition.
    #[inline]
    pub fn polls(self) -> bool {
        self.processor & POLLS != 0
    }

    /// Returns the processor on which the thread runs.
    #[inline]
    pub fn processor(self) -> Processor {
        match self.processor & !POLLS {
            PPE => Processor::Ppe,
            spe => Processor::Spe(SpeId::new(spe as u16)),
        }
    }

    /// Returns the machine's data that was passed to [`new`](Self::new).
    #[inline]
    pub fn thread(self) -> (usize, u64) {
        self.thread
    }
}
