//! The placement of communicating tasks that `cellworks map solve` found.
//!
//! ```text
//!   cost, bound, gap ─┐                     ┌─► table, csv, html   for people
//!   place of each task┼─► PlacementReport ──┴─► json::render       for scripts, and `map exec`
//!   CPU of each task ─┘
//! ```

mod numbers;
mod picture;
#[cfg(test)]
mod tests;
mod trials;
mod views;

use cellworks_stats::Finding;
use serde::{Deserialize, Serialize};

use crate::envelope::Envelope;

pub(crate) use numbers::{amount, listed};
pub(crate) use picture::draw;
pub use picture::{DRAWN_MAX, PictureDrawing, PictureLine, PlacementPicture};
pub use trials::{PlacementTrial, PlacementTrials};
pub(crate) use views::{assumption, on_costs};
pub use views::{csv, html, table};

/// The best placement that a search has found, and its quality.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlacementReport {
    /// The part that the results of all commands have in common. The machine has an SPE for each
    /// place.
    #[serde(flatten)]
    pub envelope: Envelope,
    /// The problem: the tasks and the places.
    pub problem: PlacementProblem,
    /// The seed of the random numbers of the search.
    pub seed: u64,
    /// The number of seconds after which the search had to end.
    pub time_limit_s: f64,
    /// `cost`: the cost of the placement. `bound`: a lower bound of the cost of all placements.
    /// `gap`: the part of the cost that is not proven to be necessary, 0 to 1. `average`: the
    /// average cost of a random placement. `in_order`: the cost of the tasks in the order of the
    /// places, each at the first place with room. `worst`: the highest cost of a placement that a
    /// search for it has found; left out if some costs only keep tasks away from pairs of places.
    /// `time_to_best`: when the search found the placement. `time`: when the search ended.
    /// `iterations`: the number of exchanges of two tasks. If a command was run, `time_unbound` is
    /// its median time without a binding to CPUs, and `time_bound` is its median time with the
    /// placement. `gain` is the median speed-up of all rounds. The speed-up of a round is the time
    /// without a binding divided by the time with the placement. `gain_at_least` and `gain_at_most`
    /// are an interval that contains the true median speed-up with a probability of 98 %. If a run
    /// was interrupted, unknown values are left out.
    pub results: Vec<Finding>,
    /// Whether it is proven that no placement costs less.
    pub optimal: bool,
    /// What is known about the quality of the placement. `not_known` in files that an older version
    /// of the command wrote.
    #[serde(default)]
    pub quality: Quality,
    /// The place of task 0, of task 1 and so on. Empty if the run found no placement.
    pub placement: Vec<usize>,
    /// The place of task 0, of task 1 and so on in the placement with the highest cost that was
    /// found, whose cost is `worst` in `results`. Empty if `worst` is left out, and in files that
    /// an older version of the command wrote.
    #[serde(default)]
    pub worst_placement: Vec<usize>,
    /// Whether it is proven that no placement costs more than `worst`.
    #[serde(default)]
    pub worst_proven: bool,
    /// The number of pairs of tasks of which the first sends to the second. 0 in files that an older
    /// version of the command wrote.
    #[serde(default)]
    pub pairs: usize,
    /// The pairs with the largest volumes, at most ten, the largest first. Empty for a pattern,
    /// whose volumes are all 1, and in files that an older version of the command wrote.
    #[serde(default)]
    pub heaviest: Vec<PairVolume>,
    /// The names of the nodes, which are the computers of a job. Empty if the places are on one
    /// computer, and in files that an older version of the command wrote.
    #[serde(default)]
    pub nodes: Vec<String>,
    /// The CPU of task 0, of task 1 and so on, with its node and its core. Empty if the places are
    /// not CPUs, and in files that an older version of the command wrote.
    #[serde(default)]
    pub cpus: Vec<PlaceCpu>,
    /// The CPUs of the tasks, for programs that bind tasks to CPUs. `None` if the places are not
    /// CPUs of one computer.
    pub binding: Option<CpuBinding>,
    /// The commands that apply the placement, for each tool. They name the file with this result
    /// `placement.json`. Empty if the places are not CPUs, and in files that an older version of
    /// the command wrote.
    #[serde(default)]
    pub commands: Vec<ToolCommand>,
    /// The times of a command with each of the cheapest placements that were found. `None` if no
    /// command was run. If a command was run, `placement` is the placement with which the command
    /// was fastest.
    #[serde(default)]
    pub trials: Option<PlacementTrials>,
    /// The picture of the page. `None` if the run found no placement, and in files that an older
    /// version of the command wrote.
    #[serde(default)]
    pub picture: Option<PlacementPicture>,
}

