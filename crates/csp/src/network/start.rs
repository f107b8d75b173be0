//! Processes that start processes while their network runs.
//!
//! ```text
//!   starter.start(process, name, spe, f) ──► queue of the SPE ──► its program ──► a thread: f
//!        │                                                                           │
//!        └──► Started ── join ◄──── a channel with room for what f returns ◄─────────┘
//! ```
//!
//! A process that puts a body into the queue of an SPE also wakes the program of this SPE. If
//! processors share no memory, the wake-up is a request to the PPE, which passes it on.
//!
//! The bodies in the queues have the lifetime `'env` of the network. Therefore a started process
//! can borrow the same values as a process that was added before the run.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};

use cellworks_machine::{Processor, Spe, SpeId};

use super::shared::NetworkState;
use super::starting::Living;
use crate::channel::link::Waiting;
use crate::channel::waker::{Waker, Woken};
use crate::ends::ended::Ended;
use crate::ends::item::Item;
use crate::ends::{Channel, Reader};
use crate::process::Process;
use crate::process::error::ProcessError;
use crate::process::place::Place;
use crate::sync::locked;
use crate::transport::{Asker, Carrier};

/// Starts processes of a network while the network runs: see
/// [`Network::starter`](crate::Network::starter).
///
/// A started process can start other processes with its own clone of the starter:
///
/// ```
/// use cellworks_csp::{Channel, Ended, Network, Process, Starter};
/// use cellworks_machine::{Machine, Spe, SpeId};
///
/// /// Returns the sum of a range. Two new processes add the two halves of the range.
/// fn sum<S: Spe>(
///     starter: &Starter<'_, S>,
///     process: &Process<'_, S>,
///     numbers: std::ops::Range<u64>,
/// ) -> Result<u64, Ended> {
///     if numbers.end - numbers.start < 10 {
///         return Ok(numbers.sum());
///     }
///     let middle = (numbers.start + numbers.end) / 2;
///     let halves = [numbers.start..middle, middle..numbers.end];
///     let halves = halves.map(|half| {
///         let its_own = starter.clone();
///         starter.start(process, "half", process.place().id(), move |process| {
///             Ok(sum(&its_own, process, half)?)
///         })
///     });
///     let mut total = 0;
///     for half in halves {
///         total += half.join(process)?;
///     }
///     Ok(total)
/// }
///
/// fn sum_to_1000<M: Machine>(machine: &M) -> u64 {
///     let (mut result, mut total) = Channel::new().one_to_one();
///     let mut network = Network::on(machine);
///     let starter = network.starter();
///     network.process("sum", SpeId::new(0), move |process| {
///         let total = sum(&starter, process, 0..1_000)?;
///         Ok(result.write(process, total)?)
///     });
///     network.run_with(|process| total.read(process).unwrap()).unwrap()
/// }
/// # assert_eq!(sum_to_1000(&cellworks_host::Host::new().unwrap()), 499_500);
/// ```
pub struct Starter<'env, S: Spe> {
    starts: Arc<Starts<'env, S>>,
}

/// A handle to a [started](Starter::start) process, which goes on if the handle is dropped.
#[derive(Debug)]
pub struct Started<R> {
    result: Reader<R>,
}

pub(crate) struct Starts<'env, S: Spe>(Mutex<Queues<'env, S>>);

struct Queues<'env, S: Spe> {
    network: Option<u32>,
    of_spes: BTreeMap<SpeId, QueueOfSpe<'env, S>>,
}

struct QueueOfSpe<'env, S: Spe> {
    arrived: VecDeque<NewStarted<'env, S>>,
    /// Processes that start when their start requests arrive. Empty if processors share memory.
    under_way: VecDeque<NewStarted<'env, S>>,
}

pub(crate) struct NewStarted<'env, S: Spe> {
    pub name: String,
    pub stack_bytes: Option<usize>,
    pub body: Body<'env, S>,
    pub living: Living,
}

type Body<'env, S> = Box<dyn FnOnce(&Process<'_, S>) -> Result<(), ProcessError> + Send + 'env>;

impl<'env, S: Spe> Starter<'env, S> {
    pub(crate) fn new(starts: Arc<Starts<'env, S>>) -> Self {
        Self { starts }
    }

