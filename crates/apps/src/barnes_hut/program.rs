//! The program `barnes-hut`, in which tasks accelerate sets of bodies by sections of the tree.

use std::iter;

use cellworks_machine::{Cycles, Machine, PpeCore, Spe, Topology};
use cellworks_tasks::{Main, Read, TaskError, Update, Value};
use clap::Args;
use serde::{Deserialize, Serialize};

use super::{
    Body, Counts, Node, Section, Tree, accelerate, accelerate_directly, advance, disc, energy,
    kick, picture,
};
use crate::deployment::Deployment;
use crate::error::{ParameterError, ProgramError};
use crate::figure::{Figure, against, axis, counted};
use crate::picture::Draw;
use crate::workers::{self, DICED, RUN_TIME, STOLEN, TASKS_RUN, WAIT_COST, Workers};
use crate::{Conclusion, Done, Metric, Parts, Program, RunResult};

/// Simulates the gravity of bodies in a disc by the tasks of a pool: Jack Rabbit's table 5.2.
///
/// Where programs reach only their local stores, the tree is cut into sections, and the forces are
/// computed in several phases. Each phase has a task for each set of 512 bodies. The task
/// accelerates its set by one section of the tree, and in every phase this is a different section.
/// On other machines one phase computes the forces, and each task has the whole tree. The forces on
/// some bodies in the first step are compared with the forces by direct summation. If the program
/// also runs with one worker, the results contain the speed-ups over one worker. The paper has 10k
/// bodies in 100 steps, 100k bodies in 10 steps, and a million bodies in one step.
///
/// On a simulated Cell two costs are fitted to the paper, and the results contain them. The counted
/// time of a walk through a section is multiplied by `walk_factor`, and a task without buffering
/// waits `wait_cost` for its transfers. `cellworks reproduce jack-rabbit` has the same costs, and
/// runs with --scheduler three-level --dicing off.
///
/// If there are more than 50,000 bodies, a simulated machine does not run all phases. The machine
/// runs a sample of the phases of one step. The run time of all phases and steps is extrapolated
/// from this sample. Then the results contain `phases_simulated`, but neither an energy nor an
/// error of the forces.
#[derive(Args, Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct BarnesHut {
    /// The workers.
    #[command(flatten)]
    #[serde(flatten)]
    pub workers: Workers,

    /// How many bodies, 2 to a million.
    #[arg(long, default_value = "10k")]
    pub bodies: usize,

    /// How many steps of time are simulated.
    #[arg(long, default_value = "1")]
    pub steps: usize,
}

const ENERGY_DRIFT: Metric = Metric::new("energy_drift", "of the energy");
const FORCE_ERROR: Metric = Metric::new("force_error", "of the force");
const PHASES_SIMULATED: Metric = Metric::new("phases_simulated", "phases");
const WALK_FACTOR: Metric = Metric::new("walk_factor", "times");

/// The number of bodies in a set. A set is 16 KB, as in section 5.2 of the paper.
const SET: usize = 512;

/// The smallest part of a set, in bodies. For each part a section of the tree is transferred again.
const PART: usize = 64;

/// The length of a step of time. A body at a distance of 1 goes round in 1,060 steps.
const STEP: f32 = 0.01;

/// The opening angle. The paper does not give its value.
const THETA: f32 = 0.5;

/// The cycles of an SPU when a body visits a node: load the node (6), subtract, square and add to
/// get the squared distance (6 each), compare (2), and mispredict half of the branches (18 each).
/// Source: Cell BE Programming Tutorial, table of pipeline latencies.
const CYCLES_PER_NODE: u64 = 6 + 3 * 6 + 2 + 18 / 2;

/// The further cycles if the node acts upon the body: estimate the inverse distance and improve it
/// once (4 + 7 + 3 * 6), cube it and multiply it by the mass (3 * 6), and add the result (6).
const CYCLES_PER_INTERACTION: u64 = 4 + 7 + 3 * 6 + 3 * 6 + 6;

