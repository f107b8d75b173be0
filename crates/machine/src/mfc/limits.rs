//! The sizes of commands, lists and lock lines.

/// The largest size of a transfer or list element in bytes (CBEA s.9.1.4 p.116).
pub const MAX_TRANSFER_BYTES: u32 = 16 * 1024;

/// The size in bytes of a lock line, the unit of reservations (CBEA pp.65-66, p.91).
pub const LOCK_LINE_BYTES: u32 = 128;

/// The size of a list element in bytes.
pub const LIST_ELEMENT_BYTES: u32 = 8;

/// The largest number of elements in a list.
pub const MAX_LIST_ELEMENTS: u32 = 2_048;

pub(super) const MAX_LIST_BYTES: u32 = MAX_LIST_ELEMENTS * LIST_ELEMENT_BYTES;

pub(super) const SIGNAL_BYTES: u32 = 4;
