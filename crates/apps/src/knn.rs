//! The nearest neighbours of all points, in a ring (DSMCBE, section 3.3, figures 6 and 7).
//!
//! ```text
//!   PPE ── all blocks, once ──► process 0 ──► process 1 ──► ... ──► last process
//!                                   ▲                                    │
//!                                   └── buffer for all blocks ◄──────────┘
//! ```
//!
//! Blocks of points go round the ring in a fixed order. Each process keeps a copy of one block, its
//! *home*, and compares the home with every block that arrives. After all blocks, the process sends
//! the neighbours of its home to the PPE. Its next home is a block that no process has had as its
//! home. In a *turn*, each process compares one home with all blocks.
//!
//! The channel from the last process to process 0 buffers the blocks that are in no local store. Of
//! equally distant points, the point with the lower number is first.

mod data;
mod home;
mod points;

use std::iter;

use cellworks_csp::{Any, Channel, Network, Place, Process, ProcessError, Reader, Writer};
use cellworks_machine::{LocalBuffer, Machine, Spe, Time, Topology};
use clap::Args;
use serde::{Deserialize, Serialize};

use self::data::{Block, Neighbours, Plan};
use self::home::Home;
use self::points::Points;
use crate::deployment::Deployment;
use crate::error::{ParameterError, ProgramError};
use crate::figure::{Figure, axis};
use crate::picture::Draw;
use crate::placement::Placement;
use crate::ring::{Input, Order, Output, Ring};
use crate::{Conclusion, Done, Metric, Parts, Program, RunResult, speedup};

/// Finds the nearest neighbours of all points, in a ring of processes: DSMCBE's figure 7.
///
/// The result is compared with brute force. If the program also runs on one SPE with one thread,
/// the results contain the speed-ups over that run. The paper has 50k points.
///
/// A simulated machine with more than 10,000 points looks for the neighbours of some points only.
/// The time for all points is extrapolated from this sample, and the results contain
/// `turns_simulated`.
#[derive(Args, Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Knn {
    /// Where the processes run.
    #[command(flatten)]
    #[serde(flatten)]
    pub placement: Placement,

    /// How many points.
    #[arg(long, default_value = "5k")]
    pub points: usize,

    /// Dimensions of the space, at most 256.
    #[arg(long, default_value = "72")]
    pub dimensions: usize,

    /// How many neighbours of each point are looked for, fewer than there are points.
    #[arg(long, default_value = "10")]
    pub neighbours: usize,

    /// How many points go round together.
    #[arg(long, default_value = "50")]
    pub block_points: usize,
}

const TIME: Metric = Metric::new("time", "ns");
const RATE: Metric = Metric::new("rate", "pairs/s");
const TURNS_SIMULATED: Metric = Metric::new("turns_simulated", "turns");

/// The largest number of dimensions. Coordinates are whole numbers up to 255, so the square of a
/// distance is at most 256 * 255² = 16,646,400, and an `f32` holds every whole number up to
/// 16,777,216. Sums are therefore exact in any order, and always give the same neighbours.
const DIMENSIONS_MAX: usize = 256;

/// The largest number of points. In 72 dimensions a run takes a day and a half on an SPE.
const POINTS_MAX: usize = 1_000_000;

/// The largest number of points for which a simulated machine runs all turns. The simulation then
/// ends after a few seconds.
const WHOLE_POINTS_MAX: usize = 10_000;

/// The number of [full turns](Plan::full_turns) of a sample. The first turn differs from the other
/// full turns, because processes also wait for blocks from the PPE.
const SAMPLED_TURNS: usize = 6;

/// The time of a search for all points.
struct Searched {
    span_ns: f64,
    /// The number of turns that have run, if only a sample of the turns has run.
    sampled_turns: Option<usize>,
}

impl Knn {
    fn base(&self) -> Self {
        Self {
            placement: self.placement.alone(),
            ..*self
        }
    }

