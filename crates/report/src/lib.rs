//! What a run of Cellworks found, and views of it.
//!
//! ```text
//!                              ┌─► table   for people at a terminal
//!   measurements, matrices,    ├─► csv     for spreadsheets
//!   findings, advice ──► Report├─► json    for scripts, by a published schema
//!                              └─► html    one file with curves and heat maps
//! ```
//!
//! A [`Report`] is computed once, and every view only shows what is in it. A [`ProgramReport`] is
//! what programs found, a [`PlacementReport`] where tasks are to be, and an [`ExplanationReport`]
//! what two placements differ in. [`read()`] takes each back from its JSON, and [`Comparison`] sets
//! two of a kind side by side. A [`Reproduction`] sets simulated numbers beside published ones. All
//! of them have one [`Envelope`].

// Test data is shared with the tests beside this crate, which see it from outside.
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
pub use text::{WIDTH, bandwidth, size, time, title};
pub use words::Words;

/// The version of the JSON; it rises when a field changes its meaning or goes, not when one is
/// added.
pub const SCHEMA_VERSION: u32 = 1;

/// What all results have in common, whatever command found them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Envelope {
    /// The version of the form of this object.
    pub schema_version: u32,
    /// The machine that was measured, or simulated; of several the first.
    pub machine: MachineInfo,
    /// What measured or simulated it, and when; of several runs that of the first.
    pub environment: Environment,
    /// The command that found it, such as `stats`.
    pub command: String,
    /// Whether the numbers can be relied upon.
    pub trust: Trust,
    /// Whether everything was done that should have been; an interrupted run is not complete.
    pub complete: bool,
}

/// What `cellworks stats` has measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// What all results have in common.
    #[serde(flatten)]
    pub envelope: Envelope,
    /// What was not measured, and why.
    pub not_measured: Vec<NotMeasured>,
    /// Single operations, in the order in which they were measured.
    pub measurements: Vec<Measurement>,
    /// Times between all pairs of SPEs.
    pub matrices: Vec<Matrix>,
    /// What it takes to read every memory module; `None` unless asked for, and in files of commands
    /// that did not measure it yet.
    #[serde(default)]
    pub memory_matrix: Option<MemoryMatrix>,
    /// What the same two SPEs took again and again during the run; `None` where the same always
    /// takes the same time, of a machine with one SPE, where a number of iterations was asked for,
    /// and in files of commands that did not look yet.
    #[serde(default)]
    pub reference: Option<Reference>,
    /// What follows from several measurements.
    pub results: Vec<Finding>,
    /// What to make of it.
    pub advice: Vec<Advice>,
    /// What the parts of a simulated machine did in the run; `None` unless asked for.
    pub counters: Option<Counters>,
}

/// The machine that was measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MachineInfo {
    /// What people call the machine: of the host, the processor's name.
    pub name: String,
    /// `host`: this computer. `simulated`: a machine that is simulated. `costs`: a matrix of costs,
    /// of which only the number of places is known.
    pub kind: String,
    /// How many SPEs it has.
    pub spes: usize,
    /// Cell 0, Cell 1, ...; on the host, the cores under one last-level cache.
    pub cells: Vec<CellInfo>,
    /// How many memory modules it has; on the host, NUMA nodes.
    pub memory_modules: usize,
    /// Where each SPE is, such as `CPU 3`.
    pub spe_places: Vec<String>,
    /// The memory module that is nearest to each SPE; on the host, that of its CPU. The SPEs of a
    /// Cell differ if their last-level cache lies over several NUMA nodes. Empty of a matrix of
    /// costs, and in files of commands that did not say so yet.
    #[serde(default)]
    pub spe_memory_modules: Vec<usize>,
    /// Where the PPE is, such as `CPU 0`; `None` where it has no name, and in files of commands
    /// that did not say so yet.
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
    /// What decides the order of events of the same instant; 0 is the plain order.
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
    /// Its own memory module; of several, that of the SPEs to be used first.
    pub nearest_memory_module: usize,
}

/// What measured, and under which circumstances.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// The version of the command.
    pub cellworks_version: String,
    /// `release` or `debug`; times of a debug build mean little.
    pub build: String,
    /// Such as `linux`.
    pub operating_system: String,
    /// Its release.
    pub kernel: Option<String>,
    /// Such as `x86_64`.
    pub architecture: String,
    /// When the run ended, in seconds since 1970-01-01 00:00 UTC.
    pub finished_unix_s: u64,
    /// What may have disturbed the measurements, in sentences.
    pub warnings: Vec<String>,
    /// The state of the computer; `None` for a simulated machine.
    pub host: Option<Conditions>,
}

