//! `cellworks map ring`: how much it matters on which SPEs the tasks of a ring are.

mod found;
mod resume;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use cellworks_machine::{CellId, CellMachine, Machine, Topology};
use cellworks_mapping::experiment::{Mapping, Sweep, SweepError, SweepPlan, Threads};
use cellworks_report::MachineInfo;
use cellworks_reproduce::simulate_rings;
use cellworks_sim::HazardWatch;
use cellworks_stats::Limits;
use clap::{Args, ValueEnum};

use crate::args::{CommonArgs, HOST, OutputArgs, SimulationArgs, count};
use crate::failure::Failure;
use crate::machine::{Job, Kind, on_machine};
use crate::output::Printed;
use crate::output_file::OutputFile;
use crate::run::sizes;
use crate::session::{End, Session, Shown};
use crate::simulated::{Simulated, load};
use found::Found;

const AFTER_HELP: &str = "\
Examples:
  cellworks map ring --machine qs22 --packet 2k
      8 tasks in all 5,040 mappings to one Cell of a blade.
  cellworks map ring --machine ps3 --packet 512-2k --html ring.html
      6 tasks in all 120 mappings with three sizes of packets, and the curves of sorted times.
  cellworks map ring --machine qs22 --packet 2k --format json > part.json
  cellworks map ring --machine qs22 --packet 2k --format json --resume part.json > all.json
      After Ctrl-C in the first, the second runs the mappings that are missing.

Exit codes: 0 done, 1 the run failed, 2 the arguments or files make no sense, 3 measured but not trustworthy, 130
interrupted: then the mappings so far are printed.";

/// The most tasks by default: more have too many mappings.
const TASKS: usize = 8;

/// Measures how much it matters on which SPEs the tasks of a ring are.
///
/// Each task passes packets to both neighbours in the ring. All mappings of tasks to SPEs are run in
/// which SPE 0 has task 0, several times each: in each run every task first computes for a while,
/// chosen at random, because how tasks start changes a single run as much as the mapping may. The
/// time of a mapping is the average of its runs, and `mapping share` says how far runs of the same
/// mapping agree: a spread that does not belong to the mapping is no effect of it.
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct RingArgs {
    /// The machine: `host`, this computer, or a simulated one: ps3, qs20, qs22, scc, or a file that
    /// describes one
    #[arg(long, value_name = "MACHINE", default_value = HOST)]
    pub machine: String,

    /// The sizes of packets in bytes, such as 2k or 512-2k
    #[arg(long, value_name = "LIST", default_value = "1k", value_parser = packets)]
    pub packet: Packets,

    /// How many tasks there are [default: as many as SPEs]
    #[arg(long, value_name = "TASKS")]
    pub tasks: Option<usize>,

    /// To how many SPEs they are mapped, the first ones of the machine [default: as many as tasks,
    /// or the SPEs of one Cell, 8 at the most]
    #[arg(long, value_name = "SPES")]
    pub spes: Option<usize>,

    /// Packets go around in one direction only
    #[arg(long)]
    pub one_way: bool,

    /// Runs this many mappings at random and the named ones, and not all
    #[arg(long, value_name = "MAPPINGS")]
    pub sample: Option<usize>,

    /// How many runs each mapping has
    #[arg(long, value_name = "RUNS", default_value_t = 3)]
    pub runs: usize,

    /// In how many rounds of the ring the time of a run counts
    #[arg(long, value_name = "ROUNDS", default_value = "50", value_parser = rounds)]
    pub rounds: u32,

    /// Chooses how tasks start in each run, random mappings, and where threads are
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub seed: u64,

    /// Where the threads are that tasks are mapped to
    #[arg(long, value_enum, default_value_t = Placement::Pinned)]
    pub placement: Placement,

    /// Mappings whose ranks are printed, such as 02467531: the task of SPE 0, of SPE 1 and so on;
    /// the identity and those that the paper names are always among them
    #[arg(long, value_name = "MAPPINGS", value_delimiter = ',')]
    pub mapping: Vec<String>,

    /// Goes on from a result in JSON that was interrupted: its mappings are not run again
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,

    #[command(flatten)]
    pub output: OutputArgs,

    /// No progress and no warnings
    #[arg(long, help_heading = "Options")]
    pub quiet: bool,
}

