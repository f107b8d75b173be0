//! What loops make from their items.

use std::iter::{Product, Sum, Zip, repeat};
use std::marker::PhantomData;
use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cellworks_machine::Spe;

use crate::iter::drive::Consumer;
use crate::iter::items::{Items, Source};
use crate::worker::Worker;

type Flow<T> = ControlFlow<T, T>;

/// Calls a function with each item.
pub(crate) struct ForEach<F>(pub(crate) F);

impl<S: Spe, X, F: Fn(X) + Sync> Consumer<S, X> for ForEach<F> {
    type Value = ();

    #[inline]
    fn identity(&self) {}

    #[inline]
    fn block(&self, _: &Worker<'_, S>, (): (), items: impl Iterator<Item = X>) -> Flow<()> {
        items.for_each(&self.0);
        Continue(())
    }

    #[inline]
    fn reduce(&self, (): (), (): ()) {}
}

/// Adds the items of each part to a value, and then the values to each other.
pub(crate) struct Fold<I, F, R> {
    pub(crate) identity: I,
    pub(crate) fold: F,
    pub(crate) reduce: R,
}

impl<S: Spe, X, T: Send, I, F, R> Consumer<S, X> for Fold<I, F, R>
where
    I: Fn() -> T + Sync,
    F: Fn(T, X) -> T + Sync,
    R: Fn(T, T) -> T + Sync,
{
    type Value = T;

    #[inline]
    fn identity(&self) -> T {
        (self.identity)()
    }

    #[inline]
    fn block(&self, _: &Worker<'_, S>, value: T, items: impl Iterator<Item = X>) -> Flow<T> {
        Continue(items.fold(value, &self.fold))
    }

    #[inline]
    fn reduce(&self, first: T, second: T) -> T {
        (self.reduce)(first, second)
    }
}

/// The sum of the items.
pub(crate) struct Sums<T>(pub(crate) PhantomData<fn() -> T>);

impl<S: Spe, X, T: Send + Sum<X> + Sum<T>> Consumer<S, X> for Sums<T> {
    type Value = T;

    #[inline]
    fn identity(&self) -> T {
        std::iter::empty::<X>().sum()
    }

    #[inline]
    fn block(&self, _: &Worker<'_, S>, value: T, items: impl Iterator<Item = X>) -> Flow<T> {
        Continue([value, items.sum()].into_iter().sum())
    }

    #[inline]
    fn reduce(&self, first: T, second: T) -> T {
        [first, second].into_iter().sum()
    }
}

/// The product of the items.
pub(crate) struct Products<T>(pub(crate) PhantomData<fn() -> T>);

impl<S: Spe, X, T: Send + Product<X> + Product<T>> Consumer<S, X> for Products<T> {
    type Value = T;

    #[inline]
    fn identity(&self) -> T {
        std::iter::empty::<X>().product()
    }

    #[inline]
    fn block(&self, _: &Worker<'_, S>, value: T, items: impl Iterator<Item = X>) -> Flow<T> {
        Continue([value, items.product()].into_iter().product())
    }

    #[inline]
    fn reduce(&self, first: T, second: T) -> T {
        [first, second].into_iter().product()
    }
}

/// The number of items.
pub(crate) struct Count;

impl<S: Spe, X> Consumer<S, X> for Count {
    type Value = usize;

    #[inline]
    fn identity(&self) -> usize {
        0
    }

    #[inline]
    fn block(
        &self,
        _: &Worker<'_, S>,
        count: usize,
        items: impl Iterator<Item = X>,
    ) -> Flow<usize> {
        Continue(count + items.count())
    }

    #[inline]
    fn reduce(&self, first: usize, second: usize) -> usize {
        first + second
    }
}

/// The items of each part, in order.
pub(crate) struct InParts;

impl<S: Spe, X: Send> Consumer<S, X> for InParts {
    type Value = Vec<Vec<X>>;

    fn identity(&self) -> Vec<Vec<X>> {
        Vec::new()
    }

    #[inline]
    fn block(
        &self,
        _: &Worker<'_, S>,
        mut parts: Vec<Vec<X>>,
        items: impl Iterator<Item = X>,
    ) -> Flow<Vec<Vec<X>>> {
        match parts.last_mut() {
            Some(last) => items.for_each(|item| last.push(item)),
            None => parts.push(items.collect()),
        }
        Continue(parts)
    }

    fn reduce(&self, mut first: Vec<Vec<X>>, mut second: Vec<Vec<X>>) -> Vec<Vec<X>> {
        first.append(&mut second);
        first
    }
}

/// Adds items to values with functions that may fail. After a failure, no other item begins.
pub(crate) struct Try<I, F, R> {
    pub(crate) identity: I,
    pub(crate) fold: F,
    pub(crate) reduce: R,
    pub(crate) has_failed: AtomicBool,
}

