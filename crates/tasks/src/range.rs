//! Loops over ranges and slices: see [`Worker::for_each`].
//!
//! ```text
//!   items   [        part        |        part        |   ...   ]   by nested joins, at first
//!             block block block        block ...
//!                  ▲ is work asked for? If no part can be offered: the rest of this part is split
//! ```
//!
//! The parts can be taken from a worker that runs a long item. A part is split later as often as
//! other workers ask for work, so that parts may take different times.

use std::ops::Range;

use cellworks_machine::{Span, Spe};

use crate::worker::Worker;

/// The number of parts for each worker at the start of a loop.
const PARTS: usize = 2;

/// The number of cheap items that a worker runs between two checks for requests of other workers.
/// With a check after each cheap item, checks would take over 1 % of the time, and the compiler
/// could not vectorise the loop.
const BLOCK: usize = 32;

/// If a block takes less time than this, its items are cheap.
const CHEAP_BLOCK: Span = Span::from_nanoseconds(1_000);

/// If a block takes less time than this, its items are very cheap, and a block of them has
/// [`LARGE_BLOCK`] items.
const VERY_CHEAP_BLOCK: Span = Span::from_nanoseconds(150);

const LARGE_BLOCK: usize = 256;

trait Items: Send {
    type Item;

    fn len(&self) -> usize;

    fn split_off_first(&mut self, count: usize) -> Self;

    fn fold<T>(self, value: T, step: impl FnMut(T, Self::Item) -> T) -> T;
}

impl Items for Range<usize> {
    type Item = usize;

    #[inline]
    fn len(&self) -> usize {
        ExactSizeIterator::len(self)
    }

    #[inline]
    fn split_off_first(&mut self, count: usize) -> Self {
        let first = self.start..self.start + count;
        self.start = first.end;
        first
    }

    #[inline]
    fn fold<T>(self, value: T, step: impl FnMut(T, usize) -> T) -> T {
        Iterator::fold(self, value, step)
    }
}

struct Slice<'a, T> {
    /// The index of the first item.
    first: usize,
    items: &'a mut [T],
}

impl<'a, T: Send> Items for Slice<'a, T> {
    type Item = (usize, &'a mut T);

    #[inline]
    fn len(&self) -> usize {
        self.items.len()
    }

    #[inline]
    fn split_off_first(&mut self, count: usize) -> Self {
        let (items, rest) = std::mem::take(&mut self.items).split_at_mut(count);
        let first = self.first;
        self.items = rest;
        self.first += count;
        Self { first, items }
    }

    #[inline]
    fn fold<V>(self, value: V, mut step: impl FnMut(V, Self::Item) -> V) -> V {
        let Self { first, items } = self;
        let items = items.iter_mut().enumerate();
        items.fold(value, |value, (place, item)| {
            step(value, (first + place, item))
        })
    }
}

/// The pieces of a slice. All pieces except perhaps the last one have the same size.
struct Chunks<'a, T> {
    /// The number of the first piece.
    first: usize,
    size: usize,
    items: &'a mut [T],
}

impl<'a, T: Send> Items for Chunks<'a, T> {
    type Item = (usize, &'a mut [T]);

    #[inline]
    fn len(&self) -> usize {
        self.items.len().div_ceil(self.size)
    }

    #[inline]
    fn split_off_first(&mut self, count: usize) -> Self {
        let items = std::mem::take(&mut self.items);
        let (items, rest) = items.split_at_mut((count * self.size).min(items.len()));
        let Self { first, size, .. } = *self;
        self.items = rest;
        self.first += count;
        Self { first, size, items }
    }

    #[inline]
    fn fold<V>(self, value: V, mut step: impl FnMut(V, Self::Item) -> V) -> V {
        let Self { first, size, items } = self;
        let chunks = items.chunks_mut(size).enumerate();
        chunks.fold(value, |value, (place, chunk)| {
            step(value, (first + place, chunk))
        })
    }
}

/// A loop, which calls `step` with each item, and `reduce` with the values of two parts.
struct Loop<I, F, R> {
    identity: I,
    step: F,
    reduce: R,
}

impl<I, F, R> Loop<I, F, R> {
    /// Runs the loop over `items`. `value` is the result of the items before `items`.
    fn run<S: Spe, W: Items, T: Send>(&self, worker: &Worker<'_, S>, items: W, value: T) -> T
    where
        I: Fn() -> T + Sync,
        F: Fn(&Worker<'_, S>, T, W::Item) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        let parts = match worker.workers() {
            1 => 1,
            workers => PARTS * workers,
        };
        self.run_parts(worker, items, value, parts)
    }

