//! Adaptors: sources that change the items of other sources. Each part of a loop runs over its
//! items with the adaptor of `std` that has the same name.

use std::ops::Range;
use std::thread::panicking;
use std::{iter, vec};

use cellworks_machine::Spe;

use crate::iter::items::{Indexed, Items, Source};
use crate::sync::{Mutex, locked};
use crate::worker::Worker;

/// Adaptors with a function. A source owns the function, and its parts refer to the function.
macro_rules! with_function {
    ($(
        $(#[$doc:meta])*
        $name:ident [$($generic:tt)*] ($($function:tt)*), $item:ty,
        $iter:ty, |$items:ident, $f:ident, $worker:pat_param| $make:expr;
    )+) => {$(
        $(#[$doc])*
        pub struct $name<I, F>(pub(crate) I, pub(crate) F);

        impl<'f, S: Spe, I: Items<S>, F: $($function)* + Sync, $($generic)*> Items<S>
            for $name<I, &'f F>
        {
            type Item = $item;
            type Iter<'a> = $iter where Self: 'a, S: 'a;

            #[inline]
            fn units(&self) -> usize {
                self.0.units()
            }

            #[inline]
            fn split_off_first(&mut self, count: usize) -> Self {
                Self(self.0.split_off_first(count), self.1)
            }

            #[inline]
            fn in_order<'a>(self, worker: &'a Worker<'a, S>) -> Self::Iter<'a>
            where
                Self: 'a,
            {
                let ($items, $f, $worker) = (self.0.in_order(worker), self.1, worker);
                $make
            }
        }

        impl<S: Spe, I: Source<S>, F: $($function)* + Sync, $($generic)*> Source<S>
            for $name<I, F>
        {
            type Item = $item;
            type Items<'a> = $name<I::Items<'a>, &'a F> where Self: 'a;
            const IS_INDEXED: bool = Self::KEEPS_NUMBER && I::IS_INDEXED;

            fn items(&mut self) -> Self::Items<'_> {
                $name(self.0.items(), &self.1)
            }
        }
    )+};
}

with_function! {
    /// The results of a function that is given each item.
    Map [U] (Fn(I::Item) -> U), U,
        iter::Map<I::Iter<'a>, &'f F>, |items, f, _| items.map(f);

    /// The results of a function that is given the worker that runs it and each item.
    MapWithWorker [U] (Fn(&Worker<'_, S>, I::Item) -> U), U,
        OnWorker<'a, 'f, S, I::Iter<'a>, F>, |items, f, worker| OnWorker { items, f, worker };

    /// The items, each of which a function sees first.
    Inspect [] (Fn(&I::Item)), I::Item,
        iter::Inspect<I::Iter<'a>, &'f F>, |items, f, _| items.inspect(f);

    /// The items that a function accepts.
    Filter [] (Fn(&I::Item) -> bool), I::Item,
        iter::Filter<I::Iter<'a>, &'f F>, |items, f, _| items.filter(f);

    /// The results of a function that is given each item and returns one or none.
    FilterMap [U] (Fn(I::Item) -> Option<U>), U,
        iter::FilterMap<I::Iter<'a>, &'f F>, |items, f, _| items.filter_map(f);

    /// The items of what a function returns for each item.
    FlatMap [U: IntoIterator] (Fn(I::Item) -> U), U::Item,
        iter::FlatMap<I::Iter<'a>, U, &'f F>, |items, f, _| items.flat_map(f);
}

impl<I, F> Map<I, F> {
    const KEEPS_NUMBER: bool = true;
}

impl<I, F> MapWithWorker<I, F> {
    const KEEPS_NUMBER: bool = true;
}

impl<I, F> Inspect<I, F> {
    const KEEPS_NUMBER: bool = true;
}

impl<I, F> Filter<I, F> {
    const KEEPS_NUMBER: bool = false;
}

impl<I, F> FilterMap<I, F> {
    const KEEPS_NUMBER: bool = false;
}

impl<I, F> FlatMap<I, F> {
    const KEEPS_NUMBER: bool = false;
}

impl<S: Spe, I: Indexed<S>, U, F: Fn(I::Item) -> U + Sync> Indexed<S> for Map<I, F> {}

impl<S: Spe, I: Indexed<S>, U, F> Indexed<S> for MapWithWorker<I, F> where
    F: Fn(&Worker<'_, S>, I::Item) -> U + Sync
{
}

impl<S: Spe, I: Indexed<S>, F: Fn(&I::Item) + Sync> Indexed<S> for Inspect<I, F> {}

/// The iterator of [`MapWithWorker`] in a part.
#[doc(hidden)]
pub struct OnWorker<'a, 'f, S: Spe, I, F> {
    items: I,
    f: &'f F,
    worker: &'a Worker<'a, S>,
}

impl<S: Spe, I: Iterator, U, F> Iterator for OnWorker<'_, '_, S, I, F>
where
    F: Fn(&Worker<'_, S>, I::Item) -> U,
{
    type Item = U;

    #[inline]
    fn next(&mut self) -> Option<U> {
        Some((self.f)(self.worker, self.items.next()?))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }

    #[inline]
    fn fold<T, G: FnMut(T, U) -> T>(self, value: T, mut step: G) -> T {
        let Self { items, f, worker } = self;
        items.fold(value, |value, item| step(value, f(worker, item)))
    }
}

/// Copies of the items that are referred to.
pub struct Cloned<I>(pub(crate) I);

impl<'t, S: Spe, T: Clone + 't, I: Items<S, Item = &'t T>> Items<S> for Cloned<I> {
    type Item = T;
    type Iter<'a>
        = iter::Cloned<I::Iter<'a>>
    where
        Self: 'a,
        S: 'a;

    #[inline]
    fn units(&self) -> usize {
        self.0.units()
    }

    #[inline]
    fn split_off_first(&mut self, count: usize) -> Self {
        Self(self.0.split_off_first(count))
    }

    #[inline]
    fn in_order<'a>(self, worker: &'a Worker<'a, S>) -> Self::Iter<'a>
    where
        Self: 'a,
    {
        self.0.in_order(worker).cloned()
    }
}

impl<'t, S: Spe, T: Clone + 't, I: Source<S, Item = &'t T>> Source<S> for Cloned<I> {
    type Item = T;
    type Items<'a>
        = Cloned<I::Items<'a>>
    where
        Self: 'a;
    const IS_INDEXED: bool = I::IS_INDEXED;

    fn items(&mut self) -> Self::Items<'_> {
        Cloned(self.0.items())
    }
}

impl<'t, S: Spe, T: Clone + 't, I: Indexed<S, Item = &'t T>> Indexed<S> for Cloned<I> {}

/// Pairs of items with the same index. The longer source is cut off.
pub struct Zip<A, B>(pub(crate) A, pub(crate) B);

impl<S: Spe, A: Items<S>, B: Items<S>> Items<S> for Zip<A, B> {
    type Item = (A::Item, B::Item);
    type Iter<'a>
        = iter::Zip<A::Iter<'a>, B::Iter<'a>>
    where
        Self: 'a,
        S: 'a;

    #[inline]
    fn units(&self) -> usize {
        self.0.units().min(self.1.units())
    }

    #[inline]
    fn split_off_first(&mut self, count: usize) -> Self {
        Self(self.0.split_off_first(count), self.1.split_off_first(count))
    }

    #[inline]
    fn in_order<'a>(self, worker: &'a Worker<'a, S>) -> Self::Iter<'a>
    where
        Self: 'a,
    {
        self.0.in_order(worker).zip(self.1.in_order(worker))
    }
}

impl<S: Spe, A: Source<S>, B: Source<S>> Source<S> for Zip<A, B> {
    type Item = (A::Item, B::Item);
    type Items<'a>
        = Zip<A::Items<'a>, B::Items<'a>>
    where
        Self: 'a;
    const IS_INDEXED: bool = A::IS_INDEXED && B::IS_INDEXED;

    fn items(&mut self) -> Self::Items<'_> {
        let (mut a, mut b) = (self.0.items(), self.1.items());
        let both = a.units().min(b.units());
        Zip(a.split_off_first(both), b.split_off_first(both))
    }
}

impl<S: Spe, A: Indexed<S>, B: Indexed<S>> Indexed<S> for Zip<A, B> {}

/// The items with their indices.
pub struct Enumerate<I>(pub(crate) I);

impl<S: Spe, I: Source<S>> Source<S> for Enumerate<I> {
    type Item = (usize, I::Item);
    type Items<'a>
        = Zip<Range<usize>, I::Items<'a>>
    where
        Self: 'a;
    const IS_INDEXED: bool = I::IS_INDEXED;

    fn items(&mut self) -> Self::Items<'_> {
        let items = self.0.items();
        Zip(0..items.units(), items)
    }
}

