//! The results of measurements. Their fields have the same names in the JSON of the command.

use std::collections::BTreeMap;
use std::ops::Not;

use serde::{Deserialize, Serialize};

use crate::function::{Function, Polling, Primitive};
use crate::settings::Settings;

/// One measured operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measurement {
    /// The function that was measured.
    pub function: Function,
    /// The circumstances of the measurement.
    pub parameters: Parameters,
    /// The number of times that each SPE did the operation in the timed loops. For exchanges, it is
    /// the number of exchanges with each SPE that answers.
    pub iterations: u64,
    /// The number of timed loops. If the request gave the number of iterations, each visit (one
    /// separate run of the measurement) has one loop. Otherwise, a computer repeats the loop until
    /// the interval of the median is narrow or the planned time is over. A simulated machine
    /// repeats the loop until the medians of two successive loops agree, but at most 8 times.
    pub rounds: u32,
    /// The number of samples. All latencies except the mean follow from the samples. A sample is the
    /// time of a batch of operations, without the time of reading the clock, divided by the number
    /// of operations.
    pub samples: usize,
    /// The number of outliers. An outlier is a sample beyond Tukey's far fences: it is below the
    /// lower quartile or above the upper quartile by more than three times the distance between the
    /// two quartiles. The latencies include the outliers.
    pub outliers: usize,
    /// The time of one operation.
    pub latency_ns: Latency,
    /// The interval of the median, which follows from the medians of the rounds (timed loops). On a
    /// computer, the interval comes from order statistics, and is `None` if there were fewer than
    /// six rounds. If the rounds are independent of each other, the interval contains the true
    /// median with a probability of at least 95 %. Rounds of one visit (one separate run of the
    /// measurement) are not independent, so the interval is widened to include the median of each
    /// visit. After a single visit, the interval does not show how much another visit might differ.
    /// On a simulated machine every run has the same rounds, so the interval is the range of the
    /// medians of the rounds, or `None` after one round.
    pub median_interval_ns: Option<Interval>,
    /// The bytes that all SPEs moved in the timed loops, divided by the time of the loops. A loop
    /// lasts from the time at which the first SPE starts to the time at which the last SPE ends.
    /// `None` if the function moves no blocks. All SPEs move the same number of bytes. At the end
    /// of each loop, fast SPEs wait for slow SPEs, such as the small cores of a computer, so the
    /// fast SPEs could have moved more.
    pub bandwidth_bytes_per_s: Option<u64>,
    /// All samples in the order in which they were taken: first those of the first SPE, next those
    /// of the second, and so on. `None` if the request did not ask for samples.
    pub samples_ns: Option<Vec<f64>>,
    /// The two states of the computer in which the samples were taken, the faster state first.
    /// There are two states if the samples have two peaks that are far apart, and each state lasted
    /// for many samples. Empty if there was one state, or if several SPEs had timed loops.
    #[serde(default)]
    pub states: Vec<State>,
    /// The SPEs that share their CPU with the other end of the exchange, which is the PPE or SPE 0.
    /// The two ends take turns on that CPU.
    #[serde(default)]
    pub shared_cpu: Vec<usize>,
    /// Whether data in main memory (`between` is `memory-spe`) lies in a cache of the computer.
    /// `None` for other measurements, on a machine without caches, and on a machine whose cache
    /// sizes are not known.
    #[serde(default)]
    pub lies_in: Option<Storage>,
    /// The median time of the atomic operation without the library: one instruction of the
    /// processor. It was measured with the same number of SPEs and of variables as the operation of
    /// the library. `None` for other operations, for variables of several words, and on a machine
    /// without caches.
    #[serde(default)]
    pub bare_ns: Option<f64>,
    /// The share of the buffers or of the table that lay in huge pages of 2 MB, 0 to 1. The rest
    /// lay in pages of 4 KB. `None` if the request gave no size of pages, or if the system does not
    /// tell the share.
    #[serde(default)]
    pub huge_page_share: Option<f64>,
    /// The reasons to doubt this measurement. Empty if the numbers are reliable, even if those of
    /// other measurements of the run are not.
    #[serde(default)]
    pub doubts: Vec<Doubt>,
}

