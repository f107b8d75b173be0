//! What carries commands and data between the elements of a machine, and the memory at its ends. It knows
//! no programs and moves no bytes: it says when each transaction is complete.
//!
//! ```text
//!   begin(transaction) ─► command bus ─► snoop, link ─► source has the data ─► interconnect ─► sink ─► Token
//!                                                       (memory: banks;         (rings, mesh,
//!                                                        local store, register)  crossbar, matrix)
//! ```

#[allow(dead_code)]
mod crossbar;
#[allow(dead_code)]
mod matrix;
#[allow(dead_code)]
mod mesh;
#[allow(dead_code)]
mod ports;

use cellworks_machine::Span;

use crate::queue::Queue;
use crate::{Quantity, ResourceCounters};

/// An end of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    /// The PPE of a Cell; programs run on that of Cell 0.
    Ppe { cell: u16 },
    /// An SPE, by its id.
    Spe(u16),
    /// A memory module.
    Module(u16),
}

/// What of the target is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Its local store: no other Cell snoops.
    LocalStore,
    /// Its mailboxes and signals: no other Cell snoops.
    Register,
    /// A line of main memory: coherent, so that every Cell snoops.
    Memory {
        /// The address in the module of the first byte.
        address: u64,
    },
    /// A line of main memory that the target, an SPE, has changed in the cache of its atomic unit:
    /// coherent.
    AtomicCache,
}

/// Which way data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// From the target to the requester.
    Read,
    /// From the requester to the target.
    Write,
    /// Nowhere: only the command phase, which makes a line the requester's own.
    Claim,
}

/// One request on the bus, of at most a line of 128 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transaction {
    pub requester: Node,
    pub target: Node,
    pub place: Place,
    pub access: Access,
    /// 1 to 128; 0 for a claim.
    pub bytes: u32,
    /// Comes back when the transaction is complete.
    pub token: Token,
}

/// Names a transaction for who began it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(pub u32);

/// The fabric of a machine.
#[derive(Debug)]
pub(crate) struct Fabric {
    tokens: Vec<Token>,
}

impl Fabric {
    /// An idle fabric.
    pub fn new(_description: &crate::Description) -> Self {
        Self { tokens: Vec::new() }
    }

    /// How long a word takes from one node to a register of another one, where words meet no contention: on
    /// a crossbar and a measured matrix. `None` where they take a transaction.
    pub fn word_latency_fs(&self, _from: Node, _to: Node) -> Option<u64> {
        None
    }

    /// What rings, memory modules and links have carried so far.
    pub fn resources(&self) -> Vec<crate::ResourceCounters> {
        Vec::new()
    }

    /// Begins a transaction. It is complete when its token comes out of [`handle`](Self::handle): data
    /// that is read has arrived, data that is written is there.
    pub fn begin(&mut self, now_fs: u64, transaction: Transaction, queue: &mut Queue) {
        let index = self.tokens.len() as u32 & 0xffff;
        if self.tokens.len() < 0x10000 {
            self.tokens.push(transaction.token);
        } else {
            self.tokens[index as usize] = transaction.token;
        }
        queue.push(
            now_fs + 100_000_000,
            crate::queue::Event {
                kind: crate::queue::Kind::Fabric,
                index,
            },
        );
    }

    /// Handles one of its events, which it has put into the queue as [`Kind::Fabric`](crate::queue::Kind::Fabric),
    /// and pushes the tokens of what is complete to `done`.
    pub fn handle(&mut self, _now_fs: u64, index: u32, _queue: &mut Queue, done: &mut Vec<Token>) {
        done.push(self.tokens[index as usize]);
    }
}

/// What a resource has carried so far.
#[derive(Debug, Default)]
struct Usage {
    packets: u64,
    bytes: u64,
    busy_fs: u64,
}

impl Usage {
    fn counters(&self, name: String) -> ResourceCounters {
        ResourceCounters {
            name,
            packets: self.packets,
            bytes: self.bytes,
            busy: Span::from_femtoseconds(u128::from(self.busy_fs)),
        }
    }
}

const FEMTOSECONDS_PER_SECOND: u128 = 1_000_000_000_000_000;

/// A time that the description gives in picoseconds.
fn ps_fs(picoseconds: &Quantity) -> u64 {
    let span = picoseconds.value.checked_mul(1_000);
    span.expect("a time of the machine's description below five hours")
}

/// How long so many bytes take, rounded up to a femtosecond so that no rate is ever exceeded.
fn transfer_fs(bytes: u64, bytes_per_s: u64) -> u64 {
    let span = u128::from(bytes) * FEMTOSECONDS_PER_SECOND;
    u64::try_from(span.div_ceil(u128::from(bytes_per_s))).expect("a rate of some bytes a second")
}
