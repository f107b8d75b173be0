//! What the processes of a network share.

use std::error::Error;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use cellworks_machine::memory::AllocateError;
use cellworks_machine::{Payload, Processor, SpeId, StackError};

use crate::cause::Moment;
use crate::named::error::NamedError;
use crate::named::registry::Names;
use crate::starting::Starting;
use crate::sync::locked;
use crate::transport::{Exchange, NoRoomForItem};
use crate::waits::Waits;

pub(crate) struct NetworkState {
    /// The number of the network, of all that were run in this program; the next one is that of its
    /// threads [outside](outside_of).
    pub network: u32,
    processes: AtomicU32,
    pub waits: Waits,
    pub names: Names,
    /// Of a network whose processes start others.
    pub starting: Arc<Starting>,
    /// Where processors share no memory.
    pub exchange: OnceLock<Exchange>,
    failure: Mutex<Option<(Moment, Failure)>>,
}

/// The network in the [`Waker`](crate::waker::Waker)s of the threads that have come through the
/// gates of a network: they are no threads of the machine.
pub(crate) fn outside_of(network: u32) -> u32 {
    network.wrapping_add(1)
}

/// What went wrong first.
pub(crate) enum Failure {
    /// The stack of a process found no room: the group did not start.
    NoRoom {
        process: String,
        processes: usize,
        fit: usize,
        source: StackError,
    },
    /// The stack of a process found no room that another process was going to start.
    NoRoomToStart {
        process: String,
        source: StackError,
    },
    /// A named channel was misused.
    Named(NamedError),
    NoRoomForItem(NoRoomForItem),
    /// The machine has no gates.
    NoGate {
        gate: String,
        machine: String,
    },
    /// There is no main memory for what channels need there.
    NoMemory(AllocateError),
    /// A process ended with an error of its own.
    Failed {
        process: String,
        at: SpeId,
        source: Box<dyn Error + Send + Sync>,
    },
    /// A process panicked.
    Panic {
        process: String,
        at: Processor,
        payload: Payload,
    },
}

impl Default for NetworkState {
    fn default() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Self {
            network: NEXT.fetch_add(2, Ordering::Relaxed),
            processes: AtomicU32::default(),
            waits: Waits::default(),
            names: Names::default(),
            starting: Arc::default(),
            exchange: OnceLock::new(),
            failure: Mutex::default(),
        }
    }
}

impl NetworkState {
    /// The number of the next process that starts.
    pub(crate) fn next_number(&self) -> u32 {
        self.processes.fetch_add(1, Ordering::Relaxed)
    }

    /// Something went wrong. Only what did so first is remembered, as the rest may follow from it.
    pub(crate) fn fail(&self, since: Moment, failure: Failure) {
        let mut first = locked(&self.failure);
        if first.as_ref().is_none_or(|(other, _)| since < *other) {
            *first = Some((since, failure));
        }
    }

    pub(crate) fn take_failure(&self) -> Option<Failure> {
        let mut first = locked(&self.failure);
        first.take().map(|(_, failure)| failure)
    }
}
