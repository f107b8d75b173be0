//! The speed-up of a ring, by the computation for each communication (DSMCBE, section 3.4).
//!
//! In each step, a process writes 16 bytes to the next process, reads 16 bytes from the previous
//! process, and computes. Neighbours are on different SPEs, if possible. The processes share the
//! operations of a step, so rings of all lengths do the same operations.

use std::hint::black_box;
use std::iter;

use cellworks_csp::{Any, Channel, Item, Network, Process, ProcessError, Writer};
use cellworks_machine::{Cycles, Machine, Span, Spe, Topology};
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::deployment::Deployment;
use crate::error::{ParameterError, ProgramError, agree};
use crate::figure::{Axis, Figure, against, axis};
use crate::picture::Draw;
use crate::placement::Placement;
use crate::ring::{Input, Order, Output, Ring};
use crate::{Conclusion, Done, Metric, Parts, Program, Repeats, RunResult, speedup};

/// Measures a ring of processes with different amounts of computation for each communication, as in
/// figure 9 of DSMCBE.
///
/// In each step all processes share the operations, and each process gives 16 bytes to the next. If
/// the program also runs on one SPE with one thread, the results contain the speed-ups over that
/// run.
#[derive(Args, Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Ratio {
    /// Where the processes run.
    #[command(flatten)]
    #[serde(flatten)]
    pub placement: Placement,

    /// Floating-point operations of all processes together in a step; the number for each process
    /// is rounded down to an even one.
    #[arg(long, default_value = "10k,100k,1m")]
    pub operations: u64,

    /// How many steps are timed; 8 steps before and 8 steps after are not timed
    #[arg(long)]
    pub steps: u64,
}

/// The cycles of an SPU for an operation in single precision that needs the previous result (Cell
/// BE Programming Tutorial, table of pipeline latencies, class SP).
const CYCLES_PER_OPERATION: u64 = 6;

/// The number of items that the channel to the first process buffers. All processes write before
/// they read. Without a buffer all would block forever.
const BUFFERED: usize = 1;

/// The number of steps that are not timed, before and after the timed steps. Processes begin at
/// different times. With one such step, the timed steps on 16 SPEs would take 0.55 ms longer.
const NOT_TIMED: u64 = 8;

const TIME: Metric = Metric::new("time_per_step", "ns");

/// The largest number of operations, for which a step takes half an hour on an SPE.
const OPERATIONS_MAX: u64 = 1_000_000_000_000;

type Data = [f32; 4];

/// Indices in `Data`: the computed number, the process that sent the data first, and the steps.
const VALUE: usize = 0;
const ORIGIN: usize = 1;
const STEPS: usize = 2;

/// The largest number of steps. Above 2^24, the count of steps in an `f32` would not be exact.
const STEPS_MAX: u64 = (1 << 24) - 2 * NOT_TIMED;

impl Ratio {
    /// Returns the number of pairs of operations that a process does in a step.
    fn pairs(&self) -> u64 {
        self.operations / 2 / self.placement.processes() as u64
    }

    fn base(&self) -> Self {
        Self {
            placement: self.placement.alone(),
            ..*self
        }
    }
}

impl Program for Ratio {
    const NAME: &'static str = "ratio";
    const EXAMPLE: &'static str = "--operations 10k,100k,1m --spes 1,2";
    const METRICS: &'static [Metric] = &[TIME];
    const PARTS: Parts = Parts::Processes;
    const REPEATS: Option<Repeats> = Some(Repeats {
        parameter: "steps",
        on_this_computer: "100",
        // A few steps are enough, because all steps take the same time.
        simulated: "10",
    });

    fn title(&self) -> String {
        let placement = self.placement.title();
        format!("ratio, {placement}, {} operations", self.operations)
    }

    fn check(&self, topology: &Topology) -> Result<(), ParameterError> {
        self.placement.check(topology)?;
        if self.steps == 0 {
            return Err(ParameterError::Zero {
                parameter: "steps",
                noun: "steps",
            });
        }
        if self.steps > STEPS_MAX {
            return Err(ParameterError::Refused {
                parameter: "steps",
                why: format!(
                    "{} steps are more than the data can count; use at most {STEPS_MAX}",
                    self.steps
                ),
            });
        }
        if self.operations > OPERATIONS_MAX {
            return Err(ParameterError::Refused {
                parameter: "operations",
                why: format!(
                    "{} operations take too long; use at most {OPERATIONS_MAX}",
                    self.operations
                ),
            });
        }
        Ok(())
    }

    fn address_space_bytes(&self) -> usize {
        self.placement.stacks_bytes()
    }

