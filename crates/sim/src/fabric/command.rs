//! The command bus of each Cell, and the order of coherent commands of all Cells.
//!
//! Every bus request begins with a command. The command bus of a Cell takes one command at a time,
//! shows it to all units of the Cell, and combines their answers. A single ordering point orders
//! the coherent commands of several Cells. It takes fewer commands per second than a command bus.

// Rejected: waiting until both Cells have answered the previous command to the line (154 ns; IBM,
// JP 2000-082036 A). 8 SPEs then read 2 KB of a shared buffer in 1,216 ns, but 2 KB of private
// buffers in 663 ns (CellStats: equal times).

use crate::description::{Description, Quantity};
use crate::observe::PartCounters;
use crate::part::Part;
use crate::time::{Femtoseconds, Moment};

#[derive(Debug)]
pub(super) struct CommandBus {
    /// The time from a command's slot until the combined response of the units of a Cell.
    pub phase: Femtoseconds,
    interval: Femtoseconds,
    /// The interval between coherent commands of several Cells, or `None` on a machine of one Cell.
    coherent_interval: Option<Femtoseconds>,
    /// The time of the next free slot of each Cell's bus.
    free_at: Vec<Moment>,
    coherent_free_at: Moment,
    /// The number of commands of each Cell, and of the ordered commands of all Cells.
    commands: Vec<u64>,
    coherent_commands: u64,
}

impl CommandBus {
    pub fn new(description: &Description) -> Self {
        let command = &description.command;
        let bus = |cycles: &Quantity| cycles.cycles_of(&description.clock.bus_hz);
        let several = description.cells.len() > 1;
        Self {
            phase: bus(&command.phase_bus_cycles),
            interval: bus(&command.interval_bus_cycles),
            coherent_interval: several.then(|| bus(&command.coherent_interval_bus_cycles)),
            free_at: vec![Moment::START; description.cells.len()],
            coherent_free_at: Moment::START,
            commands: vec![0; description.cells.len()],
            coherent_commands: 0,
        }
    }

    /// Takes the first free slot of a Cell's bus from `now` on, and returns its time.
    #[inline]
    pub fn slot(&mut self, now: Moment, cell: usize) -> Moment {
        let slot = now.max(self.free_at[cell]);
        self.free_at[cell] = slot + self.interval;
        self.commands[cell] += 1;
        slot
    }

    /// Takes a slot for a coherent command. Returns the time at which the ordering point takes the
    /// command. Until this time, the Cell's bus can take other commands.
    #[inline]
    pub fn coherent_slot(&mut self, now: Moment, cell: usize) -> Moment {
        let slot = self.slot(now, cell);
        let Some(interval) = self.coherent_interval else {
            return slot;
        };
        let ordered = slot.max(self.coherent_free_at);
        self.coherent_free_at = ordered + interval;
        self.coherent_commands += 1;
        ordered
    }

    /// Returns the time of the slots of each bus, and of the order of the coherent commands.
    pub fn parts(&self) -> impl Iterator<Item = PartCounters> {
        let buses = self.commands.iter().enumerate().map(|(cell, &commands)| {
            let name = format!("Cell {cell}, the command bus");
            PartCounters::new(Part::CommandBus, name, commands * self.interval)
        });
        let order = self.coherent_interval.map(|interval| {
            let name = "the order of the commands of both Cells".to_owned();
            PartCounters::new(Part::CommandBus, name, self.coherent_commands * interval)
        });
        buses.chain(order)
    }
}
