//! Sorting by merging: several workers sort halves at the same time, and then merge them.

use std::cmp::Ordering;

use cellworks_machine::Spe;

use crate::worker::Worker;

/// The number of pieces per worker of the pool. Each piece is sorted by a single worker. With 8
/// pieces, all workers end at about the same time, and merging takes little time.
const PIECES: usize = 8;

/// The smallest number of items of a piece. Fewer items are sorted in less time than another worker
/// needs to begin.
const SMALLEST_PIECE: usize = 2_048;

struct Sort<C> {
    compare: C,
    /// The number of items of a piece that one worker sorts or merges by itself.
    piece: usize,
}

impl<C> Sort<C> {
    /// Sorts the items of `from` into `to`, which is a copy of `from`.
    fn sort_into<S: Spe, T>(&self, worker: &Worker<'_, S>, from: &mut [T], to: &mut [T])
    where
        T: Copy + Send + Sync,
        C: Fn(&T, &T) -> Ordering + Sync,
    {
        if to.len() <= self.piece {
            to.sort_by(&self.compare);
            return;
        }
        let middle = to.len() / 2;
        let (from_left, from_right) = from.split_at_mut(middle);
        let (to_left, to_right) = to.split_at_mut(middle);
        worker.join(
            |worker| self.sort_into(worker, to_left, from_left),
            |worker| self.sort_into(worker, to_right, from_right),
        );
        let (left, right) = from.split_at(middle);
        self.merge(worker, left, right, to);
    }

    /// Merges two sorted slices. Of equal items, those of `left` come first.
    fn merge<S: Spe, T>(&self, worker: &Worker<'_, S>, left: &[T], right: &[T], to: &mut [T])
    where
        T: Copy + Send + Sync,
        C: Fn(&T, &T) -> Ordering + Sync,
    {
        if to.len() <= self.piece {
            self.merge_alone(left, right, to);
            return;
        }
        // The longer slice is divided in the middle, and the shorter slice where this item belongs.
        let (in_left, in_right) = if left.len() >= right.len() {
            let middle = &left[left.len() / 2];
            let is_before = |item: &T| (self.compare)(item, middle).is_lt();
            (left.len() / 2, right.partition_point(is_before))
        } else {
            let middle = &right[right.len() / 2];
            let is_before = |item: &T| (self.compare)(item, middle).is_le();
            (left.partition_point(is_before), right.len() / 2)
        };
        let (left_before, left_after) = left.split_at(in_left);
        let (right_before, right_after) = right.split_at(in_right);
        let (before, after) = to.split_at_mut(in_left + in_right);
        worker.join(
            |worker| self.merge(worker, left_before, right_before, before),
            |worker| self.merge(worker, left_after, right_after, after),
        );
    }

    fn merge_alone<T: Copy>(&self, mut left: &[T], mut right: &[T], mut to: &mut [T])
    where
        C: Fn(&T, &T) -> Ordering,
    {
        while let ([first_left, rest_left @ ..], [first_right, rest_right @ ..]) = (left, right) {
            let (next, rest) = to.split_first_mut().expect("as long as both");
            if (self.compare)(first_right, first_left).is_lt() {
                (*next, right) = (*first_right, rest_right);
            } else {
                (*next, left) = (*first_left, rest_left);
            }
            to = rest;
        }
        to[..left.len()].copy_from_slice(left);
        to[left.len()..].copy_from_slice(right);
    }
}

impl<S: Spe> Worker<'_, S> {
    /// Sorts a slice, on any workers. Equal items keep their order. Allocates a second slice.
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
    /// Passes on the panic of a comparison. Then some items may occur twice and others not at all.
    pub fn sort<T: Ord + Copy + Send + Sync>(&self, items: &mut [T]) {
        self.sort_by(items, T::cmp);
    }

    /// Does the same as [`sort`](Self::sort) with keys, which are computed for each comparison.
    ///
    /// # Panics
    ///
    /// See [`sort`](Self::sort). Also passes on the panic of `key`.
    pub fn sort_by_key<T, K, F>(&self, items: &mut [T], key: F)
    where
        T: Copy + Send + Sync,
        K: Ord,
        F: Fn(&T) -> K + Sync,
    {
        self.sort_by(items, |a, b| key(a).cmp(&key(b)));
    }

    fn sort_by<T, C>(&self, items: &mut [T], compare: C)
    where
        T: Copy + Send + Sync,
        C: Fn(&T, &T) -> Ordering + Sync,
    {
        let piece = (items.len() / (PIECES * self.workers())).max(SMALLEST_PIECE);
        if self.workers() == 1 || items.len() <= piece {
            return items.sort_by(compare);
        }
        let mut same = items.to_vec();
        Sort { compare, piece }.sort_into(self, &mut same, items);
    }
}
