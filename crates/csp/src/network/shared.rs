//! The state that the processes of a network share.

use std::error::Error;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use cellworks_machine::memory::AllocateError;
use cellworks_machine::{Payload, Processor, SpeId, StackError};

use super::cause::Moment;
use super::starting::Starting;
use crate::counting::Counting;
use crate::deadlock::waits::Waits;
use crate::named::error::NamedError;
use crate::named::registry::Names;
use crate::sync::locked;
use crate::transport::{Exchange, NoRoomForItem};

pub(crate) struct NetworkState {
    /// An even number that no other network of this program has. The next odd number identifies the
    /// [outside threads](outside_of) of this network.
    pub network: u32,
    processes: AtomicU32,
    pub waits: Waits,
    pub names: Names,
    pub starting: Arc<Starting>,
    /// The data of the [transport](crate::transport), if processors share no memory.
    pub exchange: OnceLock<Exchange>,
    /// What goes from process to process, if the network counts.
    pub counting: Option<Arc<Counting>>,
    failure: Mutex<Option<(Moment, Failure)>>,
}

pub(crate) fn outside_of(network: u32) -> u32 {
    network.wrapping_add(1)
}

pub(crate) enum Failure {
    NoRoom {
        process: String,
        processes: usize,
        fit: usize,
        source: StackError,
    },
    NoRoomToStart {
        process: String,
        source: StackError,
    },
    Named(NamedError),
    NoRoomForItem(NoRoomForItem),
    NoGate {
        gate: String,
        machine: String,
    },
    NoMemory(AllocateError),
    Failed {
        process: String,
        at: SpeId,
        source: Box<dyn Error + Send + Sync>,
    },
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
            counting: None,
            failure: Mutex::default(),
        }
    }
}

impl NetworkState {
    pub(crate) fn next_number(&self) -> u32 {
        self.processes.fetch_add(1, Ordering::Relaxed)
    }

    /// Records a failure. Only the earliest failure is kept, because it may have caused the others.
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
