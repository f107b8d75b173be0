//! The latency of a get by size (CellMT, figure 2): a measurement of `stats`, among the programs.

use cellworks_apps::{
    Axis, Done, Figure, ParameterError, Parameters, Program, ProgramError, Quantity, Value,
    against, clock_rate_hz,
};
use cellworks_machine::{CellMachine, LOCAL_STORE_BYTES, Machine, OnCell, Span, Topology};
use cellworks_stats::{Count, Function, Iterations, Limits, Plan, Request, Settings, measure};

/// SPEs that get blocks, each from a buffer of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DmaLatency {
    pub spes: usize,
    pub block_bytes: usize,
}

/// The largest DMA command, which is the largest block of the figure, and buffers for all SPEs of any machine.
const LIMITS: Limits = Limits {
    block_bytes_max: 16 << 10,
    local_store_bytes: LOCAL_STORE_BYTES,
    memory_bytes_max: 64 << 20,
    staging_bytes_max: None,
    bandwidth_bytes_per_s_max: None,
};

/// How long each size is measured on this computer.
const EACH: Span = Span::from_nanoseconds(50_000_000);

impl DmaLatency {
    fn plan(&self, topology: &Topology) -> Result<Plan, ParameterError> {
        let request = Request {
            spes: Count::Private(self.spes),
            settings: Settings {
                block_bytes: Some(self.block_bytes),
                ..Settings::default()
            },
            iterations: Iterations::Within(EACH),
            ..Request::new(Function::DmaGet)
        };
        request
            .plan(topology, &LIMITS)
            .map_err(|error| ParameterError::Refused {
                parameter: match error.flag {
                    "-N" => "spes",
                    _ => "sizes",
                },
                why: error.to_string(),
            })
    }
}

impl Program for DmaLatency {
    const NAME: &'static str = "dma-latency";

    fn title(&self) -> String {
        let noun = if self.spes == 1 { "SPE" } else { "SPEs" };
        format!(
            "dma-latency, {} bytes, {} {noun}",
            self.block_bytes, self.spes
        )
    }

    fn parameters(&self) -> Parameters {
        vec![
            ("spes", Value::Count(self.spes as u64)),
            ("block_bytes", Value::Count(self.block_bytes as u64)),
        ]
    }

    fn check(&self, topology: &Topology) -> Result<(), ParameterError> {
        self.plan(topology).map(drop)
    }

    fn run<M: Machine>(&self, machine: &M) -> Result<Vec<Quantity>, ProgramError> {
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
        let mut figures = against(done, "Latency of a get", "latency_cycles", by_size);
        figures.extend(against(done, "Latency of a get", "latency", by_size));
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
            Quantity {
                name: "latency",
                value: ns,
                unit: "ns",
            },
            Quantity {
                name: "latency_cycles",
                value: ns * clock_hz / 1e9,
                unit: "cycles",
            },
        ];
        quantities.extend(measured.bandwidth_bytes_per_s.map(|bytes_per_s| Quantity {
            name: "bandwidth",
            value: bytes_per_s as f64,
            unit: "bytes/s",
        }));
        Ok(quantities)
    }
}
