//! `cellworks run`: runs a program with each combination of its parameters, and prints results.

mod args;
mod deploy;
mod found;
mod kept;
mod list;
mod pictures;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use cellworks_apps::{
    Deployment, Draw, NetworkError, ParameterError, Picture, PoolError, ProgramError,
};
use cellworks_machine::Topology;
use cellworks_runner::{Choice, ProgramKind, Runner};
use cellworks_sim::HazardWatch;
use cellworks_stats::Limits;
use serde_json::json;

pub(crate) use args::RunArgs;
pub(crate) use list::sizes;

use crate::args::CommonArgs;
use crate::failure::Failure;
use crate::machine::{self, Job, MachineKind, check_simulation, on_machine};
use crate::output_file::OutputFile;
use crate::session::{End, Session};
use crate::simulated::Sample;
use crate::surroundings::check_address_space;
use crate::sweep::{Header, Sweep};
use args::{ProgramArgs, about_parameter, flags_of_one, known, programs};
use deploy::deployment;
use found::ProgramSteps;
use kept::{keep, read};
use pictures::Pictures;

pub(crate) fn run(arguments: &RunArgs) -> Result<(), Failure> {
    let asked = &arguments.program;
    let kind = known(&asked.name);
    let common = &asked.common;
    let capabilities = MachineKind::of(&common.machine).capabilities();
    let of_one_run = flag_of_one_run(asked);
    let programs = programs(kind, &asked.flags, capabilities, of_one_run.is_some())
        .and_then(|programs| {
            check_simulation(&common.machine, &common.simulation).map(|()| programs)
        })
        .and_then(|programs| check_sweep(asked).map(|()| programs))
        .map_err(|message| Failure::Usage(message + &example_here(kind, common)))?;
    if let (Some((name, flag)), true) = (of_one_run, programs.len() > 1) {
        return Err(Failure::Usage(format!(
            "{name} with {} runs: it is of one run; give each flag one value\n  example: cellworks run {}{}{} {flag}",
            programs.len(),
            kind.name,
            flags_of_one(kind, &asked.flags, &programs),
            common.machine_flag()
        )));
    }
    let files = common.output.files()?;
    files.refuse_to_replace_any([&asked.sweep.results])?;
    let places = asked.network.places()?;
    let volumes = asked.network.volumes_file(&files, common.output.format)?;
    let pictures = asked
        .drawing
        .png
        .as_deref()
        .map(Pictures::into)
        .transpose()?;
    let runs = Runs {
        kind,
        asked,
        common,
        programs,
        places,
        volumes: Arc::new(Mutex::new(volumes)),
        pictures,
    };
    on_machine(common, files, &runs)
}

/// Returns an example that works on the machine that the flags choose, before this machine is made.
fn example_here(kind: ProgramKind, common: &CommonArgs) -> String {
    let topology = MachineKind::of(&common.machine).topology(common.cpus.as_ref());
    example(kind, common, topology)
}

/// Returns an example that works on a machine. `topology` is `None` if the machine is not made yet.
fn example(kind: ProgramKind, common: &CommonArgs, topology: Option<&Topology>) -> String {
    let machine = common.machine_flag();
    let has_one = topology.is_some_and(|topology| topology.spes().len() == 1);
    let flags = match kind.example_on_one_spe.filter(|_| has_one) {
        Some(flags) => flags.to_owned(),
        None => {
            let mut words: Vec<&str> = kind.example.split(' ').collect();
            for at in 1..words.len() {
                if has_one && ["--spes", "--workers"].contains(&words[at - 1]) {
                    words[at] = "1";
                }
            }
            words.join(" ")
        }
    };
    // If the flags of an example contain `--machine`, that of the user is left out.
    let machine = if flags.contains("--machine") {
        ""
    } else {
        &machine
    };
    format!("\n  example: cellworks run {} {flags}{machine}", kind.name)
}

/// Returns the message of the error, which begins with the flag.
fn explain(kind: ProgramKind, error: &ParameterError) -> String {
    about_parameter(kind, error.parameter(), &error.to_string())
}

/// The programs that are run on a machine, one after the other.
struct Runs<'a> {
    kind: ProgramKind,
    asked: &'a ProgramArgs,
    common: &'a CommonArgs,
    programs: Vec<Choice>,
    /// The SPE of each task of the only program, if `--placement` was given.
    places: Option<Vec<usize>>,
    /// The file for what the processes send to each other, until it is written.
    volumes: Arc<Mutex<Option<OutputFile>>>,
    /// The files for the pictures of a single program that draws.
    pictures: Option<Pictures>,
}

struct Plan {
    kind: ProgramKind,
    programs: Vec<Choice>,
    deployment: Deployment,
    volumes: Arc<Mutex<Option<OutputFile>>>,
    pictures: Option<Pictures>,
}

