//! The rules of the Memory Flow Controller (MFC): legal commands, their order, and errors. The host
//! and the simulated Cell share this module, which moves no data and measures no time.
//!
//! ```text
//!   six channel writes                  the queue of one MFC                    the machine
//!   RawCommand ── check() ──► Command ── push() ──► 16 entries ── runnable() ──► start(), moves bytes
//!       │                        │                                                  │      │
//!       └─► MfcFault             └─ a list: ListCursor, element by element ◄────────┘      │
//!                                   stall(), acknowledge() ◄───────────────────────────────┤
//!                                   complete() ◄───────────────────────────────────────────┘
//! ```
//!
//! The commands of the PPE are in a second queue, the proxy queue, with 8 entries and its own tag
//! groups. [`RawCommand::check_proxy`] checks them by the same rules.
//!
//! An illegal command is refused before it is queued, so the program gets the error at the line
//! that issued it. The hardware suspends the queue and interrupts the PPE (CBEA p.57, p.113).
//!
//! Sources: CBEA is the *Cell Broadband Engine Architecture* 1.01, Handbook the *Cell Broadband
//! Engine Programming Handbook* 1.1, both IBM.

mod address;
mod check;
mod command;
mod fault;
mod limits;
mod list;
mod opcode;
mod queue;
mod raw;
mod tag;

pub use address::{EffectiveAddress, LsAddr};
pub use command::{
    Atomic, Command, ListTransfer, OrderingCommand, QueuedLinePut, SendSignal, StorageControl,
    Transfer,
};
pub use fault::{CommandFault, InvalidCommand, MfcFault, Misalignment, Operation};
pub use limits::{LIST_ELEMENT_BYTES, LOCK_LINE_BYTES, MAX_LIST_ELEMENTS, MAX_TRANSFER_BYTES};
pub use list::{ElementTransfer, ListCursor, ListElement};
pub use opcode::{Direction, Opcode, Order};
pub use queue::{CommandQueue, EntryId, PROXY_QUEUE_ENTRIES, PushError, SPU_QUEUE_ENTRIES};
pub use raw::RawCommand;
pub use tag::{Tag, TagMask};
