//! Main memory at the raw level: regions that a machine allocated and that programs access by
//! effective address.
//!
//! The main memory of programs that use typed staging is ordinary Rust memory, so these programs do
//! not need this module. At the raw level addresses are numbers, as for the hardware. The raw level
//! is safe because every address is *translated*: if no [`Region`] covers an address, the program
//! gets an error and no access happens.
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
//! Several processors may access the bytes of a region at once. The module `block` makes all
//! accesses atomic in Rust's sense. After a race the bytes are a mixture of the written values, as
//! on the hardware, but a race is never undefined behaviour.

mod block;
mod space;

pub use block::{Backing, Block, InFlight, ReservedLine};
pub use space::{AddressSpace, Region, Translation};

use crate::sizes::in_words;

/// The size of a line, the unit of reservations and of the bus, in bytes (CBEA pages 65 and 91).
pub const LINE_BYTES: usize = crate::mfc::LOCK_LINE_BYTES as usize;

/// The reason why a region could not be allocated.
#[derive(Debug, thiserror::Error)]
pub enum AllocateError {
    /// The machine has no such memory module.
    #[error("{module} does not exist: {machine} has memory modules 0 to {highest}")]
    NoSuchModule {
        /// The memory module that was asked for.
        module: crate::ModuleId,
        /// The machine's name.
        machine: String,
        /// The highest number of a memory module of the machine.
        highest: usize,
    },
    /// The region would have had 0 bytes.
    #[error("a region of 0 bytes was asked for; a region holds at least 1 byte")]
    Empty,
    /// The machine does not give pages of this size.
    #[error(
        "{} of main memory in {module} could not be allocated in pages of {}: {why}",
        in_words(*bytes),
        in_words(*page_bytes)
    )]
    NoSuchPages {
        /// The number of bytes that were asked for.
        bytes: usize,
        /// The memory module that was asked for.
        module: crate::ModuleId,
        /// The size of pages that was asked for.
        page_bytes: usize,
        /// The reason, and advice.
        why: String,
    },
    /// The operating system gave no memory.
    #[error("{} of main memory in {module} could not be allocated: {source}", in_words(*bytes))]
    Refused {
        /// The number of bytes that were asked for.
        bytes: usize,
        /// The memory module that was asked for.
        module: crate::ModuleId,
        /// The error of the operating system.
        source: std::io::Error,
    },
}
