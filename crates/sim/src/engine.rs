//! Who runs when: the event loop, the processors and their cooperative threads.
//!
//! All programs of a simulated machine are cooperative threads of one OS thread, and one of them runs at
//! a time. There is no thread that runs the event loop: whoever has to wait runs it, on its own stack,
//! until somebody may go on, and switches straight to that one. Often that is itself.
//!
//! ```text
//!   a program calls             suspend(me): loop
//!   pass(cycles) ──────────►      next event ─► fabric, MFC, words ... ─► checks what threads of the
//!   wait_until(ready) ─────►                                              processor wait for
//!   yield_now() ───────────►      a thread may go on ─► me? return : switch to it
//!                                 no event is left    ─► deadlock: list the waits, cancel all
//! ```
//!
//! Time within a processor runs ahead of the clock: `compute` and other small costs add up to a *lag*, which
//! is paid before the next interaction with others. Two kinds of interaction need no event for that, which
//! halves the events of an exchange of words: what is sent leaves at a time of its own anyway, and who waits
//! for what others send can pay while it waits. Of the threads of an SPE one runs in simulated time; the others
//! are ready, or wait.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::sync::Arc;

use cellworks_machine::{
    CellId, LocalStoreUse, LocalStoreWatch, Processor, Sleeper, Span, SpeId, Time, Topology,
    Waiting,
};
use cellworks_threads::{self as threads, Idle, Thread, Verdict};

use crate::atomic::AtomicCaches;
use crate::costs::Costs;
use crate::fabric::{Fabric, Token, Transaction};
use crate::hazard::{Hazard, HazardWatch, Hazards};
use crate::mfc::MfcState;
use crate::observe::{Activity, Cause, Counters, Observer};
use crate::queue::{Event, Kind, Queue};
use crate::watchdog::Pulse;
use crate::words::{Flights, Words, node_of};

/// The right to the cooperative threads of simulated machines.
// SAFETY: it is used on cores that `run` begins with it, and programs cannot reach it.
pub(crate) const OWNER: threads::Owner = unsafe { threads::Owner::new() };

/// A thread of the run: an index into the engine's table.
pub(crate) type ThreadIndex = u32;

/// A processor: the PPE, or an SPE by its index plus one.
pub(crate) type CoreIndex = usize;

/// The PPE.
pub(crate) const PPE: CoreIndex = 0;

/// A lag that is paid at once, so that a program that only computes meets the limit of the run, in cycles.
const LAG_CYCLES_MAX: u64 = 1 << 20;

/// How often a trace is told how much rings, modules and links are used: once a microsecond.
const SAMPLE_FS: u64 = 1_000_000_000;

/// The state of a run, shared by all its programs.
pub(crate) struct World {
    pub topology: Topology,
    pub costs: Costs,
    now_fs: Cell<u64>,
    limit_fs: u64,
    events: Cell<u64>,
    /// When a trace is next told how much rings, modules and links are used; never if there is none.
    next_sample_fs: Cell<u64>,
    pub queue: RefCell<Queue>,
    pub fabric: RefCell<Fabric>,
    pub observer: RefCell<Observer>,
    pub hazards: RefCell<Hazards>,
    threads: RefCell<Vec<SimThread>>,
    /// The thread that is to run: the event loop has handled its event. Another one that is woken
    /// goes back to sleep.
    turn: Cell<ThreadIndex>,
    /// A condition has panicked, and its thread has not gone on yet.
    some_panicked: Cell<bool>,
    /// Places in `threads` whose threads have ended.
    free_places: RefCell<Vec<ThreadIndex>>,
    /// The PPE, then the SPEs.
    cores: Vec<Rc<Core>>,
    pub mfcs: Vec<RefCell<MfcState>>,
    /// What waits in the fabric for a thread: see [`Owner`].
    pub flights: RefCell<Flights>,
    pub caches: RefCell<AtomicCaches>,
    /// By SPE: a command has ended and its threads have not looked since.
    pub finished: Vec<Cell<bool>>,
    /// Where the next typed transfer is taken to be in main memory.
    pub typed_address: Cell<u64>,
    done: RefCell<Vec<Token>>,
    /// A condition is being asked: what it does costs time, but must not wait.
    in_condition: Cell<bool>,
    failure: RefCell<Option<Failure>>,
    pub pulse: Arc<Pulse>,
}

/// Why the programs were cancelled.
#[derive(Debug)]
pub(crate) enum Failure {
    Deadlock(Vec<Waiting>),
    TimeLimit(Vec<Waiting>),
}

/// Who gets the token of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A thread that waits for it.
    Thread(ThreadIndex),
    /// A line of an MFC's transfer: the SPE's index and the line's.
    Line { spe: u32, line: u32 },
    /// A word on its way to a register: its index in the flights.
    Word(u32),
}

impl Owner {
    const KIND_SHIFT: u32 = 30;
    const LINE_BITS: u32 = 10;

