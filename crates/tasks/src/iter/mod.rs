//! Parallel iterators: see [`Worker::par_iter`].
//!
//! ```text
//!   worker.par_iter(&v)  .map(f).filter(g)  .sum()
//!      sources            adaptors           a consumer
//!         └───────── items ──┘                  │
//!                      └───── drive ────────────┘  splits the items, and runs over the parts
//! ```
//!
//! Each part becomes an iterator of `std`, so that a loop in a part is as fast as without the pool.
//!
//! Read `items` first (what a loop runs over), then `drive` (how a loop is spread over workers),
//! `sources` with `owned` and `bridge` (where items come from), `adaptors`, and `consumers`,
//! `collect` and `in_place` (what a loop makes of its items). This file has the methods of users.

// Rejected: the crate rayon on our workers. Its iterators call functions of the crate rayon-core,
// which can be replaced in the manifest of a program but not in that of a library, and which know
// the calling worker by a thread-local variable. Tasks of one OS thread would share this variable.
// Rejected: the crate orx-parallel, whose iterators run on any pool. Its parts take items from a
// shared counter, which on a simulated machine would be an operation of the machine for each block,
// and a function that waits would keep other tasks of its worker from running.
// Rejected: splitting through callbacks, as rayon does. A generic associated type (`Items<'a>`)
// lets the parts refer to the functions of the adaptors, and each adaptor is half as long.

pub(crate) mod adaptors;
mod bridge;
mod collect;
mod consumers;
pub(crate) mod drive;
mod in_place;
pub(crate) mod items;
mod owned;
pub(crate) mod sources;

use std::cmp::Ordering;
use std::iter::{Product, Sum};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use cellworks_machine::Spe;

use crate::iter::adaptors::{
    Chain, Cloned, Cut, Enumerate, Filter, FilterMap, FlatMap, InLists, Inspect, Map, MapInit,
    MapWithWorker, Rev, StepBy, WithValues, Zip,
};
use crate::iter::bridge::Bridge;
use crate::iter::collect::Lists;
use crate::iter::consumers::{
    Count, FindAny, FindFirst, Fold, ForEach, InParts, Located, Products, Sums, Try,
};
use crate::iter::drive::Consumer;
use crate::iter::sources::{Chunks, ChunksMut, Windows};
use crate::sync::Mutex;
use crate::worker::Worker;

pub use crate::iter::collect::FromParallelIterator;
pub use crate::iter::items::{Indexed, IntoSource, Source};

/// Items that the workers of a pool run over: see [`Worker::par_iter`].
///
/// The methods have the names of `std::iter::Iterator` and of rayon. Functions are called on any
/// worker, and several at the same time. [`map_with_worker`](Self::map_with_worker) gives a
/// function the worker that runs it, with which the function can wait or start more work.
///
/// If a function panics, the loop panics, and may skip some items.
#[must_use = "a parallel iterator does nothing until it is consumed, for example by `for_each`"]
pub struct ParallelIterator<'a, 'w, S: Spe, I> {
    worker: &'a Worker<'w, S>,
    source: I,
}

impl<'w, S: Spe> Worker<'w, S> {
    /// Returns a parallel iterator over a range, a slice, a vector or another collection of `std`.
    ///
    /// A reference to a collection gives references to its items, as in a `for` loop.
    ///
    /// ```
    /// use cellworks_machine::Spe;
    /// use cellworks_tasks::Worker;
    ///
    /// fn sum_of_squares<S: Spe>(worker: &Worker<'_, S>, numbers: &[f64]) -> f64 {
    ///     worker.par_iter(numbers).map(|x| x * x).sum()
    /// }
    ///
    /// fn increment<S: Spe>(worker: &Worker<'_, S>, numbers: &mut [f64]) {
    ///     worker.par_iter(numbers).for_each(|x| *x += 1.0);
    /// }
    ///
    /// fn primes<S: Spe>(worker: &Worker<'_, S>, end: u64) -> Vec<u64> {
    ///     let is_prime = |&n: &u64| n > 1 && (2..).take_while(|d| d * d <= n).all(|d| n % d > 0);
    ///     worker.par_iter(0..end).filter(is_prime).collect()
    /// }
    /// # use cellworks_machine::Machine;
    /// # let host = cellworks_host::Host::new().unwrap();
    /// # cellworks_tasks::Pool::new(&host).run(|main| main.install(|worker| {
    /// #     assert_eq!(sum_of_squares(worker, &[3.0, 4.0]), 25.0);
    /// #     let mut numbers = [0.5; 3];
    /// #     increment(worker, &mut numbers);
    /// #     assert_eq!(numbers, [1.5; 3]);
    /// #     assert_eq!(primes(worker, 20), [2, 3, 5, 7, 11, 13, 17, 19]);
    /// # })).unwrap();
    /// ```
    ///
    /// The items are split into a few parts for each worker. If another worker has nothing to do, a
    /// worker that runs a part gives away half of its remaining items.
    pub fn par_iter<I: IntoSource<S>>(&self, items: I) -> ParallelIterator<'_, 'w, S, I::Source> {
        self.par(items.into_source())
    }

