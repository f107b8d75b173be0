pub(super) use cellworks_apps::exchange::gather::{check_spes, failed};
use serde::{Deserialize, Serialize};

/// The results of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SimulationResults {
    /// The time of one operation.
    pub ns: f64,
    /// The bandwidth of all SPEs together, if the SPEs move bytes.
    pub bytes_per_s: Option<f64>,
}

impl SimulationResults {
    pub fn time(ns: f64) -> Self {
        Self {
            ns,
            bytes_per_s: None,
        }
    }
}
