//! A worker: one OS thread that runs the programs of one or more SPEs as cooperative threads.
//!
//! A thread that waits for something from outside parks. When no thread of the worker is ready,
//! [`Idle::idle`] lets all that are parked look again, in three stages:
//!
//! ```text
//!   busy ──► spinning, for some microseconds ──► prepared to sleep, one last look ──► asleep
//!     ▲                    │                                │                          │
//!     └──── a waiter found what it waited for ◄─────────────┴──────────────────────────┘
//! ```
//!
//! So what others do to an SPE need not know its threads: it changes a word and notifies the
//! worker. While other threads of the worker run, waiters get a look now and then.
//!
//! A thread that knows which other thread it gives something wakes that one alone: at once on the
//! same worker, by a queue on another one. Threads that wait for this do not look.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::layout::WorkerLayout;
use crate::parking::{Parking, Woken};
use crate::run::{PPE_SEAT, Run};
use cellworks_machine::{Processor, Sleeper, SpeId, Time, Wait, Waiting};
use cellworks_threads::{self as threads, Idle, Owner, Thread, Verdict};

/// The right to the cooperative threads of hosts.
// SAFETY: it is used on cores that workers begin with it, and programs cannot reach it.
pub(crate) const OWNER: Owner = unsafe { Owner::new() };

/// How long to spin before the OS thread sleeps: about what being woken costs, so that no wait
/// takes more than twice what it would with hindsight.
const SPIN: Duration = Duration::from_micros(10);

/// How long to spin at most while others are on the way from sleep: several times what being woken
/// costs, for another thread may have their CPU.
const LONGEST_SPIN: Duration = Duration::from_micros(50);

/// Looks between two readings of the clock while spinning.
const LOOKS_PER_CLOCK: u32 = 16;

/// Looks of a waiting thread before it parks, in half a microsecond: as long as no other thread of
/// its core is ready, looks too, or was woken.
const LOOKS_BEFORE_PARK: u32 = 32;

/// Waits of threads between two moments at which those go on that were woken from outside. Until
/// then they wait for their neighbours, each of which may have its turn again and again.
const WAITS_PER_WAKE: u8 = 128;

/// The most threads that look often. The look of a thread takes a switch of about 10 ns, and a
/// wake-up by name takes half as long again as a message between two cores.
const LOOKERS: usize = 6;

/// Yields between two looks of the waiters.
const YIELDS_PER_LOOK: u32 = 16;

/// What a thread that serves an SPE waits for when it has no program; not reported.
pub(crate) const NO_PROGRAM: &str = "a program to be spawned on its SPE";

/// Bounded spinning.
pub(crate) struct Spin {
    since: Cell<Option<Instant>>,
    /// When it is over, counted from its beginning.
    limit: Cell<Duration>,
    looks: Cell<u32>,
    /// The seat of another thread that has the same CPU.
    neighbour: Option<usize>,
}

impl Spin {
    pub(crate) fn new(neighbour: Option<usize>) -> Self {
        Self {
            since: Cell::new(None),
            limit: Cell::new(SPIN),
            looks: Cell::new(0),
            neighbour,
        }
    }

    /// Whether a thread that may be the one waited for wants the same CPU just now.
    fn is_crowded(&self, parking: &Parking) -> bool {
        self.neighbour.is_some_and(|seat| parking.runs(seat))
    }

    /// Waits a moment, unless the time for spinning is over.
    pub(crate) fn again(&self, parking: &Parking) -> bool {
        let looks = self.looks.get().wrapping_add(1);
        self.looks.set(looks);
        if self.is_crowded(parking) {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
            if !looks.is_multiple_of(LOOKS_PER_CLOCK) {
                return true;
            }
        }
        let Some(since) = self.since.get() else {
            self.since.set(Some(Instant::now()));
            self.limit.set(SPIN);
            return true;
        };
        let spun = since.elapsed();
        // Who is being woken may be the one waited for, and cannot answer yet: its time begins when
        // it goes on. Who fell asleep meanwhile would have to be woken in its turn.
        if parking.wakes_somebody() {
            self.limit.set(LONGEST_SPIN.min(spun + SPIN));
        }
        spun < self.limit.get()
    }

    /// The next wait spins anew.
    pub(crate) fn reset(&self) {
        self.since.set(None);
    }
}

