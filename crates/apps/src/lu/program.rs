//! The program `lu`, in which each task changes a column of the matrix, or a column of tiles.

use cellworks_machine::{Cycles, Machine, PpeCore, Spe, Topology};
use cellworks_tasks::{Main, Phase, Priority, Read, TaskError, Update, Value, Worker};
use clap::Args;
use serde::{Deserialize, Serialize};

use super::{
    Element, Matrix, Tile, Tiles, factor_tile, multipliers, residual, solve_column, solve_row,
    subtract_product, update,
};
use crate::deployment::Deployment;
use crate::error::{ParameterError, ProgramError};
use crate::figure::{Figure, against, axis};
use crate::picture::Draw;
use crate::workers::{self, DICED, RUN_TIME, STOLEN, TASKS_RUN, WAIT_COST, Workers};
use crate::{Conclusion, Done, Metric, Parts, Program, Quantity, RunResult};

/// Factors a matrix by the tasks of a pool, without pivoting: Jack Rabbit's table 5.1.
///
/// Where programs reach only their local stores, a task updates one column, in single precision, as
/// in the paper. On other machines a task updates a column of tiles of 64 x 64, in double
/// precision. On these machines --dicing has no effect: a task always gives some of its tiles to a
/// worker that has nothing to do. The product of the factors is compared with the matrix. If the
/// program also runs with one worker, the results contain the speed-ups over one worker. The paper
/// has matrices with 1k to 4k rows.
///
/// On a simulated Cell three costs are fitted to the paper, and the results contain them. An SPE
/// takes `update_cost` for an element, the PPE takes `making_cost` for each task that updates a
/// column, and a task without buffering waits `wait_cost` for its transfers. `cellworks reproduce
/// jack-rabbit` has the same costs, and runs with --scheduler three-level --dicing off.
///
/// If a matrix has more than 512 rows, a simulated machine does not factor the matrix. The machine
/// runs 12 steps, spread evenly, and the run time of all steps is extrapolated from these steps.
/// Then the results have `steps_simulated`, but no residual.
#[derive(Args, Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Lu {
    /// The workers.
    #[command(flatten)]
    #[serde(flatten)]
    pub workers: Workers,

    /// Rows of the matrix, and columns; k is 1,024.
    #[arg(long, default_value = "1k")]
    pub size: usize,
}

const RESIDUAL: Metric = Metric::new("residual", "of the norm");
const STEPS_SIMULATED: Metric = Metric::new("steps_simulated", "steps");
const UPDATE_COST: Metric = Metric::new("update_cost", "cycles");
const MAKING_COST: Metric = Metric::new("making_cost", "cycles");

/// The cycles of an SPU to update an element. This number and `WAIT_FOR_TRANSFERS` are fitted to
/// the run times of one worker without double buffering in the paper's table 5.1.
const CYCLES_PER_UPDATE: u64 = 16;

/// The cycles of the PPE to make an update task, beside those of the scheduler. Fitted to 4.04 s of
/// 6 workers with double buffering and a 1k matrix, which are 7.7 us for each update task. Workers
/// do not share this time. The cause is not known: docs/simulated-cell.md says what it is not.
const PPE_CYCLES_PER_UPDATE_TASK: u64 = 23_200;

/// The cycles of an SPU to divide by the pivot, estimated for functions of IBM's SDK that improve
/// an approximate inverse. The estimate has little effect: n²/2 divisions, but n³/3 updates.
const CYCLES_PER_MULTIPLIER: u64 = 40;

/// The largest number of rows. A column of 4,096 rows is 16 KB, the largest DMA transfer.
const SIZE_MAX: usize = 4_096;

/// The largest number of rows with which a simulated machine runs all steps, in a second or two.
const WHOLE_SIZE_MAX: usize = 512;

/// The number of steps that a simulated machine runs for a larger matrix.
const SAMPLED_STEPS: usize = 12;

/// The tasks per worker that compute multipliers. The paper has "a few more" tasks than workers.
const MULTIPLIER_TASKS: usize = 2;

const SEED: u64 = 1;

