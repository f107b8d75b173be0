//! How channels end.

use std::fmt;

/// A channel takes and gives nothing any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ended {
    /// Somebody poisoned it: whoever uses it is to end too.
    #[error("the channel was poisoned")]
    Poisoned,
    /// One side closed it, or its last end there was dropped, and what had been accepted was read.
    #[error("the channel was closed")]
    Closed,
}

/// An item that was not delivered, because its channel has [ended](Ended).
///
/// It becomes an [`Ended`] or a [`ProcessError`](crate::ProcessError) with `?`, which drops the
/// item. It is no [`Error`](std::error::Error), which would have to outlive what the item borrows;
/// [`Ended`] is one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Unsent<T> {
    /// What was to be written.
    pub item: T,
    /// Why it was not.
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
    /// No reader took it and no buffer had room, now or in time: the channel goes on, and this is
    /// the item.
    NotTaken(T),
    /// The channel has ended.
    Ended(Unsent<T>),
}

impl<T> Refused<T> {
    /// What was to be written.
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
