//! Outside threads: OS threads outside the machine that take part in a network through gates.
//!
//! ```text
//!   OS thread ── Gate::enter ──────► OutsidePlace: a process, which sleeps in the operating system
//!                                        │
//!                                      seat ──► the machine counts it while it does not wait
//!                                        │
//!   async task ── AsyncGate::enter ──► AsyncReader, AsyncWriter: a poll never waits
//! ```
//!
//! An outside thread sleeps in the operating system, not in the machine. Its [`Waker`] has a
//! network number that no process on a processor has: see [`outside_of`].
//!
//! The machine reports a deadlock if all threads that it counts wait. It does not count an outside
//! thread that waits, until a process wakes the thread and thereby makes the machine count it.
//!
//! An [async task](self::asynchronous) has a seat, too. It does not sleep: to notify its
//! seat wakes its runtime.
//!
//! Read `gate` first, then this file with the seats, and then `asynchronous` and `polled` (the wait
//! of a task's end).

#[cfg(feature = "async")]
pub(crate) mod asynchronous;
pub(crate) mod gate;
#[cfg(any(feature = "async", all(test, any(loom, shuttle))))]
pub(crate) mod polled;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use cellworks_machine::{
    Outside, Outsiders, PpeCore, Processor, RemoteWaker, RunId, Sleeper, Time, Wait, Wake,
};
// Not `crate::sync::Backoff`, which models replace: models have no outside threads.
use crossbeam_utils::Backoff;

use crate::channel::waker::Waker;
#[cfg(feature = "async")]
use crate::counting::Counting;
use crate::network::numbers::FIRST_OUTSIDE;
use crate::network::shared::{NetworkState, outside_of};
use crate::process::pending;
use crate::sync::locked;

/// An OS thread outside the machine, as the place of a process: see
/// [`Gate::enter`](crate::Gate::enter).
///
/// The place returns the PPE as its processor. Waits return false when the run is over.
pub struct OutsidePlace {
    pub(crate) seat: Arc<OwnSeat>,
    /// A place belongs to one thread at a time.
    not_sync: PhantomData<Cell<()>>,
}

/// The seat of an outside thread, or of an async task. The machine counts the seat until this value
/// is dropped.
pub(crate) struct OwnSeat {
    gates: Arc<Gates>,
    number: u32,
    name: String,
    inside: OnceLock<Inside>,
}

pub(crate) struct Inside {
    run: Arc<Run>,
    waker: Waker,
}

pub(crate) struct Gates(Mutex<State>);

struct State {
    phase: Phase,
    seats: BTreeMap<u32, Seat>,
    next_number: u32,
    /// Wakes the threads that wait for the network to run.
    opened: Arc<Condvar>,
    /// The number of steps of outside threads, of messages to them, and of gates that were dropped.
    steps: u64,
    /// When the watchdog found that all processes wait, and `steps` at that time.
    still_since: Option<(Instant, u64)>,
    /// Whether a hint about this phase was given.
    has_hinted: bool,
    /// Whether a thread or a task has used a gate, and dropped it.
    is_one_done: bool,
    /// Whether a thread watches that the network runs in time.
    #[cfg(feature = "async")]
    is_watched: bool,
}

/// After this time without a step, there is a hint for the user.
const STILL: Duration = Duration::from_secs(5);

/// After this time without a step, there is a hint about gates that may yet be used.
const LONG_STILL: Duration = Duration::from_secs(10);

thread_local! {
    /// Lives as long as the OS thread.
    static ALIVE: Arc<()> = Arc::default();
}

/// Who has used a seat last.
enum LastUser {
    None,
    /// An OS thread, which has ended if there is no value.
    Thread(Weak<()>),
    #[cfg(feature = "async")]
    Task,
}

enum Phase {
    Ahead,
    Open(Arc<Run>),
    Over { has_run: bool },
}

