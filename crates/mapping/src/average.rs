//! The average cost of random placements.

use crate::Problem;
use crate::slots::Slots;

impl Problem {
    /// Returns the average cost of random placements, in which each free task is equally likely in
    /// each free room for a task. The computation uses four to eight numbers of 8 bytes for each
    /// pair of places. A place for several tasks counts several times.
    pub fn average_cost(&self) -> f64 {
        Slots::new(self).average()
    }
}
