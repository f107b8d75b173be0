//! Costs of communication between places.

use crate::error::{ProblemError, is_amount};
use crate::ids::Place;
use crate::level::Level;
use crate::volumes::square;

/// The largest number of places of a machine of levels.
const PLACES_MAX: usize = 1 << 24;

/// The cost of a unit of volume from each place to each place, in a unit of the caller's choice,
/// such as nanoseconds or hops. The cost from a place to itself is for tasks that share the place,
/// and for a task that sends to itself.
///
/// Costs are a matrix, or the costs of a machine of levels, such as nodes, packages and cores. The
/// cost between two places of such a machine is that of the outermost [`Level`] on which their
/// parts differ. It takes memory for each level, and not for each pair of places.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// The levels outside of the matrix, the outermost first. Empty if the costs are a matrix.
    levels: Vec<Level>,
    /// For each level, the number of places in a part of it.
    sizes: Vec<usize>,
    /// The number of places of the matrix. Each innermost part of the levels is a copy of it.
    block: usize,
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
        Ok(Self {
            levels: Vec::new(),
            sizes: Vec::new(),
            block: places,
            values,
        })
    }

    /// Returns the costs of a machine of levels, the outermost first. The cost from a place to
    /// itself is 0. Places are numbered part by part: the first part of the outermost level has the
    /// first places.
    ///
    /// ```
    /// use cellworks_mapping::{Costs, Level, Place};
    ///
    /// # fn main() -> Result<(), cellworks_mapping::ProblemError> {
    /// let costs = Costs::of_levels([Level::new("node", 2, 1800.0), Level::new("core", 4, 60.0)])?;
    /// assert_eq!(costs.places(), 8);
    /// assert_eq!(costs.between(Place(0), Place(3)), 60.0);
    /// assert_eq!(costs.between(Place(3), Place(4)), 1800.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if a cost is not a number from 0 to 10^100, if a level has no parts, or if there are
    /// more than 2^24 places.
    pub fn of_levels(levels: impl IntoIterator<Item = Level>) -> Result<Self, ProblemError> {
        let place = Self::from_fn(1, |_, _| 0.0)?;
        let mut levels: Vec<Level> = levels.into_iter().collect();
        levels.reverse();
        levels.into_iter().try_fold(place, Self::repeated)
    }

    /// Returns the costs of a machine that consists of several copies of the machine with these
    /// costs: `level.parts` copies, and `level.cost` between places of different copies. The first
    /// copy has the first places.
    ///
    /// # Errors
    ///
    /// Fails as [`of_levels`](Self::of_levels) does.
    pub fn repeated(mut self, level: Level) -> Result<Self, ProblemError> {
        let size = self.places();
        if !is_amount(level.cost) {
            return Err(ProblemError::Cost {
                from: Place(0),
                to: Place(size),
                cost: level.cost,
            });
        }
        let places = size.saturating_mul(level.parts);
        if level.parts == 0 || places > PLACES_MAX {
            return Err(ProblemError::Level {
                level: level.name,
                parts: level.parts,
                size,
            });
        }
        self.levels.insert(0, level);
        self.sizes.insert(0, size);
        Ok(self)
    }

    /// Returns the levels outside of the matrix, the outermost first. It is empty if the costs are
    /// only a matrix.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Returns the number of places of each innermost part, between which the costs are a matrix.
    /// It is 1 for a machine of levels only, and the number of all places without levels.
    pub fn block(&self) -> usize {
        self.block
    }

    /// Returns the number of places.
    pub fn places(&self) -> usize {
        match (self.levels.first(), self.sizes.first()) {
            (Some(level), Some(size)) => level.parts * size,
            _ => self.block,
        }
    }

    /// Returns the cost of a unit of volume from one place to another.
    ///
    /// # Panics
    ///
    /// Panics if there is no such place.
    pub fn between(&self, from: Place, to: Place) -> f64 {
        let (Place(mut from), Place(mut to)) = (from, to);
        if let (Some(level), Some(size)) = (self.levels.first(), self.sizes.first()) {
            let places = level.parts * size;
            assert!(from.max(to) < places, "place {} of {places}", from.max(to));
            for (level, size) in self.levels.iter().zip(&self.sizes) {
                if from / size != to / size {
                    return level.cost;
                }
            }
            (from, to) = (from % self.block, to % self.block);
        }
        assert!(to < self.block, "place {to} of {} places", self.block);
        self.values[from * self.block + to]
    }

    /// Returns each cost once or more often: the costs between `places`, or, on a machine of
    /// levels, all of its costs.
    pub(crate) fn all<'a>(&'a self, places: &'a [Place]) -> Box<dyn Iterator<Item = f64> + 'a> {
        if self.levels.is_empty() {
            let row = |from: &'a Place| places.iter().map(|to| self.between(*from, *to));
            return Box::new(places.iter().flat_map(row));
        }
        let several = self.levels.iter().filter(|level| level.parts > 1);
        let levels = several.map(|level| level.cost);
        Box::new(levels.chain(self.values.iter().copied()))
    }

    /// Returns the costs after a change of each of them to another cost.
    pub(crate) fn changed(&self, change: impl Fn(f64) -> f64) -> Self {
        let mut changed = self.clone();
        let levels = changed.levels.iter_mut().map(|level| &mut level.cost);
        for cost in levels.chain(&mut changed.values) {
            *cost = change(*cost);
        }
        changed
    }
}
