//! A worker: one OS thread that runs the programs of one or more SPEs as cooperative threads.
//!
//! A waiting thread parks. Whenever no thread of the worker is ready, [`Idle::idle`] lets the
//! polling threads check their conditions, and moves the worker through these stages:
//!
//! ```text
//!   busy ──► spinning, for some microseconds ──► prepared to sleep, last check ─────► asleep
//!     ▲                    │                                │                          │
//!     └──── a thread found its condition true ◄─────────────┴──────────────────────────┘
//! ```
//!
//! A thread that waits for a word in memory polls. Other threads change the word and notify the
//! worker, but do not wake the waiting thread by its [`Sleeper`]. While other threads of the worker
//! run, polling threads check their conditions only from time to time.
//!
//! Other threads wake a thread by its [`Sleeper`]: directly if they run on the same worker,
//! otherwise through [`WokenThreads`](crate::woken::WokenThreads). Such a thread does not poll.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::layout::WorkerLayout;
use crate::parking::{Parking, Woken};
use crate::run::{PPE_SEAT, Run};
use cellworks_machine::{Places, Processor, Sleeper, SpeId, Time, Wait, Waiting};
use cellworks_threads::{self as threads, Idle, Owner, Thread, Verdict};

/// The owner of the cooperative threads of hosts.
// SAFETY: only workers use the owner, and only on cores that they began with `Owner::run`.
pub(crate) const OWNER: Owner = unsafe { Owner::new() };

/// The time that an OS thread spins before it sleeps: about the time of a sleep and a wake-up.
/// Therefore the spin and the wake-up together take at most twice as long as an immediate sleep and
/// its wake-up. On a virtual machine with a Xeon, `membarrier` takes 10 to 16 us, and a wake-up 38
/// to 48 us. With 10 us, a loop of 8 items took 74 us instead of 56, because the second worker
/// slept while the last item ran.
const SPIN: Duration = Duration::from_micros(50);

/// The longest time to spin while other threads are being woken. It is longer than the time of a
/// wake-up, because a third thread may occupy the CPU of the woken thread.
const LONGEST_SPIN: Duration = Duration::from_micros(100);

/// If a yield to another OS thread of the run takes longer, another program probably uses the CPU.
/// Linux then takes the yield for the gift of a whole time slice, also to that program.
const LONG_YIELD: Duration = Duration::from_micros(500);

/// After a long yield, a thread sleeps instead of yielding for this many times as long. Therefore
/// yields that another program gets take about a tenth of the time at most.
const SLEEPS_PER_LONG_YIELD: u32 = 40;

/// One of this many yields is timed, because two readings of the clock take as long as a tenth of a
/// yield.
const YIELDS_PER_CLOCK: u32 = 4;

/// The number of polls between two readings of the clock.
const POLLS_PER_CLOCK: u32 = 16;

/// The number of polls of a waiting thread before it parks. They take half a microsecond.
const POLLS_BEFORE_PARK: u32 = 32;

/// The number of waits by threads of a worker before the threads in `WokenThreads` continue.
/// Without this limit, running threads that keep waking each other could delay the threads in
/// `WokenThreads` forever.
const WAITS_PER_WAKE: u8 = 128;

/// The largest number of polling threads that check their conditions every [`WAITS_PER_WAKE`]
/// waits. If a worker has more polling threads, they check only every 256 waits, because the switch
/// to each thread takes about 10 ns.
const POLLERS: usize = 6;

/// The number of yields between two calls of [`Worker::look_outside`].
const YIELDS_PER_POLL: u32 = 16;

/// The condition for which an SPE without a program waits. Reports of deadlocks omit this wait.
pub(crate) const NO_PROGRAM: &str = "a program to be spawned on its SPE";

/// The state of a loop that spins for a limited time.
pub(crate) struct Spin {
    since: Cell<Option<Instant>>,
    /// The time to spin, measured from `since`.
    limit: Cell<Duration>,
    polls: Cell<u32>,
    /// The seat of another OS thread on the same CPU, if there is one.
    neighbour: Option<usize>,
    /// The time until which the thread does not yield, after a yield that took long.
    sleeps_until: Cell<Option<Instant>>,
    yields: Cell<u32>,
    /// The number of yields at the last call of [`let_neighbour_run`](Self::let_neighbour_run).
    at_last_call: Cell<u32>,
    /// See [`instructions_of_a_pause`].
    pause: u32,
}

impl Spin {
    pub(crate) fn new(neighbour: Option<usize>) -> Self {
        Self {
            since: Cell::new(None),
            limit: Cell::new(SPIN),
            polls: Cell::new(0),
            neighbour,
            sleeps_until: Cell::new(None),
            yields: Cell::new(0),
            at_last_call: Cell::new(0),
            pause: instructions_of_a_pause(),
        }
    }

