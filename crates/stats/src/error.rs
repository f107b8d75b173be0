//! The errors of requests and of measurements.

use cellworks_machine::memory::AllocateError;
use cellworks_machine::mfc::CommandFault;
use cellworks_machine::sizes::in_words;
use cellworks_machine::{AtomicError, RunError, SpeId, StageError};

use crate::function::Function;
use crate::report::Latency;
use crate::settings::Setting;

/// The error of a request that cannot be fulfilled. Nothing was run. The message has the requested
/// value, the reason for the refusal, and a value that is allowed.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RequestError {
    /// The refused flag, such as `-n`. [`Request`](crate::Request) names the flag of each field.
    pub flag: &'static str,
    /// Flags that can replace the refused flag, such as `-n 1`. The function and `-s` are kept.
    pub instead: String,
    message: String,
}

cellworks_machine::debug_by_display!(RequestError);

impl RequestError {
    pub(crate) fn new(flag: &'static str, instead: impl Into<String>, message: String) -> Self {
        Self {
            flag,
            instead: instead.into(),
            message,
        }
    }

    pub(crate) fn block(message: String) -> Self {
        Self::new(
            Setting::BLOCK_BYTES.flag,
            Setting::BLOCK_BYTES.instead,
            message,
        )
    }

    pub(crate) fn with_instead(self, instead: String) -> Self {
        Self { instead, ..self }
    }
}

/// The reasons why a measurement failed.
#[derive(thiserror::Error)]
pub enum MeasureError {
    /// The system had no memory for the buffers.
    #[error(transparent)]
    Allocate(#[from] AllocateError),
    /// The machine ended the run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The program on an SPE failed.
    #[error("{spe}: {source}")]
    OnSpe {
        /// The SPE.
        spe: SpeId,
        /// The error.
        source: SpeError,
    },
    /// The operations ran but had a wrong effect.
    #[error(transparent)]
    Untrusted(#[from] Untrusted),
    /// The measurement ended without an error, but the result is impossible.
    #[error(transparent)]
    Impossible(#[from] Impossible),
    /// The operating system could not create a thread.
    #[error("no thread could be created: {0}; allow this process more threads (ulimit -u)")]
    OsThread(std::io::Error),
}

cellworks_machine::debug_by_display!(MeasureError);

/// The reasons why a program on an SPE failed.
#[derive(thiserror::Error)]
pub enum SpeError {
    /// The local store has no room.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// The MFC refused a command.
    #[error(transparent)]
    Mfc(#[from] CommandFault),
    /// An atomic operation was refused.
    #[error(transparent)]
    Atomic(#[from] AtomicError),
    /// The program on the SPE found that an operation had a wrong effect.
    #[error(transparent)]
    Untrusted(#[from] Untrusted),
    /// The system has no memory for a table.
    #[error(
        "the system gives no memory for a table of {}; use a smaller one (-b), or allow this process more (ulimit \
         -v)",
        in_words(*bytes)
    )]
    NoMemory {
        /// The bytes of the table.
        bytes: usize,
    },
}

cellworks_machine::debug_by_display!(SpeError);

/// A wrong effect of the measured operations. The times of the operations then have no meaning.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the measurement cannot be trusted: {0}; the machine is at fault, please report it")]
pub struct Untrusted(String);

cellworks_machine::debug_by_display!(Untrusted);

impl Untrusted {
    pub(crate) fn new(what: String) -> Self {
        Self(what)
    }
}

/// A measured result that is impossible on any machine.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the result cannot be true: {0}")]
pub struct Impossible(String);

cellworks_machine::debug_by_display!(Impossible);

impl Impossible {
    /// Makes the error for an impossible time. `statistic` is `mean` or `median`.
    pub(crate) fn time(function: Function, statistic: &str, ns: f64) -> Self {
        Self(format!(
            "the {statistic} time of {function} is {ns} ns, and an operation takes more than 0 ns; repeat it \
             with more iterations, and if it stays {LOOK_AT_THE_CLOCK}"
        ))
    }

    pub(crate) fn order(function: Function, latency: Latency) -> Self {
        let Latency {
            min, p50, p99, max, ..
        } = latency;
        Self(format!(
            "of the times of {function} the minimum is {min} ns, the median {p50} ns, the 99th percentile \
             {p99} ns and the maximum {max} ns, and none can be below the one before; {LOOK_AT_THE_CLOCK}"
        ))
    }

    pub(crate) fn bandwidth(
        function: Function,
        bytes_per_s: u64,
        spes: usize,
        bytes_per_s_max: u64,
    ) -> Self {
        let noun = if spes == 1 { "SPE" } else { "SPEs" };
        Self(format!(
            "{function} moved {bytes_per_s} bytes a second with {spes} {noun}, which can move {bytes_per_s_max} \
             at the very most; {LOOK_AT_THE_CLOCK}"
        ))
    }
}

const LOOK_AT_THE_CLOCK: &str = "look at the clock source of the machine, and at its hypervisor if \
                                 it has one; if they are right, please report this";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_for_which_there_is_no_memory() {
        let source = SpeError::NoMemory { bytes: 64 << 20 };
        let spe = SpeId::new(0);
        assert_eq!(
            MeasureError::OnSpe { spe, source }.to_string(),
            "SPE 0: the system gives no memory for a table of 64 MB; use a smaller one (-b), or allow \
             this process more (ulimit -v)"
        );
    }
}
