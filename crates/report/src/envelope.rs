//! What the results of all commands have in common: the machine, the circumstances, and trust.

use std::iter::repeat;

use serde::{Deserialize, Serialize};

use crate::machine_info::MachineInfo;
use crate::words::Words;

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
    /// Most medians have a ± of more than 10 %, or none. A new run would give different numbers.
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

/// A measurement that is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NotMeasured {
    /// The name of the measurement.
    pub what: String,
    /// The reason why the measurement is missing.
    pub why: String,
}

impl ReasonKind {
    /// Makes a reason of this kind.
    pub fn reason(self, text: String) -> Reason {
        Reason { kind: self, text }
    }
}

impl Trust {
    /// Returns each reason with its kind. The kind of a reason in an older file is `None`.
    pub fn reasons(&self) -> impl Iterator<Item = (&str, Option<ReasonKind>)> {
        let kinds = self.kinds.iter().copied().chain(repeat(None));
        self.reasons.iter().map(String::as_str).zip(kinds)
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
