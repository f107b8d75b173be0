//! The results of a run of Cellworks, and views of them.
//!
//! ```text
//!                              ┌─► table   for people at a terminal
//!   measurements, matrices,    ├─► csv     for spreadsheets
//!   findings, advice ──► Report├─► json    for scripts, by a published schema
//!                              └─► html    one file with curves and heat maps
//! ```
//!
//! A [`Report`] is computed once, and every view only shows its contents. A [`ProgramReport`] has
//! the results of programs, a [`PlacementReport`] the places for tasks, and an
//! [`ExplanationReport`] the differences between two placements. [`read()`] reads these reports
//! from their JSON, [`Comparison`] compares two reports of one kind, and [`export`](export::export)
//! writes them for services that watch for regressions. A [`Reproduction`]
//! compares simulated numbers with published numbers. All of these types contain an [`Envelope`].

// `made_up` is also a module of the tests in `tests/`, so it uses the public name of this crate.
#[cfg(test)]
extern crate self as cellworks_report;

mod columns;
pub mod compare;
mod counters;
pub mod csv;
pub mod explanation;
pub mod export;
pub mod heat_map;
pub mod html;
pub mod json;
pub mod machine;
pub mod machines;
#[cfg(test)]
#[path = "../tests/made_up/mod.rs"]
mod made_up;
mod measurements;
mod median;
mod memory_matrix;
pub mod placement;
pub mod program;
mod read;
pub mod reproduction;
mod scale;
#[cfg(feature = "schema")]
pub mod schema;
pub mod sweep;
pub mod table;
mod text;
mod words;

use std::iter::repeat;

use cellworks_machine::{Distance, SpeId, Topology};
use cellworks_stats::{Advice, Finding, Matrix, Measurement, MemoryMatrix, Reference};
use serde::{Deserialize, Serialize};

pub use compare::Comparison;
pub use counters::table as counters_table;
pub use explanation::{ExplainedPair, ExplainedPlacement, ExplanationReport, LinkLoad};
pub use machine::{
    CacheInfo, CpuInfo, ElementInfo, InterconnectInfo, MachineReport, NumaNodeInfo, QuotaInfo,
};
pub use machines::{Machines, SimulatedMachine};
pub use placement::{
    CpuBinding, DRAWN_MAX, FixedTask, PictureDrawing, PictureLine, PlaceCpu, PlacementPicture,
    PlacementProblem, PlacementReport, PlacementTrial, PlacementTrials, Quality, ToolCommand,
};
pub use program::{FigureAxis, FigureCurve, ProgramFigure, ProgramReport};
pub use read::{Measured, ReadError, read};
pub use reproduction::Reproduction;
pub use sweep::{MappingTimes, SweepInfo, SweepReport};
pub use text::{WIDTH, bandwidth, size, time, title, wrapped};
pub use words::Words;

/// The version of the JSON. It rises if a field is removed or changes its meaning.
pub const SCHEMA_VERSION: u32 = 1;

/// The part that the results of all commands have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Envelope {
    /// The version of the JSON.
    pub schema_version: u32,
    /// The machine that was measured or simulated. If there are several, this is the first one.
    pub machine: MachineInfo,
    /// The program that measured or simulated the machine, the computer on which the program ran,
    /// and the time. If there were several runs, these are the values of the first run.
    pub environment: Environment,
    /// The command, such as `stats`.
    pub command: String,
    /// Whether the numbers are reliable.
    pub trust: Trust,
    /// Whether all planned work was done. An interrupted run is not complete.
    pub complete: bool,
}

