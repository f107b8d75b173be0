//! The SPEs on which the processes of a network run.

use cellworks_csp::Transport;
use cellworks_machine::Topology;
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::error::ParameterError;
use crate::figure::counted;
use crate::gang::check_spes;

/// How many processes a network has, on which SPEs they run, and how they reach each other.
#[derive(Args, Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
pub struct Placement {
    /// How many SPEs have processes, from SPE 0 on.
    #[arg(long, default_value = "1")]
    pub spes: usize,

    /// How many processes run on each SPE.
    #[arg(long, default_value = "1")]
    pub threads: usize,

    /// How processes of different SPEs reach each other on a simulated machine. On this computer
    /// they share memory, and the flag has no effect.
    #[arg(long, value_enum, default_value = "direct")]
    pub transport: Transport,
}

/// The largest number of threads on each SPE. More threads would gain nothing on any machine.
const THREADS_MAX: usize = 1_000;

/// The address space of a cooperative thread's stack on this computer: 256 KB and a guard.
pub(crate) const STACK_BYTES: usize = 288 << 10;

impl Placement {
    pub(crate) fn processes(self) -> usize {
        self.spes * self.threads
    }

    pub(crate) fn stacks_bytes(self) -> usize {
        self.processes().saturating_mul(STACK_BYTES)
    }

    pub(crate) fn alone(self) -> Self {
        Self {
            spes: 1,
            threads: 1,
            ..self
        }
    }

    pub(crate) fn title(self) -> String {
        let spes = counted(self.spes, "SPE");
        format!("{spes}, {}", counted(self.threads, "thread"))
    }

    pub(crate) fn check(self, topology: &Topology) -> Result<(), ParameterError> {
        check_spes(self.spes, topology)?;
        match self.threads {
            0 => Err(ParameterError::Zero {
                parameter: "threads",
                noun: "threads",
            }),
            1..=THREADS_MAX => Ok(()),
            threads => Err(ParameterError::Refused {
                parameter: "threads",
                why: format!("{threads} threads of an SPE are too many; use at most {THREADS_MAX}"),
            }),
        }
    }
}
