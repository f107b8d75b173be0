//! How channels end, and the items that an ended channel gives back.

// Rejected: an `Ended` that names its channel. Counting references to the name costs nanoseconds.
// `Ended` is one byte, which each read and write returns.

use std::error::Error;
use std::fmt;

/// How a channel has ended.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    /// A process poisoned the channel, to end all processes that use the channel.
    #[error("the channel was poisoned")]
    Poisoned,
    /// A process closed the channel, or the last end of one side was dropped.
    #[error("the channel was closed")]
    Closed,
}

cellworks_machine::debug_by_display!(Ended);

/// An item that was not delivered, because its channel has [ended](Ended).
///
/// `?` turns an `Unsent` into an [`Ended`], a [`ProcessError`](crate::ProcessError) or a
/// `Box<dyn Error>` of the `Ended`, and drops the item. `Unsent` is no [`Error`], because an item
/// may borrow data.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Unsent<T> {
    /// The item.
    pub item: T,
    /// How the channel has ended.
    pub ended: Ended,
}

impl<T> From<Unsent<T>> for Ended {
    fn from(unsent: Unsent<T>) -> Self {
        unsent.ended
    }
}

// Also the conversion into a `ProcessError`.
impl<T> From<Unsent<T>> for Box<dyn Error + Send + Sync> {
    fn from(unsent: Unsent<T>) -> Self {
        Box::new(unsent.ended)
    }
}

impl<T> From<Unsent<T>> for Box<dyn Error> {
    fn from(unsent: Unsent<T>) -> Self {
        Box::new(unsent.ended)
    }
}

impl<T> fmt::Debug for Unsent<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<T> fmt::Display for Unsent<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an item was not written: {}", self.ended)
    }
}

/// An item that [`try_write`](crate::Writer::try_write) or
/// [`write_until`](crate::Writer::write_until) did not write.
///
/// `?` turns a `Refused` into a `Box<dyn Error>` and drops the item, but not into a
/// [`ProcessError`](crate::ProcessError): a process decides what happens to an item that was not
/// taken. [`not_taken`](Self::not_taken) helps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Refused<T> {
    /// The channel has not ended, but the buffer was full, and no reader took the item at once or
    /// before the deadline.
    NotTaken(T),
    /// The channel has ended.
    Ended(Unsent<T>),
}

impl<T> Refused<T> {
    /// Returns the item.
    pub fn into_item(self) -> T {
        match self {
            Self::NotTaken(item) => item,
            Self::Ended(unsent) => unsent.item,
        }
    }

    /// Returns the item if the channel has not ended, so that the item can be written later.
    ///
    /// ```
    /// # use cellworks_csp::{Ended, Place, Process, Writer};
    /// /// Writes items until one is not taken at once, and keeps the others.
    /// fn flush(
    ///     process: &Process<impl Place>,
    ///     output: &mut Writer<u64>,
    ///     items: &mut Vec<u64>,
    /// ) -> Result<(), Ended> {
    ///     while let Some(item) = items.pop() {
    ///         if let Err(refused) = output.try_write(process, item) {
    ///             items.push(refused.not_taken()?);
    ///             break;
    ///         }
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Unsent`] with the item if the channel has ended.
    pub fn not_taken(self) -> Result<T, Unsent<T>> {
        match self {
            Self::NotTaken(item) => Ok(item),
            Self::Ended(unsent) => Err(unsent),
        }
    }
}

/// An item was not taken.
#[derive(thiserror::Error)]
#[error("an item was not written: no reader took it in time")]
struct NotTaken;

cellworks_machine::debug_by_display!(NotTaken);

// Not into a `Box<dyn Error + Send + Sync>`, which `?` would turn into a `ProcessError`.
impl<T> From<Refused<T>> for Box<dyn Error> {
    fn from(refused: Refused<T>) -> Self {
        match refused {
            Refused::NotTaken(_) => Box::new(NotTaken),
            Refused::Ended(unsent) => Box::new(unsent.ended),
        }
    }
}

impl<T> fmt::Debug for Refused<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<T> fmt::Display for Refused<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotTaken(_) => NotTaken.fmt(f),
            Self::Ended(unsent) => unsent.fmt(f),
        }
    }
}