/// The sizes of packets.
#[derive(Clone, Debug)]
pub(crate) struct Packets(Vec<u32>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Placement {
    /// Thread i is on SPE i
    Pinned,
    /// Each run has the threads on SPEs at random, as an operating system may place them
    Default,
}

fn packets(text: &str) -> Result<Packets, String> {
    // What is too large for DMA is refused later, with the others that it does not move.
    let bytes = sizes(text)?.into_iter();
    let bytes = bytes.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX));
    Ok(Packets(bytes.collect()))
}

fn rounds(text: &str) -> Result<u32, String> {
    let rounds = u32::try_from(count(text)?).ok();
    rounds
        .filter(|rounds| *rounds <= 1_000_000)
        .ok_or_else(|| "use up to 1m rounds".to_owned())
}

pub(crate) fn run(arguments: &RingArgs) -> Result<(), Failure> {
    let page = arguments.output.page()?;
    if let (Some(page), Some(resume)) = (&page, &arguments.resume)
        && page.is(resume)
    {
        return Err(Failure::Usage(format!(
            "--html: the page would replace {}, from which the run goes on; name another file",
            resume.display()
        )));
    }
    match Kind::of(&arguments.machine) {
        Kind::Simulated => simulate(arguments, page),
        Kind::ThisComputer => {
            let common = CommonArgs {
                machine: arguments.machine.clone(),
                simulation: SimulationArgs::default(),
                output: OutputArgs {
                    format: arguments.output.format,
                    html: arguments.output.html.clone(),
                },
                quiet: arguments.quiet,
            };
            on_machine(&common, page, &OneByOne(arguments))
        }
    }
}

/// Simulates the runs side by side, each on a machine of its own.
fn simulate(arguments: &RingArgs, page: Option<OutputFile>) -> Result<(), Failure> {
    let description = load(&arguments.machine)?;
    let flags = SimulationArgs::default();
    let check = |topology: &Topology| plan(arguments, topology).map(drop);
    let machine = Simulated::build(
        description.clone(),
        &flags,
        HazardWatch::Off,
        page.as_ref(),
        check,
    )?;
    let plan = plan(arguments, machine.sim.topology())?;
    let found = begin(arguments, &plan, &machine.info())?;
    let missing = found.missing();
    let shown = Shown {
        format: arguments.output.format,
        printed: Printed::ToStandardOutput,
        page,
        quiet: arguments.quiet,
    };
    let all = plan.number_of_runs();
    let before = all - missing.len();
    let session = machine.session(found, shown);
    session.progress().about("simulations".to_owned());
    session.progress().at(before, all);
    let failed = Mutex::new(None);
    simulate_rings(
        &arguments.machine,
        missing.len(),
        &|at| plan.run(missing[at]),
        &|_| Some(description.clone()),
        &|at, outcome| match outcome {
            Ok(ns) => {
                session.update(|found| {
                    found.ran(missing[at], ns);
                    session.progress().at(found.runs_done(), all);
                });
                match session.is_interrupted() {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            }
            Err(why) => {
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                failed.get_or_insert(why);
                ControlFlow::Break(())
            }
        },
    );
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    let end = match (failed, session.has_to_end()) {
        (Some(why), _) => End::Failed(why),
        (None, end) => end.unwrap_or(End::Done),
    };
    session.conclude(end)
}

/// The runs on this computer, one after the other: each takes all CPUs.
struct OneByOne<'a>(&'a RingArgs);