/// Numbers of bodies, each with the factor by which the cycles to accelerate a set are multiplied.
/// The factors are fitted to the run times of one worker without double buffering in the paper's
/// table 5.2, because no constant number of cycles for a node fits all three times. A task then
/// takes 14 us plus 1.4 ns for each body of the simulation.
const FITTED: [(f64, f64); 3] = [(1e4, 0.047), (1e5, 2.543), (1e6, 44.96)];

/// The cycles of an SPU to move a body: load velocity and position, change both, store them.
const CYCLES_PER_MOVE: u64 = 6 + 3 * 6 + 6;

const BODIES_MAX: usize = 1_000_000;

/// The largest number of bodies for which a simulated machine runs all phases. This takes seconds.
const WHOLE_BODIES_MAX: usize = 50_000;

/// The largest number of steps. With 10k bodies these steps take half a day on a real machine.
const STEPS_MAX: usize = 1_000_000;

const COMPARED: usize = 100;

/// The largest accepted error of the forces, relative to the forces. By theory, an evenly filled
/// square that acts as one mass has an error of at most 0.031, an eighth of `THETA`².
const FORCE_ERROR_MAX: f64 = 0.05;

/// The side of the square that is drawn. At the beginning the square contains the whole disc.
const DRAWN_SIDE: f32 = 20.0;

const DRAWN_PIXELS: u32 = 512;

const SEED: u64 = 1;

/// A section with its own copy of nodes: the ancestors of its first node, and then its nodes.
struct Piece {
    first: u32,
    ancestors: usize,
    nodes: Vec<Node>,
}

impl Piece {
    /// Cuts a tree into pieces, at most as many as there are sets of bodies.
    fn all_of(tree: &Tree, sets: usize) -> Vec<Self> {
        let length = tree.nodes().len().div_ceil(sets);
        let piece = |(number, section): (usize, &[Node])| {
            let first = number * length;
            let ancestors = tree.ancestors(first);
            Self {
                first: first as u32,
                ancestors: ancestors.len(),
                nodes: [&ancestors, section].concat(),
            }
        };
        tree.nodes().chunks(length).enumerate().map(piece).collect()
    }
}

/// A phase in which each set i is accelerated by piece (i + `places`) modulo the number of sets.
#[derive(Clone, Copy)]
struct Rotation {
    places: usize,
    /// The number of phases that are assumed to take as long as this phase.
    stands_for: usize,
}

impl Rotation {
    /// Returns all phases, or a sample. The sample has few of the phases in which the indices of
    /// set and piece are distant, because these phases take less work.
    fn all(sets: usize, is_sampled: bool) -> Vec<Self> {
        let is_in_sample = |places: &usize| {
            let away = *places.min(&(sets - places));
            // The sample has the phases with `away` = 0 to 4, 6, 8, 12, 16, 24 and so on.
            let unit = 1 << away.max(2).ilog2().saturating_sub(1);
            !is_sampled || away.is_multiple_of(unit)
        };
        let sample: Vec<usize> = (0..sets).filter(is_in_sample).collect();
        let begin = |at: usize| match sample.get(at) {
            Some(&places) if at > 0 => (sample[at - 1] + places).div_ceil(2),
            Some(_) => 0,
            None => sets,
        };
        let rotation = |(at, &places)| Self {
            places,
            stands_for: begin(at + 1) - begin(at),
        };
        sample.iter().enumerate().map(rotation).collect()
    }
}

/// Returns the factor for this number of bodies, interpolated between those of [`FITTED`].
fn fitted(bodies: usize) -> f64 {
    let [least, middle, most] = FITTED;
    let bodies = (bodies as f64).clamp(least.0, most.0);
    let (low, high) = if bodies < middle.0 {
        (least, middle)
    } else {
        (middle, most)
    };
    let exponent = (high.1 / low.1).ln() / (high.0 / low.0).ln();
    low.1 * (bodies / low.0).powf(exponent)
}