    /// The owner as a token.
    #[inline]
    pub fn token(self) -> Token {
        let (kind, rest) = match self {
            Self::Thread(thread) => (0, thread),
            Self::Line { spe, line } => (1, spe << Self::LINE_BITS | line),
            Self::Word(flight) => (2, flight),
        };
        Token(kind << Self::KIND_SHIFT | rest)
    }

    #[inline]
    fn of(Token(token): Token) -> Self {
        let rest = token & ((1 << Self::KIND_SHIFT) - 1);
        match token >> Self::KIND_SHIFT {
            0 => Self::Thread(rest),
            1 => Self::Line {
                spe: rest >> Self::LINE_BITS,
                line: rest & ((1 << Self::LINE_BITS) - 1),
            },
            _ => Self::Word(rest),
        }
    }
}

/// A processor. An SPE keeps a reference to its own, so that what a message takes finds it without a search.
pub(crate) struct Core {
    pub index: CoreIndex,
    pub processor: Processor,
    /// Its mailboxes and signals, if it is an SPE.
    pub words: Words,
    /// By which SPE receives, how long a word takes that needs no transaction.
    pub word_latency_fs: Vec<Option<u64>>,
    /// The thread that has the processor.
    running: Cell<Option<CoreThread>>,
    /// The thread whose registers it holds, so that going on with it costs no switch.
    loaded: Cell<Option<ThreadIndex>>,
    threads: RefCell<Threads>,
    lag_fs: Cell<u64>,
    /// Its threads wait, but the last of them has been doing something else until then: nothing is asked before.
    busy_until_fs: Cell<u64>,
}

/// The threads of a processor that do not have it.
#[derive(Default)]
struct Threads {
    ready: VecDeque<ThreadIndex>,
    /// In the order in which they began to wait.
    waiting: Vec<Waiter>,
}

impl Threads {
    /// Makes the thread at a place among those that wait ready, and returns it.
    // Apart, so that what messages take stays small.
    #[inline(never)]
    fn make_ready(&mut self, place: usize) -> ThreadIndex {
        let thread = self.waiting.remove(place).who.thread;
        self.ready.push_back(thread);
        thread
    }
}

/// A thread of a processor.
#[derive(Clone, Copy)]
struct CoreThread {
    thread: ThreadIndex,
    /// As in [`SimThread`].
    number: u32,
}

/// A cooperative thread.
struct SimThread {
    handle: Thread,
    core: CoreIndex,
    /// 0 for a program itself.
    number: u32,
    /// What its condition panicked with.
    panic: Option<Box<dyn Any + Send>>,
}

/// A thread that waits, with what `check` needs of it, so that asking it touches nothing else. The pointers are valid
/// while it waits.
#[derive(Clone, Copy)]
struct Waiter {
    who: CoreThread,
    why: *const dyn fmt::Display,
    ready: *mut dyn FnMut() -> bool,
    location: &'static Location<'static>,
    since_fs: u64,
    /// A processor without a program waits for one: no deadlock.
    is_idle: bool,
}

impl Core {
    fn new(index: CoreIndex, word_latency_fs: Vec<Option<u64>>) -> Self {
        Self {
            index,
            processor: match index {
                PPE => Processor::Ppe,
                index => Processor::Spe(SpeId::new(index as u16 - 1)),
            },
            words: Words::default(),
            word_latency_fs,
            running: Cell::new(None),
            loaded: Cell::new(None),
            threads: RefCell::default(),
            lag_fs: Cell::new(0),
            busy_until_fs: Cell::new(0),
        }
    }

    /// What it has done since it last paid.
    #[inline]
    pub fn lag_fs(&self) -> u64 {
        self.lag_fs.get()
    }

    /// Whether a thread would have it if the one that has it waited.
    #[inline]
    fn has_ready(&self) -> bool {
        !self.threads.borrow().ready.is_empty()
    }

    #[inline]
    fn running(&self) -> CoreThread {
        self.running
            .get()
            .expect("a program that runs has its processor")
    }
}

impl World {
    #[expect(clippy::too_many_arguments, reason = "called once")]
    pub fn new(
        topology: Topology,
        costs: Costs,
        fabric: Fabric,
        observer: Observer,
        hazards: Hazards,
        seed: u64,
        limit_fs: u64,
        mfcs: Vec<RefCell<MfcState>>,
        caches: AtomicCaches,
        pulse: Arc<Pulse>,
    ) -> Self {
        let next_sample_fs = if observer.is_tracing() { 0 } else { u64::MAX };
        let spes = 1..=topology.spes().len();
        let cores = (PPE..=topology.spes().len()).map(|from| {
            let latency_fs = |to| fabric.word_latency_fs(node_of(from), node_of(to));
            Rc::new(Core::new(from, spes.clone().map(latency_fs).collect()))
        });
        let cores = cores.collect();
        Self {
            topology,
            costs,
            now_fs: Cell::new(0),
            limit_fs,
            events: Cell::new(0),
            next_sample_fs: Cell::new(next_sample_fs),
            queue: RefCell::new(Queue::new(seed)),
            fabric: RefCell::new(fabric),
            observer: RefCell::new(observer),
            hazards: RefCell::new(hazards),
            threads: RefCell::default(),
            turn: Cell::new(ThreadIndex::MAX),
            some_panicked: Cell::new(false),
            free_places: RefCell::default(),
            cores,
            flights: RefCell::default(),
            caches: RefCell::new(caches),
            finished: vec![Cell::new(false); mfcs.len()],
            typed_address: Cell::new(0),
            mfcs,
            done: RefCell::default(),
            in_condition: Cell::new(false),
            failure: RefCell::new(None),
            pulse,
        }
    }

