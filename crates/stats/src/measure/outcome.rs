//! The times of one measurement, for any function.

use crate::sample::TimedLoop;

/// The results of the timed loops. A function leaves a result that it does not have at its default.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The rounds of each processor that times (an SPE or the PPE), without the warm-up. There is
    /// at least one round, and all processors have equally many rounds.
    pub loops: Vec<Vec<TimedLoop>>,
    pub operations_per_iteration: usize,
    pub bytes_per_iteration: usize,
    /// Rounds of one instruction of the processor instead of the library's operation. Empty if the
    /// instruction was not timed. Otherwise, all processors have equally many rounds.
    pub bare: Vec<Vec<TimedLoop>>,
    /// The share of the memory in huge pages. `None` if no size of pages was requested, or if the
    /// machine cannot tell the share.
    pub huge_page_share: Option<f64>,
}
