//! The reasons why processes end before their work is done.

// Rejected: an error type for each process, whose type parameter each closure would have to name.

use std::error::Error;
use std::fmt;

use crate::alternation::GuardEnded;
use crate::cause::Moment;
use crate::end::{Ended, Unsent};
use crate::named::error::NamedError;

/// The reason why a process ends early: a channel has [ended](Ended), or the process has failed.
///
/// The bodies of processes return this type. `?` turns any other error into a `ProcessError`, even
/// a text or a boxed error. If a channel has ended, the network does not fail. With any other
/// error, [the network fails](crate::NetworkError::Failed).
///
/// ```
/// use cellworks_csp::{Channel, Network, NetworkError};
/// use cellworks_machine::SpeId;
///
/// # let host = cellworks_host::Host::new().unwrap();
/// let (mut texts, mut to_parse) = Channel::new().one_to_one::<&str>();
/// let (mut numbers, mut parsed) = Channel::new().one_to_one::<u32>();
/// let mut network = Network::on(&host);
/// network.process("parser", SpeId::new(0), move |process| {
///     loop {
///         let text = to_parse.read(process)?;
///         let number = text.parse::<u32>()?;
///         if number == 0 {
///             return Err("0 was to be divided by".into());
///         }
///         numbers.write(process, 1_000 / number)?;
///     }
/// });
/// let result = network.run_with(|process| {
///     texts.write(process, "8").unwrap();
///     assert_eq!(parsed.read(process), Ok(125));
///     texts.write(process, "eight").unwrap();
///     // The parser has ended, and its ends were dropped.
///     parsed.read(process).is_err()
/// });
/// let error = result.unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "the process `parser` failed on SPE 0: invalid digit found in string"
/// );
/// let NetworkError::Failed { source, .. } = error else { unreachable!() };
/// assert!(source.is::<std::num::ParseIntError>());
/// ```
pub struct ProcessError(Reason);

enum Reason {
    Ended(Ended),
    /// The process's own error, and the moment when it became a `ProcessError`.
    Own(Box<dyn Error + Send + Sync>, Moment),
}

impl ProcessError {
    /// Returns how a channel ended, or `None` if the process has failed.
    pub fn ended(&self) -> Option<Ended> {
        match self.0 {
            Reason::Ended(ended) => Some(ended),
            Reason::Own(..) => None,
        }
    }

    pub(crate) fn into_own(self) -> Option<(Box<dyn Error + Send + Sync>, Moment)> {
        match self.0 {
            Reason::Ended(_) => None,
            Reason::Own(error, since) => Some((error, since)),
        }
    }
}

// `Unsent` and `ProcessError` do not implement `Error`, so their conversions into `ProcessError` do
// not overlap with this one.
impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for ProcessError {
    fn from(error: E) -> Self {
        let error = error.into();
        let ended = if let Some(ended) = error.downcast_ref::<Ended>() {
            Some(*ended)
        } else if let Some(guard) = error.downcast_ref::<GuardEnded>() {
            Some(guard.ended)
        } else {
            // A `NamedError` is the network's failure already, so it is no failure of the process.
            error.is::<NamedError>().then_some(Ended::Poisoned)
        };
        Self(match ended {
            Some(ended) => Reason::Ended(ended),
            None => Reason::Own(error, Moment::now()),
        })
    }
}

impl<T> From<Unsent<T>> for ProcessError {
    fn from(unsent: Unsent<T>) -> Self {
        Self(Reason::Ended(unsent.ended))
    }
}

impl fmt::Display for ProcessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reason::Ended(ended) => ended.fmt(f),
            Reason::Own(error, _) => error.fmt(f),
        }
    }
}

impl fmt::Debug for ProcessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reason::Ended(ended) => fmt::Debug::fmt(ended, f),
            Reason::Own(error, _) => fmt::Debug::fmt(error, f),
        }
    }
}