fn cycles(counts: Counts, factor: f64) -> Cycles {
    let counted = counts.met * CYCLES_PER_NODE + counts.interactions * CYCLES_PER_INTERACTION;
    Cycles((counted as f64 * factor) as u64)
}

/// Returns the data of a task that accelerates a set. Only a whole set may be split into parts.
fn split_set(set: &mut [Body]) -> Update<'_, Body> {
    let part = if set.len() == SET { PART } else { set.len() };
    Update::rows(set, part)
}

fn accelerate_all<M: Machine>(
    main: &Main<'_, M>,
    bodies: &mut [Body],
    tree: &Tree,
) -> Result<(), TaskError> {
    main.phase(|phase| {
        for set in bodies.chunks_mut(SET) {
            let task = phase.task("accelerate", split_set(set), |_, bodies| {
                accelerate(bodies, tree.whole(), THETA);
            });
            phase.submit(main, task.diced())?;
        }
        Ok(())
    })
}

impl BarnesHut {
    /// Builds a tree and computes all accelerations. Returns the seconds and the number of phases.
    fn find_forces<M: Machine>(
        &self,
        main: &Main<'_, M>,
        bodies: &mut [Body],
        is_sampled: bool,
    ) -> Result<(f64, usize), TaskError> {
        // This takes no simulated time, because the paper's times leave no time for it: with 10,000
        // bodies and 6 workers a whole step takes 2.4 ms, and the tree has 16,237 nodes.
        let (built, tree) = workers::timed(main, || Tree::new(bodies));
        let built_s = built.as_seconds_f64();
        if !main.ppe().are_spes_confined_to_local_store() {
            let (span, result) = workers::timed(main, || accelerate_all(main, bodies, &tree));
            return result.map(|()| (built_s + span.as_seconds_f64(), 1));
        }
        let mut sets: Vec<_> = bodies.chunks_mut(SET).collect();
        let pieces = Piece::all_of(&tree, sets.len());
        let rotations = Rotation::all(sets.len(), is_sampled);
        let (mut span_s, mut places) = (built_s, 0);
        for rotation in &rotations {
            sets.rotate_right(rotation.places - places);
            places = rotation.places;
            let (span, result) =
                workers::timed(main, || self.accelerate_by(main, &mut sets, &pieces));
            result?;
            span_s += span.as_seconds_f64() * rotation.stands_for as f64;
        }
        Ok((span_s, rotations.len()))
    }

    /// Accelerates each set of bodies by the piece of the tree at the same index.
    fn accelerate_by<M: Machine>(
        &self,
        main: &Main<'_, M>,
        sets: &mut [&mut [Body]],
        pieces: &[Piece],
    ) -> Result<(), TaskError> {
        let factor = fitted(self.bodies);
        main.phase(|phase| {
            for (piece, set) in iter::zip(pieces, sets) {
                let data = (
                    Value((piece.first, piece.ancestors)),
                    Read::new(&piece.nodes[..]),
                    split_set(set),
                );
                let task = phase.task("accelerate", data, move |worker, view| {
                    let ((first, ancestors), nodes, bodies) = view;
                    let (ancestors, nodes) = nodes.split_at(ancestors);
                    let section = Section {
                        first,
                        ancestors,
                        nodes,
                    };
                    let counts = accelerate(bodies, section, THETA);
                    worker.spe().compute(cycles(counts, factor));
                    self.workers.wait_for_transfers(worker.spe());
                });
                phase.submit(main, task.diced())?;
            }
            Ok(())
        })
    }

    /// Moves all bodies. Every call except the first one also ends the previous step.
    fn move_all<M: Machine>(
        &self,
        main: &Main<'_, M>,
        bodies: &mut [Body],
        is_first: bool,
    ) -> Result<(), TaskError> {
        main.phase(|phase| {
            for set in bodies.chunks_mut(SET) {
                let task = phase.task("move", Update::new(set), move |worker, bodies| {
                    if !is_first {
                        kick(bodies, STEP);
                    }
                    advance(bodies, STEP);
                    let cycles = bodies.len() as u64 * CYCLES_PER_MOVE;
                    worker.spe().compute(Cycles(cycles));
                    self.workers.wait_for_transfers(worker.spe());
                });
                phase.submit(main, task)?;
            }
            Ok(())
        })
    }
}

