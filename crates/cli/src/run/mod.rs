//! `cellworks run`: runs a program once for each combination of its parameters, and prints what it
//! found.

mod args;
mod dma_latency;
mod found;
mod list;

use cellworks_apps::{ParameterError, Program, ProgramError, Visitor};
use cellworks_machine::{CellMachine, Machine, Topology};
use cellworks_sim::HazardWatch;
use cellworks_stats::Limits;

pub(crate) use args::RunArgs;

use crate::args::CommonArgs;
use crate::failure::Failure;
use crate::machine::{Job, Kind, on_machine};
use crate::session::{End, Session};
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
    let capabilities = Kind::of(&common.machine).capabilities();
    let programs = programs::<P>(&asked.flags, capabilities)
        .and_then(|programs| check_simulation(common, programs.len()).map(|()| programs))
        .map_err(|message| Failure::Usage(message + &example::<P>(common)))?;
    let page = common.output.page()?;
    on_machine(common, page, &Runs { common, programs })
}

/// An example that works on this machine.
fn example<P: Program>(common: &CommonArgs) -> String {
    let machine = common.machine_flag();
    format!(
        "\n  example: cellworks run {} {}{machine}",
        P::NAME,
        P::EXAMPLE
    )
}

/// The error with the flag in front.
fn explain<P: Program>(error: &ParameterError) -> String {
    about_parameter::<P>(error.parameter(), &error.to_string())
}

/// Programs that are run on a machine.
struct Runs<'a, P> {
    common: &'a CommonArgs,
    programs: Vec<P>,
}

impl<P: Program> Job for Runs<'_, P> {
    type Plan = Vec<P>;
    type Steps = Found<P>;

    fn plan(&self, topology: &Topology, _: &Limits) -> Result<Vec<P>, Failure> {
        let mut wrong = self.programs.iter().map(|program| program.check(topology));
        match wrong.find_map(Result::err) {
            None => Ok(self.programs.clone()),
            Some(error) => {
                let message = explain::<P>(&error);
                Err(Failure::Usage(message + &example::<P>(self.common)))
            }
        }
    }

    fn steps(&self, programs: &Vec<P>, _: &Topology) -> Found<P> {
        Found::nothing_of(programs)
    }

    fn hazards(&self) -> HazardWatch {
        HazardWatch::Warn
    }

    fn run<M: CellMachine>(
        programs: Vec<P>,
        machine: &M,
        session: &Session<Found<P>>,
        after: &mut dyn FnMut(&str),
    ) -> End {
        run_all(machine, &programs, session, after)
    }
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
    if Kind::of(&common.machine) != Kind::Simulated {
        return simulation.given().map_or(Ok(()), |flag| {
            Err(format!(
                "{flag} with --machine {}: only a simulated machine has it; choose one with --machine \
                 qs20, or leave {flag} out",
                common.machine
            ))
        });
    }
    match simulation.of_one_run() {
        Some(flag) if runs > 1 => Err(format!(
            "{flag} with {runs} runs: it is of one run; give each flag one value"
        )),
        _ => Ok(()),
    }
}