/// What is known about the quality of a placement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Quality {
    /// No placement costs less.
    Proven,
    /// It is as good as known methods get: it costs at most 1 % more than the bound, or the search
    /// found it in the first tenth of its time, and then made thousands of exchanges for each place
    /// without a better one.
    AsGoodAsKnown,
    /// The search was still improving, had too little time, or cannot say for so many places.
    #[default]
    NotKnown,
}

/// The tasks and the places of a problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlacementProblem {
    /// The file with the tasks, as the user named it, or the name of a pattern.
    pub file: String,
    /// The file or machine with the costs. `None` if `file` contains the costs.
    pub costs: Option<String>,
    /// The unit of the costs between places, such as `ns`. `None` if the unit is unknown.
    #[serde(default)]
    pub unit: Option<String>,
    /// The number of tasks.
    pub tasks: usize,
    /// The number of places.
    pub places: usize,
    /// The number of tasks that a place can take.
    pub capacity: usize,
    /// The tasks that are fixed to a place.
    pub fixed: Vec<FixedTask>,
    /// The forbidden places.
    pub forbidden: Vec<usize>,
    /// What was assumed about the numbers of the CPUs, if the costs do not name them.
    #[serde(default)]
    pub assumed: Option<String>,
}

/// A task that is fixed to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FixedTask {
    /// The number of the task.
    pub task: usize,
    /// The number of the place.
    pub place: usize,
}

/// What one task sends to another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairVolume {
    /// The sending task.
    pub from: usize,
    /// The receiving task.
    pub to: usize,
    /// The volume.
    pub volume: f64,
    /// Volume times cost with the placement.
    pub cost: f64,
}

/// A CPU of a computer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlaceCpu {
    /// The number of the node, from 0. It is 0 if there is only one computer.
    pub node: usize,
    /// The number of the CPU in the operating system of its node.
    pub cpu: usize,
    /// The number of the CPU's core in its node. CPUs with the same number are hardware threads of
    /// one core. `None` if the core is unknown.
    pub core: Option<usize>,
}

/// A command that starts a program with a placement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolCommand {
    /// The tool or launcher.
    pub tool: String,
    /// The whole command, as in a shell, with `COMMAND` in place of the program and its arguments.
    pub words: String,
    /// What is bound to what, and when the command may not give the placement.
    pub note: String,
}

/// The CPU of each task, in the notations of other programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuBinding {
    /// The CPU of task 0, of task 1 and so on, by its number in the operating system.
    pub cpus: Vec<usize>,
    /// The CPUs of all tasks, as an argument of `taskset --cpu-list` and `numactl --physcpubind`.
    pub cpu_list: String,
    /// The value of `OMP_PLACES`.
    pub omp_places: String,
    /// The value of `srun --cpu-bind`.
    pub slurm_cpu_bind: String,
    /// The cpuset of task 0, of task 1 and so on, as an argument of `hwloc-bind`.
    pub hwloc_cpusets: Vec<String>,
}

impl PlacementReport {
    /// Returns the result with the given name, if it is known.
    pub fn result(&self, name: &str) -> Option<f64> {
        let mut results = self.results.iter();
        results
            .find(|result| result.name == name)
            .map(|result| result.value)
    }
}

impl CpuBinding {
    /// Returns the environment variables for an OpenMP program with a thread for each task.
    pub fn openmp(&self) -> [(&'static str, String); 3] {
        [
            ("OMP_NUM_THREADS", self.cpus.len().to_string()),
            ("OMP_PROC_BIND", "close".to_owned()),
            ("OMP_PLACES", self.omp_places.clone()),
        ]
    }
}