impl<S: Spe, X, T: Send, E: Send, I, F, R> Consumer<S, X> for Try<I, F, R>
where
    I: Fn() -> T + Sync,
    F: Fn(T, X) -> Result<T, E> + Sync,
    R: Fn(T, T) -> Result<T, E> + Sync,
{
    type Value = Result<T, E>;

    fn identity(&self) -> Result<T, E> {
        Ok((self.identity)())
    }

    #[inline]
    fn block(
        &self,
        _: &Worker<'_, S>,
        value: Result<T, E>,
        items: impl Iterator<Item = X>,
    ) -> Flow<Result<T, E>> {
        let mut value = match value {
            Ok(value) => value,
            failed => return Break(failed),
        };
        for item in items {
            if <Self as Consumer<S, X>>::is_over(self) {
                return Break(Ok(value));
            }
            match (self.fold)(value, item) {
                Ok(next) => value = next,
                Err(error) => {
                    self.has_failed.store(true, Ordering::Relaxed);
                    return Break(Err(error));
                }
            }
        }
        Continue(Ok(value))
    }

    fn reduce(&self, first: Result<T, E>, second: Result<T, E>) -> Result<T, E> {
        let reduced = (self.reduce)(first?, second?);
        if reduced.is_err() {
            self.has_failed.store(true, Ordering::Relaxed);
        }
        reduced
    }

    #[inline]
    fn is_over(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed)
    }
}

/// A result that a function returns for any item. After it, no other item begins.
pub(crate) struct FindAny<F> {
    pub(crate) f: F,
    pub(crate) has_found: AtomicBool,
}

impl<S: Spe, X, T: Send, F: Fn(X) -> Option<T> + Sync> Consumer<S, X> for FindAny<F> {
    type Value = Option<T>;

    fn identity(&self) -> Option<T> {
        None
    }

    #[inline]
    fn block(
        &self,
        _: &Worker<'_, S>,
        value: Option<T>,
        items: impl Iterator<Item = X>,
    ) -> Flow<Option<T>> {
        for item in items {
            if <Self as Consumer<S, X>>::is_over(self) {
                return Break(value);
            }
            if let Some(found) = (self.f)(item) {
                self.has_found.store(true, Ordering::Relaxed);
                return Break(Some(found));
            }
        }
        Continue(value)
    }

    fn reduce(&self, first: Option<T>, second: Option<T>) -> Option<T> {
        first.or(second)
    }

    #[inline]
    fn is_over(&self) -> bool {
        self.has_found.load(Ordering::Relaxed)
    }
}

/// The first of the results that a function returns for items with positions.
pub(crate) struct FindFirst<F> {
    pub(crate) f: F,
    /// The least position of an item with a result.
    pub(crate) found_at: AtomicUsize,
}

impl<S: Spe, X, T: Send, F> Consumer<S, (usize, X)> for FindFirst<F>
where
    F: Fn(X) -> Option<T> + Sync,
{
    type Value = Option<T>;

    fn identity(&self) -> Option<T> {
        None
    }

    #[inline]
    fn block(
        &self,
        _: &Worker<'_, S>,
        value: Option<T>,
        items: impl Iterator<Item = (usize, X)>,
    ) -> Flow<Option<T>> {
        for (position, item) in items {
            if self.found_at.load(Ordering::Relaxed) < position {
                return Break(value);
            }
            if let Some(found) = (self.f)(item) {
                self.found_at.fetch_min(position, Ordering::Relaxed);
                return Break(Some(found));
            }
        }
        Continue(value)
    }

    fn reduce(&self, first: Option<T>, second: Option<T>) -> Option<T> {
        first.or(second)
    }
}

/// Items with positions: an item has the number of the first unit of its block.
pub(crate) struct Located<I>(pub(crate) I, pub(crate) usize);

impl<S: Spe, I: Source<S>> Source<S> for Located<I> {
    type Item = (usize, I::Item);
    type Items<'a>
        = Located<I::Items<'a>>
    where
        Self: 'a;
    const IS_INDEXED: bool = I::IS_INDEXED;

    fn items(&mut self) -> Self::Items<'_> {
        Located(self.0.items(), self.1)
    }
}

impl<S: Spe, I: Items<S>> Items<S> for Located<I> {
    type Item = (usize, I::Item);
    type Iter<'a>
        = Zip<std::iter::Repeat<usize>, I::Iter<'a>>
    where
        Self: 'a,
        S: 'a;

    fn units(&self) -> usize {
        self.0.units()
    }

    fn split_off_first(&mut self, count: usize) -> Self {
        let first = Self(self.0.split_off_first(count), self.1);
        // A chain may have more units than the greatest number.
        self.1 = self.1.saturating_add(count);
        first
    }

    fn in_order<'a>(self, worker: &'a Worker<'a, S>) -> Self::Iter<'a>
    where
        Self: 'a,
    {
        repeat(self.1).zip(self.0.in_order(worker))
    }
}
