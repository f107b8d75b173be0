//! What an experiment finds, and why it may find nothing.

pub(super) use cellworks_mapping::experiment::gather::{check_spes, failed};
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
