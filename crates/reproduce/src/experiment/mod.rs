//! Experiments, which simulate published numbers.

mod bounce;
mod mappings;
mod outcome;
mod ppe;
mod program;
mod stats;
mod stream;
#[cfg(test)]
mod tests;

use std::iter;
use std::sync::Arc;

use cellworks_apps::exchange::ExchangeRun;
use cellworks_machine::CellMachine;
use cellworks_runner::Runner;
use cellworks_sim::PpeAccess;
use serde::Deserialize;

pub use bounce::Bounce;
pub use mappings::{Ring, RingStatistic};
pub use program::{Run, ScalesFrom};
pub use stats::{Gives, Stats};
pub use stream::Stream;

pub(crate) use outcome::SimulationResults;

/// A program that gives a number, or a combination of such programs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Experiment {
    /// A measurement of `cellworks stats`.
    Stats(Stats),
    /// The time of a tick of the decrementer, from the machine's description.
    Tick,
    /// Tasks that pass packets around a ring, with all mappings of tasks to SPEs.
    Ring(Ring),
    /// SPEs that move several blocks at the same time.
    Stream(Stream),
    /// A line of memory that two SPEs change in turn.
    Bounce(Bounce),
    /// A communication by a channel within the PPE: a write to a buffer and a read.
    PpeCommunication,
    /// A program of `cellworks run`.
    Run(Run),
    /// The time of a program with one process, divided by the time with all processes.
    SpeedUp(Run),
    /// The smallest computation with which a program scales well.
    ScalesFrom(ScalesFrom),
    /// Several experiments with a combined value.
    Combined(Combined),
}

/// Several experiments with the same kind of result, and the operation that combines their values.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Combined {
    /// The operation that combines the values.
    pub how: Combination,
    /// The experiments.
    pub of: Vec<Experiment>,
}

/// An operation that combines values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Combination {
    /// The first value divided by the second.
    Ratio,
    /// The first value minus the second.
    Difference,
    /// The largest value divided by the smallest value.
    Spread,
    /// The largest value.
    Greatest,
    /// The mean of the values.
    Mean,
}

/// The kind of an experiment's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dimension {
    Time,
    Bandwidth,
    Ratio,
    Rank,
    Operations,
}

impl Dimension {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Time => "a time",
            Self::Bandwidth => "a bandwidth",
            Self::Ratio => "a ratio",
            Self::Rank => "a rank",
            Self::Operations => "a number of operations",
        }
    }
}

/// One run of a program on a machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Simulation {
    /// The name of the machine's description.
    pub machine: Arc<str>,
    pub access: PpeAccess,
    pub program: Program,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Program {
    Stats(Stats),
    Tick,
    Ring(ExchangeRun),
    Stream(Stream),
    Bounce(Bounce),
    PpeCommunication,
    Run(Run),
}

/// A function that returns the outcome of a simulation, or the reason why there is none.
pub(crate) type Lookup<'a> = &'a dyn Fn(&Simulation) -> Result<SimulationResults, String>;

impl Program {
    /// Runs the program on a machine with a decrementer of `timebase_hz`. `machine` and `runner`
    /// are two references to this machine.
    pub fn run<M: CellMachine>(
        &self,
        machine: &M,
        runner: &dyn Runner,
        timebase_hz: u64,
    ) -> Result<SimulationResults, String> {
        match self {
            Self::Stats(stats) => stats.run(runner, machine.topology()),
            Self::Tick => Ok(SimulationResults::time(1e9 / timebase_hz as f64)),
            Self::Ring(ring) => runner.exchange(ring).map(SimulationResults::time),
            Self::Stream(stream) => stream.run(machine),
            Self::Bounce(bounce) => bounce.run(machine),
            Self::PpeCommunication => ppe::run(machine),
            Self::Run(run) => run.run(runner),
        }
    }
}

impl Experiment {
    /// Returns the kind of the result, or an error if the experiment has a mistake.
    pub(crate) fn dimension(&self) -> Result<Dimension, String> {
        match self {
            Self::Stats(stats) => Ok(stats.gives.dimension()),
            Self::Tick | Self::Bounce(_) | Self::PpeCommunication => Ok(Dimension::Time),
            Self::Run(run) => run.dimension(),
            Self::Stream(stream) => stream.check().map(|()| Dimension::Bandwidth),
            Self::Ring(ring) => ring.dimension(),
            Self::SpeedUp(run) => {
                run.alone()?;
                run.dimension().map(|_| Dimension::Ratio)
            }
            Self::ScalesFrom(looked_for) => looked_for.check().map(|()| Dimension::Operations),
            Self::Combined(combined) => combined.dimension(),
        }
    }

