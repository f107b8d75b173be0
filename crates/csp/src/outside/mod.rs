//! Outside threads: OS threads outside the machine that take part in a network through gates.
//!
//! ```text
//!   OS thread ─── Gate::enter ─────► OutsidePlace: a process, which sleeps in the operating system
//!                                        │
//!                                      seat ──► the machine counts it while it does not wait
//!                                        │
//!   async task ── AsyncGate ───────► AsyncReader, AsyncWriter: a poll never waits
//! ```
//!
//! An outside thread sleeps in the operating system, not in the machine. Its [`Waker`] has a
//! network number that no process on a processor has: see [`outside_of`].
//!
//! The machine reports a deadlock if all threads that it counts wait. It does not count an outside
//! thread that waits, until a process wakes the thread and thereby makes the machine count it.
//!
//! An [async task](self::asynchronous) has a seat, too. It does not sleep: to notify its seat wakes
//! its runtime.
//!
//! Read `gate` and `place` first, then this file with the seats and the sleep of a thread. `hints`
//! has what a user is told. Of tasks, `task` has what they do at their seats, `asynchronous` their
//! ends, and `polled` the wait of an end.

#[cfg(feature = "async")]
pub(crate) mod asynchronous;
pub(crate) mod gate;
mod hints;
pub(crate) mod place;
#[cfg(any(feature = "async", all(test, any(loom, shuttle))))]
pub(crate) mod polled;
#[cfg(feature = "async")]
pub(crate) mod task;

use std::collections::BTreeMap;
use std::io::Write;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use cellworks_machine::{Outside, Outsiders, PpeCore, RemoteWaker, Sleeper, Time};
// Not `crate::sync::Backoff`, which models replace: models have no outside threads.
use crossbeam_utils::Backoff;

use crate::channel::waker::Waker;
use crate::network::numbers::FIRST_OUTSIDE;
use crate::network::shared::{NetworkState, outside_of};
use crate::process::pending;
use crate::sync::locked;

/// The seat of an outside thread, or of an async task. The machine counts the seat until this value
/// is dropped.
pub(crate) struct OwnSeat {
    gates: Arc<Gates>,
    number: u32,
    name: String,
    inside: OnceLock<Inside>,
}

pub(crate) struct Inside {
    run: Arc<OpenNetwork>,
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
    Open(Arc<OpenNetwork>),
    Over { has_run: bool },
}

struct OpenNetwork {
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
        let run = OpenNetwork {
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

    fn take_futures(&mut self) -> Vec<(u64, std::task::Waker)> {
        let seats = self.seats.values_mut();
        seats.flat_map(|seat| seat.futures.drain(..)).collect()
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

    fn inside(&self, run: &Arc<OpenNetwork>) -> Inside {
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

    fn run(&self) -> &OpenNetwork {
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
