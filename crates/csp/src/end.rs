//! How channels end.

// Rejected: an `Ended` that names its channel. It is one byte, which every read and write
// returns and steps compare. A name would be shared by counting, where nanoseconds count.

use std::fmt;

/// How a channel has ended. No item can be written to it or read from it any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    /// A process poisoned the channel: all processes that use it are to end too.
    #[error("the channel was poisoned")]
    Poisoned,
    /// A process closed the channel, or the last end of one side was dropped. The items that the
    /// channel had accepted have been read.
    #[error("the channel was closed")]
    Closed,
}

/// An item that was not delivered, because its channel has [ended](Ended).
///
/// With `?` it becomes an [`Ended`] or a [`ProcessError`](crate::ProcessError), and the item is
/// dropped. It is no [`Error`](std::error::Error) itself, because an error must not borrow and an
/// item may. [`Ended`] is an error.
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

impl<T> fmt::Debug for Unsent<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unsent")
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

impl<T> fmt::Display for Unsent<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an item was not written: {}", self.ended)
    }
}

/// An item that was not written, by [`try_write`](crate::Writer::try_write) or
/// [`write_until`](crate::Writer::write_until).
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Refused<T> {
    /// In time no reader took the item, and no buffer had room for it. The channel has not ended.
    NotTaken(T),
    /// The channel has ended.
    Ended(Unsent<T>),
}

impl<T> Refused<T> {
    /// The item.
    pub fn into_item(self) -> T {
        match self {
            Self::NotTaken(item) => item,
            Self::Ended(unsent) => unsent.item,
        }
    }

    /// The item, to be written later, if the channel has not ended.
    ///
    /// ```
    /// # use cellworks_csp::{Ended, Place, Process, Writer};
    /// /// Writes what is taken at once, and keeps the rest.
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
    /// [`Unsent`] with the item if the channel has ended.
    pub fn not_taken(self) -> Result<T, Unsent<T>> {
        match self {
            Self::NotTaken(item) => Ok(item),
            Self::Ended(unsent) => Err(unsent),
        }
    }
}

impl<T> fmt::Debug for Refused<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotTaken(_) => f.write_str("NotTaken(..)"),
            Self::Ended(unsent) => f.debug_tuple("Ended").field(unsent).finish(),
        }
    }
}

impl<T> fmt::Display for Refused<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotTaken(_) => f.write_str("an item was not written: no reader took it in time"),
            Self::Ended(unsent) => unsent.fmt(f),
        }
    }
}
