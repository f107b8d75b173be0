//! The parts of a machine and the settings of its simulation, which are the same in all runs.

use std::sync::Arc;

use cellworks_machine::memory::{AddressSpace, Region};
use cellworks_machine::{Span, Time, Topology};

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
    /// The time at which a run is ended, if the run has not ended before.
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PpeAccess {
    /// The PPE uses loads and stores. The problem-state areas (the registers of SPEs that other
    /// processors may use) are mapped into the address space of the main program.
    #[default]
    Direct,
    /// The PPE uses library calls that enter the kernel.
    SystemCalls,
}
