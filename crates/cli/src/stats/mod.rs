//! `cellworks stats`: measures, and prints what was measured.

mod args;
mod explain;
mod found;
mod work;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use cellworks_machine::Topology;
use cellworks_runner::Runner;
use cellworks_sim::HazardWatch;
use cellworks_stats::{Function, Limits, MeasureError, Plan, Readings, Visits};

pub(crate) use args::StatsArgs;

use crate::args::span;
use crate::failure::Failure;
use crate::machine::{Job, on_machine};
use crate::session::{End, Session};
use args::Wanted;
use found::Found;
use work::{Work, title_of};

/// How long one measurement may take when everything is measured, if there is time for it.
const EACH: Duration = Duration::from_millis(100);

pub(crate) fn run(arguments: &StatsArgs) -> Result<(), Failure> {
    let wanted = arguments.wanted().map_err(Failure::Usage)?;
    let files = arguments.common.output.files()?;
    on_machine(&arguments.common, files, &Stats { arguments, wanted })
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
        match &self.wanted {
            // Everything has puts to shared buffers, and they are meant.
            Wanted::Everything => HazardWatch::Off,
            // Blocks of memory arrive one over the other in one window of the local store.
            Wanted::These(requests) if requests[0].function == Function::Memory => HazardWatch::Off,
            Wanted::These(_) => HazardWatch::Warn,
        }
    }

    fn run(
        work: Work,
        machine: &dyn Runner,
        session: &Session<Found>,
        after: &mut dyn FnMut(&str),
    ) -> End {
        measure_all(machine, work, session, after)
    }
}

/// Visits each plan in turn, and all of them again: so each is measured at several times, and its
/// interval says whether the computer was the same then. A matrix is visited once.
///
/// Between the visits, and before the first and after the last one, the reference is read.
///
/// `after` is told of each run what was measured in it.
fn measure_all(
    machine: &dyn Runner,
    mut work: Work,
    session: &Session<Found>,
    after: &mut dyn FnMut(&str),
) -> End {
    let mut reference = work.reference.take();
    let mut read = |is_last| match &mut reference {
        Some(readings) if is_last || readings.is_due() => read(machine, readings, session),
        _ => Ok(()),
    };
    match measure_plans(machine, work, session, &mut read, after) {
        End::Done => read(true).err().unwrap_or(End::Done),
        end => end,
    }
}

/// Reads the reference once more.
fn read(
    machine: &dyn Runner,
    readings: &mut Readings,
    session: &Session<Found>,
) -> Result<(), End> {
    machine
        .read_reference(readings)
        .map_err(|error| End::Failed(session.say(&format!("the reference of the run: {error}"))))?;
    let summary = readings.summary();
    session.update(|found| found.reference = summary);
    Ok(())
}

/// `before` is called before each visit.
fn measure_plans(
    machine: &dyn Runner,
    work: Work,
    session: &Session<Found>,
    before: &mut dyn FnMut(bool) -> Result<(), End>,
    after: &mut dyn FnMut(&str),
) -> End {
    let begin = Instant::now();
    let is_matrix = |plan: &Plan| plan.function().is_matrix();
    let matrices: Vec<bool> = work.plans.iter().map(is_matrix).collect();
    let operations = matrices.iter().filter(|is_matrix| !**is_matrix).count();
    let of_all = work.visits * operations as u32;
    let mut left = of_all;
    let mut all: Vec<_> = work
        .plans
        .into_iter()
        .map(|plan| Some(Visits::of(plan)))
        .collect();
    for visit in 1..=work.visits {
        for (step, slot) in all.iter_mut().enumerate() {
            let is_matrix = matrices[step];
            if is_matrix && visit > 1 {
                continue;
            }
            if !is_matrix {
                let (done, all) = (of_all - left, of_all);
                session.progress().at(done as usize, all as usize);
                left -= 1;
            }
            let Some(visits) = slot else {
                continue;
            };
            if let Some(end) = session.has_to_end() {
                return end;
            }
            if let Err(end) = before(false) {
                return end;
            }
            if let (Some(budget), false) = (work.budget, is_matrix) {
                let Some(time) = budget.checked_sub(begin.elapsed()) else {
                    return out_of_time(session);
                };
                // Capped before it is multiplied, because a long budget would overflow.
                let of_visits = (time / (left + 1)).min(EACH) * work.visits;
                visits.set_span(span(of_visits.min(EACH)));
            }
            let title = title_of(visits.plan());
            session.progress().about(session.say(&title));
            let (more, begin) = (visit < work.visits, Instant::now());
            let measured = machine.visit(visits, more, &mut |done, all| {
                session.progress().at(done, all);
                let budget = work.budget_of_a_matrix;
                let is_over = budget.is_some_and(|budget| begin.elapsed() > budget);
                match is_over || session.is_interrupted() {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            });
            match measured {
                Ok(found) => session.update(|all| all.measured(step, found)),
                Err(error @ MeasureError::Impossible(_)) => {
                    session.update(|all| all.refused(step, error.to_string()));
                    *slot = None;
                }
                Err(error) => return End::Failed(session.say(&format!("{title}: {error}"))),
            }
            // The pairs of an interrupted matrix are not all there.
            if let (true, Some(end)) = (is_matrix, session.has_to_end()) {
                return end;
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
