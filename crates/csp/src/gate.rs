//! Gates, through which OS threads outside of the machine take part in a network.
//!
//! ```text
//!   OS thread                    gate                                 network
//!   enter ──────────────► ends, and a process ──► channels ◄──── processes on SPEs and the PPE
//!     │ waits until the        │
//!     │ network runs           └─ counted by the machine: as long as the thread does not wait
//!     ▼                           for the network, the network is in no deadlock
//!   read, write, select: as every process
//! ```
//!
//! A thread outside performs the steps of the protocol as every process does. Only its waits are
//! its own: it sleeps in the operating system, not in the machine. The process that wakes it knows
//! that by the network of its [`Waker`]: see [`outside_of`].
//!
//! While it waits the machine does not count it. The process that wakes it has it counted again
//! before it goes on. So the machine never sees all asleep while a thread is about to go on.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use cellworks_machine::{Outside, PpeCore, Processor, RemoteWaker, Sleeper, Time, Wait, Wake};
// Not the models': none has a thread outside.
use crossbeam_utils::Backoff;

use crate::pending;
use crate::place::Place;
use crate::process::Process;
use crate::shared::{NetworkState, outside_of};
use crate::sync::locked;
use crate::waker::Waker;

/// The ends of channels that an OS thread outside of the machine has, so that a network serves the
/// program around it: see [`Network::gate`](crate::Network::gate).
///
/// The thread that has the gate [enters](Self::enter) it, and is a process of the network from then
/// on: it reads, writes and alternates as others do, waiting or not. A gate may be sent to any
/// thread, and if its ends can be cloned, so can the gate: one for each thread.
///
/// Dropping a gate drops its ends, which wakes the processes that wait for them. So a gate that is
/// there for its clones only is to be dropped with the last of them, or the processes wait for it.
/// The network ends when its processes have ended, whether there are gates or not.
///
/// # Deadlocks
///
/// As long as the thread of one gate does not wait for the network, the network is in no deadlock:
/// the thread may still write. If the threads of all gates wait, too, the deadlock is reported, and
/// names them as [outside](crate::Stuck::is_outside). What is not seen:
///
/// - That a thread waits for something that is no channel, such as a lock.
/// - That processes wait for each other while the thread of a gate does something else.
/// - An end that is outside, but in no gate: the network may be ended as a deadlock although the
///   end was still to be used or dropped.
///
/// ```
/// use cellworks_csp::{Channel, Network};
/// use cellworks_machine::SpeId;
///
/// # let host = cellworks_host::Host::new().unwrap();
/// let (requests, mut to_serve) = Channel::new().any_to_one();
/// let mut network = Network::on(&host);
/// network.process("counter", SpeId::new(0), move |process| {
///     let mut count = 0;
///     // Until the last gate is gone.
///     while let Ok(how_many) = to_serve.read(process) {
///         count += how_many;
///     }
///     assert_eq!(count, 3);
///     Ok(())
/// });
/// let gate = network.gate("client", requests);
/// std::thread::scope(|scope| {
///     for how_many in [1, 2] {
///         let mut gate = gate.clone();
///         scope.spawn(move || {
///             let (requests, process) = gate.enter().unwrap();
///             requests.write(&process, how_many).unwrap();
///         });
///     }
///     drop(gate);
///     network.run()
/// })
/// .unwrap();
/// ```
pub struct Gate<E> {
    // Dropped before the place, as the thread is counted until its ends are gone.
    ends: E,
    place: OutsidePlace,
}

/// An OS thread outside of the machine, as the place of a process: see [`Gate::enter`].
///
/// It has no processor of the machine; where one is asked for, it is the PPE. The machine does not
/// wake it: what it waits for is done at channels, and its waits say false when the run is over.
pub struct OutsidePlace {
    gates: Arc<Gates>,
    number: u32,
    name: String,
    /// Known when the thread has entered.
    inside: OnceCell<Inside>,
}

/// What a thread needs that has entered a gate.
struct Inside {
    run: Arc<Run>,
    waker: Waker,
}

/// The gates of a network.
pub(crate) struct Gates(Mutex<State>);

struct State {
    phase: Phase,
    seats: BTreeMap<u32, Seat>,
    next_number: u32,
    /// Threads that wait for the network to run.
    opened: Arc<Condvar>,
}

enum Phase {
    Ahead,
    Open(Arc<Run>),
    Over { has_run: bool },
}

/// The run of a network.
struct Run {
    outside: Arc<dyn Outside>,
    waker: RemoteWaker,
    /// What the machine knows a thread outside by. It is the PPE, which no process finds on its
    /// own core.
    sleeper: Sleeper,
    shared: Arc<NetworkState>,
}

