use crate::observe::ResourceCounters;
use crate::time::Femtoseconds;

/// The packets and bytes that a resource (a ring, a port, a link or a memory module) has carried,
/// and its busy time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    pub packets: u64,
    pub bytes: u64,
    pub busy: Femtoseconds,
}

impl Usage {
    pub fn counters(&self, name: String) -> ResourceCounters {
        ResourceCounters {
            name,
            packets: self.packets,
            bytes: self.bytes,
            busy: self.busy.into(),
        }
    }
}
