//! `cellworks stats`: measures, and prints what was measured.

mod explain;
mod found;
mod simulated;
mod work;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use cellworks_machine::{CellMachine, LOCAL_STORE_BYTES, Machine};
use cellworks_report::MachineInfo;
use cellworks_stats::{Limits, MeasureError, Visits, measure_matrix};

use crate::Failure;
use crate::args::{StatsArgs, Wanted, span};
use crate::output_file::OutputFile;
use crate::session::{End, Session};
use crate::surroundings::{Surroundings, this_computer};
use found::Found;
use work::{MatrixWork, Work, title_of};

/// What this computer allows at the most: DMA blocks of up to 64 MB, so that what does not fit in the
/// caches is seen too, and 4 GB for the buffers of one measurement.
const HOST_LIMITS: Limits = Limits {
    block_bytes_max: 64 << 20,
    local_store_bytes: LOCAL_STORE_BYTES,
    memory_bytes_max: 4 << 30,
    staging_bytes_max: None,
    bandwidth_bytes_per_s_max: None,
};

/// One store a cycle of the widest registers that there are, 512 bits.
const BYTES_PER_CYCLE_MAX: u64 = 64;

/// The clock rate that no processor reaches, where the system does not say what this one does.
const CLOCK_HZ_MAX: u64 = 10_000_000_000;

/// How long one measurement may take when everything is measured, if there is time for it.
const EACH: Duration = Duration::from_millis(100);

pub(crate) fn run(arguments: &StatsArgs) -> Result<(), Failure> {
    let wanted = arguments.wanted().map_err(Failure::Usage)?;
    let page = arguments.common.output.page()?;
    if arguments.is_simulated() {
        simulated::run(arguments, &wanted, page)
    } else {
        run_on_host(arguments, &wanted, page)
    }
}

fn run_on_host(
    arguments: &StatsArgs,
    wanted: &Wanted,
    page: Option<OutputFile>,
) -> Result<(), Failure> {
    let host = this_computer()?;
    // What cannot be done is said before anybody waits.
    Work::of(wanted, host.topology(), &HOST_LIMITS, arguments)?;
    let surroundings = Surroundings::of(host)?;
    let limits = limits_of(&surroundings);
    let work = Work::of(wanted, host.topology(), &limits, arguments)?;
    let machine = MachineInfo::of(host.topology(), None);
    let found = Found::nothing_of(&work, host.topology());
    let session = Session::begin(
        machine,
        Some(surroundings),
        found,
        arguments.common.shown(page),
    );
    session.conclude(measure_all(host, work, &session, &mut |_| {}))
}

/// What this computer allows in its present state.
fn limits_of(surroundings: &Surroundings) -> Limits {
    let clock_hz = surroundings.clock_bound_hz().unwrap_or(CLOCK_HZ_MAX);
    // The other half is for what is measured beside, and for everybody else.
    let memory = surroundings.memory_available_bytes().map(|bytes| bytes / 2);
    let memory = memory.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    Limits {
        memory_bytes_max: memory.map_or(HOST_LIMITS.memory_bytes_max, |bytes| {
            bytes.min(HOST_LIMITS.memory_bytes_max)
        }),
        bandwidth_bytes_per_s_max: Some(clock_hz.saturating_mul(BYTES_PER_CYCLE_MAX)),
        ..HOST_LIMITS
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