struct Factorization {
    span_s: f64,
    end: End,
    /// The fitted costs, if the program is that of the paper.
    costs: Vec<Quantity>,
}

enum End {
    Factored {
        residual: f64,
        /// The largest accepted residual, which depends on the precision of the elements.
        at_most: f64,
    },
    /// The matrix was not factored, because only `steps` steps have run.
    Sampled { steps: usize },
}

/// A step, and the number of steps that are assumed to take as long as this one.
#[derive(Clone, Copy)]
struct Step {
    number: usize,
    stands_for: f64,
}

impl Lu {
    /// Returns all steps of the factorization, or a sample of them. The last row needs no step.
    fn steps(&self, is_sampled: bool) -> Vec<Step> {
        let steps = self.size - 1;
        let count = if is_sampled {
            SAMPLED_STEPS.min(steps)
        } else {
            steps
        };
        let begin = |part: usize| steps * part / count;
        let middle = |part: usize| Step {
            number: (begin(part) + begin(part + 1)) / 2,
            stands_for: (begin(part + 1) - begin(part)) as f64,
        };
        (0..count).map(middle).collect()
    }

    /// Factors by columns, in single precision, one step after the other. In a sample the time of a
    /// step stands for neighbouring steps, which have nearly as many columns of nearly the same
    /// length.
    fn by_columns<M: Machine>(
        &self,
        main: &Main<'_, M>,
        is_sampled: bool,
    ) -> Result<Factorization, TaskError> {
        let matrix = if is_sampled {
            // The simulated time does not depend on the numbers in the matrix.
            Matrix::from_fn(self.size, |_, _| f32::ONE)
        } else {
            Matrix::random(self.size, SEED)
        };
        let mut factors = matrix.clone();
        let steps = self.steps(is_sampled);
        let mut span_s = 0.0;
        for step in &steps {
            let (span, result) = workers::timed(main, || {
                self.step_by_columns(main, &mut factors, step.number)
            });
            result?;
            span_s += span.as_seconds_f64() * step.stands_for;
        }
        let end = if is_sampled {
            End::Sampled { steps: steps.len() }
        } else {
            End::Factored {
                residual: residual(&matrix, &factors),
                at_most: 1e-5,
            }
        };
        let costs = vec![
            UPDATE_COST.measured(CYCLES_PER_UPDATE as f64),
            MAKING_COST.measured(PPE_CYCLES_PER_UPDATE_TASK as f64),
            self.workers.wait_cost(),
        ];
        Ok(Factorization { span_s, end, costs })
    }

    /// Runs one step: a phase of tasks for multipliers, and then a phase of tasks for columns.
    fn step_by_columns<M: Machine>(
        &self,
        main: &Main<'_, M>,
        matrix: &mut Matrix<f32>,
        step: usize,
    ) -> Result<(), TaskError> {
        let order = matrix.order();
        let (column, others) = matrix.elements[step * order..].split_at_mut(order);
        let (above, below) = column.split_at_mut(step + 1);
        let pivot = above[step];
        main.phase(|phase| {
            let rows = below
                .len()
                .div_ceil(MULTIPLIER_TASKS * self.workers.workers);
            for part in below.chunks_mut(rows.max(1)) {
                let data = (Value(pivot), Update::new(part));
                let task = phase.task("multipliers", data, |worker, (pivot, part)| {
                    multipliers(part, pivot);
                    let cycles = part.len() as u64 * CYCLES_PER_MULTIPLIER;
                    worker.spe().compute(Cycles(cycles));
                    self.workers.wait_for_transfers(worker.spe());
                });
                phase.submit(main, task)?;
            }
            Ok(())
        })?;
        let column = &*column;
        main.phase(|phase| {
            for target in others.chunks_exact_mut(order) {
                let factor = target[step];
                let data = (Value(factor), Read::new(column), Update::new(target));
                let task = phase.task("update", data, move |worker, view| {
                    let (factor, multipliers, target) = view;
                    let target = &mut target[step + 1..];
                    update(target, &multipliers[step + 1..], factor);
                    let cycles = target.len() as u64 * CYCLES_PER_UPDATE;
                    worker.spe().compute(Cycles(cycles));
                    self.workers.wait_for_transfers(worker.spe());
                });
                main.ppe().compute(Cycles(PPE_CYCLES_PER_UPDATE_TASK));
                phase.submit(main, task)?;
            }
            Ok(())
        })
    }

