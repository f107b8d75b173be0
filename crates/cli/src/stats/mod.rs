//! `cellworks stats`: measures, and prints what was measured.

mod explain;
mod found;
mod work;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use cellworks_machine::{CellMachine, Topology};
use cellworks_sim::HazardWatch;
use cellworks_stats::{Limits, MeasureError, Visits, measure_matrix};

use crate::Failure;
use crate::args::{StatsArgs, Wanted, span};
use crate::machine::{Job, on_machine};
use crate::session::{End, Session};
use found::Found;
use work::{MatrixWork, Work, title_of};

/// How long one measurement may take when everything is measured, if there is time for it.
const EACH: Duration = Duration::from_millis(100);

pub(crate) fn run(arguments: &StatsArgs) -> Result<(), Failure> {
    let wanted = arguments.wanted().map_err(Failure::Usage)?;
    let page = arguments.common.output.page()?;
    on_machine(&arguments.common, page, &Stats { arguments, wanted })
}

/// What is wanted of a machine.
struct Stats<'a> {
    arguments: &'a StatsArgs,
    wanted: Wanted,
}

impl Job for Stats<'_> {
    type Plan = Work;
    type Steps = Found;

    fn plan(&self, topology: &Topology, limits: &Limits) -> Result<Work, Failure> {
        Work::of(&self.wanted, topology, limits, self.arguments)
    }

    fn steps(&self, work: &Work, topology: &Topology) -> Found {
        Found::nothing_of(work, topology)
    }

    fn hazards(&self) -> HazardWatch {
        match self.wanted {
            // Everything has puts to shared buffers, and they are meant.
            Wanted::Everything => HazardWatch::Off,
            Wanted::One(_) | Wanted::Matrix(_) => HazardWatch::Warn,
        }
    }

    fn run<M: CellMachine>(
        work: Work,
        machine: &M,
        session: &Session<Found>,
        after: &mut dyn FnMut(&str),
    ) -> End {
        measure_all(machine, work, session, after)
    }
}

/// Measures the matrices. Then visits each plan in turn, and all of them again: so each is measured
/// at several times, and its interval says whether the computer was the same then.
///
/// `after` is told of each run what was measured in it.
fn measure_all<M: CellMachine>(
    machine: &M,
    work: Work,
    session: &Session<Found>,
    after: &mut dyn FnMut(&str),
) -> End {
    let Work {
        matrices,
        plans,
        visits,
        budget,
        ..
    } = work;
    let begin = Instant::now();
    for (step, matrix) in matrices.iter().enumerate() {
        if let Err(end) = measure_pairs(machine, step, matrix, session) {
            return end;
        }
        after(&matrix.title);
    }
    let mut all: Vec<_> = plans
        .into_iter()
        .map(|plan| Some(Visits::of(plan)))
        .collect();
    let of_all = visits * all.len() as u32;
    let mut left = of_all;
    for visit in 1..=visits {
        for (slot, step) in all.iter_mut().zip(matrices.len()..) {
            session
                .progress()
                .at((of_all - left) as usize, of_all as usize);
            let this = left;
            left -= 1;
            let Some(measurement) = slot else {
                continue;
            };
            if let Some(end) = session.has_to_end() {
                return end;
            }
            if let Some(budget) = budget {
                let Some(time) = budget.checked_sub(begin.elapsed()) else {
                    return out_of_time(session);
                };
                // Capped before it is multiplied, because a long budget would overflow.
                let of_visits = (time / this).min(EACH) * visits;
                measurement.set_span(span(of_visits.min(EACH)));
            }
            let title = title_of(measurement.plan());
            session.progress().about(title.clone());
            match measurement.visit(machine, visit < visits) {
                Ok(found) => session.update(|all| all.measured(step, found)),
                Err(error @ MeasureError::Impossible(_)) => {
                    session.update(|all| all.refused(step, error.to_string()));
                    *slot = None;
                }
                Err(error) => return End::Failed(format!("{title}: {error}")),
            }
            after(&title);
        }
    }
    End::Done
}

/// How a run ends whose budget is spent.
fn out_of_time(session: &Session<Found>) -> End {
    let mut end = End::Done;
    session.update(|found| {
        if found.is_empty() {
            let message = "--budget: there was no time to measure anything; give more, such as 30s";
            end = End::Refused(message.to_owned());
        }
    });
    end
}

fn measure_pairs<M: CellMachine>(
    machine: &M,
    step: usize,
    work: &MatrixWork,
    session: &Session<Found>,
) -> Result<(), End> {
    let MatrixWork {
        title,
        plan,
        budget,
    } = work;
    session.progress().about(title.clone());
    let begin = Instant::now();
    let measured = measure_matrix(machine, plan, &mut |done, all| {
        session.progress().at(done, all);
        let is_over = budget.is_some_and(|budget| begin.elapsed() > budget);
        if is_over || session.is_interrupted() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    match measured {
        Ok(matrix) => session.update(|all| all.measured_pairs(step, matrix)),
        Err(error) => return Err(End::Failed(format!("{title}: {error}"))),
    }
    session.has_to_end().map_or(Ok(()), Err)
}
