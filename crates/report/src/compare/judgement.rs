//! What a threshold says about a comparison.
//!
//! ```text
//!   runs of A   ●  ● ●            If nothing has changed, every order of the runs is as likely as
//!   runs of B           ●● ●      every other. Three runs of each side are apart, with B slower,
//!               ─────────────►    in 1 of 20 orders; one run of each side is in 1 of 2.
//! ```

use serde::{Deserialize, Serialize};

/// Runs of one computer are judged only if they would be apart by chance in at most one of this
/// number of cases. Of 155 measurements on a virtual machine, 9 were slower beyond both
/// intervals and 5 % between two runs, and none or one between three runs and three.
const CASES_MIN: u64 = 20;

/// What a threshold says about the times and rates of a comparison. Findings are left out, because
/// they follow from measurements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Judgement {
    /// The threshold: 0.05 means 5 % more time.
    pub threshold: f64,
    /// The number of times and rates that were judged.
    pub judged: usize,
    /// The number of those that are slower by more than the threshold, beyond both intervals.
    pub slower: usize,
    /// The number of times and rates that have too few runs to tell a change from what varies from
    /// run to run. They were not judged.
    pub too_few_runs: usize,
}

/// Returns whether these numbers of runs of A and of B can tell a change from what varies from run
/// to run: without a change, all runs of B would be slower than all runs of A in at most one of 20
/// cases. Three runs and three are enough, and so are five and two, or 19 and one.
pub(super) fn is_enough(runs_of_a: usize, runs_of_b: usize) -> bool {
    let (fewer, more) = (runs_of_a.min(runs_of_b), runs_of_a.max(runs_of_b));
    let mut orders = 1_u64;
    for chosen in 1..=fewer as u64 {
        orders = orders * (more as u64 + chosen) / chosen;
        if orders >= CASES_MIN {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_enough_if_chance_sets_them_apart_in_one_of_twenty_cases() {
        let enough = [
            (3, 3),
            (2, 5),
            (5, 2),
            (1, 19),
            (19, 1),
            (15, 3),
            (400, 400),
        ];
        assert!(enough.into_iter().all(|(a, b)| is_enough(a, b)));
        let too_few = [(1, 1), (2, 1), (2, 2), (3, 2), (2, 4), (1, 18), (0, 3)];
        assert!(!too_few.into_iter().any(|(a, b)| is_enough(a, b)));
    }
}
