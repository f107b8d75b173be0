//! The link between two Cells: one direction each way, each carrying one thing at a time.
//!
//! Commands, responses and packets of data share it in the order in which they come. Its latency is
//! counted from the start of a message. What follows a command or a response can begin with its first
//! beat; a packet of data is of use only when its last byte has come.

use super::Usage;
use crate::{Description, ResourceCounters};

/// The link between Cell 0 and Cell 1.
#[derive(Debug)]
pub(super) struct Link {
    latency_fs: u64,
    command_fs: u64,
    overhead_bytes: u64,
    bytes_per_s: u64,
    /// By the Cell that sends.
    directions: [Direction; 2],
}

#[derive(Debug, Default)]
struct Direction {
    free_fs: u64,
    usage: Usage,
}

impl Direction {
    /// Takes the direction for a time, as soon as it is free, and tells when that is.
    fn take_fs(&mut self, now_fs: u64, span_fs: u64) -> u64 {
        let start = now_fs.max(self.free_fs);
        self.free_fs = start + span_fs;
        self.usage.busy_fs += span_fs;
        start
    }
}

impl Link {
    /// The idle link of a machine of two Cells.
    ///
    /// # Panics
    ///
    /// If a machine of several Cells has not exactly two of them and a link.
    pub fn new(description: &Description) -> Option<Self> {
        if description.cells.len() == 1 {
            return None;
        }
        assert_eq!(description.cells.len(), 2, "a link connects two Cells");
        let link = description.link.as_ref().expect("two Cells have a link");
        let bytes_per_s = link.bytes_per_s.value;
        Some(Self {
            latency_fs: super::ps_fs(&link.latency_ps),
            command_fs: super::transfer_fs(link.command_bytes.value, bytes_per_s),
            overhead_bytes: link.packet_overhead_bytes.value,
            bytes_per_s,
            directions: Default::default(),
        })
    }

    /// Sends a command or a response, and tells when it arrives.
    pub fn command_fs(&mut self, now_fs: u64, from_cell: usize) -> u64 {
        self.directions[from_cell].take_fs(now_fs, self.command_fs) + self.latency_fs
    }

    /// Sends a packet of data, and tells when all of it has arrived.
    pub fn data_fs(&mut self, now_fs: u64, from_cell: usize, bytes: u32) -> u64 {
        let whole = u64::from(bytes) + self.overhead_bytes;
        let span = super::transfer_fs(whole, self.bytes_per_s);
        let direction = &mut self.directions[from_cell];
        direction.usage.packets += 1;
        direction.usage.bytes += u64::from(bytes);
        direction.take_fs(now_fs, span) + span + self.latency_fs
    }

    /// What each direction carried: packets and bytes of data; it was busy with commands and
    /// responses, too.
    pub fn resources(&self) -> impl Iterator<Item = ResourceCounters> {
        (0..2).map(|from| {
            let name = format!("link from Cell {from} to Cell {}", 1 - from);
            self.directions[from].usage.counters(name)
        })
    }
}
