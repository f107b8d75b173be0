//! The differences between two placements of the same tasks, as `cellworks map explain` finds them.
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
use serde::{Deserialize, Serialize};

use crate::envelope::Envelope;

pub use views::{csv, html, table};

/// The differences between two placements of the same tasks. A is the placement named first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplanationReport {
    /// The part that the results of all commands have in common. The machine has an SPE for each
    /// place.
    #[serde(flatten)]
    pub envelope: Envelope,
    /// The file with the tasks, as the user named it, or the name of a pattern.
    pub file: String,
    /// The file or machine with the costs. `None` if the file with the tasks contains the costs.
    pub costs: Option<String>,
    /// What was assumed about the numbers of the CPUs, if the costs do not name them.
    pub assumed: Option<String>,
    /// `cost_a` and `cost_b`: the costs of the placements. `difference`: `cost_b` minus `cost_a`.
    /// `ratio`: `cost_b` divided by `cost_a`; it is missing if A costs nothing. If the links
    /// between places are known, `contended_a` and `contended_b`: estimates of the costs if
    /// transfers wait for each other on links. Each estimate is the sum of two terms: the cost of
    /// the busiest link, and a fiftieth of the cost of all data that the busiest task sends and
    /// receives.
    pub results: Vec<Finding>,
    /// Placement A, and then placement B.
    pub placements: Vec<ExplainedPlacement>,
    /// The costs of each pair of tasks that communicates. The pairs with the largest differences
    /// between `cost_a` and `cost_b` come first.
    pub pairs: Vec<ExplainedPair>,
    /// The load of each link and of the ports of each place. The links and ports with the largest
    /// differences between `load_a` and `load_b` come first. Links and ports that neither placement
    /// uses are left out.
    pub links: Vec<LinkLoad>,
    /// All places in the order in which the picture shows them. On a machine with rings, it is the
    /// order of the elements on the rings.
    pub around: Vec<usize>,
}

/// A placement that is compared with another placement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplainedPlacement {
    /// The placement as the user named it: the name of a file, a list of places such as `0,2,4,3`,
    /// or a mapping such as `[0213]`.
    pub name: String,
    /// The place of task 0, of task 1 and so on.
    pub placement: Vec<usize>,
}

/// The data that one task sends to another task, and the cost of the data.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExplainedPair {
    /// The sending task.
    pub from: usize,
    /// The receiving task.
    pub to: usize,
    /// The volume of the data.
    pub volume: f64,
    /// Volume times cost with placement A.
    pub cost_a: f64,
    /// Volume times cost with placement B.
    pub cost_b: f64,
}

/// The load of a link or of a port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkLoad {
    /// The name, such as `link from SPE 1 to SPE 3`, `out of CPU 2` or `into CPU 2`.
    pub name: String,
    /// The sum of the volumes that pass through the link or port with placement A.
    pub load_a: f64,
    /// The sum of the volumes that pass through the link or port with placement B.
    pub load_b: f64,
}

impl ExplanationReport {
    /// Returns the result with the given name.
    pub fn result(&self, name: &str) -> Option<f64> {
        let mut results = self.results.iter();
        results
            .find(|result| result.name == name)
            .map(|result| result.value)
    }
}
