//! A placement of communicating tasks that `cellworks map solve` has found.
//!
//! ```text
//!   cost, bound, gap ─┐                     ┌─► table, csv, html   for people
//!   place of each task┼─► PlacementReport ──┴─► json::render       for scripts, and `map exec`
//!   CPU of each task ─┘
//! ```

#[cfg(test)]
mod tests;
mod trials;
mod views;

use cellworks_stats::Finding;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Envelope;

pub use trials::{PlacementTrial, PlacementTrials};
#[cfg(test)]
pub(crate) use views::CSV_HEADER;
pub(crate) use views::{amount, listed, on_costs, rows_on_page};
pub use views::{csv, html, table};

/// The best placement that a search has found, and how good it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlacementReport {
    /// What all results have in common. The machine has an SPE for each place.
    #[serde(flatten)]
    pub envelope: Envelope,
    /// What was to be placed where.
    pub problem: PlacementProblem,
    /// What chose the random numbers of the search.
    pub seed: u64,
    /// After how many seconds the search had to end.
    pub time_limit_s: f64,
    /// `cost`: what the placement costs. `bound`: no placement costs less. `gap`: which part of the
    /// cost is not proven to be necessary, 0 to 1. `average`: what a placement by chance costs on
    /// average. `time_to_best`: when the search found it.
    /// `time`: when the search ended. `iterations`: how many exchanges of two tasks it did. Where a
    /// command was run, `time_unbound` and `time_bound` are the medians of its times without a
    /// binding and with the placement; `gain` is the median of the first divided by the second, and
    /// `gain_at_least` and `gain_at_most` are an interval that has it with a probability of 98 %.
    /// What was not known yet when a run was interrupted is not there.
    pub results: Vec<Finding>,
    /// Whether it is proven that no placement costs less.
    pub optimal: bool,
    /// The place of task 0, of task 1 and so on; empty if the run ended before there was any.
    pub placement: Vec<usize>,
    /// The same for programs that bind tasks to CPUs; `None` if the places are no CPUs of a
    /// computer.
    pub binding: Option<CpuBinding>,
    /// What a command took with the cheapest placements; `None` if there was none to run. Then
    /// `placement` is the one that it was fastest with.
    #[serde(default)]
    pub trials: Option<PlacementTrials>,
}

/// What was to be placed where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlacementProblem {
    /// The file with the tasks, as it was named, or the name of a pattern.
    pub file: String,
    /// The file with the costs; `None` if the first file has them, too.
    pub costs: Option<String>,
    /// How many tasks there are.
    pub tasks: usize,
    /// How many places.
    pub places: usize,
    /// How many tasks a place takes.
    pub capacity: usize,
    /// The tasks that had to be at a place.
    pub fixed: Vec<FixedTask>,
    /// The places that had to stay empty.
    pub forbidden: Vec<usize>,
}

/// A task that had to be at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FixedTask {
    /// The number of the task.
    pub task: usize,
    /// The number of its place.
    pub place: usize,
}

/// The CPU of each task, and how other programs are told it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuBinding {
    /// The CPU of task 0, of task 1 and so on, by the number that the operating system gives it.
    pub cpus: Vec<usize>,
    /// All of them, as `taskset --cpu-list` and `numactl --physcpubind` take them.
    pub cpu_list: String,
    /// The value of `OMP_PLACES`.
    pub omp_places: String,
    /// The value of `srun --cpu-bind`.
    pub slurm_cpu_bind: String,
    /// The cpuset of task 0, of task 1 and so on, as `hwloc-bind` takes it.
    pub hwloc_cpusets: Vec<String>,
}

impl PlacementReport {
    /// The result of this name, if it is known.
    pub fn result(&self, name: &str) -> Option<f64> {
        let mut results = self.results.iter();
        results
            .find(|result| result.name == name)
            .map(|result| result.value)
    }
}

impl CpuBinding {
    /// The environment of an OpenMP program with a thread for each task.
    pub fn openmp(&self) -> [(&'static str, String); 3] {
        [
            ("OMP_NUM_THREADS", self.cpus.len().to_string()),
            ("OMP_PROC_BIND", "close".to_owned()),
            ("OMP_PLACES", self.omp_places.clone()),
        ]
    }
}
