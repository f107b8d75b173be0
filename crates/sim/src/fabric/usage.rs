use crate::observe::ResourceCounters;
use crate::time::Femtoseconds;

/// The packets, bytes and busy time of a ring, port, link or memory module.
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
