//! What chance would give.

use crate::Problem;
use crate::slots::Slots;

impl Problem {
    /// What a placement by chance costs on average: each free task is as likely in one room of a place
    /// as in any other that is free. It is found from the averages of volumes and costs, so it is
    /// exact up to rounding. It takes memory for four to eight numbers of 8 bytes for each pair of rooms.
    pub fn average_cost(&self) -> f64 {
        Slots::new(self).average()
    }
}
