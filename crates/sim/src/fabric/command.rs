//! The command bus of each Cell, and the order of coherent commands over all Cells.
//!
//! Every request on the bus begins with a command. The command bus of a Cell takes one command at a
//! time, shows it to every unit of the Cell, and combines the answers of the units. If several
//! Cells keep one memory coherent, a single ordering point puts the coherent commands of all Cells
//! in order. The ordering point takes fewer commands per second than the bus of one Cell.

// Rejected: a command waits until both Cells have answered the previous command to the same line
// (154 ns). Other PowerPC buses have such a window for adjacent address matches (IBM, JP
// 2000-082036 A). If each element of a list also waits for its own answer, lists of 1,024 elements
// of 16 bytes take 141 to 154 us with any number of SPEs (published: almost 140 for the slowest
// SPE). But then 8 SPEs have half the bandwidth of 16, and PUTs of a shared line are as fast as
// GETs. Moreover, 8 SPEs get 2 KB of a shared buffer in 1,216 ns and of private buffers in 663 ns,
// where CellStats finds equal times above 1 KB. CellStats allows a wait of at most 83 ns, with
// which the lists take only 88 us.

use crate::description::{Description, Quantity};
use crate::time::{Femtoseconds, Moment};

/// The command buses of all Cells, with the times of their next commands.
#[derive(Debug)]
pub(super) struct CommandBus {
    /// The time from a command's slot on the bus to the combined response of the units of one Cell.
    pub phase: Femtoseconds,
    interval: Femtoseconds,
    /// The interval between coherent commands. `None` if only one Cell snoops, because a coherent
    /// command is then like any other command.
    coherent_interval: Option<Femtoseconds>,
    /// The time at which the bus of each Cell takes its next command.
    free_at: Vec<Moment>,
    coherent_free_at: Moment,
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
        }
    }

    /// Takes the first free slot of a Cell's bus at or after `now`, and returns the time of the
    /// slot.
    #[inline]
    pub fn slot(&mut self, now: Moment, cell: usize) -> Moment {
        let slot = now.max(self.free_at[cell]);
        self.free_at[cell] = slot + self.interval;
        slot
    }

    /// Takes a slot for a command that every Cell snoops. Returns the time of the command's turn
    /// among the coherent commands of all Cells. The wait for this turn does not delay other
    /// commands of the same Cell.
    #[inline]
    pub fn coherent_slot(&mut self, now: Moment, cell: usize) -> Moment {
        let slot = self.slot(now, cell);
        let Some(interval) = self.coherent_interval else {
            return slot;
        };
        let ordered = slot.max(self.coherent_free_at);
        self.coherent_free_at = ordered + interval;
        ordered
    }
}
