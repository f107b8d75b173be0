//! The Memory Flow Controllers. They turn each command into bus requests of at most a line, and
//! complete the command when the requests are complete.
//!
//! ```text
//!   try_issue ─► CommandQueue ─ may start ─► work, oldest first ─ a line at a time ─► fabric
//!                (what each waits for)       (how far it has come)                       │
//!                     ▲                            ▲  outstanding requests are limited   │
//!                     └── complete, stall ─────────┴──── bytes move when the line ◄──────┘
//! ```
//!
//! There are two queues: that of the SPU, with 16 entries, and the proxy queue of the PPE, with 8.
//! Each queue has its tag groups and its order. Commands of both that may start share everything
//! after that, from the work on.
//!
//! A command of 16 KB is one piece of work with some lines under way, never 128 events. Bytes of
//! the raw level move when their line arrives, so that races show. The bytes of a typed transfer
//! have moved before, and the transfer only takes its time.

// Rejected: one event for each packet of a DMA command. A command of 16 KB is one piece of work
// with some lines under way, so the queue holds tens of events and not thousands.

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
