//! Open networks, in which programs that already run take part as processes.

use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

use cellworks_machine::{RunId, Spe, Wake};

use super::body::run_process;
use super::running::Running;
use super::shared::{Failure, NetworkState};
use crate::counting::Counted;
use crate::process::{Process, pending};

/// A network for programs that already run on a machine, such as the tasks of a pool. A program is
/// a process of the network during its call of [`process`](Self::process).
///
/// The network belongs to the run in which it was made. All programs that use a channel must be
/// processes of one network. An end may be dropped anywhere in the run.
///
/// While a process waits, the other cooperative threads of its SPE run. If every program of the
/// machine waits, the run ends with [`RunError::Deadlock`](cellworks_machine::RunError), which
/// names processes and channels. Communication takes no simulated time.
///
/// ```
/// use cellworks_csp::{Channel, OpenNetwork};
/// use cellworks_machine::{Machine, Ppe, Spe, SpeId};
///
/// fn sum_of_two_threads<M: Machine>(machine: &M) -> u64 {
///     let sum = machine.run(|ppe: &Ppe<'_, '_, M>| {
///         let program = ppe.spawn(SpeId::new(0), |spe: &M::Spe| {
///             let network = OpenNetwork::new(spe);
///             let (mut numbers, mut to_add) = Channel::local().one_to_one::<u64>();
///             let mut sum = 0;
///             spe.thread_scope(|scope| {
///                 let _source = scope.spawn(|_| {
///                     network.process(spe, "source", move |process| {
///                         (1..=10).try_for_each(|number| numbers.write(process, number))
///                     })
///                 });
///                 let _adder = scope.spawn(|_| {
///                     network.process(spe, "adder", |process| {
///                         while let Ok(number) = to_add.read(process) {
///                             sum += number;
///                         }
///                     });
///                 });
///             });
///             sum
///         });
///         program.join().unwrap()
///     });
///     sum.unwrap()
/// }
/// # assert_eq!(sum_of_two_threads(&cellworks_host::Host::new().unwrap()), 55);
/// ```
pub struct OpenNetwork<'run> {
    state: NetworkState,
    run_id: RunId,
    at: &'static Location<'static>,
    _running: Running,
    run: PhantomData<&'run ()>,
}

impl<'run> OpenNetwork<'run> {
    /// Makes a network for the run in which `processor` takes part.
    #[track_caller]
    pub fn new(processor: &'run impl Wake) -> Self {
        let state = NetworkState::default();
        let at = Location::caller();
        let running = Running::new(state.network, at);
        let waker = processor.remote_waker();
        pending::wake_remotely(state.network, move |process| waker.wake(process.sleeper));
        Self {
            state,
            run_id: processor.run_id().clone(),
            at,
            _running: running,
            run: PhantomData,
        }
    }

    /// Counts what goes from process to process from now on, as
    /// [`Network::count_volumes`](crate::Network::count_volumes) does, and returns the counts. The
    /// processes are in the order in which they began, and each is a unit.
    ///
    /// Simulated times change a little where items go through a ring buffer in batches, as with
    /// `read_up_to`: a process that counts takes the items one by one.
    pub fn count_volumes(&mut self) -> Counted {
        Counted(Arc::clone(self.state.counting.get_or_insert_default()))
    }

    /// Runs `body` on the calling thread as a process of this network, and returns the result of
    /// `body`. `spe` is the SPE of the caller, and `name` is the name of the process in reports.
    ///
    /// Only the calling thread may wait as this process. Another thread needs its own process.
    ///
    /// # Panics
    ///
    /// Panics after `body` has ended, with the text of the [`NamedError`](crate::NamedError), if a
    /// process of this network has misused a [named channel](Process::create). A read or write
    /// panics if its channel belongs to another network that still runs.
    ///
    /// Panics, and drops `body`, if `spe` takes part in another run than this network.
    #[track_caller]
    pub fn process<S: Spe, R>(
        &self,
        spe: &S,
        name: &str,
        body: impl FnOnce(&Process<'_, S>) -> R,
    ) -> R {
        if *spe.run_id() != self.run_id {
            self.refuse(spe, name);
        }
        let result = run_process(spe, None, name, body, &self.state, None);
        if let Some(Failure::Named(error)) = self.state.take_failure() {
            panic!("{error}");
        }
        result
    }

    #[track_caller]
    #[cold]
    #[inline(never)]
    fn refuse(&self, spe: &impl Spe, name: &str) -> ! {
        panic!(
            "the process `{name}` was going to begin on {} in {}, but its network, made at {}, belongs to {}; \
             make an `OpenNetwork` in the run of the SPE, or begin the process in a program of the network's run",
            spe.id(),
            spe.run_id(),
            self.at,
            self.run_id
        );
    }
}

impl Drop for OpenNetwork<'_> {
    fn drop(&mut self) {
        pending::end_remote_wakes(self.state.network);
    }
}
