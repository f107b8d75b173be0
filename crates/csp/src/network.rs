//! Networks: which processes run where, and how they end.
//!
//! ```text
//!   Network ── process(name, spe, f) ─┐
//!           └─ group(spe, |group| group.process(name, f) ...) ── processes that share local channels
//!                                     │
//!           run() ────────────────────┴──► one program for each SPE, one cooperative thread for each process
//!                  │
//!                  └──► what the main process returned, or the error that ended the network
//! ```

use std::cell::Cell;
use std::error::Error;
use std::fmt;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cellworks_machine::memory::AllocateError;
use cellworks_machine::{
    Machine, Payload, Ppe, PpeCore, Processor, RunError, Spe, SpeId, StackError, Wake,
};

use crate::cause::{self, Moment};
use crate::deadlock::Deadlock;
use crate::gate::Gate;
use crate::held;
use crate::named::error::NamedError;
use crate::outside::OwnGates;
use crate::pending;
use crate::place::{Place, PpePlace};
use crate::process::Process;
use crate::process_error::ProcessError;
use crate::running::{self, Running};
use crate::shared::{Failure, NetworkState};
use crate::start::{NewStarted, Starter, Starts};
use crate::starting::Living;
use crate::transport::{
    Carrier, CarrierOfSpe, CarriersOfCell, EndOfProgram, Exchange, MainCarrier, NoRoomForItem,
    Traffic, Transport,
};
use crate::waker::Waker;

/// The processes of one SPE, before they start.
///
/// Made on that SPE, so processes may share what is not `Send`: [local
/// channels](crate::Channel::local) above all.
pub struct Group<'env, S: Spe> {
    processes: Vec<NewProcess<'env, S>>,
}

struct NewProcess<'env, S: Spe> {
    name: String,
    stack_bytes: Option<usize>,
    body: ProcessBody<'env, S>,
}

type ProcessBody<'env, S> = Box<dyn FnOnce(&Process<'_, S>) -> Result<(), ProcessError> + 'env>;
type GroupBody<'env, S> = Box<dyn FnOnce(&mut Group<'env, S>) + Send + 'env>;
type MainBody<'a, C> = Box<dyn FnOnce(&Process<'_, PpePlace<'_, C>>) + 'a>;

