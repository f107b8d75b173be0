//! The place of a process that an OS thread outside the machine runs.

use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use cellworks_machine::{Processor, RemoteWaker, RunId, Sleeper, Time, Wait, Wake};

use super::{Gates, OpenNetwork, OwnGates, OwnSeat};
use crate::channel::waker::Waker;

/// An OS thread outside the machine, as the place of a process: see
/// [`Gate::enter`](crate::Gate::enter).
///
/// The place returns the PPE as its processor. Waits return false when the run is over.
pub struct OutsidePlace {
    pub(crate) seat: Arc<OwnSeat>,
    /// A place belongs to one thread at a time.
    not_sync: PhantomData<Cell<()>>,
}

impl OutsidePlace {
    pub(crate) fn at(gates: &OwnGates, name: String) -> Self {
        Self::new(&gates.0, name)
    }

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

    fn run(&self) -> &OpenNetwork {
        self.seat.run()
    }

    pub(crate) fn waker(&self) -> &Waker {
        self.seat.waker()
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
