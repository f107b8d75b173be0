//! What a measurement says; the field names are those of the JSON that the command prints.

use serde::Serialize;

use crate::Function;

/// One measured operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measurement {
    /// What was measured.
    pub function: Function,
    /// Between whom, where and on how much.
    pub parameters: Parameters,
    /// How often each SPE did the operation in the timed loop. An exchange counts for the SPE
    /// that answers it.
    pub iterations: u32,
    /// How many samples the latencies other than the mean were taken from. A sample is the time
    /// of a batch of operations divided by their number, so that reading the clock does not count.
    pub samples: usize,
    /// The time of one operation.
    pub latency_ns: Latency,
    /// The bytes that all SPEs moved in the timed loop, divided by the time from the first start
    /// to the last end; `None` if the function moves no blocks.
    pub bandwidth_bytes_per_s: Option<u64>,
}

/// The circumstances of a measurement. What has no meaning for its function is `None`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
    /// The size of a block, of an element of a list, or of a variable.
    pub block_bytes: Option<usize>,
    /// How many elements the list has.
    pub list_elements: Option<u32>,
    /// The distance from the start of one private buffer to the start of the next.
    pub stride_bytes: Option<usize>,
}

/// The two ends of a communication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Buffers {
    /// All SPEs use the same one.
    Shared,
    /// Each SPE has its own.
    Private,
}

/// Times of one operation in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// The time of the whole loop divided by its operations, averaged over the SPEs: what the
    /// paper reports.
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
