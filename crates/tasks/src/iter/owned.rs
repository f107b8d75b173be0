//! Items that a loop takes out of a vector.

use std::mem::ManuallyDrop;
use std::{ptr, slice};

use cellworks_machine::Spe;

use crate::iter::items::{Indexed, Items, Source};
use crate::worker::Worker;

/// The items of a vector.
pub struct Owned<T> {
    items: Vec<T>,
    /// The items that a loop takes out and drops.
    taken: Vec<ManuallyDrop<T>>,
}

impl<T> Owned<T> {
    pub(crate) fn new(items: Vec<T>) -> Self {
        let taken = Vec::new();
        Self { items, taken }
    }
}

impl<S: Spe, T: Send> Source<S> for Owned<T> {
    type Item = T;
    type Items<'a>
        = Part<'a, T>
    where
        T: 'a;
    const IS_INDEXED: bool = true;

    fn items(&mut self) -> Part<'_, T> {
        let items = std::mem::take(&mut self.items).into_iter();
        // The standard library reuses the memory.
        self.taken = items.map(ManuallyDrop::new).collect();
        Part(&mut self.taken)
    }
}

impl<S: Spe, T: Send> Indexed<S> for Owned<T> {}

/// Items that were not taken out. Invariant: they all exist, and this value alone refers to them.
#[doc(hidden)]
pub struct Part<'a, T>(&'a mut [ManuallyDrop<T>]);

impl<T> Drop for Part<'_, T> {
    fn drop(&mut self) {
        drop(Iter(std::mem::take(&mut self.0).iter_mut()));
    }
}

impl<'p, S: Spe, T: Send> Items<S> for Part<'p, T> {
    type Item = T;
    type Iter<'a>
        = Iter<'p, T>
    where
        Self: 'a,
        S: 'a;

    #[inline]
    fn units(&self) -> usize {
        self.0.len()
    }

    #[inline]
    fn split_off_first(&mut self, count: usize) -> Self {
        let (first, rest) = std::mem::take(&mut self.0).split_at_mut(count);
        self.0 = rest;
        Self(first)
    }

    #[inline]
    fn in_order<'a>(mut self, _: &'a Worker<'a, S>) -> Iter<'p, T>
    where
        Self: 'a,
    {
        Iter(std::mem::take(&mut self.0).iter_mut())
    }
}

/// Takes the items out one by one. Drops the items that are left.
#[doc(hidden)]
pub struct Iter<'p, T>(slice::IterMut<'p, ManuallyDrop<T>>);

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        // SAFETY: by the invariant of `Part` the item exists and nothing else refers to it. The
        // slice iterator returns each place once, and `Owned` never drops what is in its place.
        self.0
            .next()
            .map(|item| unsafe { ManuallyDrop::take(item) })
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<T> ExactSizeIterator for Iter<'_, T> {}

impl<T> Drop for Iter<'_, T> {
    fn drop(&mut self) {
        let rest: *mut [ManuallyDrop<T>] = std::mem::take(&mut self.0).into_slice();
        // SAFETY: as above, and `ManuallyDrop` has the layout of its item. If a destructor panics,
        // the other items are dropped, too.
        unsafe { ptr::drop_in_place(rest as *mut [T]) };
    }
}
