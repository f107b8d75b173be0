//! The rules of the memory flow controller (MFC): which commands are legal, in which order they may
//! run, and which error an illegal command gives.
//!
//! This module only computes: it moves no data and knows no time. The host and the simulated Cell
//! share this module, and therefore agree about legal commands.
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
//! An MFC has a second queue, the proxy queue, of 8 entries, which holds the commands of the PPE.
//! These commands go through [`RawCommand::check_proxy`] and the same rules, and have tag groups of
//! their own.
//!
//! The check differs from the hardware on purpose. The hardware checks a command after the write to
//! `MFC_Cmd` has returned. A bad command takes a queue entry. When the MFC reaches the command, the
//! MFC suspends the queue and interrupts the PPE (CBEA p.57, p.113). In this crate,
//! [`RawCommand::check`] refuses a bad command before it is queued, so the program gets the error
//! at the line that issued the command.
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
pub use fault::{InvalidCommand, MfcFault, Misalignment, Operation};
pub use limits::{LIST_ELEMENT_BYTES, LOCK_LINE_BYTES, MAX_LIST_ELEMENTS, MAX_TRANSFER_BYTES};
pub use list::{ElementTransfer, ListCursor, ListElement};
pub use opcode::{Direction, Opcode, Order};
pub use queue::{CommandQueue, EntryId, PROXY_QUEUE_ENTRIES, PushError, SPU_QUEUE_ENTRIES};
pub use raw::RawCommand;
pub use tag::{Tag, TagMask};