    /// Returns a parallel iterator over pieces of `size` items. The last piece may be shorter.
    ///
    /// # Panics
    ///
    /// Panics if `size` is 0.
    #[track_caller]
    pub fn par_chunks<'s, T: Sync>(
        &self,
        items: &'s [T],
        size: usize,
    ) -> ParallelIterator<'_, 'w, S, Chunks<'s, T>> {
        self.par(sources::chunks(items, size))
    }

    /// Returns a parallel iterator over pieces of `size` items, which functions may change. The
    /// last piece may be shorter.
    ///
    /// ```
    /// use cellworks_machine::Spe;
    /// use cellworks_tasks::Worker;
    ///
    /// /// Subtracts from each row of a matrix the row's number.
    /// fn subtract<S: Spe>(worker: &Worker<'_, S>, matrix: &mut [f32], columns: usize) {
    ///     worker.par_chunks_mut(matrix, columns).enumerate().for_each(|(number, row)| {
    ///         row.iter_mut().for_each(|x| *x -= number as f32);
    ///     });
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if `size` is 0.
    #[track_caller]
    pub fn par_chunks_mut<'s, T: Send>(
        &self,
        items: &'s mut [T],
        size: usize,
    ) -> ParallelIterator<'_, 'w, S, ChunksMut<'s, T>> {
        self.par(sources::chunks_mut(items, size))
    }

    /// Returns a parallel iterator over all pieces of `size` items, each one item after the other.
    ///
    /// # Panics
    ///
    /// Panics if `size` is 0.
    #[track_caller]
    pub fn par_windows<'s, T: Sync>(
        &self,
        items: &'s [T],
        size: usize,
    ) -> ParallelIterator<'_, 'w, S, Windows<'s, T>> {
        self.par(sources::windows(items, size))
    }

    /// Returns a parallel iterator over the items of an iterator of `std`, in any order. Workers
    /// take the items one by one, so an item should take some microseconds.
    ///
    /// `iterator` must not wait for other tasks, because it is called under a lock.
    ///
    /// ```
    /// use cellworks_machine::Spe;
    /// use cellworks_tasks::Worker;
    ///
    /// fn letters<S: Spe>(worker: &Worker<'_, S>, text: &str) -> usize {
    ///     worker.par_bridge(text.lines()).map(|line| line.trim().len()).sum()
    /// }
    /// ```
    pub fn par_bridge<I: Iterator + Send>(
        &self,
        iterator: I,
    ) -> ParallelIterator<'_, 'w, S, Bridge<I>> {
        self.par(Bridge::new(iterator))
    }

    fn par<I>(&self, source: I) -> ParallelIterator<'_, 'w, S, I> {
        let worker = self;
        ParallelIterator { worker, source }
    }
}

impl<S: Spe, I: Source<S>> IntoSource<S> for ParallelIterator<'_, '_, S, I> {
    type Item = I::Item;
    type Source = I;

    fn into_source(self) -> I {
        self.source
    }
}