impl Job for Runs<'_> {
    type Plan = Plan;
    type Steps = ProgramSteps;

    fn plan(&self, topology: &Topology, _: &Limits) -> Result<Plan, Failure> {
        let mut wrong = self.programs.iter().map(|program| program.check(topology));
        match wrong.find_map(Result::err) {
            None => {
                check_address_space_of(&self.programs)?;
                let network = &self.asked.network;
                Ok(Plan {
                    deployment: deployment(network, self.places.as_deref(), topology)?,
                    volumes: Arc::clone(&self.volumes),
                    kind: self.kind,
                    programs: self.programs.clone(),
                    pictures: self.pictures.clone(),
                })
            }
            Some(error) => {
                let message = explain(self.kind, &error);
                let example = example(self.kind, self.common, Some(topology));
                Err(Failure::Usage(message + &example))
            }
        }
    }

    fn steps(&self, plan: &Plan, _: &Topology) -> ProgramSteps {
        ProgramSteps::empty(plan.kind, &plan.programs)
    }

    fn sweep(&self, plan: &Plan, machine: String) -> Result<Sweep, Failure> {
        let steps = plan.programs.iter().map(|program| {
            let parameters: serde_json::Map<_, _> = program.parameters().into_iter().collect();
            json!({ self.kind.name: parameters })
        });
        let name = format!("run-{}", self.kind.name);
        self.asked
            .sweep
            .begin(&name, Header::of(machine, steps.collect()))
    }

    fn hazards(&self) -> HazardWatch {
        HazardWatch::Warn
    }

    fn sample(plan: Plan, machine: &dyn Runner) -> Result<Sample, String> {
        let program = plan.programs.first().ok_or("there is no program")?;
        let ran = machine.run_program(&**program);
        let quantities = ran.map_err(|error| error.to_string())?;
        let first = quantities.first().ok_or("the program has no results")?;
        Ok(Sample {
            name: first.name.to_owned(),
            value: first.value,
            unit: first.unit.to_owned(),
        })
    }

    fn run(
        plan: Plan,
        machine: &dyn Runner,
        session: &Session<ProgramSteps>,
        after: &mut dyn FnMut(&str),
    ) -> End {
        run_all(machine, plan, session, after)
    }
}

/// Runs each program, and calls `after` with its name when the run has ended.
fn run_all(
    machine: &dyn Runner,
    plan: Plan,
    session: &Session<ProgramSteps>,
    after: &mut dyn FnMut(&str),
) -> End {
    let Plan {
        kind,
        programs,
        mut deployment,
        volumes,
        mut pictures,
    } = plan;
    let known = |found: &mut ProgramSteps, step: usize, quantities| {
        found.record_run(step, Arc::clone(&programs[step]), quantities);
    };
    let read = |values| read(kind, values);
    let to_do = match session.to_do(programs.len(), read, known) {
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
        let mut write = pictures
            .as_mut()
            .map(|pictures| |picture: &Picture| pictures.write(picture));
        let mut leave = |_: &Picture| {};
        let draw = write.as_mut().map_or(&mut leave as Draw<'_>, |write| write);
        let result = machine.run_as(&**program, draw, &mut deployment);
        if let Some(failure) = pictures.as_mut().and_then(Pictures::failure) {
            return End::Failed(failure);
        }
        match result {
            Ok(quantities) => {
                if let Some(flows) = &deployment.flows
                    && let Some(file) = volumes.lock().expect("no panic holds it").take()
                {
                    session.record_warnings(Vec::from_iter(deploy::warning_about(flows)));
                    if let Err(message) = deploy::write(file, flows) {
                        return End::Failed(message);
                    }
                }
                if let Err(message) = keep(session, step, &quantities) {
                    return End::Failed(message);
                }
                session.update(|found| found.record_run(step, Arc::clone(program), quantities));
            }
            Err(ProgramError::Parameter(error)) => return End::Refused(explain(kind, &error)),
            Err(error @ ProgramError::LocalStore(_)) => {
                let message = format!("{title}: {error}");
                return End::Refused(about_parameter(kind, "block_bytes", &message));
            }
            Err(ProgramError::Network(error @ NetworkError::Placed { .. })) => {
                return End::Refused(format!("--placement: {error}"));
            }
            Err(ProgramError::Pool(
                error @ (PoolError::Placed { .. } | PoolError::SharedSpe { .. }),
            )) => return End::Refused(format!("--placement: {error}")),
            Err(error) => return End::Failed(format!("{title}: {error}")),
        }
        after(&title);
    }
    session.end_reason().unwrap_or(End::Done)
}

/// Fails if flags of sweeps are given for this computer. Also fails if flags of sweeps are combined
/// with flags that show the events of a run, because results from files have no events.
fn check_sweep(asked: &ProgramArgs) -> Result<(), String> {
    let Some(flag) = asked.sweep.first_given() else {
        return Ok(());
    };
    let common = &asked.common;
    machine::check_sweep(&asked.sweep, &common.machine)?;
    let png = asked.drawing.png.as_ref().map(|_| "--png");
    let of_network = asked.network.first_given();
    match common.simulation.single_run_flag().or(png).or(of_network) {
        Some(other) => Err(format!(
            "{flag} with {other}: {other} shows a run as it happens, and a file of results has only what it \
             found; leave one of them out"
        )),
        None => Ok(()),
    }
}

/// Fails if a program would exceed the limit of the address space. Without this check, an
/// allocation of the program would fail and end the process.
fn check_address_space_of(programs: &[Choice]) -> Result<(), Failure> {
    let largest = programs
        .iter()
        .max_by_key(|program| program.address_space_bytes());
    largest.map_or(Ok(()), |largest| {
        let what = format!(
            "{}: a run with parameters as large as these",
            largest.title()
        );
        check_address_space(&what, largest.address_space_bytes())
    })
}

/// Returns the first flag for a single run that the user has given: its name, and all of it.
fn flag_of_one_run(asked: &ProgramArgs) -> Option<(&'static str, String)> {
    let simulation = &asked.common.simulation;
    let name = simulation.single_run_flag();
    let name = name.or_else(|| asked.drawing.png.as_ref().map(|_| "--png"));
    let name = name.or_else(|| asked.network.first_given())?;
    let shown = |file: &PathBuf| file.display().to_string();
    let value = match name {
        "--trace" => simulation.trace.as_ref().map(shown),
        "--png" => asked.drawing.png.as_ref().map(shown),
        "--volumes" => asked.network.volumes.as_ref().map(shown),
        "--placement" => asked.network.placement.clone(),
        _ => None,
    };
    let value = value.map(|value| format!(" {value}"));
    Some((name, format!("{name}{}", value.unwrap_or_default())))
}