impl Measurement {
    /// Returns whether several processors take part. If two virtual CPUs change their places, the
    /// time of one processor alone stays the same.
    pub fn is_between_processors(&self) -> bool {
        let p = &self.parameters;
        p.between != Between::MemorySpe
            || p.spes > 1
            || p.settings.loading_spes.is_some_and(|spes| spes > 0)
    }
}

/// A reason to doubt a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Doubt {
    /// Other programs or other virtual machines used the CPUs during at least one visit.
    Disturbed,
    /// The measurement depends on how far CPUs are apart, and this changed during the run: a visit
    /// was not in the state in which the computer was most of the time, or not only in this state.
    Unsteady,
    /// The interval of the median is wider than a fifth of the median, or unknown.
    Uncertain,
}

impl Doubt {
    /// Returns the name of the reason, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Disturbed => "disturbed",
            Self::Unsteady => "unsteady",
            Self::Uncertain => "uncertain",
        }
    }
}

/// The place of data that a measurement accesses again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Storage {
    /// A cache holds all of the data.
    Cache,
    /// The last-level cache may hold a part of the data.
    Partly,
    /// The data is in main memory, because it is at least twice as large as the last-level cache.
    Memory,
}

/// A state of the computer during a measurement, such as two virtual CPUs on one core. A
/// measurement has one state or two.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct State {
    /// The median in this state.
    pub ns: f64,
    /// The share of the samples or readings that were taken in this state, 0 to 1.
    pub share: f64,
}

/// The times of two reference operations between the same two SPEs. A run repeats these operations
/// before, between and after its measurements. If the times change, the state of the computer has
/// changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Reference {
    /// The two SPEs.
    pub spes: [usize; 2],
    /// The number of times that the operations were timed.
    pub readings: usize,
    /// The time of an exchange: a word goes by mailbox, and its answer comes back. If the times form
    /// two groups (two states of the computer), the group with the shorter times comes first.
    pub exchange: Vec<State>,
    /// The one-way time of a cache line between the SPEs. If the times form two groups, the group
    /// with the shorter times comes first.
    pub line: Vec<State>,
}

/// A range of times of one operation, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// The lower end in nanoseconds.
    pub low: f64,
    /// The upper end in nanoseconds.
    pub high: f64,
}

/// The circumstances of a measurement. A field that has no meaning for the function is `None`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parameters {
    /// The number of SPEs that take part. In a transfer between SPEs, the number includes SPE 0,
    /// which only provides its local store.
    pub spes: usize,
    /// The Cell whose SPEs were taken first.
    pub cell: usize,
    /// The memory module that holds the buffers or variables.
    pub module: Option<usize>,
    /// The two ends of the communication, such as the PPE at one end and SPEs at the other end.
    pub between: Between,
    /// Whether all SPEs use one buffer or variable, or each has its own.
    pub buffers: Option<Buffers>,
    /// The numbers that the request set for the function.
    #[serde(flatten)]
    pub settings: Settings,
}

/// The two ends of a communication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Between {
    /// The PPE at one end, and SPEs at the other end.
    #[serde(rename = "ppe-spe")]
    PpeSpe,
    /// SPE 0 at one end, and further SPEs at the other end.
    #[serde(rename = "spe-spe")]
    SpeSpe,
    /// Main memory at one end, and SPEs at the other end.
    #[serde(rename = "memory-spe")]
    MemorySpe,
}

/// Whether SPEs share buffers or variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Buffers {
    /// All SPEs use the same buffer or variable.
    Shared,
    /// Each SPE has its own buffer or variable.
    Private,
}

/// Times of one operation in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Latency {
    /// The mean, which the paper reports: the time of all loops divided by the number of operations
    /// in the loops. The time that the loops spent reading the clock is not included.
    pub mean: f64,
    /// The fastest sample.
    pub min: f64,
    /// The median of the samples.
    pub p50: f64,
    /// The 99th percentile of the samples.
    pub p99: f64,
    /// The slowest sample.
    pub max: f64,
}

/// A quantity that follows from several measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The name of the quantity, such as `cache_bytes`.
    pub name: String,
    /// The value of the quantity.
    pub value: f64,
    /// The unit of the value, such as `bytes`.
    pub unit: String,
    /// The parameters for which the quantity has this value, each with its name.
    pub parameters: BTreeMap<String, serde_json::Value>,
    /// Whether the value rests on a measurement that has doubts. JSON has the field only if it is
    /// true.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub doubtful: bool,
}

