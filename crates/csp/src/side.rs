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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub thread: usize,
    pub process: u32,
}