    /// Returns whether another OS thread of the run on this CPU is ready to run.
    fn is_crowded(&self, parking: &Parking) -> bool {
        self.neighbour.is_some_and(|seat| parking.runs(seat))
    }

    /// Pauses and returns true, or returns false if another OS thread of the run on this CPU is
    /// ready.
    #[inline(always)]
    pub(crate) fn wait_briefly(&self, parking: &Parking) -> bool {
        let is_alone = !self.is_crowded(parking);
        if is_alone {
            pause_for_a_line(self.pause);
        }
        is_alone
    }

    /// If another OS thread of the run on this CPU is ready, and this thread has not yielded since
    /// the last call, lets that thread run. For a time after a yield that took long, does nothing:
    /// the operating system then divides the CPU.
    pub(crate) fn let_neighbour_run(&self, parking: &Parking) {
        let at_last_call = self.at_last_call.replace(self.yields.get());
        if at_last_call == self.yields.get() && self.is_crowded(parking) {
            self.yield_now();
            self.at_last_call.set(self.yields.get());
        }
    }

    /// Yields the CPU, or returns false for a time after a yield that took long.
    fn yield_now(&self) -> bool {
        let sleeps_until = self.sleeps_until.get();
        if sleeps_until.is_some_and(|until| Instant::now() < until) {
            return false;
        }
        let yields = self.yields.get().wrapping_add(1);
        self.yields.set(yields);
        if !yields.is_multiple_of(YIELDS_PER_CLOCK) {
            std::thread::yield_now();
            return true;
        }
        let before = Instant::now();
        std::thread::yield_now();
        let after = Instant::now();
        let took = after - before;
        let is_long = took > LONG_YIELD;
        let until = is_long.then(|| after + took * SLEEPS_PER_LONG_YIELD);
        self.sleeps_until.set(until);
        true
    }

    /// Waits a moment and returns true, or returns false if the time for spinning is over.
    pub(crate) fn again(&self, parking: &Parking) -> bool {
        let polls = self.polls.get().wrapping_add(1);
        self.polls.set(polls);
        if self.is_crowded(parking) {
            if !self.yield_now() {
                return false;
            }
        } else {
            std::hint::spin_loop();
            if !polls.is_multiple_of(POLLS_PER_CLOCK) {
                return true;
            }
        }
        let Some(since) = self.since.get() else {
            self.since.set(Some(Instant::now()));
            self.limit.set(SPIN);
            return true;
        };
        let spun = since.elapsed();
        // The woken thread may soon wake the spinning thread, so spinning longer saves a wake-up.
        if parking.is_waking() {
            self.limit.set(LONGEST_SPIN.min(spun + SPIN));
        }
        spun < self.limit.get()
    }

    pub(crate) fn reset(&self) {
        self.since.set(None);
    }
}

/// The length of a [pause](pause_for_a_line) between two polls of a cache line that another core
/// will change. Each poll takes the line from the other core, which then waits for the line again.
/// On a virtual machine with an Intel Xeon, where the way of a line takes 138 ns, a rendezvous of
/// two cores takes 195 ns with pauses of 20 ns, 105 with 80, and 122 with 155. On a Zen 5 pauses of
/// 15 ns were best, and 26 took 5 ns longer (docs/performance.md).
fn instructions_of_a_pause() -> u32 {
    // A virtual machine leaves the processor for each `cpuid`.
    static NUMBER: OnceLock<u32> = OnceLock::new();
    *NUMBER.get_or_init(|| if is_intel() { 20 } else { 5 })
}

#[cfg(target_arch = "x86_64")]
fn is_intel() -> bool {
    let vendor = std::arch::x86_64::__cpuid(0);
    [vendor.ebx, vendor.edx, vendor.ecx] == GENUINE_INTEL
}

#[cfg(not(target_arch = "x86_64"))]
fn is_intel() -> bool {
    false
}

/// The name of the vendor Intel, as `cpuid` returns it.
#[cfg(target_arch = "x86_64")]
const GENUINE_INTEL: [u32; 3] = [
    u32::from_le_bytes(*b"Genu"),
    u32::from_le_bytes(*b"ineI"),
    u32::from_le_bytes(*b"ntel"),
];

/// Pauses for this many instructions, each of which takes some 4 ns.
#[inline(always)]
fn pause_for_a_line(instructions: u32) {
    #[cfg(target_arch = "x86_64")]
    for _ in 0..instructions {
        // SAFETY: every x86-64 has SSE2.
        unsafe { std::arch::x86_64::_mm_lfence() };
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = instructions;
        std::hint::spin_loop();
    }
}

