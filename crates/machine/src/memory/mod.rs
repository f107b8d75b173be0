//! Main memory at the raw level: regions that a machine allocated, reached by effective address.
//!
//! Programs that use typed staging do not need this module: their main memory is ordinary Rust
//! memory. The raw level takes addresses as numbers, as the hardware does, and is safe for the same
//! reason: every address is *translated*. An address that no [`Region`] covers gives an error and
//! no access.
//!
//! ```text
//!   program          MFC                    AddressSpace                     Block
//!   Region ──────────────────────────────── mapped while the handle lives ── bytes, home
//!   ea = region.at(64)                                                       a version for each
//!   mfc.get(lsa, ea, ..) ── Translation ──► which Block, which offset? ────► 128-byte line
//!                           (remembers the    none: DataStorage fault
//!                            last few)
//! ```
//!
//! Several processors may access the bytes of a region at once. All accesses go through `block`,
//! which makes them atomic accesses in Rust's sense. After a race the bytes are a mixture of the
//! values that were written, as on the hardware, and never undefined behaviour.

mod block;
mod space;

pub use block::{Backing, Block, InFlight, ReservedLine};
pub use space::{AddressSpace, Region, Translation};

use crate::sizes::in_words;

/// Bytes in a line: the unit of reservations and of the bus (CBEA pages 65 and 91).
pub const LINE_BYTES: usize = crate::mfc::LOCK_LINE_BYTES as usize;

/// A region could not be allocated.
#[derive(Debug, thiserror::Error)]
pub enum AllocateError {
    /// The machine has no such memory module.
    #[error("{module} does not exist: {machine} has memory modules 0 to {highest}")]
    NoSuchModule {
        /// The module asked for.
        module: crate::ModuleId,
        /// The machine's name.
        machine: String,
        /// The highest module number there is.
        highest: usize,
    },
    /// A region holds at least one byte.
    #[error("a region of 0 bytes was asked for; a region holds at least 1 byte")]
    Empty,
    /// The machine does not give pages of this size.
    #[error(
        "{} of main memory in {module} could not be allocated in pages of {}: {why}",
        in_words(*bytes),
        in_words(*page_bytes)
    )]
    NoSuchPages {
        /// The bytes asked for.
        bytes: usize,
        /// The module asked for.
        module: crate::ModuleId,
        /// The size of the pages asked for.
        page_bytes: usize,
        /// Why not, and what to do.
        why: String,
    },
    /// The operating system gave no memory.
    #[error("{} of main memory in {module} could not be allocated: {source}", in_words(*bytes))]
    Refused {
        /// The bytes asked for.
        bytes: usize,
        /// The module asked for.
        module: crate::ModuleId,
        /// The error of the operating system.
        source: std::io::Error,
    },
}
