//! Placements: the place of each task.

use cellworks_machine::SpeId;

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

    /// Returns the SPE of task 0, of task 1 and so on, if place n is SPE n, as in
    /// `Network::place` and `Pool::place`.
    ///
    /// ```
    /// use cellworks_machine::SpeId;
    /// use cellworks_mapping::{Costs, Limit, Place, Problem, Search, Task, Volumes};
    ///
    /// # fn main() -> Result<(), cellworks_mapping::ProblemError> {
    /// let volumes = Volumes::from_edges(2, [(0, 1, 10.0)])?;
    /// let costs = Costs::from_fn(3, |from, to| from.0.abs_diff(to.0) as f64)?;
    /// let problem = Problem::builder(volumes, costs).fix(Task(0), Place(2)).build()?;
    /// let found = Search::new(Limit::Iterations(100)).find(&problem);
    /// assert!(found.placement.spes().eq([SpeId::new(2), SpeId::new(1)]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// The iterator panics at a place above 65,535, which is the number of no SPE.
    pub fn spes(&self) -> impl ExactSizeIterator<Item = SpeId> + '_ {
        let spe = |place: &Place| {
            let number = u16::try_from(place.0);
            SpeId::new(number.unwrap_or_else(|_| panic!("{place} is no SPE")))
        };
        self.places.iter().map(spe)
    }

    /// Returns the place of task 0, of task 1 and so on.
    pub fn places(&self) -> &[Place] {
        &self.places
    }
}
