//! `cellworks map ring`: measures how much the time of a ring of tasks, or of another graph,
//! depends on the mapping of the tasks to SPEs.

mod found;

use std::path::{Path, PathBuf};

use cellworks_apps::exchange::{self, Mapping, SweepError, SweepPlan, Threads, Traffic};
use cellworks_machine::{CellId, Topology};
use cellworks_mapping::read;
use cellworks_mapping::{Pattern, Volumes};
use cellworks_reproduce::simulate_rings;
use cellworks_runner::Runner;
use cellworks_sim::HazardWatch;
use cellworks_stats::Limits;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::costs::name_of;
use super::problem::pattern_parser;
use crate::args::{
    CommonArgs, HOST, OutputArgs, SimulationArgs, count, input, kept, machine_help, seed, such_as,
};
use crate::failure::Failure;
use crate::machine::{Job, MachineKind, check_sweep, on_machine};
use crate::message::warn;
use crate::output::ResultFiles;
use crate::run::sizes;
use crate::session::{End, Session, SessionOptions};
use crate::simulated::{Simulated, identity, load};
use crate::sweep::{Header, SweepArgs};
use found::{MappingSteps, placement};

const AFTER_HELP: &str = "\
Examples:
  cellworks map ring --machine qs22 --packet 2k
      8 tasks in all 5,040 mappings to one Cell of a blade.
  cellworks map ring --machine ps3 --packet 512-2k --html ring.html
      6 tasks in all 120 mappings with three sizes of packets, and the curves of sorted times.
  cellworks map ring --machine qs22 --packet 2k --results ring.jsonl
      Keeps the times of each mapping: after Ctrl-C the same command goes on where it was.
  cellworks map ring --machine qs22 --pattern butterfly --packet 2k
      8 tasks that exchange packets as in a Fourier transform, in place of a ring.

Exit codes: 0 done, 1 the run failed, 2 the arguments or files make no sense, 3 measured but not trustworthy, 130 \
interrupted: then the mappings so far are printed.";

/// The largest default number of tasks. More tasks have too many mappings.
const TASKS: usize = 8;

/// Measures how much the time of a ring of tasks depends on the mapping of the tasks to SPEs.
///
/// Each task passes packets to both neighbours in the ring. With --pattern or --graph the tasks
/// have other partners. The command runs all mappings of tasks to SPEs in which task 0 is on SPE 0,
/// each of them several times. At the start of a run every task computes for a random time, because
/// the order in which tasks start can change a run as much as the mapping can. The time of a
/// mapping is the average of its runs. In the result, `mapping share` is the part of the variance
/// of single runs that the mapping causes. The starts of the runs cause the rest.
#[derive(Args)]
#[command(after_help = AFTER_HELP, allow_negative_numbers = true)]
pub(crate) struct RingArgs {
    #[arg(long, value_name = "MACHINE", default_value = HOST, help = machine_help())]
    pub machine: String,

    /// The sizes of packets in bytes, such as 2k or 512-2k
    #[arg(long, value_name = "LIST", default_value = "1k", value_parser = packets)]
    pub packet: Packets,

    /// The number of tasks [default: the number of SPEs]
    #[arg(long, value_name = "TASKS", value_parser = such_as("8", kept))]
    pub tasks: Option<usize>,

    /// The number of SPEs to which tasks are mapped, which are the first SPEs of the machine
    /// [default: the number of tasks of --tasks or --graph; without these flags, the number of SPEs
    /// of one Cell, but at most 8]
    #[arg(long, value_name = "SPES", value_parser = such_as("8", kept))]
    pub spes: Option<usize>,

    /// Packets go around in one direction only
    #[arg(long)]
    pub one_way: bool,

