//! The outcome of a simulation.

pub(super) use cellworks_mapping::experiment::gather::{check_spes, failed};
use serde::{Deserialize, Serialize};

/// The time and the bandwidth that a simulation found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// The time of one operation.
    pub ns: f64,
    /// The bytes a second that all SPEs together moved. `None` if the SPEs moved nothing.
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
