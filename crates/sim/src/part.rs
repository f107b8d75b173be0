//! The parts of a machine that can limit a run, and machines on which one of these parts is free.
//!
//! A part is *free* if its work takes no time, or the shortest time that a description allows. The
//! difference between a run and the same run with a free part is the time that the part costs.

// Rejected: the busiest part is the bottleneck. A memory module that is busy for 96 % of the time
// may be about to hand its place to a port that is busy for 95 %. Only a second simulation shows what
// a faster part would gain.
//
// Rejected: the critical path of the events. It names the parts on one path, but when one of them is
// faster, another path may be the longest at once.

use std::fmt;

use crate::description::{Description, Quantity};

/// A part of a machine that can limit a run: see [`SimBuilder::free`](crate::SimBuilder::free).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The data pins of the memory modules, with turnarounds and refreshes.
    MemoryPins,
    /// The banks of the memory modules.
    MemoryBanks,
    /// The memory controllers: the time from a command to its data, and from a write to its answer.
    MemoryControllers,
    /// The segments of rings, the links of a mesh, or the latency of a crossbar or a matrix.
    Ways,
    /// The ports through which elements send and receive data.
    Ports,
    /// The command bus of each Cell, and the order of the commands of several Cells.
    CommandBus,
    /// The link between two Cells.
    Link,
    /// The number of bus requests that an MFC has under way.
    MfcRequests,
    /// The time in which an MFC takes up a command, and in which it sends a request.
    MfcCommands,
    /// The access times of local stores and registers.
    LocalStores,
    /// The atomic units of the SPEs.
    AtomicUnits,
    /// The instructions of the SPEs: computation, channels, and switches between threads.
    Spus,
    /// The computation of the PPE, and its loads, stores and calls to reach an SPE.
    Ppe,
    /// The start and the end of programs.
    Programs,
}

impl Part {
    /// All parts, in the order of tables.
    pub const ALL: [Self; 14] = [
        Self::MemoryPins,
        Self::MemoryBanks,
        Self::MemoryControllers,
        Self::Ways,
        Self::Ports,
        Self::CommandBus,
        Self::Link,
        Self::MfcRequests,
        Self::MfcCommands,
        Self::LocalStores,
        Self::AtomicUnits,
        Self::Spus,
        Self::Ppe,
        Self::Programs,
    ];

    /// Returns the parts that a machine has.
    ///
    /// ```
    /// use cellworks_sim::{Description, Part};
    ///
    /// let ps3 = Description::built_in("ps3").unwrap();
    /// assert!(!Part::of(&ps3).any(|part| part == Part::Link));
    /// ```
    pub fn of(description: &Description) -> impl Iterator<Item = Self> {
        let has_link = description.cells.len() > 1;
        let is_there = move |part: &Self| *part != Self::Link || has_link;
        Self::ALL.into_iter().filter(is_there)
    }

    /// Returns whether the part is busy while it waits for other parts, as an MFC with commands is.
    pub fn is_busy_waiting(self) -> bool {
        matches!(self, Self::MfcRequests | Self::MfcCommands)
    }

    /// Makes the part free in a description. Parts of which no number of the description is the
    /// time (ports of rings, computation) are free by a setting of the simulation.
    pub(crate) fn free_in(self, machine: &mut Description) {
        const FAST: u64 = 10_000_000_000_000;
        let set = |quantity: &mut Quantity, value| quantity.value = value;
        match self {
            Self::MemoryPins => {
                for module in &mut machine.modules {
                    set(&mut module.bytes_per_s, FAST);
                    set(&mut module.turnaround_ps, 0);
                    set(&mut module.refresh_ps, 0);
                }
            }
            Self::MemoryBanks => {
                for module in &mut machine.modules {
                    set(&mut module.bank_read_ps, 0);
                    set(&mut module.bank_write_ps, 0);
                }
            }
            Self::MemoryControllers => {
                for module in &mut machine.modules {
                    set(&mut module.access_ps, 0);
                    set(&mut module.accept_ps, 0);
                }
            }
            Self::Ways => machine.interconnect.free_ways(FAST),
            Self::Ports => machine.interconnect.free_ports(FAST),
            Self::CommandBus => {
                let command = &mut machine.command;
                set(&mut command.phase_bus_cycles, 1);
                set(&mut command.interval_bus_cycles, 1);
                set(&mut command.coherent_interval_bus_cycles, 1);
            }
            Self::Link => {
                if let Some(link) = &mut machine.link {
                    set(&mut link.latency_ps, 0);
                    set(&mut link.bytes_per_s, FAST);
                    set(&mut link.packet_overhead_bytes, 0);
                    set(&mut link.command_bytes, 0);
                }
            }
            Self::MfcRequests => set(&mut machine.mfc.outstanding_requests, 128),
            Self::MfcCommands => {
                let mfc = &mut machine.mfc;
                set(&mut mfc.issue_cycles, 1);
                set(&mut mfc.start_cycles, 1);
                set(&mut mfc.request_interval_bus_cycles, 1);
                set(&mut mfc.list_element_cycles, 1);
            }
            Self::LocalStores => {
                set(&mut machine.local_store.read_cycles, 1);
                set(&mut machine.local_store.write_cycles, 1);
                set(&mut machine.registers.read_cycles, 1);
                set(&mut machine.registers.write_cycles, 1);
            }
            Self::AtomicUnits => set(&mut machine.atomic.hit_cycles, 1),
            Self::Spus => {
                set(&mut machine.spu.channel_cycles, 1);
                set(&mut machine.spu.switch_cycles, 1);
            }
            Self::Ppe => {
                let ppe = &mut machine.ppe;
                set(&mut ppe.mmio_write_cycles, 1);
                set(&mut ppe.mmio_read_cycles, 1);
                set(&mut ppe.mailbox_call_ps, 1);
                set(&mut ppe.signal_call_ps, 1);
                set(&mut ppe.atomic_cycles, 1);
            }
            Self::Programs => {
                set(&mut machine.ppe.start_program_ps, 1);
                set(&mut machine.ppe.end_program_ps, 1);
            }
        }
    }
}

impl fmt::Display for Part {
    /// Writes the name of the part as a plural or a collective, such as `the memory pins`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MemoryPins => "the memory pins",
            Self::MemoryBanks => "the memory banks",
            Self::MemoryControllers => "the memory controllers",
            Self::Ways => "the ways of the interconnect",
            Self::Ports => "the ports",
            Self::CommandBus => "the command bus",
            Self::Link => "the link between Cells",
            Self::MfcRequests => "the MFCs' requests under way",
            Self::MfcCommands => "the MFCs' commands",
            Self::LocalStores => "the local stores",
            Self::AtomicUnits => "the atomic units",
            Self::Spus => "the SPUs",
            Self::Ppe => "the PPE",
            Self::Programs => "the start and end of programs",
        })
    }
}
