//! Networks of processes: placing and running the processes.
//!
//! ```text
//!   Network ── process(name, spe, f) ─┐
//!           └─ group(spe, |group| group.process(name, f) ...) ── processes that share local channels
//!                                     │
//!           run() ────────────────────┴──► one program for each SPE, one cooperative thread for each process
//!                  │
//!                  └──► what the main process returned, or the error that ended the network
//! ```
//!
//! Read this file first, with `shared` (the state that the processes of a network share), and then
//! `group` and `body` (from the program of an SPE to the body of a process), `error`, and `cause`
//! (which of several failures was first). `start` lets processes start others, for which `starting`
//! counts the living ones. `open` is a network of programs that run already. `running` and
//! `numbers` tell networks and threads outside apart.

// Rejected: to name the machine only in `run`. The type of a process's place would then be unknown
// where its body is written, and `process` could not panic if the SPE does not exist.

mod body;
pub(crate) mod cause;
pub(crate) mod error;
pub(crate) mod group;
pub(crate) mod numbers;
pub(crate) mod open;
pub(crate) mod running;
pub(crate) mod shared;
pub(crate) mod start;
pub(crate) mod starting;

use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cellworks_machine::{Machine, Ppe, PpeCore, Processor, SpeId, Wake};

use self::body::{know_panic, run_process, run_program};
use self::cause::Moment;
use self::error::NetworkError;
use self::group::{Group, GroupBody};
use self::running::Running;
use self::shared::{Failure, NetworkState};
use self::start::{Starter, Starts};
use self::starting::Living;
use crate::counting::{Counted, Counting, Rank};
use crate::outside::OwnGates;
use crate::outside::gate::Gate;
use crate::outside::place::OutsidePlace;
use crate::process::error::ProcessError;
use crate::process::place::PpePlace;
use crate::process::{Process, pending};
use crate::transport::{
    Carrier, CarriersOfCell, EndOfProgram, Exchange, MainCarrier, Traffic, Transport,
};

type MainBody<'a, C> = Box<dyn FnOnce(&Process<'_, PpePlace<'_, C>>) + 'a>;

/// A network: processes on the SPEs of a machine, which communicate through channels.
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
///         // The channel closes when the process `square` has ended.
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
    /// The SPE of each of the `groups`, in place of the given one.
    places: Option<Vec<SpeId>>,
    counting: Option<Arc<Counting>>,
    transport: Transport,
    /// The queues of processes to start, or `None` without a [starter](Self::starter).
    starts: Option<Arc<Starts<'env, M::Spe>>>,
    gates: OwnGates,
}

impl<'env, M: Machine> Network<'env, M> {
    /// Makes a network without processes, which will run on `machine`.
    pub fn on(machine: &'env M) -> Self {
        Self {
            machine,
            groups: Vec::new(),
            places: None,
            counting: None,
            transport: Transport::default(),
            starts: None,
            gates: OwnGates::default(),
        }
    }

    /// Sets how items travel if SPEs are confined to their local stores: see [`Transport`].
    pub fn transport(&mut self, transport: Transport) {
        self.transport = transport;
    }

    /// Counts what goes from process to process while the network runs, and returns the counts.
    ///
    /// An item is counted when a process has read it: once as a message, and with its
    /// [`Item::bytes`](crate::Item::bytes). If `bytes` panics, the item is a message all the same.
    /// Sums of bytes wrap around at 2^64. The sender is the process that wrote the item. Counting
    /// changes no simulated time. [`Counted::flows`] says in which order the processes are.
    ///
    /// On a simulated Cell, an item that an earlier network left in a buffer may be counted as the
    /// item of another sender. Make new channels for each network that counts.
    ///
    /// ```
    /// use cellworks_csp::{Channel, Network};
    /// use cellworks_machine::{Machine, SpeId};
    ///
    /// fn count<M: Machine>(machine: &M) {
    ///     let (mut numbers, mut to_add) = Channel::new().one_to_one::<u32>();
    ///     let mut network = Network::on(machine);
    ///     network.process("source", SpeId::new(0), move |process| {
    ///         Ok((0..10).try_for_each(|number| numbers.write(process, number))?)
    ///     });
    ///     network.process("sum", SpeId::new(1), move |process| {
    ///         assert_eq!(to_add.items(process).sum::<u32>(), 45);
    ///         Ok(())
    ///     });
    ///     let counted = network.count_volumes();
    ///     network.run().unwrap();
    ///     let sent = counted.flows().between("source", "sum");
    ///     assert_eq!((sent.messages, sent.bytes), (10, 40));
    /// }
    /// # count(&cellworks_host::Host::builder().spes(2).build().unwrap());
    /// ```
    pub fn count_volumes(&mut self) -> Counted {
        Counted(Arc::clone(self.counting.get_or_insert_default()))
    }

