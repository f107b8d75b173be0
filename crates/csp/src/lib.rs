//! Channels, alternation, poison, and networks of processes: CSP as in DSMCBE, with ownership that
//! the compiler checks.
//!
//! Processes are plain sequential code. They share nothing and speak through channels; what is
//! written to a channel belongs to the reader. Everything is built on [`cellworks_machine`], so a
//! network runs on this computer and on a simulated Cell.
//!
//! ```text
//!   Channel::new().one_to_one() ──► Writer ═══════ rendezvous or buffer ═══════► Reader
//!                                     │ write(process, item)      read(process) │
//!   Network: process(name, SPE, f) ───┴── Process ── Alternation ───────────────┘
//! ```
//!
//! - [`Channel`] makes channels, of which the [ends](Writer) say in their types how many processes
//!   may have them, and whether they may leave their SPE.
//! - [`Alternation`] waits for one of several channels, to read or to write.
//! - [`Reader::try_read`], [`Writer::try_write`], [`Reader::read_until`] and
//!   [`Writer::write_until`] do not wait, or until a time; [`Reader::items`] is an iterator.
//! - An [`Item`] is what channels carry: values, collections of them, and ends of channels.
//! - [`Process::create`], [`Process::reader`] and [`Process::writer`] pass ends through the
//!   network, by an id.
//! - [`Writer::poison`], [`Writer::close`] and dropping an end take a network down; no item is lost
//!   by it. [`Process::spread_poison`] passes poison on.
//! - [`processes`] are the standard ones, of which networks are put together.
//! - [`OpenNetwork`] is for programs that run already, such as tasks of a pool: they become
//!   processes of it.
//! - [`Network`] places processes on SPEs and runs them; a deadlock is an error that names who
//!   waits for whom.
//! - [`ProcessError`] is what a process ends with before its work is done: how a channel ended, or
//!   an error of its own.
//!
//! Source: Skovhede, Larsen and Vinter, *Programming the CELL-BE using CSP* (CPA 2011).

mod alternation;
mod cause;
mod channel;
mod deadlock;
mod end;
mod ends;
mod held;
mod item;
mod link;
mod lock;
#[cfg(all(test, any(loom, shuttle)))]
mod models;
mod named;
mod network;
mod node;
mod open;
mod parcel;
mod partner;
mod party;
mod pending;
mod place;
mod prefetch;
mod process;
mod process_error;
pub mod processes;
mod protocol;
mod queue;
mod raw;
mod running;
mod shared;
mod side;
mod sync;
mod transport;
mod waiting;
mod waits;
mod waker;
mod way;

pub use alternation::{Alternation, AsGuard, Chosen, GuardEnded, ReadGuard, WriteGuard};
pub use channel::{
    Any, Channel, Items, Kind, Local, One, Reach, Reader, Shared, Unwritten, Writer,
};
pub use deadlock::{Deadlock, Stuck};
pub use end::{Ended, Refused, Unsent};
pub use ends::{Ends, Input, Output};
pub use item::Item;
pub use named::error::{Mistake, NamedError};
pub use network::{Group, Network, NetworkError};
pub use open::OpenNetwork;
pub use place::{Place, PpePlace};
pub use process::Process;
pub use process_error::ProcessError;
pub use transport::{NoRoomForItem, Traffic, Transport};
