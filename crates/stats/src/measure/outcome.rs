//! The times of one measurement, for any function.

use crate::sample::TimedLoop;

/// The times of all processors that took part.
#[derive(Debug)]
pub(super) struct Outcome {
    /// The counted rounds of each processor: at least one, and the same number for all processors.
    pub loops: Vec<Vec<TimedLoop>>,
    pub operations_per_iteration: usize,
    pub bytes_per_iteration: usize,
    /// Rounds with one instruction of the processor instead of the library's operation. Empty, or
    /// the same number of rounds for each processor.
    pub bare: Vec<Vec<TimedLoop>>,
    /// The share of the memory that lay in huge pages. `None` if the request gave no size of pages,
    /// or if the machine cannot tell the share.
    pub huge_page_share: Option<f64>,
}

impl Outcome {
    /// Adds the times of a later visit.
    pub fn and(mut self, later: Self) -> Self {
        let bare = self.bare.iter_mut().zip(later.bare);
        for (rounds, more) in self.loops.iter_mut().zip(later.loops).chain(bare) {
            rounds.extend(more);
        }
        self
    }
}