impl Finding {
    /// Makes a finding that is not doubtful.
    pub fn new<N: Into<String>>(
        name: &str,
        value: f64,
        unit: &str,
        parameters: impl IntoIterator<Item = (N, serde_json::Value)>,
    ) -> Self {
        let parameters = parameters.into_iter();
        Self {
            name: name.to_owned(),
            value,
            unit: unit.to_owned(),
            parameters: parameters
                .map(|(name, value)| (name.into(), value))
                .collect(),
            doubtful: false,
        }
    }
}

/// A recommendation, and the figures that support it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Advice {
    /// The subject, such as `threads`.
    pub topic: String,
    /// The recommendation with its figures, in one or two sentences.
    pub text: String,
    /// Whether the recommendation rests on a measurement that has doubts.
    #[serde(default)]
    pub doubtful: bool,
}

/// The result of a measurement. Its form depends on the kind of function.
#[derive(Clone, Debug, PartialEq)]
pub enum Measured {
    /// The times of one operation.
    Operation(Box<Measurement>),
    /// The one-way times between all pairs of SPEs.
    Matrix(Matrix),
    /// The latency and bandwidth of every memory module.
    Memory(MemoryMatrix),
}

/// The one-way times between all pairs of SPEs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Matrix {
    /// The primitive that carries the data.
    pub primitive: Primitive,
    /// How the receiving SPE waits for an atomic variable to change. `None` for other primitives.
    pub polling: Option<Polling>,
    /// The bytes of the block that is copied. `None` for other primitives.
    pub block_bytes: Option<usize>,
    /// The time in nanoseconds from SPE to SPE, with a row for each sending SPE, and a column for
    /// each receiving SPE. `None` on the diagonal, for pairs that were not measured, and for pairs
    /// whose time is shorter than the steps of the clock.
    pub one_way_ns: Vec<Vec<Option<f64>>>,
    /// The number of pairs of SPEs that the machine has.
    pub pairs: usize,
    /// The number of pairs that were measured.
    pub pairs_measured: usize,
    /// The pairs grouped by distance, from near to far.
    pub classes: Vec<MatrixClass>,
    /// The memory module of the variable or block. `None` for primitives without one.
    pub home: Option<Home>,
    /// What the choice of two SPEs decides. `None` if no pair was measured, or if an older version
    /// of the command wrote the file.
    #[serde(default)]
    pub choice: Option<Choice>,
    /// The reasons to doubt the times of the matrix.
    #[serde(default)]
    pub doubts: Vec<Doubt>,
}

/// The times between two SPEs that are chosen well, badly and by chance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Choice {
    /// The pair with the shortest time: the best choice.
    pub nearest: PairTime,
    /// The pair with the longest time: the worst choice.
    pub farthest: PairTime,
    /// The mean of all times in nanoseconds: what a choice by chance costs. `None` if some pairs
    /// were not measured, because the others may be nearer to each other.
    pub by_chance_ns: Option<f64>,
}

/// The one-way time of a pair of SPEs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PairTime {
    /// The sending SPE.
    pub from_spe: usize,
    /// The receiving SPE.
    pub to_spe: usize,
    /// The time in nanoseconds.
    pub one_way_ns: f64,
}

impl Choice {
    /// Returns what the rows of a [`Matrix`] say, or `None` if they have no time. `all` says that
    /// every pair was measured.
    ///
    /// ```
    /// use cellworks_stats::Choice;
    ///
    /// let choice = Choice::of(&[vec![None, Some(40.0)], vec![Some(60.0), None]], true).unwrap();
    /// assert_eq!((choice.nearest.from_spe, choice.farthest.from_spe), (0, 1));
    /// assert_eq!(choice.by_chance_ns, Some(50.0));
    /// ```
    pub fn of(one_way_ns: &[Vec<Option<f64>>], all: bool) -> Option<Self> {
        let rows = one_way_ns.iter().enumerate();
        let pairs = rows.flat_map(|(from_spe, row)| {
            let times = row.iter().enumerate();
            times.filter_map(move |(to_spe, ns)| {
                Some(PairTime {
                    from_spe,
                    to_spe,
                    one_way_ns: (*ns)?,
                })
            })
        });
        let by_time = |a: &PairTime, b: &PairTime| a.one_way_ns.total_cmp(&b.one_way_ns);
        let sum: f64 = pairs.clone().map(|pair| pair.one_way_ns).sum();
        Some(Self {
            nearest: pairs.clone().min_by(by_time)?,
            farthest: pairs.clone().max_by(by_time)?,
            by_chance_ns: all.then(|| sum / pairs.count() as f64),
        })
    }
}

