//! What chance would give.

use crate::Problem;
use crate::slots::Slots;

impl Problem {
    /// What a placement by chance costs on average. A place that takes several tasks has several
    /// rooms, and each free task is as likely in one free room as in any other. The average is found
    /// from those of volumes and costs, so it is exact up to rounding. It takes memory for four to
    /// eight numbers of 8 bytes for each pair of rooms.
    pub fn average_cost(&self) -> f64 {
        Slots::new(self).average()
    }
}
