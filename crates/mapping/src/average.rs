//! The average cost of random placements.

use crate::Problem;
use crate::slots::Slots;

impl Problem {
    /// The average cost of random placements, if each free task is equally likely at each free room
    /// for a task. The average is exact up to rounding. The computation uses four to eight numbers
    /// of 8 bytes for each pair of places, where a place for several tasks counts several times.
    pub fn average_cost(&self) -> f64 {
        Slots::new(self).average()
    }
}
