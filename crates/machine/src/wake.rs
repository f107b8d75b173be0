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
    /// Waits until `ready` returns true. Other cooperative threads run meanwhile.
    ///
    /// While this thread waits, the machine calls `ready` repeatedly: at least once after every
    /// [`notify`](Wake::notify) of this processor, and always on the thread's own core. Once
    /// `ready` has returned true, it is not called again. `ready` must not wait or panic. `why`
    /// says what the thread waits for: the report of a deadlock contains "waits for" and this text.
    ///
    /// Every condition that `ready` checks must become true together with a `notify`. Otherwise the
    /// run ends as a deadlock when all other threads wait. So do not use this method to wait for a
    /// time on a clock, or for an action of a plain OS thread. To wait for a time, use
    /// [`wait_until_deadline`](Wake::wait_until_deadline). To wait for any other such condition,
    /// write a loop that checks it and calls [`yield_now`](crate::Spe::yield_now).
    ///
    /// Returns true, with one exception. A run is cancelled if every program waits for another one,
    /// or if the main program panicked. If the run is cancelled, the waiting thread is unwound. If
    /// a destructor calls this method *during* that unwinding and `ready` returns false, this
    /// method returns false.
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
    /// Mailboxes, signals and the MFC of a Cell notify by themselves.
    ///
    /// # Panics
    ///
    /// If `to` is an SPE that the machine does not have.
    #[track_caller]
    fn notify(&self, to: Processor);

    /// A handle to the calling thread, by which other threads can [`wake`](Self::wake) it.
    fn sleeper(&self) -> Sleeper;

    /// Sets a description of the calling thread's work, such as "process `a`", and returns the old
    /// one. If the stack of the thread overflows, the report contains the description. Machines
    /// that report no overflows do nothing.
    fn set_task(&self, task: Option<String>) -> Option<String> {
        let _ = task;
        None
    }

    /// As [`wait_until`](Wait::wait_until), for a condition that another thread makes true before
    /// it [wakes](Self::wake) this thread. After a [`notify`](Self::notify) a machine need not call
    /// `ready`. So a `notify` takes no longer if many threads of the core wait in this way.
    #[track_caller]
    #[inline(always)]
    fn wait_until_woken(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool {
        self.wait_until(why, ready)
    }

    /// A hint for a thread that another core will [wake](Self::wake): whether to wait by
    /// [`wait_until`](Wait::wait_until), and to give the waking thread a sleeper that
    /// [polls](Sleeper::polling). This method returns true if no other thread of the core is ready
    /// and few threads wait by `wait_until`. Such a core polls all the time, and waking one of its
    /// threads takes less time.
    #[inline(always)]
    fn would_poll(&self) -> bool {
        false
    }

    /// Whether `sleeper` is the calling thread. The caller must know that the thread of `sleeper`
    /// has not ended. Once that thread has ended, `sleeper` may equal the handle of a newer thread.
    #[inline]
    fn is_calling(&self, sleeper: Sleeper) -> bool {
        self.sleeper() == sleeper
    }

    /// Makes one thread check again the condition for which it [waits](Wait::wait_until). The
    /// caller has just made the condition true.
    ///
    /// On a host, a thread of the caller's own core is woken directly, which takes a few
    /// nanoseconds. A thread of another core is woken by a queue of its core. Neither way takes
    /// longer if many threads wait. If the thread does not wait, or has ended, nothing happens.
    ///
    /// On a simulated machine this method and [`notify`](Self::notify) take no simulated time. The
    /// caller simulates the communication that carries the news to the other processor.
    #[inline(always)]
    fn wake(&self, sleeper: Sleeper) {
        if !self.wake_here(sleeper) {
            self.wake_elsewhere(sleeper);
        }
    }

    /// As [`wake`](Self::wake), if the thread belongs to the caller's own core and can be woken
    /// directly. Otherwise does nothing and returns false.
    #[inline(always)]
    fn wake_here(&self, sleeper: Sleeper) -> bool {
        let _ = sleeper;
        false
    }

    /// As [`wake`](Self::wake), for a thread for which [`wake_here`](Self::wake_here) has returned
    /// false.
    fn wake_elsewhere(&self, sleeper: Sleeper);

    /// A handle that wakes threads of this run from any of its programs. The handle needs no
    /// reference to a processor, so a destructor can use it.
    fn remote_waker(&self) -> RemoteWaker;

    /// Waits in a cancelled run until `done` returns true. Afterwards the calling thread is
    /// unwound. Call this method in a thread if programs that have not ended still borrow from its
    /// stack. Meanwhile the other threads of its processor are unwound.
    ///
    /// `done` is called repeatedly. Call this method after the panic that unwound the thread was
    /// caught and before that panic is resumed, never while the thread unwinds. No simulated time
    /// passes.
    fn outlast(&self, done: &mut dyn FnMut() -> bool);

    /// Waits for some nanoseconds and returns true. In this time another core may fulfil the
    /// condition that the caller is about to wait for. If another thread of this core is ready,
    /// this method does nothing and returns false. On a PPE, and where time is simulated, the
    /// method always returns false.
    #[inline(always)]
    fn wait_briefly(&self) -> bool {
        false
    }

    /// As [`wait_until`](Wait::wait_until), but returns false if `deadline` has passed and `ready`
    /// does not return true.
    ///
    /// A thread that waits with a deadline is never part of a deadlock, because it will go on.
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
    /// A waker that calls `wake`, which wakes a thread of the run. Machines call this. `wake` may
    /// be called on any OS thread, and after the end of the run. During the run it must work on OS
    /// threads that run programs of the machine and on [admitted](Outside::admit) threads. In other
    /// cases it may do nothing.
    pub fn new(wake: impl Fn(Sleeper) + Send + Sync + 'static) -> Self {
        Self(Arc::new(wake))
    }

    /// Makes a thread check its condition again, as [`Wake::wake`] does. If the run has ended,
    /// nothing happens. The same holds if the calling OS thread runs no program of the run and is
    /// not [admitted](Outside::admit).
    pub fn wake(&self, sleeper: Sleeper) {
        (self.0)(sleeper);
    }
}

