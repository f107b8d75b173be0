//! `cellworks run`: runs a program once for each combination of its parameters, and prints what it found.

mod args;
mod dma_latency;
mod found;
mod list;

use cellworks_apps::{ParameterError, Program, ProgramError, Visitor};
use cellworks_machine::{Machine, Topology};
use cellworks_report::MachineInfo;
use cellworks_sim::HazardWatch;

pub(crate) use args::RunArgs;

use crate::args::{CommonArgs, first_given};
use crate::failure::Failure;
use crate::machine::Kind;
use crate::output_file::OutputFile;
use crate::session::{End, Session, Shown};
use crate::simulated::{Simulated, load};
use crate::surroundings::{Surroundings, this_computer};
use args::{ProgramArgs, about_parameter, programs, visit};
use found::Found;

pub(crate) fn run(arguments: &RunArgs) -> Result<(), Failure> {
    visit(&arguments.program.name, Start(&arguments.program))
}

/// Runs what was asked for.
struct Start<'a>(&'a ProgramArgs);

impl Visitor for Start<'_> {
    type Output = Result<(), Failure>;

    fn visit<P: Program>(self) -> Result<(), Failure> {
        run_program::<P>(self.0)
    }
}

fn run_program<P: Program>(asked: &ProgramArgs) -> Result<(), Failure> {
    let common = &asked.common;
    let kind = Kind::of(&common.machine);
    let example = || {
        let machine = common.machine_flag();
        format!(
            "\n  example: cellworks run {} {}{machine}",
            P::NAME,
            P::EXAMPLE
        )
    };
    let programs = programs::<P>(&asked.flags, kind.capabilities())
        .and_then(|programs| check_simulation(common, programs.len()).map(|()| programs))
        .map_err(|message| Failure::Usage(message + &example()))?;
    let page = common.output.page()?;
    let check = |topology: &Topology| {
        let mut wrong = programs.iter().map(|program| program.check(topology));
        let wrong = wrong.find_map(Result::err);
        wrong.map_or(Ok(()), |error| {
            Err(Failure::Usage(explain::<P>(&error) + &example()))
        })
    };
    match kind {
        Kind::ThisComputer => on_host(common, &programs, page, &check),
        Kind::Simulated => on_simulated(common, &programs, page, &check),
    }
}

/// The error with the flag in front.
fn explain<P: Program>(error: &ParameterError) -> String {
    about_parameter::<P>(error.parameter(), &error.to_string())
}

/// Whether a machine can run what was asked for.
type Check<'a> = &'a dyn Fn(&Topology) -> Result<(), Failure>;

fn on_host<P: Program>(
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

fn on_simulated<P: Program>(
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
fn run_all<M: Machine, P: Program>(
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
            Err(ProgramError::Parameter(error)) => return End::Refused(explain::<P>(&error)),
            Err(error @ ProgramError::LocalStore(_)) => {
                let message = format!("{title}: {error}");
                return End::Refused(about_parameter::<P>("block_bytes", &message));
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
    if Kind::of(&common.machine) != Kind::Simulated {
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
