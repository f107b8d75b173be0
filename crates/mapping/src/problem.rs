//! Problems: tasks, places, and constraints on the places of tasks.

use std::collections::BTreeMap;

use crate::costs::Costs;
use crate::error::ProblemError;
use crate::ids::{Place, Task};
use crate::placement::Placement;
use crate::volumes::Volumes;

/// Tasks, and the places to which they can be assigned, with volumes and costs.
#[derive(Clone, Debug)]
pub struct Problem {
    volumes: Volumes,
    costs: Costs,
    /// The number of tasks that each place takes, 0 for a forbidden place.
    capacities: Vec<usize>,
    fixed: BTreeMap<Task, Place>,
}

/// A builder of a [`Problem`], made by [`Problem::builder`].
#[derive(Clone, Debug)]
pub struct ProblemBuilder {
    volumes: Volumes,
    costs: Costs,
    capacity: usize,
    forbidden: Vec<Place>,
    fixed: Vec<(Task, Place)>,
}

impl ProblemBuilder {
    /// Sets the number of tasks that each place can take. The default is 1.
    #[must_use]
    pub fn capacity(mut self, tasks: usize) -> Self {
        self.capacity = tasks;
        self
    }

    /// Forbids a place, so that it stays empty.
    #[must_use]
    pub fn forbid(mut self, place: Place) -> Self {
        self.forbidden.push(place);
        self
    }

    /// Fixes a task to a place.
    #[must_use]
    pub fn fix(mut self, task: Task, place: Place) -> Self {
        self.fixed.push((task, place));
        self
    }

    /// Makes the problem and checks that it has a solution.
    ///
    /// # Errors
    ///
    /// Fails if there are no tasks or too many, if a place or task is unknown, if a task is fixed
    /// to two places or to a forbidden place, or if too many tasks are fixed to a place.
    pub fn build(self) -> Result<Problem, ProblemError> {
        let (tasks, places) = (self.volumes.tasks(), self.costs.places());
        if tasks == 0 {
            return Err(ProblemError::NoTasks);
        }
        let known = |place: Place| {
            (place.0 < places)
                .then_some(place.0)
                .ok_or(ProblemError::UnknownPlace { place, places })
        };
        let mut capacities = vec![self.capacity; places];
        for place in self.forbidden {
            capacities[known(place)?] = 0;
        }
        // Checked before anything takes memory for each task: files can name any number of them.
        let room = capacities
            .iter()
            .fold(0_usize, |sum, more| sum.saturating_add(*more));
        if tasks > room {
            let forbidden = capacities.iter().filter(|capacity| **capacity == 0).count();
            let capacity = self.capacity;
            return Err(ProblemError::TooManyTasks {
                tasks,
                places,
                forbidden,
                capacity,
            });
        }
        let mut fixed = BTreeMap::new();
        for (task, place) in self.fixed {
            known(place)?;
            if task.0 >= tasks {
                return Err(ProblemError::UnknownTask { task, tasks });
            }
            let first = fixed.insert(task, place);
            if let Some(first) = first.filter(|first| *first != place) {
                return Err(ProblemError::FixedTwice {
                    task,
                    places: [first, place],
                });
            }
        }
        let problem = Problem {
            volumes: self.volumes,
            costs: self.costs,
            capacities,
            fixed,
        };
        let fixed = problem.fixed.iter();
        problem.check_room(fixed.map(|(task, place)| (*task, *place)))?;
        Ok(problem)
    }
}

/// Returns the sum of costs, and 0 for none of them. `Iterator::sum` would return -0.0 then.
pub(crate) fn total(costs: impl Iterator<Item = f64>) -> f64 {
    costs.fold(0.0, |sum, cost| sum + cost)
}

impl Problem {
    /// Returns a builder of a problem. By default each place takes one task, no task is fixed and
    /// no place is forbidden.
    pub fn builder(volumes: Volumes, costs: Costs) -> ProblemBuilder {
        ProblemBuilder {
            volumes,
            costs,
            capacity: 1,
            forbidden: Vec::new(),
            fixed: Vec::new(),
        }
    }

