//! The search for a placement with a low cost.

// Rejected: minimising `Problem::contended_cost`. In all six problems that were tried on the two
// Cells of a QS22, the placements with the lowest cost also had the lowest contention.

mod bisection;
mod exhaustive;
mod local;
mod memetic;
mod run;
mod sparse;
mod state;
mod tabu;

use std::ops::ControlFlow;

use fastrand::Rng;
use run::SearchRun;
pub use run::{Limit, Progress};

use crate::average::DENSE_MAX;
use crate::placement::Placement;
use crate::problem::Problem;
use crate::slots::Slots;
use crate::sparse::Sparse;

/// The largest number of slots for memetic search. With more, a population takes over a second.
const MEMETIC_MAX: usize = 256;

/// The result of a search.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Solution {
    /// The best placement.
    pub placement: Placement,
    /// The cost of `placement`.
    pub cost: f64,
    /// Whether the placement is proven to be optimal, because all placements were evaluated.
    pub optimal: bool,
    /// The number of iterations.
    pub iterations: u64,
}

impl Solution {
    /// Returns the largest fraction of the cost that can be saved, from 0 to 1: (cost - bound) /
    /// cost. `bound` is a [`Problem::lower_bound`]. The result is 0 if the cost is 0 or optimal.
    pub fn gap(&self, bound: f64) -> f64 {
        let bound = if self.optimal { self.cost } else { bound };
        if self.cost == 0.0 {
            0.0
        } else {
            (self.cost - bound) / self.cost
        }
    }
}

/// A search for a placement with a low cost.
///
/// On a machine of levels with room for more than 256 tasks, tasks and places are divided level by
/// level, and a local search improves the best division. Of the others, a problem of at most 10!
/// (3,628,800) placements is solved by evaluating all placements, regardless of the limit. For a
/// larger problem with room for at most 256 tasks, tabu searches improve a population of
/// placements. With more room, a local search improves one placement.
///
/// A cost may be very high to keep tasks away from a pair of places. The search lowers a cost if it
/// is more than 10^9 times the next lower one, and also more than the next lower one times twice
/// the sum of all volumes divided by the smallest volume. So it does not hide the lower costs, and
/// the search still avoids it. If no placement avoids it, the placement is not proven to be optimal.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use cellworks_mapping::{Costs, Limit, Problem, Search, Volumes};
///
/// # fn main() -> Result<(), cellworks_mapping::ProblemError> {
/// // A ring of 16 tasks, on 16 cores in 4 rows of 4.
/// let volumes = Volumes::from_edges(16, (0..16).map(|task| (task, (task + 1) % 16, 1.0)))?;
/// let costs = Costs::from_fn(16, |from, to| {
///     ((from.0 / 4).abs_diff(to.0 / 4) + (from.0 % 4).abs_diff(to.0 % 4)) as f64
/// })?;
/// let problem = Problem::builder(volumes, costs).build()?;
///
/// let search = Search::new(Limit::Iterations(10_000)).seed(7);
/// let solution = search.run(&problem, |progress| {
///     // Each core has a neighbour, so no ring costs less than 16.
///     if progress.cost > 16.0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
/// });
/// assert_eq!(solution.cost, 16.0);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Search {
    limit: Limit,
    seed: u64,
}

impl Search {
    /// Returns a search that ends at a limit, with seed 0.
    pub fn new(limit: Limit) -> Self {
        Self { limit, seed: 0 }
    }

    /// Sets the seed of the random numbers of the search. The default is 0.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Searches until the limit, as [`run`](Self::run) does without a function for the progress.
    pub fn find(&self, problem: &Problem) -> Solution {
        self.run(problem, |_| ControlFlow::Continue(()))
    }

    /// Searches until the limit, or until `progress` returns `Break`. Finds a placement even if the
    /// limit is 0. Calls `progress` with the first placement, with each better placement, and about
    /// every 10 ms. Uses as much memory as [`Problem::average_cost`].
    pub fn run(
        &self,
        problem: &Problem,
        mut progress: impl FnMut(&Progress<'_>) -> ControlFlow<()>,
    ) -> Solution {
        let with_smaller_gaps = problem.with_smaller_gaps();
        let searched = with_smaller_gaps.as_ref().unwrap_or(problem);
        let mut exact = |found: &Progress<'_>| match with_smaller_gaps {
            None => progress(found),
            Some(_) => progress(&Progress {
                cost: problem.cost(found.placement),
                ..*found
            }),
        };
        let mut run = SearchRun::new(self.limit, &mut exact);
        let mut random = Rng::with_seed(self.seed);
        let mut small = false;
        if searched.is_sparse(DENSE_MAX) {
            sparse::search(&Sparse::new(searched), &mut random, &mut run);
        } else {
            let slots = Slots::new(searched);
            small = exhaustive::is_small(&slots);
            match slots.n {
                _ if small => exhaustive::search(&slots, &mut run),
                ..=MEMETIC_MAX => memetic::search(&slots, &mut random, &mut run),
                _ => local::search(&slots, &mut random, &mut run),
            }
        }
        let all_evaluated = small && !run.stopped();
        let (placement, iterations) = run.end();
        let cost = problem.cost(&placement);
        let is_exact = |searched: &Problem| searched.cost(&placement) == cost;
        let optimal = all_evaluated && with_smaller_gaps.as_ref().is_none_or(is_exact);
        Solution {
            cost,
            placement,
            optimal,
            iterations,
        }
    }

    /// Searches for the placement with the highest cost, as [`run`](Self::run) searches for the one
    /// with the lowest: what it costs to choose badly. Calls `progress` about every 10 ms. Returns
    /// `None` if some costs are far above all others, because these only keep tasks away from pairs
    /// of places.
    ///
    /// ```
    /// use std::ops::ControlFlow;
    ///
    /// use cellworks_mapping::{Costs, Limit, Problem, Search, Volumes};
    ///
    /// # fn main() -> Result<(), cellworks_mapping::ProblemError> {
    /// let volumes = Volumes::from_edges(2, [(0, 1, 10.0)])?;
    /// let costs = Costs::from_fn(4, |from, to| from.0.abs_diff(to.0) as f64)?;
    /// let problem = Problem::builder(volumes, costs).build()?;
    /// let search = Search::new(Limit::Iterations(100));
    /// let worst = search.worst(&problem, || ControlFlow::Continue(()));
    /// assert_eq!(worst.map(|worst| worst.cost), Some(30.0));
    /// # Ok(())
    /// # }
    /// ```
    pub fn worst(
        &self,
        problem: &Problem,
        mut progress: impl FnMut() -> ControlFlow<()>,
    ) -> Option<Solution> {
        if problem.with_smaller_gaps().is_some() {
            return None;
        }
        let found = self.run(&problem.opposite(), |_| progress());
        Some(Solution {
            cost: problem.cost(&found.placement),
            ..found
        })
    }
}
