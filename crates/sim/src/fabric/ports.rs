//! The ports of elements, for interconnects on which packets wait only at the ports.
//!
//! ```text
//!                 ready   start             start + latency
//!   source's port   │......│▓▓▓▓▓▓▓▓│            ╎
//!   target's port                    ╎...........│▓▓▓▓▓▓▓▓│ arrival
//!                     waits          ╎   waits in a buffer at the target
//! ```

use super::usage::Usage;
use crate::observe::{PartCounters, ResourceCounters};
use crate::part::Part;
use crate::time::{Femtoseconds, Moment};

/// A port or a link, which carries one packet at a time.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// The time at which the last byte of the last packet leaves.
    pub free_at: Moment,
    usage: Usage,
}

impl Lane {
    /// Occupies the lane from `head`, when the head of a packet enters it, to `gone`, when the last
    /// byte of the packet leaves it.
    pub fn hold(&mut self, head: Moment, gone: Moment, bytes: u32) {
        self.free_at = gone;
        self.usage.packets += 1;
        self.usage.bytes += u64::from(bytes);
        self.usage.busy += gone - head;
    }

    pub fn counters(&self, name: String) -> ResourceCounters {
        self.usage.counters(name)
    }

    pub fn part(&self, part: Part, name: String) -> PartCounters {
        PartCounters::new(part, name, self.usage.busy)
    }
}

/// The out-port and the in-port of each element.
#[derive(Debug)]
pub(super) struct Ports {
    bytes_per_s: u64,
    names: Vec<String>,
    out: Vec<Lane>,
    into: Vec<Lane>,
}

impl Ports {
    /// Makes the ports of elements with these names, such as `SPE 3`.
    pub fn new(names: Vec<String>, bytes_per_s: u64) -> Self {
        let lanes = || names.iter().map(|_| Lane::default()).collect();
        Self {
            bytes_per_s,
            out: lanes(),
            into: lanes(),
            names,
        }
    }

    /// Sends a packet, and returns the time at which its last byte arrives. `latency` is the time
    /// of the head from port to port.
    pub fn arrival(
        &mut self,
        ready_at: Moment,
        from: usize,
        to: usize,
        bytes: u32,
        latency: Femtoseconds,
    ) -> Moment {
        let body = Femtoseconds::of_transfer(u64::from(bytes), self.bytes_per_s);
        let (out, into) = (&mut self.out[from], &mut self.into[to]);
        let start = ready_at.max(out.free_at);
        out.hold(start, start + body, bytes);
        let head = (start + latency).max(into.free_at);
        into.hold(head, head + body, bytes);
        head + body
    }

    pub fn parts(&self) -> Vec<PartCounters> {
        let ports = self.names.iter().zip(self.out.iter().zip(&self.into));
        let both = ports.flat_map(|(name, (out, into))| {
            [
                out.part(Part::Ports, format!("the port out of {name}")),
                into.part(Part::Ports, format!("the port into {name}")),
            ]
        });
        both.collect()
    }

    pub fn resources(&self) -> impl Iterator<Item = ResourceCounters> {
        let ports = self.names.iter().zip(self.out.iter().zip(&self.into));
        ports.flat_map(|(name, (out, into))| {
            [
                out.counters(format!("{name}, port out")),
                into.counters(format!("{name}, port in")),
            ]
        })
    }
}
