//! The results of `cellworks map ring`: the times of many mappings of tasks to SPEs.
//!
//! ```text
//!   ranks, ratios ─┐                 ┌─► table, csv, html   for people, as for a program
//!   curves         ├─► SweepReport ──┤
//!   time of each run                 └─► json::render       for scripts
//! ```

use serde::{Deserialize, Serialize};

use crate::program::{self, ProgramReport};

/// The times of many mappings of tasks to SPEs, and the results that follow from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepReport {
    /// The numbers, and the curves of the sorted times. The time of a mapping is the average of its
    /// runs. Some numbers are for all mappings with packets of one size: `worst_to_best` is the
    /// longest time divided by the shortest, and `median_to_best` is the median time divided by the
    /// shortest. `best`, `average` and `worst` are the shortest, the average and the longest time,
    /// in nanoseconds per round. `mapping_share` is the share of the variance of single runs that
    /// is due to the mapping, in per cent. The rest of the variance is due to the random start
    /// times of the tasks in each run. Other numbers are for one mapping, which is the fastest, the
    /// slowest or a named mapping: `rank` is its rank among all mappings, 1 for the fastest.
    /// `to_best` is its time divided by the shortest. `time` is its time in nanoseconds per round.
    #[serde(flatten)]
    pub found: ProgramReport,
    /// The runs that were planned.
    pub sweep: SweepInfo,
    /// The times of each mapping of which all runs have ended.
    pub mappings: Vec<MappingTimes>,
}

/// The runs of a sweep.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SweepInfo {
    /// The pattern of exchange: `ring`, another pattern, or the name of a file with a graph.
    #[serde(default = "ring")]
    pub pattern: String,
    /// The number of tasks.
    pub tasks: usize,
    /// The number of SPEs to which the tasks are mapped.
    pub spes: usize,
    /// The sizes of packets.
    pub packet_bytes: Vec<u32>,
    /// The number of directions in which packets go around, 1 or 2. `None` if there is no ring.
    pub directions: Option<usize>,
    /// The number of timed rounds.
    pub rounds: u32,
    /// The number of runs of each mapping.
    pub runs: usize,
    /// The seed of the random numbers, which determine the start times of tasks, the random
    /// mappings, and the random SPEs of threads.
    pub seed: u64,
    /// `pinned`: thread i is on SPE i. `default`: each run has its threads on random SPEs.
    pub placement: String,
    /// The number of planned random mappings. `None` if all mappings were planned.
    pub sample: Option<usize>,
}

/// Returns the pattern of a file without the field `pattern`. Older versions wrote these files.
fn ring() -> String {
    "ring".to_owned()
}

/// The times of a mapping.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MappingTimes {
    /// The size of packets.
    pub packet_bytes: u32,
    /// The task of SPE 0, of SPE 1 and so on, such as `02467531`; `-` for an SPE without a task.
    pub mapping: String,
    /// The time of a round in each run, in nanoseconds.
    pub runs_ns: Vec<f64>,
}

/// Returns the results as a table of at most `width` columns. Titles contain ANSI styles.
pub fn table(report: &SweepReport, width: usize) -> String {
    program::table(&report.found, width)
}

/// Returns the results as CSV. docs/csv.md describes the columns.
pub fn csv(report: &SweepReport) -> String {
    program::csv(&report.found)
}

/// Returns the results as an HTML page that needs no other file and no network.
pub fn html(report: &SweepReport) -> String {
    program::html(&report.found)
}