/// Adaptors.
impl<'a, 'w, S: Spe, I: Source<S>> ParallelIterator<'a, 'w, S, I> {
    fn with<J>(self, adaptor: impl FnOnce(I) -> J) -> ParallelIterator<'a, 'w, S, J> {
        let Self { worker, source } = self;
        let source = adaptor(source);
        ParallelIterator { worker, source }
    }

    /// Calls `f` with each item, and continues with the results.
    pub fn map<U, F: Fn(I::Item) -> U + Sync>(
        self,
        f: F,
    ) -> ParallelIterator<'a, 'w, S, Map<I, F>> {
        self.with(|source| Map(source, f))
    }

    /// Calls `f` with the worker that runs it and each item, and continues with the results.
    ///
    /// ```
    /// use cellworks_machine::Spe;
    /// use cellworks_tasks::Worker;
    ///
    /// fn norms<S: Spe>(worker: &Worker<'_, S>, rows: &[Vec<f64>]) -> Vec<f64> {
    ///     let norm = |worker: &Worker<'_, S>, row: &Vec<f64>| worker.par_iter(row).sum();
    ///     worker.par_iter(rows).map_with_worker(norm).collect()
    /// }
    /// ```
    pub fn map_with_worker<U, F: Fn(&Worker<'_, S>, I::Item) -> U + Sync>(
        self,
        f: F,
    ) -> ParallelIterator<'a, 'w, S, MapWithWorker<I, F>> {
        self.with(|source| MapWithWorker(source, f))
    }

    /// Calls `f` with a value and each item, and continues with the results. `init` returns a value
    /// when all values are in use: there are about as many as workers, and each call may find what
    /// earlier calls have left in its value.
    ///
    /// ```
    /// use cellworks_machine::Spe;
    /// use cellworks_tasks::Worker;
    ///
    /// /// The lengths of numbers in decimal, written into a buffer that is used again.
    /// fn lengths<S: Spe>(worker: &Worker<'_, S>, numbers: &[f64]) -> Vec<usize> {
    ///     use std::fmt::Write;
    ///
    ///     let write = |buffer: &mut String, number: &f64| {
    ///         buffer.clear();
    ///         write!(buffer, "{number}").expect("a string takes all text");
    ///         buffer.len()
    ///     };
    ///     worker.par_iter(numbers).map_init(String::new, write).collect()
    /// }
    /// ```
    pub fn map_init<T: Send, U, N: Fn() -> T + Sync, F: Fn(&mut T, I::Item) -> U + Sync>(
        self,
        init: N,
        f: F,
    ) -> ParallelIterator<'a, 'w, S, MapInit<I, WithValues<N, F, T>>> {
        let free = Mutex::default();
        self.with(|source| MapInit(source, WithValues { init, f, free }))
    }

    /// Calls `f` with a reference to each item, and continues with the items.
    pub fn inspect<F: Fn(&I::Item) + Sync>(
        self,
        f: F,
    ) -> ParallelIterator<'a, 'w, S, Inspect<I, F>> {
        self.with(|source| Inspect(source, f))
    }

    /// Continues with the items for which `f` returns true.
    pub fn filter<F: Fn(&I::Item) -> bool + Sync>(
        self,
        f: F,
    ) -> ParallelIterator<'a, 'w, S, Filter<I, F>> {
        self.with(|source| Filter(source, f))
    }

    /// Calls `f` with each item, and continues with the results that are not `None`.
    pub fn filter_map<U, F: Fn(I::Item) -> Option<U> + Sync>(
        self,
        f: F,
    ) -> ParallelIterator<'a, 'w, S, FilterMap<I, F>> {
        self.with(|source| FilterMap(source, f))
    }

    /// Calls `f` with each item, and continues with the items of the results. The items of one
    /// result stay on one worker.
    pub fn flat_map<U: IntoIterator, F: Fn(I::Item) -> U + Sync>(
        self,
        f: F,
    ) -> ParallelIterator<'a, 'w, S, FlatMap<I, F>> {
        self.with(|source| FlatMap(source, f))
    }

    /// Continues with the items of `other` after these items.
    pub fn chain<J: IntoSource<S, Item = I::Item>>(
        self,
        other: J,
    ) -> ParallelIterator<'a, 'w, S, Chain<I, J::Source>> {
        self.with(|source| Chain(source, other.into_source()))
    }

