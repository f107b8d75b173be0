//! The transactions that the fabric carries out, and their ends.

use crate::index::{PPE, ProcessorIndex};

/// Bytes of a word.
pub(crate) const WORD_BYTES: u32 = 4;

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

/// Which part of the target a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The local store of the target: no other Cell snoops.
    LocalStore,
    /// The mailboxes and signals of the target: no other Cell snoops.
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

impl Place {
    /// Whether every Cell snoops.
    pub(super) fn is_coherent(self) -> bool {
        matches!(self, Self::Memory { .. } | Self::AtomicCache)
    }
}

/// Which way data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Data goes from the target to the requester.
    Read,
    /// Data goes from the requester to the target.
    Write,
    /// No data goes: only the command phase, which claims a line for the requester.
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
    /// Returned when the transaction is complete.
    pub token: Token,
}

/// The name that the sender of a transaction gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(pub u32);

impl Node {
    /// A processor. Programs of the PPE run on that of Cell 0.
    pub fn of(processor: ProcessorIndex) -> Self {
        match processor {
            PPE => Self::Ppe { cell: 0 },
            spe => Self::Spe(spe as u16 - 1),
        }
    }
}

impl Transaction {
    /// A write of a word to a register.
    pub fn register_write(requester: Node, target: Node, token: Token) -> Self {
        Self {
            requester,
            target,
            place: Place::Register,
            access: Access::Write,
            bytes: WORD_BYTES,
            token,
        }
    }
}
