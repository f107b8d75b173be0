//! Main memory at the raw level: regions that a machine allocates and programs access by address.
//!
//! Programs that stage slices use ordinary Rust memory and do not need this module. At the raw
//! level addresses are numbers, as for the hardware. Every address is *translated*: if no
//! [`Region`] covers it, the program gets an error and no access happens.
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
//! Several processors may access a region at once. After a race the bytes are a mixture of the
//! written values, as on the hardware, but there is no undefined behaviour.

mod block;
mod space;

pub use block::{Backing, Block, ByteOrder, InFlight, MakeLocalStore, ReservedLine};
pub use space::{AddressSpace, Region, Translation};

use std::io;

use crate::id::ModuleId;
use crate::sizes::in_words;

/// The size of a line, the unit of reservations and of the bus, in bytes (CBEA pages 65 and 91).
pub const LINE_BYTES: usize = crate::mfc::LOCK_LINE_BYTES as usize;

/// The reason why a region could not be allocated.
#[derive(thiserror::Error)]
pub enum AllocateError {
    /// The machine has no such memory module.
    #[error("{module} does not exist: {machine} has {}", in_list(modules))]
    NoSuchModule {
        /// The requested memory module.
        module: ModuleId,
        /// The machine's name.
        machine: String,
        /// The machine's memory modules.
        modules: Vec<ModuleId>,
    },
    /// The requested size was 0 bytes.
    #[error("a region of 0 bytes was asked for; a region holds at least 1 byte")]
    Empty,
    /// The machine does not provide pages of this size.
    #[error(
        "{} of main memory in {module} could not be allocated in pages of {}: {why}",
        in_words(*bytes),
        in_words(*page_bytes)
    )]
    NoSuchPages {
        /// The requested number of bytes.
        bytes: usize,
        /// The requested memory module.
        module: ModuleId,
        /// The requested page size in bytes.
        page_bytes: usize,
        /// The reason, with advice.
        why: String,
    },
    /// The operating system did not allocate the memory.
    #[error("{} of main memory in {module} could not be allocated: {source}", in_words(*bytes))]
    Refused {
        /// The requested number of bytes.
        bytes: usize,
        /// The requested memory module.
        module: ModuleId,
        /// The error of the operating system.
        source: std::io::Error,
    },
}

crate::debug_by_display!(AllocateError);

/// Returns memory that a caller has made for a local store of `bytes` bytes. Machines call this
/// function.
///
/// # Errors
///
/// Returns an error if the memory has another size.
pub fn of_size(memory: Box<dyn Backing>, bytes: usize) -> io::Result<Box<dyn Backing>> {
    if memory.bytes() == bytes {
        return Ok(memory);
    }
    let why = format!(
        "the memory that was made for it has {} bytes",
        memory.bytes()
    );
    Err(io::Error::new(io::ErrorKind::InvalidInput, why))
}

/// Lists memory modules: `memory modules 0 to 3` or, if the numbers have gaps, `memory modules 0, 2`.
fn in_list(modules: &[ModuleId]) -> String {
    let is_range = modules
        .iter()
        .enumerate()
        .all(|(at, module)| at == module.index());
    match modules {
        [.., last] if is_range => format!("memory modules 0 to {}", last.index()),
        _ => {
            let numbers: Vec<_> = modules
                .iter()
                .map(|module| module.index().to_string())
                .collect();
            format!("memory modules {}", numbers.join(", "))
        }
    }
}