    /// Continues with clones of the items.
    pub fn cloned<'t, T: Clone + 't>(self) -> ParallelIterator<'a, 'w, S, Cloned<I>>
    where
        I: Source<S, Item = &'t T>,
    {
        self.with(Cloned)
    }

    /// Continues with copies of the items.
    pub fn copied<'t, T: Copy + 't>(self) -> ParallelIterator<'a, 'w, S, Cloned<I>>
    where
        I: Source<S, Item = &'t T>,
    {
        self.with(Cloned)
    }
}

/// Adaptors of items with indices: those of ranges, slices, vectors and pieces, also when they were
/// mapped, and not when some were filtered out.
impl<'a, 'w, S: Spe, I: Indexed<S>> ParallelIterator<'a, 'w, S, I> {
    /// Continues with the items and their indices.
    pub fn enumerate(self) -> ParallelIterator<'a, 'w, S, Enumerate<I>> {
        self.with(Enumerate)
    }

    /// Continues with pairs of an item and the item of `other` with the same index, as many as the
    /// shorter one has.
    ///
    /// ```
    /// use cellworks_machine::Spe;
    /// use cellworks_tasks::Worker;
    ///
    /// fn axpy<S: Spe>(worker: &Worker<'_, S>, a: f64, x: &[f64], y: &mut [f64]) {
    ///     worker.par_iter(y).zip(x).for_each(|(y, x)| *y += a * x);
    /// }
    /// ```
    pub fn zip<J: IntoSource<S, Source: Indexed<S>>>(
        self,
        other: J,
    ) -> ParallelIterator<'a, 'w, S, Zip<I, J::Source>> {
        self.with(|source| Zip(source, other.into_source()))
    }

    /// Continues without the first `count` items.
    pub fn skip(self, count: usize) -> ParallelIterator<'a, 'w, S, Cut<I>> {
        self.with(|source| Cut(source, count..usize::MAX))
    }

    /// Continues with the first `count` items.
    pub fn take(self, count: usize) -> ParallelIterator<'a, 'w, S, Cut<I>> {
        self.with(|source| Cut(source, 0..count))
    }

    /// Continues with the first item and each one that is a multiple of `step` items after it.
    ///
    /// # Panics
    ///
    /// Panics if `step` is 0.
    #[track_caller]
    pub fn step_by(self, step: usize) -> ParallelIterator<'a, 'w, S, StepBy<I>> {
        assert!(
            step > 0,
            "`step_by` was asked for steps of {step} items: a step has at least 1"
        );
        self.with(|source| StepBy(source, step))
    }

    /// Continues with the items from the last to the first.
    ///
    /// # Panics
    ///
    /// The loop panics if there are `usize::MAX` items or more.
    pub fn rev(self) -> ParallelIterator<'a, 'w, S, Rev<I>> {
        self.with(Rev)
    }

    /// Continues with vectors of `size` items that follow each other. The last one may be shorter.
    ///
    /// For the pieces of a slice, [`Worker::par_chunks`] copies nothing.
    ///
    /// # Panics
    ///
    /// Panics if `size` is 0. The loop panics if there are `usize::MAX` items or more.
    #[track_caller]
    pub fn chunks(self, size: usize) -> ParallelIterator<'a, 'w, S, InLists<I>> {
        sources::check("chunks", size);
        self.with(|source| InLists(source, size))
    }

    /// Returns the index of any item for which `f` returns true. After it, no other item begins.
    pub fn position_any<F: Fn(I::Item) -> bool + Sync>(self, f: F) -> Option<usize>
    where
        I::Item: Send,
    {
        self.enumerate()
            .find_map_any(|(index, item)| f(item).then_some(index))
    }

    /// Returns the index of the first item for which `f` returns true.
    pub fn position_first<F: Fn(I::Item) -> bool + Sync>(self, f: F) -> Option<usize>
    where
        I::Item: Send,
    {
        self.enumerate()
            .find_map_first(|(index, item)| f(item).then_some(index))
    }
}