impl<S: Spe, I: Indexed<S>> Indexed<S> for Enumerate<I> {}

/// The items of one source after those of another.
pub struct Chain<A, B>(pub(crate) A, pub(crate) B);

impl<S: Spe, A: Items<S>, B: Items<S, Item = A::Item>> Items<S> for Chain<A, B> {
    type Item = A::Item;
    type Iter<'a>
        = iter::Chain<A::Iter<'a>, B::Iter<'a>>
    where
        Self: 'a,
        S: 'a;

    #[inline]
    fn units(&self) -> usize {
        self.0.units().saturating_add(self.1.units())
    }

    #[inline]
    fn split_off_first(&mut self, count: usize) -> Self {
        let of_first = count.min(self.0.units());
        let first = self.0.split_off_first(of_first);
        // The first source may have ended since the length of both was read.
        let of_second = (count - of_first).min(self.1.units());
        Self(first, self.1.split_off_first(of_second))
    }

    #[inline]
    fn in_order<'a>(self, worker: &'a Worker<'a, S>) -> Self::Iter<'a>
    where
        Self: 'a,
    {
        self.0.in_order(worker).chain(self.1.in_order(worker))
    }
}

impl<S: Spe, A: Source<S>, B: Source<S, Item = A::Item>> Source<S> for Chain<A, B> {
    type Item = A::Item;
    type Items<'a>
        = Chain<A::Items<'a>, B::Items<'a>>
    where
        Self: 'a;
    const IS_INDEXED: bool = A::IS_INDEXED && B::IS_INDEXED;

