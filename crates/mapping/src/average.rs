//! The average cost of random placements.

use crate::Problem;
use crate::slots::Slots;

impl Problem {
    /// Returns the average cost of random placements. Each free task is equally likely in each free
    /// slot, and a place for several tasks has several slots. Allocates 32 to 64 bytes for each
    /// pair of slots.
    pub fn average_cost(&self) -> f64 {
        Slots::new(self).average()
    }
}