    /// Runs the processes on other SPEs than those with which they are added. The processes of the
    /// first call of [`process`](Self::process) or [`group`](Self::group) run on the first of
    /// `spes`, those of the second call on the second, and so on: this is the order of the units in
    /// [`Flows`](cellworks_machine::Flows). A group without processes counts, too.
    ///
    /// Processes that a [starter](Self::starter) starts stay where they are started. An SPE that a
    /// starter names must keep a unit, such as a group without processes.
    ///
    /// ```
    /// use cellworks_csp::{Channel, Network};
    /// use cellworks_machine::{Machine, Spe, SpeId};
    ///
    /// fn place<M: Machine>(machine: &M) {
    ///     let (mut places, mut to_check) = Channel::new().one_to_one::<usize>();
    ///     let mut network = Network::on(machine);
    ///     network.process("source", SpeId::new(0), move |process| {
    ///         Ok(places.write(process, process.place().id().index())?)
    ///     });
    ///     network.process("check", SpeId::new(1), move |process| {
    ///         assert_eq!(to_check.read(process)?, 1);
    ///         assert_eq!(process.place().id().index(), 0);
    ///         Ok(())
    ///     });
    ///     network.place([SpeId::new(1), SpeId::new(0)]);
    ///     network.run().unwrap();
    /// }
    /// # place(&cellworks_host::Host::builder().spes(2).build().unwrap());
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the machine does not have one of the SPEs.
    #[track_caller]
    pub fn place(&mut self, spes: impl IntoIterator<Item = SpeId>) {
        let spes: Vec<SpeId> = spes.into_iter().collect();
        spes.iter().for_each(|at| self.assert_has(*at));
        self.places = Some(spes);
    }

    /// Adds a process on the SPE `at`. While the process waits, other processes of this SPE run.
    ///
    /// If the process returns an [error](ProcessError) other than `Ended`, the network fails.
    ///
    /// # Panics
    ///
    /// Panics if the machine does not have the SPE.
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

    /// Adds a process as [`process`](Self::process) does, with a stack of `stack_bytes` bytes: see
    /// [`ThreadBuilder::stack_bytes`](cellworks_machine::ThreadBuilder::stack_bytes).
    ///
    /// # Panics
    ///
    /// Panics if the machine does not have the SPE.
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

    /// Adds a group of processes. The closure `group` runs on the SPE `at`, and creates the
    /// processes there. The processes may share values that are not `Send`, such as the ends of
    /// [local channels](crate::Channel::local).
    ///
    /// ```
    /// use cellworks_csp::{Channel, Network, NetworkError};
    /// use cellworks_machine::{Machine, SpeId};
    ///
    /// /// Returns the sum of the first `count` squares. It leaves the group by a shared channel.
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
    /// Panics if the machine does not have the SPE.
    #[track_caller]
    pub fn group(&mut self, at: SpeId, group: impl FnOnce(&mut Group<'env, M::Spe>) + Send + 'env) {
        self.add(at, Box::new(group));
    }

    /// Returns a handle by which processes start other processes while the network runs: see
    /// [`Starter::start`]. Move clones of the handle into the bodies of processes.
    ///
    /// With a starter, the only process of an SPE needs a stack besides that of the SPE's program.
    pub fn starter(&mut self) -> Starter<'env, M::Spe> {
        Starter::new(Arc::clone(self.starts.get_or_insert_default()))
    }

