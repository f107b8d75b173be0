//! The program: sets of bodies, rotated against sections of the tree.

use std::iter;

use cellworks_machine::{Cycles, Machine, PpeCore, Span, Spe, Topology};
use cellworks_tasks::{Main, Read, TaskError, Update, Value};
use clap::Args;
use serde::{Deserialize, Serialize};

use super::{
    Body, Counts, Node, Section, Tree, accelerate, accelerate_directly, advance, disc, energy, kick,
};
use crate::figure::{axis, counted};
use crate::workers::{self, DICED, RUN_TIME, STOLEN, TASKS_RUN, Workers};
use crate::{
    Conclusion, Done, Figure, Metric, ParameterError, Program, ProgramError, Quantity, against,
};

/// Simulates the gravity of bodies in a disc by the tasks of a pool: Jack Rabbit's table 5.2.
///
/// Where programs reach only their local stores, the tree is cut into sections. Each phase has a
/// task for each set of 512 bodies, with another section than in the phase before. Elsewhere there
/// is one phase, with the whole tree. The first forces on some bodies are compared with those by
/// direct summation. Speed-ups are over one worker, if that runs too. The paper has 10k bodies for
/// 100 steps, 100k for 10, and a million for one.
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

/// Bodies of a task, which are 16 KB (section 5.2 of the paper says so of the tasks that move them,
/// and has about 2,000 of the others for a million bodies).
const SET: usize = 512;

/// Bodies of the smallest part that a set is split into: each part is handed a section of its own,
/// which takes as long to arrive as some bodies take to go through it.
const PART: usize = 64;

/// A step of time. A body at a distance of 1 goes round in 1,060 of them.
const STEP: f32 = 0.01;

/// The opening angle. The paper does not tell its own.
const THETA: f32 = 0.5;

/// What meeting a node takes on an SPU, in cycles: it is loaded (6), the difference to its centre
/// of mass is taken, squared, added and compared (6 each but 2 for the comparison), and the branch
/// is mispredicted every other time (18). Cell BE Programming Tutorial, table of pipeline
/// latencies.
const CYCLES_PER_NODE: u64 = 6 + 3 * 6 + 2 + 18 / 2;

/// What a node that acts upon a body takes besides, in cycles: the inverse of the distance by an
/// approximate root that is improved once (4 + 7 + 3 * 6), its cube and the mass (3 * 6), and the
/// sums of acceleration and potential (6). Cell BE Programming Tutorial, table of pipeline
/// latencies.
const CYCLES_PER_INTERACTION: u64 = 4 + 7 + 3 * 6 + 3 * 6 + 6;

/// What moving a body takes on an SPU, in cycles: speed and place are loaded (6), changed one after
/// the other (3 * 6) and stored (6). Cell BE Programming Tutorial, table of pipeline latencies.
const CYCLES_PER_MOVE: u64 = 6 + 3 * 6 + 6;

/// What a node of the tree takes on the PPE, in cycles: an estimate, of about 2 accesses to memory
/// beyond the caches. Neither the time nor the share of building the tree is published.
const CYCLES_PER_NODE_BUILT: u64 = 1_000;

const BODIES_MAX: usize = 1_000_000;

/// Half a day of this computer for 10k bodies.
const STEPS_MAX: usize = 1_000_000;

/// Bodies whose forces are compared with direct summation.
const COMPARED: usize = 100;

/// Forces that are worse are wrong. A single mass is wrong by an eighth of the square of `THETA`
/// for an evenly filled square at the least distance, relative to its pull, and some pulls cancel
/// each other; errors of different squares do, too.
const FORCE_ERROR_MAX: f64 = 0.05;

const SEED: u64 = 1;

/// A section of a tree by itself: first the ancestors of its first node, then its nodes.
struct Piece {
    /// The index of its first node in the tree.
    first: u32,
    ancestors: usize,
    nodes: Vec<Node>,
}

impl Piece {
    /// A tree in as many pieces as there are sets of bodies, or fewer.
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

/// Charges what was done to accelerate bodies.
fn charge<S: Spe>(spe: &S, counts: Counts) {
    let cycles = counts.met * CYCLES_PER_NODE + counts.interactions * CYCLES_PER_INTERACTION;
    spe.compute(Cycles(cycles));
}

/// A set of bodies that a task accelerates. It is split between parts if it is whole.
fn split_set(set: &mut [Body]) -> Update<'_, Body> {
    let part = if set.len() == SET { PART } else { set.len() };
    Update::rows(set, part)
}

