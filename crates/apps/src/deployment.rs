//! Where the processes of a program's network run, and what they send to each other.

use cellworks_csp::{Counted, Network};
use cellworks_machine::{Flows, Machine, SpeId};

/// Where the processes of a program's network run, and what they send to each other: see
/// [`Program::run_as`](crate::Program::run_as).
#[derive(Clone, Debug, Default)]
pub struct Deployment {
    /// The SPE of each unit of the network: see [`Network::place`]. If this is `None`, the
    /// parameters of the program say where the processes run.
    pub placement: Option<Vec<SpeId>>,
    /// Whether the run counts what processes send to each other.
    pub counts: bool,
    /// What processes have sent to each other, if the last run has counted.
    pub flows: Option<Flows>,
}

impl Deployment {
    /// Prepares a network to which all processes have been added. The result is for
    /// [`record`](Self::record), after the run.
    pub(crate) fn prepare<M: Machine>(&self, network: &mut Network<'_, M>) -> Option<Counted> {
        if let Some(placement) = &self.placement {
            network.place(placement.iter().copied());
        }
        self.counts.then(|| network.count_volumes())
    }

    pub(crate) fn record(&mut self, counted: Option<Counted>) {
        self.flows = counted.map(|counted| counted.flows());
    }
}