/// The thread of a gate.
struct Seat {
    gate: String,
    /// It is to look again at what it waits for.
    is_notified: bool,
    /// The machine does not count it: the process that notifies it has it counted again.
    is_dismissed: bool,
    notified: Arc<Condvar>,
}

/// A thread cannot enter a gate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// The run of the network is over, so there is no process left to communicate with.
    #[error(
        "the gate `{gate}` is closed, as the run of its network has ended; the result of the run says why"
    )]
    Ended {
        /// The name of the gate.
        gate: String,
    },
    /// The network was dropped, or could not run on its machine.
    #[error("the gate `{gate}` is closed, as its network never ran; run the network")]
    NeverRan {
        /// The name of the gate.
        gate: String,
    },
    /// The thread runs processes of a network, which could not go on while it waits outside.
    #[error(
        "a process of a network was going to enter the gate `{gate}`, which is for other threads; give \
         the process ends of its own"
    )]
    InProcess {
        /// The name of the gate.
        gate: String,
    },
}

impl<E> Gate<E> {
    /// Has the calling thread be a process of the network, as long as what this returns is there:
    /// the ends of this gate, and the process to use them with. Waits until the network runs.
    ///
    /// A wait of this process ends when the run of the network does, also when that is cancelled:
    /// with [`Ended::Closed`](crate::Ended::Closed), and with the item that was to be written. From
    /// then on no call waits: it finds what is there, or ends in the same way. The next `enter`
    /// says whether the network has ended.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use cellworks_csp::{Gate, GateError, Refused, Writer};
    /// use cellworks_machine::Span;
    ///
    /// /// Gives up after 5 ms.
    /// fn write(gate: &mut Gate<Writer<u32>>, item: u32) -> Result<&'static str, GateError> {
    ///     let (writer, process) = gate.enter()?;
    ///     let deadline = process.now() + Span::from(Duration::from_millis(5));
    ///     Ok(match writer.write_until(&process, item, deadline) {
    ///         Ok(()) => "written",
    ///         Err(Refused::NotTaken(_)) => "too late",
    ///         Err(Refused::Ended(_)) => "there is no reader any more",
    ///     })
    /// }
    /// ```
    ///
    /// The process stays on the thread that has entered:
    ///
    /// ```compile_fail,E0277
    /// # use cellworks_csp::{Gate, Writer};
    /// fn write(gate: &mut Gate<Writer<u32>>) {
    ///     let (writer, process) = gate.enter().unwrap();
    ///     std::thread::scope(|scope| {
    ///         scope.spawn(|| writer.write(&process, 1).unwrap());
    ///     });
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`GateError`] if the network does not run any more, or never will, or if the calling thread
    /// runs its processes or those of another network.
    pub fn enter(&mut self) -> Result<(&mut E, Process<'_, OutsidePlace>), GateError> {
        let place = &self.place;
        let run = place.enter()?;
        let process = Process::numbered(place.number, place, &place.name, &run.shared, None);
        Ok((&mut self.ends, process))
    }
}

impl<E: Clone> Clone for Gate<E> {
    fn clone(&self) -> Self {
        let place = OutsidePlace::new(&self.place.gates, self.place.name.clone());
        Self {
            ends: self.ends.clone(),
            place,
        }
    }
}

impl<E> fmt::Debug for Gate<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gate `{}`", self.place.name)
    }
}

/// The first number of a process outside: no network runs as many processes as are below it.
const FIRST_OUTSIDE: u32 = 1 << 31;

/// Whether a process of this number in its network is outside.
pub(crate) fn is_outside(number: u32) -> bool {
    number >= FIRST_OUTSIDE
}

/// The gates of a network as the network has them: they are closed when this is dropped.
pub(crate) struct OwnGates(Arc<Gates>);

impl Default for OwnGates {
    fn default() -> Self {
        Self(Arc::new(Gates(Mutex::new(State {
            phase: Phase::Ahead,
            seats: BTreeMap::new(),
            next_number: FIRST_OUTSIDE,
            opened: Arc::default(),
        }))))
    }
}

impl OwnGates {
    pub(crate) fn gate<E>(&self, name: String, ends: E) -> Gate<E> {
        let place = OutsidePlace::new(&self.0, name);
        Gate { ends, place }
    }

