//! The rules of the memory flow controller (MFC): which commands are legal, in which order they may
//! run, and what the error is otherwise.
//!
//! Everything here is pure: it moves no data and knows no time. A machine asks and then acts, so
//! the host and the simulated Cell cannot disagree about what is legal.
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
//! A [`RawCommand`] is what a program wrote; a [`Command`] is one whose shape the hardware accepts,
//! and holding one is the proof.
//!
//! An MFC has a second queue, of 8 entries, for what the PPE issues: the proxy queue. Its commands go through
//! [`RawCommand::check_proxy`] and the same rules, and have tag groups of their own.
//!
//! One thing differs from the hardware on purpose. The hardware checks a command after the write to
//! `MFC_Cmd` has returned; a bad command takes a queue entry and, when the MFC reaches it, suspends
//! that queue and interrupts the PPE (CBEA p.57, p.113). Here [`RawCommand::check`] refuses it
//! before it is queued, so that the program which issued it gets the error, at the line that issued
//! it.
//!
//! Sources: CBEA is the *Cell Broadband Engine Architecture* 1.01, Handbook the *Cell Broadband
//! Engine Programming Handbook* 1.1, both IBM.

mod command;
mod fault;
mod list;
mod queue;
mod tag;

pub use command::{
    Atomic, Command, Direction, EffectiveAddress, ListTransfer, LsAddr, MAX_TRANSFER_BYTES, Opcode,
    Order, OrderingCommand, QueuedLinePut, RawCommand, SendSignal, StorageControl, Transfer,
};
pub use fault::{InvalidCommand, MfcFault, Misalignment, Operation};
pub use list::{ElementTransfer, LIST_ELEMENT_BYTES, ListCursor, ListElement, MAX_LIST_ELEMENTS};
pub use queue::{CommandQueue, EntryId, PROXY_QUEUE_ENTRIES, PushError, SPU_QUEUE_ENTRIES};
pub use tag::{Tag, TagMask};

/// Bytes of a lock line: what an atomic command moves and a reservation covers.
///
/// Source: CBEA pp.65-66, p.91.
pub const LOCK_LINE_BYTES: u32 = 128;
