//! The state of one run, which the PPE and the workers share.
//!
//! A *seat* is the index of an OS thread in [`Parking`]. The *words* of an SPE are its mailboxes
//! and signal registers.

use std::io;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Instant;

use cellworks_machine::mailbox::MailboxFull;
use cellworks_machine::memory::{AddressSpace, Region};
use cellworks_machine::{
    Cancelled, Outcome, Outsiders, Payload, Processor, RunError, RunId, SignalRegister, Sleeper,
    Span, SpeId, Time, Topology, Wait, Waiting,
};

use crate::cpu_time::CpuTime;
use crate::layout::Layout;
use crate::parking::Parking;
use crate::woken::WokenThreads;
use crate::words::Words;

pub(crate) const PPE_SEAT: usize = 0;

pub(crate) const fn seat_of(worker: usize) -> usize {
    PPE_SEAT + 1 + worker
}

pub(crate) struct Run {
    pub(crate) id: RunId,
    pub(crate) topology: Topology,
    pub(crate) words: Vec<Words>,
    pub(crate) parking: Parking,
    /// The seat of each SPE's worker.
    pub(crate) seats: Vec<usize>,
    /// For each seat, the threads of its worker that other OS threads have woken. Empty for the
    /// PPE, which checks its condition whenever it is notified.
    woken: Vec<WokenThreads>,
    pub(crate) space: Arc<AddressSpace>,
    pub(crate) local_stores: Vec<Region>,
    pub(crate) strict: bool,
    pub(crate) stack_bytes: usize,
    /// The CPU time that the threads of this host have used in all runs, by seat.
    pub(crate) cpu_time: Arc<CpuTime>,
    /// Whether the run was cancelled. All threads of a cancelled run unwind.
    cancelled: AtomicBool,
    /// Whether no more programs will be spawned.
    ended: AtomicBool,
    /// The number of programs that were spawned and have not ended.
    pub(crate) programs: AtomicUsize,
    /// The program that runs on each SPE, for the watchdog.
    running: Vec<Mutex<Option<Running>>>,
    /// The number of outside threads that `parking` counts.
    pub(crate) outside: AtomicUsize,
    /// Whom the watchdog asks about the outside threads.
    pub(crate) outsiders: OnceLock<Weak<dyn Outsiders>>,
    /// The wait of the PPE, while the PPE sleeps.
    ppe_wait: Mutex<Option<Waiting>>,
    /// The waits of all threads at a deadlock.
    waits: Mutex<Vec<Waiting>>,
    failures: Mutex<Vec<Failure>>,
    /// The first SPE for which the system started no OS thread, and the error of the system.
    without_thread: Mutex<Option<(SpeId, io::Error)>>,
    started: Instant,
}

