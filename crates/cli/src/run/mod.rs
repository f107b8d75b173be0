//! `cellworks run`: runs a program once for each combination of its parameters, and prints the
//! results.

mod args;
mod dma_latency;
mod found;
mod kept;
mod list;
mod pictures;

use cellworks_apps::{ParameterError, Program, ProgramError, Visitor};
use cellworks_machine::{CellMachine, Machine, Topology};
use cellworks_sim::HazardWatch;
use cellworks_stats::Limits;
use serde_json::json;

pub(crate) use args::RunArgs;
pub(crate) use list::sizes;

use crate::args::CommonArgs;
use crate::failure::Failure;
use crate::machine::{self, Job, Kind, on_machine};
use crate::session::{End, Session};
use crate::sweep::{Header, Sweep};
use args::{DrawingArgs, ProgramArgs, about_parameter, programs, visit};
use found::Found;
use kept::{keep, read};
use pictures::Pictures;

pub(crate) fn run(arguments: &RunArgs) -> Result<(), Failure> {
    visit(&arguments.program.name, Start(&arguments.program))
}

/// Runs the program with the arguments.
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
        .and_then(|programs| check_sweep(asked).map(|()| programs))
        .and_then(|programs| check_drawing(&asked.drawing, programs.len()).map(|()| programs))
        .map_err(|message| Failure::Usage(message + &example::<P>(common, None)))?;
    let files = common.output.files()?;
    files.refuse_to_replace_any([&asked.sweep.results])?;
    let pictures = asked
        .drawing
        .png
        .as_deref()
        .map(Pictures::into)
        .transpose()?;
    let runs = Runs {
        asked,
        common,
        programs,
        pictures,
    };
    on_machine(common, files, &runs)
}

/// An example that works on this machine. `topology` is `None` if the machine is not known.
fn example<P: Program>(common: &CommonArgs, topology: Option<&Topology>) -> String {
    let machine = common.machine_flag();
    let has_one = topology.is_some_and(|topology| topology.spes().len() == 1);
    let mut words: Vec<&str> = P::EXAMPLE.split(' ').collect();
    for at in 1..words.len() {
        if has_one && ["--spes", "--workers"].contains(&words[at - 1]) {
            words[at] = "1";
        }
    }
    let words = words.join(" ");
    format!("\n  example: cellworks run {} {words}{machine}", P::NAME)
}

/// The message of the error, with the flag in front.
fn explain<P: Program>(error: &ParameterError) -> String {
    about_parameter::<P>(error.parameter(), &error.to_string())
}

/// The programs that are run on a machine, one after the other.
struct Runs<'a, P> {
    asked: &'a ProgramArgs,
    common: &'a CommonArgs,
    programs: Vec<P>,
    /// The files for the pictures, if there is a single program that draws.
    pictures: Option<Pictures>,
}

impl<P: Program> Job for Runs<'_, P> {
    type Plan = (Vec<P>, Option<Pictures>);
    type Steps = Found<P>;

    fn plan(&self, topology: &Topology, _: &Limits) -> Result<Self::Plan, Failure> {
        let mut wrong = self.programs.iter().map(|program| program.check(topology));
        match wrong.find_map(Result::err) {
            None => Ok((self.programs.clone(), self.pictures.clone())),
            Some(error) => {
                let message = explain::<P>(&error);
                let example = example::<P>(self.common, Some(topology));
                Err(Failure::Usage(message + &example))
            }
        }
    }

    fn steps(&self, (programs, _): &Self::Plan, _: &Topology) -> Found<P> {
        Found::empty(programs)
    }

    fn sweep(&self, (programs, _): &Self::Plan, machine: String) -> Result<Sweep, Failure> {
        let steps = programs.iter().map(|program| {
            let parameters: serde_json::Map<_, _> = program.parameters().into_iter().collect();
            json!({ P::NAME: parameters })
        });
        let name = format!("run-{}", P::NAME);
        self.asked
            .sweep
            .begin(&name, Header::of(machine, steps.collect()))
    }

    fn hazards(&self) -> HazardWatch {
        HazardWatch::Warn
    }

    fn run<M: CellMachine>(
        (programs, pictures): Self::Plan,
        machine: &M,
        session: &Session<Found<P>>,
        after: &mut dyn FnMut(&str),
    ) -> End {
        run_all(machine, &programs, pictures, session, after)
    }
}