impl fmt::Debug for RemoteWaker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RemoteWaker")
    }
}

/// A run, as it is seen by OS threads that run none of its programs but wake its threads: see
/// [`PpeCore::outside`](crate::PpeCore::outside).
///
/// Such an outside thread is counted as a thread of the run. A counted thread may still wake a
/// program of the run, so the run is not in a deadlock.
pub trait Outside: Send + Sync {
    /// As [`Wake::now`].
    fn now(&self) -> Time;

    /// As [`Wake::is_cancelled`].
    fn is_cancelled(&self) -> bool;

    /// As [`Wake::notify`]. The caller must be a counted thread.
    #[track_caller]
    fn notify(&self, to: Processor);

    /// Counts one more outside thread. The caller must be a program of the run that does not wait,
    /// or a counted thread.
    fn admit(&self);

    /// Counts one outside thread less: the thread has ended, or waits for a program of the run.
    /// Before that program wakes the outside thread, the program [admits](Self::admit) it again. If
    /// all other threads of the run wait too, this call ends the run as a deadlock.
    fn dismiss(&self);
}

/// Calls `attempt` until it returns a value. If the run was cancelled and the caller is already
/// unwinding, returns the type's default.
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
    /// The number of the thread's SPE, or [`PPE`]. If the wait is polled, the bit [`POLLS`] is set.
    /// Both are in one word because threads that wake others copy this value often.
    processor: u32,
}

/// The number that stands for the PPE. No SPE has it.
const PPE: u32 = POLLS - 1;

/// A bit above all numbers of SPEs.
const POLLS: u32 = 1 << 31;

impl Sleeper {
    /// The handle of a thread of a processor. Machines call this.
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

    /// A handle of the same thread. `polls` says whether the thread waits by
    /// [`wait_until`](Wait::wait_until). If so, its core polls the condition, and a
    /// [`notify`](Wake::notify) of its processor is enough to wake the thread.
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

    /// The data that was passed to [`new`](Self::new). Machines call this.
    #[inline]
    pub fn thread(self) -> (usize, u64) {
        self.thread
    }
}
