//! The observation of a run, which produces counters, a hash, and a trace if the caller wants a
//! trace.
//!
//! The simulation reports its actions and their times to the [`Observer`], which does not influence
//! the simulation.
//!
//! ```text
//!                            ┌─► SpeCount, Hash ──────────────► Counters     at the end
//!   engine ─► Observer ──────┤
//!                            └─► Tracer ─► Perfetto packets ──► io::Write    while the run goes on
//! ```
//!
//! The calls about one processor come in the order of their times, and so do the calls about one
//! MFC. Calls about different processors or MFCs may come in another order. The ids and numbers in
//! calls must depend only on the program and the seed, because they go into the hash.

mod activity;
mod counters;
mod hash;
mod observer;
mod perfetto;
mod read;
#[cfg(test)]
mod tests;
mod trace;

pub use activity::Cause;
pub use counters::{Counters, ResourceCounters, SpeCounters};
pub use read::{ReadTraceError, Slice, read_slices};

pub(crate) use activity::Activity;
pub(crate) use observer::Observer;