    fn run_parts<S: Spe, W: Items, T: Send>(
        &self,
        worker: &Worker<'_, S>,
        mut items: W,
        value: T,
        parts: usize,
    ) -> T
    where
        I: Fn() -> T + Sync,
        F: Fn(&Worker<'_, S>, T, W::Item) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        if parts == 1 || items.len() <= 1 {
            return self.run_part(worker, items, value);
        }
        let of_first = parts.div_ceil(2);
        let first = items.split_off_first((items.len() * of_first).div_ceil(parts));
        let (first, second) = worker.join(
            |worker| self.run_parts(worker, first, value, of_first),
            |worker| self.run_parts(worker, items, (self.identity)(), parts - of_first),
        );
        (self.reduce)(first, second)
    }

    fn run_part<S: Spe, W: Items, T: Send>(
        &self,
        worker: &Worker<'_, S>,
        mut items: W,
        value: T,
    ) -> T
    where
        I: Fn() -> T + Sync,
        F: Fn(&Worker<'_, S>, T, W::Item) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        let begin = (items.len() > BLOCK).then(|| worker.spe().now());
        let (value, is_wanted) = self.blocks::<1, _, _, _>(worker, &mut items, value, BLOCK);
        let taken = begin.map(|begin| worker.spe().now().since(begin));
        let (value, is_wanted) = match taken {
            _ if is_wanted => (value, true),
            Some(taken) if taken < VERY_CHEAP_BLOCK => {
                self.blocks::<LARGE_BLOCK, _, _, _>(worker, &mut items, value, usize::MAX)
            }
            Some(taken) if taken < CHEAP_BLOCK => {
                self.blocks::<BLOCK, _, _, _>(worker, &mut items, value, usize::MAX)
            }
            _ => self.blocks::<1, _, _, _>(worker, &mut items, value, usize::MAX),
        };
        match is_wanted {
            true => self.run_parts(worker, items, value, 2),
            false => items.fold(value, |value, item| (self.step)(worker, value, item)),
        }
    }