impl<'env, S: Spe> Group<'env, S> {
    /// Adds a process. It starts when all of the group have been added.
    ///
    /// That it ends because a channel has [ended](crate::Ended) is no error: so networks are taken
    /// down. With any other [error](ProcessError) the network fails.
    pub fn process(
        &mut self,
        name: impl Into<String>,
        body: impl FnOnce(&Process<'_, S>) -> Result<(), ProcessError> + 'env,
    ) {
        self.add(name.into(), None, Box::new(body));
    }

    /// As [`process`](Self::process), with a stack of its own size: see
    /// [`ThreadBuilder::stack_bytes`](cellworks_machine::ThreadBuilder::stack_bytes).
    pub fn process_with_stack(
        &mut self,
        name: impl Into<String>,
        stack_bytes: usize,
        body: impl FnOnce(&Process<'_, S>) -> Result<(), ProcessError> + 'env,
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

    /// The processes of all groups of an SPE.
    fn of(bodies: Vec<GroupBody<'env, S>>) -> Self {
        let mut group = Self {
            processes: Vec::new(),
        };
        for body in bodies {
            body(&mut group);
        }
        group
    }

    /// Runs the processes as cooperative threads, or the only one as the program itself.
    fn run(
        self,
        spe: &S,
        shared: &NetworkState,
        carrier: Option<(CarrierOfSpe<S>, &Exchange)>,
        end: EndOfProgram<'_>,
        starts: Option<(&Starts<'env, S>, Living)>,
    ) {
        let carrier = carrier.map(|(carrier_of, exchange)| carrier_of(spe, exchange));
        self.run_by(spe, shared, carrier.as_deref(), starts);
        drop(end);
        if let Some(carrier) = carrier {
            carrier.finish();
        }
    }

    fn run_by<'a>(
        self,
        spe: &'a S,
        shared: &'a NetworkState,
        carrier: Option<&'a dyn Carrier>,
        starts: Option<(&'a Starts<'env, S>, Living)>,
    ) {
        let mut processes = self.processes;
        let alone = processes.len() == 1 && processes[0].stack_bytes.is_none();
        if let Some(only) = processes.pop_if(|_| alone && starts.is_none()) {
            run_on_spe(spe, &only.name, only.body, shared, carrier);
            return;
        }
        let count = processes.len();
        let has_room = Cell::new(true);
        let has_room = &has_room;
        spe.thread_scope(|scope| {
            let spawn = |process: NewProcess<'env, S>, living: Option<Living>| {
                let NewProcess {
                    name,
                    stack_bytes,
                    body,
                } = process;
                let mut thread = scope.builder();
                if let Some(bytes) = stack_bytes {
                    thread = thread.stack_bytes(bytes);
                }
                let run_it = {
                    let name = name.clone();
                    // All of them, or none.
                    move |_| {
                        let _living = living;
                        has_room
                            .get()
                            .then(|| run_on_spe(spe, &name, body, shared, carrier))
                    }
                };
                // What does not start is dropped, with its ends.
                let before = Moment::now();
                let spawned = thread.spawn(run_it);
                spawned.map(drop).map_err(|source| (before, name, source))
            };
            for (index, process) in processes.into_iter().enumerate() {
                let living = starts.as_ref().map(|_| Living::new(&shared.starting));
                if let Err((before, process, source)) = spawn(process, living) {
                    has_room.set(false);
                    let failure = Failure::NoRoom {
                        process,
                        processes: count,
                        fit: index,
                        source,
                    };
                    shared.fail(before, failure);
                    break;
                }
            }
            let Some((starts, program)) = starts else {
                return;
            };
            drop(program);
            starts.serve(spe, shared, carrier, |started| {
                let NewStarted {
                    name,
                    stack_bytes,
                    body,
                    living,
                } = started;
                let process = NewProcess {
                    name,
                    stack_bytes,
                    body,
                };
                if let Err((before, process, source)) = spawn(process, Some(living)) {
                    shared.fail(before, Failure::NoRoomToStart { process, source });
                }
            });
        });
    }
}

/// Runs the program of a processor. Ends that it drops wake who waits.
fn run_program<R>(place: &impl Place, shared: &NetworkState, program: impl FnOnce() -> R) -> R {
    let wake = |waker: Waker| {
        // That an end is gone needs no message: see the transport.
        if let Some(exchange) = shared.exchange.get() {
            exchange.arrive(waker.process);
        }
        place.wake(waker.sleeper);
    };
    pending::with_wakes(shared.network, &wake, program)
}

/// Done when a process has ended, however it did.
struct Ending<'a, 'b, P: Place>(&'a Process<'b, P>);

impl<P: Place> Drop for Ending<'_, '_, P> {
    fn drop(&mut self) {
        let process = self.0;
        let shared = process.shared();
        let held = held::take();
        if !held.is_empty() {
            shared.waits.had(process.number(), held);
        }
        shared.names.creator_ended(process.number());
        process.end();
    }
}

/// Begins a process on the calling thread, and ends it when its body has ended.
pub(crate) fn run_process<P: Place, R>(
    place: &P,
    name: &str,
    body: impl FnOnce(&Process<'_, P>) -> R,
    shared: &NetworkState,
    carrier: Option<&dyn Carrier>,
) -> R {
    let process = Process::new(place, name, shared, carrier);
    let _ending = Ending(&process);
    let result = body(&process);
    shared.waits.ended(process.number());
    result
}

/// What a program unwinds with when one of its processes has panicked, which is known by then.
struct ProcessPanicked;

/// Runs the body of a process, and records its panic, unless it is that of a run that is cancelled.
fn know_panic<R>(
    process: &str,
    at: Processor,
    is_cancelled: impl FnOnce() -> bool,
    shared: &NetworkState,
    body: impl FnOnce() -> R,
) -> R {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        let since = cause::unwound();
        if is_cancelled() {
            resume_unwind(payload);
        }
        let failure = match payload.downcast::<NoRoomForItem>() {
            Ok(error) => Failure::NoRoomForItem(*error),
            Err(payload) => Failure::Panic {
                process: process.to_owned(),
                at,
                payload,
            },
        };
        shared.fail(since, failure);
        resume_unwind(Box::new(ProcessPanicked))
    })
}

/// When this is dropped the calling thread does again what was said before.
struct Task<'a, S: Spe>(&'a S, Option<String>);