    fn items(&mut self) -> Self::Items<'_> {
        Chain(self.0.items(), self.1.items())
    }
}

impl<S: Spe, A: Indexed<S>, B: Indexed<S, Item = A::Item>> Indexed<S> for Chain<A, B> {}

/// The items from the first index of a range to its end.
pub struct Cut<I>(pub(crate) I, pub(crate) Range<usize>);

impl<S: Spe, I: Source<S>> Source<S> for Cut<I> {
    type Item = I::Item;
    type Items<'a>
        = I::Items<'a>
    where
        Self: 'a;
    const IS_INDEXED: bool = I::IS_INDEXED;

    fn items(&mut self) -> Self::Items<'_> {
        let mut items = self.0.items();
        let length = items.units();
        let first = self.1.start.min(length);
        drop(items.split_off_first(first));
        if self.1.end < length {
            items.split_off_first(self.1.end - first)
        } else {
            // There may be more items than the greatest length.
            items
        }
    }
}

impl<S: Spe, I: Indexed<S>> Indexed<S> for Cut<I> {}

/// The first item, and each one that is a multiple of a distance after it.
pub struct StepBy<I>(pub(crate) I, pub(crate) usize);

impl<S: Spe, I: Items<S>> Items<S> for StepBy<I> {
    type Item = I::Item;
    type Iter<'a>
        = iter::StepBy<I::Iter<'a>>
    where
        Self: 'a,
        S: 'a;

