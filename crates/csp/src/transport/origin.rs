//! Origins of items: where the transport has their bytes, or who has sent them.

use std::num::NonZeroU32;

/// The number under which the transport finds the bytes of an item. An item without such bytes has
/// the number 0, or the number of its sender plus [`SENDERS`] if the network
/// [counts](crate::counting). The field is the number plus one, so that an `Option` of a parcel
/// needs no more bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin(NonZeroU32);

/// The numbers of senders begin here, above the numbers of the transport.
pub(crate) const SENDERS: u32 = 1 << 31;

/// The number of numbers of senders.
pub(crate) const SENDERS_MAX: u32 = (1 << 31) - 1;

impl Origin {
    /// Makes the origin of an item of a sender, without bytes in the transport. Outside threads
    /// have a larger number, and their items have the default.
    pub(crate) fn of_sender(sender: u32) -> Self {
        if sender < SENDERS_MAX {
            Self::new(SENDERS + sender)
        } else {
            Self::default()
        }
    }

    /// Returns whether the transport has bytes of the item.
    pub(crate) fn has_bytes(self) -> bool {
        (1..SENDERS).contains(&self.number())
    }

    /// Returns the number of the item's sender, if the origin has it.
    pub(crate) fn sender(self) -> Option<u32> {
        self.number().checked_sub(SENDERS)
    }

    /// Makes the origin with the number `number`. Panics if `number` is `u32::MAX`.
    pub(crate) fn new(number: u32) -> Self {
        let one_more = number.checked_add(1).and_then(NonZeroU32::new);
        Self(one_more.expect("a network carries fewer items than 2^32 - 1"))
    }

    pub(crate) fn number(self) -> u32 {
        self.0.get() - 1
    }
}

impl Default for Origin {
    #[inline(always)]
    fn default() -> Self {
        Self(NonZeroU32::MIN)
    }
}