impl<S: Spe> Drop for Task<'_, S> {
    fn drop(&mut self) {
        self.0.set_task(self.1.take());
    }
}

fn run_on_spe<S: Spe>(
    spe: &S,
    name: &str,
    body: ProcessBody<'_, S>,
    shared: &NetworkState,
    carrier: Option<&dyn Carrier>,
) {
    let at = spe.id();
    let is_cancelled = || spe.is_cancelled();
    let result = know_panic(name, Processor::Spe(at), is_cancelled, shared, || {
        let before = spe.set_task(Some(format!("the process `{name}`")));
        let _task = Task(spe, before);
        run_process(spe, name, body, shared, carrier)
    });
    // That it ended because a channel did is how networks are taken down.
    if let Some((source, since)) = result.err().and_then(ProcessError::into_own) {
        let failure = Failure::Failed {
            process: name.to_owned(),
            at,
            source,
        };
        shared.fail(since, failure);
    }
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
///     let mut network = Network::on(machine);
///     network.process("source", SpeId::new(0), move |process| {
///         (1..=10_u64).try_for_each(|number| Ok(numbers.write(process, number)?))
///     });
///     network.process("square", SpeId::new(1), move |process| {
///         loop {
///             let number = to_square.read(process)?;
///             squares.write(process, number * number)?;
///         }
///     });
///     let sum = network.run_with(move |process| {
///         let mut sum = 0;
///         // Closed when the source has ended, and the square process with it.
///         while let Ok(square) = to_add.read(process) {
///             sum += square;
///         }
///         sum
///     });
///     sum.unwrap()
/// }
/// # let host = cellworks_host::Host::builder().spes(2).build().unwrap();
/// # assert_eq!(sum_of_squares(&host), 385);
/// ```
#[must_use = "a network does something when it is run"]
pub struct Network<'env, M: Machine> {
    machine: &'env M,
    groups: Vec<(SpeId, GroupBody<'env, M::Spe>)>,
    transport: Transport,
    /// If processes start others.
    starts: Option<Arc<Starts<'env, M::Spe>>>,
    gates: OwnGates,
}

impl<'env, M: Machine> Network<'env, M> {
    /// A network without processes, to be run on a machine.
    pub fn on(machine: &'env M) -> Self {
        Self {
            machine,
            groups: Vec::new(),
            transport: Transport::default(),
            starts: None,
            gates: OwnGates::default(),
        }
    }

    /// Chooses how processes reach each other where SPEs are confined to their local stores: see
    /// [`Transport`].
    pub fn transport(&mut self, transport: Transport) {
        self.transport = transport;
    }

    /// Adds a process on an SPE. Several processes of one SPE take turns: they switch where they
    /// wait.
    ///
    /// That it ends because a channel has [ended](crate::Ended) is no error: so networks are taken
    /// down. With any other [error](ProcessError) the network fails.
    ///
    /// # Panics
    ///
    /// If the machine does not have that SPE.
    #[track_caller]
    pub fn process(
        &mut self,
        name: impl Into<String>,
        at: SpeId,
        body: impl FnOnce(&Process<'_, M::Spe>) -> Result<(), ProcessError> + Send + 'env,
    ) {
        let name = name.into();
        let body = Box::new(body);
        self.add(at, Box::new(move |group| group.add(name, None, body)));
    }

    /// As [`process`](Self::process), with a stack of its own size: see
    /// [`ThreadBuilder::stack_bytes`](cellworks_machine::ThreadBuilder::stack_bytes).
    ///
    /// # Panics
    ///
    /// If the machine does not have that SPE.
    #[track_caller]
    pub fn process_with_stack(
        &mut self,
        name: impl Into<String>,
        at: SpeId,
        stack_bytes: usize,
        body: impl FnOnce(&Process<'_, M::Spe>) -> Result<(), ProcessError> + Send + 'env,
    ) {
        let name = name.into();
        let body = Box::new(body);
        self.add(
            at,
            Box::new(move |group| group.add(name, Some(stack_bytes), body)),
        );
    }

    /// Adds processes on an SPE that share what is not `Send`, such as [local
    /// channels](crate::Channel::local): `group` is called there, and adds them.
    ///
    /// ```
    /// use cellworks_csp::{Channel, Network, NetworkError};
    /// use cellworks_machine::{Machine, SpeId};
    ///
    /// /// The sum of the first squares. What leaves the group goes through a channel of any SPEs.
    /// fn sum_of_squares<M: Machine>(machine: &M, count: u64) -> Result<u64, NetworkError> {
    ///     let (mut to_main, mut at_main) = Channel::new().one_to_one();
    ///     let mut network = Network::on(machine);
    ///     network.group(SpeId::new(0), move |group| {
    ///         let (mut squares, mut to_add) = Channel::local().one_to_one();
    ///         group.process("squares", move |process| {
    ///             (1..=count).try_for_each(|number| Ok(squares.write(process, number * number)?))
    ///         });
    ///         group.process("sum", move |process| {
    ///             let sum = to_add.items(process).sum::<u64>();
    ///             Ok(to_main.write(process, sum)?)
    ///         });
    ///     });
    ///     network.run_with(|process| at_main.read(process).expect("the sum is written"))
    /// }
    /// # let host = cellworks_host::Host::new().unwrap();
    /// # assert_eq!(sum_of_squares(&host, 10).unwrap(), 385);
    /// ```
    ///
    /// # Panics
    ///
    /// If the machine does not have that SPE.
    #[track_caller]
    pub fn group(&mut self, at: SpeId, group: impl FnOnce(&mut Group<'env, M::Spe>) + Send + 'env) {
        self.add(at, Box::new(group));
    }

    /// What processes start others with, while the network runs: see [`Starter::start`]. It is for
    /// the bodies of processes, which may clone it.
    ///
    /// With it, each process on an SPE has a stack of its own, also where it is the only one: the
    /// program of the SPE starts processes meanwhile.
    pub fn starter(&mut self) -> Starter<'env, M::Spe> {
        Starter::new(Arc::clone(self.starts.get_or_insert_default()))
    }

    /// A gate for an OS thread that is no processor of the machine: with `ends`, such as a
    /// [`Writer`](crate::Writer) or a tuple of ends, it takes part in this network. `name` is what
    /// reports call the thread.
    ///
    /// It is for machines on which time passes and SPEs reach all memory, such as a host. Elsewhere
    /// a network that has gates fails before one of its processes has started, with
    /// [`NetworkError::NoGate`].
    pub fn gate<E>(&mut self, name: impl Into<String>, ends: E) -> Gate<E> {
        Gate::new(ends, self.gates.place(name.into()))
    }

    #[track_caller]
    fn add(&mut self, at: SpeId, group: GroupBody<'env, M::Spe>) {
        let topology = self.machine.topology();
        let spes = topology.spes().len();
        assert!(
            at.index() < spes,
            "a process was placed on {at}, but {} has {spes} SPEs; use `topology().spes()`",
            topology.name()
        );
        self.groups.push((at, group));
    }

    /// Runs the network, and returns when all processes have ended.
    ///
    /// # Errors
    ///
    /// [`NetworkError`] if processes wait for each other for ever, one ended with an [error of its
    /// own](ProcessError), panicked, or misused a named channel, or the local store of an SPE has
    /// no room for the stacks of its processes or for an item, or if the caller is a process of a
    /// network itself. When one of them fails, its ends are dropped, so that the others end as
    /// their channels do.
    #[track_caller]
    pub fn run(self) -> Result<(), NetworkError> {
        self.run_with(|_| ())
    }

    /// As [`run`](Self::run), with `main` as one more process, on the PPE. Returns what that
    /// returned.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    #[track_caller]
    pub fn run_with<R>(
        self,
        main: impl FnOnce(&Process<'_, PpePlace<'_, M::Core>>) -> R,
    ) -> Result<R, NetworkError> {
        self.run_counted(main).map(|(result, _)| result)
    }

    /// As [`run_with`](Self::run_with), and says what its channels had to move.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    #[track_caller]
    pub fn run_counted<R>(
        self,
        main: impl FnOnce(&Process<'_, PpePlace<'_, M::Core>>) -> R,
    ) -> Result<(R, Traffic), NetworkError> {
        let mut result = None;
        let traffic = self.run_main(Box::new(|process| result = Some(main(process))))?;
        let Some(result) = result else {
            unreachable!("what keeps the main process from running is an error");
        };
        Ok((result, traffic))
    }

    /// Compiled once for each machine, not once for each main process.
    #[track_caller]
    fn run_main(mut self, main: MainBody<'_, M::Core>) -> Result<Traffic, NetworkError> {
        let (machine, caller) = (self.machine, Location::caller());
        if let Some(outer) = pending::network_here() {
            return Err(NetworkError::Nested {
                at: caller,
                outer: running::location_of(outer).unwrap_or(caller),
            });
        }
        let shared = Arc::new(NetworkState::default());
        let _running = Running::new(shared.network, caller);
        let state = &shared;
        let transport = self.transport;
        let starts = self.starts.clone();
        let starts = starts.as_deref();
        let gates = std::mem::take(&mut self.gates);
        let programs = self.programs();
        if let Some(starts) = starts {
            starts.open(state.network, programs.iter().map(|(at, _)| *at));
        }
        let opening = &gates;
        let result = machine.run(move |ppe: &Ppe<'_, '_, M>| {
            let core = ppe.core();
            if let Err(gate) = opening.open(core, state) {
                let machine = machine.topology().name().to_owned();
                state.fail(Moment::now(), Failure::NoGate { gate, machine });
                return;
            }
            let mut carriers = None;
            if core.are_spes_confined_to_local_store() {
                carriers = machine.on_cell(CarriersOfCell);
            }
            if let Some(carriers) = &carriers {
                let starting = Arc::clone(&state.starting);
                match (carriers.exchange)(machine, transport, programs.len() + 1, starting) {
                    Ok(exchange) => drop(state.exchange.set(exchange)),
                    Err(error) => {
                        state.fail(Moment::now(), Failure::NoMemory(error));
                        return;
                    }
                }
            }
            let exchange = state.exchange.get();
            let carriers = carriers.zip(exchange);
            let spes = programs.iter().map(|(at, _)| *at).collect();
            let carrier = carriers
                .as_ref()
                .map(|(carriers, exchange)| (carriers.of_main)(core, exchange, spes));
            let living = Living::new(&state.starting);
            for (at, bodies) in programs {
                let end = EndOfProgram(exchange);
                let carrier = carriers
                    .as_ref()
                    .map(|(it, exchange)| (it.of_spe, *exchange));
                let starts = starts.map(|starts| (starts, Living::new(&state.starting)));
                drop(ppe.spawn(at, move |spe: &M::Spe| {
                    run_program(spe, state, || {
                        Group::of(bodies).run(spe, state, carrier, end, starts)
                    });
                }));
            }
            let place = PpePlace(core);
            let by = carrier.as_deref().map(|carrier| carrier as &dyn Carrier);
            let end = EndOfProgram(exchange);
            run_program(&place, state, || {
                let _living = living;
                let is_cancelled = || core.is_cancelled();
                know_panic(MAIN, Processor::Ppe, is_cancelled, state, || {
                    run_process(&place, MAIN, main, state, by);
                });
            });
            drop(end);
            if let (Some(carrier), Some(exchange)) = (carrier, exchange) {
                serve_to_the_end(core, &*carrier, exchange);
            }
        });
        if let Some(starts) = starts {
            starts.close();
        }
        let traffic = shared.exchange.get().map(Exchange::traffic);
        NetworkError::of(result, &shared, caller)?;
        Ok(traffic.unwrap_or_default())
    }

    /// One program for each SPE: programs of one SPE run one after the other, and its processes
    /// side by side.
    fn programs(self) -> Vec<(SpeId, Vec<GroupBody<'env, M::Spe>>)> {
        let mut groups = self.groups;
        groups.sort_by_key(|(at, _)| *at);
        let mut programs: Vec<(SpeId, Vec<_>)> = Vec::new();
        for (at, body) in groups {
            match programs.last_mut() {
                Some((last, bodies)) if *last == at => bodies.push(body),
                _ => programs.push((at, vec![body])),
            }
        }
        programs
    }
}

/// The main process has ended: serves the others until they have, too. It waits in this file,
/// because the report of a deadlock leaves out what waits here.
fn serve_to_the_end(core: &impl PpeCore, carrier: &dyn MainCarrier, exchange: &Exchange) {
    let has_ended = || exchange.programs.load(Ordering::Acquire) == 0;
    while !has_ended() {
        let why = "the processes on the SPEs to end";
        core.wait_until(&why, &mut || carrier.collect() || has_ended());
        carrier.handle_all();
    }
    carrier.finish();
}

/// What reports call the process on the PPE.
const MAIN: &str = "main";

/// A network did not end as it should.
///
/// Where several things went wrong, it is the first of them, as the others may follow from it: a
/// process that fails drops its ends, and others that do not expect their channels to end fail,
/// too. An error of a process's own counts from when it became a [`ProcessError`], a panic from
/// when the process dropped the first of its ends, and if it had none left, from when it ended. So
/// nothing is reported that another failure has brought about by closing channels.
#[derive(thiserror::Error)]
pub enum NetworkError {
    /// Processes waited for each other.
    #[error(transparent)]
    Deadlock(Deadlock),
    /// A process misused a named channel, whatever it made of the error.
    #[error(transparent)]
    Named(NamedError),
    /// The stacks of the processes of an SPE do not fit into its local store. None of them has run.
    #[error(
        "{} cannot run its {processes} processes side by side: its local store has room for the stacks of {fit}, and not for \
         that of `{process}`; place some elsewhere, or give them smaller stacks by `process_with_stack`",
        .source.spe()
    )]
    NoRoom {
        /// The first process that has no room.
        process: String,
        /// How many processes the SPE was to run.
        processes: usize,
        /// How many of them would have fitted.
        fit: usize,
        /// What the machine says.
        source: StackError,
    },
    /// The local store of an SPE has no room for the stack of a process that another one
    /// [started](Starter::start). It has not run.
    #[error(
        "the process `{process}` cannot start on {}; start it elsewhere, or give it a smaller stack by \
         `start_with_stack`: {source}",
        .source.spe()
    )]
    NoRoomToStart {
        /// The process that was to be started.
        process: String,
        /// What the machine says.
        source: StackError,
    },
    /// An item does not fit into a local store, where SPEs are confined to theirs.
    #[error(transparent)]
    NoRoomForItem(NoRoomForItem),
    /// The machine has no main memory for its channels, where SPEs are confined to their local
    /// stores.
    #[error(transparent)]
    NoMemory(AllocateError),
    /// The network has a [gate](Network::gate), and its machine lets no OS thread take part that is
    /// no processor of it. No process has run.
    #[error(
        "the network has the gate `{gate}`, and {machine} has none: threads outside take part where time is not \
         simulated, and SPEs are not confined to their local stores; run the network on a host, or make a process \
         of what the thread does"
    )]
    NoGate {
        /// The name of the gate.
        gate: String,
        /// The name of the machine.
        machine: String,
    },
    /// A process on an SPE ended with an error of its own: see [`ProcessError`].
    #[error("the process `{process}` failed on {at}: {source}")]
    Failed {
        /// The process.
        process: String,
        /// Where it ran.
        at: SpeId,
        /// The error.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A process panicked.
    #[error("the process `{process}` panicked on {at}: {}", text_of(.payload))]
    Panic {
        /// The process.
        process: String,
        /// Where it ran.
        at: Processor,
        /// What the panic carried.
        payload: Payload,
    },
    /// A process of a network was going to run another network, and to wait for its end. It would
    /// have kept the other processes of its SPE from running, so nothing was run.
    #[error(
        "a process of the network that was run at {outer} was going to run another network, at {at}, which would stop its SPE \
         until the other one has ended; add the processes to the first network, or run the other one before it or after it"
    )]
    Nested {
        /// The call that was going to run the network.
        at: &'static Location<'static>,
        /// The call that has run the other one.
        outer: &'static Location<'static>,
    },
    /// The machine ended the run.
    #[error(transparent)]
    Run(RunError),
}

