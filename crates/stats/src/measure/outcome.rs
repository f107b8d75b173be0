//! The times of one measurement, for any function.

use crate::sample::TimedLoop;

/// The times.
#[derive(Debug)]
pub(super) struct Outcome {
    /// The rounds of each processor that count. All processors have the same number of rounds, at
    /// least one.
    pub loops: Vec<Vec<TimedLoop>>,
    pub operations_per_iteration: usize,
    pub bytes_per_iteration: usize,
    /// The same loops with the operation of the processor itself instead of that of the library: of
    /// all processors, or of none.
    pub bare: Vec<Vec<TimedLoop>>,
    /// The share of the memory that lay in huge pages, if a size of pages was asked for and the
    /// machine can tell.
    pub huge_page_share: Option<f64>,
}

impl Outcome {
    /// The times of two visits together.
    pub fn and(mut self, later: Self) -> Self {
        let bare = self.bare.iter_mut().zip(later.bare);
        for (rounds, more) in self.loops.iter_mut().zip(later.loops).chain(bare) {
            rounds.extend(more);
        }
        self
    }
}
