//! Costs of communication between places.

use crate::error::{ProblemError, is_amount};
use crate::ids::Place;
use crate::volumes::square;

/// The cost of a unit of volume from each place to each place, in a unit of the caller's choice,
/// such as nanoseconds or hops. The cost from a place to itself is for tasks that share the place,
/// and for a task that sends to itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    places: usize,
    /// The matrix, row by row.
    values: Vec<f64>,
}

impl Costs {
    /// Returns the costs of a matrix. Row i has the costs from place i to all places.
    ///
    /// # Errors
    ///
    /// Fails if the matrix is not square, or if a cost is not a number from 0 to 10^100.
    pub fn from_rows(rows: &[Vec<f64>]) -> Result<Self, ProblemError> {
        square(rows, "costs")?;
        Self::from_fn(rows.len(), |from, to| rows[from.0][to.0])
    }

    /// Returns the costs that `cost` returns, from its first argument to its second argument.
    ///
    /// # Errors
    ///
    /// Fails if a cost is not a number from 0 to 10^100.
    pub fn from_fn(
        places: usize,
        mut cost: impl FnMut(Place, Place) -> f64,
    ) -> Result<Self, ProblemError> {
        let mut values = Vec::with_capacity(places * places);
        for from in (0..places).map(Place) {
            for to in (0..places).map(Place) {
                let cost = cost(from, to);
                if !is_amount(cost) {
                    return Err(ProblemError::Cost { from, to, cost });
                }
                values.push(cost);
            }
        }
        Ok(Self { places, values })
    }

    /// Returns the number of places.
    pub fn places(&self) -> usize {
        self.places
    }

    /// Returns the cost of a unit of volume from one place to another.
    ///
    /// # Panics
    ///
    /// Panics if there is no such place.
    pub fn between(&self, from: Place, to: Place) -> f64 {
        assert!(to.0 < self.places, "{to} of {} places", self.places);
        self.values[from.0 * self.places + to.0]
    }
}