impl NetworkError {
    /// What the network that `caller` has run failed with, if it did.
    fn of(
        result: Result<(), RunError>,
        shared: &NetworkState,
        caller: &'static Location<'static>,
    ) -> Result<(), Self> {
        match (result, shared.take_failure()) {
            (_, Some(failure)) => Err(failure.into()),
            (Err(RunError::Deadlock { mut waits }), None) => {
                // That the network waits for its processes is no news.
                let is_own = |at: &Location<'_>| at == caller || at.file() == file!();
                let starting = &shared.starting;
                waits.retain(|wait| !is_own(wait.location) && !starting.is_thread(wait.thread));
                Err(Self::Deadlock(Deadlock::of(shared.waits.take(), waits)))
            }
            (Err(other), None) => Err(Self::Run(other)),
            (Ok(()), None) => Ok(()),
        }
    }

    /// Goes on with the panic of a process, if it was one, as if it had happened here; else panics
    /// with the error's text.
    ///
    /// # Panics
    ///
    /// Always: that is what it is for.
    pub fn resume(self) -> ! {
        match self {
            Self::Panic { payload, .. } => resume_unwind(payload),
            Self::Run(error) => error.resume(),
            other => panic!("{other}"),
        }
    }
}

impl From<Failure> for NetworkError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::NoRoom {
                process,
                processes,
                fit,
                source,
            } => Self::NoRoom {
                process,
                processes,
                fit,
                source,
            },
            Failure::NoRoomToStart { process, source } => Self::NoRoomToStart { process, source },
            Failure::Named(error) => Self::Named(error),
            Failure::NoRoomForItem(error) => Self::NoRoomForItem(error),
            Failure::NoMemory(error) => Self::NoMemory(error),
            Failure::NoGate { gate, machine } => Self::NoGate { gate, machine },
            Failure::Failed {
                process,
                at,
                source,
            } => Self::Failed {
                process,
                at,
                source,
            },
            Failure::Panic {
                process,
                at,
                payload,
            } => Self::Panic {
                process,
                at,
                payload,
            },
        }
    }
}

impl fmt::Debug for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text of a panic, where it has one.
fn text_of(payload: &Payload) -> &str {
    let owned = payload.downcast_ref::<String>().map(String::as_str);
    let text = owned.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("(a payload that is not text)")
}