    /// Makes a gate, through which an OS thread outside the machine takes part in the network with
    /// `ends`: a [`Writer`](crate::Writer), a [`Reader`](crate::Reader) or a tuple of ends. `name`
    /// is the name of the thread in reports.
    ///
    /// Gates need a machine without simulated time on which SPEs access all memory, such as a host.
    /// On other machines, the network fails with [`NetworkError::NoGate`] and starts no process.
    pub fn gate<E>(&mut self, name: impl Into<String>, ends: E) -> Gate<E> {
        Gate::new(ends, OutsidePlace::at(&self.gates, name.into()))
    }

    #[track_caller]
    fn add(&mut self, at: SpeId, group: GroupBody<'env, M::Spe>) {
        self.assert_has(at);
        self.groups.push((at, group));
    }

    #[track_caller]
    fn assert_has(&self, at: SpeId) {
        let topology = self.machine.topology();
        let spes = topology.spes().len();
        assert!(
            at.index() < spes,
            "a process was placed on {at}, but {} has {spes} SPEs, 0 to {}; use `topology().spes()`",
            topology.name(),
            spes - 1
        );
    }

    /// Runs the network, and returns when all processes have ended.
    ///
    /// # Errors
    ///
    /// Returns a [`NetworkError`] in these cases:
    ///
    /// - The processes are in a deadlock.
    /// - A process ended with its own [error](ProcessError), panicked, or misused a named channel.
    /// - The local store of an SPE has no room for the stacks of its processes or for an item.
    /// - The caller is itself a process of a network.
    ///
    /// A process that fails drops its ends, so its channels end, and then the other processes end.
    #[track_caller]
    pub fn run(self) -> Result<(), NetworkError> {
        self.run_with(|_| ())
    }