    fn by_tiles<M: Machine>(&self, main: &Main<'_, M>) -> Result<Factorization, TaskError> {
        let matrix = Matrix::<f64>::random(self.size, SEED);
        let mut tiles = Tiles::of(&matrix);
        let (span, result) = workers::timed(main, || factor_tiles(main, &mut tiles));
        result?;
        Ok(Factorization {
            span_s: span.as_seconds_f64(),
            end: End::Factored {
                residual: residual(&matrix, &tiles.to_matrix()),
                at_most: 1e-12,
            },
            costs: Vec::new(),
        })
    }
}

/// Replaces a matrix by its factors, in one phase. Each task changes one column of tiles, and gives
/// tiles to idle workers. Factoring a column has priority over updates of other columns.
///
/// # Errors
///
/// Returns [`TaskError`] if the columns do not fit into a local store.
pub fn factor_tiles<M: Machine>(
    main: &Main<'_, M>,
    tiles: &mut Tiles<f64>,
) -> Result<(), TaskError> {
    let count = tiles.count();
    main.phase(|phase: &Phase<'_, '_, M::Spe>| {
        let columns = phase.blocks(&mut tiles.tiles, count);
        let mut changed_by = vec![None; count];
        for step in 0..count {
            let mut factor = phase
                .task("factor", columns.update(step), move |worker, column| {
                    factor_column(worker, column, step);
                })
                .priority(Priority::High);
            if let Some(before) = &changed_by[step] {
                factor = factor.after(before);
            }
            let factor = phase.submit(main, factor)?;
            for (other, changed_by) in changed_by.iter_mut().enumerate().skip(step + 1) {
                let data = (columns.read(step), columns.update(other));
                let mut task = phase
                    .task("update", data, move |worker, (factored, column)| {
                        update_column(worker, column, factored, step);
                    })
                    .after(&factor);
                if other == step + 1 {
                    task = task.priority(Priority::High);
                }
                if let Some(before) = &*changed_by {
                    task = task.after(before);
                }
                *changed_by = Some(phase.submit(main, task)?);
            }
        }
        Ok(())
    })
}

/// Factors the column of tiles with the number `step`, from the diagonal down.
fn factor_column<S: Spe>(worker: &Worker<'_, S>, column: &mut [Tile<f64>], step: usize) {
    let (diagonal, below) = column[step..]
        .split_first_mut()
        .expect("a column has a tile on the diagonal");
    factor_tile(diagonal);
    worker.for_each_mut(below, |_, _, tile| {
        solve_column(tile, diagonal);
    });
}

/// Updates a column of tiles by `factored`, the column of tiles that this step has factored.
fn update_column<S: Spe>(
    worker: &Worker<'_, S>,
    column: &mut [Tile<f64>],
    factored: &[Tile<f64>],
    step: usize,
) {
    let (right, targets) = column[step..]
        .split_first_mut()
        .expect("a column has as many tiles as a row");
    let (diagonal, below) = factored[step..]
        .split_first()
        .expect("a column has a tile on the diagonal");
    solve_row(right, diagonal);
    worker.for_each_mut(targets, |_, number, target| {
        subtract_product(target, &below[number], right);
    });
}

