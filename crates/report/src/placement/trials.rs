//! The times of a command with several placements.

use serde::{Deserialize, Serialize};

use crate::median::median;

/// The times of a command with several placements, and without a binding to CPUs. In each round,
/// the command runs once without a binding and once with each placement. The times of one round
/// have the same index in `unbound_ns` and in the `ns` of each placement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlacementTrials {
    /// The command and its arguments.
    pub command: Vec<String>,
    /// The time of each run without a binding.
    pub unbound_ns: Vec<f64>,
    /// The placements, the cheapest first.
    pub placements: Vec<PlacementTrial>,
}

/// The times of a command with a placement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlacementTrial {
    /// The place of task 0, of task 1 and so on.
    pub placement: Vec<usize>,
    /// The CPUs of task 0, of task 1 and so on.
    pub cpus: Vec<usize>,
    /// The cost of the placement.
    pub cost: f64,
    /// The time of each run.
    pub ns: Vec<f64>,
}

impl PlacementTrials {
    /// Returns the index of the placement with the smallest median, or 0 without placements.
    pub fn fastest(&self) -> usize {
        let medians: Vec<f64> = self
            .placements
            .iter()
            .map(|trial| ascending(&trial.ns).1)
            .collect();
        let least = (0..medians.len()).min_by(|a, b| medians[*a].total_cmp(&medians[*b]));
        least.unwrap_or(0)
    }

    /// Sorts the speed-ups of all rounds, and returns the second-smallest, the median and the
    /// second-largest, or `None` if there are fewer than three rounds. A speed-up is the time
    /// without a binding divided by the time with the fastest placement. With ten rounds, the true
    /// median is between the first and the third returned value with a probability of 98 %.
    pub fn gain(&self) -> Option<[f64; 3]> {
        let trial = self.placements.get(self.fastest())?;
        let pairs = self.unbound_ns.iter().zip(&trial.ns);
        let ratios: Vec<f64> = pairs.map(|(unbound, bound)| unbound / bound).collect();
        let (ratios, median) = ascending(&ratios);
        (ratios.len() >= 3).then(|| [ratios[1], median, ratios[ratios.len() - 2]])
    }

    /// Returns the median of the runs without a binding, and the median with the fastest placement.
    pub fn medians_ns(&self) -> Option<[f64; 2]> {
        let trial = self.placements.get(self.fastest())?;
        Some([ascending(&self.unbound_ns).1, ascending(&trial.ns).1])
    }
}

/// Sorts numbers, and returns them with their median.
pub(super) fn ascending(numbers: &[f64]) -> (Vec<f64>, f64) {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = median(&sorted).unwrap_or(f64::NAN);
    (sorted, median)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_placement_is_compared_run_by_run() {
        let trial = |ns: [f64; 4]| PlacementTrial {
            placement: vec![0],
            cpus: vec![0],
            cost: 1.0,
            ns: ns.into(),
        };
        let trials = PlacementTrials {
            command: vec!["program".to_owned()],
            unbound_ns: vec![4.0, 6.0, 8.0, 30.0],
            placements: vec![trial([3.0, 4.0, 4.0, 9.0]), trial([2.0, 2.0, 4.0, 10.0])],
        };
        assert_eq!(trials.fastest(), 1);
        assert_eq!(trials.medians_ns(), Some([7.0, 3.0]));
        assert_eq!(trials.gain(), Some([2.0, 2.5, 3.0]));
    }
}