/// The results of `cellworks stats`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// The part that the results of all commands have in common.
    #[serde(flatten)]
    pub envelope: Envelope,
    /// The measurements that are missing, and the reasons.
    pub not_measured: Vec<NotMeasured>,
    /// The measurements of single operations, in the order in which they were taken.
    pub measurements: Vec<Measurement>,
    /// The matrices of one-way times. Each matrix has the time from every SPE to every other SPE.
    pub matrices: Vec<Matrix>,
    /// The latency and the bandwidth of reading each memory module. `None` if the user did not ask
    /// for them, or if an older version of the command wrote the file.
    #[serde(default)]
    pub memory_matrix: Option<MemoryMatrix>,
    /// The times of two reference operations between two SPEs, measured repeatedly during the run.
    /// It is `None` in four cases: operations of the machine always take the same time, the machine
    /// has one SPE, the user gave a number of iterations, or an older version of the command wrote
    /// the file.
    #[serde(default)]
    pub reference: Option<Reference>,
    /// Findings that follow from several measurements.
    pub results: Vec<Finding>,
    /// Advice for programs on this machine.
    pub advice: Vec<Advice>,
    /// The counters of the parts of a simulated machine. `None` if the user did not ask for them.
    pub counters: Option<Counters>,
}

/// The machine that was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineInfo {
    /// The title of the machine. For this computer it is the name of the processor.
    pub name: String,
    /// `host`: this computer. `simulated`: a simulated machine. `costs`: a matrix of costs, for
    /// which only the number of places is known.
    pub kind: String,
    /// The number of SPEs.
    pub spes: usize,
    /// The Cells of the machine. On this computer a Cell is the cores under one last-level cache.
    pub cells: Vec<CellInfo>,
    /// The number of memory modules. On this computer a memory module is a NUMA node.
    pub memory_modules: usize,
    /// The place of each SPE, such as `CPU 3`.
    pub spe_places: Vec<String>,
    /// The memory module that is nearest to each SPE. On this computer it is the module of the
    /// SPE's CPU. The SPEs of one Cell can have different nearest modules if their last-level cache
    /// covers several NUMA nodes. Empty for a matrix of costs, and in files that an older version
    /// of the command wrote.
    #[serde(default)]
    pub spe_memory_modules: Vec<usize>,
    /// The core of each SPE, by a number from 0. On this computer, SPEs with the same number are
    /// hardware threads of one core, or share a CPU. Empty for a matrix of costs, and in files that
    /// an older version of the command wrote.
    #[serde(default)]
    pub spe_cores: Vec<usize>,
    /// The place of the PPE, such as `CPU 0`. `None` if it has no name, and in older files.
    #[serde(default)]
    pub ppe_place: Option<String>,
    /// The parameters of the simulation. `None` if the machine was not simulated.
    pub simulation: Option<Simulation>,
}

/// The parameters of a simulation. The same simulation always gives the same numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Simulation {
    /// The name of the machine's description, such as `qs20`.
    pub description: String,
    /// The number that decides the order of events at the same instant. 0 is the default order.
    pub seed: u64,
    /// Whether the PPE accessed the registers of SPEs by calls into the kernel instead of directly.
    pub system_calls: bool,
}

/// A Cell of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CellInfo {
    /// The numbers of the SPEs of this Cell.
    pub spes: Vec<usize>,
    /// The memory module nearest to the Cell. If its SPEs have different nearest modules, it is the
    /// module of the SPEs that programs use first.
    pub nearest_memory_module: usize,
}

/// The program that measured or simulated a machine, the computer on which the program ran, and the
/// time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Environment {
    /// The version of the command.
    pub cellworks_version: String,
    /// `release` or `debug`. Times of a debug build mean little.
    pub build: String,
    /// The operating system, such as `linux`.
    pub operating_system: String,
    /// The release of the kernel.
    pub kernel: Option<String>,
    /// The architecture, such as `x86_64`.
    pub architecture: String,
    /// The time at which the run ended, in seconds since 1970-01-01 00:00 UTC.
    pub finished_unix_s: u64,
    /// Sentences about possible disturbances of the measurements.
    pub warnings: Vec<String>,
    /// The state of the computer. `None` for a simulated machine.
    pub host: Option<Conditions>,
}

