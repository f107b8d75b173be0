//! Why a matrix cannot be measured.

use cellworks_machine::mfc::MAX_TRANSFER_BYTES;
use cellworks_machine::{ModuleId, Span};

use crate::report::Primitive;

/// A matrix cannot be measured as it was asked for. Nothing was run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MatrixRequestError {
    /// There is no pair.
    #[error(
        "a matrix needs two SPEs, and {machine} has {has}; use a machine that has more, or allow \
         the process more CPUs"
    )]
    TooFewSpes {
        /// How many SPEs the machine has.
        has: usize,
        /// The machine's name.
        machine: String,
    },
    /// A way of polling was chosen for something that has none.
    #[error("{} matrix has no way of polling: only atomic has; leave it out", name(*.primitive))]
    Polling {
        /// What was to carry the data.
        primitive: Primitive,
    },
    /// A block was given for something that carries words.
    #[error("{} matrix has no block size: it carries one word; leave it out", name(*.primitive))]
    Block {
        /// What was to carry the data.
        primitive: Primitive,
    },
    /// A memory module was given for something that is not in main memory.
    #[error(
        "{} matrix has no memory module: {}; leave it out",
        name(*.primitive),
        whereabouts(*.primitive)
    )]
    Module {
        /// What was to carry the data.
        primitive: Primitive,
    },
    /// The machine has no such memory module.
    #[error("{asked}: {machine} has memory modules 0 to {highest}; use one of these")]
    NoSuchModule {
        /// The module asked for.
        asked: ModuleId,
        /// The highest module that there is.
        highest: u16,
        /// The machine's name.
        machine: String,
    },
    /// No DMA command moves such a block.
    #[error(
        "a block of {bytes} bytes: a DMA command moves 1, 2, 4, 8 or a multiple of 16 bytes up to \
         {MAX_TRANSFER_BYTES}; use {}",
        nearest(*.bytes)
    )]
    BlockSize {
        /// The size of the block.
        bytes: usize,
    },
    /// The blocks do not fit in a local store.
    #[error(
        "a block of {bytes} bytes: a local store of {has} has no room for the one that is sent and the \
         one that is received; use a smaller block"
    )]
    LocalStore {
        /// The size of the block.
        bytes: usize,
        /// What a local store has.
        has: usize,
    },
    /// There is no time to measure some pairs at each distance.
    #[error(
        "a budget of {asked}: measuring some pairs at each distance takes {least}; use that or more"
    )]
    Budget {
        /// The time asked for.
        asked: Span,
        /// The time that it takes.
        least: Span,
    },
}

const fn name(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Mailbox => "a mailbox",
        Primitive::Signal => "a signal",
        Primitive::Atomic => "an atomic",
        Primitive::Copy => "a copy",
    }
}

/// Why something has no place in main memory.
const fn whereabouts(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Copy => "the block lies in the local store of the SPE that sends",
        _ => "it carries a word from SPE to SPE",
    }
}

/// The legal size next to `bytes`.
fn nearest(bytes: usize) -> usize {
    match bytes {
        0 => 1,
        1..16 => 1 << bytes.ilog2(),
        _ => (bytes - bytes % 16).min(MAX_TRANSFER_BYTES as usize),
    }
}
