//! The sides of a channel, and the processes that use them.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Reader,
    Writer,
}

impl Side {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Reader => Self::Writer,
            Self::Writer => Self::Reader,
        }
    }
}

/// A process and its OS thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct User {
    pub thread: usize,
    /// A number that no other process of any network has.
    pub process: u64,
}