    /// The time of the event that is being handled.
    #[inline]
    pub fn now_fs(&self) -> u64 {
        self.now_fs.get()
    }

    /// The time as a processor sees it.
    pub fn now_of(&self, core: &Core) -> Time {
        Time::from_femtoseconds(u128::from(self.now_fs.get() + core.lag_fs.get()))
    }

    /// A processor.
    #[inline]
    pub fn core(&self, index: CoreIndex) -> &Core {
        &self.cores[index]
    }

    /// The processor that a program names.
    ///
    /// # Panics
    ///
    /// If it is an SPE that does not exist.
    #[track_caller]
    pub fn named(&self, processor: Processor) -> &Core {
        match processor {
            Processor::Ppe => self.core(PPE),
            Processor::Spe(spe) => self.spe(spe),
        }
    }

    /// The SPE that a program names.
    ///
    /// # Panics
    ///
    /// If it does not exist.
    #[inline]
    #[track_caller]
    pub fn spe(&self, spe: SpeId) -> &Rc<Core> {
        match self.cores.get(spe.index() + 1) {
            Some(core) => core,
            None => self.no_such_spe(spe),
        }
    }

    #[cold]
    #[track_caller]
    fn no_such_spe(&self, spe: SpeId) -> ! {
        panic!(
            "{spe} was named, but {} has {} SPEs; use `topology().spes()`",
            self.topology.name(),
            self.spe_count()
        )
    }

    /// How many SPEs there are.
    pub fn spe_count(&self) -> usize {
        self.mfcs.len()
    }

    /// Why the programs were cancelled, if they were by the engine.
    pub fn take_failure(&self) -> Option<Failure> {
        self.failure.borrow_mut().take()
    }

    /// Whether a condition is being asked, which must not wait.
    #[inline]
    pub fn is_in_condition(&self) -> bool {
        self.in_condition.get()
    }

    /// Makes the calling cooperative thread one of a processor: number 0 is the program itself.
    pub fn adopt(&self, core: &Core, number: u32) -> ThreadIndex {
        let mut threads = self.threads.borrow_mut();
        let thread = SimThread {
            handle: OWNER.current(),
            core: core.index,
            number,
            panic: None,
        };
        // An event names a thread only until the thread goes on, so places can be used again.
        if let Some(place) = self.free_places.borrow_mut().pop() {
            threads[place as usize] = thread;
            return place;
        }
        threads.push(thread);
        ThreadIndex::try_from(threads.len() - 1).expect("threads that live can be counted")
    }

    /// Gives a processor to a thread that was adopted when nobody had it.
    pub fn take_core(&self, thread: ThreadIndex) {
        let SimThread { core, number, .. } = self.threads.borrow()[thread as usize];
        let core = self.core(core);
        core.running.set(Some(CoreThread { thread, number }));
        core.loaded.set(Some(thread));
    }

    /// Adds to what a processor has done since it last paid. What goes beyond the limit of the run is not
    /// counted, so that times do not overflow.
    #[inline]
    pub fn add_lag(&self, core: &Core, span_fs: u64) {
        let beyond_limit_fs = self.limit_fs - self.now_fs.get() + 1;
        let lag_fs = core.lag_fs.get().saturating_add(span_fs);
        core.lag_fs.set(lag_fs.min(beyond_limit_fs));
    }

    /// Lets a program compute. A long time is paid at once.
    pub fn compute(&self, core: &Core, cycles: u64) {
        self.add_lag(core, cycles.saturating_mul(self.costs.cycle_fs));
        let lag_fs = core.lag_fs.get();
        let left_fs = self.limit_fs - self.now_fs.get();
        if lag_fs > left_fs.min(LAG_CYCLES_MAX * self.costs.cycle_fs) && !self.is_in_condition() {
            self.pass(core, 0);
        }
    }

    /// Lets time pass on a processor, its lag included, while its running thread keeps it. In a condition
    /// it is only added to the lag.
    #[inline]
    pub fn pass(&self, core: &Core, span_fs: u64) {
        if self.in_condition.get() {
            self.add_lag(core, span_fs);
            return;
        }
        let lag_fs = core.lag_fs.replace(0);
        let until_fs = self
            .now_fs
            .get()
            .saturating_add(lag_fs)
            .saturating_add(span_fs);
        self.sleep_until(core, until_fs);
    }

