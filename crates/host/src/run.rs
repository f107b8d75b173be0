//! One run: the state that the PPE and the workers share, from the first program to the last.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use cellworks_machine::memory::{AddressSpace, Region};
use cellworks_machine::{
    Cancelled, Outcome, Payload, Ppe, Processor, Program, RunEnd, RunError, Span, SpeId, Time,
    Topology, Waiting,
};

use crate::conditions::{CpuTime, cpu_time_of_this_thread};
use crate::parking::Parking;
use crate::pin::Pinned;
use crate::spe::HostSpe;
use crate::watchdog;
use crate::words::Words;
use crate::worker::OWNER;
use crate::{Host, HostPpe};

/// The PPE's seat in [`Parking`].
pub(crate) const PPE_SEAT: usize = 0;

/// A worker's seat in [`Parking`].
pub(crate) const fn seat_of(worker: usize) -> usize {
    PPE_SEAT + 1 + worker
}

/// What everybody in a run shares.
pub(crate) struct Run {
    pub(crate) topology: Topology,
    pub(crate) words: Vec<Words>,
    pub(crate) parking: Parking,
    /// The seat of each SPE's worker.
    pub(crate) seats: Vec<usize>,
    pub(crate) space: Arc<AddressSpace>,
    pub(crate) local_stores: Vec<Region>,
    pub(crate) strict: bool,
    pub(crate) stack_bytes: usize,
    /// What the threads of all runs of this host used, by seat.
    pub(crate) cpu_time: Arc<CpuTime>,
    /// Everybody is to unwind.
    cancelled: AtomicBool,
    /// No program will come any more.
    ended: AtomicBool,
    /// Programs that were spawned and have not ended.
    pub(crate) programs: AtomicUsize,
    spes: Vec<SpeState>,
    /// What the PPE waits for, while it sleeps.
    ppe_wait: Mutex<Option<Waiting>>,
    /// Who waited for what when everybody slept.
    waits: Mutex<Vec<Waiting>>,
    failures: Mutex<Vec<Failure>>,
    started: Instant,
}

/// What an SPE has to do.
#[derive(Default)]
struct SpeState {
    queue: Mutex<VecDeque<Program<HostSpe>>>,
    /// How many programs the queue has, to be looked at without the lock.
    queued: AtomicUsize,
    /// What runs now, for the watchdog.
    running: Mutex<Option<(&'static str, &'static Location<'static>)>>,
}

/// A program that panicked.
struct Failure {
    at: SpeId,
    program: &'static str,
    outcome: Arc<Outcome>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Run {
    fn new(host: &Host) -> Self {
        let topology = host.layout.topology.clone();
        let spes = topology.spes().len();
        Self {
            words: (0..spes).map(|_| Words::new()).collect(),
            parking: Parking::new(1 + host.layout.workers.len()),
            seats: host.layout.worker_of.iter().copied().map(seat_of).collect(),
            space: Arc::clone(&host.space),
            local_stores: host.local_stores.clone(),
            strict: host.strict,
            stack_bytes: host.stack_bytes,
            cpu_time: Arc::clone(&host.cpu_time),
            cancelled: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            programs: AtomicUsize::new(0),
            spes: (0..spes).map(|_| SpeState::default()).collect(),
            ppe_wait: Mutex::default(),
            waits: Mutex::default(),
            failures: Mutex::default(),
            started: Instant::now(),
            topology,
        }
    }

    pub(crate) fn now(&self) -> Time {
        Time::default() + Span::from(self.started.elapsed())
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Has everybody unwind.
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
        self.parking.notify_all();
    }

    /// Says what the PPE waits for, before it sleeps.
    pub(crate) fn ppe_waits(&self, wait: Option<Waiting>) {
        *lock(&self.ppe_wait) = wait;
    }

    /// Called by the last thread awake: everybody waits for somebody else.
    pub(crate) fn end_in_deadlock(&self) {
        let ppe = lock(&self.ppe_wait).clone();
        self.report(ppe);
        self.cancel();
    }

    pub(crate) fn report(&self, waits: impl IntoIterator<Item = Waiting>) {
        lock(&self.waits).extend(waits);
    }

    /// Wakes a processor if it sleeps.
    #[track_caller]
    #[inline]
    pub(crate) fn notify(&self, to: Processor) {
        self.parking.notify(self.seat_of(to));
    }

    /// The seat of the OS thread that runs a processor.
    #[track_caller]
    #[inline]
    pub(crate) fn seat_of(&self, processor: Processor) -> usize {
        match processor {
            Processor::Ppe => PPE_SEAT,
            Processor::Spe(spe) => *self.of_spe(&self.seats, spe),
        }
    }

    /// The words of an SPE.
    #[track_caller]
    pub(crate) fn words(&self, spe: SpeId) -> &Words {
        self.of_spe(&self.words, spe)
    }

    /// What belongs to an SPE, which must exist.
    #[track_caller]
    pub(crate) fn of_spe<'a, T>(&self, all: &'a [T], spe: SpeId) -> &'a T {
        all.get(spe.index()).unwrap_or_else(|| {
            panic!(
                "{spe} was named, but {} has {} SPEs; use `topology().spes()`",
                self.topology.name(),
                all.len()
            )
        })
    }

    pub(crate) fn enqueue(&self, at: SpeId, program: Program<HostSpe>) {
        self.programs.fetch_add(1, Ordering::Relaxed);
        let spe = &self.spes[at.index()];
        lock(&spe.queue).push_back(program);
        spe.queued.fetch_add(1, Ordering::Release);
        self.notify(Processor::Spe(at));
    }

