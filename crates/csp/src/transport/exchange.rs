//! The exchange: the data that the processors of a network share about messages and items.
//!
//! On a real machine these data would be in the cache lines of channels, tables of the PPE and
//! local stores. Here they are in ordinary memory, but a processor that uses them also performs the
//! machine operation that would move the data on a real machine.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use cellworks_machine::memory::{AllocateError, LINE_BYTES, Region};
use cellworks_machine::mfc::EffectiveAddress;
use cellworks_machine::{CellMachine, Processor, SpeId};

use super::choice::{Traffic, Transport};
use super::items::Items;
use super::request::Requests;
use crate::channel::link::{Side, Waiting};
use crate::channel::waker::Waker;
use crate::network::starting::Starting;
use crate::sync::locked;
use crate::transport::users::{Users, UsersOfSide};

/// The number of main memory lines for channels. With more channels, some share a line.
const CHANNEL_LINES: usize = 4096;

/// The number of lines for alternating processes. With more processes, some share a line.
const PROCESS_LINES: usize = 1024;

/// The bytes of main memory for items that wait to be read.
const ITEM_BYTES: usize = 64 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// Both processes of the channel are on the processor of the calling process.
    Local,
    Shared {
        line: EffectiveAddress,
        /// Whether the channel's only reader and only writer are on SPEs and have never changed.
        is_simple: bool,
    },
}

pub(crate) struct Exchange {
    pub transport: Transport,
    /// A number that no other exchange of the program has.
    number: u64,
    memory: Region,
    /// The number of channels that processes have used.
    channels: AtomicUsize,
    pub items: Mutex<Items>,
    pub requests: Requests,
    /// Processes with a message that they have not handled.
    arrived: Mutex<BTreeSet<u32>>,
    alternating: Mutex<BTreeSet<u32>>,
    processors: Mutex<BTreeMap<u32, Processor>>,
    /// The number of SPEs with processes that have not ended, plus 1 for the main process.
    pub programs: AtomicUsize,
    starting: Arc<Starting>,
    communications: AtomicU64,
    requests_sent: AtomicU64,
    bytes_moved: AtomicU64,
    items_flushed: AtomicU64,
}

impl Exchange {
    pub fn new<M: CellMachine>(
        machine: &M,
        transport: Transport,
        programs: usize,
        starting: Arc<Starting>,
    ) -> Result<Self, AllocateError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let lines = CHANNEL_LINES + PROCESS_LINES;
        let module = machine.topology().modules().next();
        let module = module.expect("a machine has a memory module");
        let memory = machine.allocate(module, lines * LINE_BYTES + ITEM_BYTES)?;
        Ok(Self {
            transport,
            items: Mutex::new(Items::new(memory.at(lines * LINE_BYTES), ITEM_BYTES as u32)),
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            memory,
            channels: AtomicUsize::new(0),
            requests: Requests::default(),
            arrived: Mutex::default(),
            alternating: Mutex::default(),
            processors: Mutex::default(),
            programs: AtomicUsize::new(programs),
            starting,
            communications: AtomicU64::new(0),
            requests_sent: AtomicU64::new(0),
            bytes_moved: AtomicU64::new(0),
            items_flushed: AtomicU64::new(0),
        })
    }

    /// Returns how `process` performs the step of `what`. Records that the process uses the
    /// channel.
    pub fn route(&self, what: &Waiting<'_>, process: u32, processor: Processor) -> Route {
        let (link, side) = match what {
            Waiting::Read(link) => (link, Side::Reader),
            Waiting::Write(link) => (link, Side::Writer),
            Waiting::Start => return Route::Local,
            Waiting::Alternation(_) | Waiting::Creation(_) => {
                return Route::Shared {
                    line: self.line_of_process(process),
                    is_simple: false,
                };
            }
        };
        let Some(carried) = link.carried() else {
            return Route::Local;
        };
        let mut users = locked(&carried.users);
        // In an earlier network the channel had other users and another line.
        let users = match &mut *users {
            Some(users) if users.exchange == self.number => users,
            users => users.insert(Box::new(self.first_use())),
        };
        match side {
            Side::Reader => users.reader.meet(process, processor),
            Side::Writer => users.writer.meet(process, processor),
        }
        let mut is_simple = false;
        if let (UsersOfSide::One(_, reader), UsersOfSide::One(_, writer)) =
            (users.reader, users.writer)
            && carried.is_one_to_one
        {
            // With the coordinator, no step of the PPE has `Route::Local` (section 2.1 of the
            // paper).
            let is_local = processor != Processor::Ppe || self.transport == Transport::Direct;
            if reader == writer && is_local {
                return Route::Local;
            }
            is_simple = reader != Processor::Ppe && writer != Processor::Ppe;
        }
        let line = self.memory.at(users.line * LINE_BYTES);
        Route::Shared { line, is_simple }
    }

    fn first_use(&self) -> Users {
        Users {
            exchange: self.number,
            line: self.channels.fetch_add(1, Ordering::Relaxed) % CHANNEL_LINES,
            reader: UsersOfSide::Unused,
            writer: UsersOfSide::Unused,
        }
    }

    pub fn line_of_process(&self, process: u32) -> EffectiveAddress {
        let line = CHANNEL_LINES + process as usize % PROCESS_LINES;
        self.memory.at(line * LINE_BYTES)
    }

    pub fn begin(&self, process: u32, processor: Processor) {
        locked(&self.processors).insert(process, processor);
    }

    pub fn end(&self, process: u32) {
        locked(&self.processors).remove(&process);
        locked(&self.alternating).remove(&process);
        locked(&self.arrived).remove(&process);
    }

    /// Returns the processor of a process, or `None` if the process has ended.
    pub fn processor_of(&self, process: u32) -> Option<Processor> {
        locked(&self.processors).get(&process).copied()
    }

    pub fn processes_on(&self, processor: Processor) -> Vec<u32> {
        let processors = locked(&self.processors);
        let here = processors.iter().filter(|(_, place)| **place == processor);
        here.map(|(process, _)| *process).collect()
    }

    /// Counts a request to start a process on an SPE. Returns the waker of the thread to wake.
    pub fn deliver_start(&self, at: SpeId) -> Option<Waker> {
        self.starting.deliver(at)
    }

    /// Records that a message for a process has come.
    pub fn arrive(&self, process: u32) {
        locked(&self.arrived).insert(process);
    }

    /// Returns whether a message has come for a process, and marks the message as handled.
    pub fn take_arrived(&self, process: u32) -> bool {
        locked(&self.arrived).remove(&process)
    }

    pub fn set_alternating(&self, process: u32, alternates: bool) {
        let mut alternating = locked(&self.alternating);
        if alternates {
            alternating.insert(process);
        } else {
            alternating.remove(&process);
        }
    }

    pub fn alternates(&self, process: u32) -> bool {
        locked(&self.alternating).contains(&process)
    }

    pub fn count_communication(&self) {
        self.communications.fetch_add(1, Ordering::Relaxed);
    }

    pub fn count_request(&self) {
        self.requests_sent.fetch_add(1, Ordering::Relaxed);
    }

    pub fn count_moved(&self, bytes: usize) {
        self.bytes_moved.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub fn count_flushed(&self) {
        self.items_flushed.fetch_add(1, Ordering::Relaxed);
    }

    pub fn traffic(&self) -> Traffic {
        Traffic {
            communications: self.communications.load(Ordering::Relaxed),
            requests: self.requests_sent.load(Ordering::Relaxed),
            bytes_moved: self.bytes_moved.load(Ordering::Relaxed),
            items_flushed: self.items_flushed.load(Ordering::Relaxed),
        }
    }
}
