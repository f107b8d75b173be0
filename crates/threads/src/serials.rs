//! Serial numbers of threads, which are unique in a process.
//!
//! Each run takes a range of numbers. If a run has used at most half of its range, a later run
//! takes the rest. At most half of the 2^64 numbers are left unused, so at least 2^63 numbers can
//! be used: one per nanosecond for 292 years.

// Rejected: one counter without ranges, because all cores would write to it.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

const RANGE: u64 = 1 << 48;

static NUMBERS: Mutex<Numbers> = Mutex::new(Numbers::new());

struct Numbers {
    /// The first number that has not been in any range. No thread has the number 0.
    fresh: u64,
    /// The unused parts of the ranges of ended runs, each at least half of a range.
    returned: Vec<Range<u64>>,
}

impl Numbers {
    const fn new() -> Self {
        Self {
            fresh: 1,
            returned: Vec::new(),
        }
    }

    fn take(&mut self) -> Range<u64> {
        self.returned.pop().unwrap_or_else(|| {
            let start = self.fresh;
            self.fresh = start.checked_add(RANGE).expect(
                "more than 65,535 cores of cooperative threads run at once: there are no numbers for more threads",
            );
            start..self.fresh
        })
    }

    fn give_back(&mut self, rest: Range<u64>) {
        if rest.end - rest.start >= RANGE / 2 {
            self.returned.push(rest);
        }
    }
}

/// Returns a range of at least 2^47 numbers for the threads of a run.
///
/// # Panics
///
/// Panics if more than 65,535 runs have ranges at the same time.
pub(crate) fn take() -> Range<u64> {
    numbers().take()
}

/// Gives back the unused numbers of a run that has ended, for later runs.
pub(crate) fn give_back(rest: Range<u64>) {
    numbers().give_back(rest);
}

fn numbers() -> MutexGuard<'static, Numbers> {
    NUMBERS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(
        miri,
        ignore = "it takes a minute there, and there is no `unsafe` in it"
    )]
    fn a_run_gets_what_the_one_before_did_not_use() {
        let mut numbers = Numbers::new();
        for _ in 0..3 << 16 {
            let mut range = numbers.take();
            range.start += 2;
            numbers.give_back(range);
        }
        assert_eq!(numbers.take(), 1 + (6 << 16)..1 + RANGE);
    }

    #[test]
    fn no_number_is_in_two_ranges() {
        let mut numbers = Numbers::new();
        let (first, second) = (numbers.take(), numbers.take());
        assert_eq!((first.end, second.end), (second.start, 1 + 2 * RANGE));
        numbers.give_back(second.start + 7..second.end);
        assert_eq!(numbers.take(), second.start + 7..second.end);
        assert_eq!(numbers.take().start, second.end);
    }

    #[test]
    fn a_range_that_is_half_used_is_not_used_again() {
        let mut numbers = Numbers::new();
        let range = numbers.take();
        numbers.give_back(range.start + RANGE / 2 + 1..range.end);
        assert_eq!(numbers.take().start, range.end);
    }

    #[test]
    #[cfg_attr(
        miri,
        ignore = "it takes a minute there, and there is no `unsafe` in it"
    )]
    #[should_panic(expected = "more than 65,535 cores of cooperative threads run at once")]
    fn too_many_ranges_at_once_are_an_error() {
        let mut numbers = Numbers::new();
        for _ in 0..1 << 16 {
            numbers.take();
        }
    }
}
