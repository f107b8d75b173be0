//! The command bus of each Cell, and the order of coherent commands over all of them.
//!
//! Every request on the bus is a command first: the bus takes one at a time, shows it to every unit
//! of the Cell, and combines what they answer. Where several Cells keep one memory coherent, a single
//! point puts the coherent commands of all of them in order, and takes fewer.

/// When each Cell's command bus takes its next command.
#[derive(Debug)]
pub(super) struct CommandBus {
    /// From a command's slot to the combined response of the units of one Cell.
    pub phase_fs: u64,
    interval_fs: u64,
    /// `None` where only one Cell snoops: a coherent command is then like every other.
    coherent_interval_fs: Option<u64>,
    /// By Cell.
    free_fs: Vec<u64>,
    coherent_free_fs: u64,
}

impl CommandBus {
    /// Idle command buses.
    pub fn new(description: &crate::Description) -> Self {
        let command = &description.command;
        let bus_fs = |cycles| super::cycles_fs(cycles, &description.clock.bus_hz);
        let several = description.cells.len() > 1;
        Self {
            phase_fs: bus_fs(&command.phase_bus_cycles),
            interval_fs: bus_fs(&command.interval_bus_cycles),
            coherent_interval_fs: several.then(|| bus_fs(&command.coherent_interval_bus_cycles)),
            free_fs: vec![0; description.cells.len()],
            coherent_free_fs: 0,
        }
    }

    /// Takes the first free slot of a Cell's bus from `now_fs` on, and tells when it is.
    #[inline]
    pub fn slot_fs(&mut self, now_fs: u64, cell: usize) -> u64 {
        let slot = now_fs.max(self.free_fs[cell]);
        self.free_fs[cell] = slot + self.interval_fs;
        slot
    }

    /// The same for a command that every Cell snoops. It waits for its turn among those of all Cells
    /// without keeping the others of its Cell from theirs.
    #[inline]
    pub fn coherent_slot_fs(&mut self, now_fs: u64, cell: usize) -> u64 {
        let slot = self.slot_fs(now_fs, cell);
        let Some(interval) = self.coherent_interval_fs else {
            return slot;
        };
        let ordered = slot.max(self.coherent_free_fs);
        self.coherent_free_fs = ordered + interval;
        ordered
    }
}