/// Lets a moment pass between two looks at a line that another core is about to change: 15 ns on a
/// Zen 5. With no pause the line is taken from the CPU that is changing it: a rendezvous between
/// two cores takes 20 ns more; with the processor's own, of 26 ns, 5 more (docs/performance.md).
#[inline(always)]
fn pause_for_a_line() {
    #[cfg(target_arch = "x86_64")]
    for _ in 0..5 {
        // SAFETY: every x86-64 has SSE2.
        unsafe { std::arch::x86_64::_mm_lfence() };
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::hint::spin_loop();
}

/// What the threads of a worker share.
pub(crate) struct Worker {
    pub(crate) run: Arc<Run>,
    seat: usize,
    /// The earliest time until which one of them waits.
    deadline: Cell<Option<Time>>,
    /// Nobody was ready when it was last asked, and nobody has found what it waited for since.
    is_idle: Cell<bool>,
    /// Prepared to sleep; idle, then.
    prepared: Cell<bool>,
    spin: Spin,
    yields: Cell<u32>,
    /// Waits, modulo 256; whenever it is 0 all those threads look that do. Threads that wait for
    /// each other may keep a worker busy for ever, and a look of many should cost little, spread
    /// over the waits.
    waits: Cell<u8>,
    /// Threads that look whether they may go on; perhaps some that have looked since.
    lookers: RefCell<Vec<Thread>>,
}

impl Worker {
    /// The worker at a seat of a run, on the OS thread that calls this.
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
            lookers: RefCell::default(),
        })
    }

    /// Lets a thread wait for something from outside: until it is woken or, if it looks, until the
    /// next look.
    #[track_caller]
    fn sleep(&self, why: &dyn fmt::Display, looks: bool) {
        self.count_wait();
        if looks {
            self.will_look();
        }
        OWNER.park(why);
    }

    /// The calling thread is about to park, and looks again when the worker lets threads look.
    fn will_look(&self) {
        self.lookers.borrow_mut().push(OWNER.current());
    }

    /// Lets threads look that do, and lets those go on that were woken from outside.
    fn unpark(&self) {
        for thread in self.lookers.borrow_mut().drain(..) {
            OWNER.unpark_parked(thread);
        }
        self.unpark_woken();
    }

    /// Lets those threads go on that were woken from outside.
    #[inline]
    fn unpark_woken(&self) {
        self.run.woken(self.seat).take(|thread| {
            // SAFETY: as in `wake_here`.
            unsafe { Thread::from_raw(thread) }.unpark();
        });
    }

    /// Now and then, others get a look.
    #[inline(always)]
    fn count_wait(&self) {
        let waits = self.waits.get().wrapping_add(1);
        self.waits.set(waits);
        if waits.is_multiple_of(WAITS_PER_WAKE) {
            self.wake_or_look(waits);
        }
    }

    #[cold]
    #[inline(never)]
    fn wake_or_look(&self, waits: u8) {
        if waits == 0 || self.few_look() {
            self.look_outside();
        } else {
            self.unpark_woken();
        }
    }

    /// Whether a look of all threads that do takes little time.
    fn few_look(&self) -> bool {
        self.lookers.borrow().len() <= LOOKERS
    }

    /// Lets threads go on that something outside may concern, and obeys if the run was cancelled.
    #[cold]
    #[inline(never)]
    pub(crate) fn look_outside(&self) {
        self.unpark();
        if self.run.is_cancelled() {
            self.cancel();
        }
    }

    /// The calling thread, a cooperative thread of this worker.
    #[inline(always)]
    pub(crate) fn sleeper(&self, id: SpeId) -> Sleeper {
        // SAFETY: the numbers come from `into_raw`.
        unsafe { Sleeper::new(Processor::Spe(id), OWNER.current().into_raw()) }
    }

    /// See [`Wake::wake_here`](cellworks_machine::Wake::wake_here).
    #[inline(always)]
    pub(crate) fn wake_here(&self, sleeper: Sleeper) -> bool {
        // SAFETY: the code that makes a sleeper takes its numbers from `into_raw`, or has none that
        // name a thread.
        unsafe { Thread::from_raw(sleeper.thread()) }.try_unpark()
    }

    /// See [`Wake::wait_until_deadline`](cellworks_machine::Wake::wait_until_deadline).
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
                // Only a thread that unwinds gets here: its destructor is not kept waiting.
                return ready();
            }
        }
    }

    /// Somebody found what it waited for.
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

    /// Yields, with an eye on what happens outside.
    pub(crate) fn yield_now(&self) {
        let yields = self.yields.get().wrapping_add(1);
        self.yields.set(yields);
        if yields.is_multiple_of(YIELDS_PER_LOOK) {
            self.look_outside();
            if !threads::others_ready() && self.spin.is_crowded(&self.run.parking) {
                std::thread::yield_now();
            }
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
                since: None,
            }));
            OWNER.cancel_all();
        }
    }
}