/// Loops, which return when all calls have ended.
impl<S: Spe, I: Source<S>> ParallelIterator<'_, '_, S, I> {
    fn consume<C: Consumer<S, I::Item>>(mut self, consumer: &C) -> C::Value {
        drive::drive(self.worker, self.source.items(), consumer)
    }

    /// Calls `f` with each item.
    pub fn for_each<F: Fn(I::Item) + Sync>(self, f: F) {
        self.consume(&ForEach(f));
    }

    /// Calls `f` with the worker that runs it and each item.
    pub fn for_each_with_worker<F: Fn(&Worker<'_, S>, I::Item) + Sync>(self, f: F) {
        self.map_with_worker(f).for_each(|()| ());
    }

    /// Calls `f` with each item and a value of the part to which the item belongs. `init` returns
    /// the value of a part. There are a few parts for each worker.
    pub fn for_each_init<T: Send>(
        self,
        init: impl Fn() -> T + Sync,
        f: impl Fn(&mut T, I::Item) + Sync,
    ) {
        let fold = |mut value, item| {
            f(&mut value, item);
            value
        };
        drop(self.fold(init, fold, |first, _| first));
    }

    /// Adds the items of each part to a value by `fold`, and then the values to each other by
    /// `reduce`, in the order of the items. `identity` returns the value of no items.
    ///
    /// ```
    /// use std::collections::HashMap;
    ///
    /// use cellworks_machine::Spe;
    /// use cellworks_tasks::Worker;
    ///
    /// fn count_words<'t, S: Spe>(worker: &Worker<'_, S>, words: &[&'t str]) -> HashMap<&'t str, u32> {
    ///     worker.par_iter(words).fold(
    ///         HashMap::new,
    ///         |mut counts, word| {
    ///             *counts.entry(*word).or_default() += 1;
    ///             counts
    ///         },
    ///         |mut all, counts| {
    ///             counts.into_iter().for_each(|(word, count)| *all.entry(word).or_default() += count);
    ///             all
    ///         },
    ///     )
    /// }
    /// ```
    pub fn fold<T: Send>(
        self,
        identity: impl Fn() -> T + Sync,
        fold: impl Fn(T, I::Item) -> T + Sync,
        reduce: impl Fn(T, T) -> T + Sync,
    ) -> T {
        let consumer = Fold {
            identity,
            fold,
            reduce,
        };
        self.consume(&consumer)
    }

    /// Reduces the items to one. `reduce` must be associative, and `identity` returns its neutral
    /// value. Sums of floating-point numbers may be rounded differently in each run.
    pub fn reduce(
        self,
        identity: impl Fn() -> I::Item + Sync,
        reduce: impl Fn(I::Item, I::Item) -> I::Item + Sync,
    ) -> I::Item
    where
        I::Item: Send,
    {
        self.fold(identity, &reduce, &reduce)
    }

    /// Reduces the items to one, or returns `None` if there are none. `reduce` must be associative.
    pub fn reduce_with(self, reduce: impl Fn(I::Item, I::Item) -> I::Item + Sync) -> Option<I::Item>
    where
        I::Item: Send,
    {
        let both = |first, second| match (first, second) {
            (Some(first), Some(second)) => Some(reduce(first, second)),
            (first, second) => first.or(second),
        };
        self.fold(|| None, |value, item| both(value, Some(item)), both)
    }

    /// Returns the sum of the items.
    pub fn sum<T: Send + Sum<I::Item> + Sum<T>>(self) -> T {
        self.consume(&Sums(PhantomData))
    }

    /// Returns the product of the items.
    pub fn product<T: Send + Product<I::Item> + Product<T>>(self) -> T {
        self.consume(&Products(PhantomData))
    }

    /// Returns the number of items.
    pub fn count(self) -> usize {
        self.consume(&Count)
    }
}

/// Loops over items that move from worker to worker.
impl<S: Spe, I: Source<S, Item: Send>> ParallelIterator<'_, '_, S, I> {
    /// Returns the items in a vector or another collection, in order.
    ///
    /// Items of the type `Result` or `Option` give a collection, or an error or `None` that is
    /// among them. After it, no other item begins.
    pub fn collect<C: FromParallelIterator<I::Item>>(self) -> C {
        C::from_lists_of(self)
    }

