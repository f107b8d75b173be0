//! Experiments on the effect of the mapping of tasks to SPEs. The random *start* of a run is the
//! cycles that each task computes before its first packet, and the SPE of each thread, to which the
//! mapping assigns a task.
//!
//! ```text
//!   Sweep ── plan ──► SweepPlan ── runs ──► ExchangeRun, each with a mapping and a start
//!                                             │ run, each one alone on a machine
//!   Times, mapping_share ◄── averages ◄── the time of a round
//! ```

pub mod gather;
mod graph;
mod packets;
mod permutation;
mod ring;
mod run;
mod statistics;
mod sweep;

pub use packets::{Edge, Exchange, ExchangeRun};
pub use permutation::{Mapping, MappingError};
pub use statistics::{Times, mapping_share};
pub use sweep::{Sweep, SweepError, SweepPlan, Threads, Traffic};
