//! What two placements of the same tasks differ in, as `cellworks map explain` finds it.
//!
//! ```text
//!   cost of each pair of tasks ─┐                        ┌─► table, csv, html   for people
//!   volume on each link        ─┼─► ExplanationReport ───┴─► json::render       for scripts
//!   place of each task         ─┘
//! ```

mod picture;
#[cfg(test)]
mod tests;
mod views;

use cellworks_stats::Finding;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Envelope;

#[cfg(test)]
pub(crate) use views::CSV_HEADER;
pub use views::{csv, html, table};

/// What two placements of the same tasks differ in: A, which was named first, and B.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplanationReport {
    /// What all results have in common. The machine has an SPE for each place.
    #[serde(flatten)]
    pub envelope: Envelope,
    /// The file with the tasks, as it was named, or the name of a pattern.
    pub file: String,
    /// The file or machine that the costs are from; `None` if the file with the tasks has them,
    /// too.
    pub costs: Option<String>,
    /// `cost_a` and `cost_b`: what the placements cost. `difference`: how much more B costs.
    /// `ratio`: how many times as much; not there if A costs nothing. `contended_a` and
    /// `contended_b`, where links are known: the costs of the busiest link, and a fiftieth of those
    /// of the task that has most.
    pub results: Vec<Finding>,
    /// A, and then B.
    pub placements: Vec<ExplainedPlacement>,
    /// What each pair of tasks costs that communicates: first those whose costs differ most.
    pub pairs: Vec<ExplainedPair>,
    /// How much goes over each link and through the ports of each place: first those whose loads
    /// differ most. Those that no placement uses are left out.
    pub links: Vec<LinkLoad>,
    /// All places in the order of the picture, in which neighbours are near on the machine.
    pub around: Vec<usize>,
}

/// A placement that is compared with another one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedPlacement {
    /// How it was named: a file, a list or a mapping.
    pub name: String,
    /// The place of task 0, of task 1 and so on.
    pub placement: Vec<usize>,
}

/// What one task sends to another, and what that costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainedPair {
    /// The task that sends.
    pub from: usize,
    /// The task that receives.
    pub to: usize,
    /// How much it sends.
    pub volume: f64,
    /// Volume times cost with placement A.
    pub cost_a: f64,
    /// Volume times cost with placement B.
    pub cost_b: f64,
}

/// How much goes over a link, or through a port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkLoad {
    /// What it is called, such as `link from SPE 1 to SPE 3`, `out of CPU 2` or `into CPU 2`.
    pub name: String,
    /// The sum of the volumes that pass it with placement A.
    pub load_a: f64,
    /// The sum of the volumes that pass it with placement B.
    pub load_b: f64,
}

impl ExplanationReport {
    /// The result of this name.
    pub fn result(&self, name: &str) -> Option<f64> {
        let mut results = self.results.iter();
        results
            .find(|result| result.name == name)
            .map(|result| result.value)
    }
}