    /// Lets the tasks communicate in this pattern. In a round each task sends a packet to each of
    /// its partners, and the round ends when it has received theirs
    #[arg(
        long,
        value_name = "PATTERN",
        default_value = "ring",
        value_parser = pattern_parser(),
        conflicts_with = "one_way"
    )]
    pub pattern: Pattern,

    /// Lets the tasks communicate as in this file. Each line has a sending task, a receiving task
    /// and the volume between them. Packets for the largest volume have the size of --packet, and
    /// packets for smaller volumes are smaller
    #[arg(
        long,
        value_name = "FILE",
        value_parser = input(),
        conflicts_with_all = ["one_way", "pattern", "tasks"]
    )]
    pub graph: Option<PathBuf>,

    /// Runs only this number of random mappings, and the mappings whose ranks are printed (see
    /// --mapping)
    #[arg(long, value_name = "MAPPINGS", value_parser = such_as("100", kept))]
    pub sample: Option<usize>,

    /// The number of runs of each mapping
    #[arg(long, value_name = "RUNS", default_value_t = 3, value_parser = such_as("3", kept))]
    pub runs: usize,

    /// The number of rounds of the ring that are timed in each run
    #[arg(long, value_name = "ROUNDS", default_value = "50", value_parser = rounds)]
    pub rounds: u32,

    /// Chooses the start times of tasks, the random mappings, and the random places of threads
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = 0,
        value_parser = seed,
        allow_hyphen_values = true
    )]
    pub seed: u64,

    /// How threads are placed on SPEs. A mapping assigns tasks to threads
    #[arg(long, value_enum, default_value_t = Placement::Pinned)]
    pub placement: Placement,

    /// Prints the ranks of these mappings. A mapping such as 02467531 has the task of SPE 0, of SPE
    /// 1 and so on. The ranks of the identity, and of the mappings that the paper by Keller and
    /// Varbanescu names, are always printed
    #[arg(long, value_name = "MAPPINGS", value_delimiter = ',')]
    pub mapping: Vec<String>,

    #[command(flatten)]
    pub sweep: SweepArgs,

    #[command(flatten)]
    pub output: OutputArgs,

    /// No progress and no warnings
    #[arg(long, help_heading = "Options")]
    pub quiet: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Packets(Vec<u32>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Placement {
    /// Thread i is on SPE i
    Pinned,
    /// Each run has the threads on random SPEs, as an operating system may place them
    Default,
}

fn packets(text: &str) -> Result<Packets, String> {
    let mut packets = Vec::new();
    for bytes in sizes(text)? {
        // A size above `u32::MAX` is refused later, like other sizes that DMA cannot move.
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        if !packets.contains(&bytes) {
            packets.push(bytes);
        }
    }
    Ok(Packets(packets))
}

fn rounds(text: &str) -> Result<u32, String> {
    let rounds = u32::try_from(such_as("50", count)(text)?).ok();
    rounds
        .filter(|rounds| *rounds <= 1_000_000)
        .ok_or_else(|| "use up to 1m rounds".to_owned())
}

pub(crate) fn run(arguments: &RingArgs) -> Result<(), Failure> {
    let files = arguments.output.files()?;
    files.refuse_to_replace_any([&arguments.graph, &arguments.sweep.results])?;
    if MachineKind::of(&arguments.machine).is_simulated() {
        return simulate(arguments, files);
    }
    check_sweep(&arguments.sweep, &arguments.machine).map_err(Failure::Usage)?;
    let common = CommonArgs {
        machine: arguments.machine.clone(),
        cpus: None,
        simulation: SimulationArgs::default(),
        output: arguments.output.clone(),
        quiet: arguments.quiet,
    };
    on_machine(&common, files, &OneByOne(arguments))
}

/// Simulates the mappings in parallel, each on its own machine.
fn simulate(arguments: &RingArgs, files: ResultFiles) -> Result<(), Failure> {
    let description = load(&arguments.machine)?;
    let flags = SimulationArgs::default();
    let (machine, plan) = Simulated::build(
        Path::new(&arguments.machine),
        description.clone(),
        &flags,
        HazardWatch::Off,
        &files,
        |topology| plan(arguments, topology),
        |builder| builder,
    )?;
    let header = Header::of(identity(&description, &flags), steps(&plan));
    let options = SessionOptions::of(arguments.output.format, arguments.quiet, files)
        .with(arguments.sweep.begin("map-ring", header)?)?;
    let session = machine.session(
        MappingSteps::empty(plan.clone(), pattern(arguments)),
        options,
    );
    session.progress().about("mappings".to_owned());
    let read = |runs_ns| times(runs_ns, plan.sweep().runs);
    let to_do = match session.to_do(plan.steps(), read, MappingSteps::record_run) {
        Ok(to_do) => to_do,
        Err(end) => return session.conclude(end),
    };
    simulate_rings(
        &arguments.machine,
        plan.steps(),
        &|step| plan.runs(step),
        &|_| Some(description.clone()),
        &|step| to_do.contains(&step),
        &|step, runs_ns| session.record(step, runs_ns, MappingSteps::record_run),
    );
    session.conclude(session.end_reason().unwrap_or(End::Done))
}

/// Returns a description of each step. Steps with equal descriptions have equal results.
fn steps(plan: &SweepPlan) -> Vec<Value> {
    let sweep = plan.sweep();
    let mut of_all = json!({
        "one_way": sweep.traffic == Traffic::Ring { one_way: true },
        "placement": placement(sweep),
        "rounds": sweep.rounds,
        "runs": sweep.runs,
        "seed": sweep.seed,
        "tasks": sweep.tasks,
    });
    if let Traffic::Graph(volumes) = &sweep.traffic {
        let edges = volumes.pairs();
        of_all["edges"] = edges
            .map(|(from, to, volume)| json!([from.0, to.0, volume]))
            .collect();
    }
    let step = |step: usize| {
        let (packet_bytes, mapping) = plan.of_step(step);
        let mut value = of_all.clone();
        value["packet_bytes"] = packet_bytes.into();
        value["mapping"] = mapping.to_string().into();
        json!({ "ring": value })
    };
    (0..plan.steps()).map(step).collect()
}

/// Returns the times of a mapping from a file, if they are valid.
fn times(runs_ns: Vec<f64>, runs: usize) -> Result<Vec<f64>, String> {
    let is_time = |ns: &f64| ns.is_finite() && *ns > 0.0;
    if runs_ns.len() == runs && runs_ns.iter().all(is_time) {
        Ok(runs_ns)
    } else {
        Err(format!(
            "a mapping has {runs} times above 0, and here are {runs_ns:?}"
        ))
    }
}

/// Runs the mappings on this computer, one after the other because each mapping uses all CPUs.
struct OneByOne<'a>(&'a RingArgs);

