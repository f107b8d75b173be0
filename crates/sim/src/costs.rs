//! What a description says of times, in femtoseconds.

use crate::Description;

const FEMTOSECONDS_PER_SECOND: u64 = 1_000_000_000_000_000;
const FEMTOSECONDS_PER_PICOSECOND: u64 = 1_000;

/// How long things take that are not the fabric's, in femtoseconds.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    /// A cycle of the SPUs and the PPE; every primitive takes at least one.
    pub cycle_fs: u64,
    /// Issuing an MFC command on the SPU.
    pub issue_fs: u64,
    /// From there to the first bus request.
    pub start_fs: u64,
    /// Between two bus requests of one MFC.
    pub request_interval_fs: u64,
    /// Fetching an element of a list.
    pub list_element_fs: u64,
    /// Accessing a channel.
    pub channel_fs: u64,
    /// Switching between cooperative threads.
    pub switch_fs: u64,
    /// An atomic command on a line in the own cache.
    pub atomic_hit_fs: u64,
    /// The PPE's part of a store to a register.
    pub mmio_write_fs: u64,
    /// The PPE's part of a load from a register.
    pub mmio_read_fs: u64,
    /// A library call to a mailbox.
    pub mailbox_call_fs: u64,
    /// A library call to a signal register.
    pub signal_call_fs: u64,
    /// Starting a program.
    pub start_program_fs: u64,
    /// Noticing its end.
    pub end_program_fs: u64,
    /// An atomic operation of the PPE.
    pub ppe_atomic_fs: u64,
    /// Bus requests of one MFC under way.
    pub outstanding_requests: usize,
}

impl Costs {
    pub fn of(description: &Description) -> Self {
        let Description {
            clock,
            mfc,
            atomic,
            spu,
            ppe,
            ..
        } = description;
        let cycle_fs = FEMTOSECONDS_PER_SECOND / clock.spu_hz.value;
        let bus_cycle_fs = FEMTOSECONDS_PER_SECOND / clock.bus_hz.value;
        let of_picoseconds = |picoseconds: u64| picoseconds * FEMTOSECONDS_PER_PICOSECOND;
        Self {
            cycle_fs,
            issue_fs: mfc.issue_cycles.value * cycle_fs,
            start_fs: mfc.start_cycles.value * cycle_fs,
            request_interval_fs: mfc.request_interval_bus_cycles.value * bus_cycle_fs,
            list_element_fs: mfc.list_element_cycles.value * cycle_fs,
            channel_fs: spu.channel_cycles.value * cycle_fs,
            switch_fs: spu.switch_cycles.value * cycle_fs,
            atomic_hit_fs: atomic.hit_cycles.value * cycle_fs,
            mmio_write_fs: ppe.mmio_write_cycles.value * cycle_fs,
            mmio_read_fs: ppe.mmio_read_cycles.value * cycle_fs,
            mailbox_call_fs: of_picoseconds(ppe.mailbox_call_ps.value),
            signal_call_fs: of_picoseconds(ppe.signal_call_ps.value),
            start_program_fs: of_picoseconds(ppe.start_program_ps.value),
            end_program_fs: of_picoseconds(ppe.end_program_ps.value),
            ppe_atomic_fs: ppe.atomic_cycles.value * cycle_fs,
            outstanding_requests: mfc.outstanding_requests.value as usize,
        }
    }
}
