//! Waiting, waking, and waiting until a time, for SPEs and the PPE.
//!
//! | to | a thread calls |
//! |---|---|
//! | wait until something is so | [`Wait::wait_until`], [`Wake::wait_until_deadline`] |
//! | tell all threads of a processor to look again | [`Wake::notify`] |
//! | wait until another thread tells this one | [`Wake::sleeper`], [`Wake::wait_until_woken`] |
//! | tell one thread | [`Wake::wake`] |
//! | tell one thread where no processor is at hand | [`Wake::remote_waker`] |
//! | know the time, and whether the run was cancelled | [`Wake::now`], [`Wake::is_cancelled`] |
//! | let OS threads take part that run no program | [`PpeCore::outside`](crate::PpeCore::outside) |

use std::fmt;
use std::sync::Arc;

use crate::id::{Processor, SpeId};
use crate::time::Time;

/// Waiting. Every operation of a machine that blocks is built on this trait.
pub trait Wait {
    /// Waits until `ready` returns true. Other cooperative threads run meanwhile.
    ///
    /// While this thread waits, `ready` is called repeatedly: at least once after every
    /// [`notify`](Wake::notify) of this processor, always on the thread's own core, and never again
    /// once it has returned true. It must not block or panic. `why` says what the thread waits for:
    /// the report of a deadlock contains "waits for" and this text.
    ///
    /// Do not use this for a condition that becomes true without a `notify`, such as a time on a
    /// clock or an action of a plain OS thread: when all other threads wait, the run ends as a
    /// deadlock. To wait for a time, use [`wait_until_deadline`](Wake::wait_until_deadline). For
    /// any other such condition, write a loop that checks it and calls
    /// [`yield_now`](crate::Spe::yield_now).
    ///
    /// Returns true, with one exception. A run is cancelled if every program waits for another one,
    /// or if the main program panicked. Then the waiting thread is unwound. If a destructor calls
    /// this method *during* that unwinding, and would have to wait, the call returns false.
    #[track_caller]
    fn wait_until(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool;
}

/// Waking: of all waiting threads of a processor, or of one thread.
pub trait Wake: Wait {
    /// The time since the start of the run.
    fn now(&self) -> Time;

    /// Whether the run has been cancelled. Threads of a cancelled run are unwound when they wait.
    fn is_cancelled(&self) -> bool;

    /// Makes the waiting threads of `to` check again what they wait for. A program calls it after
    /// it has changed ordinary memory for which another processor [waits](Wait::wait_until).
    /// Mailboxes, signals and the MFC of a Cell do so by themselves.
    ///
    /// # Panics
    ///
    /// If the machine has no such SPE.
    #[track_caller]
    fn notify(&self, to: Processor);

    /// A handle to the calling thread, by which other threads can [`wake`](Self::wake) it.
    fn sleeper(&self) -> Sleeper;

    /// Sets the description of what the calling thread does, such as "process `a`", and returns the
    /// one before. If the stack of the thread overflows, the report contains the description. This
    /// does nothing on machines that report no overflows.
    fn set_task(&self, task: Option<String>) -> Option<String> {
        let _ = task;
        None
    }

