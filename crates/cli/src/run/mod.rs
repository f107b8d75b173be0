//! `cellworks run`: runs a program once for each combination of its parameters, and prints what it found.

mod args;
mod dma_latency;
mod found;
mod list;
mod networks;

use cellworks_apps::{ParameterError, Program, ProgramError};
use cellworks_machine::{Machine, Topology};
use cellworks_report::MachineInfo;
use cellworks_sim::HazardWatch;

pub(crate) use args::RunArgs;

use crate::args::{CommonArgs, first_given};
use crate::failure::Failure;
use crate::output_file::OutputFile;
use crate::session::{End, Session, Shown};
use crate::simulated::{Simulated, load};
use crate::surroundings::{Surroundings, this_computer};
use args::{Asked, Asking, Kind, ProgramArgs, flag_of};
use found::Found;

pub(crate) fn run(arguments: &RunArgs) -> Result<(), Failure> {
    match &arguments.program {
        ProgramArgs::Aes(asked) => run_asked(asked),
        ProgramArgs::Barrier(asked) => run_asked(asked),
        ProgramArgs::CommsTime(asked) => run_asked(asked),
        ProgramArgs::DmaLatency(asked) => run_asked(asked),
        ProgramArgs::Knn(asked) => run_asked(asked),
        ProgramArgs::Overlap(asked) => run_asked(asked),
        ProgramArgs::Prototein(asked) => run_asked(asked),
        ProgramArgs::Ratio(asked) => run_asked(asked),
        ProgramArgs::Switch(asked) => run_asked(asked),
    }
}

fn run_asked<A: Asked>(asked: &Asking<A>) -> Result<(), Failure> {
    let common = &asked.common;
    let kind = match common.is_simulated() {
        true => Kind::Simulated,
        false => Kind::ThisComputer,
    };
    let example = || format!("\n  example: cellworks run {}", example::<A>(common));
    let programs = asked
        .program
        .programs(kind)
        .and_then(|programs| check_simulation(common, programs.len()).map(|()| programs))
        .map_err(|message| Failure::Usage(message + &example()))?;
    let page = common.output.page()?;
    let check = |topology: &Topology| {
        let mut wrong = programs.iter().map(|program| program.check(topology));
        let wrong = wrong.find_map(Result::err);
        wrong.map_or(Ok(()), |error| {
            Err(Failure::Usage(explain(&error) + &example()))
        })
    };
    if common.is_simulated() {
        on_simulated(common, &programs, page, &check)
    } else {
        on_host(common, &programs, page, &check)
    }
}

fn example<A: Asked>(common: &CommonArgs) -> String {
    A::EXAMPLE.to_owned() + &common.machine_flag()
}

/// The error with the flag in front.
fn explain(error: &ParameterError) -> String {
    format!("{}: {error}", flag_of(error.parameter()))
}

/// Whether a machine can run what was asked for.
type Check<'a> = &'a dyn Fn(&Topology) -> Result<(), Failure>;

fn on_host<P: Program + Clone + Send + 'static>(
    common: &CommonArgs,
    programs: &[P],
    page: Option<OutputFile>,
    check: Check<'_>,
) -> Result<(), Failure> {
    let host = this_computer()?;
    check(host.topology())?;
    let surroundings = Surroundings::of(host)?;
    let machine = MachineInfo::of(host.topology(), None);
    let found = Found::nothing_of(programs);
    let session = Session::begin(machine, Some(surroundings), found, Shown::of(common, page));
    session.conclude(run_all(host, programs, &session, &mut |_| {}))
}

fn on_simulated<P: Program + Clone + Send + 'static>(
    common: &CommonArgs,
    programs: &[P],
    page: Option<OutputFile>,
    check: Check<'_>,
) -> Result<(), Failure> {
    let description = load(&common.machine)?;
    let flags = &common.simulation;
    let usual = HazardWatch::Warn;
    let machine = Simulated::build(description, flags, usual, page.as_ref(), check)?;
    let found = Found::nothing_of(programs);
    let session = machine.session(found, Shown::of(common, page));
    machine.run(&session, |after| {
        run_all(&machine.sim, programs, &session, after)
    })
}

/// Runs each program; `after` is told of each what has run.
fn run_all<M: Machine, P: Program + Clone + Send + 'static>(
    machine: &M,
    programs: &[P],
    session: &Session<Found<P>>,
    after: &mut dyn FnMut(&str),
) -> End {
    for (step, program) in programs.iter().enumerate() {
        if let Some(end) = session.has_to_end() {
            return end;
        }
        let title = program.title();
        session.progress().at(step, programs.len());
        session.progress().about(title.clone());
        match program.run(machine) {
            Ok(quantities) => session.update(|found| found.ran(program.clone(), quantities)),
            Err(ProgramError::Parameter(error)) => return End::Refused(explain(&error)),
            Err(error @ ProgramError::LocalStore(_)) => {
                return End::Refused(format!("--block: {title}: {error}"));
            }
            Err(error) => return End::Failed(format!("{title}: {error}")),
        }
        after(&title);
    }
    session.has_to_end().unwrap_or(End::Done)
}

/// Refuses flags of simulated machines for this computer, and flags of one run for many.
fn check_simulation(common: &CommonArgs, runs: usize) -> Result<(), String> {
    let simulation = &common.simulation;
    let of_one_run = [
        (simulation.trace.is_some(), "--trace"),
        (simulation.counters, "--counters"),
    ];
    let of_a_simulation = [
        (simulation.limit.is_some(), "--limit"),
        (simulation.seed.is_some(), "--seed"),
        (simulation.hazards.is_some(), "--hazards"),
        (simulation.system_calls, "--system-calls"),
    ];
    if !common.is_simulated() {
        let given = first_given(&of_one_run).or_else(|| first_given(&of_a_simulation));
        return given.map_or(Ok(()), |flag| {
            Err(format!(
                "{flag} with --machine host: only a simulated machine has it; choose one with --machine \
                 qs20, or leave {flag} out"
            ))
        });
    }
    match first_given(&of_one_run) {
        Some(flag) if runs > 1 => Err(format!(
            "{flag} with {runs} runs: it is of one run; give each flag one value"
        )),
        _ => Ok(()),
    }
}
