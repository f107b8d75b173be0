//! A channel without the type of its items, for reports and transports.

pub(crate) trait Link {
    fn name(&self) -> String;
    /// Returns an address that no other channel has at the same time.
    fn address(&self) -> usize;
    /// Returns the numbers of the processes that last used the reader and the writer.
    fn last_users(&self) -> (Option<u32>, Option<u32>);
    /// Returns the key of the channel, or `None` if only processes of one SPE can use the channel.
    fn key(&self) -> Option<Key>;
}

/// The identity of a channel in transports, if several processors may use the channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// An identifier that no other channel of the program has.
    pub id: u64,
    /// Whether only one process has the reader, and only one process has the writer.
    pub is_one_to_one: bool,
}