/// The state that the threads of a worker share.
pub(crate) struct Worker {
    pub(crate) run: Arc<Run>,
    seat: usize,
    /// The earliest deadline of a waiting thread.
    deadline: Cell<Option<Time>>,
    /// Whether no thread was ready at the last check, and none has found its condition true since.
    is_idle: Cell<bool>,
    /// Whether the worker has called [`Parking::prepare`]. The worker is then also idle.
    prepared: Cell<bool>,
    spin: Spin,
    yields: Cell<u32>,
    /// The number of waits, modulo 256. When this number is 0, all polling threads check their
    /// conditions, even if other threads of the worker keep waking each other.
    waits: Cell<u8>,
    /// The polling threads. A thread in this list may have continued already.
    pollers: RefCell<Vec<Thread>>,
    /// The places of the threads in foreign source.
    pub(crate) places: Places,
}

impl Worker {
    pub(crate) fn at(seat: usize, run: Arc<Run>, layout: &WorkerLayout) -> Rc<Self> {
        Rc::new(Self {
            run,
            seat,
            deadline: Cell::new(None),
            is_idle: Cell::new(false),
            prepared: Cell::new(false),
            spin: Spin::new(layout.with_ppe.then_some(PPE_SEAT)),
            yields: Cell::new(0),
            waits: Cell::new(0),
            pollers: RefCell::default(),
            places: Places::default(),
        })
    }

    #[track_caller]
    fn sleep(&self, why: &dyn fmt::Display, polls: bool) {
        self.count_wait();
        if polls {
            self.add_poller();
        }
        OWNER.park(why);
    }

    fn add_poller(&self) {
        self.pollers.borrow_mut().push(OWNER.current());
    }

    /// Lets the polling threads and the threads in `WokenThreads` continue.
    fn unpark(&self) {
        for thread in self.pollers.borrow_mut().drain(..) {
            OWNER.unpark_parked(thread);
        }
        self.unpark_woken();
    }

    #[inline]
    fn unpark_woken(&self) {
        self.run.woken(self.seat).take(|thread| {
            // SAFETY: as in `wake_here`.
            unsafe { Thread::from_raw(thread) }.unpark();
        });
    }

    #[inline(always)]
    fn count_wait(&self) {
        let waits = self.waits.get().wrapping_add(1);
        self.waits.set(waits);
        if waits.is_multiple_of(WAITS_PER_WAKE) {
            self.wake_or_poll(waits);
        }
    }

    #[cold]
    #[inline(never)]
    fn wake_or_poll(&self, waits: u8) {
        if waits == 0 || self.has_few_pollers() {
            self.look_outside();
        } else {
            self.unpark_woken();
        }
    }

    pub(crate) fn has_few_pollers(&self) -> bool {
        self.pollers.borrow().len() <= POLLERS
    }

    /// Lets the polling threads and the threads in `WokenThreads` continue. If the run was
    /// cancelled, cancels the threads of this worker.
    #[cold]
    #[inline(never)]
    pub(crate) fn look_outside(&self) {
        self.unpark();
        if self.run.is_cancelled() {
            self.cancel();
        }
    }

    #[inline(always)]
    pub(crate) fn sleeper(&self, id: SpeId) -> Sleeper {
        // SAFETY: the numbers come from `into_raw`.
        unsafe { Sleeper::new(Processor::Spe(id), OWNER.current().into_raw()) }
    }

    #[inline(always)]
    pub(crate) fn wake_here(&self, sleeper: Sleeper) -> bool {
        // SAFETY: the numbers of a sleeper come from `into_raw`, or identify no thread.
        unsafe { Thread::from_raw(sleeper.thread()) }.try_unpark()
    }

    #[track_caller]
    pub(crate) fn wait_until_deadline(
        &self,
        why: &dyn fmt::Display,
        deadline: Time,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        loop {
            if ready() {
                self.progress();
                return true;
            }
            if self.run.now() >= deadline {
                self.progress();
                return false;
            }
            let earliest = self.deadline.get().map_or(deadline, |at| at.min(deadline));
            self.deadline.set(Some(earliest));
            self.sleep(why, true);
            if threads::is_cancelled() {
                // Only a thread that unwinds comes here, and a destructor must not wait.
                return ready();
            }
        }
    }

    /// Records that a thread has found its condition true.
    #[inline(always)]
    fn progress(&self) {
        if self.is_idle.get() {
            self.end_idling();
        }
    }

    #[cold]
    fn end_idling(&self) {
        self.is_idle.set(false);
        self.spin.reset();
        if self.prepared.replace(false) {
            self.run.parking.resume(self.seat);
        }
    }

