//! Collecting items with known indices into a vector, each directly into its place.

use std::ops::ControlFlow::{self, Continue};
use std::ptr;

use cellworks_machine::Spe;

use crate::iter::adaptors::Enumerate;
use crate::iter::drive::{Consumer, drive};
use crate::iter::items::Source;
use crate::worker::Worker;

/// Returns the items of an indexed source.
pub(crate) fn collect<S: Spe, I: Source<S, Item: Send>>(
    worker: &Worker<'_, S>,
    source: I,
) -> Vec<I::Item> {
    // The lengths of other sources are not the numbers of their items.
    assert!(I::IS_INDEXED);
    let mut source = Enumerate(source);
    let items = source.items();
    // The number of the indices, because the units of a source of a program may become fewer.
    let length = items.0.end;
    let mut all = Vec::with_capacity(length);
    let places = Places(all.as_mut_ptr());
    let written = drive(worker, items, &places);
    // SAFETY: the loop has ended, so `written` are all items that were written and not dropped.
    // They are those at the indices below `length`, because otherwise this call panics.
    unsafe {
        written.leave_all(length);
        all.set_len(length);
    }
    all
}

/// The memory of the vector. Invariant: a loop gives each index once, and indices below the
/// capacity, because it runs over an [`Enumerate`] of an indexed source.
struct Places<T>(*mut T);

// SAFETY: different threads write to different places, because an index comes once.
unsafe impl<T: Send> Sync for Places<T> {}

impl<S: Spe, T: Send> Consumer<S, (usize, T)> for Places<T> {
    type Value = Written<T>;

    #[inline]
    fn identity(&self) -> Written<T> {
        Written {
            places: self.0,
            first: 0,
            count: 0,
        }
    }

    #[inline]
    fn block(
        &self,
        _: &Worker<'_, S>,
        before: Written<T>,
        items: impl Iterator<Item = (usize, T)>,
    ) -> ControlFlow<Written<T>, Written<T>> {
        let mut written = Consumer::<S, (usize, T)>::identity(self);
        items.for_each(|(index, item)| {
            // SAFETY: by the invariant of `Places`.
            unsafe { written.places.add(index).write(item) };
            if written.count == 0 {
                written.first = index;
            }
            written.count += 1;
        });
        Continue(before.and(written))
    }

    fn reduce(&self, first: Written<T>, second: Written<T>) -> Written<T> {
        first.and(second)
    }
}

/// The message for a source that is not of this crate.
const MISSING: &str = "a source whose items have indices has fewer items than it says";

/// Consecutive items in the memory of the vector. If the loop panics, they are dropped.
struct Written<T> {
    places: *mut T,
    first: usize,
    count: usize,
}

// SAFETY: the value owns the items.
unsafe impl<T: Send> Send for Written<T> {}

impl<T> Written<T> {
    fn and(mut self, mut other: Self) -> Self {
        if self.count == 0 {
            return other;
        }
        assert!(
            other.count == 0 || other.first == self.first + self.count,
            "{MISSING}"
        );
        self.count += std::mem::take(&mut other.count);
        self
    }

    /// Leaves the items to the vector. Panics if they are not those at the indices below `length`.
    fn leave_all(mut self, length: usize) {
        assert!(self.count == length && self.first == 0, "{MISSING}");
        self.count = 0;
    }
}

impl<T> Drop for Written<T> {
    fn drop(&mut self) {
        // SAFETY: the value owns these items, which were written one after the other.
        unsafe {
            let first = self.places.add(self.first);
            ptr::drop_in_place(ptr::slice_from_raw_parts_mut(first, self.count));
        }
    }
}
