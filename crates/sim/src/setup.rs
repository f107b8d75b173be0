//! The parts and settings of a machine, which are the same in all its runs.

use std::sync::Arc;

use cellworks_machine::memory::{AddressSpace, Region};
use cellworks_machine::{Span, Time, Topology};
use serde::Deserialize;

use crate::description::Description;
use crate::hazard::HazardWatch;
use crate::time::Moment;

pub(crate) struct Setup {
    pub description: Description,
    pub topology: Topology,
    pub options: Options,
    pub space: Arc<AddressSpace>,
    pub local_stores: Vec<Region>,
}

impl Setup {
    /// Returns the time limit of a run, as a point in simulated time.
    pub fn limit(&self) -> Moment {
        Moment::from(Time::default() + self.options.limit)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub seed: u64,
    pub limit: Span,
    pub ppe_access: PpeAccess,
    pub hazards: HazardWatch,
    pub stack_bytes: usize,
}

/// How the PPE reaches the registers of SPEs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PpeAccess {
    /// By loads and stores to the registers of SPEs, which are mapped into its address space.
    #[default]
    Direct,
    /// By library calls that enter the kernel.
    SystemCalls,
}