    #[inline(never)]
    fn sleep_until(&self, core: &Core, until_fs: u64) {
        if threads::is_cancelled() {
            return Self::unwind();
        }
        let mut queue = self.queue.borrow_mut();
        // Nobody can notice if the clock jumps.
        let alone = queue
            .next_time_fs()
            .is_none_or(|next_fs| next_fs > until_fs);
        if alone && until_fs <= self.limit_fs {
            self.now_fs.set(until_fs);
            self.pulse.beat(until_fs);
            return;
        }
        let me = core.running().thread;
        queue.push(until_fs, resume(me));
        drop(queue);
        self.suspend(me);
    }

    /// Waits until a transaction that begins after `start_fs` is complete. The thread keeps its processor.
    pub fn transact(
        &self,
        core: &Core,
        cause: Cause,
        start_fs: u64,
        transaction: impl FnOnce(Token) -> Transaction,
    ) {
        let processor = core.processor;
        let does = |activity| {
            let now_fs = self.now_fs.get();
            self.observer
                .borrow_mut()
                .activity(now_fs, processor, activity);
        };
        self.pass(core, 0);
        does(Activity::Waiting(cause));
        self.pass(core, start_fs);
        if threads::is_cancelled() {
            return;
        }
        let me = core.running().thread;
        let transaction = transaction(Owner::Thread(me).token());
        let mut queue = self.queue.borrow_mut();
        let now_fs = self.now_fs.get();
        self.fabric
            .borrow_mut()
            .begin(now_fs, transaction, &mut queue);
        drop(queue);
        self.suspend(me);
        does(Activity::Computing);
    }

    /// Has a thread go on, by an event at this time.
    pub fn resume_now(&self, thread: Option<ThreadIndex>) {
        if let Some(thread) = thread {
            self.queue
                .borrow_mut()
                .push(self.now_fs.get(), resume(thread));
        }
    }

    /// The memory module of ordinary memory, which programs stage: the nearest to the PPE.
    pub fn typed_module(&self) -> u16 {
        let cell = CellId::new(0);
        self.topology.nearest_module(cell).index() as u16
    }

    /// See [`Wait::wait_until`](cellworks_machine::Wait::wait_until).
    pub fn wait_until(
        &self,
        core: &Core,
        cause: Cause,
        why: &dyn fmt::Display,
        location: &'static Location<'static>,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        self.assert_may_wait(core);
        self.pass(core, 0);
        if self.ask(&mut *ready) {
            return true;
        }
        self.wait(core, cause, why, location, ready, false)
    }

    /// See [`Wake::wait_until_deadline`](cellworks_machine::Wake::wait_until_deadline).
    pub fn wait_until_deadline(
        &self,
        core: &Core,
        why: &dyn fmt::Display,
        location: &'static Location<'static>,
        deadline_fs: u64,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        let mut came_true = false;
        let mut ready_or_late = || {
            came_true = ready();
            came_true || self.now_fs.get() >= deadline_fs
        };
        self.assert_may_wait(core);
        self.pass(core, 0);
        if !self.ask(&mut ready_or_late) {
            self.check_at(deadline_fs, core);
            self.wait(core, Cause::Other, why, location, &mut ready_or_late, false);
        }
        came_true
    }

    /// The calling thread, for others to wake.
    pub fn sleeper(&self, core: &Core) -> Sleeper {
        // Who unwinds after the run was cancelled has no processor, and is not woken.
        let thread = core
            .running
            .get()
            .map_or(usize::MAX, |running| running.thread as usize);
        // SAFETY: the number of a thread is only compared.
        unsafe { Sleeper::new(core.processor, (thread, 0)) }
    }

    /// A condition must not wait: it may be asked on the stack of any thread, which would wait instead.
    pub fn assert_may_wait(&self, core: &Core) {
        assert!(
            !self.in_condition.get(),
            "{} waits within the condition of another wait; conditions must not wait",
            core.processor
        );
    }

    /// Waits for what is not there now, and what only an event of its own processor brings: a word, or the end
    /// of a command. As [`wait_until`](Self::wait_until), but the lag passes while it waits.
    // Inlined down to the switch of stacks: this is on the way of each message, and a frame costs some twenty
    // instructions, and a return that the processor predicts wrong because its stack of returns is another thread's.
    #[inline(always)]
    pub fn wait_for_event(
        &self,
        core: &Core,
        cause: Cause,
        why: &dyn fmt::Display,
        location: &'static Location<'static>,
        ready: &mut dyn FnMut() -> bool,
    ) {
        if self.in_condition.get() || core.has_ready() {
            // Another thread gets the processor, so it must be known now when.
            self.wait_until(core, cause, why, location, ready);
            return;
        }
        self.wait(core, cause, why, location, ready, false);
    }

    /// Waits on a processor that runs no program, for which no deadlock is reported.
    pub fn wait_without_program(
        &self,
        core: &Core,
        location: &'static Location<'static>,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        if threads::is_cancelled() {
            return false;
        }
        ready()
            || self.wait(
                core,
                Cause::Other,
                &"a program to run",
                location,
                ready,
                true,
            )
    }