    /// Starts a process on the SPE `at` and returns at once. `process` is the calling process. The
    /// new process runs when another process of its SPE waits or yields.
    ///
    /// The network runs until the new process has ended, and fails if the new process panics or
    /// ends with an error of its own. [`Started::join`] waits for the result of the new process.
    ///
    /// `body` cannot borrow from the calling process, which may end before the new process.
    ///
    /// If the local store has no room for the new stack, `body` is dropped with its ends, and the
    /// network fails with [`NetworkError::NoRoomToStart`](crate::NetworkError::NoRoomToStart).
    ///
    /// On a simulated Cell, a start takes the time of creating a cooperative thread. A start on
    /// another SPE also takes the time of a request to the PPE, which passes it on.
    ///
    /// # Panics
    ///
    /// Panics if `process` belongs to another network, or if the network has no process and no
    /// [group](crate::Network::group) on the SPE `at`. The group may be empty.
    #[track_caller]
    pub fn start<P: Place, R: Item + 'env>(
        &self,
        process: &Process<'_, P>,
        name: impl Into<String>,
        at: SpeId,
        body: impl FnOnce(&Process<'_, S>) -> Result<R, ProcessError> + Send + 'env,
    ) -> Started<R> {
        self.add(process, name.into(), at, None, body)
    }

    /// Starts a process as [`start`](Self::start) does, with a stack of `stack_bytes` bytes: see
    /// [`ThreadBuilder::stack_bytes`](cellworks_machine::ThreadBuilder::stack_bytes).
    ///
    /// # Panics
    ///
    /// Panics in the same cases as [`start`](Self::start).
    #[track_caller]
    pub fn start_with_stack<P: Place, R: Item + 'env>(
        &self,
        process: &Process<'_, P>,
        name: impl Into<String>,
        at: SpeId,
        stack_bytes: usize,
        body: impl FnOnce(&Process<'_, S>) -> Result<R, ProcessError> + Send + 'env,
    ) -> Started<R> {
        self.add(process, name.into(), at, Some(stack_bytes), body)
    }

    #[track_caller]
    fn add<P: Place, R: Item + 'env>(
        &self,
        process: &Process<'_, P>,
        name: String,
        at: SpeId,
        stack_bytes: Option<usize>,
        body: impl FnOnce(&Process<'_, S>) -> Result<R, ProcessError> + Send + 'env,
    ) -> Started<R> {
        let (mut value, result) = Channel::new()
            .named(format!("result of {name}"))
            .buffered(1)
            .one_to_one();
        let body = Box::new(move |process: &Process<'_, S>| match body(process) {
            Ok(returned) => {
                drop(value.write(process, returned));
                Ok(())
            }
            Err(error) => {
                if error.ended() == Some(Ended::Poisoned) {
                    drop(value.poison(process));
                }
                Err(error)
            }
        });
        let shared = process.shared();
        let is_elsewhere = process.place().processor() != Processor::Spe(at);
        let travels = is_elsewhere && !process.shares_memory();
        let started = NewStarted {
            name,
            stack_bytes,
            body,
            living: Living::new(&shared.starting),
        };
        self.starts
            .put(started, process.name(), shared.network, at, travels);
        if travels {
            process.request_start(at);
        } else if let Some(waker) = shared.starting.waker_of(at) {
            process.wake(&mut Woken::One(waker));
        }
        Started { result }
    }
}

impl<R: Item> Started<R> {
    /// Waits for the process to end, and returns its result. `process` is the calling process.
    ///
    /// # Errors
    ///
    /// Returns an error if the process has ended without a result: [`Ended::Poisoned`] if it ended
    /// because a channel was poisoned, and otherwise [`Ended::Closed`], for example after a failure
    /// or a panic. A failure or panic is also the error of the network.
    #[track_caller]
    pub fn join<P: Place>(mut self, process: &Process<'_, P>) -> Result<R, Ended> {
        self.result.read(process)
    }
}

impl<S: Spe> Clone for Starter<'_, S> {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.starts))
    }
}

impl<S: Spe> fmt::Debug for Starter<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Starter").finish_non_exhaustive()
    }
}