    /// As [`wait_until`](Wait::wait_until), for conditions that another thread makes true which
    /// then [wakes](Self::wake) this one. A machine need not call `ready` after a
    /// [`notify`](Self::notify): so a `notify` does not take longer if many threads of the core
    /// wait in this way.
    #[track_caller]
    #[inline(always)]
    fn wait_until_woken(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool {
        self.wait_until(why, ready)
    }

    /// Whether a thread that another core will [wake](Self::wake) should wait by
    /// [`wait_until`](Wait::wait_until), and pass on a sleeper that [polls](Sleeper::polling). This
    /// is true if no other thread of the core is ready and few threads wait in this way. Then the
    /// core polls all the time, and the wake-up takes the other core less time. The answer is a
    /// hint.
    #[inline(always)]
    fn would_poll(&self) -> bool {
        false
    }

    /// Whether `sleeper` is the calling thread. The caller knows that the thread of `sleeper` has
    /// not ended: otherwise another thread may have its place.
    #[inline]
    fn is_calling(&self, sleeper: Sleeper) -> bool {
        self.sleeper() == sleeper
    }

    /// Makes one thread check again what it [waits](Wait::wait_until) for. The caller has just made
    /// that true.
    ///
    /// On a host a thread of the caller's own core is woken directly, which takes a few
    /// nanoseconds. A thread of another core is woken by a queue of its core. Neither takes longer
    /// if many threads wait. Nothing happens if the thread does not wait, or has ended.
    ///
    /// On a simulated machine this and [`notify`](Self::notify) take no simulated time. The caller
    /// simulates the communication that carries the news to the other processor.
    #[inline(always)]
    fn wake(&self, sleeper: Sleeper) {
        if !self.wake_here(sleeper) {
            self.wake_elsewhere(sleeper);
        }
    }

    /// As [`wake`](Self::wake), if the thread belongs to the caller's own core and can be woken
    /// directly. Otherwise it does nothing and returns false.
    #[inline(always)]
    fn wake_here(&self, sleeper: Sleeper) -> bool {
        let _ = sleeper;
        false
    }

    /// As [`wake`](Self::wake), of a thread for which [`wake_here`](Self::wake_here) has returned
    /// false.
    fn wake_elsewhere(&self, sleeper: Sleeper);

    /// A handle that wakes threads of this run from any of its programs. It works without a
    /// reference to a processor, such as in a destructor.
    fn remote_waker(&self) -> RemoteWaker;

    /// Waits in a cancelled run until `done` returns true, before the calling thread is unwound. It
    /// is for a thread whose stack is still borrowed by programs that have not ended. The other
    /// threads of its processor are unwound meanwhile.
    ///
    /// `done` is called repeatedly. Call this method after the panic that unwound the thread was
    /// caught and before it is resumed, never while the thread unwinds. No simulated time passes.
    fn outlast(&self, done: &mut dyn FnMut() -> bool);

    /// Waits for some nanoseconds and returns true: in that time another core may do what the
    /// caller is about to wait for. If another thread of this core is ready, it does nothing and
    /// returns false. It always returns false where time is simulated, and on a PPE.
    #[inline(always)]
    fn wait_briefly(&self) -> bool {
        false
    }

    /// As [`wait_until`](Wait::wait_until), but returns false if `deadline` has passed and `ready`
    /// does not return true.
    ///
    /// A thread that waits with a deadline is never part of a deadlock, because it will go on by
    /// itself.
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
    /// Made by machines from `wake`, which wakes a thread of the run. `wake` may be called on any
    /// OS thread, and after the end of the run. It has to work on OS threads that run programs of
    /// the machine or are [admitted](Outside::admit), during the run. Elsewhere it may do nothing.
    pub fn new(wake: impl Fn(Sleeper) + Send + Sync + 'static) -> Self {
        Self(Arc::new(wake))
    }

    /// Makes a thread check again what it waits for, as [`Wake::wake`] does. Nothing happens if the
    /// run has ended, or if the calling OS thread runs none of its programs and is not
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

/// A run, as OS threads use it that run none of its programs but wake its threads: see
/// [`PpeCore::outside`](crate::PpeCore::outside).
///
/// Such an outside thread is counted as a thread of the run. While it does not wait for the run's
/// programs, it may still wake one of them: so the run is not in a deadlock.
pub trait Outside: Send + Sync {
    /// As [`Wake::now`].
    fn now(&self) -> Time;

    /// As [`Wake::is_cancelled`].
    fn is_cancelled(&self) -> bool;

    /// As [`Wake::notify`]. The caller is a thread that is counted.
    #[track_caller]
    fn notify(&self, to: Processor);

    /// Counts one more outside thread. The caller is a program of the run that does not wait, or a
    /// thread that is counted.
    fn admit(&self);

    /// Counts one outside thread less: the thread has ended, or waits for a program of the run.
    /// That program [admits](Self::admit) the thread again before it wakes it. If all other threads
    /// of the run wait too, this call ends the run as a deadlock.
    fn dismiss(&self);
}

/// Calls `attempt` until it returns a value. Returns the type's default if the run was cancelled
/// and the caller is already unwinding.
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
/// It may be kept for longer than the thread lives, and be sent anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sleeper {
    thread: (usize, u64),
    /// The number of the thread's SPE, or [`PPE`]; with the bit [`POLLS`] if the wait is polled. It
    /// is one word because threads that wake others copy it often.
    processor: u32,
}

/// No SPE has this number.
const PPE: u32 = POLLS - 1;

/// A bit above all numbers of SPEs.
const POLLS: u32 = 1 << 31;

impl Sleeper {
    /// A thread of a processor. Machines call this.
    ///
    /// # Safety
    ///
    /// `thread` is the data by which the machine finds the thread. Only the machine knows which
    /// values are valid.
    #[inline]
    pub unsafe fn new(processor: Processor, thread: (usize, u64)) -> Self {
        let processor = match processor {
            Processor::Ppe => PPE,
            Processor::Spe(spe) => spe.index() as u32,
        };
        Self { thread, processor }
    }

    /// The same thread. `polls` says whether it waits by [`wait_until`](Wait::wait_until), whose
    /// condition its core polls: then a [`notify`](Wake::notify) of its processor is enough to wake
    /// it.
    #[inline]
    pub fn polling(self, polls: bool) -> Self {
        let flag = if polls { POLLS } else { 0 };
        Self {
            processor: self.processor & !POLLS | flag,
            ..self
        }
    }

    /// Whether the thread [polls](Self::polling) what it waits for.
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

    /// The data that was passed to [`new`](Self::new). Machines call this.
    #[inline]
    pub fn thread(self) -> (usize, u64) {
        self.thread
    }
}