    /// Returns the same problem with other costs between the same places.
    pub(crate) fn with_costs(&self, costs: Costs) -> Self {
        Self {
            costs,
            ..self.clone()
        }
    }

    /// Returns the same problem with costs that are higher where they were lower. All placements
    /// have the same volume, so the cheapest placement is the most expensive one of this problem.
    pub(crate) fn opposite(&self) -> Self {
        let places: Vec<Place> = (0..self.costs.places()).map(Place).collect();
        let highest = self.costs.all(&places).fold(0.0, f64::max);
        self.with_costs(self.costs.changed(|cost| highest - cost))
    }

    /// Returns the volumes between the tasks.
    pub fn volumes(&self) -> &Volumes {
        &self.volumes
    }

    /// Returns the costs between the places.
    pub fn costs(&self) -> &Costs {
        &self.costs
    }

    /// Returns the number of tasks that a place takes, 0 for a forbidden place.
    ///
    /// # Panics
    ///
    /// Panics if there is no such place.
    pub fn capacity(&self, place: Place) -> usize {
        self.capacities[place.0]
    }

    /// Returns the place to which a task is fixed, if any.
    ///
    /// # Panics
    ///
    /// Panics if there is no such task.
    pub fn fixed(&self, task: Task) -> Option<Place> {
        assert!(task.0 < self.volumes.tasks(), "there is no {task}");
        self.fixed.get(&task).copied()
    }

    /// Makes a placement from the numbers of the places of task 0, task 1 and so on.
    ///
    /// # Errors
    ///
    /// Fails if the number of places is not the number of tasks, if a place is unknown, forbidden
    /// or has too many tasks, or if a fixed task is at another place.
    pub fn placement(
        &self,
        places: impl IntoIterator<Item = usize>,
    ) -> Result<Placement, ProblemError> {
        let places: Vec<Place> = places.into_iter().map(Place).collect();
        let tasks = self.volumes.tasks();
        if places.len() != tasks {
            return Err(ProblemError::Length {
                tasks,
                places: places.len(),
            });
        }
        let known = self.capacities.len();
        if let Some(place) = places.iter().copied().find(|place| place.0 >= known) {
            return Err(ProblemError::UnknownPlace {
                place,
                places: known,
            });
        }
        for (task, fixed) in &self.fixed {
            let place = places[task.0];
            if *fixed != place {
                let (task, fixed) = (*task, *fixed);
                return Err(ProblemError::Moved { task, place, fixed });
            }
        }
        self.check_room(
            places
                .iter()
                .enumerate()
                .map(|(task, place)| (Task(task), *place)),
        )?;
        Ok(Placement::new(places))
    }

    /// Returns the cost of a placement: the sum of volume times cost over all ordered pairs of
    /// tasks. The sum is exact if volumes and costs are whole numbers and the sum is below 2^53.
    ///
    /// # Panics
    ///
    /// Panics if the placement lacks a task, or has a place that the problem does not have.
    pub fn cost(&self, placement: &Placement) -> f64 {
        let cost = |(from, to, volume)| {
            volume
                * self
                    .costs
                    .between(placement.place_of(from), placement.place_of(to))
        };
        total(self.volumes.pairs().map(cost))
    }

    fn check_room(&self, placed: impl Iterator<Item = (Task, Place)>) -> Result<(), ProblemError> {
        let mut at = vec![Vec::new(); self.capacities.len()];
        for (task, place) in placed {
            let capacity = self.capacities[place.0];
            if capacity == 0 {
                return Err(ProblemError::Forbidden { task, place });
            }
            at[place.0].push(task);
            if at[place.0].len() > capacity {
                let tasks = at[place.0].clone();
                return Err(ProblemError::Overfull {
                    place,
                    capacity,
                    tasks,
                });
            }
        }
        Ok(())
    }
}
