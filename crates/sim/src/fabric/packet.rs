//! A packet on an interconnect.

use crate::time::{Femtoseconds, Moment};

/// A packet of data on its way over the interconnect of one Cell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Packet {
    /// The time at which its source has it.
    pub ready_at: Moment,
    /// How long its sink takes after the last byte.
    pub sink: Femtoseconds,
    /// What happens after that: the index of an event of the fabric.
    pub then: u32,
    pub bytes: u32,
    pub from: u16,
    pub to: u16,
    /// Whether it is a line that one SPE takes from the cache of another.
    pub between_caches: bool,
}