impl Program for Lu {
    const NAME: &'static str = "lu";
    const EXAMPLE: &'static str = "--size 256 --workers 1,2";
    const METRICS: &'static [Metric] = &[
        RUN_TIME,
        RESIDUAL,
        STEPS_SIMULATED,
        TASKS_RUN,
        DICED,
        STOLEN,
        UPDATE_COST,
        MAKING_COST,
        WAIT_COST,
    ];
    const PARTS: Parts = Parts::Workers;

    fn title(&self) -> String {
        format!("lu, size {}, {}", self.size, self.workers.title())
    }

    fn check(&self, topology: &Topology) -> Result<(), ParameterError> {
        self.workers.check(topology)?;
        match self.size {
            0 => Err(ParameterError::Zero {
                parameter: "size",
                noun: "rows",
            }),
            1..=SIZE_MAX => Ok(()),
            size => Err(ParameterError::Refused {
                parameter: "size",
                why: format!(
                    "a matrix of {size} rows takes too long, and too much memory; use at most {SIZE_MAX}"
                ),
            }),
        }
    }

    fn address_space_bytes(&self) -> usize {
        // The matrix, its factors, and the factors in tiles.
        3 * self.size * self.size * size_of::<f64>()
    }

    fn run_as<M: Machine>(&self, machine: &M, _: Draw<'_>, parts: &mut Deployment) -> RunResult {
        let topology = machine.topology();
        self.check(topology)?;
        // A sample needs times that repeat, which only simulated machines have.
        let is_sampled = topology.capabilities().repeats && self.size > WHOLE_SIZE_MAX;
        let (found, counters) = self.workers.run(machine, parts, |main| {
            if main.ppe().are_spes_confined_to_local_store() {
                self.by_columns(main, is_sampled)
            } else {
                self.by_tiles(main)
            }
        })?;
        let mut quantities = vec![RUN_TIME.measured(found.span_s)];
        match found.end {
            End::Sampled { steps } => quantities.push(STEPS_SIMULATED.measured(steps as f64)),
            End::Factored { residual, at_most } if residual <= at_most => {
                quantities.push(RESIDUAL.measured(residual));
            }
            End::Factored { residual, at_most } => {
                return Err(ProgramError::Differs {
                    what: "the residual of the factors".to_owned(),
                    found: residual.to_string(),
                    expected: format!("at most {at_most:e}"),
                    by: "by the precision of their elements",
                });
            }
        }
        quantities.extend(workers::counts(&counters));
        // Elsewhere what a program computes takes the time that it takes.
        if topology.capabilities().repeats {
            quantities.extend(found.costs);
        }
        Ok(quantities)
    }

    fn conclusions(done: &[Done<Self>]) -> Vec<Conclusion> {
        workers::speedups(done, |one| &mut one.workers)
    }

    fn figures(done: &[Done<Self>]) -> Vec<Figure> {
        against(done, "Time to factor the matrix", RUN_TIME, axis)
    }
}

#[cfg(test)]
mod tests {
    use cellworks_sim::{Description, Sim};
    use cellworks_tasks::Scheduler;

    use super::*;
    use crate::workers::OnOff;

    #[test]
    fn the_time_of_all_steps_is_that_of_a_sample() {
        let ps3 = Sim::new(Description::built_in("ps3").unwrap()).unwrap();
        for (workers, buffering) in [(1, OnOff::Off), (6, OnOff::Off), (6, OnOff::On)] {
            let lu = Lu {
                workers: Workers {
                    workers,
                    buffering,
                    dicing: OnOff::Off,
                    scheduler: Scheduler::Stealing,
                },
                size: 256,
            };
            let time = |is_sampled| {
                let run = lu.workers.run(&ps3, &mut Deployment::default(), |main| {
                    lu.by_columns(main, is_sampled)
                });
                run.unwrap().0.span_s
            };
            let ratio = time(true) / time(false);
            assert!(
                (ratio - 1.0).abs() < 0.02,
                "{workers}, {buffering:?}: {ratio}"
            );
        }
    }

    #[test]
    fn a_sample_stands_for_all_steps_but_the_last() {
        for size in [1, 2, 20, 25, 256, 4_096] {
            let lu = Lu {
                workers: Workers {
                    workers: 1,
                    buffering: OnOff::On,
                    dicing: OnOff::On,
                    scheduler: Scheduler::Stealing,
                },
                size,
            };
            for is_sampled in [false, true] {
                let steps = lu.steps(is_sampled);
                let all: f64 = steps.iter().map(|step| step.stands_for).sum();
                assert_eq!(all as usize, size - 1);
                assert!(steps.iter().all(|step| step.number < size));
                assert!(steps.is_sorted_by(|a, b| a.number < b.number));
            }
        }
    }
}
