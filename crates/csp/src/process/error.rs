//! The reasons why processes end before their work is done.

// Rejected: an error type for each process, whose type parameter each closure would have to name.

use std::error::Error;
use std::fmt;
use std::ops::Deref;

use crate::ends::alternation::tokens::GuardEnded;
use crate::ends::ended::Ended;
use crate::named::error::NamedError;
use crate::network::cause::Moment;

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
///
/// A `ProcessError` is no [`Error`] itself, so that `?` can turn each error into one. It
/// dereferences to the error within, which has `downcast_ref` and `source`, and `?` turns it into a
/// `Box<dyn Error>`:
///
/// ```
/// use std::error::Error;
///
/// use cellworks_csp::{Channel, Ended, Network, ProcessError};
///
/// fn main() -> Result<(), Box<dyn Error>> {
///     let host = cellworks_host::Host::new()?;
///     let (_, mut reader) = Channel::new().one_to_one::<u32>();
///     let read = Network::on(&host).run_with(move |process| -> Result<u32, ProcessError> {
///         Ok(reader.read(process)? + "7".parse::<u32>()?)
///     })?;
///     assert_eq!(read.as_ref().unwrap_err().downcast_ref(), Some(&Ended::Closed));
///     # let read: Result<u32, ProcessError> = Ok(7);
///     println!("{}", read?);
///     Ok(())
/// }
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

    /// Returns the error within, for example for a function that returns a
    /// `Box<dyn Error + Send + Sync>`: `.map_err(ProcessError::into_inner)?`.
    pub fn into_inner(self) -> Box<dyn Error + Send + Sync> {
        match self.0 {
            Reason::Ended(ended) => Box::new(ended),
            Reason::Own(error, _) => error,
        }
    }

    pub(crate) fn into_own(self) -> Option<(Box<dyn Error + Send + Sync>, Moment)> {
        match self.0 {
            Reason::Ended(_) => None,
            Reason::Own(error, since) => Some((error, since)),
        }
    }
}

// A `ProcessError` is neither an `Error` nor turns into a `Box<dyn Error + Send + Sync>`. Otherwise
// this conversion would be one of a `ProcessError` into itself, which the standard library has.
// Rejected: a conversion of each `E: Error`. It would leave no room for texts and boxed errors.
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

impl From<ProcessError> for Box<dyn Error> {
    fn from(error: ProcessError) -> Self {
        error.into_inner()
    }
}

impl Deref for ProcessError {
    type Target = dyn Error + Send + Sync;

    fn deref(&self) -> &Self::Target {
        match &self.0 {
            Reason::Ended(ended) => ended,
            Reason::Own(error, _) => &**error,
        }
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
