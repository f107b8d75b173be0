//! Costs that are far above all others, such as those that keep tasks away from a pair of places.

use crate::ids::Place;
use crate::problem::Problem;

/// The smallest ratio of a cost to the next lower cost that is a gap. With a smaller ratio, sums of
/// `f64` still have seven digits of the lower costs.
const GAP: f64 = 1e9;

/// The largest ratio of two products whose sum counts both: the search takes costs for equal that
/// differ by less than this fraction.
const COUNTED: f64 = 1e12;

impl Problem {
    /// Returns a problem for the search and for the bound: the same problem, but with smaller gaps
    /// between costs. `None` if the costs have no gap.
    ///
    /// A sum of `f64` with a cost of 10^17 has no digits of a cost of 10. So the costs above a gap
    /// are divided by a number, and then the smallest volume still costs more above the gap than
    /// all volumes together below it. No cost becomes higher, and costs below all gaps stay. Thus a
    /// bound of the new problem is a bound of this one. If the best placement of the new problem
    /// has the same cost in both, it is the best placement of this one, too.
    pub(crate) fn with_smaller_gaps(&self) -> Option<Self> {
        let levels = Levels::of(self);
        (!levels.divisors.is_empty())
            .then(|| self.with_costs(self.costs().changed(|cost| levels.lowered(cost))))
    }

    /// Returns the smallest and the largest product of a volume and a cost above 0, if their ratio
    /// is above 10^12. The search then ignores small products. Costs that are 10^9 times as high as
    /// the next lower cost, and as the ratio of all volumes to the smallest one, are left out,
    /// because the search keeps them apart.
    ///
    /// ```
    /// use cellworks_mapping::{Costs, Problem, Volumes};
    ///
    /// # fn main() -> Result<(), cellworks_mapping::ProblemError> {
    /// let rows = [[0.0, 10.0, 20.0], [10.0, 0.0, 1e30], [20.0, 1e30, 0.0]];
    /// let costs = || Costs::from_rows(&rows.map(Vec::from));
    /// let problem = |small| {
    ///     let volumes = Volumes::from_edges(3, [(0, 1, 1.0), (1, 2, small)])?;
    ///     Problem::builder(volumes, costs()?).build()
    /// };
    /// assert_eq!(problem(0.5)?.ignored_products(), None);
    /// assert_eq!(problem(1e-13)?.ignored_products(), Some([1e-12, 20.0]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn ignored_products(&self) -> Option<[f64; 2]> {
        let Levels {
            lowest, volumes, ..
        } = Levels::of(self);
        let [least, most] = [0, 1].map(|end| volumes[end] * lowest[end]);
        (least > 0.0 && most / least > COUNTED).then_some([least, most])
    }
}

/// The costs of a problem, divided into levels by gaps.
struct Levels {
    /// The smallest and the largest volume above 0. Both are 0 if there are none.
    volumes: [f64; 2],
    /// The smallest and the largest cost of the lowest level, without 0.
    lowest: [f64; 2],
    /// For each other level, its smallest cost, and the divisor of the costs.
    divisors: Vec<(f64, f64)>,
}

impl Levels {
    fn of(problem: &Problem) -> Self {
        let pairs = || problem.volumes().pairs().map(|(_, _, volume)| volume);
        let [smallest, largest] = ends(pairs());
        let all: f64 = pairs().sum();
        let places: Vec<Place> = (0..problem.costs().places())
            .map(Place)
            .filter(|place| problem.capacity(*place) > 0)
            .collect();
        let all_costs = || problem.costs().all(&places).filter(|cost| *cost > 0.0);
        let mut lowest = ends(all_costs());
        let mut costs = Vec::new();
        if lowest[1] > GAP * lowest[0] {
            costs.extend(all_costs());
            costs.sort_unstable_by(f64::total_cmp);
            costs.dedup();
        }

        // All volumes at the highest cost below a gap cost half as much as the smallest volume
        // above it.
        let kept = if smallest > 0.0 {
            2.0 * all / smallest
        } else {
            1.0
        };
        let mut divisor = 1.0;
        let mut divisors = Vec::new();
        for pair in costs.windows(2) {
            let ratio = pair[1] / pair[0];
            if ratio > kept.max(GAP) {
                if divisors.is_empty() {
                    lowest[1] = pair[0];
                }
                divisor *= ratio / kept;
                divisors.push((pair[1], divisor));
            }
        }
        Self {
            volumes: [smallest, largest],
            lowest,
            divisors,
        }
    }

    fn lowered(&self, cost: f64) -> f64 {
        let level = self.divisors.partition_point(|(least, _)| *least <= cost);
        level
            .checked_sub(1)
            .map_or(cost, |level| cost / self.divisors[level].1)
    }
}

/// Returns the smallest and the largest number, or zeros if there are none.
fn ends(numbers: impl Iterator<Item = f64>) -> [f64; 2] {
    let ends = numbers.map(|number| [number; 2]);
    let ends = ends.reduce(|ends, [number, _]| [ends[0].min(number), ends[1].max(number)]);
    ends.unwrap_or_default()
}