struct Run {
    outside: Arc<dyn Outside>,
    waker: RemoteWaker,
    /// The sleeper of the PPE, for the wakers of outside threads. `wake_here` returns false for it.
    sleeper: Sleeper,
    shared: Arc<NetworkState>,
    /// The call that runs the network.
    at: &'static Location<'static>,
}

struct Seat {
    gate: String,
    is_notified: bool,
    /// Whether the thread waits and is not counted by the machine.
    is_dismissed: bool,
    notified: Arc<Condvar>,
    /// The wakers of the futures that wait, by the numbers of their ends.
    futures: Vec<(u64, std::task::Waker)>,
    user: LastUser,
    /// Whether the thread of the seat waits for the network to run.
    is_entering: bool,
    /// Whether the wait of a task was recorded for the report of a deadlock.
    #[cfg(feature = "async")]
    is_recorded: bool,
}

/// Wakes futures. The caller has no lock, because a waker may run any code.
fn wake_all(futures: impl IntoIterator<Item = (u64, std::task::Waker)>) {
    for (_, future) in futures {
        // A panic belongs to the runtime of the task, and not to the process that wakes the task.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| future.wake())) {
            // Its destructor may panic again.
            std::mem::forget(payload);
        }
    }
}

/// The reasons why a thread cannot enter a gate.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// The run of the network is over.
    #[error(
        "the gate `{gate}` is closed, as the run of its network has ended; the result of the run says why"
    )]
    Ended {
        /// The name of the gate.
        gate: String,
    },
    /// The network was dropped before its run, or could not run on its machine.
    #[error("the gate `{gate}` is closed, as its network never ran; run the network")]
    NeverRan {
        /// The name of the gate.
        gate: String,
    },
    /// The thread runs processes of a network. A wait here would block them.
    #[error(
        "a process of a network was going to enter the gate `{gate}`, which is for other threads; give \
         the process ends of its own"
    )]
    InProcess {
        /// The name of the gate.
        gate: String,
    },
}

cellworks_machine::debug_by_display!(GateError);

/// The network's handle to its gates. Dropping this handle closes the gates.
pub(crate) struct OwnGates(Arc<Gates>);

impl Default for OwnGates {
    fn default() -> Self {
        Self(Arc::new(Gates(Mutex::new(State {
            phase: Phase::Ahead,
            seats: BTreeMap::new(),
            next_number: FIRST_OUTSIDE,
            opened: Arc::default(),
            steps: 0,
            still_since: None,
            has_hinted: false,
            is_one_done: false,
            #[cfg(feature = "async")]
            is_watched: false,
        }))))
    }
}

impl OwnGates {
    pub(crate) fn place(&self, name: String) -> OutsidePlace {
        OutsidePlace::new(&self.0, name)
    }

    /// Called when the network begins to run. Makes the machine count the outside threads. If the
    /// machine cannot count them, returns the name of a gate as the error.
    pub(crate) fn open(
        &self,
        core: &impl PpeCore,
        shared: &Arc<NetworkState>,
        at: &'static Location<'static>,
    ) -> Result<(), String> {
        let mut state = self.0.state();
        let Some(first) = state.seats.values().next() else {
            return Ok(());
        };
        let outside = core.outside().ok_or_else(|| first.gate.clone())?;
        for _ in &state.seats {
            outside.admit();
        }
        let run = Run {
            outside,
            waker: core.remote_waker(),
            sleeper: core.sleeper(),
            shared: Arc::clone(shared),
            at,
        };
        let this: Weak<dyn Outsiders> = Arc::<Gates>::downgrade(&self.0);
        run.outside.ask(this);
        let (network, waker, gates) = (shared.network, run.waker.clone(), Arc::clone(&self.0));
        pending::wake_remotely(network, move |process| waker.wake(process.sleeper));
        pending::wake_remotely(outside_of(network), move |thread| {
            gates.notify(thread.process);
        });
        state.phase = Phase::Open(Arc::new(run));
        state.has_hinted = false;
        state.opened.notify_all();
        let futures = state.take_futures();
        drop(state);
        wake_all(futures);
        Ok(())
    }
}

