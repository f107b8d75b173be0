//! What a measurement says; the field names are those of the JSON that the command prints.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::function::{Function, Polling, Primitive};
use crate::settings::Settings;

/// One measured operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measurement {
    /// What was measured.
    pub function: Function,
    /// Between whom, where and on how much.
    pub parameters: Parameters,
    /// How often each SPE did the operation in the timed loops. An exchange counts for the SPE
    /// that answers it.
    pub iterations: u64,
    /// How many timed loops there were: as many as it took for their medians to agree, unless the
    /// time was over before; one if the number of iterations was given.
    pub rounds: u32,
    /// How many samples the latencies other than the mean were taken from. A sample is the time
    /// of a batch of operations, less that of reading the clock, divided by their number.
    pub samples: usize,
    /// How many of the samples lie outside of Tukey's far fences: more than three times the
    /// distance between the quartiles away from them. They count all the same.
    pub outliers: usize,
    /// The time of one operation.
    pub latency_ns: Latency,
    /// Where the median is, by the medians of the rounds. On a simulated machine, where rounds
    /// differ only by what happens in them and every run has the same, it is from the lowest to the
    /// highest; `None` if there was one round. Elsewhere `None` if there were fewer than six, which
    /// is too few to say so. By order statistics it would be there with a probability of at least
    /// 95 % if the rounds were independent of each other. Those of one visit are not, so the
    /// interval is widened to hold the median of each visit; after a single visit nothing shows
    /// what its rounds have in common.
    pub median_interval_ns: Option<Interval>,
    /// The bytes that all SPEs moved in the timed loops, divided by the time from the first start
    /// to the last end of each; `None` if the function moves no blocks. All SPEs move equally much,
    /// so where some are slower than others, as cores of two kinds are, they decide: the others
    /// wait for them, and could have moved more.
    pub bandwidth_bytes_per_s: Option<u64>,
    /// All samples in the order in which they were taken, those of each SPE after those of the one
    /// before; `None` unless asked for.
    pub samples_ns: Option<Vec<f64>>,
    /// The two states of the computer in which the samples were taken, from the faster to the
    /// slower, if they have two peaks that are far apart and each lasted for many samples. Empty of
    /// one state, and where the loops of several SPEs were timed.
    #[serde(default)]
    pub states: Vec<State>,
    /// The SPEs that share their CPU with the other end of the exchange: the PPE, or SPE 0. The two
    /// take turns on it.
    #[serde(default)]
    pub shared_cpu: Vec<usize>,
    /// Where on a computer with caches the data lies that `memory-spe` names; `None` elsewhere, and
    /// where the size of its caches is not known.
    #[serde(default)]
    pub lies_in: Option<Storage>,
    /// The median of the same atomic operation by one instruction of the processor, without the
    /// library around it, by as many SPEs on as many variables; `None` of any other operation, of
    /// variables of several words, and on a machine without caches.
    #[serde(default)]
    pub bare_ns: Option<f64>,
    /// The share of the buffers or of the table that lay in huge pages of 2 MB, 0 to 1; the rest
    /// lay in pages of 4 KB. `None` unless a size of pages was asked for, and where the system does
    /// not tell.
    #[serde(default)]
    pub huge_page_share: Option<f64>,
}

/// Where data lies that is accessed again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Storage {
    /// In a cache, which holds all of it.
    Cache,
    /// The last-level cache may hold a part of it.
    Partly,
    /// In main memory: it is at least twice as large as the last-level cache.
    Memory,
}

/// A state of the computer in which something was timed, of one or two.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct State {
    /// The median in this state.
    pub ns: f64,
    /// The share of the samples or readings that were taken in this state, 0 to 1.
    pub share: f64,
}

/// What the same operations between the same SPEs took again and again during a run: before, between
/// and after its measurements. Where that changes, the computer does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reference {
    /// The two SPEs.
    pub spes: [usize; 2],
    /// How often they were timed.
    pub readings: usize,
    /// A word there and back by mailbox: one state, or two from the faster to the slower.
    pub exchange: Vec<State>,
    /// A cache line from the one to the other, one way: one state, or two from the faster to the
    /// slower.
    pub line: Vec<State>,
}

/// A range of times of one operation, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The lower end in nanoseconds.
    pub low: f64,
    /// The upper end in nanoseconds.
    pub high: f64,
}

/// The circumstances of a measurement. What has no meaning for its function is `None`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Parameters {
    /// How many SPEs take part. Of a transfer between SPEs, SPE 0 is one, though it only lends
    /// its local store.
    pub spes: usize,
    /// The Cell whose SPEs were taken first.
    pub cell: usize,
    /// The memory module that holds the buffers or variables.
    pub module: Option<usize>,
    /// Who communicates.
    pub between: Between,
    /// Whether the SPEs work on one buffer or variable, or on one each.
    pub buffers: Option<Buffers>,
    /// What the function was measured with.
    #[serde(flatten)]
    pub settings: Settings,
}