    pub(crate) fn next_program(&self, at: SpeId) -> Option<Program<HostSpe>> {
        let spe = &self.spes[at.index()];
        if spe.queued.load(Ordering::Acquire) == 0 {
            return None;
        }
        let program = lock(&spe.queue).pop_front()?;
        spe.queued.fetch_sub(1, Ordering::Relaxed);
        Some(program)
    }

    /// Runs a program on the SPE that it was spawned on.
    pub(crate) fn execute(&self, spe: &HostSpe, at: SpeId, program: Program<HostSpe>) {
        let outcome = program.outcome();
        let name = program.name();
        *lock(&self.spes[at.index()].running) = Some((name, program.spawned_at()));
        let result = program.run(spe);
        *lock(&self.spes[at.index()].running) = None;
        self.end_program(at, name, &outcome, result.err());
    }

    fn end_program(
        &self,
        at: SpeId,
        program: &'static str,
        outcome: &Arc<Outcome>,
        payload: Option<Payload>,
    ) {
        // Only a run that was cancelled cancels: a program may panic with any payload.
        let panic = payload.filter(|payload| !(self.is_cancelled() && is_cancellation(payload)));
        let failed = panic.is_some();
        outcome.end(panic);
        if failed {
            self.fail(at, program, Arc::clone(outcome));
        }
        self.programs.fetch_sub(1, Ordering::Release);
        self.notify(Processor::Ppe);
    }

    fn fail(&self, at: SpeId, program: &'static str, outcome: Arc<Outcome>) {
        lock(&self.failures).push(Failure {
            at,
            program,
            outcome,
        });
    }

    /// Called by the OS thread of a worker when it ends, with the payload of its panic if it
    /// panicked: then the worker has failed, and the run with it.
    pub(crate) fn worker_ended(&self, first_spe: SpeId, panic: Option<Payload>) {
        if panic.is_some() {
            let outcome = Arc::new(Outcome::default());
            outcome.end(panic);
            self.fail(first_spe, "the worker that serves it", outcome);
            self.cancel();
        }
        self.parking.dismiss();
    }

    /// Drops the programs that never began.
    fn drop_queued(&self) {
        for at in self.topology.spes() {
            while let Some(program) = self.next_program(at) {
                let outcome = program.outcome();
                let name = program.name();
                let dropped = catch_unwind(AssertUnwindSafe(|| drop(program)));
                self.end_program(at, name, &outcome, dropped.err());
            }
        }
    }

    /// The programs that run now, for the watchdog.
    pub(crate) fn running(&self) -> Vec<String> {
        let of = |(at, spe): (SpeId, &SpeState)| {
            let (name, spawned_at) = (*lock(&spe.running))?;
            Some(format!("{name} on {at}, spawned at {spawned_at}"))
        };
        self.topology
            .spes()
            .zip(&self.spes)
            .filter_map(of)
            .collect()
    }

    /// The first panic that nobody joined.
    fn first_panic(&self) -> Option<RunError> {
        lock(&self.failures).iter().find_map(|failure| {
            Some(RunError::Panic {
                at: Processor::Spe(failure.at),
                program: failure.program.to_owned(),
                payload: failure.outcome.take_panic()?,
            })
        })
    }
}

/// Whether a payload is only what unwinds a cancelled program.
pub(crate) fn is_cancellation(payload: &Payload) -> bool {
    payload.is::<Cancelled>() || payload.is::<cellworks_threads::Cancelled>()
}

/// Runs `main` on `host`; see [`Machine::run`](cellworks_machine::Machine::run).
#[track_caller]
pub(crate) fn run<'env, R>(
    host: &'env Host,
    main: impl for<'scope> FnOnce(&'scope Ppe<'scope, 'env, Host>) -> R,
) -> Result<R, RunError> {
    let caller = Location::caller();
    let run = Arc::new(Run::new(host));
    run.parking.admit();
    run.parking.sit(PPE_SEAT);
    watchdog::watch(&run);
    // A host that may not pin has said so when it was built.
    let pinned = Pinned::to(host.layout.ppe_cpu).ok();
    let before_ns = cpu_time_of_this_thread();
    let ppe = Ppe::new(HostPpe::new(Arc::clone(&run), &host.layout));

    let main = catch_unwind(AssertUnwindSafe(|| {
        OWNER.run_without_core(|| {
            let value = main(&ppe);
            ppe.core().wait_for_programs(caller);
            value
        })
    }));
    // Asked before others fail because the PPE did.
    let panic_before = run.first_panic();
    let was_cancelled = run.is_cancelled();
    if main.is_err() {
        // Programs that wait for the PPE would wait for ever.
        run.cancel();
    }
    run.ended.store(true, Ordering::SeqCst);
    run.parking.notify_all();
    ppe.core().join_workers();
    run.drop_queued();
    if pinned.is_some() {
        run.cpu_time.add(PPE_SEAT, before_ns);
    }

    let mut waits = std::mem::take(&mut *lock(&run.waits));
    // By SPE: "SPE 10" comes after "SPE 2", and the PPE last.
    waits.sort_by_key(|wait| {
        let words = wait.who.split(|c: char| !c.is_ascii_digit());
        let numbers: Vec<u32> = words.filter_map(|word| word.parse().ok()).collect();
        (numbers.is_empty(), numbers)
    });
    RunEnd {
        main_was_cancelled: main.as_ref().is_err_and(is_cancellation),
        main,
        was_cancelled,
        panic_before,
        panic_after: run.first_panic(),
        cancelled_for: run.is_cancelled().then_some(RunError::Deadlock { waits }),
    }
    .conclude()
}