    /// Adds the simulations of this experiment to `all`.
    pub(crate) fn simulations(&self, machine: &Arc<str>, all: &mut Vec<Simulation>) {
        let mut one = |access, program| {
            all.push(Simulation {
                machine: Arc::clone(machine),
                access,
                program,
            });
        };
        match self {
            Self::Stats(stats) => one(stats.ppe_access, Program::Stats(stats.operation())),
            Self::Tick => one(PpeAccess::Direct, Program::Tick),
            Self::Stream(stream) => one(PpeAccess::Direct, Program::Stream(stream.clone())),
            Self::Bounce(bounce) => one(PpeAccess::Direct, Program::Bounce(*bounce)),
            Self::PpeCommunication => one(PpeAccess::Direct, Program::PpeCommunication),
            Self::Run(run) => one(run.ppe_access, Program::Run(run.clone())),
            Self::Ring(ring) => ring
                .runs()
                .for_each(|run| one(PpeAccess::Direct, Program::Ring(run))),
            Self::SpeedUp(run) => {
                for run in iter::once(run.clone()).chain(run.alone()) {
                    one(run.ppe_access, Program::Run(run));
                }
            }
            Self::ScalesFrom(looked_for) => looked_for
                .runs()
                .for_each(|run| one(run.ppe_access, Program::Run(run))),
            Self::Combined(combined) => {
                for part in &combined.of {
                    part.simulations(machine, all);
                }
            }
        }
    }

    /// Returns the outcome of the first simulation of the experiment.
    pub(crate) fn outcome(
        &self,
        machine: &Arc<str>,
        outcomes: Lookup<'_>,
    ) -> Result<SimulationResults, String> {
        let mut simulations = Vec::new();
        self.simulations(machine, &mut simulations);
        outcomes(&simulations[0])
    }

    /// Computes the result: nanoseconds, bytes a second, operations, a ratio or a rank.
    pub(crate) fn value(&self, machine: &Arc<str>, outcomes: Lookup<'_>) -> Result<f64, String> {
        let single = || self.outcome(machine, outcomes);
        let times = || -> Result<Vec<f64>, String> {
            let mut simulations = Vec::new();
            self.simulations(machine, &mut simulations);
            let times = simulations
                .iter()
                .map(|simulation| Ok(outcomes(simulation)?.ns));
            times.collect()
        };
        match self {
            Self::Stats(Stats {
                gives: Gives::Bandwidth,
                ..
            })
            | Self::Stream(_) => single()?
                .bytes_per_s
                .ok_or_else(|| "the operation moves no blocks".to_owned()),
            Self::Run(_) => {
                let SimulationResults { ns, bytes_per_s } = single()?;
                Ok(bytes_per_s.unwrap_or(ns))
            }
            Self::Stats(_) | Self::Tick | Self::Bounce(_) | Self::PpeCommunication => {
                Ok(single()?.ns)
            }
            Self::Ring(ring) => Ok(ring.statistic(&times()?)),
            Self::SpeedUp(_) => {
                let times = times()?;
                Ok(times[1] / times[0])
            }
            Self::ScalesFrom(looked_for) => looked_for.found(&times()?),
            Self::Combined(combined) => {
                let values: Result<Vec<f64>, String> = combined
                    .of
                    .iter()
                    .map(|part| part.value(machine, outcomes))
                    .collect();
                Ok(combined.how.of(&values?))
            }
        }
    }
}

impl Combined {
    fn dimension(&self) -> Result<Dimension, String> {
        let mut dimensions = self.of.iter().map(Experiment::dimension);
        let first = dimensions
            .next()
            .unwrap_or_else(|| Err("a combination of no experiments gives nothing".to_owned()))?;
        for other in dimensions {
            let other = other?;
            if other != first {
                return Err(format!(
                    "a combination of {} and {} gives nothing; combine what is alike",
                    first.name(),
                    other.name()
                ));
            }
        }
        let takes = match self.how {
            Combination::Ratio | Combination::Difference => 2..=2,
            Combination::Spread | Combination::Greatest | Combination::Mean => 2..=usize::MAX,
        };
        if !takes.contains(&self.of.len()) {
            return Err(format!(
                "its combination is of {} experiments; a ratio or a difference is of 2, others of at \
                 least 2",
                self.of.len()
            ));
        }
        Ok(match self.how {
            Combination::Ratio | Combination::Spread => Dimension::Ratio,
            Combination::Difference | Combination::Greatest | Combination::Mean => first,
        })
    }
}

impl Combination {
    fn of(self, values: &[f64]) -> f64 {
        let greatest = || values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match self {
            Self::Ratio => values[0] / values[1],
            Self::Difference => values[0] - values[1],
            Self::Greatest => greatest(),
            Self::Spread => greatest() / values.iter().copied().fold(f64::INFINITY, f64::min),
            Self::Mean => values.iter().sum::<f64>() / values.len() as f64,
        }
    }
}
