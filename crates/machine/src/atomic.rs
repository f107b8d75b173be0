//! Read-modify-write operations on main memory, implemented with reservations.
//!
//! An SPE reads a 128-byte line with a reservation (`getllar`), changes it in the local store, and
//! stores it (`putllc`). The store fails if another processor has stored to the line in between.
//! [`fetch_update_words`](crate::fetch_update_words) repeats these steps until the store succeeds.
//! For one word, [`CellSpe::fetch_update`](crate::CellSpe::fetch_update) is faster.

use crate::memory::LINE_BYTES;
use crate::mfc::{CommandFault, EffectiveAddress};

/// A read-modify-write operation on a 32-bit word. Arithmetic wraps around. The paper CellStats,
/// section 3.1.5, measures `Add(n)`, `Subtract(n)`, `Add(1)`, `Subtract(1)` and `Set(n)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomicOp {
    /// Adds this number to the word.
    Add(u32),
    /// Subtracts this number from the word.
    Subtract(u32),
    /// Replaces the word by this number.
    Set(u32),
    /// Replaces the word by `new` if the word is `expected`. The operation returns the old word.
    CompareAndSwap {
        /// The value to compare with the word.
        expected: u32,
        /// The new value of the word.
        new: u32,
    },
}

impl AtomicOp {
    /// Returns the value of the word after the operation. `word` is the value before it.
    ///
    /// ```
    /// use cellworks_machine::AtomicOp;
    /// assert_eq!(AtomicOp::Subtract(1).apply(0), u32::MAX);
    /// assert_eq!(AtomicOp::CompareAndSwap { expected: 3, new: 4 }.apply(5), 5);
    /// ```
    #[inline]
    pub const fn apply(self, word: u32) -> u32 {
        match self {
            Self::Add(by) => word.wrapping_add(by),
            Self::Subtract(by) => word.wrapping_sub(by),
            Self::Set(to) => to,
            Self::CompareAndSwap { expected, new } if word == expected => new,
            Self::CompareAndSwap { .. } => word,
        }
    }

    /// Returns whether the operation stores a value if the word is `word`.
    pub const fn stores(self, word: u32) -> bool {
        match self {
            Self::Add(_) | Self::Subtract(_) | Self::Set(_) => true,
            Self::CompareAndSwap { expected, .. } => word == expected,
        }
    }
}

/// The error of a read-modify-write operation.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AtomicError {
    /// The address is not a multiple of 4.
    #[error(
        "an atomic operation at effective address {ea}: a word starts at a multiple of 4; use {}",
        EffectiveAddress(ea.0 & !3)
    )]
    Misaligned {
        /// The address from the caller.
        ea: EffectiveAddress,
    },
    /// The number of words is 0, or the words are not within one line.
    #[error(
        "an atomic operation on {words} words at effective address {ea}: it takes 1 to {} words \
         there, because a reservation covers one line of {LINE_BYTES} bytes",
        (LINE_BYTES - ea.0 as usize % LINE_BYTES) / 4
    )]
    LeavesLine {
        /// The address of the first word.
        ea: EffectiveAddress,
        /// The number of words.
        words: usize,
    },
    /// No region covers the word.
    #[error(
        "an atomic operation at effective address {ea}: no region is mapped there; use an address \
         in a region that `CellMachine::allocate` returned"
    )]
    NotMapped {
        /// The address from the caller.
        ea: EffectiveAddress,
    },
    /// The MFC refused a command of the operation.
    #[error(transparent)]
    Mfc(#[from] CommandFault),
}

crate::debug_by_display!(AtomicError);