impl Job for OneByOne<'_> {
    type Plan = SweepPlan;
    type Steps = MappingSteps;

    fn plan(&self, topology: &Topology, _: &Limits) -> Result<SweepPlan, Failure> {
        plan(self.0, topology)
    }

    fn steps(&self, plan: &SweepPlan, _: &Topology) -> MappingSteps {
        MappingSteps::empty(plan.clone(), pattern(self.0))
    }

    fn hazards(&self) -> HazardWatch {
        HazardWatch::Off
    }

    fn run(
        plan: SweepPlan,
        machine: &dyn Runner,
        session: &Session<MappingSteps>,
        _: &mut dyn FnMut(&str),
    ) -> End {
        session.progress().about("mappings".to_owned());
        for step in 0..plan.steps() {
            if let Some(end) = session.end_reason() {
                return end;
            }
            session.progress().at(step, plan.steps());
            let runs = plan.runs(step);
            let times: Result<Vec<f64>, String> =
                runs.iter().map(|run| machine.exchange(run)).collect();
            match times {
                Ok(runs_ns) => session.update(|found| found.record_run(step, runs_ns)),
                Err(why) => return End::Failed(why),
            }
        }
        session.end_reason().unwrap_or(End::Done)
    }
}

/// Returns the name of the graph of the tasks in reports.
fn pattern(arguments: &RingArgs) -> String {
    match &arguments.graph {
        Some(file) => name_of(file),
        None => arguments.pattern.name().to_owned(),
    }
}

