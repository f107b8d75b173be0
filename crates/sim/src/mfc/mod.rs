//! The Memory Flow Controllers. An MFC turns each command into bus requests of at most a line. A
//! command is complete when its requests are complete.
//!
//! ```text
//!   try_issue ─► CommandQueue ─ may start ─► work, oldest first ─ a line at a time ─► fabric
//!                (waiting commands)          (started commands)                          │
//!                     ▲                            ▲  outstanding requests are limited   │
//!                     └── complete, stall ─────────┴──── bytes move when the line ◄──────┘
//!                                                        has arrived
//! ```
//!
//! An MFC has two queues: the queue of the SPU with 16 entries, and the proxy queue of the PPE with
//! 8 entries. Each queue has its own tag groups and its own order of commands. Started commands of
//! both queues share the work list, the bus requests and the limit of requests.
//!
//! A started command is one piece of work. A raw command, which a program issues with addresses,
//! moves the bytes of a line when the line arrives, so that a race changes the result. A typed
//! transfer belongs to a view. Its bytes move before the transfer begins, so the transfer only
//! takes time.

// Rejected: planning all events of a DMA command when the command starts. Instead, a command of 16
// KB is one piece of work with only a few lines under way, so the queue of events holds tens of
// events instead of thousands.

mod mfcs;
mod next;
mod program;
mod proxy;
mod requests;
mod state;
mod typed;
mod watch;

pub use program::SimMfc;

pub(crate) use mfcs::Mfcs;
pub(crate) use state::{LOCAL_STORE_STRIDE, LOCAL_STORES_AT, MfcState};
