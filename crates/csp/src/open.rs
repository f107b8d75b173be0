//! Networks whose processes are begun by programs that run already.

use std::marker::PhantomData;
use std::panic::Location;

use cellworks_machine::{Spe, Wake};

use crate::network::run_process;
use crate::pending;
use crate::process::Process;
use crate::running::Running;
use crate::shared::{Failure, NetworkState};

/// A network without processes of its own: programs of a machine that run already, such as the
/// tasks of a pool, become processes of it for as long as they [read and
/// write](Self::process).
///
/// It belongs to the run in which it was made. All that use a channel become processes of the same
/// network, while their ends may be anywhere in that run: dropping one wakes the processes that
/// wait for it.
///
/// A process waits as everything else on its SPE does, so the other cooperative threads of the SPE
/// run meanwhile. If every program of the machine waits, the run ends with
/// [`RunError::Deadlock`](cellworks_machine::RunError), which names the processes that waited and
/// their channels.
///
/// What such processes exchange takes no simulated time where time is simulated, also between two
/// SPEs: a [`Network`](crate::Network) simulates what carries it.
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
    _running: Running,
    run: PhantomData<&'run ()>,
}

impl<'run> OpenNetwork<'run> {
    /// A network for the run in which the caller is: `processor` is any processor of it.
    #[track_caller]
    pub fn new(processor: &'run impl Wake) -> Self {
        let state = NetworkState::default();
        let running = Running::new(state.network, Location::caller());
        let waker = processor.remote_waker();
        pending::wake_remotely(state.network, move |process| waker.wake(process.sleeper));
        Self {
            state,
            _running: running,
            run: PhantomData,
        }
    }

    /// Runs `body` on the calling thread as a process of this network, and returns what it
    /// returned. `spe` is where the caller runs, and `name` what reports call the process.
    ///
    /// Only the calling thread can wait in the process. A thread that is to wait beside it begins a
    /// process of its own.
    ///
    /// # Panics
    ///
    /// If a process of this network has misused a [named channel](Process::create), with the text
    /// of the [`NamedError`](crate::NamedError), when `body` has ended. If a process of another
    /// network that runs uses the same channel, in the call that uses it second.
    pub fn process<S: Spe, R>(
        &self,
        spe: &S,
        name: &str,
        body: impl FnOnce(&Process<'_, S>) -> R,
    ) -> R {
        let result = run_process(spe, name, body, &self.state, None);
        if let Some(Failure::Named(error)) = self.state.take_failure() {
            panic!("{error}");
        }
        result
    }
}

impl Drop for OpenNetwork<'_> {
    fn drop(&mut self) {
        pending::end_remote_wakes(self.state.network);
    }
}