    fn run_as<M: Machine>(&self, machine: &M, _: Draw<'_>, parts: &mut Deployment) -> RunResult {
        self.check(machine.topology())?;
        let processes = self.placement.processes();
        let steps = NOT_TIMED + self.steps + NOT_TIMED;
        let (last, mut results) = Channel::new().named("results").any_to_one();
        let roles = (0..processes).map(|position| Role {
            position,
            results: last.clone(),
        });
        let roles = roles.collect();
        drop(last);
        let mut network = Network::on(machine);
        network.transport(self.placement.transport);
        let ring = Ring {
            placement: self.placement,
            order: Order::Spread,
            buffered: BUFFERED,
        };
        let pairs = self.pairs();
        ring.add(
            &mut network,
            roles,
            move |process: &Process<'_, M::Spe>, role, input, output| {
                go_round(process, role, input, output, steps, pairs)
            },
        );
        let counted = parts.prepare(&mut network);
        let mut found = network.run_with(move |process| {
            let found = iter::from_fn(|| results.read(process).ok());
            found.take(processes).collect::<Vec<Last>>()
        })?;
        parts.record(counted);
        found.sort_by_key(|last| last.position);
        verify(&found, processes as u64, steps, pairs)?;
        let span = found[0].timed;
        Ok(vec![
            TIME.measured(span.as_nanoseconds_f64() / self.steps as f64),
        ])
    }

    fn conclusions(done: &[Done<Self>]) -> Vec<Conclusion> {
        speedup::conclusions(done, Self::base, TIME)
    }

    fn figures(done: &[Done<Self>]) -> Vec<Figure> {
        let mut figures = speedup::figures(done, Self::base, TIME, axis);
        let by_operations = |parameter: &str| {
            (parameter == "operations").then_some(Axis {
                label: "floating-point operations in a step",
                unit: "operations",
            })
        };
        figures.extend(against(done, "Time of a step", TIME, by_operations));
        figures
    }
}

struct Role {
    position: usize,
    results: Writer<Last, Any>,
}

/// The data of a process after the last step.
struct Last {
    position: u64,
    data: Data,
    /// The time of this process's timed steps, by its own clock.
    timed: Span,
}

impl Item for Last {}

fn go_round<S: Spe>(
    process: &Process<'_, S>,
    mut role: Role,
    mut input: Input<Data>,
    mut output: Output<Data>,
    steps: u64,
    pairs: u64,
) -> Result<(), ProcessError> {
    // On a simulated machine, `compute` takes the simulated time. Of the operations, those that
    // cancel each other are left out there, because they would take real time only.
    let repeats = process.place().topology().capabilities().repeats;
    let computed_pairs = if repeats { pairs % 2 } else { pairs };
    let position = role.position as f32;
    let mut data: Data = [position, position, 0.0, 0.0];
    let (mut begin, mut timed) = (process.now(), Span::default());
    for step in 1..=steps {
        output.write(process, data)?;
        data = input.read(process)?;
        process
            .place()
            .compute(Cycles(2 * pairs * CYCLES_PER_OPERATION));
        data[VALUE] = computed(data[VALUE], computed_pairs);
        data[STEPS] += 1.0;
        if step == NOT_TIMED {
            begin = process.now();
        }
        if step == steps - NOT_TIMED {
            timed = process.now().since(begin);
        }
    }
    let last = Last {
        position: role.position as u64,
        data,
        timed,
    };
    Ok(role.results.write(process, last)?)
}

/// The number that is added in each pair of operations, before the sum is negated. An odd number of
/// pairs changes x to -8 - x, and an even number of pairs gives x again.
const ADDEND: f32 = 8.0;

/// Does `pairs` pairs of operations. Each operation needs the result of the previous operation.
fn computed(value: f32, pairs: u64) -> f32 {
    let (addend, factor) = (black_box(ADDEND), black_box(-1.0));
    (0..pairs).fold(value, |value, _| (value + addend) * factor)
}

fn verify(found: &[Last], processes: u64, steps: u64, pairs: u64) -> Result<(), ProgramError> {
    const BY: &str = "by the length of the ring";
    agree(
        || "the number of results".to_owned(),
        found.len() as u64,
        processes,
        BY,
    )?;
    for (position, last) in (0..).zip(found) {
        let data = &last.data;
        let origin = (position + steps * (processes - 1)) % processes;
        let value = match (steps % 2) * (pairs % 2) {
            0 => origin as f32,
            _ => -ADDEND - origin as f32,
        };
        let what = |name: &str| format!("{name} of the data at process {position} of the ring");
        agree(|| what("the place"), last.position, position, BY)?;
        agree(|| what("the origin"), data[ORIGIN], origin as f32, BY)?;
        agree(|| what("the number"), data[VALUE], value, BY)?;
        agree(|| what("the count"), data[STEPS], steps as f32, BY)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_pairs_cancel_each_other() {
        for pairs in 0..10 {
            for position in 0..16 {
                let value = position as f32;
                assert_eq!(computed(value, pairs), computed(value, pairs % 2));
            }
        }
        assert_eq!(computed(3.0, 1), -ADDEND - 3.0);
    }
}