impl Drop for OwnGates {
    fn drop(&mut self) {
        let mut state = self.0.state();
        let has_run = match &state.phase {
            Phase::Open(run) => Some(run.shared.network),
            _ => None,
        };
        if let Some(network) = has_run {
            pending::end_remote_wakes(network);
            pending::end_remote_wakes(outside_of(network));
        }
        let has_run = has_run.is_some();
        let before = std::mem::replace(&mut state.phase, Phase::Over { has_run });
        state.opened.notify_all();
        for seat in state.seats.values() {
            seat.notified.notify_one();
        }
        let futures = state.take_futures();
        // Dropped without the lock, because destructors may run any code.
        drop(state);
        drop(before);
        wake_all(futures);
    }
}

impl Gates {
    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.0)
    }

    fn notify(&self, number: u32) {
        let mut state = self.state();
        state.steps += 1;
        let State { phase, seats, .. } = &mut *state;
        let (Phase::Open(run), Some(seat)) = (phase, seats.get_mut(&number)) else {
            return;
        };
        if std::mem::take(&mut seat.is_dismissed) {
            run.outside.admit();
        }
        seat.is_notified = true;
        seat.notified.notify_one();
        let futures = std::mem::take(&mut seat.futures);
        drop(state);
        wake_all(futures);
    }
}

impl Seat {
    /// Returns what is known of the user, and whether the user is probably done with the seat,
    /// which then lives on only because it was forgotten.
    fn standing(&self) -> (&'static str, bool) {
        if self.is_dismissed {
            return ("waits for the network", false);
        }
        match &self.user {
            LastUser::None => ("was neither used nor dropped", false),
            LastUser::Thread(thread) if thread.strong_count() == 0 => (
                "was not dropped, but the thread that entered it has ended",
                true,
            ),
            LastUser::Thread(_) => ("was entered by a thread, which does something else", false),
            #[cfg(feature = "async")]
            LastUser::Task if self.futures.is_empty() => (
                "or one of its async ends was not dropped, but its task waits for none of them",
                true,
            ),
            #[cfg(feature = "async")]
            LastUser::Task => ("has a task that waits for a channel, without `only`", false),
        }
    }
}

/// What a user can do about ends that live on.
const DROP_THEM: &str = "A closure or an `async` block without `move` only borrows what it uses, and \
    that lives on in the function around it: write `move`, or drop the gate and its ends";

impl Outsiders for Gates {
    fn list(&self) -> Vec<String> {
        let state = self.state();
        let Phase::Open(run) = &state.phase else {
            return Vec::new();
        };
        let mut lines = Vec::new();
        let mut has_advice = false;
        for seat in state.seats.values() {
            let (standing, is_forgotten) = seat.standing();
            has_advice |= is_forgotten || matches!(seat.user, LastUser::None);
            lines.push(format!(
                "the gate `{}` {standing}: of {}",
                seat.gate,
                run.network()
            ));
        }
        lines.extend(has_advice.then(|| DROP_THEM.to_owned()));
        lines
    }

