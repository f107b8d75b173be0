//! Networks: which processes run where, and how they end.
//!
//! ```text
//!   Network ── process(name, spe, f) ─┐
//!           └─ group(spe, |group| group.process(name, f) ...) ── processes that share local channels
//!                                     │
//!           run(machine) ─────────────┴──► one program for each SPE, one cooperative thread for each process
//!                  │
//!                  └──► what the main process returned, or the error that ended the network
//! ```

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use cellworks_machine::{Machine, Ppe, RunError, Spe, SpeId, StackError};

use crate::deadlock::Deadlock;
use crate::end::Ended;
use crate::pending;
use crate::place::{Place, PpePlace};
use crate::process::Process;
use crate::transport::Transport;
use crate::waits::Waits;
use crate::waker::Waker;

/// The processes of one SPE, before they start.
///
/// Made on that SPE, so processes may share what is not `Send`: [local channels](crate::Channel::local) above all.
pub struct Group<'env, S: Spe> {
    processes: Vec<NewProcess<'env, S>>,
}

struct NewProcess<'env, S: Spe> {
    name: String,
    stack_bytes: Option<usize>,
    body: ProcessBody<'env, S>,
}

type ProcessBody<'env, S> = Box<dyn FnOnce(&Process<'_, S>) -> Result<(), Ended> + 'env>;
type GroupBody<'env, S> = Box<dyn FnOnce(&mut Group<'env, S>) + Send + 'env>;