    fn search<M: Machine>(
        &self,
        machine: &M,
        is_sampled: bool,
        deployment: &mut Deployment,
    ) -> Result<Searched, ProgramError> {
        let points = Points::new(self.points, self.dimensions);
        let blocks = points.blocks(self.block_points.min(self.points));
        let whole = Plan {
            processes: self.placement.processes(),
            blocks: blocks.len(),
            homes: blocks.len(),
            block_points: self.block_points.min(self.points),
            dimensions: self.dimensions,
            neighbours: self.neighbours,
        };
        let plan = if is_sampled {
            whole.sample(SAMPLED_TURNS)
        } else {
            whole
        };
        let (source, to_first) = Channel::new().named("source").one_to_one();
        let (begun, mut ready) = Channel::new().named("ready").any_to_one();
        let (found, results) = Channel::new().named("results").any_to_one();
        let mut to_first = Some(to_first);
        let roles = (0..plan.processes).map(|position| Role {
            position,
            source: to_first.take(),
            begun: begun.clone(),
            found: found.clone(),
        });
        let roles = roles.collect();
        drop((begun, found));
        let mut network = Network::on(machine);
        network.transport(self.placement.transport);
        let ring = Ring {
            placement: self.placement,
            order: Order::Together,
            buffered: plan.blocks,
        };
        ring.add(
            &mut network,
            roles,
            move |process: &Process<'_, M::Spe>, role, input, output| {
                go_round(process, role, input, output, &plan)
            },
        );
        let counted = deployment.prepare(&mut network);
        let (span, received) = network.run_with(move |process| {
            // Wait until all processes have begun. A read fails only if the network fails.
            for _ in 0..plan.processes {
                let _ = ready.read(process);
            }
            let begin = process.now();
            let received = hand_out(process, blocks, source, results, plan.homes);
            (process.now().since(begin), received)
        })?;
        deployment.record(counted);
        let (found, times): (Vec<Neighbours>, Vec<Time>) = received.into_iter().unzip();
        let searched = self.points.min(plan.homes * plan.block_points);
        points.verify(found, searched, self.neighbours)?;
        let mut span_ns = span.as_nanoseconds_f64();
        let left_out = whole.full_turns() - plan.full_turns();
        if left_out > 0 {
            // The time from the end of the first turn to the end of the last full turn.
            let middle =
                times[plan.processes * plan.full_turns() - 1].since(times[plan.processes - 1]);
            let turn_ns = middle.as_nanoseconds_f64() / (plan.full_turns() - 1) as f64;
            span_ns += left_out as f64 * turn_ns;
        }
        Ok(Searched {
            span_ns,
            sampled_turns: (left_out > 0).then(|| plan.full_turns() + 1),
        })
    }
}

impl Program for Knn {
    const NAME: &'static str = "knn";
    const EXAMPLE: &'static str = "--points 5k --neighbours 10 --spes 1,2";
    const METRICS: &'static [Metric] = &[TIME, RATE, TURNS_SIMULATED];
    const PARTS: Parts = Parts::Processes;

    fn title(&self) -> String {
        let placement = self.placement.title();
        format!("knn, {placement}, {} points", self.points)
    }

    fn check(&self, topology: &Topology) -> Result<(), ParameterError> {
        self.placement.check(topology)?;
        for (parameter, noun, count) in [
            ("points", "points", self.points),
            ("dimensions", "dimensions", self.dimensions),
            ("neighbours", "neighbours", self.neighbours),
            ("block_points", "points in a block", self.block_points),
        ] {
            if count == 0 {
                return Err(ParameterError::Zero { parameter, noun });
            }
        }
        let refused = |parameter, why| Err(ParameterError::Refused { parameter, why });
        let (points, dimensions, neighbours) = (self.points, self.dimensions, self.neighbours);
        if points > POINTS_MAX {
            return refused(
                "points",
                format!("{points} points take too long; use at most {POINTS_MAX}"),
            );
        }
        if dimensions > DIMENSIONS_MAX {
            return refused(
                "dimensions",
                format!(
                    "distances in {dimensions} dimensions are not exact in single precision; use at most \
                     {DIMENSIONS_MAX}"
                ),
            );
        }
        if neighbours >= points {
            return refused(
                "neighbours",
                format!(
                    "{points} points do not have {neighbours} neighbours each; use fewer neighbours"
                ),
            );
        }
        Ok(())
    }

    fn address_space_bytes(&self) -> usize {
        // A coordinate is stored in 2 bytes and sent in 4 bytes, so it has 6 bytes in all.
        let coordinates = self.points * self.dimensions * 6;
        let neighbours = self.points * (size_of::<Vec<u64>>() + self.neighbours * size_of::<u64>());
        let of_points = coordinates + neighbours;
        of_points.saturating_add(self.placement.stacks_bytes())
    }

    fn run_as<M: Machine>(&self, machine: &M, _: Draw<'_>, parts: &mut Deployment) -> RunResult {
        self.check(machine.topology())?;
        // The time of a sample can be extrapolated only if times repeat, as on simulated machines.
        let repeats = machine.topology().capabilities().repeats;
        let Searched {
            span_ns,
            sampled_turns,
        } = self.search(machine, repeats && self.points > WHOLE_POINTS_MAX, parts)?;
        let pairs = self.points as f64 * (self.points - 1) as f64;
        let turns = sampled_turns.map(|turns| TURNS_SIMULATED.measured(turns as f64));
        let measured = [
            TIME.measured(span_ns),
            RATE.measured(pairs / (span_ns / 1e9).max(f64::MIN_POSITIVE)),
        ];
        Ok(measured.into_iter().chain(turns).collect())
    }

    fn conclusions(done: &[Done<Self>]) -> Vec<Conclusion> {
        speedup::conclusions(done, Self::base, TIME)
    }

    fn figures(done: &[Done<Self>]) -> Vec<Figure> {
        speedup::figures(done, Self::base, TIME, axis)
    }
}