    #[inline(always)]
    fn wait(
        &self,
        core: &Core,
        cause: Cause,
        why: &dyn fmt::Display,
        location: &'static Location<'static>,
        ready: &mut dyn FnMut() -> bool,
        is_idle: bool,
    ) -> bool {
        if threads::is_cancelled() {
            Self::unwind();
            return self.ask(ready);
        }
        let who = core.running();
        let CoreThread { thread: me, number } = who;
        let since_fs = self.now_fs.get().saturating_add(core.lag_fs.replace(0));
        core.busy_until_fs.set(since_fs);
        // SAFETY: only the lifetimes change. The pointers are used by `check` and `waits` alone, and only
        // while this call has neither returned nor unwound: `check` and `tell_late_errors` take the waiter out
        // before they make the thread ready, and nobody else continues it; if it unwinds, `Waits` does,
        // which lives in its frame.
        let (why, asked) = unsafe {
            (
                std::mem::transmute::<&dyn fmt::Display, *const dyn fmt::Display>(why),
                std::mem::transmute::<&mut dyn FnMut() -> bool, *mut dyn FnMut() -> bool>(
                    &mut *ready,
                ),
            )
        };
        // From here on, whatever unwinds: a trace may be written by code that panics.
        let waits = Waits {
            threads: &core.threads,
            thread: me,
        };
        let mut threads = core.threads.borrow_mut();
        threads.waiting.push(Waiter {
            who,
            why,
            ready: asked,
            location,
            since_fs,
            is_idle,
        });
        let has_ready = !threads.ready.is_empty();
        drop(threads);
        core.running.set(None);
        let mut observer = self.observer.borrow_mut();
        if is_idle {
            observer.activity(since_fs, core.processor, Activity::Idle);
        } else {
            observer.waits(since_fs, core.processor, number, cause);
        }
        drop(observer);
        if has_ready && let Some(next) = self.dispatch(core) {
            self.queue.borrow_mut().push(since_fs, resume(next));
        }
        self.suspend(me);
        if threads::is_cancelled() {
            // Only a thread that unwinds gets here: its destructor is not kept waiting.
            drop(waits);
            return self.ask(ready);
        }
        // A thread is given the processor after its entry was taken out, and only then may the
        // entry's borrows end.
        assert!(
            core.running.get().is_some_and(|who| who.thread == me),
            "a thread of {} went on before its wait had ended",
            core.processor
        );
        std::mem::forget(waits);
        if self.some_panicked.get() {
            self.resume_panic(me);
        }
        true
    }

    /// Goes on with what the condition of a thread panicked with, if it did.
    #[cold]
    fn resume_panic(&self, me: ThreadIndex) {
        let mut threads = self.threads.borrow_mut();
        let panic = threads[me as usize].panic.take();
        self.some_panicked
            .set(threads.iter().any(|thread| thread.panic.is_some()));
        drop(threads);
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// Lets every other ready thread of an SPE run once; in a condition, which must not wait, none.
    pub fn yield_now(&self, core: &Core) {
        self.pass(core, self.costs.cycle_fs);
        if self.in_condition.get() || threads::is_cancelled() {
            return;
        }
        let me = core.running().thread;
        if !core.has_ready() {
            // The library saves and restores the registers of a thread that comes back to itself. A program
            // that started no threads is not linked with the library.
            if self.threads.borrow()[me as usize].number > 0 {
                self.pass(core, self.costs.switch_fs);
            }
            return;
        }
        self.go_behind_others(core, me);
    }

    /// As [`yield_now`](Self::yield_now), but without a switch if no other thread is ready.
    pub fn yield_ready(&self, core: &Core) {
        self.pass(core, self.costs.cycle_fs);
        let has_others = !core.threads.borrow().ready.is_empty();
        if has_others && !self.in_condition.get() && !threads::is_cancelled() {
            self.go_behind_others(core, core.running().thread);
        }
    }

    /// Gives an SPE to the next ready thread, of which there is one. The running one goes on after those that are ready now.
    fn go_behind_others(&self, core: &Core, me: ThreadIndex) {
        core.threads.borrow_mut().ready.push_back(me);
        core.running.set(None);
        if let Some(next) = self.dispatch(core) {
            self.queue
                .borrow_mut()
                .push(self.now_fs.get(), resume(next));
        }
        self.suspend(me);
    }

    /// Makes a thread ready that has just been adopted and sleeps.
    pub fn make_ready(&self, thread: ThreadIndex) {
        let core = self.threads.borrow()[thread as usize].core;
        self.core(core).threads.borrow_mut().ready.push_back(thread);
    }

    /// The running thread of a processor ends: the next one gets the processor.
    pub fn end_thread(&self, core: &Core) {
        let CoreThread { thread: me, number } = core.running();
        let now_fs = self.now_fs.get();
        self.observer
            .borrow_mut()
            .thread_ended(now_fs, core.processor, number);
        core.running.set(None);
        core.loaded.set(None);
        self.free_places.borrow_mut().push(me);
        if let Some(next) = self.check(core) {
            self.queue.borrow_mut().push(now_fs, resume(next));
        }
    }

    /// The program of a processor has ended for good.
    pub fn leave(&self, core: &Core) {
        core.running.set(None);
        // After a deadlock, the last event may be before what the program has computed then.
        let now_fs = self.now_fs.get().max(core.busy_until_fs.get());
        self.observer
            .borrow_mut()
            .activity(now_fs, core.processor, Activity::Idle);
    }

    /// Asks a condition.
    fn ask(&self, ready: &mut dyn FnMut() -> bool) -> bool {
        let _asking = self.asking();
        ready()
    }

    fn asking(&self) -> Asking<'_> {
        self.in_condition.set(true);
        Asking(&self.in_condition)
    }

