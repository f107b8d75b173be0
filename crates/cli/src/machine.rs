//! The kinds of machines that `--machine` can name, and work that runs on machines of all kinds.

use std::path::Path;

use cellworks_host::Host;
use cellworks_machine::{Capabilities, Machine, Topology};
use cellworks_report::{MachineInfo, MachineReport, Words};
use cellworks_runner::{Runner, simulated};
use cellworks_sim::{HazardWatch, Sim};
use cellworks_stats::Limits;

use crate::args::{CommonArgs, Cpus, HOST, MachineArgs, SimulationArgs};
use crate::failure::Failure;
use crate::output::ResultFiles;
use crate::parts;
use crate::session::{End, Session, SessionOptions, Steps};
use crate::simulated::{Sample, Simulated, identity, limits_of, load};
use crate::surroundings::{self, Surroundings, this_computer};
use crate::sweep::{Sweep, SweepArgs};

/// A kind of machine. Only this file knows all kinds: others call the methods, and [`on_machine`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MachineKind {
    ThisComputer,
    Simulated,
}

impl MachineKind {
    /// Returns the kind of the machine with the given name.
    pub fn of(machine: &str) -> Self {
        match machine {
            HOST => Self::ThisComputer,
            _ => Self::Simulated,
        }
    }

    /// Returns the capabilities of all machines of this kind.
    pub fn capabilities(self) -> Capabilities {
        match self {
            Self::ThisComputer => Capabilities::default(),
            Self::Simulated => Sim::CAPABILITIES,
        }
    }

    /// Returns true if the machine is simulated. Only a simulated machine takes the flags of
    /// [`SimulationArgs`](crate::args::SimulationArgs) and of [`SweepArgs`], and only simulations
    /// can run in parallel.
    pub fn is_simulated(self) -> bool {
        self == Self::Simulated
    }

    /// Returns the topology of the machine, if it is known before [`on_machine`] makes the machine.
    pub fn topology(self, cpus: Option<&Cpus>) -> Option<&'static Topology> {
        match self {
            Self::ThisComputer => Some(this_computer(cpus).ok()?.topology()),
            Self::Simulated => None,
        }
    }

    /// Translates a message into the words of machines of this kind.
    pub fn say(self, message: String, topology: &Topology) -> String {
        match self {
            Self::ThisComputer => Words::of(&MachineInfo::of(topology, None)).say(&message),
            Self::Simulated => message,
        }
    }

    /// Returns the parts of the machine. Fails if one of the result `files` would replace the file
    /// that describes the machine.
    pub fn parts(
        self,
        arguments: &MachineArgs,
        files: &ResultFiles,
    ) -> Result<MachineReport, Failure> {
        let MachineArgs { machine, cpus, .. } = arguments;
        match self {
            Self::ThisComputer => parts::of_this_computer(cpus.as_ref()),
            Self::Simulated => {
                refuse_cpus(cpus.as_ref(), machine)?;
                files.refuse_to_replace(Path::new(machine))?;
                parts::of_description(&load(machine)?).map_err(Failure::run)
            }
        }
    }
}

/// Fails if CPUs are given for a simulated machine.
pub(crate) fn refuse_cpus(cpus: Option<&Cpus>, machine: &str) -> Result<(), Failure> {
    cpus.map_or(Ok(()), |_| {
        Err(Failure::Usage(format!(
            "--cpus with {machine}: a simulated machine has none of this computer's CPUs; leave one of them out"
        )))
    })
}

/// Fails if flags of simulated machines are given for this computer.
pub(crate) fn check_simulation(machine: &str, flags: &SimulationArgs) -> Result<(), String> {
    match flags.first_given() {
        Some(flag) if !MachineKind::of(machine).is_simulated() => Err(format!(
            "{flag} with --machine {machine}: only a simulated machine has it; choose one with --machine qs20, or \
             leave {flag} out"
        )),
        _ => Ok(()),
    }
}

/// Fails if flags of sweeps are given for this computer.
pub(crate) fn check_sweep(sweep: &SweepArgs, machine: &str) -> Result<(), String> {
    match sweep.first_given() {
        Some(flag) if !MachineKind::of(machine).is_simulated() => Err(format!(
            "{flag} with --machine {machine}: only simulations give the same results on every computer; choose a \
             simulated machine, such as --machine qs20, or leave {flag} out"
        )),
        _ => Ok(()),
    }
}

/// The work of a command on a machine of any kind.
pub(crate) trait Job {
    type Plan;
    type Steps: Steps;

