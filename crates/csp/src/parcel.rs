//! An item on its way.

/// An item with what the transport knows about where its bytes are.
pub(crate) struct Parcel<T> {
    pub item: T,
    pub origin: Origin,
}

/// Where an item waits to be fetched: the number that the transport of the network has given it, or 0 where processors share
/// memory, and nothing has to be moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin(pub u32);