/// Returns the root mean square error of some bodies' accelerations, relative to direct summation.
fn force_error(bodies: &[Body]) -> f64 {
    let every = bodies.len().div_ceil(COMPARED);
    let (mut errors, mut squares) = (0.0, 0.0);
    for found in bodies.iter().step_by(every) {
        let mut expected = [Body {
            acceleration: [0.0; 2],
            ..*found
        }];
        accelerate_directly(&mut expected, bodies);
        for (found, expected) in iter::zip(found.acceleration, expected[0].acceleration) {
            errors += f64::from(found - expected).powi(2);
            squares += f64::from(expected).powi(2);
        }
    }
    (errors / squares).sqrt()
}

impl Program for BarnesHut {
    const NAME: &'static str = "barnes-hut";
    const EXAMPLE: &'static str = "--bodies 10k --workers 1,2";
    const METRICS: &'static [Metric] = &[
        RUN_TIME,
        ENERGY_DRIFT,
        FORCE_ERROR,
        PHASES_SIMULATED,
        TASKS_RUN,
        DICED,
        STOLEN,
        WALK_FACTOR,
        WAIT_COST,
    ];
    const PARTS: Parts = Parts::Workers;
    const DRAWS: bool = true;

    fn title(&self) -> String {
        let (bodies, steps) = (self.bodies, counted(self.steps, "step"));
        let workers = self.workers.title();
        format!("barnes-hut, {bodies} bodies, {steps}, {workers}")
    }

    fn check(&self, topology: &Topology) -> Result<(), ParameterError> {
        self.workers.check(topology)?;
        let refused = |parameter, why| Err(ParameterError::Refused { parameter, why });
        let (bodies, steps) = (self.bodies, self.steps);
        if !(2..=BODIES_MAX).contains(&bodies) {
            return refused(
                "bodies",
                format!("gravity of {bodies} bodies is not simulated; use 2 to {BODIES_MAX}"),
            );
        }
        match steps {
            0 => Err(ParameterError::Zero {
                parameter: "steps",
                noun: "steps",
            }),
            1..=STEPS_MAX => Ok(()),
            _ => refused(
                "steps",
                format!("{steps} steps take too long; use at most {STEPS_MAX}"),
            ),
        }
    }

    fn address_space_bytes(&self) -> usize {
        // Bodies and at most twice as many nodes, and a second copy of both to sort and send.
        2 * self.bodies * (size_of::<Body>() + 2 * size_of::<Node>())
    }

    fn run_as<M: Machine>(&self, machine: &M, draw: Draw<'_>, parts: &mut Deployment) -> RunResult {
        let topology = machine.topology();
        self.check(topology)?;
        // A sample is possible only if equal work takes equal times, as on simulated machines.
        let is_sampled = topology.capabilities().repeats && self.bodies > WHOLE_BODIES_MAX;
        // A sample computes only some forces, which would move bodies wrongly: one step runs.
        let steps = if is_sampled { 1 } else { self.steps };
        let mut bodies = disc(self.bodies, SEED);
        let (mut energy_before, mut error, mut phases) = (0.0, 0.0, 0);
        let ((span_s, is_cell), counters) = self.workers.run(machine, parts, |main| {
            let mut span_s = 0.0;
            for step in 0..steps {
                let (forces_s, ran) = self.find_forces(main, &mut bodies, is_sampled)?;
                if step == 0 && !is_sampled {
                    energy_before = energy(&bodies);
                    error = force_error(&bodies);
                }
                let (moves, result) =
                    workers::timed(main, || self.move_all(main, &mut bodies, step == 0));
                result?;
                span_s += forces_s + moves.as_seconds_f64();
                draw(&picture(&bodies, DRAWN_SIDE, DRAWN_PIXELS));
                phases = ran;
            }
            let is_cell = main.ppe().are_spes_confined_to_local_store();
            Ok((span_s * (self.steps / steps) as f64, is_cell))
        })?;
        let mut end = workers::counts(&counters).to_vec();
        // Elsewhere what a program computes takes the time that it takes.
        if is_cell && topology.capabilities().repeats {
            end.push(WALK_FACTOR.measured(fitted(self.bodies)));
            end.push(self.workers.wait_cost());
        }
        let mut quantities = vec![RUN_TIME.measured(span_s)];
        if is_sampled {
            quantities.push(PHASES_SIMULATED.measured(phases as f64));
            quantities.extend(end);
            return Ok(quantities);
        }
        if error > FORCE_ERROR_MAX {
            return Err(ProgramError::Differs {
                what: "the error of the forces".to_owned(),
                found: error.to_string(),
                expected: format!("at most {FORCE_ERROR_MAX}"),
                by: "by the opening angle",
            });
        }
        // These calls end the last step.
        let tree = Tree::new(&mut bodies);
        accelerate(&mut bodies, tree.whole(), THETA);
        kick(&mut bodies, STEP);
        let drift = (energy(&bodies) / energy_before - 1.0).abs();
        let mut quantities = vec![
            RUN_TIME.measured(span_s),
            ENERGY_DRIFT.measured(drift),
            FORCE_ERROR.measured(error),
        ];
        quantities.extend(end);
        Ok(quantities)
    }

    fn conclusions(done: &[Done<Self>]) -> Vec<Conclusion> {
        workers::speedups(done, |one| &mut one.workers)
    }

    fn figures(done: &[Done<Self>]) -> Vec<Figure> {
        against(done, "Time to simulate all steps", RUN_TIME, axis)
    }
}