/// The position of a process in the ring, and its channels outside of the ring.
struct Role {
    position: usize,
    /// The channel with all blocks, for the first process only.
    source: Option<Reader<Block>>,
    begun: Writer<(), Any>,
    found: Writer<Neighbours, Any>,
}

/// Sends all blocks to the first process, and then receives the neighbours of `homes` homes from
/// the processes. Returns the neighbours of each home with the time at which they arrived.
fn hand_out<P: Place>(
    process: &Process<'_, P>,
    blocks: Vec<Block>,
    mut source: Writer<Block>,
    mut results: Reader<Neighbours>,
    homes: usize,
) -> Vec<(Neighbours, Time)> {
    for block in blocks {
        // A write fails only if the network fails, and a failed network reports its error.
        let _ = source.write(process, block);
    }
    let found = iter::from_fn(|| Some((results.read(process).ok()?, process.now())));
    found.take(homes).collect()
}

/// Runs a process of the ring until its homes are done and no later process needs more blocks.
fn go_round<S: Spe>(
    process: &Process<'_, S>,
    role: Role,
    mut input: Input<Block>,
    mut output: Output<Block>,
    plan: &Plan,
) -> Result<(), ProcessError> {
    let Role {
        position,
        mut source,
        mut begun,
        mut found,
    } = role;
    // Memory for a home is reserved before blocks arrive, because blocks fragment the local store.
    let _room = room_for_home(process.place(), plan)?;
    begun.write(process, ())?;
    // A channel without writers closes, so the PPE does not wait for a process that failed.
    drop(begun);
    let length = plan.length();
    let passed_on = if position + 1 == plan.processes {
        length - plan.blocks
    } else {
        length
    };
    let mut turn = 0;
    let mut home: Option<Home> = None;
    for at in 0..length {
        let block = match &mut source {
            Some(source) if at < plan.blocks => source.read(process)?,
            _ => input.read(process)?,
        };
        let next = plan.home(position, turn);
        if next == Some((block.number, at)) {
            home = Some(Home::new(&block, plan));
        }
        if let Some(home) = &mut home {
            // Another process of this SPE may have a block to send or to receive. Without this
            // yield, all later processes in the ring would wait for the computation.
            process.yield_ready();
            process.place().compute(home.compare(&block));
        }
        if at < passed_on {
            output.write(process, block)?;
        }
        if let Some((_, since)) = next
            && at + 1 == since + plan.blocks
            && let Some(done) = home.take()
        {
            turn += 1;
            found.write(process, done.found())?;
        }
    }
    Ok(())
}

/// Reserves memory for a home in the local store, if programs are confined to their local stores.
fn room_for_home<S: Spe>(spe: &S, plan: &Plan) -> Result<Option<LocalBuffer>, ParameterError> {
    let what = "a block with its neighbours";
    let room = spe
        .confined_to()
        .map(|local_store| local_store.reserve(Home::bytes(plan), 16, what));
    room.transpose().map_err(|error| ParameterError::Refused {
        parameter: "block_points",
        why: format!("{error}; use smaller blocks or fewer threads"),
    })
}

#[cfg(test)]
mod tests {
    use cellworks_sim::{Description, Sim};

    use super::*;
    use crate::Transport;

    #[test]
    fn the_time_of_all_turns_is_that_of_a_sample() {
        let qs22 = Sim::new(Description::built_in("qs22").unwrap()).unwrap();
        for (spes, threads) in [(1, 1), (4, 1), (2, 2)] {
            let knn = Knn {
                placement: Placement {
                    spes,
                    threads,
                    transport: Transport::Coordinator,
                },
                points: 1_002,
                dimensions: 12,
                neighbours: 5,
                block_points: 12,
            };
            let [whole, sample] = [false, true].map(|is_sampled| {
                let deployment = &mut Deployment::default();
                knn.search(&qs22, is_sampled, deployment).unwrap()
            });
            assert_eq!(whole.sampled_turns, None);
            assert_eq!(sample.sampled_turns, Some(SAMPLED_TURNS + 1));
            let ratio = sample.span_ns / whole.span_ns;
            assert!((ratio - 1.0).abs() < 0.02, "{spes}, {threads}: {ratio}");
        }
    }

    #[test]
    fn every_block_is_the_home_of_a_process_and_meets_all() {
        for (processes, blocks) in [(1, 1), (1, 5), (3, 7), (4, 8), (5, 3), (32, 500)] {
            let plan = Plan {
                processes,
                blocks,
                homes: blocks,
                block_points: 1,
                dimensions: 1,
                neighbours: 1,
            };
            let mut homes = Vec::new();
            for position in 0..processes {
                let mut free_from = 0;
                for (home, at) in (0..).map_while(|turn| plan.home(position, turn)) {
                    assert_eq!(at % blocks, home, "it comes by then");
                    assert!(at >= free_from, "the process has no other home then");
                    free_from = at + blocks;
                    assert!(free_from <= plan.length(), "it meets all");
                    homes.push(home);
                }
            }
            homes.sort_unstable();
            assert_eq!(homes, Vec::from_iter(0..blocks));
        }
    }
}
