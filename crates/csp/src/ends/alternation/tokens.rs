//! Tokens of guards: what a program has of a guard, and the result of a selection.

use std::marker::PhantomData;

use crate::ends::ended::Ended;

/// A guard that reads.
// Invariant in `T`, because `Alternation::guard_of` casts a pointer to `Guard<T>` with the `T` of
// this token.
#[derive(Debug)]
pub struct ReadGuard<T> {
    pub(super) index: usize,
    pub(super) alternation: u64,
    pub(super) item: PhantomData<fn(T) -> T>,
}

/// A guard that writes.
#[derive(Debug)]
pub struct WriteGuard<T> {
    pub(super) index: usize,
    pub(super) alternation: u64,
    pub(super) item: PhantomData<fn(T) -> T>,
}

/// The result of a selection: identifies the chosen guard. Compare it with a [`ReadGuard`] or
/// [`WriteGuard`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    pub(super) index: usize,
    pub(super) alternation: u64,
}

impl Chosen {
    /// Returns the index of the guard in the list, counted from 0.
    pub fn index(self) -> usize {
        self.index
    }
}

/// The error of a selection: the channel of a guard has ended.
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{ended}, at the guard {} of an alternation", .guard.index)]
pub struct GuardEnded {
    /// The guard of the channel that has ended.
    pub guard: Chosen,
    /// How the channel of the guard ended.
    #[source]
    pub ended: Ended,
}

cellworks_machine::debug_by_display!(GuardEnded);

impl From<GuardEnded> for Ended {
    fn from(error: GuardEnded) -> Self {
        error.ended
    }
}

macro_rules! guard {
    ($guard:ident) => {
        impl<T> $guard<T> {
            /// Returns the index of the guard in the list, counted from 0.
            pub fn index(&self) -> usize {
                self.index
            }
        }

        impl<T> PartialEq<$guard<T>> for Chosen {
            fn eq(&self, guard: &$guard<T>) -> bool {
                (self.index, self.alternation) == (guard.index, guard.alternation)
            }
        }

        impl<T> AsGuard for $guard<T> {}

        impl<T> sealed::AsGuard for $guard<T> {
            fn index_in(&self, alternation: u64) -> usize {
                assert!(
                    self.alternation == alternation,
                    "a guard of another alternation was used; each has guards of its own"
                );
                self.index
            }
        }
    };
}
guard!(ReadGuard);
guard!(WriteGuard);

/// A guard of an alternation: [`ReadGuard`] or [`WriteGuard`].
pub trait AsGuard: sealed::AsGuard {}

pub(super) mod sealed {
    pub trait AsGuard {
        /// Returns the index of the guard. Panics if the guard belongs to another alternation than
        /// the one with this number.
        fn index_in(&self, alternation: u64) -> usize;
    }
}
