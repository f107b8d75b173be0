//! The link between two Cells, which carries one message at a time in each direction.
//!
//! Each direction sends its messages in the order in which they reach the link. The latency counts
//! from the start of a message. A command or a response is at the other end when its first byte is
//! there, a data packet when its last byte is there.

use super::usage::Usage;
use crate::description::Description;
use crate::observe::{PartCounters, ResourceCounters};
use crate::part::Part;
use crate::time::{Femtoseconds, Moment};

/// The link between Cell 0 and Cell 1.
#[derive(Debug)]
pub(super) struct Link {
    latency: Femtoseconds,
    command: Femtoseconds,
    overhead_bytes: u64,
    bytes_per_s: u64,
    /// The direction from Cell 0 and the direction from Cell 1.
    directions: [Direction; 2],
}

#[derive(Debug, Default)]
struct Direction {
    free_at: Moment,
    usage: Usage,
}

impl Direction {
    /// Occupies the direction for `span` from the time at which it is free, and returns this time.
    fn take(&mut self, now: Moment, span: Femtoseconds) -> Moment {
        let start = now.max(self.free_at);
        self.free_at = start + span;
        self.usage.busy += span;
        start
    }
}

impl Link {
    /// Makes the link of a machine, or returns `None` for a machine of one Cell. Panics if the
    /// machine has more than two Cells, or two Cells and no link.
    pub fn new(description: &Description) -> Option<Self> {
        if description.cells.len() == 1 {
            return None;
        }
        assert_eq!(description.cells.len(), 2, "a link connects two Cells");
        let link = description.link.as_ref().expect("two Cells have a link");
        let bytes_per_s = link.bytes_per_s.value;
        Some(Self {
            latency: link.latency_ps.picoseconds(),
            command: Femtoseconds::of_transfer(link.command_bytes.value, bytes_per_s),
            overhead_bytes: link.packet_overhead_bytes.value,
            bytes_per_s,
            directions: Default::default(),
        })
    }

    /// Sends a command or a response, and returns the time of its arrival.
    pub fn command(&mut self, now: Moment, from_cell: usize) -> Moment {
        self.directions[from_cell].take(now, self.command) + self.latency
    }

    /// Sends a data packet, and returns the time at which its last byte arrives.
    pub fn data_at(&mut self, now: Moment, from_cell: usize, bytes: u32) -> Moment {
        let whole = u64::from(bytes) + self.overhead_bytes;
        let span = Femtoseconds::of_transfer(whole, self.bytes_per_s);
        let direction = &mut self.directions[from_cell];
        direction.usage.packets += 1;
        direction.usage.bytes += u64::from(bytes);
        direction.take(now, span) + span + self.latency
    }

    /// Returns the time of each direction.
    pub fn parts(&self) -> impl Iterator<Item = PartCounters> {
        self.resources().map(|direction| PartCounters {
            part: Part::Link,
            name: direction.name,
            busy: direction.busy,
        })
    }

    /// Returns the counters of each direction. Commands and responses only add to the busy time.
    pub fn resources(&self) -> impl Iterator<Item = ResourceCounters> {
        (0..2).map(|from| {
            let name = format!("link from Cell {from} to Cell {}", 1 - from);
            self.directions[from].usage.counters(name)
        })
    }
}
