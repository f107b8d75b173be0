//! The latency of a get by size (CellMT, figure 2), measured by the code of `cellworks stats`.

use cellworks_machine::{CellMachine, LOCAL_STORE_BYTES, Machine, OnCell, Span, Topology};
use cellworks_stats::{Count, Function, Iterations, Limits, Plan, Request, measure};
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::deployment::Deployment;
use crate::error::{ParameterError, ProgramError};
use crate::figure::{Axis, Figure, against};
use crate::gang::clock_rate_hz;
use crate::picture::Draw;
use crate::{Done, Metric, Parts, Program, Quantity, RunResult};

/// Measures the latency of a get by size, with a buffer for each SPE, as in figure 2 of CellMT.
///
/// The measurement is that of `cellworks stats -f dmaget -N`, and the results are in ns and in
/// cycles.
#[derive(Args, Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DmaLatency {
    /// The bytes of a block. A range such as 8-16k stands for 8, 16, 32 and so on up to 16k
    #[arg(long = "sizes", default_value = "8-16k")]
    pub block_bytes: usize,

    /// The number of SPEs that get at the same time
    #[arg(long, default_value = "1")]
    pub spes: usize,
}

const LATENCY: Metric = Metric::new("latency", "ns");
const LATENCY_CYCLES: Metric = Metric::new("latency_cycles", "cycles");
const BANDWIDTH: Metric = Metric::new("bandwidth", "bytes/s");

/// The limits: blocks up to the largest DMA command, and memory for the buffers of all SPEs.
const LIMITS: Limits = Limits {
    block_bytes_max: 16 << 10,
    local_store_bytes: LOCAL_STORE_BYTES,
    memory_bytes_max: 64 << 20,
    staging_bytes_max: None,
    bandwidth_bytes_per_s_max: None,
};

/// The measuring time for each size on this computer.
const TIME_PER_SIZE: Span = Span::from_nanoseconds(50_000_000);

impl DmaLatency {
    fn plan(&self, topology: &Topology) -> Result<Plan, ParameterError> {
        let request = Request {
            spes: Count::Private(self.spes),
            iterations: Iterations::Within(TIME_PER_SIZE),
            ..Request::new(Function::DmaGet).with_block(self.block_bytes)
        };
        request
            .plan(topology, &LIMITS)
            .map_err(|error| ParameterError::Refused {
                parameter: match error.flag {
                    "-N" => "spes",
                    _ => "block_bytes",
                },
                why: error.to_string(),
            })
    }
}

impl Program for DmaLatency {
    const NAME: &'static str = "dma-latency";
    const EXAMPLE: &'static str = "--sizes 8-16k --spes 1";
    const METRICS: &'static [Metric] = &[LATENCY, LATENCY_CYCLES, BANDWIDTH];
    const PARTS: Parts =
        Parts::None("its SPEs read blocks of main memory and send nothing to each other");

    fn title(&self) -> String {
        let noun = if self.spes == 1 { "SPE" } else { "SPEs" };
        format!(
            "dma-latency, {} bytes, {} {noun}",
            self.block_bytes, self.spes
        )
    }

    fn check(&self, topology: &Topology) -> Result<(), ParameterError> {
        self.plan(topology).map(drop)
    }

    fn run_as<M: Machine>(&self, machine: &M, _: Draw<'_>, _: &mut Deployment) -> RunResult {
        let no_cell = || ProgramError::NoCell {
            machine: machine.topology().name().to_owned(),
            what: "MFCs",
        };
        machine.on_cell(self).ok_or_else(no_cell)?
    }

    fn figures(done: &[Done<Self>]) -> Vec<Figure> {
        let by_size = |parameter: &str| {
            (parameter == "block_bytes").then_some(Axis {
                label: "size of a block",
                unit: "bytes",
            })
        };
        let mut figures = against(done, "Latency of a get", LATENCY_CYCLES, by_size);
        figures.extend(against(done, "Latency of a get", LATENCY, by_size));
        figures
    }
}

impl<M: Machine> OnCell<M> for &DmaLatency {
    type Output = Result<Vec<Quantity>, ProgramError>;

    fn run(self, machine: &M) -> Self::Output
    where
        M: CellMachine,
    {
        let plan = self.plan(machine.topology())?;
        let clock_hz = clock_rate_hz(machine)?;
        let measured = measure(machine, &plan)
            .map_err(|error| ProgramError::Measurement(error.to_string()))?;
        let ns = measured.latency_ns.p50;
        let mut quantities = vec![
            LATENCY.measured(ns),
            LATENCY_CYCLES.measured(ns * clock_hz / 1e9),
        ];
        let bandwidth = measured.bandwidth_bytes_per_s;
        quantities.extend(bandwidth.map(|moved| BANDWIDTH.measured(moved as f64)));
        Ok(quantities)
    }
}