    /// Checks and plans the job, before files are written.
    fn plan(&self, topology: &Topology, limits: &Limits) -> Result<Self::Plan, Failure>;

    /// Returns the steps of a plan. No step has a result yet.
    fn steps(&self, plan: &Self::Plan, topology: &Topology) -> Self::Steps;

    /// Returns the steps that this process does on a simulated machine, and the file for their
    /// results. `machine` is a text about the machine. Equal texts mean that the results are equal.
    fn sweep(&self, _plan: &Self::Plan, _machine: String) -> Result<Sweep, Failure> {
        Ok(Sweep::default())
    }

    /// Returns the reaction to hazards, such as overlapping transfers, if no flag sets it.
    fn hazards(&self) -> HazardWatch;

    /// Runs a plan of one step again on another machine, and returns the number that says how fast it
    /// was. `Err` has the reason why there is no number.
    fn sample(_plan: Self::Plan, _machine: &dyn Runner) -> Result<Sample, String> {
        Err("several results have no single number".to_owned())
    }

    /// Runs the plan. After each run, calls `after` with the title of the run.
    fn run(
        plan: Self::Plan,
        machine: &dyn Runner,
        session: &Session<Self::Steps>,
        after: &mut dyn FnMut(&str),
    ) -> End;
}

/// Makes the machine that the flags name, and does the job on it.
pub(crate) fn on_machine<J: Job>(
    common: &CommonArgs,
    files: ResultFiles,
    job: &J,
) -> Result<(), Failure> {
    if MachineKind::of(&common.machine).is_simulated() {
        return on_simulated(common, files, job);
    }
    let host = this_computer(common.cpus.as_ref())?;
    // Wrong arguments are refused before the computer is watched, which takes a while.
    let planned = job.plan(host.topology(), &surroundings::LIMITS);
    planned.map_err(|failure| with_cpus_left_out(failure, host))?;
    let surroundings = Surroundings::of(host)?;
    let plan = job.plan(host.topology(), &surroundings.limits());
    let plan = plan.map_err(|failure| match failure {
        // The arguments are valid for this computer, but at present there is too little memory.
        Failure::Usage(message) => Failure::Run(surroundings.with_memory_left(message)),
        failure => failure,
    })?;
    let machine = MachineInfo::of(host.topology(), None);
    let steps = job.steps(&plan, host.topology());
    let session = Session::begin(
        machine,
        Some(surroundings),
        steps,
        SessionOptions::of(common.output.format, common.quiet, files),
    );
    let runner = cellworks_runner::this_computer(host);
    session.conclude(J::run(plan, runner, &session, &mut |_| {}))
}

/// Adds the reason why the computer has no more CPUs to a message about too few CPUs.
fn with_cpus_left_out(failure: Failure, host: &Host) -> Failure {
    let topology = host.topology();
    let has = format!("{} has {}", topology.name(), topology.spes().len());
    match failure {
        Failure::Usage(message) if message.contains(&has) => {
            let lines = [vec![message], host.reasons_for_fewer_cpus()].concat();
            Failure::Usage(lines.join("\n  "))
        }
        failure => failure,
    }
}

fn on_simulated<J: Job>(common: &CommonArgs, files: ResultFiles, job: &J) -> Result<(), Failure> {
    common.check_counters()?;
    refuse_cpus(
        common.cpus.as_ref(),
        &format!("--machine {}", common.machine),
    )?;
    let description = load(&common.machine)?;
    let limits = limits_of(&description);
    let (flags, hazards) = (&common.simulation, job.hazards());
    let identified = identity(&description, flags);
    let (machine, plan) = Simulated::build(
        Path::new(&common.machine),
        description,
        flags,
        hazards,
        &files,
        |topology| job.plan(topology, &limits),
        |builder| builder,
    )?;
    let steps = job.steps(&plan, machine.sim.topology());
    let options = SessionOptions::of(common.output.format, common.quiet, files)
        .with(job.sweep(&plan, identified)?)?;
    let session = machine.session(steps, options);
    // A machine with a free part may exceed the data rates of the described machine.
    let limits = Limits {
        bandwidth_bytes_per_s_max: None,
        ..limits
    };
    machine.run(
        &session,
        |after| J::run(plan, simulated(&machine.sim), &session, after),
        |other| match job.plan(other.topology(), &limits) {
            Ok(plan) => J::sample(plan, simulated(other)),
            Err(Failure::Usage(why) | Failure::Run(why)) => Err(why),
            Err(_) => Err("it cannot be planned".to_owned()),
        },
    )
}
