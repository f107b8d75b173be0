//! Sorting. Pieces of the items are sorted by the sorts of `std`, on any workers.
//!
//! ```text
//!   stable    [ any | any | any | any ]         unstable    [          any          ]
//!                   sort pieces                               divide, divide again
//!             [ a-z | a-z | a-z | a-z ]                     [ a-f | g-m | n-s | t-z ]
//!             merge pairs, merge halves                           sort pieces
//!             [          a-z          ]                     [          a-z          ]
//! ```
//!
//! Read this file first, then `divide` (what the unstable sort does with items) and `merge` (how
//! the stable sort puts sorted pieces together, with the unsafe code).

mod divide;
mod merge;

use std::cmp::Ordering;
use std::mem::MaybeUninit;

use cellworks_machine::Spe;

use crate::sort::divide::{divide, median_of_sample, sort_piece};
use crate::sort::merge::merge_quarters;
use crate::worker::Worker;

/// The number of pieces for each worker. More pieces would take more time to merge. With fewer
/// pieces, workers would often wait for the one that sorts the last piece.
const PIECES: usize = 2;

/// The number of parts for each worker into which a merge of all items is split.
const PARTS: usize = 4;

/// The smallest number of items of a piece or part. Fewer items are sorted in less time than
/// another worker needs to begin.
const SMALLEST_PIECE: usize = 1_024;

/// The number of comparisons after which the search for a run may end.
const BLOCK: usize = 32;

/// An order of items, and how many of them a worker sorts and merges by itself.
struct Sort<C> {
    compare: C,
    piece: usize,
    part: usize,
}

impl<C> Sort<C> {
    fn new<S: Spe>(worker: &Worker<'_, S>, items: usize, compare: C) -> Self {
        let share = |count| items.div_ceil(count * worker.workers()).max(SMALLEST_PIECE);
        let (piece, part) = (share(PIECES), share(PARTS));
        Self {
            compare,
            piece,
            part,
        }
    }

    /// Returns whether one worker sorts such items by itself.
    fn is_alone<S: Spe, T>(&self, worker: &Worker<'_, S>, items: &[T]) -> bool {
        worker.workers() == 1 || items.len() <= self.piece || size_of::<T>() == 0
    }

    /// Sorts by merging. `room` has room for all items.
    fn stable<S: Spe, T: Send>(
        &self,
        worker: &Worker<'_, S>,
        items: &mut [T],
        room: &mut [MaybeUninit<T>],
    ) where
        C: Fn(&T, &T) -> Ordering + Sync,
    {
        if items.len() <= self.piece {
            items.sort_by(&self.compare);
            return;
        }
        let middle = items.len() / 2;
        let cuts = [middle / 2, middle, middle + (items.len() - middle) / 2];
        let [a, b, c, d] = quarters(items, cuts);
        let [room_a, room_b, room_c, room_d] = quarters(room, cuts);
        worker.join(
            |worker| {
                worker.join(
                    |worker| self.stable(worker, a, room_a),
                    |worker| self.stable(worker, b, room_b),
                )
            },
            |worker| {
                worker.join(
                    |worker| self.stable(worker, c, room_c),
                    |worker| self.stable(worker, d, room_d),
                )
            },
        );
        merge_quarters(worker, items, cuts, room, self.part, &self.compare);
    }

    /// Sorts by dividing, in up to `divisions` steps. Few steps are needed, unless the medians of
    /// samples are often far from those of all items.
    fn unstable<S: Spe, T: Send>(&self, worker: &Worker<'_, S>, items: &mut [T], divisions: u32)
    where
        C: Fn(&T, &T) -> Ordering + Sync,
    {
        // The two parts of a division are seldom equally long.
        if items.len() <= self.piece + self.piece / 2 || divisions == 0 {
            return sort_piece(items, &self.compare);
        }
        let len = items.len();
        items.swap(0, median_of_sample(items, &self.compare));
        let (median, others) = items.split_first_mut().expect("more than a piece");
        let lesser = divide(others, |item| (self.compare)(item, median).is_lt());
        items.swap(0, lesser);
        let (lesser, others) = items.split_at_mut(lesser);
        let (median, mut greater) = others.split_first_mut().expect("the median");
        if lesser.len() < len / 8 {
            // Many items may be equal to the median.
            let equal = divide(greater, |item| !(self.compare)(median, item).is_lt());
            greater = &mut greater[equal..];
        }
        worker.join(
            |worker| self.unstable(worker, lesser, divisions - 1),
            |worker| self.unstable(worker, greater, divisions - 1),
        );
    }
}

/// Sorts items that are sorted already, or strictly reversed. Returns false for other items. To
/// wake another worker for this would take longer than it saves.
fn sort_run<T>(items: &mut [T], compare: &impl Fn(&T, &T) -> Ordering) -> bool {
    if !compare(&items[1], &items[0]).is_lt() {
        return is_run(items, |a, b| !compare(b, a).is_lt());
    }
    let is_reversed = is_run(items, |a, b| compare(b, a).is_lt());
    if is_reversed {
        items.reverse();
    }
    is_reversed
}

/// Returns whether `follows` is true for each item and the next one.
fn is_run<T>(items: &[T], follows: impl Fn(&T, &T) -> bool) -> bool {
    // A block of comparisons without a branch between them takes less time.
    (0..items.len()).step_by(BLOCK).all(|first| {
        let end = items.len().min(first + BLOCK + 1);
        let pairs = items[first..end].windows(2);
        pairs.fold(true, |all, pair| all & follows(&pair[0], &pair[1]))
    })
}

fn quarters<T>(items: &mut [T], [first, middle, last]: [usize; 3]) -> [&mut [T]; 4] {
    let (left, right) = items.split_at_mut(middle);
    let (a, b) = left.split_at_mut(first);
    let (c, d) = right.split_at_mut(last - middle);
    [a, b, c, d]
}

/// An index of an item.
trait Index: Copy + Ord + Send {
    fn new(index: usize) -> Self;

