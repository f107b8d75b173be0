//! Programs of the crate `apps`, with the parameters that a paper states.

use std::iter;

use cellworks_apps::{Metric, ProgramError};
use cellworks_runner::{Choice, ProgramKind, Runner, kind, names};
use cellworks_sim::PpeAccess;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Dimension;
use super::outcome::{SimulationResults, failed};

/// A program of `cellworks run` with all its parameters, and the result that counts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The name of the program, such as `switch`.
    pub program: String,
    /// The names and values of all parameters, such as `{ threads = 8, yields = 16_000 }`.
    pub with: Map<String, Value>,
    /// The name of the result that counts, such as `switch`: a time or a bandwidth.
    pub gives: String,
    /// The paper states the time of this number of successive runs.
    #[serde(default = "once")]
    pub times: u32,
    /// The divisor of the simulated time: 2 if the paper states the time of half of the run.
    #[serde(default = "once")]
    pub divided_by: u32,
    /// The way in which the PPE accesses mailboxes.
    #[serde(default)]
    pub ppe_access: PpeAccess,
}

/// A search for the smallest number of floating-point operations with which a program scales well:
/// its speed-up is at least `efficiency_percent` per cent of the number of SPEs. The program runs
/// with each number in `operations`, and the times between these numbers are interpolated.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScalesFrom {
    /// The program, except its parameter `operations`.
    pub of: Run,
    /// The speed-up divided by the number of SPEs, in per cent: 1 to 100.
    pub efficiency_percent: u16,
    /// The numbers of floating-point operations in a step: at least two, in rising order.
    pub operations: Vec<u64>,
    /// The number of steps for which the paper states the sum of the operations: 16 if it states
    /// the operations of a whole turn of a ring of 16 processes.
    #[serde(default = "once")]
    pub steps: u32,
}

fn once() -> u32 {
    1
}

fn nanoseconds(unit: &str) -> Option<f64> {
    match unit {
        "ns" => Some(1.0),
        "us" => Some(1e3),
        "s" => Some(1e9),
        _ => None,
    }
}

impl Run {
    /// Returns the run with another value of a parameter, or `None` without such a parameter.
    pub(crate) fn at(&self, parameter: &str, value: u64) -> Option<Self> {
        let mut run = self.clone();
        *run.with.get_mut(parameter)? = value.into();
        Some(run)
    }

    pub(super) fn alone(&self) -> Result<Self, String> {
        let alone = self.at("spes", 1).and_then(|run| run.at("threads", 1));
        alone.ok_or_else(|| {
            format!(
                "a speed-up is over 1 SPE with 1 thread, and `{}` has not both `spes` and `threads`; state them",
                self.program
            )
        })
    }

    /// Returns the kind of the result, or an error if the run has a mistake.
    pub(super) fn dimension(&self) -> Result<Dimension, String> {
        let kind = self.kind()?;
        self.read(&kind)?;
        let metric = self.metric(&kind)?;
        match metric.unit {
            "bytes/s" => Ok(Dimension::Bandwidth),
            unit if nanoseconds(unit).is_some() => Ok(Dimension::Time),
            unit => Err(format!(
                "`{}` of `{}` is in {unit}; name a time or a bandwidth of it",
                metric.name, self.program
            )),
        }
    }

    pub(super) fn run(&self, machine: &dyn Runner) -> Result<SimulationResults, String> {
        let kind = self.kind()?;
        let metric = self.metric(&kind)?;
        let program = self.read(&kind)?;
        let quantities = machine
            .run_program(&*program)
            .map_err(|error| match error {
                ProgramError::Parameter(wrong) => format!("{}: {wrong}", wrong.parameter()),
                other => failed(other),
            })?;
        let mut quantities = quantities.iter();
        let found = quantities.find(|quantity| quantity.name == metric.name);
        let value = found
            .ok_or_else(|| format!("the run found no {}", metric.name))?
            .value;
        if let Some(nanoseconds) = nanoseconds(metric.unit) {
            let times = f64::from(self.times) / f64::from(self.divided_by);
            return Ok(SimulationResults::time(value * nanoseconds * times));
        }
        // The value is the bandwidth of all SPEs together, so `ns` is the time of one block.
        let block_bytes = self.with.get("block_bytes").and_then(Value::as_f64);
        Ok(SimulationResults {
            ns: block_bytes.unwrap_or(1.0) / value * 1e9,
            bytes_per_s: Some(value),
        })
    }

