//! The vocabulary of machines made of *cells*: cores with a small local store of their own that
//! move data on purpose, by DMA, mailboxes and signals.
//!
//! A program is written once against [`Spe`] and [`Ppe`] and runs on every [`Machine`]. There are
//! two levels:
//!
//! - **Typed staging** ([`Spe::stage`] and its relatives) moves slices that the borrow checker
//!   guards. It cannot race, and it is what programs should use.
//! - **The raw level** ([`Mfc`]) is the architecture: commands with local-store and effective
//!   addresses, tag groups, fences, lists, reservations. It is for tools that measure and for C
//!   programs that were written for it. It cannot touch memory that no [`Region`](memory::Region)
//!   covers.
//!
//! This crate says what is legal ([`mfc`], [`mailbox`], [`SignalMode`], [`Decrementer`]) and how it
//! looks to programs. How it happens is for the machines to say.
//!
//! ```text
//!   main program           Ppe ── spawn ──► program on an SPE
//!                           │                 │ stage, stream, threads      typed level
//!                           │                 │ mfc(): commands, lists      raw level
//!                           └── mailboxes, signals, atomics ──┘
//! ```
//!
//! Whatever waits is a [`Wait`]: other cooperative threads run meanwhile, and when everybody waits
//! the run ends with [`RunError::Deadlock`], which lists who waits for what.

mod atomic;
pub mod barrier;
mod capabilities;
mod error;
mod id;
mod interleave;
mod local_store;
pub mod mailbox;
pub mod memory;
pub mod mfc;
mod ppe;
mod problem_state;
mod program;
mod signal;
mod spe;
mod staging;
mod sync;
mod threads;
mod time;
mod topology;
mod wake;

pub use atomic::{AtomicError, AtomicOp};
pub use capabilities::Capabilities;
pub use error::{Cancelled, Payload, RunEnd, RunError, Waiting};
pub use id::{CellId, ModuleId, Processor, SpeId, ThreadId};
pub use interleave::{InFlight, Interleave, InterleaveError, Interleaved, InterleavedSpe};
pub use local_store::space::{Holder, NoRoom, Space};
pub use local_store::{
    LOCAL_STORE_BYTES, LocalBuffer, LocalStore, LocalStoreUse, LocalStoreWatch, StageError,
};
pub use ppe::core::{CellPpeCore, PpeCore};
pub use ppe::{CellMachine, Handle, Machine, OnCell, Ppe};
pub use problem_state::ProblemStateRegister;
pub use program::{Outcome, Program};
pub use signal::{SignalMode, SignalRegister};
pub use spe::Spe;
pub use spe::cell::CellSpe;
pub use spe::core::{NewThread, SpeCore, StageRequest, StartThread};
pub use spe::mfc::{Mfc, TryIssueError, fetch_update_words};
pub use staging::{Pending, PendingMut, Staged, StagedMut, Stream};
pub use threads::{StackError, THREAD_STACK_BYTES, ThreadBuilder, ThreadHandle, ThreadScope};
pub use time::{Cycles, Decrementer, Span, Time, Timebase};
pub use topology::{Distance, SpeSite, Topology};
pub use wake::{Sleeper, Wait, Wake};