/// Has the whole tree act upon all bodies.
fn accelerate_all<M: Machine>(
    main: &Main<'_, M>,
    bodies: &mut [Body],
    tree: &Tree,
) -> Result<(), TaskError> {
    let mut sets: Vec<_> = bodies.chunks_mut(SET).collect();
    if !main.ppe().are_spes_confined_to_local_store() {
        return main.phase(|phase| {
            for set in sets {
                let task = phase.task("accelerate", split_set(set), |worker, bodies| {
                    charge(worker.spe(), accelerate(bodies, tree.whole(), THETA));
                });
                phase.submit(main, task.diced())?;
            }
            Ok(())
        });
    }
    let pieces = Piece::all_of(tree, sets.len());
    for _ in 0..sets.len() {
        main.phase(|phase| {
            for (piece, set) in iter::zip(&pieces, &mut sets) {
                let data = (
                    Value((piece.first, piece.ancestors)),
                    Read::new(&piece.nodes[..]),
                    split_set(set),
                );
                let task = phase.task("accelerate", data, |worker, view| {
                    let ((first, ancestors), nodes, bodies) = view;
                    let (ancestors, nodes) = nodes.split_at(ancestors);
                    let section = Section {
                        first,
                        ancestors,
                        nodes,
                    };
                    charge(worker.spe(), accelerate(bodies, section, THETA));
                });
                phase.submit(main, task.diced())?;
            }
            Ok(())
        })?;
        sets.rotate_right(1);
    }
    Ok(())
}

/// Moves all bodies. All but the first time, the step before has to be ended first.
fn move_all<M: Machine>(
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
            });
            phase.submit(main, task)?;
        }
        Ok(())
    })
}

/// How far the accelerations of some bodies are from those by direct summation, relative to these:
/// the root of the mean square.
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
        TASKS_RUN,
        DICED,
        STOLEN,
    ];

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

    fn run<M: Machine>(&self, machine: &M) -> Result<Vec<Quantity>, ProgramError> {
        self.check(machine.topology())?;
        let mut bodies = disc(self.bodies, SEED);
        let (mut energy_before, mut error) = (0.0, 0.0);
        let (span, counters) = self.workers.run(machine, |main| {
            let mut span = Span::default();
            for step in 0..self.steps {
                let (forces, result) = workers::timed(main, || {
                    let tree = Tree::new(&mut bodies);
                    let cycles = tree.nodes().len() as u64 * CYCLES_PER_NODE_BUILT;
                    main.ppe().compute(Cycles(cycles));
                    accelerate_all(main, &mut bodies, &tree)
                });
                result?;
                if step == 0 {
                    energy_before = energy(&bodies);
                    error = force_error(&bodies);
                }
                let (moves, result) =
                    workers::timed(main, || move_all(main, &mut bodies, step == 0));
                result?;
                span += forces + moves;
            }
            Ok(span)
        })?;
        if error > FORCE_ERROR_MAX {
            return Err(ProgramError::Differs {
                what: "the error of the forces".to_owned(),
                found: error.to_string(),
                expected: format!("at most {FORCE_ERROR_MAX}"),
                by: "by the opening angle",
            });
        }
        // The last step has not ended yet.
        let tree = Tree::new(&mut bodies);
        accelerate(&mut bodies, tree.whole(), THETA);
        kick(&mut bodies, STEP);
        let drift = (energy(&bodies) / energy_before - 1.0).abs();
        let mut quantities = vec![
            RUN_TIME.measured(span.as_seconds_f64()),
            ENERGY_DRIFT.measured(drift),
            FORCE_ERROR.measured(error),
        ];
        quantities.extend(workers::counts(&counters));
        Ok(quantities)
    }

    fn conclusions(done: &[Done<Self>]) -> Vec<Conclusion> {
        workers::speedups(done, |one| &mut one.workers)
    }

    fn figures(done: &[Done<Self>]) -> Vec<Figure> {
        against(done, "Time to simulate all steps", RUN_TIME, axis)
    }
}