    #[inline]
    fn units(&self) -> usize {
        self.0.units().div_ceil(self.1)
    }

    #[inline]
    fn split_off_first(&mut self, count: usize) -> Self {
        let count = count.saturating_mul(self.1).min(self.0.units());
        Self(self.0.split_off_first(count), self.1)
    }

    #[inline]
    fn in_order<'a>(self, worker: &'a Worker<'a, S>) -> Self::Iter<'a>
    where
        Self: 'a,
    {
        self.0.in_order(worker).step_by(self.1)
    }
}

impl<S: Spe, I: Source<S>> Source<S> for StepBy<I> {
    type Item = I::Item;
    type Items<'a>
        = StepBy<I::Items<'a>>
    where
        Self: 'a;
    const IS_INDEXED: bool = I::IS_INDEXED;

    fn items(&mut self) -> Self::Items<'_> {
        StepBy(self.0.items(), self.1)
    }
}

impl<S: Spe, I: Indexed<S>> Indexed<S> for StepBy<I> {}

/// The items from the last to the first.
pub struct Rev<I>(pub(crate) I);

impl<S: Spe, I: Items<S>> Items<S> for Rev<I> {
    type Item = I::Item;
    type Iter<'a>
        = iter::Rev<vec::IntoIter<I::Item>>
    where
        Self: 'a,
        S: 'a;

    #[inline]
    fn units(&self) -> usize {
        self.0.units()
    }

    #[inline]
    fn split_off_first(&mut self, count: usize) -> Self {
        let front = self.0.split_off_first(self.0.units() - count);
        Self(std::mem::replace(&mut self.0, front))
    }

    /// Lists the items first, because the iterators of `std` behind some sources, such as those of
    /// unequal pairs, cannot run backwards.
    #[inline]
    fn in_order<'a>(self, worker: &'a Worker<'a, S>) -> Self::Iter<'a>
    where
        Self: 'a,
    {
        let items: Vec<I::Item> = self.0.in_order(worker).collect();
        items.into_iter().rev()
    }
}

impl<S: Spe, I: Indexed<S>> Source<S> for Rev<I> {
    type Item = I::Item;
    type Items<'a>
        = Rev<I::Items<'a>>
    where
        Self: 'a;
    const IS_INDEXED: bool = true;

    fn items(&mut self) -> Self::Items<'_> {
        Rev(counted("rev", self.0.items()))
    }
}

impl<S: Spe, I: Indexed<S>> Indexed<S> for Rev<I> {}

/// Lists of items that follow each other.
pub struct InLists<I>(pub(crate) I, pub(crate) usize);

impl<S: Spe, I: Items<S>> Items<S> for InLists<I> {
    type Item = Vec<I::Item>;
    type Iter<'a>
        = ListIter<I::Iter<'a>>
    where
        Self: 'a,
        S: 'a;

    #[inline]
    fn units(&self) -> usize {
        self.0.units().div_ceil(self.1)
    }

    #[inline]
    fn split_off_first(&mut self, count: usize) -> Self {
        let count = count.saturating_mul(self.1).min(self.0.units());
        Self(self.0.split_off_first(count), self.1)
    }

    #[inline]
    fn in_order<'a>(self, worker: &'a Worker<'a, S>) -> Self::Iter<'a>
    where
        Self: 'a,
    {
        ListIter(self.0.in_order(worker), self.1)
    }
}

impl<S: Spe, I: Indexed<S>> Source<S> for InLists<I> {
    type Item = Vec<I::Item>;
    type Items<'a>
        = InLists<I::Items<'a>>
    where
        Self: 'a;
    const IS_INDEXED: bool = true;

    fn items(&mut self) -> Self::Items<'_> {
        InLists(counted("chunks", self.0.items()), self.1)
    }
}

impl<S: Spe, I: Indexed<S>> Indexed<S> for InLists<I> {}

