//! Merging of sorted pieces, into room in which the items are copied bit by bit.
//!
//! ```text
//!   items   [ quarter | quarter | quarter | quarter ]
//!                 └──┬──┘             └──┬──┘
//!   room    [       half        |       half        ]
//!                      └─────────┬─────────┘
//!   items   [                 whole                 ]
//! ```
//!
//! Each item is in one place, and its copy in the other place is only bits. These rules keep it so
//! when a comparison panics or contradicts another comparison:
//!
//! - A merge writes to one place and leaves the other place as it is. So if a merge into `items`
//!   panics, all items are copied back from the room, and if a merge into the room panics, `items`
//!   has them all.
//! - An item is compared before it is copied, and no more in this merge. A comparison may change an
//!   item, such as a `Cell`, and the copy must be the changed item.
//! - A merge copies each item once, whatever the comparisons say.
//! - A [`Merge`] borrows its items exclusively. So no two workers compare an item at the same time,
//!   and the items need not be `Sync`.

use std::cmp::Ordering;
use std::mem::MaybeUninit;
use std::panic::resume_unwind;
use std::ptr;

use cellworks_machine::Spe;

use crate::worker::Worker;

/// Merges four sorted quarters of `items`, which begin at 0 and at `cuts`. Of equal items, the
/// earlier ones come first. A worker merges up to `part` items by itself.
///
/// If a comparison panics, `items` has all its items in any order.
pub(crate) fn merge_quarters<S: Spe, T: Send>(
    worker: &Worker<'_, S>,
    items: &mut [T],
    cuts: [usize; 3],
    room: &mut [MaybeUninit<T>],
    part: usize,
    compare: &(impl Fn(&T, &T) -> Ordering + Sync),
) {
    if cuts
        .iter()
        .all(|&cut| in_order(&items[..cut], &items[cut..], compare))
    {
        return;
    }
    let [first, middle, last] = cuts;
    let (left, right) = items.split_at_mut(middle);
    let (left_room, right_room) = room.split_at_mut(middle);
    let left = Merge::new(left, first, left_room);
    let right = Merge::new(right, last - middle, right_room);
    worker.join(
        |worker| left.run(worker, part, compare),
        |worker| right.run(worker, part, compare),
    );
    // SAFETY: the two merges have copied all items to the room. From here on, the items are in
    // the room, and `items` is the room to which the last merge copies them.
    let (items, room) = unsafe { (as_room(items), as_items(room)) };
    let whole = Merge::new(room, middle, items);
    if let Err(panic) = worker.guarded(|| whole.run(worker, part, compare)) {
        copy(room, items);
        resume_unwind(panic);
    }
}

/// Two sorted slices, and as much room as both have items.
struct Merge<'a, T> {
    left: &'a mut [T],
    right: &'a mut [T],
    to: &'a mut [MaybeUninit<T>],
}

impl<'a, T: Send> Merge<'a, T> {
    fn new(from: &'a mut [T], middle: usize, to: &'a mut [MaybeUninit<T>]) -> Self {
        assert_eq!(from.len(), to.len());
        let (left, right) = from.split_at_mut(middle);
        Self { left, right, to }
    }

    /// Copies all items to the room, on any workers.
    fn run<S: Spe>(
        self,
        worker: &Worker<'_, S>,
        part: usize,
        compare: &(impl Fn(&T, &T) -> Ordering + Sync),
    ) {
        if in_order(self.left, self.right, compare) {
            let (left, right) = self.to.split_at_mut(self.left.len());
            copy(self.left, left);
            copy(self.right, right);
        } else if self.to.len() <= part {
            let (before, after) = self.split(compare);
            merge_two([before, after], compare);
        } else {
            let (before, after) = self.split(compare);
            worker.join(
                |worker| before.run(worker, part, compare),
                |worker| after.run(worker, part, compare),
            );
        }
    }

    /// Splits the merge in two merges. The items of the first one come before those of the second.
    fn split(self, compare: &impl Fn(&T, &T) -> Ordering) -> (Self, Self) {
        let Self { left, right, to } = self;
        // The longer slice is divided in the middle, and the other one where this item belongs.
        let (in_left, in_right) = if left.len() >= right.len() {
            let middle = &left[left.len() / 2];
            let is_before = |item: &T| compare(item, middle).is_lt();
            (left.len() / 2, right.partition_point(is_before))
        } else {
            let middle = &right[right.len() / 2];
            let is_before = |item: &T| compare(item, middle).is_le();
            (left.partition_point(is_before), right.len() / 2)
        };
        let (left, left_after) = left.split_at_mut(in_left);
        let (right, right_after) = right.split_at_mut(in_right);
        let (to, to_after) = to.split_at_mut(in_left + in_right);
        let after = Self {
            left: left_after,
            right: right_after,
            to: to_after,
        };
        (Self { left, right, to }, after)
    }
}

