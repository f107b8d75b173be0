//! The times of a description, in femtoseconds.

use crate::description::{Description, Quantity};
use crate::time::Femtoseconds;

impl Quantity {
    pub(crate) fn picoseconds(&self) -> Femtoseconds {
        Femtoseconds::from_picoseconds(self.value)
    }

    /// Converts cycles of the clock `hertz` to femtoseconds, rounded down.
    pub(crate) fn cycles_of(&self, hertz: &Self) -> Femtoseconds {
        Femtoseconds::from_cycles(self.value, hertz.value)
    }
}

/// The time of each operation except those of the fabric.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    /// A cycle of the SPUs and the PPE. No call that a program makes takes less time.
    pub cycle: Femtoseconds,
    /// The maximum of the cycles of a call of `compute` that count: all, unless the computation of
    /// the SPUs or of the PPE is free.
    pub spu_cycles_max: u64,
    pub ppe_cycles_max: u64,
    /// The time in which the SPU issues an MFC command.
    pub issue: Femtoseconds,
    /// The time from the issue of an MFC command to its first bus request.
    pub start: Femtoseconds,
    /// The time from one bus request of an MFC to the next.
    pub request_interval: Femtoseconds,
    /// The time in which an MFC fetches an element of a list.
    pub list_element: Femtoseconds,
    /// The time from one element of a list to the next: the longer of `list_element` and the time
    /// in which the MFC's own Cell answers a command.
    pub list_interval: Femtoseconds,
    pub channel: Femtoseconds,
    /// The time of a switch between cooperative threads.
    pub switch: Femtoseconds,
    /// The time of a refused atomic command: `start`, and the answer of the SPE's own Cell.
    pub refused: Femtoseconds,
    /// The time of an atomic command to a line in the SPE's own cache.
    pub atomic_hit: Femtoseconds,
    /// The time of a store to a register, without its time on the bus.
    pub mmio_write: Femtoseconds,
    /// The time of a load from a register, without its time on the bus.
    pub mmio_read: Femtoseconds,
    /// The time of a library call that reads or writes a mailbox.
    pub mailbox_call: Femtoseconds,
    /// The time of a library call that sends a signal.
    pub signal_call: Femtoseconds,
    pub start_program: Femtoseconds,
    /// The time from the end of a program until the PPE notices it.
    pub end_program: Femtoseconds,
    /// The time of an atomic operation of the PPE.
    pub ppe_atomic: Femtoseconds,
    /// The maximum number of bus requests that an MFC has under way at a time.
    pub outstanding_requests: usize,
}

impl Costs {
    pub fn of(description: &Description) -> Self {
        let Description {
            clock,
            command,
            mfc,
            atomic,
            spu,
            ppe,
            ..
        } = description;
        let cycle = Femtoseconds::from_cycles(1, clock.spu_hz.value);
        let bus_cycle = Femtoseconds::from_cycles(1, clock.bus_hz.value);
        Self {
            cycle,
            spu_cycles_max: u64::MAX,
            ppe_cycles_max: u64::MAX,
            issue: mfc.issue_cycles.value * cycle,
            start: mfc.start_cycles.value * cycle,
            request_interval: mfc.request_interval_bus_cycles.value * bus_cycle,
            list_element: mfc.list_element_cycles.value * cycle,
            list_interval: (mfc.list_element_cycles.value * cycle)
                .max(command.phase_bus_cycles.value * bus_cycle),
            channel: spu.channel_cycles.value * cycle,
            switch: spu.switch_cycles.value * cycle,
            refused: mfc.start_cycles.value * cycle + command.phase_bus_cycles.value * bus_cycle,
            atomic_hit: atomic.hit_cycles.value * cycle,
            mmio_write: ppe.mmio_write_cycles.value * cycle,
            mmio_read: ppe.mmio_read_cycles.value * cycle,
            mailbox_call: ppe.mailbox_call_ps.picoseconds(),
            signal_call: ppe.signal_call_ps.picoseconds(),
            start_program: ppe.start_program_ps.picoseconds(),
            end_program: ppe.end_program_ps.picoseconds(),
            ppe_atomic: ppe.atomic_cycles.value * cycle,
            outstanding_requests: mfc.outstanding_requests.value as usize,
        }
    }
}
