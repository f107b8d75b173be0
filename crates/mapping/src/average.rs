//! The average cost of random placements.

use crate::Problem;
use crate::slots::Slots;

impl Problem {
    /// The average cost of random placements. A place that takes several tasks has several slots,
    /// and each free task is equally likely in every free slot. The result is exact up to rounding,
    /// because it is computed from the averages of volumes and costs. The computation uses four to
    /// eight numbers of 8 bytes for each pair of slots.
    pub fn average_cost(&self) -> f64 {
        Slots::new(self).average()
    }
}
