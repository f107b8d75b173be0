//! Placements: the place of each task.

use crate::{Place, Task};

/// The place of each task. [`Problem::placement`](crate::Problem::placement) and
/// [`Search::run`](crate::Search::run) make placements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Placement {
    places: Vec<Place>,
}

impl Placement {
    /// Returns a placement of places that are known to fit the problem.
    pub(crate) fn new(places: Vec<Place>) -> Self {
        Self { places }
    }

    /// The place of a task.
    ///
    /// # Panics
    ///
    /// Panics if there is no such task.
    pub fn place_of(&self, task: Task) -> Place {
        self.places[task.0]
    }

    /// The place of task 0, of task 1 and so on.
    pub fn places(&self) -> &[Place] {
        &self.places
    }
}