    /// The network runs, and its threads outside are counted. If they cannot take part, returns the
    /// name of a gate.
    pub(crate) fn open(
        &self,
        core: &impl PpeCore,
        shared: &Arc<NetworkState>,
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
        };
        let (network, waker, gates) = (shared.network, run.waker.clone(), Arc::clone(&self.0));
        pending::wake_remotely(network, move |process| waker.wake(process.sleeper));
        pending::wake_remotely(outside_of(network), move |thread| {
            gates.notify(thread.process);
        });
        state.phase = Phase::Open(Arc::new(run));
        state.opened.notify_all();
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
        // What it holds may do anything when it is dropped.
        drop(state);
        drop(before);
    }
}

impl Gates {
    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.0)
    }

    /// Has a thread look again at what it waits for.
    fn notify(&self, number: u32) {
        let mut state = self.state();
        let State { phase, seats, .. } = &mut *state;
        let (Phase::Open(run), Some(seat)) = (phase, seats.get_mut(&number)) else {
            return;
        };
        if std::mem::take(&mut seat.is_dismissed) {
            run.outside.admit();
        }
        seat.is_notified = true;
        seat.notified.notify_one();
    }
}

impl OutsidePlace {
    fn new(gates: &Arc<Gates>, name: String) -> Self {
        let mut state = gates.state();
        // A network that runs for long may have more gates than there are numbers.
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
        };
        state.seats.insert(number, seat);
        drop(state);
        Self {
            gates: Arc::clone(gates),
            number,
            name,
            inside: OnceCell::new(),
        }
    }

    /// Waits until the network runs.
    fn enter(&self) -> Result<&Run, GateError> {
        let gate = || self.name.clone();
        if pending::network_here().is_some() {
            return Err(GateError::InProcess { gate: gate() });
        }
        let mut state = self.gates.state();
        loop {
            match &state.phase {
                Phase::Ahead => {}
                Phase::Open(run) => {
                    let inside = self.inside.get_or_init(|| self.inside(run));
                    return Ok(&inside.run);
                }
                Phase::Over { has_run: true } => return Err(GateError::Ended { gate: gate() }),
                Phase::Over { has_run: false } => return Err(GateError::NeverRan { gate: gate() }),
            }
            let opened = Arc::clone(&state.opened);
            state = opened.wait(state).unwrap_or_else(PoisonError::into_inner);
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

    /// Whether the run of its network has ended.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.gates.state().phase, Phase::Over { .. })
    }

    fn run(&self) -> &Run {
        let inside = self.inside.get();
        &inside.expect("a process outside has entered its gate").run
    }

    /// What wakes the thread when it waits.
    pub(crate) fn waker(&self) -> &Waker {
        let inside = self.inside.get();
        &inside
            .expect("a process outside has entered its gate")
            .waker
    }

    /// Waits until `ready` says true, or the deadline has come, or the run is over: then false.
    /// `record` says what it waits for, should all others wait, too.
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

    /// Sleeps until the thread is notified or the deadline has come. Says false if the run is over.
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
            // Until then it is counted, for it will go on by itself.
            let left = deadline.since(self.now());
            let waited = notified.wait_timeout(state, left.into());
            let (woken, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = woken;
            if timeout.timed_out() {
                break;
            }
        }
        // In a deadlock it goes on as processes unwind. What it waited for stays in the report.
        if is_recorded && !run.outside.is_cancelled() {
            run.shared.waits.forget(self.number);
        }
        true
    }
}

impl Drop for OutsidePlace {
    fn drop(&mut self) {
        if let Some(Inside { run, .. }) = self.inside.get() {
            run.shared.names.creator_ended(self.number);
        }
        let mut state = self.gates.state();
        state.seats.remove(&self.number);
        if let Phase::Open(run) = &state.phase {
            run.outside.dismiss();
        }
    }
}

impl Wait for OutsidePlace {
    #[track_caller]
    fn wait_until(&self, _: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool {
        self.wait(&|| (), None, ready)
    }
}

impl Wake for OutsidePlace {
    fn now(&self) -> Time {
        self.run().outside.now()
    }

    fn is_cancelled(&self) -> bool {
        self.run().outside.is_cancelled()
    }

    #[track_caller]
    fn notify(&self, to: Processor) {
        self.run().outside.notify(to);
    }

    /// The machine does not know the thread, which is woken by channels alone: this is the PPE.
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
        self.wait(&|| (), Some(deadline), ready)
    }
}

impl Place for OutsidePlace {
    fn processor(&self) -> Processor {
        Processor::Ppe
    }

    fn yield_now(&self) {
        std::thread::yield_now();
    }

    fn yield_ready(&self) {
        self.yield_now();
    }

    fn outside(&self) -> Option<&OutsidePlace> {
        Some(self)
    }
}