    fn all_programs_wait(&self) -> Option<String> {
        let mut state = self.state();
        let now = (Instant::now(), state.steps);
        let still = state.still_since.filter(|(_, steps)| *steps == now.1);
        let (since, _) = *state.still_since.insert(still.unwrap_or(now));
        let Phase::Open(run) = &state.phase else {
            return None;
        };
        let seats = || {
            state
                .seats
                .values()
                .map(|seat| (&seat.gate, seat.standing()))
        };
        let stood = since.elapsed();
        if state.has_hinted || seats().next().is_none() || stood < STILL {
            return None;
        }
        // A user that is not done may still let the network go on.
        let mut hint = if seats().all(|(_, (_, is_forgotten))| is_forgotten) {
            format!(
                "hint: all processes of {} have waited for some seconds. Either the network is idle and \
                 waits for its clients, or the run should have ended and a channel is kept open. \
                 {DROP_THEM}.",
                run.network()
            )
        } else if state.are_all_unused() && state.is_one_done && stood >= LONG_STILL {
            format!(
                "hint: all processes of {} have waited for some seconds, and all gates that were used are \
                 dropped. Either the network is idle and waits for its next client, or a gate is kept \
                 that was only cloned. If no thread or task will use such a gate any more, drop it and \
                 its ends.",
                run.network()
            )
        } else {
            return None;
        };
        for (gate, (standing, _)) in seats() {
            hint += &format!("\n  the gate `{gate}` {standing}");
        }
        state.has_hinted = true;
        Some(hint)
    }
}

impl Run {
    fn network(&self) -> String {
        format!("the network that was run at {}", self.at)
    }
}

impl State {
    /// Waits until the network runs or never will. Prints a hint if that takes long.
    fn wait_to_run<'a>(gates: &'a Gates, state: MutexGuard<'a, Self>) -> MutexGuard<'a, Self> {
        let state = Self::hint_if_late(gates, state);
        let opened = Arc::clone(&state.opened);
        let waited = opened.wait_while(state, Self::is_ahead);
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    fn is_ahead(&mut self) -> bool {
        matches!(self.phase, Phase::Ahead)
    }

    /// Waits until the network runs or never will, but not for long: then prints a hint.
    fn hint_if_late<'a>(gates: &'a Gates, state: MutexGuard<'a, Self>) -> MutexGuard<'a, Self> {
        let opened = Arc::clone(&state.opened);
        let waited = opened.wait_timeout_while(state, STILL, Self::is_ahead);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if state.is_ahead()
            && let Some(hint) = state.hint_to_run()
        {
            // Printed without the lock, because standard error may be a full pipe.
            drop(state);
            let _ = std::io::stderr().write_all(hint.as_bytes());
            state = gates.state();
        }
        state
    }

    /// Returns a hint about the threads and tasks that wait for the network to run, unless there
    /// was a hint before or none of them waits.
    fn hint_to_run(&mut self) -> Option<String> {
        let waits = |seat: &&Seat| seat.is_entering || !seat.futures.is_empty();
        let waiting = self.seats.values().filter(waits);
        let gates: Vec<_> = waiting.map(|seat| format!("`{}`", seat.gate)).collect();
        if self.has_hinted || gates.is_empty() {
            return None;
        }
        self.has_hinted = true;
        Some(format!(
            "cellworks: hint: at the gate {}, a thread or task has waited for some seconds for its network \
             to run, and waits until `Network::run` is called. If that call comes after the thread is \
             joined or the task is awaited, nothing goes on: run the network before, on a thread of its \
             own or in `spawn_blocking`\n",
            gates.join(" and at the gate ")
        ))
    }

    fn are_all_unused(&self) -> bool {
        let mut seats = self.seats.values();
        seats.all(|seat| matches!(seat.user, LastUser::None))
    }

    fn take_futures(&mut self) -> Vec<(u64, std::task::Waker)> {
        let seats = self.seats.values_mut();
        seats.flat_map(|seat| seat.futures.drain(..)).collect()
    }
}

impl OutsidePlace {
    fn new(gates: &Arc<Gates>, name: String) -> Self {
        Self {
            seat: Arc::new(OwnSeat::new(gates, name)),
            not_sync: PhantomData,
        }
    }

    /// Makes the place of another thread in the same network.
    pub(crate) fn another(&self, name: String) -> Self {
        Self::new(&self.seat.gates, name)
    }

    pub(crate) fn number(&self) -> u32 {
        self.seat.number
    }

    pub(crate) fn name(&self) -> &str {
        &self.seat.name
    }

    pub(crate) fn is_over(&self) -> bool {
        self.seat.is_over()
    }

