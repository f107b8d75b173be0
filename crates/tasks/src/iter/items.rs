//! What a loop runs over: the two traits that every source and every adaptor implements.
//!
//! ```text
//!   Source  ── items ──►  Items  ── split_off_first ──►  Items, Items, ...   parts, on any worker
//!   (owns functions       (refers to them,                 │
//!    and data)             can be sent)                   iter ──► an iterator of `std`, in order
//! ```

use cellworks_machine::Spe;

use crate::worker::Worker;

/// The items of a [`ParallelIterator`](crate::ParallelIterator). Only this crate implements it.
pub trait Source<S: Spe> {
    /// The type of the items.
    type Item;

    #[doc(hidden)]
    type Items<'a>: Items<S, Item = Self::Item>
    where
        Self: 'a;

    /// Whether the number of items is known before the loop, and is the length of the parts.
    #[doc(hidden)]
    const IS_INDEXED: bool;

    /// Returns all items. Called once.
    #[doc(hidden)]
    fn items(&mut self) -> Self::Items<'_>;
}

/// A [`Source`] whose number of items is known before the loop, so that each item has an index.
/// Only this crate implements it.
pub trait Indexed<S: Spe>: Source<S> {}

/// What a parallel iterator can be made from: see [`Worker::par_iter`]. Only this crate implements
/// it.
///
/// ```
/// use cellworks_machine::Spe;
/// use cellworks_tasks::{IntoSource, Worker};
///
/// /// The mean of numbers of any source: a slice, a vector, or a parallel iterator.
/// fn mean<S: Spe>(worker: &Worker<'_, S>, numbers: impl IntoSource<S, Item = f64>) -> f64 {
///     let one = |number| (number, 1.0);
///     let both = |a: (f64, f64), b: (f64, f64)| (a.0 + b.0, a.1 + b.1);
///     let (sum, count) = worker.par_iter(numbers).map(one).reduce(|| (0.0, 0.0), both);
///     sum / count
/// }
/// # use cellworks_machine::Machine;
/// # let host = cellworks_host::Host::new().unwrap();
/// # cellworks_tasks::Pool::new(&host).run(|main| main.install(|worker| {
/// #     assert_eq!(mean(worker, vec![1.0, 2.0, 6.0]), 3.0);
/// #     assert_eq!(mean(worker, worker.par_iter(0..5).map(f64::from)), 2.0);
/// # })).unwrap();
/// ```
pub trait IntoSource<S: Spe> {
    /// The type of the items.
    type Item;

    /// The items.
    type Source: Source<S, Item = Self::Item>;

    #[doc(hidden)]
    fn into_source(self) -> Self::Source;
}

/// Consecutive items, which can be split and then run over in order.
#[doc(hidden)]
pub trait Items<S: Spe>: Sized + Send {
    type Item;

    type Iter<'a>: Iterator<Item = Self::Item>
    where
        Self: 'a,
        S: 'a;

    /// Returns the number of units into which these items can be split. A unit is one item, or for
    /// a source that is not [`Indexed`] any number of items.
    fn units(&self) -> usize;

    /// Removes the first `count` units, which are at most all, and returns them.
    fn split_off_first(&mut self, count: usize) -> Self;

    /// Returns the items in order. `worker` is the calling worker.
    fn in_order<'a>(self, worker: &'a Worker<'a, S>) -> Self::Iter<'a>
    where
        Self: 'a;
}
