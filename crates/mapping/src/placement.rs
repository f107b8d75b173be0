//! Placements: the place of each task.

use crate::ids::{Place, Task};

/// The place of each task, from `Problem::placement` or `Search::run`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Placement {
    places: Vec<Place>,
}

impl Placement {
    pub(crate) fn new(places: Vec<Place>) -> Self {
        Self { places }
    }

    /// Returns the place of a task.
    ///
    /// # Panics
    ///
    /// Panics if there is no such task.
    pub fn place_of(&self, task: Task) -> Place {
        self.places[task.0]
    }

    /// Returns the place of task 0, of task 1 and so on.
    pub fn places(&self) -> &[Place] {
        &self.places
    }
}