    /// Runs the network as [`run`](Self::run) does, with the process `main` on the PPE, and returns
    /// the result of `main`.
    ///
    /// Write `move` before the closure, so that the ends of `main` are dropped when `main` ends and
    /// the other processes find their channels closed. A closure without `move` borrows its ends.
    /// They live on after `main` has ended, and a process that waits for them is deadlocked. Lend
    /// ends only to a `main` that ends last, such as one that reads a channel until it is closed.
    ///
    /// ```
    /// use cellworks_csp::{Channel, Network, NetworkError};
    /// use cellworks_machine::{Machine, SpeId};
    ///
    /// fn print_all<M: Machine>(machine: &M) -> Result<(), NetworkError> {
    ///     let (mut numbers, mut to_print) = Channel::new().one_to_one::<u32>();
    ///     let mut network = Network::on(machine);
    ///     network.process("printer", SpeId::new(0), move |process| {
    ///         loop {
    ///             println!("{}", to_print.read(process)?);
    ///         }
    ///     });
    ///     // Without `move`, the printer would wait for ever after the last number.
    ///     network.run_with(move |process| {
    ///         let written = (1..=3).try_for_each(|number| numbers.write(process, number));
    ///         written.expect("the printer reads until the channel is closed");
    ///     })
    /// }
    /// # print_all(&cellworks_host::Host::new().unwrap()).unwrap();
    /// ```
    ///
    /// If `main` uses `?`, name its result where the closure begins, and write `Ok` without a type.
    /// The first `?` behind the call passes on the error of the network, the second that of `main`.
    ///
    /// ```
    /// use std::error::Error;
    ///
    /// use cellworks_csp::{Channel, Network, ProcessError};
    /// use cellworks_machine::{Machine, SpeId};
    ///
    /// fn sum<M: Machine>(machine: &M) -> Result<u32, Box<dyn Error>> {
    ///     let (mut numbers, mut to_add) = Channel::new().one_to_one();
    ///     let mut network = Network::on(machine);
    ///     network.process("source", SpeId::new(0), move |process| {
    ///         Ok((1..=2).try_for_each(|number| numbers.write(process, number))?)
    ///     });
    ///     let sum = network.run_with(move |process| -> Result<_, ProcessError> {
    ///         let first = to_add.read(process)?;
    ///         Ok(first + to_add.read(process)?)
    ///     })??;
    ///     Ok(sum)
    /// }
    /// # assert_eq!(sum(&cellworks_host::Host::new().unwrap()).unwrap(), 3);
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`run`](Self::run).
    #[track_caller]
    pub fn run_with<R>(
        self,
        main: impl FnOnce(&Process<'_, PpePlace<'_, M::Core>>) -> R,
    ) -> Result<R, NetworkError> {
        self.run_counted(main).map(|(result, _)| result)
    }

    /// Runs the network as [`run_with`](Self::run_with) does, and also returns its [`Traffic`].
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`run`](Self::run).
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

    /// Runs the network. Compiled once for each machine type, not for each result type.
    #[track_caller]
    fn run_main(mut self, main: MainBody<'_, M::Core>) -> Result<Traffic, NetworkError> {
        let (machine, caller) = (self.machine, Location::caller());
        if let Some(outer) = pending::network_here() {
            return Err(NetworkError::Nested {
                at: caller,
                outer: running::location_of(outer).unwrap_or(caller),
            });
        }
        if let Some(places) = &self.places
            && places.len() != self.groups.len()
        {
            return Err(NetworkError::Placed {
                spes: places.len(),
                units: self.groups.len(),
            });
        }
        let mut shared = NetworkState::default();
        shared.counting = self.counting.take();
        let shared = Arc::new(shared);
        let _running = Running::new(shared.network, caller);
        let state = &shared;
        let transport = self.transport;
        let starts = self.starts.clone();
        let starts = starts.as_deref();
        let gates = std::mem::take(&mut self.gates);
        let given = || self.groups.iter().map(|(at, _)| *at).collect();
        let units = self.places.clone().unwrap_or_else(given);
        let programs = self.programs();
        if let Some(counting) = &shared.counting {
            counting.set_units(units);
        }
        if let Some(starts) = starts {
            starts.open(state.network, programs.iter().map(|(at, _)| *at));
        }
        let opening = &gates;
        let result = machine.run(move |ppe: &Ppe<'_, '_, M>| {
            let core = ppe.core();
            if let Err(gate) = opening.open(core, state, caller) {
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
                let name = "processes of the network";
                drop(ppe.spawn_named(at, name, move |spe: &M::Spe| {
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
                    run_process(&place, Some(Rank::MAIN), MAIN, main, state, by);
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

    /// Collects the groups of each SPE, because one program runs all processes of an SPE.
    #[expect(
        clippy::type_complexity,
        reason = "the one caller takes the parts at once"
    )]
    fn programs(self) -> Vec<(SpeId, Vec<(u32, GroupBody<'env, M::Spe>)>)> {
        let mut places = self.places.into_iter().flatten();
        let groups = self
            .groups
            .into_iter()
            .map(|(at, body)| (places.next().unwrap_or(at), body));
        let mut groups: Vec<_> = (0..).zip(groups).collect();
        groups.sort_by_key(|(_, (at, _))| *at);
        let mut programs: Vec<(SpeId, Vec<_>)> = Vec::new();
        for (unit, (at, body)) in groups {
            match programs.last_mut() {
                Some((last, bodies)) if *last == at => bodies.push((unit, body)),
                _ => programs.push((at, vec![(unit, body)])),
            }
        }
        programs
    }
}

/// Serves the requests of the other processes after the main process has ended. Must be in this
/// folder: reports of deadlocks leave out waits there, because such a wait is never the cause.
fn serve_to_the_end(core: &impl PpeCore, carrier: &dyn MainCarrier, exchange: &Exchange) {
    let has_ended = || exchange.programs.load(Ordering::Acquire) == 0;
    loop {
        // The last wait of the main process may have collected requests when it ended.
        carrier.handle_all();
        if has_ended() {
            break;
        }
        let why = "the processes on the SPEs to end";
        core.wait_until(&why, &mut || carrier.collect() || has_ended());
    }
    carrier.finish();
}

const MAIN: &str = "main";