    fn get(self) -> usize;
}

impl Index for u32 {
    fn new(index: usize) -> Self {
        u32::try_from(index).expect("an index of fewer items")
    }

    fn get(self) -> usize {
        self as usize
    }
}

impl Index for usize {
    fn new(index: usize) -> Self {
        index
    }

    fn get(self) -> usize {
        self
    }
}

impl<S: Spe> Worker<'_, S> {
    /// Sorts a slice, on any workers. Equal items keep their order. Allocates room for a second
    /// slice, unless the items are few, sorted or reversed.
    ///
    /// ```
    /// use cellworks_machine::Spe;
    /// use cellworks_tasks::Worker;
    ///
    /// fn median<S: Spe>(worker: &Worker<'_, S>, numbers: &mut [u32]) -> u32 {
    ///     worker.sort(numbers);
    ///     numbers[numbers.len() / 2]
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// Passes on the panic of a comparison, and may panic if comparisons contradict each other.
    /// Then the slice has the same items as before, in any order.
    pub fn sort<T: Ord + Send>(&self, items: &mut [T]) {
        self.sort_by(items, T::cmp);
    }

    /// Does the same as [`sort`](Self::sort) with another order.
    ///
    /// ```
    /// use cellworks_machine::Spe;
    /// use cellworks_tasks::Worker;
    ///
    /// fn sort_numbers<S: Spe>(worker: &Worker<'_, S>, numbers: &mut [f64]) {
    ///     worker.sort_by(numbers, f64::total_cmp);
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// See [`sort`](Self::sort).
    pub fn sort_by<T, C>(&self, items: &mut [T], compare: C)
    where
        T: Send,
        C: Fn(&T, &T) -> Ordering + Sync,
    {
        let sort = Sort::new(self, items.len(), compare);
        if sort.is_alone(self, items) {
            return items.sort_by(sort.compare);
        }
        if !sort_run(items, &sort.compare) {
            let mut room = Vec::with_capacity(items.len());
            let room = &mut room.spare_capacity_mut()[..items.len()];
            sort.stable(self, items, room);
        }
    }

    /// Does the same as [`sort`](Self::sort) with keys, which are computed for each comparison.
    ///
    /// ```
    /// use cellworks_machine::Spe;
    /// use cellworks_tasks::Worker;
    ///
    /// fn shortest_first<S: Spe>(worker: &Worker<'_, S>, words: &mut [String]) {
    ///     worker.sort_by_key(words, |word| word.len());
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// See [`sort`](Self::sort). Also passes on the panic of `key`.
    pub fn sort_by_key<T, K, F>(&self, items: &mut [T], key: F)
    where
        T: Send,
        K: Ord,
        F: Fn(&T) -> K + Sync,
    {
        self.sort_by(items, |a, b| key(a).cmp(&key(b)));
    }

    /// Does the same as [`sort`](Self::sort) with keys, which are computed once for each item.
    /// Allocates room for the keys. If keys are cheap, [`sort_by_key`](Self::sort_by_key) takes
    /// less time.
    ///
    /// ```
    /// use cellworks_machine::Spe;
    /// use cellworks_tasks::Worker;
    ///
    /// fn ignoring_case<S: Spe>(worker: &Worker<'_, S>, words: &mut [String]) {
    ///     worker.sort_by_cached_key(words, |word| word.to_lowercase());
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// See [`sort_by_key`](Self::sort_by_key).
    pub fn sort_by_cached_key<T, K, F>(&self, items: &mut [T], key: F)
    where
        T: Send,
        K: Ord + Send,
        F: Fn(&T) -> K + Sync,
    {
        // Shorter indices are sorted in less time.
        match u32::try_from(items.len()) {
            Ok(_) => self.sort_by_keys::<T, K, u32>(items, &key),
            Err(_) => self.sort_by_keys::<T, K, usize>(items, &key),
        }
    }

