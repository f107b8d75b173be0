//! Comparing two placements.

use crate::ids::{Place, Task};
use crate::placement::Placement;
use crate::problem::Problem;

/// The factor of the busiest task's cost, fitted to a simulated stencil of 16 tasks on a QS22.
const OF_A_TASK: f64 = 0.02;

/// The volume that one task sends to another, and the cost of this volume with two placements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairCosts {
    /// The task that sends.
    pub from: Task,
    /// The task that receives.
    pub to: Task,
    /// The volume that `from` sends to `to`.
    pub volume: f64,
    /// Volume times cost, with the first and with the second placement.
    pub costs: [f64; 2],
}

impl PairCosts {
    /// Returns the cost with the second placement minus the cost with the first placement.
    pub fn difference(&self) -> f64 {
        self.costs[1] - self.costs[0]
    }
}

impl Problem {
    /// Returns the costs of each pair of communicating tasks with two placements, the largest
    /// difference first. The sum over all pairs is the [`cost`](Self::cost) of a placement.
    ///
    /// ```
    /// use cellworks_mapping::{Costs, Problem, Task, Volumes};
    ///
    /// # fn main() -> Result<(), cellworks_mapping::ProblemError> {
    /// let volumes = Volumes::from_edges(3, [(0, 1, 10.0), (1, 2, 20.0)])?;
    /// let costs = Costs::from_fn(3, |from, to| from.0.abs_diff(to.0) as f64)?;
    /// let problem = Problem::builder(volumes, costs).build()?;
    /// let [in_order, swapped] = [problem.placement([0, 1, 2])?, problem.placement([1, 0, 2])?];
    /// let pairs = problem.compared([&in_order, &swapped]);
    /// assert_eq!((pairs[0].from, pairs[0].to), (Task(1), Task(2)));
    /// assert_eq!(pairs[0].difference(), 20.0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if a placement does not fit the problem.
    pub fn compared(&self, placements: [&Placement; 2]) -> Vec<PairCosts> {
        let compared = |(from, to, volume): (Task, Task, f64)| {
            let cost = |placement: &Placement| {
                let [from, to] = [from, to].map(|task| placement.place_of(task));
                volume * self.costs().between(from, to)
            };
            PairCosts {
                from,
                to,
                volume,
                costs: placements.map(cost),
            }
        };
        let mut pairs: Vec<PairCosts> = self.volumes().pairs().map(compared).collect();
        pairs.sort_by(|a, b| b.difference().abs().total_cmp(&a.difference().abs()));
        pairs
    }

    /// Returns the load of each link with a placement: the sum of the volumes that use the link.
    /// `way` returns the links from one place to another, as indices below `links`.
    ///
    /// # Panics
    ///
    /// Panics if the placement does not fit the problem, or if `way` returns a larger index.
    pub fn loads<W: IntoIterator<Item = usize>>(
        &self,
        placement: &Placement,
        links: usize,
        mut way: impl FnMut(Place, Place) -> W,
    ) -> Vec<f64> {
        let mut loads = vec![0.0; links];
        for (from, to, volume) in self.volumes().pairs() {
            for link in way(placement.place_of(from), placement.place_of(to)) {
                loads[link] += volume;
            }
        }
        loads
    }

    /// Returns the cost of a placement if transfers wait for each other: the cost of the busiest
    /// link plus a fiftieth of the cost of the busiest task. The cost of a task is the cost of all
    /// volumes that the task sends and receives, and the busiest task has the highest cost. `links`
    /// has the cost of a unit of volume on each link, and `way` is as for [`loads`](Self::loads).
    ///
    /// On two linked Cells this cost ranks placements by their simulated times better than
    /// [`cost`](Self::cost) does, but not in all patterns.
    ///
    /// # Panics
    ///
    /// Panics if [`loads`](Self::loads) panics for the same arguments.
    pub fn contended_cost<W: IntoIterator<Item = usize>>(
        &self,
        placement: &Placement,
        links: &[f64],
        way: impl FnMut(Place, Place) -> W,
    ) -> f64 {
        let loads = self.loads(placement, links.len(), way);
        let of_links = loads.iter().zip(links).map(|(load, cost)| load * cost);
        let mut of_tasks = vec![0.0; self.volumes().tasks()];
        for (from, to, volume) in self.volumes().pairs() {
            let places = [from, to].map(|task| placement.place_of(task));
            let cost = volume * self.costs().between(places[0], places[1]);
            of_tasks[from.0] += cost;
            of_tasks[to.0] += cost;
        }
        let busiest_link = of_links.fold(0.0, f64::max);
        let busiest_task = of_tasks.into_iter().fold(0.0, f64::max);
        busiest_link + OF_A_TASK * busiest_task
    }
}

#[cfg(test)]
mod tests {
    use crate::costs::Costs;
    use crate::ids::Place;
    use crate::pattern::Pattern;
    use crate::problem::Problem;

    fn ring() -> Problem {
        let costs = Costs::from_fn(4, |from, to| from.0.abs_diff(to.0) as f64).unwrap();
        let volumes = Pattern::Ring.volumes(4).unwrap();
        Problem::builder(volumes, costs).build().unwrap()
    }

    #[test]
    fn the_pairs_add_up_to_the_cost() {
        let problem = ring();
        let placements = [[0, 1, 2, 3], [0, 2, 3, 1]].map(|at| problem.placement(at).unwrap());
        let pairs = problem.compared([&placements[0], &placements[1]]);
        for (number, placement) in placements.iter().enumerate() {
            let sum: f64 = pairs.iter().map(|pair| pair.costs[number]).sum();
            assert_eq!(sum, problem.cost(placement));
        }
        let differences: Vec<f64> = pairs.iter().map(|pair| pair.difference()).collect();
        // Tasks 0 and 3 are 3 places apart in the first placement, and neighbours in the second.
        assert_eq!(differences, [-2.0, -2.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn a_link_carries_what_passes_it() {
        let problem = ring();
        let in_order = problem.placement([0, 1, 2, 3]).unwrap();
        let way = |from: Place, to: Place| from.0.min(to.0)..from.0.max(to.0);
        assert_eq!(problem.loads(&in_order, 3, way), [4.0; 3]);
    }

    #[test]
    fn contention_is_that_of_the_busiest_link_and_of_the_busiest_task() {
        let problem = ring();
        let way = |from: Place, to: Place| from.0.min(to.0)..from.0.max(to.0);
        let cost = |places: [usize; 4], links: [f64; 3]| {
            problem.contended_cost(&problem.placement(places).unwrap(), &links, way)
        };
        // Task 0 sends over 1 link and 3 links, and receives over the same links: 2 * (1 + 3) = 8.
        assert_eq!(cost([0, 1, 2, 3], [1.0, 5.0, 1.0]), 4.0 * 5.0 + 0.02 * 8.0);
        // Each task sends over 1 link and 2 links, and receives over the same: 2 * (1 + 2) = 6.
        assert_eq!(cost([0, 2, 3, 1], [0.0; 3]), 0.02 * 6.0);
    }
}
