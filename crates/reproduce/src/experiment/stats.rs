//! Measurements of `cellworks stats`.

use cellworks_machine::{CellId, LOCAL_STORE_BYTES, ModuleId, Topology};
use cellworks_runner::Runner;
use cellworks_sim::PpeAccess;
use cellworks_stats::{Buffers, Count, Function, Iterations, Limits, Request, Setting, Settings};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use toml::Table;

use super::Dimension;
use super::outcome::{SimulationResults, failed};

/// A measurement of `cellworks stats`, with the defaults of [`cellworks_stats::Request`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
// `remote` makes a function `Stats::deserialize`, and no implementation of `Deserialize`. The
// implementation below calls this function.
#[serde(remote = "Self")]
pub struct Stats {
    /// The function that is measured.
    pub function: Function,
    /// The number of SPEs, including SPE 0 if `between_spes`.
    #[serde(default = "one")]
    pub spes: usize,
    /// Whether the SPEs share a buffer or variable.
    #[serde(default = "shared")]
    pub buffers: Buffers,
    /// The Cell that provides the first SPEs.
    #[serde(default)]
    pub cell: Option<u16>,
    /// The memory module.
    #[serde(default)]
    pub module: Option<u16>,
    /// The numbers for the function, each in the field with the name of its [`Setting`].
    #[serde(flatten)]
    pub settings: Settings,
    /// Whether SPE 0 takes the place of the PPE in an exchange, and the local store of SPE 0 takes
    /// the place of main memory in a transfer.
    #[serde(default)]
    pub between_spes: bool,
    /// The way in which the PPE accesses the registers of SPEs.
    #[serde(default)]
    pub ppe_access: PpeAccess,
    /// The result of the measurement.
    #[serde(default)]
    pub gives: Gives,
}

/// The names of the fields that are not numbers of [`Setting::ALL`].
const FIELDS: [&str; 8] = [
    "function",
    "spes",
    "buffers",
    "cell",
    "module",
    "between_spes",
    "ppe_access",
    "gives",
];

impl<'de> Deserialize<'de> for Stats {
    /// Refuses unknown fields, because serde cannot refuse them beside a flattened field.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = Table::deserialize(deserializer)?;
        let numbers = Setting::ALL.iter().map(|setting| setting.name);
        let known: Vec<&str> = FIELDS.into_iter().chain(numbers).collect();
        match fields.keys().find(|field| !known.contains(&field.as_str())) {
            Some(field) => Err(D::Error::custom(format!(
                "unknown field `{field}`, expected one of `{}`",
                known.join("`, `")
            ))),
            None => Self::deserialize(fields).map_err(|error| D::Error::custom(error.message())),
        }
    }
}

/// The result of a measurement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gives {
    /// The mean time of an operation, as in CellStats.
    #[default]
    Latency,
    /// The bandwidth of all SPEs together.
    Bandwidth,
}

impl Gives {
    pub(super) const fn dimension(self) -> Dimension {
        match self {
            Self::Latency => Dimension::Time,
            Self::Bandwidth => Dimension::Bandwidth,
        }
    }
}

const fn one() -> usize {
    1
}

const fn shared() -> Buffers {
    Buffers::Shared
}

/// The limits of a simulated machine. The memory is half of one module of a QS20.
const LIMITS: Limits = Limits {
    block_bytes_max: 16 << 10,
    local_store_bytes: LOCAL_STORE_BYTES,
    memory_bytes_max: 256 << 20,
    staging_bytes_max: Some(16 << 10),
    bandwidth_bytes_per_s_max: None,
};

/// The largest number of timed iterations, and the smallest. Few iterations are enough, because
/// after the first ones, each iteration takes the same simulated time.
const ITERATIONS: (u64, u64) = (64, 4);
/// The number of timed iterations if SPEs contend for one cache line. The mean is then within 1.5 %
/// of the mean of 20,000 iterations.
const CONTENDED_ITERATIONS: u64 = 1_024;
/// The number of bus requests that a measurement should not exceed.
const REQUESTS: u64 = 30_000;
/// The number of timed iterations of `Function::MkThread`, which moves no data.
const THREADS_ITERATIONS: u64 = 4;

impl Stats {
    /// Returns this measurement with the default for `gives`. Measurements that differ only in
    /// `gives` are then equal, so one simulation is enough for them.
    pub(crate) fn operation(&self) -> Self {
        Self {
            gives: Gives::Latency,
            ..self.clone()
        }
    }

    fn iterations(&self) -> u64 {
        if self.function == Function::MkThread {
            return THREADS_ITERATIONS;
        }
        let is_atomic = (Function::FetchAdd..=Function::FetchSet).contains(&self.function);
        if is_atomic && self.buffers == Buffers::Shared && self.spes > 1 {
            return CONTENDED_ITERATIONS;
        }
        let lines = self.settings.block_bytes.unwrap_or(1).div_ceil(128) as u64;
        let elements = u64::from(self.settings.list_elements.unwrap_or(1));
        let requests = lines * elements * self.spes as u64;
        let (most, fewest) = ITERATIONS;
        (REQUESTS / requests.max(1)).clamp(fewest, most)
    }

    fn request(&self) -> Request {
        let iterations = self.iterations();
        Request {
            spes: match self.buffers {
                Buffers::Shared => Count::Shared(self.spes),
                Buffers::Private => Count::Private(self.spes),
            },
            iterations: Iterations::Exactly(iterations),
            warm_up: Some(iterations / 4),
            settings: self.settings,
            cell: self.cell.map(CellId::new),
            module: self.module.map(ModuleId::new),
            between_spes: self.between_spes,
            ..Request::new(self.function)
        }
    }

    pub(super) fn run(
        &self,
        machine: &dyn Runner,
        topology: &Topology,
    ) -> Result<SimulationResults, String> {
        let plan = self.request().plan(topology, &LIMITS).map_err(failed)?;
        let measurement = machine.measure(&plan).map_err(failed)?;
        Ok(SimulationResults {
            ns: measurement.latency_ns.mean,
            bytes_per_s: measurement.bandwidth_bytes_per_s.map(|bytes| bytes as f64),
        })
    }
}