#[cfg(test)]
mod tests {
    use cellworks_sim::{Description, Sim};
    use cellworks_tasks::Scheduler;

    use super::*;
    use crate::workers::OnOff;

    fn program(workers: usize, bodies: usize) -> BarnesHut {
        BarnesHut {
            workers: Workers {
                workers,
                buffering: OnOff::Off,
                dicing: OnOff::Off,
                scheduler: Scheduler::ThreeLevel,
            },
            bodies,
            steps: 1,
        }
    }

    #[test]
    fn the_time_of_all_phases_is_that_of_a_sample() {
        let ps3 = Sim::new(Description::built_in("ps3").unwrap()).unwrap();
        for workers in [1, 6] {
            let program = program(workers, 40 * SET);
            let time = |is_sampled| {
                let mut bodies = disc(program.bodies, SEED);
                let of = &program.workers;
                let run = of.run(&ps3, &mut Deployment::default(), |main| {
                    program.find_forces(main, &mut bodies, is_sampled)
                });
                run.unwrap().0
            };
            let ((all, phases), (sample, in_sample)) = (time(false), time(true));
            assert_eq!((phases, in_sample), (40, 17));
            let ratio = sample / all;
            assert!((ratio - 1.0).abs() < 0.02, "{workers}: {ratio}");
        }
    }

    #[test]
    fn a_sample_stands_for_all_phases() {
        for sets in [1, 2, 3, 8, 40, 1_954] {
            for is_sampled in [false, true] {
                let rotations = Rotation::all(sets, is_sampled);
                let all: usize = rotations.iter().map(|rotation| rotation.stands_for).sum();
                assert_eq!(all, sets);
                assert_eq!(rotations[0].places, 0);
                assert!(rotations.is_sorted_by(|a, b| a.places < b.places));
            }
        }
    }

    #[test]
    fn what_was_fitted_lies_between_the_sizes_that_it_was_fitted_to() {
        for (bodies, factor) in FITTED {
            let found = fitted(bodies as usize);
            assert!((found / factor - 1.0).abs() < 1e-9, "{bodies}: {found}");
        }
        assert_eq!(fitted(2), FITTED[0].1);
        assert!(fitted(30_000) > FITTED[0].1 && fitted(30_000) < FITTED[1].1);
    }
}
