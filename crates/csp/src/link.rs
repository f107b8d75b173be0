//! A channel without the type of its items, for reports and transports.

/// A channel, with items of any type.
pub(crate) trait Link {
    fn name(&self) -> String;
    /// An address that no other channel has.
    fn address(&self) -> usize;
    /// The numbers of the processes that used its ends last: reader and writer.
    fn last_users(&self) -> (Option<u32>, Option<u32>);
    /// The key by which transports know the channel. `None` if only processes of one SPE can use
    /// it.
    fn key(&self) -> Option<Key>;
}

/// How transports know a channel that several processors may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// Its number among all channels that were ever made.
    pub id: u64,
    /// Each of its ends belongs to one process.
    pub is_one_to_one: bool,
}
