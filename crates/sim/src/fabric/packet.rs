use crate::time::{Femtoseconds, Moment};

/// A packet of data on the interconnect of one Cell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Packet {
    /// The time at which the packet's source has the data.
    pub ready_at: Moment,
    /// The time that the packet's sink takes after the last byte has arrived.
    pub sink: Femtoseconds,
    /// The index of the fabric's event that follows after the time of the sink.
    pub then: u32,
    pub bytes: u32,
    pub from: u16,
    pub to: u16,
    /// Whether the packet is a line that one SPE takes from the cache of another SPE.
    pub between_caches: bool,
}