    fn run(&self) -> &Run {
        self.seat.run()
    }

    pub(crate) fn waker(&self) -> &Waker {
        self.seat.waker()
    }
}

impl OwnSeat {
    fn new(gates: &Arc<Gates>, name: String) -> Self {
        let mut state = gates.state();
        // Numbers of dropped gates are used again, because a run may make over 2^31 gates.
        let free = |number: &u32| !state.seats.contains_key(number);
        let number = (state.next_number..=u32::MAX)
            .chain(FIRST_OUTSIDE..state.next_number)
            .find(free);
        let number = number.expect("2^31 gates do not fit into memory");
        state.next_number = number.wrapping_add(1).max(FIRST_OUTSIDE);
        if let Phase::Open(run) = &state.phase {
            run.outside.admit();
        }
        let seat = Seat {
            gate: name.clone(),
            is_notified: false,
            is_dismissed: false,
            notified: Arc::default(),
            futures: Vec::new(),
            user: LastUser::None,
            is_entering: false,
            #[cfg(feature = "async")]
            is_recorded: false,
        };
        state.seats.insert(number, seat);
        drop(state);
        Self {
            gates: Arc::clone(gates),
            number,
            name,
            inside: OnceLock::new(),
        }
    }

    /// Makes the seat of another task in the same network.
    #[cfg(feature = "async")]
    pub(crate) fn another(&self, name: String) -> Self {
        Self::new(&self.gates, name)
    }

    #[cfg(feature = "async")]
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn enter(&self) -> Result<&NetworkState, GateError> {
        let gate = || self.name.clone();
        if pending::network_here().is_some() {
            return Err(GateError::InProcess { gate: gate() });
        }
        let mut state = self.gates.state();
        state.steps += 1;
        let seat = state.seats.get_mut(&self.number);
        let seat = seat.expect("a gate has its seat until it is dropped");
        seat.user = LastUser::Thread(ALIVE.try_with(Arc::downgrade).unwrap_or_default());
        seat.is_entering = true;
        state = State::wait_to_run(&self.gates, state);
        if let Some(seat) = state.seats.get_mut(&self.number) {
            seat.is_entering = false;
        }
        match &state.phase {
            Phase::Open(run) => {
                let inside = self.inside.get_or_init(|| self.inside(run));
                Ok(&inside.run.shared)
            }
            Phase::Over { has_run: true } => Err(GateError::Ended { gate: gate() }),
            Phase::Ahead | Phase::Over { has_run: false } => {
                Err(GateError::NeverRan { gate: gate() })
            }
        }
    }

    fn inside(&self, run: &Arc<Run>) -> Inside {
        Inside {
            run: Arc::clone(run),
            waker: Waker {
                sleeper: run.sleeper,
                process: self.number,
                network: outside_of(run.shared.network),
            },
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.gates.state().phase, Phase::Over { .. })
    }

    fn now(&self) -> Time {
        self.run().outside.now()
    }

    fn run(&self) -> &Run {
        let inside = self.inside.get();
        &inside.expect("a process outside has entered its gate").run
    }

    pub(crate) fn waker(&self) -> &Waker {
        let inside = self.inside.get();
        &inside
            .expect("a process outside has entered its gate")
            .waker
    }

    /// Waits until `ready` returns true. Returns false at the deadline or after the run. `record`
    /// records the wait for the report of a deadlock.
    pub(crate) fn wait(
        &self,
        record: &dyn Fn(),
        deadline: Option<Time>,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        let backoff = Backoff::new();
        loop {
            if ready() {
                return true;
            }
            if deadline.is_some_and(|deadline| self.now() >= deadline) {
                return false;
            }
            if !backoff.is_completed() {
                backoff.snooze();
            } else if !self.sleep(record, deadline) {
                return ready();
            }
        }
    }

