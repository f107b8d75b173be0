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
//! [`ExplanationReport`] the differences between two placements. [`read()`] reads each of them from
//! its JSON, and [`Comparison`] compares two of a kind. A [`Reproduction`] compares simulated
//! numbers with published ones. All of them have one [`Envelope`].

// Test data is shared with the tests beside this crate, which use it under the crate's public name.
#[cfg(test)]
extern crate self as cellworks_report;

mod columns;
pub mod compare;
mod counters;
pub mod csv;
pub mod explanation;
pub mod heat_map;
pub mod html;
pub mod json;
pub mod machine;
pub mod machines;
#[cfg(test)]
#[path = "../tests/made_up/mod.rs"]
mod made_up;
mod median;
mod memory_matrix;
pub mod placement;
pub mod program;
mod read;
pub mod reproduction;
mod scale;
pub mod schema;
pub mod sweep;
pub mod table;
mod text;
mod words;

use std::iter::repeat;

use cellworks_machine::Topology;
use cellworks_stats::{Advice, Finding, Matrix, Measurement, MemoryMatrix, Reference};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use compare::Comparison;
pub use explanation::{ExplainedPair, ExplainedPlacement, ExplanationReport, LinkLoad};
pub use machine::{
    CacheInfo, CpuInfo, ElementInfo, InterconnectInfo, MachineReport, NumaNodeInfo, QuotaInfo,
};
pub use machines::{Machines, SimulatedMachine};
pub use placement::{
    CpuBinding, FixedTask, PlacementProblem, PlacementReport, PlacementTrial, PlacementTrials,
};
pub use program::{FigureAxis, FigureCurve, ProgramFigure, ProgramReport};
pub use read::{Measured, ReadError, read};
pub use reproduction::Reproduction;
pub use sweep::{MappingTimes, SweepInfo, SweepReport};
pub use text::{WIDTH, bandwidth, size, time, title, wrapped};
pub use words::Words;

/// The version of the JSON. It rises when a field changes its meaning or is removed, but not when
/// one is added.
pub const SCHEMA_VERSION: u32 = 1;

/// The part that all results have in common, whichever command found them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Envelope {
    /// The version of the form of this object.
    pub schema_version: u32,
    /// The machine that was measured, or simulated. If there are several, it is the first.
    pub machine: MachineInfo,
    /// The program and the computer that measured or simulated it, and the time; of several runs,
    /// those of the first.
    pub environment: Environment,
    /// The command, such as `stats`.
    pub command: String,
    /// Whether the numbers can be relied upon.
    pub trust: Trust,
    /// Whether everything was done that should have been. An interrupted run is not complete.
    pub complete: bool,
}

/// The results of `cellworks stats`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// What all results have in common.
    #[serde(flatten)]
    pub envelope: Envelope,
    /// The measurements that are missing, and the reasons.
    pub not_measured: Vec<NotMeasured>,
    /// Single operations, in the order in which they were measured.
    pub measurements: Vec<Measurement>,
    /// Times between all pairs of SPEs.
    pub matrices: Vec<Matrix>,
    /// The latency and the bandwidth of reading each memory module. `None` unless the user asked
    /// for them, and in files of older commands.
    #[serde(default)]
    pub memory_matrix: Option<MemoryMatrix>,
    /// The time of one pair of SPEs, measured again and again during the run. `None` for a machine
    /// on which an operation always takes the same time, for a machine with one SPE, if the user
    /// gave a number of iterations, and in files of older commands.
    #[serde(default)]
    pub reference: Option<Reference>,
    /// Findings that follow from several measurements.
    pub results: Vec<Finding>,
    /// Advice for programs on this machine.
    pub advice: Vec<Advice>,
    /// The counters of the parts of a simulated machine in the run; `None` unless the user asked
    /// for them.
    pub counters: Option<Counters>,
}

