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