/// Runs each program. `after` is called after each run, with the name of the program.
fn run_all<M: Machine, P: Program>(
    machine: &M,
    programs: &[P],
    mut pictures: Option<Pictures>,
    session: &Session<Found<P>>,
    after: &mut dyn FnMut(&str),
) -> End {
    let known = |found: &mut Found<P>, step: usize, quantities| {
        found.record_run(step, programs[step].clone(), quantities);
    };
    let to_do = match session.to_do(programs.len(), read::<P>, known) {
        Ok(to_do) => to_do,
        Err(end) => return end,
    };
    for (step, program) in programs.iter().enumerate() {
        if let Some(end) = session.end_reason() {
            return end;
        }
        if !to_do.contains(&step) {
            continue;
        }
        let title = program.title();
        session.progress().at(step, programs.len());
        session.progress().about(session.say(&title));
        let result = match &mut pictures {
            None => program.run(machine),
            Some(pictures) => program.run_and_draw(machine, &mut |picture| pictures.write(picture)),
        };
        if let Some(failure) = pictures.as_mut().and_then(Pictures::failure) {
            return End::Failed(failure);
        }
        match result {
            Ok(quantities) => {
                if let Err(message) = keep(session, step, &quantities) {
                    return End::Failed(message);
                }
                session.update(|found| found.record_run(step, program.clone(), quantities));
            }
            Err(ProgramError::Parameter(error)) => return End::Refused(explain::<P>(&error)),
            Err(error @ ProgramError::LocalStore(_)) => {
                let message = format!("{title}: {error}");
                return End::Refused(about_parameter::<P>("block_bytes", &message));
            }
            Err(error) => return End::Failed(format!("{title}: {error}")),
        }
        after(&title);
    }
    session.end_reason().unwrap_or(End::Done)
}

/// Refuses flags of sweeps on this computer. Refuses them also with flags that show what happens in
/// a run, because a result from a file has no run.
fn check_sweep(asked: &ProgramArgs) -> Result<(), String> {
    let Some(flag) = asked.sweep.first_given() else {
        return Ok(());
    };
    let common = &asked.common;
    machine::check_sweep(&asked.sweep, &common.machine)?;
    let png = asked.drawing.png.as_ref().map(|_| "--png");
    match common.simulation.single_run_flag().or(png) {
        Some(other) => Err(format!(
            "{flag} with {other}: {other} shows a run as it happens, and a file of results has only what it \
             found; leave one of them out"
        )),
        None => Ok(()),
    }
}

/// Refuses to draw if several runs would write the same files.
fn check_drawing(drawing: &DrawingArgs, runs: usize) -> Result<(), String> {
    match drawing.png {
        Some(_) if runs > 1 => Err(format!(
            "--png with {runs} runs: it is of one run; give each flag one value"
        )),
        _ => Ok(()),
    }
}

/// Refuses flags of simulated machines on this computer, and flags of a single run if there are
/// several runs.
fn check_simulation(common: &CommonArgs, runs: usize) -> Result<(), String> {
    let simulation = &common.simulation;
    if Kind::of(&common.machine) != Kind::Simulated {
        return simulation.first_given().map_or(Ok(()), |flag| {
            Err(format!(
                "{flag} with --machine {}: only a simulated machine has it; choose one with --machine \
                 qs20, or leave {flag} out",
                common.machine
            ))
        });
    }
    match simulation.single_run_flag() {
        Some(flag) if runs > 1 => Err(format!(
            "{flag} with {runs} runs: it is of one run; give each flag one value"
        )),
        _ => Ok(()),
    }
}
