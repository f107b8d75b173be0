//! The sizes of commands, lists and lock lines.

/// The most bytes that one transfer, or one element of a list, moves: 16 KB.
///
/// Source: CBEA s.9.1.4 p.116.
pub const MAX_TRANSFER_BYTES: u32 = 16 * 1024;

/// Bytes of a lock line: what an atomic command moves and a reservation covers.
///
/// Source: CBEA pp.65-66, p.91.
pub const LOCK_LINE_BYTES: u32 = 128;

/// Bytes of one list element in the local store.
pub const LIST_ELEMENT_BYTES: u32 = 8;

/// The most elements that a list has.
pub const MAX_LIST_ELEMENTS: u32 = 2_048;

/// The most bytes that a list has.
pub(super) const MAX_LIST_BYTES: u32 = MAX_LIST_ELEMENTS * LIST_ELEMENT_BYTES;

/// Bytes of a signal.
pub(super) const SIGNAL_BYTES: u32 = 4;