/// Pairs of SPEs that are equally far apart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MatrixClass {
    /// The name of the distance, such as `same Cell` or, on a machine with two Cells, `other Cell`.
    pub name: String,
    /// The number of pairs at this distance.
    pub pairs: usize,
    /// The number of pairs that were measured.
    pub pairs_measured: usize,
    /// The time of the fastest pair. `None` if no pair was measured.
    pub min_ns: Option<f64>,
    /// The median of the times of the pairs.
    pub p50_ns: Option<f64>,
    /// The time of the slowest pair.
    pub max_ns: Option<f64>,
}

/// The memory module that holds a variable or a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Home {
    /// The memory module that all pairs used. `None` if the pairs used different modules: each
    /// pair then used the module nearest to its sending SPE.
    pub module: Option<usize>,
    /// Whether the machine confirmed that every variable or block is in the intended memory module.
    /// `None` if the machine cannot tell this.
    pub verified: Option<bool>,
}

/// The latency and bandwidth of every memory module, read by one SPE of each place. The places are
/// the NUMA nodes with CPUs on a computer, and the Cells with SPEs on a machine without caches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryMatrix {
    /// The bytes of the block that is read in each memory module.
    pub block_bytes: usize,
    /// Whether a block of this size lies in main memory, or may lie partly in a cache. `None` on a
    /// machine without caches, and on a machine whose cache sizes are not known.
    pub lies_in: Option<Storage>,
    /// The places whose SPEs read, one for each row. One SPE reads after the other.
    pub rows: Vec<MemoryRow>,
    /// The number of memory modules, including those that are nearest to no SPE.
    pub modules: usize,
    /// The numbers of these memory modules, by which other fields name them. On a computer they are
    /// the numbers of NUMA nodes in the operating system, which may have gaps. Older commands left
    /// this list out, and numbered the modules from 0.
    #[serde(default)]
    pub module_numbers: Vec<usize>,
    /// The figures, with a row for each reading place, and a column for each memory module. A
    /// figure is `None` if the run ended before the figure was measured.
    pub cells: Vec<Vec<Option<MemoryCell>>>,
}

impl MemoryMatrix {
    /// Returns the number of the memory module of each column.
    pub fn numbers(&self) -> Vec<usize> {
        if self.module_numbers.len() == self.modules {
            self.module_numbers.clone()
        } else {
            (0..self.modules).collect()
        }
    }
}

/// A place from which one SPE reads memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryRow {
    /// The reading SPE.
    pub spe: usize,
    /// The Cell of the SPE.
    pub cell: usize,
    /// The memory module that is nearest to the SPE.
    pub nearest_module: usize,
}

/// The latency and bandwidth with which one SPE reads one memory module.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryCell {
    /// The median time of a load from a random address in the block. The address of each load
    /// depends on the result of the previous load. On a machine whose SPEs read memory only by DMA,
    /// `latency_ns` is the time to get a node of 64 bytes.
    pub latency_ns: f64,
    /// The interval of `latency_ns`, from the medians of the rounds. On a machine whose times
    /// repeat, `None` if there was one round. On other machines, `None` if there were fewer than
    /// six rounds.
    pub latency_interval_ns: Option<Interval>,
    /// The bytes of the block divided by the time in which the SPE gets the whole block.
    pub bandwidth_bytes_per_s: u64,
    /// The share of the block that lay in huge pages of 2 MB, 0 to 1. The rest lay in pages of 4
    /// KB. `None` if the machine has no pages, or cannot tell the share.
    pub huge_page_share: Option<f64>,
    /// Whether the machine confirmed that the block lies in the memory module. `None` if the
    /// machine cannot tell this.
    pub verified: Option<bool>,
}
