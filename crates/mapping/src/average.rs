//! The average cost of random placements.

use crate::problem::Problem;
use crate::slots::Slots;
use crate::sparse::Sparse;

/// With more slots than this, costs with levels are not made a matrix.
pub(crate) const DENSE_MAX: usize = 256;

impl Problem {
    /// Returns the average cost of random placements. A place for k tasks has k slots, and each
    /// task that is not fixed is equally likely in each free slot. Allocates 32 to 64 bytes for
    /// each pair of slots, or, if the costs have levels, some bytes for each slot and pair of
    /// tasks.
    pub fn average_cost(&self) -> f64 {
        if self.is_sparse(DENSE_MAX) {
            Sparse::new(self).average()
        } else {
            Slots::new(self).average()
        }
    }
}