    /// Has the threads of a processor ask again what they wait for, at this time.
    pub fn notify(&self, core: &Core) {
        if core.threads.borrow().waiting.is_empty() || threads::is_cancelled() {
            return;
        }
        self.check_at(self.now_fs.get(), core);
    }

    #[inline(never)]
    fn check_at(&self, time_fs: u64, core: &Core) {
        let event = Event {
            kind: Kind::Check,
            index: core.index as u32,
        };
        self.queue.borrow_mut().push(time_fs, event);
    }

    /// Asks what the threads of a processor wait for. Returns the thread that goes on at once, if one does.
    #[inline(never)]
    pub fn check(&self, core: &Core) -> Option<ThreadIndex> {
        self.ask_waiters(core)
    }

    /// [`check`](Self::check), for the event loop.
    #[inline(always)]
    fn ask_waiters(&self, core: &Core) -> Option<ThreadIndex> {
        if core.busy_until_fs.get() > self.now_fs.get() {
            self.check_at(core.busy_until_fs.get(), core);
            return None;
        }
        let mut place = 0;
        loop {
            let waiter = core.threads.borrow().waiting.get(place).copied();
            let Some(Waiter { who, ready, .. }) = waiter else {
                break;
            };
            let lag_fs = core.lag_fs.get();
            // SAFETY: the thread waits, so its call of `wait` has not returned and still borrows the
            // condition; it asks nothing itself meanwhile, and no condition asks another one.
            let is_ready = catch_unwind(AssertUnwindSafe(|| self.ask(unsafe { &mut *ready })));
            match is_ready {
                Ok(false) => {
                    // The thread waits, and how often it was asked meanwhile takes nobody's time.
                    core.lag_fs.set(lag_fs);
                    place += 1;
                    continue;
                }
                Ok(true) => {}
                Err(panic) => {
                    self.threads.borrow_mut()[who.thread as usize].panic = Some(panic);
                    self.some_panicked.set(true);
                }
            }
            let mut threads = core.threads.borrow_mut();
            let Threads { ready, waiting } = &mut *threads;
            // Most SPEs have one thread, which has nobody to queue behind.
            let is_only = waiting.len() == 1 && ready.is_empty();
            if is_only && core.running.get().is_none() {
                waiting.clear();
                drop(threads);
                return self.give(core, who);
            }
            threads.make_ready(place);
        }
        self.dispatch(core)
    }

    /// Gives a free processor to its next ready thread. Returns the thread if it goes on at once, and not
    /// after a switch.
    #[inline(never)]
    fn dispatch(&self, core: &Core) -> Option<ThreadIndex> {
        if core.running.get().is_some() {
            return None;
        }
        let thread = core.threads.borrow_mut().ready.pop_front()?;
        let number = self.threads.borrow()[thread as usize].number;
        self.give(core, CoreThread { thread, number })
    }

    /// Gives a free processor to a thread. Returns the thread if it goes on at once, and not after a switch.
    #[inline(always)]
    fn give(&self, core: &Core, who: CoreThread) -> Option<ThreadIndex> {
        core.running.set(Some(who));
        let now_fs = self.now_fs.get().max(core.busy_until_fs.get());
        let mut observer = self.observer.borrow_mut();
        observer.goes_on(now_fs, core.processor, who.number);
        drop(observer);
        if core.loaded.get() == Some(who.thread) {
            return Some(who.thread);
        }
        core.loaded.set(Some(who.thread));
        self.resume_at(now_fs + self.costs.switch_fs, who.thread);
        None
    }

    // Apart, so that what messages take stays small.
    #[cold]
    #[inline(never)]
    fn resume_at(&self, time_fs: u64, thread: ThreadIndex) {
        self.queue.borrow_mut().push(time_fs, resume(thread));
    }

    /// Runs the event loop until this thread may go on, and lets others run meanwhile.
    #[inline(always)]
    fn suspend(&self, me: ThreadIndex) {
        match self.advance() {
            Some(next) if next == me => self.pulse.beat(self.now_fs.get()),
            // Whoever runs the event loop when this thread may go on hands over to it.
            Some(next) => {
                OWNER.hand_over(self.next_turn(next), &"its turn");
                self.wait_for_turn(me, &"its turn");
            }
            None => {
                self.cancel();
                Self::unwind();
            }
        }
    }

