//! What carries commands and data between the elements of a machine, and the memory at its ends. It knows
//! no programs and moves no bytes: it says when each transaction is complete.
//!
//! ```text
//!   begin(transaction) ─► command bus ─► snoop, link ─► source has the data ─► interconnect ─► sink ─► Token
//!                                                       (memory: banks;         (rings, mesh,
//!                                                        local store, register)  crossbar, matrix)
//! ```

use crate::queue::Queue;

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
