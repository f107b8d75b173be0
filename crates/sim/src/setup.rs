//! The parts and settings of a machine, which are the same in all its runs.

use std::sync::Arc;

use cellworks_machine::memory::{AddressSpace, Region};
use cellworks_machine::{Span, Time, Timebase, Topology};
use serde::Deserialize;

use crate::description::Description;
use crate::hazard::HazardWatch;
use crate::part::Part;
use crate::time::Moment;

pub(crate) struct Setup {
    pub description: Description,
    pub topology: Topology,
    pub options: Options,
    pub space: Arc<AddressSpace>,
    pub local_stores: Vec<Region>,
}

impl Setup {
    /// Returns the tick rate of the time base and of the decrementers.
    pub fn timebase(&self) -> Timebase {
        Timebase::from_hertz(self.description.clock.timebase_hz.value)
    }

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
    /// The part that takes no time.
    pub free: Option<Part>,
    pub window: Window,
}

/// The part of a run to which its counters refer: see
/// [`Ppe::begin_window`](cellworks_machine::Ppe::begin_window).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Window {
    /// The part that the program chooses by its calls, or the whole run without a call.
    #[default]
    ByCalls,
    /// As `ByCalls`, but without a call from the time at which a program has begun on every SPE
    /// that runs programs, until the last program has ended.
    ///
    /// It is meant for programs that wait for each other at their beginning: one program starts
    /// after the other, so a program that does not wait may have ended before the last one begins.
    AfterStart,
    /// The whole run, whatever the program calls.
    WholeRun,
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
