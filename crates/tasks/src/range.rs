//! Loops whose bodies are given the worker: see [`Worker::for_each`].

use std::ops::Range;

use cellworks_machine::Spe;

use crate::worker::Worker;

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
        self.par_iter(range).for_each_with_worker(body);
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
        let items = self.par_iter(items).enumerate();
        items.for_each_with_worker(|worker, (index, item)| body(worker, index, item));
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
        let chunks = self.par_chunks_mut(items, size).enumerate();
        chunks.for_each_with_worker(|worker, (number, chunk)| body(worker, number, chunk));
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
        let values = self.par_iter(range).map_with_worker(map);
        values.fold(identity, &reduce, &reduce)
    }
}
