//! A lower bound of the cost of all placements.

// Rejected: `pathfinding` and `lapjv` for the linear assignment. `pathfinding` accepts only whole
// numbers, and `lapjv` only square matrices. `lsap` accepts `f64`, and fewer tasks than places.

use crate::average::DENSE_MAX;
use crate::problem::Problem;
use crate::slots::Slots;

/// The fraction by which a bound is lowered if it is not a whole number, because sums are rounded.
const ROUNDING: f64 = 1e-12;

/// Sums of whole numbers below this are exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl Problem {
    /// Returns a lower bound of the cost of all placements: the bound of Gilmore and Lawler (P.C.
    /// Gilmore, Optimal and suboptimal algorithms for the quadratic assignment problem, SIAM
    /// Journal 10, 1962; E.L. Lawler, The quadratic assignment problem, Management Science 9,
    /// 1963).
    ///
    /// The least cost of a task at a place is a sum of products: the highest volume of the task
    /// times the lowest cost of the place, the second highest times the second lowest, and so on.
    /// The bound is the lowest sum of the least costs of all tasks.
    ///
    /// A second bound is better on machines of levels: the volume that has to leave the parts of
    /// each level, however tasks are divided. The larger of both is returned. For more than 256
    /// slots on a machine of levels it is the second.
    pub fn lower_bound(&self) -> f64 {
        let with_smaller_gaps = self.with_smaller_gaps();
        let searched = with_smaller_gaps.as_ref().unwrap_or(self);
        let by_cuts = searched.bound_by_cuts();
        let by_cuts = lowered(by_cuts, by_cuts, self.volumes().tasks());
        if searched.is_sparse(DENSE_MAX) {
            by_cuts
        } else {
            by_cuts.max(searched.bound_by_assignment())
        }
    }

    fn bound_by_assignment(&self) -> f64 {
        let slots = Slots::new(self);
        let Slots { n, tasks, .. } = slots;
        if tasks == 0 {
            return slots.constant;
        }
        let cheapest: Vec<Vec<f64>> = (0..n).map(|slot| slots.costs_from(slot)).collect();
        let mut least = Vec::with_capacity(tasks * n);
        for item in 0..tasks {
            let volumes = slots.volumes_from(item);
            for (slot, costs) in cheapest.iter().enumerate() {
                let pairs: f64 = volumes
                    .iter()
                    .zip(costs)
                    .map(|(volume, cost)| volume * cost)
                    .sum();
                least.push(slots.linear[item * n + slot] + pairs);
            }
        }
        let bound = slots.constant + cheapest_assignment(tasks, n, &least);
        let largest = least.iter().copied().fold(0.0, f64::max);
        // The assignment is the cheapest one except for rounding errors of the largest cost.
        lowered(bound, largest, tasks)
    }
}

/// Returns a bound that is not too high although sums are rounded. `largest` is the largest of
/// `terms` numbers that were added.
fn lowered(bound: f64, largest: f64, terms: usize) -> f64 {
    if bound.fract() == 0.0 && largest < EXACT {
        return bound;
    }
    let rounded = bound.abs() * ROUNDING + largest * terms as f64 * f64::EPSILON;
    (bound - rounded).max(0.0)
}

fn cheapest_assignment(rows: usize, columns: usize, costs: &Vec<f64>) -> f64 {
    let (rows, chosen) = lsap::solve(rows, columns, costs, false)
        .expect("costs are finite, and there is a column for each row");
    rows.iter()
        .zip(&chosen)
        .map(|(row, column)| costs[row * columns + column])
        .sum()
}

impl Slots {
    /// Returns the volumes above 0 that an item (see [`Slots`]) sends to others, the largest first.
    fn volumes_from(&self, item: usize) -> Vec<f64> {
        let row = item * self.n..(item + 1) * self.n;
        let mut volumes: Vec<f64> = match &self.skew {
            Some((skew, _)) => {
                let both = self.volumes[row.clone()].iter().zip(&skew[row]);
                both.map(|(symmetric, skew)| (symmetric + skew) / 2.0)
                    .collect()
            }
            None => self.volumes[row]
                .iter()
                .map(|symmetric| symmetric / 2.0)
                .collect(),
        };
        volumes.retain(|volume| *volume > 0.0);
        volumes.sort_by(|volume, other| other.total_cmp(volume));
        volumes
    }

    /// Returns the costs of a unit of volume from a slot to the other slots, the lowest first.
    fn costs_from(&self, slot: usize) -> Vec<f64> {
        let others = (0..self.n).filter(|other| *other != slot);
        let mut costs: Vec<f64> = others
            .map(|other| {
                let pair = slot * self.n + other;
                self.costs[pair] + self.skew.as_ref().map_or(0.0, |(_, costs)| costs[pair])
            })
            .collect();
        costs.sort_by(f64::total_cmp);
        costs
    }
}
