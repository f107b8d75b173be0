//! The counts of a resource.

use crate::observe::ResourceCounters;
use crate::time::Femtoseconds;

/// What a resource has carried so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    pub packets: u64,
    pub bytes: u64,
    pub busy: Femtoseconds,
}

impl Usage {
    /// The counts under a name.
    pub fn counters(&self, name: String) -> ResourceCounters {
        ResourceCounters {
            name,
            packets: self.packets,
            bytes: self.bytes,
            busy: self.busy.into(),
        }
    }
}