    /// Unwinds the calling thread, because all were cancelled. Returns in one that unwinds already.
    fn unwind() {
        OWNER.park(&"its end");
    }

    /// Takes down that it is the turn of another thread, and tells which one of the OS thread it is.
    #[inline(always)]
    fn next_turn(&self, next: ThreadIndex) -> Thread {
        self.turn.set(next);
        let thread = &self.threads.borrow()[next as usize];
        self.pulse
            .turn_of(self.now_fs.get(), thread.core, thread.number);
        thread.handle
    }

    /// Waits, as a thread that was just started, until the event loop continues it.
    pub fn first_turn(&self, me: ThreadIndex) {
        self.wait_for_turn(me, &"its first turn");
    }

    /// Waits until it is the turn of the calling thread, however often it is woken before. Returns
    /// at once in a thread that unwinds because the run was cancelled.
    #[inline(always)]
    fn wait_for_turn(&self, me: ThreadIndex, why: &dyn fmt::Display) {
        while self.turn.get() != me && !threads::is_cancelled() {
            OWNER.park(why);
        }
    }

    /// Handles events until a thread may go on. `None` if none ever may.
    #[inline(never)]
    fn advance(&self) -> Option<ThreadIndex> {
        // It would be asked again within itself.
        assert!(
            !self.in_condition.get(),
            "the condition of a wait tried to wait; conditions must not wait"
        );
        loop {
            let Some((time_fs, event)) = self.pop_event() else {
                if self.tell_late_errors() {
                    continue;
                }
                return None;
            };
            if time_fs > self.limit_fs {
                self.exceed_limit();
                return None;
            }
            self.now_fs.set(time_fs);
            if time_fs >= self.next_sample_fs.get() {
                self.sample_resources();
            }
            self.events.set(self.events.get() + 1);
            let next = match event.kind {
                Kind::Word => self.ask_waiters(self.word_arrives(event.index)),
                _ => self.handle(event),
            };
            if next.is_some() {
                return next;
            }
        }
    }

