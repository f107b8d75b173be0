//! Placements: the place of each task.

use crate::{Place, Task};

/// The place of each task. [`Problem::placement`](crate::Problem::placement) makes a placement and
/// checks it against the problem. The search returns a placement, too.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Placement {
    places: Vec<Place>,
}

impl Placement {
    /// Makes a placement from places that are known to fit the problem.
    pub(crate) fn new(places: Vec<Place>) -> Self {
        Self { places }
    }

    /// The place of a task.
    ///
    /// # Panics
    ///
    /// If there is no such task.
    pub fn place_of(&self, task: Task) -> Place {
        self.places[task.0]
    }

    /// The place of task 0, of task 1 and so on.
    pub fn places(&self) -> &[Place] {
        &self.places
    }
}