    fn kind(&self) -> Result<ProgramKind, String> {
        kind(&self.program).ok_or_else(|| {
            format!(
                "there is no program `{}`; use one of {}",
                self.program,
                names().join(", ")
            )
        })
    }

    fn read(&self, kind: &ProgramKind) -> Result<Choice, String> {
        kind.read(self.with.clone())
            .map_err(|why| format!("program `{}`: {why}", self.program))
    }

    fn metric(&self, kind: &ProgramKind) -> Result<Metric, String> {
        let metric = kind.metrics.iter().find(|metric| metric.name == self.gives);
        metric.copied().ok_or_else(|| {
            let names: Vec<&str> = kind.metrics.iter().map(|metric| metric.name).collect();
            format!(
                "program `{}` gives no `{}`; use one of {}",
                self.program,
                self.gives,
                names.join(", ")
            )
        })
    }
}

impl ScalesFrom {
    pub(super) fn check(&self) -> Result<(), String> {
        let rises = self.operations.is_sorted_by(|a, b| a < b);
        if !rises || self.operations.len() < 2 {
            return Err(
                "what it looks for lies between `operations`: name at least 2, in rising order"
                    .to_owned(),
            );
        }
        if !(1..=100).contains(&self.efficiency_percent) {
            return Err(format!(
                "{} % of the number of SPEs is no speed-up to look for: use 1 to 100",
                self.efficiency_percent
            ));
        }
        self.of.alone()?;
        self.of.at("operations", 1).ok_or_else(|| {
            format!(
                "`{}` has no `operations`, which it looks for; state some",
                self.of.program
            )
        })?;
        match self.of.dimension()? {
            Dimension::Time => Ok(()),
            other => Err(format!("its program gives {}; name a time", other.name())),
        }
    }

    /// Returns two runs for each number of operations: with one process, and with all processes.
    pub(super) fn runs(&self) -> impl Iterator<Item = Run> {
        let at = |operations: &u64| self.of.at("operations", *operations);
        let all = self.operations.iter().filter_map(at);
        all.flat_map(|all| all.alone().into_iter().chain(iter::once(all)))
    }

    /// Computes the smallest number of operations with which the program scales well, from the
    /// times of all [runs](Self::runs). The result is the sum of the operations of `steps` steps.
    pub(super) fn found(&self, times: &[f64]) -> Result<f64, String> {
        let spes = self.of.with["spes"].as_f64().unwrap_or_default();
        let wanted = spes * f64::from(self.efficiency_percent) / 100.0;
        // The program scales well if the margin is at least 0.
        let margins = times.chunks_exact(2).map(|pair| pair[0] - wanted * pair[1]);
        let operations = self.operations.iter().map(|operations| *operations as f64);
        let points: Vec<(f64, f64)> = operations.zip(margins).collect();
        let share = format!("speed-up of {wanted} on {spes} SPEs");
        let first = points.iter().position(|(_, margin)| *margin >= 0.0);
        match first {
            None => Err(format!(
                "up to {} operations there is no {share}; look further up",
                points[points.len() - 1].0
            )),
            Some(0) => Err(format!(
                "{} operations have a {share} already; look further down",
                points[0].0
            )),
            Some(at) => {
                let ((low, below), (high, above)) = (points[at - 1], points[at]);
                let in_a_step = low + (high - low) * below / (below - above);
                Ok(in_a_step * f64::from(self.steps))
            }
        }
    }
}