    /// Handles an event. Returns the thread that goes on at once, if one does.
    // Apart, so that what messages take stays small.
    #[inline(never)]
    fn handle(&self, Event { kind, index }: Event) -> Option<ThreadIndex> {
        match kind {
            Kind::Resume => Some(index),
            Kind::Word => self.check(self.word_arrives(index)),
            Kind::Check => self.check(self.core(index as usize)),
            Kind::Fabric => self.handle_fabric(index),
            Kind::MfcRequest => self.send_requests(index as usize),
            Kind::SendWord => {
                self.send_word(index);
                None
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn exceed_limit(&self) {
        *self.failure.borrow_mut() = Some(Failure::TimeLimit(self.waits()));
    }

    #[cold]
    #[inline(never)]
    fn sample_resources(&self) {
        let now_fs = self.now_fs.get();
        let resources = self.fabric.borrow().resources();
        self.observer.borrow_mut().resources(now_fs, &resources);
        self.next_sample_fs.set(now_fs.saturating_add(SAMPLE_FS));
    }

    fn pop_event(&self) -> Option<(u64, Event)> {
        self.queue.borrow_mut().pop()
    }

    /// Before a deadlock is reported: what an MFC found wrong, of which its program was not told yet, may be
    /// the cause. Says whether a thread goes on because of it, with a panic.
    #[cold]
    #[inline(never)]
    fn tell_late_errors(&self) -> bool {
        let mut has_told = false;
        for core in &self.cores {
            let mut threads = core.threads.borrow_mut();
            let Some(place) = threads.waiting.iter().position(|waiter| !waiter.is_idle) else {
                continue;
            };
            let Some(error) = self.take_late_error(core) else {
                continue;
            };
            let thread = threads.make_ready(place);
            self.threads.borrow_mut()[thread as usize].panic = Some(error);
            self.some_panicked.set(true);
            has_told = true;
        }
        for core in &self.cores {
            if let Some(next) = self.dispatch(core) {
                let time_fs = self.now_fs.get().max(core.busy_until_fs.get());
                self.queue.borrow_mut().push(time_fs, resume(next));
            }
        }
        has_told
    }

    // Apart, so that what messages take stays small.
    #[inline(never)]
    fn handle_fabric(&self, index: u32) -> Option<ThreadIndex> {
        let mut done = self.done.take();
        let now_fs = self.now_fs.get();
        self.fabric
            .borrow_mut()
            .handle(now_fs, index, &mut self.queue.borrow_mut(), &mut done);
        let mut next = None;
        for token in done.drain(..) {
            let resumed = match Owner::of(token) {
                Owner::Thread(thread) => Some(thread),
                Owner::Line { spe, line } => self.line_arrives(spe as usize, line as usize),
                Owner::Word(flight) => self.check(self.word_arrives(flight)),
            };
            if let Some(later) = next.and(resumed) {
                self.queue.borrow_mut().push(now_fs, resume(later));
            }
            next = next.or(resumed);
        }
        self.done.replace(done);
        next
    }

    /// What everybody waits for.
    #[cold]
    fn waits(&self) -> Vec<Waiting> {
        // What a description calls must not wait, nor let time pass.
        let _asking = self.asking();
        let mut waits = Vec::new();
        // The PPE last, as it usually waits for the others.
        for core in self.cores[PPE + 1..].iter().chain([&self.cores[PPE]]) {
            let mut waiting = core.threads.borrow().waiting.clone();
            waiting.sort_by_key(|waiter| waiter.who.thread);
            for waiter in waiting.iter().filter(|waiter| !waiter.is_idle) {
                // SAFETY: the thread waits, so its call of `wait` still borrows this.
                let why = unsafe { &*waiter.why };
                let what = catch_unwind(AssertUnwindSafe(|| why.to_string()));
                waits.push(Waiting {
                    who: match waiter.who.number {
                        0 => core.processor.to_string(),
                        number => format!("{}, thread {}", core.processor, number - 1),
                    },
                    thread: (waiter.who.thread as usize, 0),
                    what: what
                        .unwrap_or_else(|_| "something whose description panicked".to_owned()),
                    location: waiter.location,
                    since: Some(Time::default() + Span::from_femtoseconds(waiter.since_fs.into())),
                });
            }
        }
        waits
    }

    /// Unwinds everybody, because nobody can go on or the time is spent.
    fn cancel(&self) {
        self.take_down_deadlock();
        self.cancel_all();
    }

    /// No event is left: if nothing else has ended the run, everybody waits for somebody else.
    fn take_down_deadlock(&self) {
        if self.failure.borrow().is_none() {
            let waits = self.waits();
            *self.failure.borrow_mut() = Some(Failure::Deadlock(waits));
        }
    }

    /// What the run did.
    ///
    /// # Errors
    ///
    /// What kept the trace from being written.
    pub fn finish(&self) -> io::Result<Counters> {
        let resources = self.fabric.borrow().resources();
        let observer = self.observer.replace(Observer::new("", 0, None));
        let hazards = self
            .hazards
            .replace(Hazards::new(HazardWatch::Off, Vec::new()));
        // After a deadlock, the last event may be before what somebody has computed then.
        let busy_until_fs = self.cores.iter().map(|core| core.busy_until_fs.get());
        let end_fs = busy_until_fs.fold(self.now_fs.get(), u64::max);
        let mut counters = observer.finish(end_fs, resources, self.events.get())?;
        (counters.hazards, counters.hazards_seen) = hazards.finish();
        Ok(counters)
    }

    /// Ends the program that ran into a hazard, where hazards are errors.
    pub fn panic_if_hazard(&self, hazard: Option<Hazard>) {
        if let Some(hazard) = hazard
            && !threads::is_unwinding()
        {
            // Like a panic, but it is the machine that speaks, and at a place that says nothing.
            resume_unwind(Box::new(hazard.to_string()));
        }
    }

    /// What watches the local store of an SPE for the use of bytes that are in flight.
    pub fn local_store_watch(self: &Rc<Self>, spe: SpeId) -> LocalStoreWatch {
        let world = Rc::clone(self);
        Rc::new(move |what, at, bytes| {
            let now_fs = world.now_fs();
            let bytes = bytes as u32;
            let mut hazards = world.hazards.borrow_mut();
            let hazard = match what {
                LocalStoreUse::Read => hazards.local_access(now_fs, spe, at, bytes, false),
                LocalStoreUse::Write => hazards.local_access(now_fs, spe, at, bytes, true),
                LocalStoreUse::Reserve => hazards.buffer_reserved(now_fs, spe, at, bytes),
                LocalStoreUse::Release => hazards.buffer_released(now_fs, spe, at, bytes),
            };
            drop(hazards);
            world.panic_if_hazard(hazard);
        })
    }

    /// Unwinds everybody.
    pub fn cancel_all(&self) {
        self.queue.borrow_mut().clear();
        OWNER.cancel_all();
    }
}

/// The event that a thread goes on.
#[inline]
fn resume(thread: ThreadIndex) -> Event {
    Event {
        kind: Kind::Resume,
        index: thread,
    }
}

/// A thread waits as long as this lives.
struct Waits<'a> {
    threads: &'a RefCell<Threads>,
    thread: ThreadIndex,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        // Only if it was cancelled: otherwise `check` has taken it out.
        self.threads
            .borrow_mut()
            .waiting
            .retain(|waiter| waiter.who.thread != self.thread);
    }
}

/// A condition is being asked as long as this lives.
struct Asking<'a>(&'a Cell<bool>);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

/// Asked when a thread has ended and no other is ready: runs the event loop.
impl Idle for World {
    fn idle(&self) -> Verdict {
        if threads::is_cancelled() {
            return Verdict::Stuck;
        }
        match self.advance() {
            Some(next) => {
                self.next_turn(next).unpark();
                Verdict::Continue
            }
            None => {
                self.take_down_deadlock();
                self.queue.borrow_mut().clear();
                Verdict::Stuck
            }
        }
    }

    fn programs(&self) -> Vec<String> {
        self.pulse.programs()
    }
}