/// The machine that was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineInfo {
    /// The title of the machine: for the host, the processor's name.
    pub name: String,
    /// `host`: this computer. `simulated`: a machine that is simulated. `costs`: a matrix of costs,
    /// for which only the number of places is known.
    pub kind: String,
    /// The number of SPEs.
    pub spes: usize,
    /// Cell 0, Cell 1, ...; on the host, the cores under one last-level cache.
    pub cells: Vec<CellInfo>,
    /// The number of memory modules; on the host, of NUMA nodes.
    pub memory_modules: usize,
    /// The place of each SPE, such as `CPU 3`.
    pub spe_places: Vec<String>,
    /// The memory module that is nearest to each SPE; on the host, that of its CPU. The SPEs of a
    /// Cell differ if their last-level cache covers several NUMA nodes. Empty for a matrix of
    /// costs, and in files of older commands.
    #[serde(default)]
    pub spe_memory_modules: Vec<usize>,
    /// The place of the PPE, such as `CPU 0`; `None` if it has no name, and in files of older
    /// commands.
    #[serde(default)]
    pub ppe_place: Option<String>,
    /// How it was simulated; `None` if it was not.
    pub simulation: Option<Simulation>,
}

/// How a machine was simulated. The same simulation of the same measurement always gives the same
/// numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Simulation {
    /// The name of its description, such as `qs20`.
    pub description: String,
    /// The number that decides the order of events of the same instant; 0 is the plain order.
    pub seed: u64,
    /// Whether the PPE wrote and read the registers of SPEs by calls into the kernel, and not
    /// directly.
    pub system_calls: bool,
}

/// A Cell of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CellInfo {
    /// The numbers of its SPEs.
    pub spes: Vec<usize>,
    /// The memory module nearest to the Cell. If its SPEs have several, it is that of the SPEs to
    /// be used first.
    pub nearest_memory_module: usize,
}

/// The program and the computer that measured, and the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// The version of the command.
    pub cellworks_version: String,
    /// `release` or `debug`; times of a debug build mean little.
    pub build: String,
    /// The operating system, such as `linux`.
    pub operating_system: String,
    /// The release of its kernel.
    pub kernel: Option<String>,
    /// The architecture, such as `x86_64`.
    pub architecture: String,
    /// The time at which the run ended, in seconds since 1970-01-01 00:00 UTC.
    pub finished_unix_s: u64,
    /// What may have disturbed the measurements, in sentences.
    pub warnings: Vec<String>,
    /// The state of the computer; `None` for a simulated machine.
    pub host: Option<Conditions>,
}

/// The state of the computer that was measured. A value that could not be read is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conditions {
    /// The average number of threads that wanted to run in the last minute before the run.
    pub load_average: Option<f64>,
    /// The share of the time of the measured CPUs that other programs used just before the run, 0
    /// to 1.
    pub busy_before: Option<f64>,
    /// The share of the time of the measured CPUs that other programs used during the run, 0 to 1.
    pub busy_during: Option<f64>,
    /// The share of the time of the measured CPUs that the hypervisor gave to other virtual
    /// machines during the run, 0 to 1.
    pub stolen_during: Option<f64>,
    /// The frequency governors of the measured CPUs, each once.
    pub governors: Vec<String>,
    /// The number of CPUs whose time the container or user may use.
    pub quota_cpus: Option<f64>,
    /// The clock source of the system, such as `tsc`.
    pub clock_source: Option<String>,
    /// The highest clock rate of the measured CPUs.
    pub highest_clock_hz: Option<u64>,
    /// The smallest step that the clock was seen to take, in nanoseconds; `None` if it stood still.
    pub clock_step_ns: Option<f64>,
    /// How long it takes to read the clock, in nanoseconds.
    pub clock_reading_ns: f64,
    /// When Linux gives ordinary memory in huge pages: `always`, `madvise` or `never`.
    pub transparent_huge_pages: Option<String>,
    /// The bytes of memory that were available to programs before the run.
    pub memory_available_bytes: Option<u64>,
    /// The CPUs that were left out.
    pub cpus_left_out: Vec<CpuLeftOut>,
}

/// A CPU that was not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuLeftOut {
    /// Its number.
    pub cpu: u32,
    /// The reason, in a few words.
    pub why: String,
}

/// Whether the numbers can be relied upon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trust {
    /// Whether they can. They can if there are no reasons against it.
    pub trustworthy: bool,
    /// The reasons, in sentences with what to do.
    pub reasons: Vec<String>,
    /// The kind of each of `reasons`, in the same order. `None` in a comparison with a file of an
    /// older command.
    #[serde(default)]
    pub kinds: Vec<Option<ReasonKind>>,
}