/// The name of a running program, and the place where it was spawned.
pub(crate) type Running = (&'static str, &'static Location<'static>);

struct Failure {
    at: SpeId,
    program: &'static str,
    outcome: Arc<Outcome>,
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Run {
    pub(crate) fn new(
        layout: &Layout,
        space: &Arc<AddressSpace>,
        local_stores: &[Region],
        strict: bool,
        stack_bytes: usize,
        cpu_time: &Arc<CpuTime>,
    ) -> Self {
        let topology = layout.topology.clone();
        let spes = topology.spes().len();
        Self {
            id: RunId::new(&topology),
            words: (0..spes).map(|_| Words::new()).collect(),
            parking: Parking::new(1 + layout.workers.len()),
            woken: (0..=layout.workers.len())
                .map(|_| WokenThreads::default())
                .collect(),
            seats: layout.worker_of.iter().copied().map(seat_of).collect(),
            space: Arc::clone(space),
            local_stores: local_stores.to_vec(),
            strict,
            stack_bytes,
            cpu_time: Arc::clone(cpu_time),
            cancelled: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            programs: AtomicUsize::new(0),
            running: (0..spes).map(|_| Mutex::default()).collect(),
            outside: AtomicUsize::new(0),
            outsiders: OnceLock::new(),
            ppe_wait: Mutex::default(),
            waits: Mutex::default(),
            failures: Mutex::default(),
            without_thread: Mutex::default(),
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

    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
        self.parking.notify_all();
    }

    /// Cancels the run, because the system started no OS thread for the worker of an SPE.
    pub(crate) fn end_without_thread(&self, spe: SpeId, source: io::Error) {
        lock(&self.without_thread).get_or_insert((spe, source));
        self.cancel();
    }

    /// Cancels the run, because the system gave no stack for a thread of the program that runs on
    /// an SPE. The error of the run has the payload `panic`.
    pub(crate) fn end_without_stack(&self, spe: SpeId, panic: Payload) {
        let program = lock(&self.running[spe.index()]).map_or("a program", |(name, _)| name);
        self.fail_with(spe, program, panic);
    }

    fn fail_with(&self, at: SpeId, program: &'static str, panic: Payload) {
        let outcome = Arc::new(Outcome::default());
        outcome.end(Some(panic));
        self.fail(at, program, outcome);
        self.cancel();
    }

    /// Returns the error of a cancelled run, otherwise `None`. The error of a deadlock has `waits`.
    pub(crate) fn why_cancelled(&self, waits: Vec<Waiting>) -> Option<RunError> {
        if let Some((spe, source)) = lock(&self.without_thread).take() {
            let at = Processor::Spe(spe);
            return Some(RunError::NoThread { at, source });
        }
        self.is_cancelled().then_some(RunError::Deadlock { waits })
    }

    /// Records that the PPE is about to sleep for `wait`, or, with `None`, that the PPE has woken.
    pub(crate) fn ppe_waits(&self, wait: Option<Waiting>) {
        *lock(&self.ppe_wait) = wait;
    }

    /// Cancels the run because of a deadlock.
    pub(crate) fn end_in_deadlock(&self) {
        let ppe = lock(&self.ppe_wait).clone();
        self.report(ppe);
        self.cancel();
    }

    pub(crate) fn report(&self, waits: impl IntoIterator<Item = Waiting>) {
        lock(&self.waits).extend(waits);
    }

    #[track_caller]
    #[inline]
    pub(crate) fn notify(&self, to: Processor) {
        self.parking.notify(self.seat_of(to));
    }

    #[inline(always)]
    pub(crate) fn wake(&self, sleeper: Sleeper) {
        // Passing the sleeper by address would slow down a wake-up on the same core by 3 ns.
        let (block, serial) = sleeper.thread();
        self.wake_at(sleeper.processor(), sleeper.polls(), block, serial);
    }

    #[inline(never)]
    fn wake_at(&self, processor: Processor, looks: bool, block: usize, serial: u64) {
        let seat = self.seat_of(processor);
        if !looks && seat != PPE_SEAT {
            self.woken[seat].add((block, serial));
        }
        self.parking.notify(seat);
    }

    #[inline]
    pub(crate) fn woken(&self, seat: usize) -> &WokenThreads {
        &self.woken[seat]
    }

    #[track_caller]
    #[inline]
    pub(crate) fn seat_of(&self, processor: Processor) -> usize {
        match processor {
            Processor::Ppe => PPE_SEAT,
            Processor::Spe(spe) => *self.of_spe(&self.seats, spe),
        }
    }

    #[track_caller]
    pub(crate) fn words(&self, spe: SpeId) -> &Words {
        self.of_spe(&self.words, spe)
    }

    /// Returns the element of `all` for an SPE. Panics if there is no such SPE.
    #[track_caller]
    pub(crate) fn of_spe<'a, T>(&self, all: &'a [T], spe: SpeId) -> &'a T {
        all.get(spe.index()).unwrap_or_else(|| {
            panic!(
                "{spe} was named, but {} has {} SPEs, 0 to {}; use `topology().spes()`",
                self.topology.name(),
                all.len(),
                all.len() - 1
            )
        })
    }

    pub(crate) fn end_program(
        &self,
        at: SpeId,
        program: &'static str,
        outcome: &Arc<Outcome>,
        payload: Option<Payload>,
    ) {
        // A program may panic with the payload of a cancellation although nothing was cancelled.
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

    /// Records that a worker has ended, with the payload if the worker panicked.
    pub(crate) fn worker_ended(&self, first_spe: SpeId, panic: Option<Payload>) {
        if let Some(panic) = panic {
            self.fail_with(first_spe, "the worker that serves it", panic);
        }
        self.parking.dismiss();
    }

    /// Returns the running programs, for the watchdog.
    pub(crate) fn running(&self) -> Vec<String> {
        let of = |(at, running): (SpeId, &Mutex<Option<Running>>)| {
            let (name, spawned_at) = (*lock(running))?;
            Some(format!("{name} on {at}, spawned at {spawned_at}"))
        };
        let spes = self.topology.spes().zip(&self.running);
        spes.filter_map(of).collect()
    }

    /// Returns whom the watchdog asks about the outside threads.
    pub(crate) fn outsiders(&self) -> Option<Arc<dyn Outsiders>> {
        self.outsiders.get().and_then(Weak::upgrade)
    }

    /// Returns whether all programs wait, for no time limit. The result may be out of date.
    pub(crate) fn do_all_programs_wait(&self) -> bool {
        self.parking.active() == self.outside.load(Ordering::Relaxed)
    }

    pub(crate) fn runs(&self, at: SpeId, program: Option<Running>) {
        *lock(&self.running[at.index()]) = program;
    }

    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.parking.notify_all();
    }

    pub(crate) fn take_waits(&self) -> Vec<Waiting> {
        std::mem::take(&mut *lock(&self.waits))
    }

    /// Returns the first panic of a program that was not joined.
    pub(crate) fn first_panic(&self) -> Option<RunError> {
        lock(&self.failures).iter().find_map(|failure| {
            Some(RunError::Panic {
                at: Processor::Spe(failure.at),
                program: failure.program.to_owned(),
                payload: failure.outcome.take_panic()?.into(),
            })
        })
    }
}

pub(crate) fn is_cancellation(payload: &Payload) -> bool {
    payload.is::<Cancelled>() || payload.is::<cellworks_threads::Cancelled>()
}

/// Counts a writer in the [`Words`] of an SPE until this value is dropped.
struct WriterAnnounced<'a>(&'a Words);

