//! The observation of a run, which produces counters, a hash and a trace. The simulation reports
//! its actions to the [`Observer`], which does not influence it.
//!
//! ```text
//!                            ┌─► SpeCount, Hash ──────────────► Counters     at the end
//!   engine ─► Observer ──────┤
//!                            └─► Tracer ─► Perfetto packets ──► io::Write    while the run goes on
//! ```
//!
//! The calls about the same processor or MFC are ordered by time. Arguments that go into the hash
//! must depend only on the program and the seed.

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
pub use counters::{Counters, PartCounters, ResourceCounters, SpeCounters};
pub use read::{ReadTraceError, Slice, read_slices};

pub(crate) use activity::Activity;
pub(crate) use counters::{share_of, table};
pub(crate) use observer::Observer;
pub(crate) use trace::Arguments;
