//! Waiting, waking, and waiting until a time: what an SPE and the PPE have in common.
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

/// Waiting, as everything that blocks on a machine does it.
pub trait Wait {
    /// Waits until `ready` says true; other cooperative threads run meanwhile.
    ///
    /// `ready` is asked again and again while this thread waits, at least once after every
    /// [`notify`](Wake::notify) of this processor, always on the thread's own core, and never again
    /// once it has said true; it must not block or panic. `why` completes "waits for", for the
    /// report that a deadlock gets.
    ///
    /// A condition that comes true without a `notify`, such as a time on a clock or what a plain OS
    /// thread does, must not be waited for here: when all others wait, the run is ended as a
    /// deadlock. For a time there is [`wait_until_deadline`](Wake::wait_until_deadline); for the
    /// rest, ask in a loop with [`yield_now`](crate::Spe::yield_now).
    ///
    /// Returns true, with one exception. When the run is cancelled, because every program waits for
    /// another one or the main program panicked, the waiting thread is unwound. A call that is
    /// made *during* that unwinding, from a destructor, returns false instead if it would have to
    /// wait.
    #[track_caller]
    fn wait_until(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool;
}

/// Waiting for others that know which thread they wake.
pub trait Wake: Wait {
    /// The time since the start of the run.
    fn now(&self) -> Time;

    /// Whether the run has been cancelled, so that what waits is unwound.
    fn is_cancelled(&self) -> bool;

    /// Has the threads of `to` ask again what they wait for. A program that changes ordinary memory
    /// for which another processor [waits](Wait::wait_until) calls it afterwards; mailboxes,
    /// signals and the MFC of a Cell do so themselves.
    ///
    /// # Panics
    ///
    /// If the machine has no such SPE.
    #[track_caller]
    fn notify(&self, to: Processor);

    /// The calling thread, for others to [`wake`](Self::wake).
    fn sleeper(&self) -> Sleeper;

    /// Says what the calling thread does from now on, such as "process `a`": if its stack
    /// overflows, the report says so. Returns what was said before. It does nothing on machines
    /// that report no overflows.
    fn set_task(&self, task: Option<String>) -> Option<String> {
        let _ = task;
        None
    }

