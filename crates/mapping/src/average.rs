//! The average cost of random placements.

use crate::problem::Problem;
use crate::slots::Slots;

impl Problem {
    /// Returns the average cost of random placements. A place for k tasks has k slots, and each
    /// task that is not fixed is equally likely in each free slot. Allocates 32 to 64 bytes for
    /// each pair of slots.
    pub fn average_cost(&self) -> f64 {
        Slots::new(self).average()
    }
}
