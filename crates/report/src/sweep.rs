//! What `cellworks map ring` found: the times of many mappings of tasks to SPEs.
//!
//! ```text
//!   ranks, ratios ─┐                 ┌─► table, csv, html   for people, as of a program
//!   curves         ├─► SweepReport ──┤
//!   time of each run                 └─► json::render       for scripts
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ProgramReport, program};

/// The times of many mappings of tasks to SPEs, and what follows from them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepReport {
    /// The numbers and the curves of the sorted times. Of all mappings with packets of one size:
    /// `worst_to_best` and `median_to_best`, the longest and the median time divided by the
    /// shortest; `best`, `average` and `worst`, in nanoseconds a round; `mapping_share`, which
    /// share of the variance of single runs belongs to the mapping, in per cent: the rest belongs
    /// to how a run began. Of each mapping with a name, of the best and of the worst: `rank`, its
    /// place among all, the fastest at 1; `to_best`, its time divided by the shortest; `time`, in
    /// nanoseconds a round. The time of a mapping is the average of its runs.
    #[serde(flatten)]
    pub found: ProgramReport,
    /// What was to be run.
    pub sweep: SweepInfo,
    /// The times of the mappings of which all runs have ended.
    pub mappings: Vec<MappingTimes>,
}

/// What a sweep runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SweepInfo {
    /// Which tasks exchange packets: `ring`, another pattern, or the name of a file with a graph.
    #[serde(default = "ring")]
    pub pattern: String,
    /// How many tasks there are.
    pub tasks: usize,
    /// To how many SPEs they are mapped.
    pub spes: usize,
    /// The sizes of packets.
    pub packet_bytes: Vec<u32>,
    /// In how many directions packets go around, 1 or 2; `None` where there is no ring.
    pub directions: Option<usize>,
    /// In how many rounds the time counts.
    pub rounds: u32,
    /// How many runs each mapping has.
    pub runs: usize,
    /// What chose how tasks start, random mappings, and where threads are.
    pub seed: u64,
    /// `pinned`: thread i is on SPE i. `default`: each run has the threads on SPEs at random.
    pub placement: String,
    /// How many mappings at random were to be run; `None` if all.
    pub sample: Option<usize>,
}

/// What files of older versions do not say.
fn ring() -> String {
    "ring".to_owned()
}

/// The times of a mapping.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MappingTimes {
    /// The size of packets.
    pub packet_bytes: u32,
    /// The task of SPE 0, of SPE 1 and so on, such as `02467531`; `-` for an SPE without a task.
    pub mapping: String,
    /// How long a round took in each run, in nanoseconds.
    pub runs_ns: Vec<f64>,
}

/// The results as a table; titles carry ANSI styles.
pub fn table(report: &SweepReport, width: usize) -> String {
    program::table(&report.found, width)
}

/// The results as CSV. docs/csv.md describes it.
pub fn csv(report: &SweepReport) -> String {
    program::csv(&report.found)
}

/// The results as an HTML page that needs no other file and no network.
pub fn html(report: &SweepReport) -> String {
    program::html(&report.found)
}