impl<S: Spe> Default for Starts<'_, S> {
    fn default() -> Self {
        Self(Mutex::new(Queues {
            network: None,
            of_spes: BTreeMap::new(),
        }))
    }
}

impl<'env, S: Spe> Starts<'env, S> {
    pub fn open(&self, network: u32, spes: impl IntoIterator<Item = SpeId>) {
        let mut queues = locked(&self.0);
        queues.network = Some(network);
        queues.of_spes = spes
            .into_iter()
            .map(|spe| {
                let queue = QueueOfSpe {
                    arrived: VecDeque::new(),
                    under_way: VecDeque::new(),
                };
                (spe, queue)
            })
            .collect();
    }

    /// Called when the network has ended. Drops the processes that were not started, because these
    /// processes may hold starters, which hold this value.
    pub fn close(&self) {
        let mut queues = locked(&self.0);
        queues.network = None;
        let of_spes = std::mem::take(&mut queues.of_spes);
        // The queues are dropped without the lock, because destructors may run any code.
        drop(queues);
        drop(of_spes);
    }

    /// Queues a process to start on `at`. `starter` is the calling process.
    #[track_caller]
    fn put(
        &self,
        started: NewStarted<'env, S>,
        starter: &str,
        network: u32,
        at: SpeId,
        travels: bool,
    ) {
        let mut queues = locked(&self.0);
        let is_of_this = queues.network == Some(network);
        let queue = queues.of_spes.get_mut(&at).filter(|_| is_of_this);
        if let Some(queue) = queue {
            if travels {
                queue.under_way.push_back(started)
            } else {
                queue.arrived.push_back(started)
            }
            return;
        }
        drop(queues);
        assert!(
            is_of_this,
            "the process `{starter}` was going to start the process `{}` with the starter of another \
             network; use one that its own network has made",
            started.name
        );
        panic!(
            "the process `{starter}` was going to start the process `{}` on {at}, where its network \
             has no process; add one there before the network runs, or a `group`, which may be empty",
            started.name
        );
    }

    /// Starts processes on `spe` by `start`, until all processes of the network have ended. Runs on
    /// the first thread of the SPE's program.
    pub fn serve(
        &self,
        spe: &S,
        shared: &NetworkState,
        carrier: Option<&dyn Carrier>,
        mut start: impl FnMut(NewStarted<'env, S>),
    ) {
        let starting = &shared.starting;
        // Carriers wake a thread by its process number, so this thread has a number, but no
        // process.
        let number = shared.next_number();
        if let Some(carrier) = carrier {
            carrier.begin(number);
        }
        let waker = Waker {
            sleeper: spe.sleeper(),
            process: number,
            network: shared.network,
        };
        starting.serves(spe.id(), waker);
        let asker = Asker {
            name: "",
            number,
            attempts: false,
        };
        let why = "a process to start, or the last one to end";
        loop {
            while let Some(started) = self.take(spe, number, shared, carrier) {
                start(started);
            }
            if starting.is_over() {
                break;
            }
            let mut ready = || self.has_some(spe.id(), shared) || starting.is_over();
            match carrier {
                None => spe.wait_until(&why, &mut ready),
                Some(carrier) => carrier.wait(asker, &Waiting::Start, &why, None, &mut ready),
            };
        }
        if let Some(carrier) = carrier {
            carrier.end(number);
        }
    }

    fn has_some(&self, at: SpeId, shared: &NetworkState) -> bool {
        let queues = locked(&self.0);
        let queue = queues.of_spes.get(&at);
        queue.is_some_and(|queue| !queue.arrived.is_empty()) || shared.starting.has_delivered(at)
    }

    fn take(
        &self,
        spe: &S,
        number: u32,
        shared: &NetworkState,
        carrier: Option<&dyn Carrier>,
    ) -> Option<NewStarted<'env, S>> {
        let at = spe.id();
        let arrived = locked(&self.0).of_spes.get_mut(&at)?.arrived.pop_front();
        if arrived.is_some() {
            return arrived;
        }
        if !shared.starting.take_delivered(at) {
            return None;
        }
        if let Some(carrier) = carrier {
            carrier.receive_start(number);
        }
        let mut queues = locked(&self.0);
        queues.of_spes.get_mut(&at)?.under_way.pop_front()
    }
}
