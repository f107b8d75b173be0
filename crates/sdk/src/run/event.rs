//! The bits of the channels 0 to 2 and 11 (CBEA s.9.11, SPU Event Facility).

pub(super) const TAG_STATUS: u32 = 0x1;
pub(super) const LIST_STALL: u32 = 0x2;
pub(super) const COMMAND_QUEUE: u32 = 0x8;
pub(super) const IN_MBOX: u32 = 0x10;
pub(super) const DECREMENTER: u32 = 0x20;
pub(super) const OUT_INTR_MBOX: u32 = 0x40;
pub(super) const OUT_MBOX: u32 = 0x80;
pub(super) const SIGNAL_2: u32 = 0x100;
pub(super) const SIGNAL_1: u32 = 0x200;
pub(super) const RESERVATION_LOST: u32 = 0x400;
