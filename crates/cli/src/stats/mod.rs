//! `cellworks stats`: measures, and prints the results.

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
use crate::simulated::Sample;
use args::Wanted;
use found::Found;
use work::{Work, title_of};

/// The longest time for one measurement if `stats` measures everything.
const MEASUREMENT_TIME_MAX: Duration = Duration::from_millis(100);

pub(crate) fn run(arguments: &StatsArgs) -> Result<(), Failure> {
    let wanted = arguments.wanted().map_err(Failure::Usage)?;
    let files = arguments.common.output.files()?;
    on_machine(&arguments.common, files, &Stats { arguments, wanted })
}

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
        Found::empty(work, topology)
    }

    fn hazards(&self) -> HazardWatch {
        match &self.wanted {
            // Measuring everything includes puts to shared buffers, which are a hazard.
            Wanted::Everything => HazardWatch::Off,
            // The parts of each block overwrite each other in the local store, which is a hazard.
            Wanted::These(requests) if requests[0].function == Function::Memory => HazardWatch::Off,
            Wanted::These(_) => HazardWatch::Warn,
        }
    }

    fn sample(work: Work, machine: &dyn Runner) -> Result<Sample, String> {
        let plan = work.plans.first().ok_or("there is no measurement")?;
        let measured = machine.measure(plan).map_err(|error| error.to_string())?;
        Ok(Sample {
            name: "latency_ns".to_owned(),
            value: measured.latency_ns.p50,
            unit: "ns".to_owned(),
        })
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

/// Visits all plans in turn, several times. A visit measures a part of a plan, so the results show
/// changes of the computer's state. A matrix has only one visit. Between visits, the time of a
/// fixed pair of SPEs is measured. After each visit, `after` is called with the title of the plan.
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

/// Measures the plans. `before` is called before each visit.
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
            if let Some(end) = session.end_reason() {
                return end;
            }
            if let Err(end) = before(false) {
                return end;
            }
            if let (Some(budget), false) = (work.budget, is_matrix) {
                let Some(time) = budget.checked_sub(begin.elapsed()) else {
                    return out_of_time(session);
                };
                // `time` is limited before the multiplication, too, which could overflow.
                let of_visits = (time / (left + 1)).min(MEASUREMENT_TIME_MAX) * work.visits;
                visits.set_span(span(of_visits.min(MEASUREMENT_TIME_MAX)));
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
            // An interrupted matrix lacks times, so the run ends here.
            if let (true, Some(end)) = (is_matrix, session.end_reason()) {
                return end;
            }
            after(&title);
        }
    }
    End::Done
}

/// Returns the end of a run when its time is over.
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