/// The kind of a reason not to rely upon numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReasonKind {
    /// The measurement did not have the computer for itself: other programs used its CPUs, CPUs
    /// vanished, or data was in another memory module than it should be.
    Disturbed,
    /// Too many numbers are known only roughly. They would be different the next time.
    Uncertain,
    /// The computer was in two states during the run, and numbers of both are mixed. For example,
    /// virtual CPUs may be near each other at times and far apart at other times.
    Unsteady,
    /// The numbers are not those of the machine that is named. The command read the files of one
    /// computer (`CELLWORKS_FSROOT`), and measured on another.
    Foreign,
    /// A number was found that is impossible. It is not among the results.
    Impossible,
    /// A simulation failed, and its numbers are missing.
    Failed,
}

/// A reason not to rely upon numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The kind of the reason.
    pub kind: ReasonKind,
    /// A sentence with what to do.
    pub text: String,
}

/// The counters of the parts of a simulated machine from the beginning of the run to its end,
/// including warm-up and the start of programs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counters {
    /// How long the run took, in simulated time.
    pub elapsed_ns: f64,
    /// By SPE.
    pub spes: Vec<SpeCounters>,
    /// The rings or links of the interconnect, the memory modules, and the link between Cells.
    pub resources: Vec<ResourceCounters>,
    /// The number of events that the simulation handled.
    pub events: u64,
}

/// What an SPE and its MFC did with their time. An SPE waits when all threads of its program wait.
/// The kind of the wait is that of the thread that began to wait last.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpeCounters {
    /// The time in which it ran a program.
    pub computing_ns: f64,
    /// The time in which it waited for a transfer.
    pub waiting_for_dma_ns: f64,
    /// The time in which it waited for a word in a mailbox, or for room for one.
    pub waiting_for_mailbox_ns: f64,
    /// The time in which it waited for a signal.
    pub waiting_for_signal_ns: f64,
    /// The time in which it waited for a reservation or an atomic operation.
    pub waiting_for_lock_ns: f64,
    /// The time in which it waited for something else.
    pub waiting_for_other_ns: f64,
    /// The time without a program.
    pub idle_ns: f64,
    /// MFC commands that were completed.
    pub commands: u64,
    /// Bytes that its MFC moved.
    pub bytes: u64,
}

/// How much a part was used that several SPEs share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceCounters {
    /// The name, such as `Cell 0, ring 2`.
    pub name: String,
    /// Packets, or lines of memory.
    pub packets: u64,
    /// Bytes of data.
    pub bytes: u64,
    /// How long at least one packet was on it.
    pub busy_ns: f64,
}

/// A measurement that is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotMeasured {
    /// The measurement.
    pub what: String,
    /// The reason.
    pub why: String,
}

impl Trust {
    /// Each reason with its kind, if the kind is known.
    pub fn reasons(&self) -> impl Iterator<Item = (&str, Option<ReasonKind>)> {
        let kinds = self.kinds.iter().copied().chain(repeat(None));
        self.reasons.iter().map(String::as_str).zip(kinds)
    }
}

impl Report {
    /// The same with all sentences in the words of the machine.
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
    /// The envelope of a command's results, in the present form. The results can be relied upon if
    /// there are no `reasons` against it. Reasons and warnings are written in the words of the
    /// machine.
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

impl MachineInfo {
    /// Describes this computer, or a machine that is simulated.
    pub fn of(topology: &Topology, simulation: Option<Simulation>) -> Self {
        let cell = |cell| CellInfo {
            spes: topology.spes_of(cell).map(|spe| spe.index()).collect(),
            nearest_memory_module: topology.nearest_module(cell).index(),
        };
        Self {
            name: topology.name().to_owned(),
            kind: if simulation.is_some() {
                "simulated".to_owned()
            } else {
                "host".to_owned()
            },
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
            ppe_place: topology.place_of_ppe().map(str::to_owned),
            simulation,
        }
    }

    /// Whether the machine is a computer, and not a simulated machine or a matrix of costs.
    pub fn is_this_computer(&self) -> bool {
        self.kind == "host"
    }
}