    /// Adds the items to a collection, in order.
    pub fn extend_into(self, collection: &mut impl Extend<I::Item>) {
        let lists = self.lists();
        lists.into_iter().for_each(|list| collection.extend(list));
    }

    /// Returns the items for which `f` returns true, and the others, both in order.
    pub fn partition<A, B>(self, f: impl Fn(&I::Item) -> bool + Sync) -> (A, B)
    where
        A: Default + Extend<I::Item>,
        B: Default + Extend<I::Item>,
    {
        let halves = self.fold(
            || (Vec::new(), Vec::new()),
            |mut halves, item| {
                if f(&item) {
                    halves.0.push(item)
                } else {
                    halves.1.push(item)
                }
                halves
            },
            joined,
        );
        into_collections(halves)
    }

    /// Returns the first and the second values of the pairs, both in order.
    pub fn unzip<T: Send, U: Send, A, B>(self) -> (A, B)
    where
        I: Source<S, Item = (T, U)>,
        A: Default + Extend<T>,
        B: Default + Extend<U>,
    {
        let halves = self.fold(
            || (Vec::new(), Vec::new()),
            |mut halves, (first, second)| {
                halves.0.push(first);
                halves.1.push(second);
                halves
            },
            joined,
        );
        into_collections(halves)
    }

    /// Returns the smallest item, the first of equal ones, or `None` if there are none.
    pub fn min(self) -> Option<I::Item>
    where
        I::Item: Ord,
    {
        self.min_by(I::Item::cmp)
    }

    /// Returns the largest item, the last of equal ones, or `None` if there are none.
    pub fn max(self) -> Option<I::Item>
    where
        I::Item: Ord,
    {
        self.max_by(I::Item::cmp)
    }

    /// Does the same as [`min`](Self::min) with a comparison.
    pub fn min_by(
        self,
        compare: impl Fn(&I::Item, &I::Item) -> Ordering + Sync,
    ) -> Option<I::Item> {
        self.reduce_with(|first, second| match compare(&first, &second) {
            Ordering::Greater => second,
            _ => first,
        })
    }

    /// Does the same as [`max`](Self::max) with a comparison.
    pub fn max_by(
        self,
        compare: impl Fn(&I::Item, &I::Item) -> Ordering + Sync,
    ) -> Option<I::Item> {
        self.reduce_with(|first, second| match compare(&first, &second) {
            Ordering::Greater => first,
            _ => second,
        })
    }

    /// Does the same as [`min`](Self::min) with a key, which is computed once for each item.
    pub fn min_by_key<K: Ord + Send>(self, key: impl Fn(&I::Item) -> K + Sync) -> Option<I::Item> {
        let least = self
            .map(|item| (key(&item), item))
            .min_by(|a, b| a.0.cmp(&b.0));
        least.map(|(_, item)| item)
    }

    /// Does the same as [`max`](Self::max) with a key, which is computed once for each item.
    pub fn max_by_key<K: Ord + Send>(self, key: impl Fn(&I::Item) -> K + Sync) -> Option<I::Item> {
        let greatest = self
            .map(|item| (key(&item), item))
            .max_by(|a, b| a.0.cmp(&b.0));
        greatest.map(|(_, item)| item)
    }
}

/// Loops that end early: when their result is known, no other item begins.
impl<S: Spe, I: Source<S>> ParallelIterator<'_, '_, S, I> {
    /// Returns any item for which `f` returns true.
    pub fn find_any<F: Fn(&I::Item) -> bool + Sync>(self, f: F) -> Option<I::Item>
    where
        I::Item: Send,
    {
        self.find_map_any(|item| f(&item).then_some(item))
    }

    /// Returns the first item for which `f` returns true. Later items do not begin.
    pub fn find_first<F: Fn(&I::Item) -> bool + Sync>(self, f: F) -> Option<I::Item>
    where
        I::Item: Send,
    {
        self.find_map_first(|item| f(&item).then_some(item))
    }

    /// Returns the result of `f` for any item for which it is not `None`.
    pub fn find_map_any<T: Send, F: Fn(I::Item) -> Option<T> + Sync>(self, f: F) -> Option<T> {
        let has_found = AtomicBool::new(false);
        self.consume(&FindAny { f, has_found })
    }