impl Job for OneByOne<'_> {
    type Plan = (SweepPlan, Found);
    type Steps = Found;

    fn plan(&self, topology: &Topology, _: &Limits) -> Result<Self::Plan, Failure> {
        let plan = plan(self.0, topology)?;
        let found = begin(self.0, &plan, &MachineInfo::of(topology, None))?;
        Ok((plan, found))
    }

    fn steps(&self, (_, found): &Self::Plan, _: &Topology) -> Found {
        found.clone()
    }

    fn hazards(&self) -> HazardWatch {
        HazardWatch::Off
    }

    fn run<M: CellMachine>(
        (plan, found): Self::Plan,
        machine: &M,
        session: &Session<Found>,
        _: &mut dyn FnMut(&str),
    ) -> End {
        let (missing, all) = (found.missing(), plan.number_of_runs());
        session.progress().about("runs".to_owned());
        for (at, number) in missing.iter().enumerate() {
            if let Some(end) = session.has_to_end() {
                return end;
            }
            session.progress().at(all - missing.len() + at, all);
            match plan.run(*number).run(machine) {
                Ok(ns) => session.update(|found| found.ran(*number, ns)),
                Err(why) => return End::Failed(why),
            }
        }
        session.has_to_end().unwrap_or(End::Done)
    }
}

/// What the flags ask for on a machine with these SPEs.
fn plan(arguments: &RingArgs, topology: &Topology) -> Result<SweepPlan, Failure> {
    let has = topology.spes().len();
    let one_cell = || topology.spes_of(CellId::new(0)).count().min(TASKS);
    let spes = arguments.spes.or(arguments.tasks).unwrap_or_else(one_cell);
    let tasks = arguments.tasks.unwrap_or(spes);
    if spes > has {
        let flag = if arguments.spes.is_some() {
            "--spes"
        } else {
            "--tasks"
        };
        return Err(Failure::Usage(format!(
            "{flag} {spes}: each task takes an SPE, and {} has {has}; use fewer, or another machine",
            topology.name()
        )));
    }
    let mut sweep = Sweep {
        one_way: arguments.one_way,
        rounds: arguments.rounds,
        runs: arguments.runs,
        seed: arguments.seed,
        sample: arguments.sample,
        threads: match arguments.placement {
            Placement::Pinned => Threads::Pinned,
            Placement::Default => Threads::Placed,
        },
        ..Sweep::new(tasks, spes, arguments.packet.0.clone())
    };
    let refused = |error: SweepError| {
        let flag = match &error {
            SweepError::Tasks(_) if arguments.tasks.is_none() => {
                return Failure::Usage(format!(
                    "{error}, and {} has {has} {}; use another machine",
                    topology.name(),
                    if has == 1 { "SPE" } else { "SPEs" }
                ));
            }
            SweepError::Tasks(_) => "--tasks",
            SweepError::Spes { .. } => "--spes",
            SweepError::Packet(_) => "--packet",
            SweepError::TooMany { .. } => "--sample",
            SweepError::Mapping(_) => "--mapping",
            SweepError::Nothing(_) => return Failure::Usage(error.to_string()),
        };
        Failure::Usage(format!("{flag}: {error}"))
    };
    // Without named mappings, which exist only where the numbers make sense.
    sweep.clone().plan().map_err(refused)?;
    sweep.named = Sweep::of_the_paper(tasks, spes);
    for text in &arguments.mapping {
        let named = Mapping::parse(text, tasks, spes).map_err(|error| refused(error.into()))?;
        if !sweep.named.contains(&named) {
            sweep.named.push(named);
        }
    }
    sweep.plan().map_err(refused)
}

/// What is known before anything runs: nothing, or what a file has.
fn begin(arguments: &RingArgs, plan: &SweepPlan, machine: &MachineInfo) -> Result<Found, Failure> {
    let mut found = Found::nothing_of(plan.clone());
    if let Some(file) = &arguments.resume {
        resume::take_over(file, machine, &mut found).map_err(Failure::Usage)?;
    }
    Ok(found)
}
