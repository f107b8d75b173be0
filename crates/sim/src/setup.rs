//! What a machine is, and how it is to be simulated: both stay the same for all of its runs.

use std::sync::Arc;

use cellworks_machine::memory::{AddressSpace, Region};
use cellworks_machine::{Span, Time, Topology};

use crate::description::Description;
use crate::hazard::HazardWatch;
use crate::time::Moment;

/// A machine between its runs.
pub(crate) struct Setup {
    pub description: Description,
    pub topology: Topology,
    pub options: Options,
    pub space: Arc<AddressSpace>,
    /// By SPE.
    pub local_stores: Vec<Region>,
}

impl Setup {
    /// The time at which a run is ended at the latest.
    pub fn limit(&self) -> Moment {
        Moment::from(Time::default() + self.options.limit)
    }
}

/// How a machine is to be simulated.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub seed: u64,
    pub limit: Span,
    pub ppe_access: PpeAccess,
    pub hazards: HazardWatch,
    pub stack_bytes: usize,
}

/// How the PPE reaches the registers of SPEs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PpeAccess {
    /// By loads and stores: the problem-state areas are mapped into its program.
    #[default]
    Direct,
    /// By library calls that enter the kernel.
    SystemCalls,
}
