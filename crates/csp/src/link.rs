//! A channel without the type of its items, for reports and transports.

/// A channel, with items of any type.
pub(crate) trait Link {
    fn name(&self) -> String;
    /// An address that no other channel has at the same time.
    fn address(&self) -> usize;
    /// The numbers of the processes that last used the ends of the channel: reader and writer.
    fn last_users(&self) -> (Option<u32>, Option<u32>);
    /// The key by which transports know the channel. `None` if only processes of one SPE can use
    /// the channel.
    fn key(&self) -> Option<Key>;
}

/// The key by which transports know a channel that several processors may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// The number of the channel. No other channel of the program has this number.
    pub id: u64,
    /// Whether each end of the channel belongs to one process.
    pub is_one_to_one: bool,
}
