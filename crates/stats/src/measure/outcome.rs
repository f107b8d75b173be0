//! What one measurement has timed, whatever it measured.

use crate::sample::TimedLoop;

/// What was timed.
#[derive(Debug)]
pub(super) struct Outcome {
    /// The rounds of each processor that had some, those that count; all have as many, at least
    /// one.
    pub loops: Vec<Vec<TimedLoop>>,
    pub operations_per_iteration: usize,
    pub bytes_per_iteration: usize,
    /// The same loops with the operation that the processor itself has in place of that of the
    /// library; of each processor one, or none at all.
    pub bare: Vec<Vec<TimedLoop>>,
    /// The share of the memory that lay in huge pages, if a size of pages was asked for and the
    /// machine can tell.
    pub huge_page_share: Option<f64>,
}

impl Outcome {
    /// What two visits have timed.
    pub fn and(mut self, later: Self) -> Self {
        let bare = self.bare.iter_mut().zip(later.bare);
        for (rounds, more) in self.loops.iter_mut().zip(later.loops).chain(bare) {
            rounds.extend(more);
        }
        self
    }
}