    /// As [`wait_until`](Wait::wait_until), for what other threads make true that know this one and
    /// [wake](Self::wake) it. After a [`notify`](Self::notify) `ready` need not be asked: so it
    /// makes no difference how many other threads of the core wait in the same way.
    #[track_caller]
    #[inline(always)]
    fn wait_until_woken(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool {
        self.wait_until(why, ready)
    }

    /// Whether a thread that another core is going to [wake](Self::wake) had better wait by
    /// [`wait_until`](Wait::wait_until), and give out a sleeper that [looks](Sleeper::that_looks).
    /// So it is if no other thread of its core is ready, and few wait in this way: then the core
    /// looks all the time, and a wake-up takes the other core less time. It is a hint.
    #[inline(always)]
    fn would_look(&self) -> bool {
        false
    }

    /// Whether this is the calling thread, if it is known that it has not ended: otherwise another
    /// one may have its place.
    #[inline]
    fn is_calling(&self, sleeper: Sleeper) -> bool {
        self.sleeper() == sleeper
    }

    /// Has one thread ask again what it [waits](Wait::wait_until) for; the caller has just made
    /// that true.
    ///
    /// On a host a thread of the caller's own core is told directly, which takes a few nanoseconds,
    /// and one of another core by a queue of its core. Neither takes longer if many threads wait.
    /// Nothing happens if the thread does not wait, or has ended.
    ///
    /// On a simulated machine it takes no time, as [`notify`](Self::notify): what carries the news
    /// between processors is for the caller to simulate.
    #[inline(always)]
    fn wake(&self, sleeper: Sleeper) {
        if !self.wake_here(sleeper) {
            self.wake_elsewhere(sleeper);
        }
    }

    /// As [`wake`](Self::wake), if the thread is one of the caller's own core and told directly.
    /// Else it does nothing and says false.
    #[inline(always)]
    fn wake_here(&self, sleeper: Sleeper) -> bool {
        let _ = sleeper;
        false
    }

    /// As [`wake`](Self::wake), of a thread that [`wake_here`](Self::wake_here) says is not here.
    fn wake_elsewhere(&self, sleeper: Sleeper);

    /// Wakes threads of this run from wherever one of its programs is, also where there is no
    /// processor at hand, such as in a destructor.
    fn remote_waker(&self) -> RemoteWaker;

    /// Waits until `done` says true, in a run that was cancelled and before the calling thread is
    /// unwound: for a thread that has lent what is on its stack to programs that have not ended
    /// yet. The other threads of its processor are unwound meanwhile.
    ///
    /// `done` is asked again and again. To be called between the catch of what unwound the thread
    /// and its resumption, never while the thread unwinds. No time passes where it is simulated.
    fn outlast(&self, done: &mut dyn FnMut() -> bool);

    /// Waits for some nanoseconds, in which another core may do what the caller is about to wait
    /// for, and says true; or does nothing and says false: if another thread of this core wants to
    /// run, and always where time is simulated and on a PPE.
    #[inline(always)]
    fn wait_briefly(&self) -> bool {
        false
    }

    /// As [`wait_until`](Wait::wait_until), but returns false when `deadline` has come and `ready`
    /// does not say true.
    ///
    /// A thread that waits so is no part of a deadlock: it will go on by itself.
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
    /// With what wakes the threads of a run: for machines to make. `wake` is called on the OS
    /// threads that run programs of the machine or are [admitted](Outside::admit), and also on
    /// others and after the end of the run, where it may do nothing.
    pub fn new(wake: impl Fn(Sleeper) + Send + Sync + 'static) -> Self {
        Self(Arc::new(wake))
    }

    /// Has a thread ask again what it waits for, as [`Wake::wake`] does. Nothing happens if the
    /// run has ended, or on an OS thread that runs none of its programs and is not
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

/// A run, for OS threads that run none of its programs and yet wake its threads: see
/// [`PpeCore::outside`](crate::PpeCore::outside).
///
/// Such a thread is counted as one of the run's: as long as it does not wait for the run's programs
/// it may wake one of them, and the run is in no deadlock.
pub trait Outside: Send + Sync {
    /// As [`Wake::now`].
    fn now(&self) -> Time;

    /// As [`Wake::is_cancelled`].
    fn is_cancelled(&self) -> bool;

    /// As [`Wake::notify`], by a thread that is counted.
    #[track_caller]
    fn notify(&self, to: Processor);

    /// Counts one more thread outside. The caller is a program of the run that does not wait, or a
    /// thread that is counted.
    fn admit(&self);

    /// Counts one thread outside less: it has ended, or waits for a program of the run, which
    /// [admits](Self::admit) it before it wakes it. If all other threads of the run wait, too, this
    /// ends the run as a deadlock.
    fn dismiss(&self);
}

/// Asks `attempt` until it gives something; the type's default if the run was cancelled while the
/// caller already unwinds.
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

/// A thread that may wait: what to [wake](Wake::wake).
///
/// It may be kept for longer than the thread lives, and be sent anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sleeper {
    thread: (usize, u64),
    /// The number of its SPE, or [`PPE`], and [`LOOKS`] if it looks. One word, as a thread that
    /// wakes others copies it again and again.
    processor: u32,
}

/// No SPE has this number.
const PPE: u32 = LOOKS - 1;

/// Above all numbers of SPEs.
const LOOKS: u32 = 1 << 31;

impl Sleeper {
    /// A thread of a processor: for machines to make.
    ///
    /// # Safety
    ///
    /// `thread` is what the machine needs to be told in order to find the thread; only the machine
    /// knows what makes it valid.
    #[inline]
    pub unsafe fn new(processor: Processor, thread: (usize, u64)) -> Self {
        let processor = match processor {
            Processor::Ppe => PPE,
            Processor::Spe(spe) => spe.index() as u32,
        };
        Self { thread, processor }
    }

    /// The same thread, for a wait in which it looks or not: whether that is a
    /// [`wait_until`](Wait::wait_until), so that a [`notify`](Wake::notify) of its processor is
    /// enough to wake it.
    #[inline]
    pub fn that_looks(self, looks: bool) -> Self {
        let flag = if looks { LOOKS } else { 0 };
        Self {
            processor: self.processor & !LOOKS | flag,
            ..self
        }
    }

    /// Whether it [looks](Self::that_looks).
    #[inline]
    pub fn looks(self) -> bool {
        self.processor & LOOKS != 0
    }

    /// Where the thread runs.
    #[inline]
    pub fn processor(self) -> Processor {
        match self.processor & !LOOKS {
            PPE => Processor::Ppe,
            spe => Processor::Spe(SpeId::new(spe as u16)),
        }
    }

    /// What [`new`](Self::new) was given: for machines.
    #[inline]
    pub fn thread(self) -> (usize, u64) {
        self.thread
    }
}
