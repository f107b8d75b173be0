//! How much a mapping of tasks to SPEs matters: programs that communicate, run with many mappings.
//!
//! ```text
//!   Sweep ── plan ──► SweepPlan ── runs ──► RingRun, each with a mapping and a start
//!                                             │ run on a machine, each for itself
//!   Times, mapping_share ◄── averages ◄── the time of a round
//! ```

pub mod gather;
mod permutation;
mod program;
mod statistics;
mod sweep;

pub use permutation::{Mapping, MappingError};
pub use program::RingRun;
pub use statistics::{Times, mapping_share};
pub use sweep::{Sweep, SweepError, SweepPlan, Threads};
