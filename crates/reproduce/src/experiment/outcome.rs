//! The outcome of an experiment, or the reason why there is none.

pub(super) use cellworks_mapping::experiment::gather::{check_spes, failed};
use serde::{Deserialize, Serialize};

/// The outcome of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// The time of one operation.
    pub ns: f64,
    /// The bytes a second that all SPEs together moved. `None` if they moved nothing.
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
