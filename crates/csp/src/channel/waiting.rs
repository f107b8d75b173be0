use std::fmt;

use super::link::Link;

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