/// A thread looks whether it may go on. If the look panics the worker goes on all the same: whoever
/// looked in vain before must be asked again.
struct Look<'a>(&'a Worker);

impl Drop for Look<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.progress();
    }
}

impl Worker {
    /// Asks a thread's condition.
    #[inline(always)]
    fn look(&self, ready: &mut dyn FnMut() -> bool) -> bool {
        let look = Look(self);
        let is_ready = ready();
        if !is_ready {
            std::mem::forget(look);
        }
        is_ready
    }

    /// Waits until `ready` says true, or the run is cancelled: no other thread of the worker wants
    /// to run, or this one was woken for nothing.
    #[track_caller]
    #[inline(never)]
    fn wait_longer(
        &self,
        why: &dyn fmt::Display,
        looks: bool,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        if !threads::others_ready() && self.look_again(ready) {
            return true;
        }
        loop {
            self.sleep(why, looks);
            let is_ready = self.look(ready);
            // If it is cancelled, only a thread that unwinds gets here: its destructor is not kept
            // waiting.
            if is_ready || threads::is_cancelled() {
                return is_ready;
            }
        }
    }

    /// Waits until `ready` says true. A thread that does not look asks when it is woken by name.
    #[track_caller]
    #[inline(always)]
    fn wait(&self, why: &dyn fmt::Display, looks: bool, ready: &mut dyn FnMut() -> bool) -> bool {
        if self.look(ready) {
            return true;
        }
        self.count_wait();
        if looks && threads::others_ready() {
            self.will_look();
        }
        if OWNER.try_park(why) && self.look(ready) {
            return true;
        }
        self.wait_longer(why, looks, ready)
    }

    /// See [`Wake::wait_until_woken`](cellworks_machine::Wake::wait_until_woken).
    #[track_caller]
    #[inline(always)]
    pub(crate) fn wait_until_woken(
        &self,
        why: &dyn fmt::Display,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        self.wait(why, false, ready)
    }

    /// See [`Wake::would_poll`](cellworks_machine::Wake::would_poll).
    #[inline(always)]
    pub(crate) fn would_poll(&self) -> bool {
        !threads::others_ready() && self.few_look()
    }

    /// Waits actively for a moment, while no other thread of the worker wants to run.
    fn look_again(&self, ready: &mut dyn FnMut() -> bool) -> bool {
        for _ in 1..LOOKS_BEFORE_PARK {
            if !self.wait_briefly() {
                return false;
            }
            if self.look(ready) {
                return true;
            }
        }
        false
    }

    /// See [`Wake::wait_briefly`](cellworks_machine::Wake::wait_briefly).
    #[inline(always)]
    pub(crate) fn wait_briefly(&self) -> bool {
        let is_alone = !threads::others_ready()
            && self.lookers.borrow().is_empty()
            && !self.run.woken(self.seat).has_some()
            && !self.spin.is_crowded(&self.run.parking);
        if is_alone {
            pause_for_a_line();
        }
        is_alone
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
            } else if run.parking.park(self.seat) == Woken::EverybodySleeps {
                run.end_in_deadlock();
            }
            self.spin.reset();
        } else if !self.spin.again(&run.parking) {
            run.parking.prepare(self.seat);
            self.prepared.set(true);
        }
        if run.is_cancelled() {
            self.progress();
            // Before anybody looks again: what others do while they unwind is no answer to a wait.
            self.cancel();
        }
        self.unpark();
        Verdict::Continue
    }

    fn programs(&self) -> Vec<String> {
        self.run.running()
    }
}
