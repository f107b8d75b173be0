//! The users of a channel, by which a transport chooses how items and messages travel.

use cellworks_machine::Processor;

/// The processes that have used one side of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UsersOfSide {
    /// No process has used this side.
    Unused,
    One(u32, Processor),
    Several,
}

impl UsersOfSide {
    pub fn meet(&mut self, process: u32, processor: Processor) {
        let one = Self::One(process, processor);
        if *self == Self::Unused {
            *self = one;
        } else if *self != one {
            *self = Self::Several;
        }
    }
}

/// The users of a channel in one exchange.
pub(crate) struct Users {
    /// The number of the exchange.
    pub exchange: u64,
    /// The main memory line of the channel.
    pub line: usize,
    pub reader: UsersOfSide,
    pub writer: UsersOfSide,
}
