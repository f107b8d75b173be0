//! How much a mapping of tasks to SPEs matters: programs that communicate, run with many mappings.

pub mod gather;
mod permutation;
mod program;

pub use permutation::fixing_zero;
pub use program::RingRun;
