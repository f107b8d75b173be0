//! Channels, alternation, poison, and networks of processes: CSP as in DSMCBE, with ownership that the compiler checks.
//!
//! Processes are plain sequential code. They share nothing and speak through channels; what is written to a channel belongs
//! to the reader. Everything is built on [`cellworks_machine`], so a network runs on this computer and on a simulated Cell.
//!
//! ```text
//!   Channel::new().one_to_one() ──► Writer ═══════ rendezvous or buffer ═══════► Reader
//!                                     │ write(process, item)      read(process) │
//!   Network: process(name, SPE, f) ───┴── Process ── Alternation ───────────────┘
//! ```
//!
//! - [`Channel`] makes channels, of which the [ends](Writer) say in their types how many processes may have them, and
//!   whether they may leave their SPE.
//! - [`Alternation`] waits for one of several channels, to read or to write.
//! - [`Writer::poison`], [`Writer::close`] and dropping an end take a network down; no item is lost by it.
//! - [`Network`] places processes on SPEs and runs them; a deadlock is an error that names who waits for whom.
//!
//! Source: Skovhede, Larsen and Vinter, *Programming the CELL-BE using CSP* (CPA 2011).

mod alternation;
mod channel;
mod core;
mod deadlock;
mod end;
mod item;
mod lock;
#[cfg(all(test, loom))]
mod models;
mod network;
mod parcel;
mod party;
mod pending;
mod place;
mod process;
mod sync;
mod transport;
mod waits;
mod waker;

pub use alternation::{Alternation, AsGuard, Chosen, GuardEnded, ReadGuard, WriteGuard};
pub use channel::{Any, Channel, Local, One, Reach, Reader, Shared, Writer};
pub use deadlock::{Deadlock, Stuck};
pub use end::{Ended, Unsent};
pub use item::Item;
pub use network::{Group, Network, NetworkError};
pub use place::{Place, PpePlace};
pub use process::Process;
pub use transport::Transport;