    /// Sleeps until the thread is notified or the deadline has passed. Returns false after the run.
    fn sleep(&self, record: &dyn Fn(), deadline: Option<Time>) -> bool {
        let run = self.run();
        let mut state = self.gates.state();
        let mut is_recorded = false;
        loop {
            let State { phase, seats, .. } = &mut *state;
            if !matches!(phase, Phase::Open(_)) {
                return false;
            }
            let seat = seats.get_mut(&self.number);
            let seat = seat.expect("a gate has its seat until it is dropped");
            if std::mem::take(&mut seat.is_notified) {
                break;
            }
            let notified = Arc::clone(&seat.notified);
            let Some(deadline) = deadline else {
                if !is_recorded {
                    is_recorded = true;
                    record();
                    seat.is_dismissed = true;
                    run.outside.dismiss();
                }
                state = notified.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            // This thread will go on at the deadline, so the machine must still count it.
            let left = deadline.since(self.now());
            let waited = notified.wait_timeout(state, left.into());
            let (woken, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = woken;
            if timeout.timed_out() {
                break;
            }
        }
        // In a cancelled run, the record may be needed for the report of a deadlock.
        if is_recorded && !run.outside.is_cancelled() {
            run.shared.waits.forget(self.number);
        }
        true
    }
}

impl Drop for OwnSeat {
    fn drop(&mut self) {
        if let Some(Inside { run, .. }) = self.inside.get() {
            run.shared.names.creator_ended(self.number);
        }
        let mut state = self.gates.state();
        state.steps += 1;
        let seat = state.seats.remove(&self.number);
        let was_used = |seat: &Seat| !matches!(seat.user, LastUser::None);
        state.is_one_done |= seat.as_ref().is_some_and(was_used);
        if let Phase::Open(run) = &state.phase {
            // A future that was forgotten may have left the seat uncounted.
            if seat.as_ref().is_some_and(|seat| seat.is_dismissed) {
                run.outside.admit();
            }
            run.outside.dismiss();
        }
        // Dropped without the lock, because the destructor of a waker may run any code.
        drop(state);
        drop(seat);
    }
}

/// Starts a thread that gives a hint if the network does not run for some time.
#[cfg(feature = "async")]
fn watch_until_run(gates: &Arc<Gates>) {
    let gates = Arc::clone(gates);
    let watch = move || {
        let mut state = State::hint_if_late(&gates, gates.state());
        // If no task waited at that moment, the next task that waits is watched anew.
        state.is_watched = state.has_hinted;
    };
    let thread = std::thread::Builder::new().name("cellworks gates".to_owned());
    // If the thread cannot be started, there is no hint.
    drop(thread.spawn(watch));
}

/// What a task finds when it looks at its network.
#[cfg(feature = "async")]
#[derive(Clone, Copy)]
pub(crate) enum Standing<'a> {
    /// The network does not run yet.
    Ahead,
    Runs(&'a Inside),
    Over,
}

#[cfg(feature = "async")]
impl OwnSeat {
    fn standing(&self, state: &State) -> Standing<'_> {
        match &state.phase {
            Phase::Ahead => Standing::Ahead,
            Phase::Open(run) => Standing::Runs(self.inside.get_or_init(|| self.inside(run))),
            Phase::Over { .. } => Standing::Over,
        }
    }

    /// Begins a step of the task. The machine counts the task from now on, as a task that goes on
    /// may wake processes.
    pub(crate) fn begin(&self) -> Standing<'_> {
        let mut state = self.gates.state();
        state.steps += 1;
        let State { phase, seats, .. } = &mut *state;
        if let (Phase::Open(run), Some(seat)) = (phase, seats.get_mut(&self.number)) {
            seat.user = LastUser::Task;
            seat.is_notified = false;
            if std::mem::take(&mut seat.is_dismissed) {
                run.outside.admit();
            }
            // In a cancelled run, the record may be needed for the report of a deadlock.
            if seat.is_recorded && !run.outside.is_cancelled() {
                seat.is_recorded = false;
                run.shared.waits.forget(self.number);
            }
        }
        self.standing(&state)
    }

