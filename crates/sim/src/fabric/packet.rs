use crate::time::{Femtoseconds, Moment};

/// A packet of data on the interconnect of a Cell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Packet {
    /// The time at which the source has the data.
    pub ready_at: Moment,
    /// The time that the sink takes after the last byte.
    pub sink: Femtoseconds,
    /// The index of the fabric event that is queued for the time at which the sink has the data.
    pub then: u32,
    pub bytes: u32,
    pub from: u16,
    pub to: u16,
    /// Whether the packet is a line from the cache of one SPE to the cache of another.
    pub between_caches: bool,
}
