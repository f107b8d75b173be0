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
}

impl Outcome {
    /// What two visits have timed.
    pub fn and(mut self, later: Self) -> Self {
        for (rounds, more) in self.loops.iter_mut().zip(later.loops) {
            rounds.extend(more);
        }
        self
    }
}
