//! The program `mandelbrot`, which computes the rows of the picture in tasks of a pool.

use std::sync::{Mutex, PoisonError};

use cellworks_machine::{Cycles, Machine, Span, Spe, Topology};
use cellworks_tasks::{Main, Part, TaskError};
use clap::Args;
use serde::{Deserialize, Serialize};

use super::View;
use crate::deployment::Deployment;
use crate::error::{ParameterError, agree};
use crate::figure::{Figure, against, axis, counted};
use crate::picture::{Draw, Picture};
use crate::workers::{self, DICED, RUN_TIME, STOLEN, TASKS_RUN, Workers};
use crate::{Conclusion, Done, Metric, Parts, Program, RunResult};

/// Draws the Mandelbrot set in 640 x 480 pixels by the tasks of a pool: Jack Rabbit's figure 5.7.
///
/// The iteration count of each pixel is compared with the count in a run without tasks. If the
/// program also runs with one worker, the results contain the speed-ups over one worker. The paper
/// draws 1,000 frames. An SPE of a simulated Cell takes 15 cycles for an iteration of a point, which
/// are fitted to the paper.
#[derive(Args, Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Mandelbrot {
    /// The workers.
    #[command(flatten)]
    #[serde(flatten)]
    pub workers: Workers,

    /// How many tasks draw a frame, at most 480. The number of rows of a task is rounded to a whole
    /// number, so there may be more or fewer tasks.
    #[arg(long, default_value = "128")]
    pub tasks: usize,

    /// How often the picture is drawn.
    #[arg(long, default_value = "1")]
    pub frames: usize,

    /// How often a point is iterated at most; the paper has 1,000.
    #[arg(long, default_value = "1k")]
    pub iterations: u16,
}

/// The cycles of an SPU for an iteration of a point. Fitted to the 31 frames/s of Jack Rabbit with
/// 256 tasks (section 5.3), and to no other number. The paper states neither this time nor the part
/// of the plane, so the number also stands for a picture with more or fewer iterations.
const CYCLES_PER_ITERATION: u64 = 15;

/// The largest number of frames. A run with this number takes half a day on an SPE.
const FRAMES_MAX: usize = 100_000;

impl Mandelbrot {
    fn view(&self) -> View {
        View {
            iterations: self.iterations,
            ..View::PAPER
        }
    }

    fn rows_of_task(&self, rows: usize) -> usize {
        ((rows as f64 / self.tasks as f64).round() as usize).max(1)
    }

    fn draw<M: Machine>(
        &self,
        main: &Main<'_, M>,
        view: &View,
        rows: &[Mutex<Vec<u16>>],
    ) -> Result<Span, TaskError> {
        let (span, result) = workers::timed(main, || {
            main.phase(|phase| {
                for first in (0..view.height).step_by(self.rows_of_task(view.height)) {
                    let end = (first + self.rows_of_task(view.height)).min(view.height);
                    let task = phase.task("rows", Part(first..end), |worker, numbers| {
                        for number in numbers {
                            let mut row =
                                rows[number].lock().unwrap_or_else(PoisonError::into_inner);
                            draw_row(worker.spe(), view, number, &mut row);
                        }
                    });
                    phase.submit(main, task.diced())?;
                }
                Ok(())
            })
        });
        result.map(|()| span)
    }
}

/// Draws a row in the local store. A task does not stage all of its rows, which may not fit. Each
/// row is put back while the next one is drawn. Without buffering, the pool waits for the last puts
/// of a task. If the task waited for each row, another thread of the simulated worker would lock
/// the queue meanwhile, and keep it locked while the next row is drawn. No kernel of the paper has
/// such a thread.
fn draw_row<S: Spe>(spe: &S, view: &View, number: usize, row: &mut [u16]) {
    let mut counts = spe
        .stage_out(row)
        .expect("a row of 1,280 bytes fits into a local store beside the pool");
    let iterations = view.row(number, &mut counts);
    spe.compute(Cycles(iterations * CYCLES_PER_ITERATION));
}

fn picture(view: &View, rows: &[Mutex<Vec<u16>>]) -> Picture {
    let mut counts = Vec::with_capacity(view.width * view.height);
    for row in rows {
        counts.extend_from_slice(&row.lock().unwrap_or_else(PoisonError::into_inner));
    }
    view.picture(&counts)
}

impl Program for Mandelbrot {
    const NAME: &'static str = "mandelbrot";
    const EXAMPLE: &'static str = "--tasks 1,128 --workers 1,2";
    const METRICS: &'static [Metric] = &[RUN_TIME, TASKS_RUN, DICED, STOLEN];
    const PARTS: Parts = Parts::Workers;
    const DRAWS: bool = true;

    fn title(&self) -> String {
        let tasks = counted(self.tasks, "task");
        format!("mandelbrot, {tasks}, {}", self.workers.title())
    }

    fn check(&self, topology: &Topology) -> Result<(), ParameterError> {
        self.workers.check(topology)?;
        for (parameter, noun, count) in [
            ("tasks", "tasks", self.tasks),
            ("frames", "frames", self.frames),
            ("iterations", "iterations", self.iterations.into()),
        ] {
            if count == 0 {
                return Err(ParameterError::Zero { parameter, noun });
            }
        }
        let refused = |parameter, why| Err(ParameterError::Refused { parameter, why });
        let rows = View::PAPER.height;
        if self.tasks > rows {
            return refused(
                "tasks",
                format!(
                    "{} tasks are more than the picture has rows; use at most {rows}",
                    self.tasks
                ),
            );
        }
        if self.frames > FRAMES_MAX {
            return refused(
                "frames",
                format!(
                    "{} frames take too long; use at most {FRAMES_MAX}",
                    self.frames
                ),
            );
        }
        Ok(())
    }

    fn run_as<M: Machine>(&self, machine: &M, draw: Draw<'_>, parts: &mut Deployment) -> RunResult {
        self.check(machine.topology())?;
        let view = self.view();
        let row = |_| Mutex::new(vec![0; view.width]);
        let rows: Vec<_> = (0..view.height).map(row).collect();
        let (span, counters) = self.workers.run(machine, parts, |main| {
            let mut span = Span::default();
            for _ in 0..self.frames {
                span += self.draw(main, &view, &rows)?;
                draw(&picture(&view, &rows));
            }
            Ok(span)
        })?;
        let mut expected = vec![0; view.width];
        for (number, row) in rows.into_iter().enumerate() {
            let row = row.into_inner().unwrap_or_else(PoisonError::into_inner);
            view.row(number, &mut expected);
            for (column, (found, expected)) in row.iter().zip(&expected).enumerate() {
                let what = || format!("the count of pixel {column} of row {number}");
                agree(what, found, expected, "row by row")?;
            }
        }
        let mut quantities = vec![RUN_TIME.measured(span.as_seconds_f64())];
        quantities.extend(workers::counts(&counters));
        Ok(quantities)
    }

    fn conclusions(done: &[Done<Self>]) -> Vec<Conclusion> {
        workers::speedups(done, |one| &mut one.workers)
    }

    fn figures(done: &[Done<Self>]) -> Vec<Figure> {
        against(done, "Time to draw all frames", RUN_TIME, axis)
    }
}