/// Returns the plan that the flags request for a machine.
fn plan(arguments: &RingArgs, topology: &Topology) -> Result<SweepPlan, Failure> {
    let has = topology.spes().len();
    let one_cell = || topology.spes_of(CellId::new(0)).count().min(TASKS);
    let graph = arguments.graph.as_deref().map(read::volumes).transpose();
    let graph = graph.map_err(Failure::usage)?;
    if let (Some(tasks), Some(file)) = (&graph, &arguments.graph) {
        for note in &tasks.notes {
            warn(&format!("{}: {note}", file.display()));
        }
    }
    let graph = graph.map(|tasks| tasks.volumes);
    let asked = arguments.tasks.or(graph.as_ref().map(Volumes::tasks));
    let spes = arguments.spes.or(asked).unwrap_or_else(one_cell);
    let tasks = asked.unwrap_or(spes);
    let too_many = match (arguments.spes, &arguments.graph) {
        (Some(_), _) if spes > has => Some(("--spes".to_owned(), spes)),
        (None, Some(file)) if spes > has => Some((format!("{}, tasks", file.display()), spes)),
        (None, None) if spes > has => Some(("--tasks".to_owned(), spes)),
        (_, None) if tasks > has => Some(("--tasks".to_owned(), tasks)),
        _ => None,
    };
    if let Some((flag, number)) = too_many {
        return Err(Failure::Usage(format!(
            "{flag} {number}: each task takes an SPE, and {} has {has}; use fewer, or another machine",
            topology.name()
        )));
    }
    let traffic = match (graph, arguments.pattern) {
        (Some(volumes), _) => Traffic::Graph(volumes),
        (None, Pattern::Ring) => Traffic::Ring {
            one_way: arguments.one_way,
        },
        (None, pattern) => {
            let volumes = pattern.volumes(tasks);
            let chosen = |error| Failure::Usage(format!("{error}; choose it with --tasks"));
            Traffic::Graph(volumes.map_err(chosen)?)
        }
    };
    let mut sweep = exchange::Sweep {
        traffic,
        rounds: arguments.rounds,
        runs: arguments.runs,
        seed: arguments.seed,
        sample: arguments.sample,
        threads: match arguments.placement {
            Placement::Pinned => Threads::Pinned,
            Placement::Default => Threads::Placed,
        },
        ..exchange::Sweep::new(tasks, spes, arguments.packet.0.clone())
    };
    let refused = |error: SweepError| {
        let flag = match &error {
            SweepError::Tasks { .. } | SweepError::Graph { .. } if arguments.graph.is_some() => {
                "--graph"
            }
            SweepError::Tasks { .. } if arguments.spes.or(arguments.tasks).is_none() => {
                return Failure::Usage(format!(
                    "{error}, and {} has {has} {}; use another machine",
                    topology.name(),
                    if has == 1 { "SPE" } else { "SPEs" }
                ));
            }
            SweepError::Tasks { .. } if arguments.tasks.is_none() => "--spes",
            SweepError::Tasks { .. } | SweepError::Graph { .. } => "--tasks",
            SweepError::Spes { .. } => "--spes",
            SweepError::Packet(_) => "--packet",
            SweepError::TooMany { .. } => "--sample",
            SweepError::Mapping(_) => "--mapping",
            SweepError::Nothing(_) => return Failure::usage(error),
        };
        Failure::Usage(format!("{flag}: {error}"))
    };
    // Making mappings needs valid numbers of tasks and SPEs. The sweep has no mappings yet, so
    // `plan` checks only the numbers here.
    sweep.clone().plan().map_err(refused)?;
    sweep.named = match sweep.traffic {
        Traffic::Ring { .. } => exchange::Sweep::of_the_paper(tasks, spes),
        Traffic::Graph(_) => vec![Mapping::identity(tasks, spes)],
    };
    for text in &arguments.mapping {
        let named = Mapping::parse(text, tasks, spes).map_err(|error| refused(error.into()))?;
        if !sweep.named.contains(&named) {
            sweep.named.push(named);
        }
    }
    sweep.plan().map_err(refused)
}
