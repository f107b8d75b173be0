//! What an experiment finds, and why it may find nothing.

use cellworks_machine::Machine;
use serde::{Deserialize, Serialize};

/// What a run found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// The time of one operation.
    pub ns: f64,
    /// What all SPEs moved together, if they moved anything.
    pub bytes_per_s: Option<f64>,
}

impl Outcome {
    pub fn time(ns: f64) -> Self {
        Self {
            ns,
            bytes_per_s: None,
        }
    }
}

/// Why a run of a machine gave no number.
pub(super) fn failed(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// That the machine has too few SPEs, if so.
pub(super) fn check_spes<M: Machine>(machine: &M, needed: usize) -> Result<(), String> {
    let has = machine.topology().spes().len();
    if needed <= has {
        return Ok(());
    }
    Err(format!(
        "it needs {needed} SPEs, and {} has {has}",
        machine.topology().name()
    ))
}