    /// Sorts a slice, on any workers. Equal items may change their order. Takes less time than
    /// [`sort`](Self::sort), and allocates room only for items that are mostly sorted. The first
    /// step is done by one worker, so on many workers [`sort`](Self::sort) may take less time.
    ///
    /// ```
    /// use cellworks_machine::Spe;
    /// use cellworks_tasks::Worker;
    ///
    /// fn count_different<S: Spe>(worker: &Worker<'_, S>, mut numbers: Vec<u64>) -> usize {
    ///     worker.sort_unstable(&mut numbers);
    ///     numbers.dedup();
    ///     numbers.len()
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// See [`sort`](Self::sort).
    pub fn sort_unstable<T: Ord + Send>(&self, items: &mut [T]) {
        self.sort_unstable_by(items, T::cmp);
    }

    /// Does the same as [`sort_unstable`](Self::sort_unstable) with another order.
    ///
    /// ```
    /// use cellworks_machine::Spe;
    /// use cellworks_tasks::Worker;
    ///
    /// fn greatest_first<S: Spe>(worker: &Worker<'_, S>, numbers: &mut [i32]) {
    ///     worker.sort_unstable_by(numbers, |a, b| b.cmp(a));
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// See [`sort`](Self::sort).
    pub fn sort_unstable_by<T, C>(&self, items: &mut [T], compare: C)
    where
        T: Send,
        C: Fn(&T, &T) -> Ordering + Sync,
    {
        let sort = Sort::new(self, items.len(), compare);
        if sort.is_alone(self, items) {
            return items.sort_unstable_by(sort.compare);
        }
        if !sort_run(items, &sort.compare) {
            sort.unstable(self, items, 2 * items.len().ilog2());
        }
    }

    /// Does the same as [`sort_unstable`](Self::sort_unstable) with keys, which are computed for
    /// each comparison.
    ///
    /// ```
    /// use cellworks_machine::Spe;
    /// use cellworks_tasks::Worker;
    ///
    /// fn nearest_first<S: Spe>(worker: &Worker<'_, S>, numbers: &mut [i32], to: i32) {
    ///     worker.sort_unstable_by_key(numbers, |number| number.abs_diff(to));
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// See [`sort_by_key`](Self::sort_by_key).
    pub fn sort_unstable_by_key<T, K, F>(&self, items: &mut [T], key: F)
    where
        T: Send,
        K: Ord,
        F: Fn(&T) -> K + Sync,
    {
        self.sort_unstable_by(items, |a, b| key(a).cmp(&key(b)));
    }

    fn sort_by_keys<T, K, I>(&self, items: &mut [T], key: &(impl Fn(&T) -> K + Sync))
    where
        T: Send,
        K: Ord + Send,
        I: Index,
    {
        let piece = items
            .len()
            .div_ceil(PIECES * self.workers())
            .max(SMALLEST_PIECE);
        let mut keys: Vec<(K, I)> = self.keys(items, 0, items.len(), piece, key);
        self.sort_unstable(&mut keys);
        for place in 0..items.len() {
            // The item may have been swapped to the place where a swap before got its item.
            let mut from = keys[place].1.get();
            while from < place {
                from = keys[from].1.get();
            }
            keys[place].1 = I::new(from);
            items.swap(place, from);
        }
    }

    /// Returns the key and the index of each item, in a vector with room for `room` items. The
    /// first item has the index `first`. A worker computes up to `piece` keys by itself.
    fn keys<T, K, I>(
        &self,
        items: &mut [T],
        first: usize,
        room: usize,
        piece: usize,
        key: &(impl Fn(&T) -> K + Sync),
    ) -> Vec<(K, I)>
    where
        T: Send,
        K: Send,
        I: Index,
    {
        if items.len() <= piece || self.workers() == 1 {
            let mut keys = Vec::with_capacity(room);
            keys.extend(items.iter().map(key).zip((first..).map(I::new)));
            return keys;
        }
        let half = items.len() / 2;
        let (left, right) = items.split_at_mut(half);
        let (mut keys, mut right) = self.join(
            |worker| worker.keys(left, first, room, piece, key),
            |worker| worker.keys(right, first + half, right.len(), piece, key),
        );
        keys.append(&mut right);
        keys
    }
}