impl<'env, S: Spe> Group<'env, S> {
    /// Adds a process. It starts when all of the group have been added.
    ///
    /// That it ends because a channel has [ended](Ended) is no error: so networks are taken down.
    pub fn process(
        &mut self,
        name: impl Into<String>,
        body: impl FnOnce(&Process<'_, S>) -> Result<(), Ended> + 'env,
    ) {
        self.add(name.into(), None, Box::new(body));
    }

    /// As [`process`](Self::process), with a stack of its own size: see
    /// [`ThreadBuilder::stack_bytes`](cellworks_machine::ThreadBuilder::stack_bytes).
    pub fn process_with_stack(
        &mut self,
        name: impl Into<String>,
        stack_bytes: usize,
        body: impl FnOnce(&Process<'_, S>) -> Result<(), Ended> + 'env,
    ) {
        self.add(name.into(), Some(stack_bytes), Box::new(body));
    }

    fn add(&mut self, name: String, stack_bytes: Option<usize>, body: ProcessBody<'env, S>) {
        self.processes.push(NewProcess {
            name,
            stack_bytes,
            body,
        });
    }

    /// Runs the processes as cooperative threads, or the only one as the program itself.
    fn run(self, spe: &S, shared: &State) -> Result<(), StackError> {
        let mut processes = self.processes;
        let alone = processes.len() == 1 && processes[0].stack_bytes.is_none();
        if let Some(only) = processes.pop_if(|_| alone) {
            end_of(run_process(spe, only.name, only.body, shared));
            return Ok(());
        }
        spe.thread_scope(|scope| {
            for NewProcess {
                name,
                stack_bytes,
                body,
            } in processes
            {
                let mut thread = scope.builder();
                if let Some(bytes) = stack_bytes {
                    thread = thread.stack_bytes(bytes);
                }
                thread.spawn(move |_| end_of(run_process(spe, name, body, shared)))?;
            }
            Ok(())
        })
    }
}

/// What the processes of a network share.
#[derive(Default)]
struct State {
    processes: AtomicU32,
    waits: Waits,
    /// Why a group could not start.
    no_room: Mutex<Option<StackError>>,
}

impl State {
    fn number(&self) -> u32 {
        self.processes.fetch_add(1, Ordering::Relaxed)
    }

    /// Runs the program of a processor. Ends that it drops wake who waits.
    fn run_program<R>(&self, place: &impl Place, program: impl FnOnce() -> R) -> R {
        let wake = |waker: Waker| place.wake(waker.sleeper);
        pending::with_wakes(self.waits.network, &wake, program)
    }
}

/// That a process ended because a channel did is how networks are taken down.
fn end_of(_: Result<(), Ended>) {}

fn run_process<P: Place, R>(
    place: &P,
    name: String,
    body: impl FnOnce(&Process<'_, P>) -> R,
    shared: &State,
) -> R {
    body(&Process::new(place, &name, shared.number(), &shared.waits))
}

/// Processes on the SPEs of a machine, and their channels.
///
/// ```
/// use cellworks_csp::{Channel, Network};
/// use cellworks_machine::{Machine, SpeId};
///
/// fn sum_of_squares<M: Machine>(machine: &M) -> u64 {
///     let (mut numbers, mut to_square) = Channel::new().named("numbers").one_to_one();
///     let (mut squares, mut to_add) = Channel::new().named("squares").one_to_one();
///     let mut network = Network::new();
///     network.process("source", SpeId::new(0), move |process| {
///         (1..=10_u64).try_for_each(|number| Ok(numbers.write(process, number)?))
///     });
///     network.process("square", SpeId::new(1), move |process| {
///         loop {
///             let number = to_square.read(process)?;
///             squares.write(process, number * number)?;
///         }
///     });
///     let sum = network.run_with(machine, move |process| {
///         let mut sum = 0;
///         // Closed when the source has ended, and the square process with it.
///         while let Ok(square) = to_add.read(process) {
///             sum += square;
///         }
///         sum
///     });
///     sum.unwrap()
/// }
/// # assert_eq!(sum_of_squares(&cellworks_host::Host::new().unwrap()), 385);
/// ```
#[must_use = "a network does something when it is run"]
pub struct Network<'env, M: Machine> {
    groups: Vec<(SpeId, GroupBody<'env, M::Spe>)>,
    transport: Transport,
}

impl<M: Machine> Default for Network<'_, M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'env, M: Machine> Network<'env, M> {
    /// A network without processes.
    pub fn new() -> Self {
        Self {
            groups: Vec::new(),
            transport: Transport::default(),
        }
    }

    /// Chooses how processes reach each other on machines whose processors share no memory.
    pub fn transport(&mut self, transport: Transport) {
        self.transport = transport;
    }

    /// Adds a process on an SPE. Several processes of one SPE take turns: they switch where they wait.
    ///
    /// That it ends because a channel has [ended](Ended) is no error: so networks are taken down.
    pub fn process(
        &mut self,
        name: impl Into<String>,
        at: SpeId,
        body: impl FnOnce(&Process<'_, M::Spe>) -> Result<(), Ended> + Send + 'env,
    ) {
        let name = name.into();
        self.group(at, move |group| group.process(name, body));
    }

    /// Adds processes on an SPE that share what is not `Send`, such as [local channels](crate::Channel::local): `group` is
    /// called there, and adds them.
    pub fn group(&mut self, at: SpeId, group: impl FnOnce(&mut Group<'env, M::Spe>) + Send + 'env) {
        self.groups.push((at, Box::new(group)));
    }

    /// Runs the network on a machine, and returns when all processes have ended.
    ///
    /// # Errors
    ///
    /// [`NetworkError`] if processes wait for each other for ever, one panicked, or the local store of an SPE has no room
    /// for the stacks of its processes.
    ///
    /// # Panics
    ///
    /// If a process was placed on an SPE that the machine does not have.
    pub fn run(self, machine: &M) -> Result<(), NetworkError> {
        self.run_with(machine, |_| ())
    }

    /// As [`run`](Self::run), with `main` as one more process, on the PPE. Returns what that returned.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_with<R>(
        self,
        machine: &M,
        main: impl FnOnce(&Process<'_, PpePlace<'_, M::Core>>) -> R,
    ) -> Result<R, NetworkError> {
        let shared = State::default();
        let state = &shared;
        let result = machine.run(move |ppe: &Ppe<'_, '_, M>| {
            // One program for each SPE: programs of one SPE run one after the other, and its processes side by side.
            let mut groups = self.groups;
            groups.sort_by_key(|(at, _)| *at);
            let mut groups = groups.into_iter().peekable();
            while let Some((at, first)) = groups.next() {
                let mut bodies = vec![first];
                while let Some((_, body)) = groups.next_if(|(other, _)| *other == at) {
                    bodies.push(body);
                }
                drop(ppe.spawn(at, move |spe: &M::Spe| {
                    state.run_program(spe, || {
                        let mut group = Group {
                            processes: Vec::new(),
                        };
                        for body in bodies {
                            body(&mut group);
                        }
                        if let Err(error) = group.run(spe, state) {
                            let mut no_room = state.no_room.lock();
                            let no_room = no_room.as_mut().unwrap_or_else(|e| e.get_mut());
                            no_room.get_or_insert(error);
                        }
                    });
                }));
            }
            let place = PpePlace(ppe.core());
            state.run_program(&place, || {
                run_process(&place, "main".to_owned(), main, state)
            })
        });
        let no_room = shared.no_room.into_inner();
        if let Some(error) = no_room.unwrap_or_else(PoisonError::into_inner) {
            return Err(NetworkError::NoRoom(error));
        }
        result.map_err(|error| match error {
            RunError::Deadlock { waits } => {
                NetworkError::Deadlock(Deadlock::of(&shared.waits, waits))
            }
            other => NetworkError::Run(other),
        })
    }
}

/// A network did not end as it should.
#[derive(Debug, thiserror::Error)]
pub enum NetworkError {
    /// Processes waited for each other.
    #[error(transparent)]
    Deadlock(Deadlock),
    /// The stacks of the processes of an SPE do not fit into its local store.
    #[error(transparent)]
    NoRoom(StackError),
    /// A process panicked, or the run was ended.
    #[error(transparent)]
    Run(RunError),
}