/// The state of the computer that was measured. What could not be read is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conditions {
    /// How many threads wanted to run in the last minute before the run, on average.
    pub load_average: Option<f64>,
    /// The share of the time of the measured CPUs that others used just before the run, 0 to 1.
    pub busy_before: Option<f64>,
    /// The share of the time of the measured CPUs that others used during the run, 0 to 1.
    pub busy_during: Option<f64>,
    /// The share of the time of the measured CPUs that the hypervisor gave to others during the
    /// run, 0 to 1.
    pub stolen_during: Option<f64>,
    /// The frequency governors of the measured CPUs, each once.
    pub governors: Vec<String>,
    /// How many CPUs' worth of time the container or user may use.
    pub quota_cpus: Option<f64>,
    /// What the clock counts by, such as `tsc`.
    pub clock_source: Option<String>,
    /// The highest clock rate of the measured CPUs.
    pub highest_clock_hz: Option<u64>,
    /// The smallest step that the clock was seen to take, in nanoseconds; `None` if it stood still.
    pub clock_step_ns: Option<f64>,
    /// What reading the clock takes, in nanoseconds.
    pub clock_reading_ns: f64,
    /// When Linux gives ordinary memory in huge pages: `always`, `madvise` or `never`.
    pub transparent_huge_pages: Option<String>,
    /// How many bytes of memory programs could have before the run.
    pub memory_available_bytes: Option<u64>,
    /// The CPUs that were left out.
    pub cpus_left_out: Vec<CpuLeftOut>,
}

/// A CPU that was not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuLeftOut {
    /// Its number.
    pub cpu: u32,
    /// Why, in a few words.
    pub why: String,
}

/// Whether the numbers can be relied upon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Trust {
    /// Whether they can: there is no reason against it.
    pub trustworthy: bool,
    /// Why not, in sentences that say what to do about it.
    pub reasons: Vec<String>,
    /// Of which kind each of `reasons` is, in the same order. `None` in a comparison with a file
    /// whose command did not say so yet.
    #[serde(default)]
    pub kinds: Vec<Option<ReasonKind>>,
}

/// Of which kind a reason is not to rely upon numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReasonKind {
    /// The measurement did not have the computer for itself: others used its CPUs, CPUs vanished,
    /// or data lay in another memory module than they should.
    Disturbed,
    /// Too many numbers are known only roughly, and would come out differently next time.
    Uncertain,
    /// The computer was in two states during the run, such as virtual CPUs that are at times near
    /// each other and at times far apart, and numbers of both are mixed.
    Unsteady,
    /// The numbers are those of another computer than the machine that is named: the command was
    /// told to read the files of one (`CELLWORKS_FSROOT`), and measured on another.
    Foreign,
    /// A number came out that cannot be true. It is not among the results.
    Impossible,
    /// A simulation failed, and its numbers are missing.
    Failed,
}

/// A reason not to rely upon numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Of which kind it is.
    pub kind: ReasonKind,
    /// A sentence that says what to do about it.
    pub text: String,
}

/// What the parts of a simulated machine did from the beginning of the run to its end, warm-up and
/// starting of programs included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counters {
    /// How long the run took, in simulated time.
    pub elapsed_ns: f64,
    /// By SPE.
    pub spes: Vec<SpeCounters>,
    /// Rings or links of the interconnect, memory modules, and the link between Cells.
    pub resources: Vec<ResourceCounters>,
    /// How many events the simulation handled.
    pub events: u64,
}

/// What an SPE did with its time, and its MFC. It waits when all threads of its program do; what
/// the one waits for that began last is what counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SpeCounters {
    /// Running a program.
    pub computing_ns: f64,
    /// Waiting for a transfer.
    pub waiting_for_dma_ns: f64,
    /// Waiting for a word in a mailbox, or for room for one.
    pub waiting_for_mailbox_ns: f64,
    /// Waiting for a signal.
    pub waiting_for_signal_ns: f64,
    /// Waiting for a reservation or an atomic operation.
    pub waiting_for_lock_ns: f64,
    /// Waiting for something else.
    pub waiting_for_other_ns: f64,
    /// Without a program.
    pub idle_ns: f64,
    /// MFC commands that were completed.
    pub commands: u64,
    /// Bytes that its MFC moved.
    pub bytes: u64,
}

/// How much a part was used that several SPEs share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceCounters {
    /// Such as `Cell 0, ring 2`.
    pub name: String,
    /// Packets, or lines of memory.
    pub packets: u64,
    /// Bytes of data.
    pub bytes: u64,
    /// For how long there was at least one packet.
    pub busy_ns: f64,
}

/// Something that was not measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotMeasured {
    /// What.
    pub what: String,
    /// Why not.
    pub why: String,
}

impl Trust {
    /// Each reason with its kind, where that is known.
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
    /// The envelope of what a command has found, in the present form; it can be relied upon if
    /// there are no `reasons` against it. Reasons and warnings are said in the words of the machine.
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

    /// Whether it is a computer, and not a machine that is simulated or a matrix of costs.
    pub fn is_this_computer(&self) -> bool {
        self.kind == "host"
    }
}
