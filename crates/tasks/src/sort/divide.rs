//! What the unstable sort does with items: see [`crate::sort`].

use std::cmp::Ordering;

/// The number of items of which the median divides all items.
const SAMPLE: usize = 31;

/// Items of more bytes are moved only if they are in the wrong place. Smaller ones are moved
/// without a branch, which a processor would often predict wrong.
const LARGE: usize = 32;

/// The number of items that tell whether a piece is mostly sorted.
const PROBES: usize = 64;

/// The most of these items that may be less than the one before.
const MOST_DESCENTS: usize = 8;

/// If more than one item of so many is out of order, a piece is not mostly sorted.
const ONE_UNSORTED_OF: usize = 8;

/// The most items at a time that are out of order because they are too great.
const MOST_TOO_GREAT: usize = 4;

/// Returns the index of the median of some items. These are not at equal distances, so that a
/// period in the items does no harm.
pub(crate) fn median_of_sample<T>(items: &[T], compare: &impl Fn(&T, &T) -> Ordering) -> usize {
    const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut sample: [usize; SAMPLE] = std::array::from_fn(|number| {
        let place = GOLDEN_RATIO.wrapping_mul(number as u64 + 1);
        ((u128::from(place) * items.len() as u128) >> 64) as usize
    });
    sample.sort_unstable_by(|&a, &b| compare(&items[a], &items[b]));
    sample[SAMPLE / 2]
}

/// Moves the items of which `is_first` is true before the others. Returns their number.
pub(crate) fn divide<T>(items: &mut [T], is_first: impl Fn(&T) -> bool) -> usize {
    let (mut first, mut end) = (0, items.len());
    if size_of::<T>() <= LARGE {
        for next in 0..end {
            let is_first = is_first(&items[next]);
            items.swap(first, next);
            first += usize::from(is_first);
        }
        return first;
    }
    loop {
        while first < end && is_first(&items[first]) {
            first += 1;
        }
        while first < end && !is_first(&items[end - 1]) {
            end -= 1;
        }
        if first == end {
            return first;
        }
        items.swap(first, end - 1);
        (first, end) = (first + 1, end - 1);
    }
}

/// Sorts by the unstable sort of `std`, or in a third of its time if the items are mostly sorted.
pub(crate) fn sort_piece<T>(items: &mut [T], compare: &impl Fn(&T, &T) -> Ordering) {
    if is_mostly_sorted(items, compare)
        && let Some(sorted) = move_unsorted_to_end(items, compare)
    {
        items[sorted..].sort_unstable_by(compare);
        // This sort finds the two sorted parts, and merges them.
        items.sort_by(compare);
    } else {
        items.sort_unstable_by(compare);
    }
}

/// Returns whether items at equal distances are mostly sorted.
fn is_mostly_sorted<T>(items: &[T], compare: &impl Fn(&T, &T) -> Ordering) -> bool {
    let distance = items.len() / PROBES;
    let probes = (0..PROBES - 1).map(|probe| probe * distance);
    let descends = |&at: &usize| compare(&items[at + distance], &items[at]).is_lt();
    distance > 0 && probes.filter(descends).count() <= MOST_DESCENTS
}

/// Moves items to the end until the other items are sorted. Returns the number of the others, or
/// `None` if it would move many items.
fn move_unsorted_to_end<T>(
    items: &mut [T],
    compare: &impl Fn(&T, &T) -> Ordering,
) -> Option<usize> {
    let most_unsorted = items.len() / ONE_UNSORTED_OF;
    // The items before `sorted` are sorted. The items from `sorted` to `next` are to be moved.
    let mut sorted: usize = 0;
    for next in 0..items.len() {
        let fits_at =
            |&place: &usize| place == 0 || !compare(&items[next], &items[place - 1]).is_lt();
        // If the item fits before the last few sorted items, these are too great and are moved.
        // Otherwise this item is too small and is moved.
        let first = sorted.saturating_sub(MOST_TOO_GREAT);
        if let Some(place) = (first..=sorted).rev().find(fits_at) {
            items.swap(place, next);
            sorted = place + 1;
        }
        if next + 1 - sorted > most_unsorted {
            return None;
        }
    }
    Some(sorted)
}