    /// Sets the waker of the future that waits at the end `end`. After the run, does nothing.
    pub(crate) fn listen(&self, end: u64, future: std::task::Waker) -> Standing<'_> {
        let mut state = self.gates.state();
        let standing = self.standing(&state);
        let mut old = Some(future);
        if matches!(standing, Standing::Ahead) && !std::mem::replace(&mut state.is_watched, true) {
            watch_until_run(&self.gates);
        }
        if !matches!(standing, Standing::Over)
            && let (Some(seat), Some(future)) = (state.seats.get_mut(&self.number), old.take())
        {
            match seat.futures.iter_mut().find(|(of, _)| *of == end) {
                Some((_, place)) => old = Some(std::mem::replace(place, future)),
                None => seat.futures.push((end, future)),
            }
        }
        // Dropped without the lock, because the destructor of a waker may run any code.
        drop(state);
        drop(old);
        standing
    }

    /// Removes the waker of the end `end`.
    pub(crate) fn ignore(&self, end: u64) {
        let mut state = self.gates.state();
        let futures = state.seats.get_mut(&self.number);
        let futures = futures.map(|seat| &mut seat.futures);
        let old = futures.and_then(|futures| {
            let at = futures.iter().position(|(of, _)| *of == end)?;
            Some(futures.swap_remove(at))
        });
        drop(state);
        drop(old);
    }

    /// Called when the task waits for nothing but its ends. Unless it was notified since its last
    /// step, calls `record` and stops counting it, which may report a deadlock.
    pub(crate) fn dismiss(&self, record: impl FnOnce()) {
        let mut state = self.gates.state();
        let State { phase, seats, .. } = &mut *state;
        let (Phase::Open(run), Some(seat)) = (phase, seats.get_mut(&self.number)) else {
            return;
        };
        if seat.is_notified || seat.is_dismissed {
            return;
        }
        record();
        seat.is_recorded = true;
        seat.is_dismissed = true;
        run.outside.dismiss();
    }
}

#[cfg(feature = "async")]
impl Inside {
    /// Returns the handle by which partners wake the task.
    pub(crate) fn waker(&self) -> Waker {
        self.waker
    }

    pub(crate) fn shared(&self) -> &NetworkState {
        &self.run.shared
    }
}

#[cfg(feature = "async")]
impl OwnSeat {
    /// Returns what the network has counted, if it counts and has begun.
    pub(crate) fn counting(&self) -> Option<&Counting> {
        self.inside.get()?.run.shared.counting.as_deref()
    }
}

impl Wait for OutsidePlace {
    #[track_caller]
    fn wait_until(&self, _: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool {
        self.seat.wait(&|| (), None, ready)
    }
}

impl Wake for OutsidePlace {
    fn run_id(&self) -> &RunId {
        self.run().outside.run_id()
    }

    fn now(&self) -> Time {
        self.seat.now()
    }

    fn is_cancelled(&self) -> bool {
        self.run().outside.is_cancelled()
    }

    #[track_caller]
    fn notify(&self, to: Processor) {
        self.run().outside.notify(to);
    }

    /// Returns the sleeper of the PPE, because the machine has no sleeper for this thread.
    fn sleeper(&self) -> Sleeper {
        self.run().sleeper
    }

    fn wake_elsewhere(&self, sleeper: Sleeper) {
        self.run().waker.wake(sleeper);
    }

    fn remote_waker(&self) -> RemoteWaker {
        self.run().waker.clone()
    }

    fn outlast(&self, done: &mut dyn FnMut() -> bool) {
        while !done() {
            std::thread::yield_now();
        }
    }

    #[track_caller]
    fn wait_until_deadline(
        &self,
        _: &dyn fmt::Display,
        deadline: Time,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        self.seat.wait(&|| (), Some(deadline), ready)
    }
}