    /// Returns the result of `f` for the first item for which it is not `None`. Later items do not
    /// begin.
    pub fn find_map_first<T: Send, F: Fn(I::Item) -> Option<T> + Sync>(self, f: F) -> Option<T> {
        let found_at = AtomicUsize::new(usize::MAX);
        self.with(|source| Located(source, 0))
            .consume(&FindFirst { f, found_at })
    }

    /// Returns whether `f` returns true for an item.
    pub fn any<F: Fn(I::Item) -> bool + Sync>(self, f: F) -> bool {
        self.find_map_any(|item| f(item).then_some(())).is_some()
    }

    /// Returns whether `f` returns true for all items.
    pub fn all<F: Fn(I::Item) -> bool + Sync>(self, f: F) -> bool {
        !self.any(|item| !f(item))
    }

    /// Calls `f` with each item.
    ///
    /// # Errors
    ///
    /// Returns an error of `f`. After an error, no other item begins.
    pub fn try_for_each<E: Send, F>(self, f: F) -> Result<(), E>
    where
        F: Fn(I::Item) -> Result<(), E> + Sync,
    {
        self.try_fold(|| (), |(), item| f(item), |(), ()| Ok(()))
    }

    /// Does the same as [`fold`](Self::fold) with functions that may fail.
    ///
    /// # Errors
    ///
    /// Returns an error of `fold` or `reduce`. After an error, no other item begins.
    pub fn try_fold<T: Send, E: Send>(
        self,
        identity: impl Fn() -> T + Sync,
        fold: impl Fn(T, I::Item) -> Result<T, E> + Sync,
        reduce: impl Fn(T, T) -> Result<T, E> + Sync,
    ) -> Result<T, E> {
        let consumer = Try {
            identity,
            fold,
            reduce,
            has_failed: AtomicBool::new(false),
        };
        self.consume(&consumer)
    }

    /// Reduces the values of items of the type `Result` to one value. `reduce` must be associative,
    /// and `identity` returns its neutral value.
    ///
    /// # Errors
    ///
    /// Returns an error of the items or of `reduce`. After an error, no other item begins.
    pub fn try_reduce<T: Send, E: Send>(
        self,
        identity: impl Fn() -> T + Sync,
        reduce: impl Fn(T, T) -> Result<T, E> + Sync,
    ) -> Result<T, E>
    where
        I: Source<S, Item = Result<T, E>>,
    {
        self.try_fold(identity, |value, item| reduce(value, item?), &reduce)
    }
}

impl<S: Spe, I: Source<S>> Lists<I::Item> for ParallelIterator<'_, '_, S, I> {
    fn lists(self) -> Vec<Vec<I::Item>>
    where
        I::Item: Send,
    {
        if I::IS_INDEXED {
            vec![in_place::collect(self.worker, self.source)]
        } else {
            self.consume(&InParts)
        }
    }

    fn try_lists<U: Send, E: Send>(
        self,
        f: impl Fn(I::Item) -> Result<U, E> + Sync,
    ) -> Result<Vec<Vec<U>>, E> {
        self.try_fold(
            Vec::new,
            |mut lists: Vec<Vec<U>>, item| {
                let item = f(item)?;
                match lists.last_mut() {
                    Some(last) => last.push(item),
                    None => lists.push(vec![item]),
                }
                Ok(lists)
            },
            |mut first, mut second| {
                first.append(&mut second);
                Ok(first)
            },
        )
    }
}

type Halves<T, U> = (Vec<T>, Vec<U>);

fn joined<T, U>(mut first: Halves<T, U>, mut second: Halves<T, U>) -> Halves<T, U> {
    first.0.append(&mut second.0);
    first.1.append(&mut second.1);
    first
}

fn into_collections<T, U, A, B>((first, second): Halves<T, U>) -> (A, B)
where
    A: Default + Extend<T>,
    B: Default + Extend<U>,
{
    let mut both = (A::default(), B::default());
    both.0.extend(first);
    both.1.extend(second);
    both
}