/// Returns the items of a source whose end must be known. A chain may have more units than the
/// greatest number, and then says that it has this number.
fn counted<S: Spe, I: Items<S>>(call: &str, items: I) -> I {
    assert!(
        items.units() < usize::MAX,
        "`{call}` was called on {} items or more, so that the last one is not known: use fewer items",
        usize::MAX
    );
    items
}

/// The iterator of [`InLists`] in a part.
#[doc(hidden)]
pub struct ListIter<I>(I, usize);

impl<I: Iterator> Iterator for ListIter<I> {
    type Item = Vec<I::Item>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let list: Vec<I::Item> = self.0.by_ref().take(self.1).collect();
        (!list.is_empty()).then_some(list)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let (least, most) = self.0.size_hint();
        let lists = |items: usize| items.div_ceil(self.1);
        (lists(least), most.map(lists))
    }
}

/// The results of a function that is given a value, which it may change, and each item.
pub struct MapInit<I, V>(pub(crate) I, pub(crate) V);

/// The function of [`MapInit`], and its values.
#[doc(hidden)]
pub struct WithValues<N, F, T> {
    pub(crate) init: N,
    pub(crate) f: F,
    /// The values that no block of items uses now.
    pub(crate) free: Mutex<Vec<T>>,
}

impl<'f, S: Spe, I: Items<S>, N, F, T: Send, U> Items<S> for MapInit<I, &'f WithValues<N, F, T>>
where
    N: Fn() -> T + Sync,
    F: Fn(&mut T, I::Item) -> U + Sync,
{
    type Item = U;
    type Iter<'a>
        = InitIter<'f, I::Iter<'a>, N, F, T>
    where
        Self: 'a,
        S: 'a;

    #[inline]
    fn units(&self) -> usize {
        self.0.units()
    }

    #[inline]
    fn split_off_first(&mut self, count: usize) -> Self {
        Self(self.0.split_off_first(count), self.1)
    }

    #[inline]
    fn in_order<'a>(self, worker: &'a Worker<'a, S>) -> Self::Iter<'a>
    where
        Self: 'a,
    {
        let with = self.1;
        let free = locked(&with.free).pop();
        InitIter {
            items: self.0.in_order(worker),
            value: Some(free.unwrap_or_else(&with.init)),
            with,
        }
    }
}

impl<S: Spe, I: Source<S>, N, F, T: Send, U> Source<S> for MapInit<I, WithValues<N, F, T>>
where
    N: Fn() -> T + Sync,
    F: Fn(&mut T, I::Item) -> U + Sync,
{
    type Item = U;
    type Items<'a>
        = MapInit<I::Items<'a>, &'a WithValues<N, F, T>>
    where
        Self: 'a;
    const IS_INDEXED: bool = I::IS_INDEXED;

    fn items(&mut self) -> Self::Items<'_> {
        MapInit(self.0.items(), &self.1)
    }
}

impl<S: Spe, I: Indexed<S>, N, F, T: Send, U> Indexed<S> for MapInit<I, WithValues<N, F, T>>
where
    N: Fn() -> T + Sync,
    F: Fn(&mut T, I::Item) -> U + Sync,
{
}

/// The iterator of [`MapInit`] in a block.
#[doc(hidden)]
pub struct InitIter<'f, I, N, F, T> {
    items: I,
    /// `None` when it was given back.
    value: Option<T>,
    with: &'f WithValues<N, F, T>,
}

impl<I: Iterator, N, F: Fn(&mut T, I::Item) -> U, T, U> Iterator for InitIter<'_, I, N, F, T> {
    type Item = U;

    #[inline]
    fn next(&mut self) -> Option<U> {
        let item = self.items.next()?;
        Some((self.with.f)(self.value.as_mut()?, item))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }
}

impl<I, N, F, T> Drop for InitIter<'_, I, N, F, T> {
    /// Gives the value back. A panic may have left it in any state, and then it is dropped.
    fn drop(&mut self) {
        if !panicking() {
            locked(&self.with.free).extend(self.value.take());
        }
    }
}