/// The state of the computer that was measured. A value that could not be read is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Conditions {
    /// The average number of threads that wanted to run in the last minute before the run.
    pub load_average: Option<f64>,
    /// The share of the measured CPUs' time that other programs used just before the run, 0 to 1.
    pub busy_before: Option<f64>,
    /// The share of the time of the measured CPUs that other programs used during the run, 0 to 1.
    pub busy_during: Option<f64>,
    /// The share of the time of the measured CPUs that the hypervisor gave to other virtual
    /// machines during the run, 0 to 1.
    pub stolen_during: Option<f64>,
    /// The frequency governors of the measured CPUs. Each governor is listed once.
    pub governors: Vec<String>,
    /// The CPU time that the container or the user may use, as a number of CPUs.
    pub quota_cpus: Option<f64>,
    /// The clock source of the system, such as `tsc`.
    pub clock_source: Option<String>,
    /// The highest clock rate of the measured CPUs.
    pub highest_clock_hz: Option<u64>,
    /// The smallest observed step of the clock, in nanoseconds. `None` if the clock stood still.
    pub clock_step_ns: Option<f64>,
    /// The time that a reading of the clock takes, in nanoseconds.
    pub clock_reading_ns: f64,
    /// When Linux uses huge pages for ordinary memory: `always`, `madvise` or `never`.
    pub transparent_huge_pages: Option<String>,
    /// The bytes of memory that were available to programs before the run.
    pub memory_available_bytes: Option<u64>,
    /// The CPUs that were not measured.
    pub cpus_left_out: Vec<CpuLeftOut>,
}

/// A CPU that was not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuLeftOut {
    /// The number of the CPU.
    pub cpu: u32,
    /// The reason, in a few words.
    pub why: String,
}

/// Whether the numbers are reliable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trust {
    /// Whether the numbers are reliable. They are if `reasons` is empty.
    pub trustworthy: bool,
    /// The reasons why the numbers are not reliable, as sentences that say what to do.
    pub reasons: Vec<String>,
    /// The kind of each of `reasons`, in the same order. `None` for reasons of older files.
    #[serde(default)]
    pub kinds: Vec<Option<ReasonKind>>,
}

/// The kind of a reason why numbers are not reliable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ReasonKind {
    /// The measurement did not have the computer for itself: other programs used its CPUs, CPUs
    /// vanished, or data was in another memory module than intended.
    Disturbed,
    /// Too many numbers are known only roughly. A new run would give different numbers.
    Uncertain,
    /// The computer was in two states during the run, and the numbers mix both states. For example,
    /// virtual CPUs may be near each other at times and far apart at other times.
    Unsteady,
    /// The numbers are not those of the machine that is named: the command read the files of one
    /// computer (`CELLWORKS_FSROOT`) and measured on another.
    Foreign,
    /// An impossible number was found. The number is not among the results.
    Impossible,
    /// A simulation failed, so its numbers are missing.
    Failed,
}

/// A reason why the numbers are not reliable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The kind of the reason.
    pub kind: ReasonKind,
    /// A sentence that states the reason and tells the user what to do.
    pub text: String,
}

/// The counters of the parts of a simulated machine in the window of a run. The window is the whole
/// run with the start of programs, unless a flag or the program has chosen another. It includes
/// warm-up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counters {
    /// The time from the start of the run to the beginning of the window. 0 in files that an older
    /// version of the command wrote.
    #[serde(default)]
    pub began_ns: f64,
    /// The length of the window in simulated time.
    pub elapsed_ns: f64,
    /// The counters of each SPE.
    pub spes: Vec<SpeCounters>,
    /// The counters of the rings or links of the interconnect, the memory modules, and the link
    /// between Cells.
    pub resources: Vec<ResourceCounters>,
    /// The busiest part of each kind, such as the busiest memory bank. Kinds without a time, such as
    /// the access time of local stores, are left out, and so are MFCs, which are busy while they wait
    /// for other parts. Empty in older files.
    #[serde(default)]
    pub busiest: Vec<PartCounters>,
    /// The number of events that the simulation handled in the whole run.
    pub events: u64,
    /// The part that limits the result. `None` if the user did not ask for it, and in older files.
    #[serde(default)]
    pub bottleneck: Option<Bottleneck>,
}

