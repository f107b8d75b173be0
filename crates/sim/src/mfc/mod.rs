//! The MFCs (Memory Flow Controllers), which split DMA commands into bus requests of a cache line.
//!
//! ```text
//!   try_issue ─► CommandQueue ─ may start ─► work, oldest first ─ a line at a time ─► fabric
//!                (waiting commands)          (started commands)                          │
//!                     ▲                            ▲  outstanding requests are limited   │
//!                     └── complete, stall ─────────┴──── bytes move when the line ◄──────┘
//!                                                        has arrived
//! ```
//!
//! An MFC has a queue of 16 entries for its SPU, and a proxy queue of 8 entries for the PPE. Each
//! queue orders only its own commands and tag groups.
//!
//! A raw command moves the bytes of a cache line when the line arrives. So a program that does not
//! wait for the line can see the old bytes, and a race changes the result. A typed transfer, which
//! belongs to a view, only takes time: its bytes move before it begins.

// Rejected: queuing all events of a command when it starts. A command of 16 KB now has only a few
// lines under way, so the event queue holds tens of events instead of thousands.

mod mfcs;
mod next;
mod program;
mod proxy;
mod requests;
mod state;
mod transaction;
mod typed;
mod watch;

pub use program::SimMfc;

pub(crate) use mfcs::Mfcs;
pub(crate) use state::{LOCAL_STORE_STRIDE, LOCAL_STORES_AT, MfcState};
