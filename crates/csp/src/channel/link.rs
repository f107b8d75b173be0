//! A channel without the type of its items, for reports and transports: its sides, its name, and
//! what a process waits for there.

use std::fmt;
use std::sync::Mutex;

use crate::transport::users::Users;

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

/// Calls a closure for each guard of an alternation, with the operation of the guard.
pub(crate) type EachGuard<'a> = dyn Fn(&mut dyn FnMut(Waiting<'_>)) + 'a;

#[derive(Clone, Copy)]
pub(crate) enum Waiting<'a> {
    Read(&'a dyn Link),
    Write(&'a dyn Link),
    Alternation(&'a EachGuard<'a>),
    /// Waits until a channel with this name is created.
    Creation(&'a dyn fmt::Display),
    /// Waits for a process to start. Only the program of an SPE waits in this way.
    Start,
}

// Several types implement this trait, because the smaller types need fewer stores to the stack.
pub(crate) trait Why {
    fn waiting(&self) -> Waiting<'_>;
}

impl Why for Waiting<'_> {
    fn waiting(&self) -> Waiting<'_> {
        *self
    }
}

pub(crate) struct ToRead<'a, C>(pub &'a C);

pub(crate) struct ToWrite<'a, C>(pub &'a C);

impl<C: Link> Why for ToRead<'_, C> {
    fn waiting(&self) -> Waiting<'_> {
        Waiting::Read(self.0)
    }
}

impl<C: Link> Why for ToWrite<'_, C> {
    fn waiting(&self) -> Waiting<'_> {
        Waiting::Write(self.0)
    }
}

impl fmt::Display for Waiting<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(channel) => write!(f, "a writer to {}", channel.name()),
            Self::Write(channel) => write!(f, "a reader of {}", channel.name()),
            Self::Alternation(guards) => {
                f.write_str("one of: ")?;
                let mut result = Ok(());
                let mut is_first = true;
                guards(&mut |guard| {
                    let comma = if std::mem::take(&mut is_first) {
                        ""
                    } else {
                        ", "
                    };
                    result = result.and_then(|()| write!(f, "{comma}{guard}"));
                });
                result
            }
            Self::Creation(name) => write!(f, "the channel {name} to be created"),
            Self::Start => f.write_str("a process to start"),
        }
    }
}