/// The time of one part of a machine in the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PartCounters {
    /// The kind of the part, such as `the memory banks`.
    pub kind: String,
    /// The name of the part, such as `memory module 0, bank 3`.
    pub name: String,
    /// The time in which the part worked.
    pub busy_ns: f64,
}

/// What each part of a simulated machine costs a run. The run was simulated again for each part,
/// with the work of this part taking no time, or the shortest time that a description allows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Bottleneck {
    /// The name of the result that the simulations are compared by.
    pub result: String,
    /// The unit of the result. A smaller result is better, except in `bytes/s`.
    pub unit: String,
    /// The result of the run.
    pub value: f64,
    /// The kind of the part that limits the result: the part without which the result improves
    /// most, or the requests of MFCs if these are all under way and wait for this part. `None` if
    /// no part alone improves the result by 1 % or more.
    pub part: Option<String>,
    /// A sentence about how the part limits. Empty if none does, and in older files.
    #[serde(default)]
    pub verdict: String,
    /// The parts in the order of the gain, with the largest first.
    pub parts: Vec<FreePart>,
}

/// The run of a program on a machine on which one kind of part takes no time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FreePart {
    /// The kind of the part, such as `the memory banks`.
    pub kind: String,
    /// The busiest part of this kind in the run, such as `memory module 0, bank 3`. `None` if the
    /// kind has no time, as the access time of local stores.
    pub busiest: Option<String>,
    /// The share of the window for which `busiest` is busy, 0 to 1.
    pub busy: Option<f64>,
    /// The result if this part takes no time.
    pub value: f64,
    /// The share of the time that is saved, 0 to 1. Below 0 if the run takes longer, which can happen
    /// because other transfers meet each other.
    pub saved: f64,
    /// The part that is then the busiest, in the window of that run.
    pub next: Option<String>,
    /// The share of the window for which `next` is busy, 0 to 1.
    pub next_busy: Option<f64>,
    /// What to change in the program or on the machine if this part limits.
    pub advice: String,
}

/// The time that an SPE spent in each activity, and the work of its MFC. An SPE waits while all
/// threads of its program wait. If the threads wait for different things, the time counts as a wait
/// for the thing that the last thread began to wait for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpeCounters {
    /// The time in which the SPE ran a program.
    pub computing_ns: f64,
    /// The time in which the SPE waited for a transfer.
    pub waiting_for_dma_ns: f64,
    /// The time in which the SPE waited for a word in a mailbox, or for room in a mailbox.
    pub waiting_for_mailbox_ns: f64,
    /// The time in which the SPE waited for a signal.
    pub waiting_for_signal_ns: f64,
    /// The time in which the SPE waited for a reservation or an atomic operation.
    pub waiting_for_lock_ns: f64,
    /// The time in which the SPE waited for something else, such as another thread, a process that
    /// is to start, or a point in time.
    pub waiting_for_other_ns: f64,
    /// The time in which the SPE had no program.
    pub idle_ns: f64,
    /// The number of MFC commands that were completed.
    pub commands: u64,
    /// The number of bytes that the MFC moved.
    pub bytes: u64,
}

/// The use of a part that several SPEs share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResourceCounters {
    /// The name, such as `Cell 0, ring 2`.
    pub name: String,
    /// The number of packets that the part transferred. For a memory module, it is the number of
    /// lines that were read or written.
    pub packets: u64,
    /// The number of bytes of data.
    pub bytes: u64,
    /// The time in which the part transferred at least one packet or line. A link also transfers
    /// commands and responses, which count only here.
    pub busy_ns: f64,
}

