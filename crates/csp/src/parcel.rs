//! An item on its way.

use std::num::NonZeroU32;

/// An item with what the transport knows about where its bytes are.
pub(crate) struct Parcel<T> {
    pub item: T,
    pub origin: Origin,
}

/// Where an item waits to be fetched: the number that the transport of the network has given it, or
/// 0 where processors share memory, and nothing has to be moved.
// Kept as one more, so that whether there is a parcel takes no room of its own: the node of a
// process that waits, with a word to be exchanged, is one cache line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin(NonZeroU32);

impl Origin {
    /// # Panics
    ///
    /// With the last number there is.
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

/// The item that a writer has brought.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn take_parcel<T>(parcel: &mut Option<Parcel<T>>) -> Parcel<T> {
    parcel.take().expect("a writer has an item")
}