impl<'a> WriterAnnounced<'a> {
    fn of(words: &'a Words) -> Self {
        words.announce_writer();
        Self(words)
    }
}

impl Drop for WriterAnnounced<'_> {
    fn drop(&mut self) {
        self.0.withdraw_writer();
    }
}

impl Run {
    #[inline]
    pub(crate) fn write_in_mbox(&self, to: SpeId, word: u32) -> Result<(), MailboxFull> {
        if self.words(to).write_in(word) {
            self.notify(Processor::Spe(to));
            Ok(())
        } else {
            Err(MailboxFull {
                spe: to,
                mailbox: "inbound mailbox",
                word,
            })
        }
    }

    #[track_caller]
    #[inline]
    pub(crate) fn wait_to_write_in_mbox(&self, waiter: &impl Wait, to: SpeId, word: u32) {
        if self.write_in_mbox(to, word).is_err() {
            let _announced = WriterAnnounced::of(self.words(to));
            let why = format_args!("room in the inbound mailbox of {to}");
            waiter.wait_until(&why, &mut || self.write_in_mbox(to, word).is_ok());
        }
    }

    #[inline]
    pub(crate) fn send_signal(&self, to: SpeId, register: SignalRegister, bits: u32) {
        self.words(to).signal(register, bits);
        self.notify(Processor::Spe(to));
    }
}