    /// Yields. Every [`YIELDS_PER_POLL`]th call also calls [`look_outside`](Self::look_outside). A
    /// few polling threads check their conditions at each call, because the caller may compute for
    /// long between two calls.
    pub(crate) fn yield_now(&self) {
        let yields = self.yields.get().wrapping_add(1);
        self.yields.set(yields);
        if yields.is_multiple_of(YIELDS_PER_POLL) {
            self.look_outside();
            if !threads::others_ready() && self.spin.is_crowded(&self.run.parking) {
                std::thread::yield_now();
            }
        } else if self.has_few_pollers() {
            self.unpark();
        } else {
            self.unpark_woken();
        }
        OWNER.yield_now();
    }

    fn cancel(&self) {
        if !threads::is_cancelled() {
            let waits = threads::blocked_threads()
                .into_iter()
                .filter(|thread| thread.waits_for != NO_PROGRAM && thread.name != "main");
            self.run.report(waits.map(|thread| Waiting {
                who: thread.name,
                thread: thread.thread,
                what: thread.waits_for,
                location: thread.at,
                place: self.places.of(thread.thread),
                since: None,
            }));
            OWNER.cancel_all();
        }
    }
}

/// A check of a thread's condition. If the condition panics, `drop` calls [`Worker::progress`],
/// because the unwinding thread may make other conditions true.
struct Check<'a>(&'a Worker);

impl Drop for Check<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.progress();
    }
}

impl Worker {
    #[inline(always)]
    fn check(&self, ready: &mut dyn FnMut() -> bool) -> bool {
        let check = Check(self);
        let is_ready = ready();
        if !is_ready {
            std::mem::forget(check);
        }
        is_ready
    }

    /// Continues a wait after the first check of `ready` and the first switch to other threads.
    #[track_caller]
    #[inline(never)]
    fn wait_longer(
        &self,
        why: &dyn fmt::Display,
        polls: bool,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        if !threads::others_ready() && self.poll_again(ready) {
            return true;
        }
        loop {
            self.sleep(why, polls);
            let is_ready = self.check(ready);
            // In a cancelled run the thread unwinds, and a destructor must not wait.
            if is_ready || threads::is_cancelled() {
                return is_ready;
            }
        }
    }

    /// Waits until `ready` returns true. If `polls` is false, checks it again only when woken.
    #[track_caller]
    #[inline(always)]
    fn wait(&self, why: &dyn fmt::Display, polls: bool, ready: &mut dyn FnMut() -> bool) -> bool {
        if self.check(ready) {
            return true;
        }
        self.count_wait();
        if polls && threads::others_ready() {
            self.add_poller();
        }
        if OWNER.try_park(why) && self.check(ready) {
            return true;
        }
        self.wait_longer(why, polls, ready)
    }

    #[track_caller]
    #[inline(always)]
    pub(crate) fn wait_until_woken(
        &self,
        why: &dyn fmt::Display,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        self.wait(why, false, ready)
    }

    #[inline(always)]
    pub(crate) fn is_prepared(&self) -> bool {
        self.prepared.get()
    }

    #[inline(always)]
    pub(crate) fn would_poll(&self) -> bool {
        !threads::others_ready() && self.has_few_pollers()
    }

    /// Polls [`POLLS_BEFORE_PARK`] times, or until another thread of the worker is ready.
    fn poll_again(&self, ready: &mut dyn FnMut() -> bool) -> bool {
        for _ in 1..POLLS_BEFORE_PARK {
            if !self.wait_briefly() {
                return false;
            }
            if self.check(ready) {
                return true;
            }
        }
        false
    }

    #[inline(always)]
    pub(crate) fn wait_briefly(&self) -> bool {
        !threads::others_ready()
            && self.pollers.borrow().is_empty()
            && !self.run.woken(self.seat).has_some()
            && self.spin.wait_briefly(&self.run.parking)
    }
}

impl Wait for Worker {
    #[track_caller]
    #[inline(always)]
    fn wait_until(&self, why: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool {
        self.wait(why, true, ready)
    }
}

impl Idle for Worker {
    fn idle(&self) -> Verdict {
        let run = &self.run;
        self.is_idle.set(true);
        if self.prepared.replace(false) {
            if run.is_cancelled() {
                run.parking.resume(self.seat);
            } else if let Some(deadline) = self.deadline.take() {
                let left = deadline.since(run.now());
                run.parking.park_for(self.seat, left.into());
            } else if run.parking.park(self.seat) == Woken::AllSleep {
                run.end_in_deadlock();
            }
            self.spin.reset();
        } else if !self.spin.again(&run.parking) {
            run.parking.prepare(self.seat);
            self.prepared.set(true);
        }
        if run.is_cancelled() {
            self.progress();
            // All threads are cancelled before one runs: an unwinding thread may make the condition
            // of another thread true, which would then continue normally.
            self.cancel();
        }
        self.unpark();
        Verdict::Continue
    }

    fn programs(&self) -> Vec<String> {
        self.run.running()
    }
}
