//! Errors in the use of named channels.

use std::fmt;
use std::panic::Location;

use crate::ends::ended::Ended;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Act {
    pub(super) process: String,
    pub(super) at: &'static Location<'static>,
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the process `{}` at {}", self.process, self.at)
    }
}

/// The error of a process that has misused a named channel. Misuse is a mistake of the program, so
/// [`Network::run`](crate::Network::run) fails with this error even if the process ignores it.
///
/// `?` turns a `NamedError` into an [`Ended::Poisoned`], so that the process ends.
#[derive(Clone, PartialEq, Eq)]
pub struct NamedError(Box<Misuse>);

#[derive(Clone, PartialEq, Eq)]
struct Misuse {
    id: u64,
    by: Act,
    created: Option<Act>,
    mistake: Mistake,
}

/// How a named channel was misused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// A process tried to create a channel whose id existed already.
    Exists,
    /// A process tried to take an end that was already taken. Only one process may have this end.
    Taken {
        /// The process that has the end.
        process: String,
        /// The call that took the end.
        at: &'static Location<'static>,
    },
    /// A process asked for kind [`Any`](crate::Any), but the end is of kind [`One`](crate::One).
    OneProcess,
    /// A process tried to take an end, but the type of the channel's items is not the wanted type.
    Item {
        /// The type that the process wanted.
        wanted: &'static str,
        /// The type for which the channel was created.
        carried: &'static str,
    },
    /// The run was cancelled before the channel was created.
    NotCreated,
}

impl NamedError {
    pub(super) fn new(id: u64, by: Act, created: Option<Act>, mistake: Mistake) -> Self {
        Self(Box::new(Misuse {
            id,
            by,
            created,
            mistake,
        }))
    }

    /// Returns the id of the channel.
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// Returns the mistake.
    pub fn mistake(&self) -> &Mistake {
        &self.0.mistake
    }
}

impl From<NamedError> for Ended {
    fn from(_: NamedError) -> Self {
        Self::Poisoned
    }
}

impl fmt::Display for NamedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Misuse {
            id,
            by,
            created,
            mistake,
        } = &*self.0;
        match mistake {
            Mistake::Exists => write!(
                f,
                "{by} was to create the channel {id}, which exists: create each id once"
            )?,
            Mistake::Taken { process, at } => write!(
                f,
                "{by} was to take an end of the channel {id} that one process may have, and the process `{process}` has \
                 taken at {at}: create a channel that several may use there"
            )?,
            Mistake::OneProcess => write!(
                f,
                "{by} was to take an end of the channel {id} that can be cloned, but one process may have it: take a \
                 `One`, or create a channel that several may use there"
            )?,
            Mistake::Item { wanted, carried } => write!(
                f,
                "{by} was to take an end of the channel {id} for items of the type `{wanted}`, but it carries `{carried}`"
            )?,
            Mistake::NotCreated => write!(
                f,
                "{by} was to take an end of the channel {id}, which was not created when the run was cancelled"
            )?,
        }
        match created {
            Some(created) => write!(f, "; {created} had created it"),
            None => Ok(()),
        }
    }
}

cellworks_machine::debug_by_display!(NamedError);

impl std::error::Error for NamedError {}