/// A measurement that is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NotMeasured {
    /// The name of the measurement.
    pub what: String,
    /// The reason why the measurement is missing.
    pub why: String,
}

impl Trust {
    /// Returns each reason with its kind. The kind of a reason in an older file is `None`.
    pub fn reasons(&self) -> impl Iterator<Item = (&str, Option<ReasonKind>)> {
        let kinds = self.kinds.iter().copied().chain(repeat(None));
        self.reasons.iter().map(String::as_str).zip(kinds)
    }
}

impl Report {
    /// Renames the parts of the machine in the advice and in the list of missing measurements. On a
    /// computer, for example, a memory module becomes a NUMA node.
    #[must_use]
    pub fn in_words_of_the_machine(mut self) -> Self {
        let words = Words::of(&self.envelope.machine);
        let advice = self.advice.iter_mut().map(|advice| &mut advice.text);
        let missing = self.not_measured.iter_mut();
        let missing = missing.flat_map(|missing| [&mut missing.what, &mut missing.why]);
        for text in advice.chain(missing) {
            *text = words.say(text);
        }
        self
    }
}

impl Envelope {
    /// Makes an envelope for the results of `command`. Without `reasons` the results are reliable.
    /// Reasons and warnings are translated into the words of the machine.
    pub fn new(
        command: &str,
        machine: MachineInfo,
        environment: Environment,
        mut reasons: Vec<Reason>,
        complete: bool,
    ) -> Self {
        let mut environment = environment;
        let words = Words::of(&machine);
        let texts = reasons.iter_mut().map(|reason| &mut reason.text);
        for text in texts.chain(&mut environment.warnings) {
            *text = words.say(text);
        }
        Self {
            schema_version: SCHEMA_VERSION,
            machine,
            environment,
            command: command.to_owned(),
            trust: Trust {
                trustworthy: reasons.is_empty(),
                kinds: reasons.iter().map(|reason| Some(reason.kind)).collect(),
                reasons: reasons.into_iter().map(|reason| reason.text).collect(),
            },
            complete,
        }
    }
}

/// The [kind](MachineInfo::kind) of a computer.
const HOST: &str = "host";

/// Returns the number of the core of each SPE, in the order of their first SPEs.
fn cores(topology: &Topology) -> Vec<usize> {
    let mut firsts: Vec<SpeId> = Vec::new();
    let core = |spe| {
        let same = |first: &SpeId| topology.distance(*first, spe) <= Distance::SameCore;
        firsts.iter().position(same).unwrap_or_else(|| {
            firsts.push(spe);
            firsts.len() - 1
        })
    };
    topology.spes().map(core).collect()
}

impl MachineInfo {
    /// Describes this computer, or a simulated machine if `simulation` is given.
    pub fn of(topology: &Topology, simulation: Option<Simulation>) -> Self {
        let cell = |cell| CellInfo {
            spes: topology.spes_of(cell).map(|spe| spe.index()).collect(),
            nearest_memory_module: topology.nearest_module(cell).index(),
        };
        Self {
            name: topology.name().to_owned(),
            kind: simulation.as_ref().map_or(HOST, |_| "simulated").to_owned(),
            spes: topology.spes().len(),
            cells: topology.cells().map(cell).collect(),
            memory_modules: topology.modules().len(),
            spe_places: topology
                .spes()
                .map(|spe| topology.place_of(spe).to_owned())
                .collect(),
            spe_memory_modules: topology
                .spes()
                .map(|spe| topology.module_of(spe).index())
                .collect(),
            spe_cores: cores(topology),
            ppe_place: topology.place_of_ppe().map(str::to_owned),
            simulation,
        }
    }

    /// Returns true for this computer, and false for a simulated machine or a matrix of costs.
    pub fn is_this_computer(&self) -> bool {
        self.kind == HOST
    }
}
