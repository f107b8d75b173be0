//! The usage of a resource: a ring, a port, a link or a memory module.

use crate::observe::ResourceCounters;
use crate::time::Femtoseconds;

/// The packets and bytes that a resource has carried, and the time in which it was busy.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    pub packets: u64,
    pub bytes: u64,
    pub busy: Femtoseconds,
}

impl Usage {
    /// The counters of the resource with this name.
    pub fn counters(&self, name: String) -> ResourceCounters {
        ResourceCounters {
            name,
            packets: self.packets,
            bytes: self.bytes,
            busy: self.busy.into(),
        }
    }
}