/// The two ends of a communication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Between {
    /// The PPE and SPEs.
    #[serde(rename = "ppe-spe")]
    PpeSpe,
    /// SPEs and SPEs.
    #[serde(rename = "spe-spe")]
    SpeSpe,
    /// Main memory and SPEs.
    #[serde(rename = "memory-spe")]
    MemorySpe,
}

/// How buffers or variables are spread over the SPEs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Buffers {
    /// All SPEs use the same one.
    Shared,
    /// Each SPE has its own.
    Private,
}

/// Times of one operation in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// The time of all loops, less that of reading the clock in them, divided by their operations:
    /// what the paper reports.
    pub mean: f64,
    /// The fastest sample.
    pub min: f64,
    /// The median: half of the samples are not slower.
    pub p50: f64,
    /// 99 of 100 samples are not slower.
    pub p99: f64,
    /// The slowest sample.
    pub max: f64,
}

/// A quantity that follows from several measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// What it is, such as `cache_bytes`.
    pub name: String,
    /// How much.
    pub value: f64,
    /// Of what, such as `bytes`.
    pub unit: String,
    /// Under which circumstances: names and values.
    pub parameters: BTreeMap<String, serde_json::Value>,
}

/// A recommendation, and the figures that it rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// What it is about, such as `threads`.
    pub topic: String,
    /// One or two sentences with the figures in them.
    pub text: String,
}

/// What was measured, by the kind of function.
#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// One operation.
    Operation(Box<Measurement>),
    /// The way from every SPE to every other.
    Matrix(Matrix),
    /// What it takes to read every memory module.
    Memory(MemoryMatrix),
}

/// What it costs to reach each SPE from each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Matrix {
    /// What carries the data.
    pub primitive: Primitive,
    /// How the receiver of an atomic variable looks at it.
    pub polling: Option<Polling>,
    /// The bytes that are copied.
    pub block_bytes: Option<usize>,
    /// The time in nanoseconds from SPE to SPE: a row for each that sends, a column for each that
    /// receives. `None` on the diagonal, for pairs that were not measured, and where the clock is
    /// too coarse to see the time.
    pub one_way_ns: Vec<Vec<Option<f64>>>,
    /// How many pairs the machine has.
    pub pairs: usize,
    /// How many of them were measured.
    pub pairs_measured: usize,
    /// What pairs at each distance have in common, from near to far.
    pub classes: Vec<MatrixClass>,
    /// Where the variable or block lives.
    pub home: Option<Home>,
}

/// Pairs of SPEs that are equally far apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MatrixClass {
    /// How far, such as `same Cell` or, on a machine with two Cells, `other Cell`.
    pub name: String,
    /// How many pairs there are.
    pub pairs: usize,
    /// How many of them were measured.
    pub pairs_measured: usize,
    /// The fastest of them; `None` if none was measured.
    pub min_ns: Option<f64>,
    /// The one in the middle.
    pub p50_ns: Option<f64>,
    /// The slowest.
    pub max_ns: Option<f64>,
}

/// The memory module that holds something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Home {
    /// Where it was placed; `None` if each pair had it in the module nearest to the SPE that sends.
    pub module: Option<usize>,
    /// Whether the machine confirmed that it is there; `None` if the machine cannot tell.
    pub verified: Option<bool>,
}

/// What it takes to read every memory module from every place that has SPEs: on a computer from
/// every NUMA node that has CPUs, on a machine without caches from every Cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryMatrix {
    /// The bytes of the block that is read in each memory module.
    pub block_bytes: usize,
    /// Where that block lies by its size: in main memory, or perhaps partly in a cache. `None`
    /// where there are no caches, or their size is not known.
    pub lies_in: Option<Storage>,
    /// The places that read, one after the other.
    pub rows: Vec<MemoryRow>,
    /// How many memory modules there are, also those beside which there is no SPE.
    pub modules: usize,
    /// A row for each place that reads, a column for each memory module; `None` where there was no
    /// time to measure.
    pub cells: Vec<Vec<Option<MemoryCell>>>,
}

/// A place from which memory is read, by one of its SPEs alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryRow {
    /// The SPE.
    pub spe: usize,
    /// Its Cell.
    pub cell: usize,
    /// The memory module that is nearest to it.
    pub nearest_module: usize,
}

/// What it takes one SPE to read one memory module.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryCell {
    /// The median time of a load that depends on the one before, at random in the block. Where an
    /// SPE reads by DMA alone it is the time to get a node of 64 bytes.
    pub latency_ns: f64,
    /// Where that median is, by the medians of the rounds; `None` of fewer than six rounds, or of
    /// one on a machine where the same always takes the same time.
    pub latency_interval_ns: Option<Interval>,
    /// The bytes of the block divided by the time in which the SPE gets all of it.
    pub bandwidth_bytes_per_s: u64,
    /// The share of the block that lay in huge pages of 2 MB, 0 to 1; the rest lay in pages of 4
    /// KB. `None` if the machine cannot tell, or has no pages.
    pub huge_page_share: Option<f64>,
    /// Whether the machine confirmed that the block lies in the memory module; `None` if the
    /// machine cannot tell.
    pub verified: Option<bool>,
}
