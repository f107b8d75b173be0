//! A channel without the type of its items, for reports and transports.

use std::sync::Mutex;

use crate::transport::users::Users;

pub(crate) trait Link {
    fn name(&self) -> String;
    /// Returns an address that no other channel has at the same time.
    fn address(&self) -> usize;
    /// Returns the numbers of the processes that last used the reader and the writer.
    fn last_users(&self) -> (Option<u32>, Option<u32>);
    /// Returns what transports know of the channel, or `None` if only processes of one SPE can use
    /// the channel.
    fn carried(&self) -> Option<&Carried>;
}

/// What transports know of a channel. The channel has this value, and not a table of the network,
/// so that the value ends with the channel.
pub(crate) struct Carried {
    /// Whether only one process has the reader, and only one process has the writer.
    pub is_one_to_one: bool,
    /// The users of the channel in the network that uses the channel. Boxed, because only networks
    /// on a Cell have a transport.
    pub users: Mutex<Option<Box<Users>>>,
}
