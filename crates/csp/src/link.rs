//! A channel without the type of its items, for reports and transports.

/// A channel, whatever it carries.
pub(crate) trait Link {
    fn name(&self) -> String;
    /// What tells it from other channels.
    fn address(&self) -> usize;
    /// The processes that used its ends last, by their numbers: reader and writer.
    fn last_users(&self) -> (Option<u32>, Option<u32>);
    /// What transports know it by, unless only processes of one SPE can use it.
    fn key(&self) -> Option<Key>;
}

/// How transports know a channel that several processors may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// Its number among all that were ever made.
    pub id: u64,
    /// Each of its ends belongs to one process.
    pub is_one_to_one: bool,
}