/// Returns whether two sorted slices are one sorted slice.
fn in_order<T>(left: &[T], right: &[T], compare: &impl Fn(&T, &T) -> Ordering) -> bool {
    match (left.last(), right.first()) {
        (Some(left), Some(right)) => !compare(right, left).is_lt(),
        _ => true,
    }
}

/// Runs two merges at the same time. The processor compares items of both at once.
fn merge_two<T: Send>(merges: [Merge<'_, T>; 2], compare: &impl Fn(&T, &T) -> Ordering) {
    let [mut one, mut other] = merges.map(Pointers::new);
    loop {
        let steps = one.steps().min(other.steps());
        if steps == 0 {
            break;
        }
        for _ in 0..steps {
            // SAFETY: both merges have as many items left on both sides.
            unsafe {
                one.step(compare);
                other.step(compare);
            }
        }
    }
    one.end(compare);
    other.end(compare);
}

/// A merge of which a part is done.
struct Pointers<T> {
    /// The items of either side that are not copied yet, and where they end.
    left: *const T,
    left_end: *const T,
    right: *const T,
    right_end: *const T,
    /// The room for these items.
    to: *mut T,
}

impl<T> Pointers<T> {
    fn new(merge: Merge<'_, T>) -> Self {
        let Merge { left, right, to } = merge;
        assert_eq!(left.len() + right.len(), to.len());
        let (left, right) = (left.as_ptr_range(), right.as_ptr_range());
        Self {
            left: left.start,
            left_end: left.end,
            right: right.start,
            right_end: right.end,
            to: to.as_mut_ptr().cast(),
        }
    }

    /// Returns the number of items that the shorter side still has.
    #[inline(always)]
    fn steps(&self) -> usize {
        // SAFETY: both pointers of a side point into one slice, in this order.
        let (left, right) = unsafe {
            (
                self.left_end.offset_from_unsigned(self.left),
                self.right_end.offset_from_unsigned(self.right),
            )
        };
        left.min(right)
    }

    /// Copies the next item.
    ///
    /// # Safety
    ///
    /// Both sides have an item left.
    #[inline(always)]
    unsafe fn step(&mut self, compare: &impl Fn(&T, &T) -> Ordering) {
        // SAFETY: both sides have an item, and there is room for the items of both sides. If the
        // comparison panics, nothing has changed.
        unsafe {
            let is_right = compare(&*self.right, &*self.left).is_lt();
            let from = if is_right { self.right } else { self.left };
            ptr::copy_nonoverlapping(from, self.to, 1);
            self.right = self.right.add(usize::from(is_right));
            self.left = self.left.add(usize::from(!is_right));
            self.to = self.to.add(1);
        }
    }

    /// Copies all items that are left.
    fn end(mut self, compare: &impl Fn(&T, &T) -> Ordering) {
        while self.steps() > 0 {
            // SAFETY: both sides have an item left.
            unsafe { self.step(compare) };
        }
        // SAFETY: the room has as many places left as both sides have items.
        unsafe {
            let left = self.left_end.offset_from_unsigned(self.left);
            let right = self.right_end.offset_from_unsigned(self.right);
            ptr::copy_nonoverlapping(self.left, self.to, left);
            ptr::copy_nonoverlapping(self.right, self.to.add(left), right);
        }
    }
}

/// Copies the bits of items.
fn copy<T>(items: &[T], to: &mut [MaybeUninit<T>]) {
    assert_eq!(items.len(), to.len());
    // SAFETY: both slices have this length, and do not overlap, as `to` is borrowed exclusively.
    unsafe { ptr::copy_nonoverlapping(items.as_ptr(), to.as_mut_ptr().cast(), items.len()) };
}

/// # Safety
///
/// See [`MaybeUninit::assume_init_mut`].
unsafe fn as_items<T>(room: &mut [MaybeUninit<T>]) -> &mut [T] {
    // SAFETY: as the caller promises.
    unsafe { room.assume_init_mut() }
}

/// # Safety
///
/// The caller fills the room before the borrow ends.
unsafe fn as_room<T>(items: &mut [T]) -> &mut [MaybeUninit<T>] {
    // SAFETY: both types have the same layout.
    unsafe { &mut *(ptr::from_mut(items) as *mut [MaybeUninit<T>]) }
}
