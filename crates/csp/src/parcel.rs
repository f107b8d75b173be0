//! Parcels: items on their way through a channel.

use std::num::NonZeroU32;

use crate::numbers::is_outside;

/// An item, and the number under which the transport finds its bytes.
pub(crate) struct Parcel<T> {
    pub item: T,
    pub origin: Origin,
}

/// The number under which the transport finds the bytes of an item. An item without such bytes has
/// the number 0, or the number of the process that wrote it plus [`SENDERS`] if the network
/// [counts](crate::counting). The field is the number plus one, so that an `Option` of a parcel
/// needs no more bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin(NonZeroU32);

/// The numbers of processes begin here, above the numbers of the transport.
const SENDERS: u32 = 1 << 31;

impl Origin {
    /// Makes the origin of an item of the process `number`, without bytes in the transport. An
    /// outside thread has a larger number than processes, and its items have the default.
    pub(crate) fn of_sender(number: u32) -> Self {
        match is_outside(number) {
            true => Self::default(),
            false => Self::new(SENDERS + number),
        }
    }

    /// Returns whether the transport has bytes of the item.
    pub(crate) fn has_bytes(self) -> bool {
        (1..SENDERS).contains(&self.number())
    }

    /// Returns the number of the process that wrote the item, if the origin has it.
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

/// Takes the item out of `parcel`, which must have an item.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn take_parcel<T>(parcel: &mut Option<Parcel<T>>) -> Parcel<T> {
    parcel.take().expect("a writer has an item")
}
