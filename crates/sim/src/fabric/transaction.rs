//! The transactions that the fabric carries out, and the nodes at their ends.

use crate::index::{PPE, ProcessorIndex};

/// The size in bytes of a word.
pub(crate) const WORD_BYTES: u32 = 4;

/// The requester or the target of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// The PPE of a Cell. Only the PPE of Cell 0 runs programs.
    Ppe { cell: u16 },
    /// The SPE with this id.
    Spe(u16),
    /// The memory module with this number.
    Module(u16),
}

/// The part of the target that a transaction accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The local store of the target, which only its own Cell snoops.
    LocalStore,
    /// A mailbox or signal register of the target, which only its own Cell snoops.
    Register,
    /// A line of main memory, which is coherent: every Cell snoops.
    Memory {
        /// The address of the first byte, which decides the memory bank.
        address: u64,
    },
    /// A line of main memory in the cache of the target, an SPE. Every Cell snoops.
    AtomicCache,
}

impl Place {
    pub(super) fn is_coherent(self) -> bool {
        matches!(self, Self::Memory { .. } | Self::AtomicCache)
    }
}

/// The direction of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Moves data from the target to the requester.
    Read,
    /// Moves data from the requester to the target.
    Write,
    /// Claims a line for the requester, and moves no data.
    Claim,
}

/// A bus request, of at most a cache line of 128 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transaction {
    pub requester: Endpoint,
    pub target: Endpoint,
    pub place: Place,
    pub access: Access,
    /// The number of bytes: 1 to 128, or 0 for a claim.
    pub bytes: u32,
    pub token: Token,
}

/// The identifier of a transaction, chosen by its requester and returned when it is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(pub u32);

impl Endpoint {
    pub fn of(processor: ProcessorIndex) -> Self {
        match processor {
            PPE => Self::Ppe { cell: 0 },
            spe => Self::Spe(spe as u16 - 1),
        }
    }
}

impl Transaction {
    pub fn register_write(requester: Endpoint, target: Endpoint, token: Token) -> Self {
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