    /// Runs up to `blocks` blocks of `N` items, but not the last items. If another worker asks for
    /// work and this worker has none to offer but these items, stops and returns true.
    #[inline(always)]
    fn blocks<const N: usize, S: Spe, W: Items, T>(
        &self,
        worker: &Worker<'_, S>,
        items: &mut W,
        mut value: T,
        blocks: usize,
    ) -> (T, bool)
    where
        F: Fn(&Worker<'_, S>, T, W::Item) -> T,
    {
        for _ in 0..blocks {
            if items.len() <= N {
                break;
            }
            if worker.is_wanted() {
                worker.answer();
                if worker.is_wanted() {
                    return (value, true);
                }
            }
            let block = items.split_off_first(N);
            value = block.fold(value, |value, item| (self.step)(worker, value, item));
        }
        (value, false)
    }
}

impl<S: Spe> Worker<'_, S> {
    /// Calls `body` with each index of `range`, on any worker. Returns when all calls have ended.
    ///
    /// The loop is split into a few parts for each worker, which idle workers take. The calling
    /// worker runs its parts in order. If another worker asks for work when all parts are taken, a
    /// worker that runs a part gives away half of its remaining indices.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU64, Ordering};
    ///
    /// use cellworks_machine::Spe;
    /// use cellworks_tasks::Worker;
    ///
    /// /// How often each remainder occurs.
    /// fn histogram<S: Spe>(worker: &Worker<'_, S>, numbers: &[usize], counts: &[AtomicU64]) {
    ///     worker.for_each(0..numbers.len(), |_, index| {
    ///         counts[numbers[index] % counts.len()].fetch_add(1, Ordering::Relaxed);
    ///     });
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// If a call panics, this method passes on the panic, and may skip some indices.
    pub fn for_each<F>(&self, range: Range<usize>, body: F)
    where
        F: Fn(&Worker<'_, S>, usize) + Sync,
    {
        self.run_loop(range, |worker, index| body(worker, index));
    }

    /// Does the same as [`for_each`](Self::for_each) with each item of a slice and its index.
    ///
    /// ```
    /// use cellworks_machine::Spe;
    /// use cellworks_tasks::Worker;
    ///
    /// fn add<S: Spe>(worker: &Worker<'_, S>, sums: &mut [f64], numbers: &[f64]) {
    ///     worker.for_each_mut(sums, |_, index, sum| *sum += numbers[index]);
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// See [`for_each`](Self::for_each).
    pub fn for_each_mut<T: Send, F>(&self, items: &mut [T], body: F)
    where
        F: Fn(&Worker<'_, S>, usize, &mut T) + Sync,
    {
        let items = Slice { first: 0, items };
        self.run_loop(items, |worker, (index, item)| body(worker, index, item));
    }

    /// Does the same as [`for_each`](Self::for_each) with each piece of `size` items of a slice and
    /// the number of the piece. The last piece may be shorter.
    ///
    /// ```
    /// use cellworks_machine::Spe;
    /// use cellworks_tasks::Worker;
    ///
    /// /// Subtracts from each row of a matrix the row's first number.
    /// fn from_zero<S: Spe>(worker: &Worker<'_, S>, matrix: &mut [f32], columns: usize) {
    ///     worker.for_each_chunk(matrix, columns, |_, _, row| {
    ///         let first = row[0];
    ///         row.iter_mut().for_each(|number| *number -= first);
    ///     });
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// See [`for_each`](Self::for_each). Also panics if `size` is 0.
    #[track_caller]
    pub fn for_each_chunk<T: Send, F>(&self, items: &mut [T], size: usize, body: F)
    where
        F: Fn(&Worker<'_, S>, usize, &mut [T]) + Sync,
    {
        assert!(
            size > 0,
            "`for_each_chunk` was asked for pieces of 0 items: a piece has at least 1"
        );
        let first = 0;
        let chunks = Chunks { first, size, items };
        self.run_loop(chunks, |worker, (number, chunk)| {
            body(worker, number, chunk)
        });
    }

    fn run_loop<W: Items>(&self, items: W, body: impl Fn(&Worker<'_, S>, W::Item) + Sync) {
        let step = |worker: &Worker<'_, S>, (), item: W::Item| body(worker, item);
        let whole = Loop {
            identity: || (),
            step,
            reduce: |(), ()| (),
        };
        whole.run(self, items, ());
    }

    /// Maps each index of `range` to a value, and reduces all values to one value, on any workers.
    ///
    /// `reduce` must be associative but need not be commutative. `identity` returns the neutral
    /// value of `reduce`. Sums of floating-point numbers may be rounded differently in each run.
    ///
    /// ```
    /// use cellworks_machine::Spe;
    /// use cellworks_tasks::Worker;
    ///
    /// fn sum_of_squares<S: Spe>(worker: &Worker<'_, S>, numbers: &[u64]) -> u64 {
    ///     let square = |_: &Worker<'_, S>, index: usize| numbers[index] * numbers[index];
    ///     worker.map_reduce(0..numbers.len(), || 0, square, |a, b| a + b)
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// Passes on a panic of `identity`, `map` or `reduce`.
    pub fn map_reduce<T, I, F, R>(&self, range: Range<usize>, identity: I, map: F, reduce: R) -> T
    where
        T: Send,
        I: Fn() -> T + Sync,
        F: Fn(&Worker<'_, S>, usize) -> T + Sync,
        R: Fn(T, T) -> T + Sync,
    {
        let first = identity();
        let step =
            |worker: &Worker<'_, S>, value: T, index: usize| reduce(value, map(worker, index));
        let whole = Loop {
            identity,
            step,
            reduce: &reduce,
        };
        whole.run(self, range, first)
    }
}
