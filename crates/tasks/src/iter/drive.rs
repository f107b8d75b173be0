//! How a loop is spread over workers.
//!
//! ```text
//!   items   [        part        |        part        |   ...   ]   by nested joins, at first
//!             block block block        block ...
//!                  ▲ is work asked for? If no part can be offered: the rest of this part is split
//! ```
//!
//! The parts can be taken from a worker that runs a long item. A part is split later as often as
//! other workers ask for work, so that parts may take different times.

use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cellworks_machine::{Span, Spe};

use crate::iter::items::Items;
use crate::worker::Worker;

/// The number of parts for each worker at the start of a loop.
const PARTS: usize = 2;

/// A part with no more items than this is run item by item. Larger blocks have a multiple of this
/// number of items: a loop of vector instructions that begins in the middle of a cache line takes
/// 1.3 times as long.
const FEW: usize = 32;

/// The time for which a part runs before it is measured. Reading the clock takes a tenth of it.
const MEASURABLE: Span = Span::from_nanoseconds(250);

/// The least time of a loop that is shared. To wait for another worker would take longer than what
/// it saves of a shorter loop. Items that another worker has changed before take twice as long, so
/// that with 4 us a loop of 3 us stayed shared, at 2.5 times the time of one worker.
const WORTH_SHARING: Span = Span::from_nanoseconds(10_000);

/// The least time of items whose half is given away. A worker begins a half after 0.5 us, and its
/// items come from another core.
const WORTH_GIVING: Span = Span::from_nanoseconds(3_000);

/// The time that a block of cheap items should take. A check for requests of other workers before
/// each block then takes about 1 % of the time. Larger blocks would keep other workers waiting if
/// later items take longer.
const BLOCK: Span = Span::from_nanoseconds(200);

/// The number of blocks of one size. The time that they take gives the size of the next blocks.
const BLOCKS: usize = 16;

/// The largest number of items of a block.
const LARGEST: usize = 4_096;

/// What a loop makes from items of the type `X`: a value for each part, and one value in the end.
pub(crate) trait Consumer<S: Spe, X>: Sync {
    type Value: Send;

    /// Returns the value of no items.
    fn identity(&self) -> Self::Value;

    /// Adds the items of a block to the value of the items before them. Breaks if the rest of the
    /// part is not needed.
    fn block(
        &self,
        worker: &Worker<'_, S>,
        value: Self::Value,
        items: impl Iterator<Item = X>,
    ) -> ControlFlow<Self::Value, Self::Value>;

    /// Returns the value of two parts. The items of `first` come directly before those of `second`.
    fn reduce(&self, first: Self::Value, second: Self::Value) -> Self::Value;

    /// Returns whether the items that have not begun are not needed.
    #[inline]
    fn is_over(&self) -> bool {
        false
    }
}

/// Runs over items on the workers of a pool.
pub(crate) fn drive<S: Spe, I: Items<S>, C: Consumer<S, I::Item>>(
    worker: &Worker<'_, S>,
    items: I,
    consumer: &C,
) -> C::Value {
    let parts = match worker.workers() {
        1 => 1,
        workers => PARTS * workers,
    };
    let units = items.units();
    let whole = Loop {
        units,
        is_short: AtomicBool::new(false),
        block: AtomicUsize::new(0),
        consumer,
    };
    whole.run_parts(worker, items, consumer.identity(), parts)
}

/// A loop over a number of units.
struct Loop<'c, C> {
    units: usize,
    /// Whether a part has found that the loop is not worth sharing. Then other parts are not
    /// measured, which would take longer than a short part.
    is_short: AtomicBool,
    /// The units of a block, as a part of a loop that is worth sharing has measured last. 0 if none
    /// has. Parts that begin later use it.
    block: AtomicUsize,
    consumer: &'c C,
}

/// Why a worker has stopped in the middle of a part.
enum Stopped<T> {
    /// Another worker asks for work, and this worker has none to offer but the items that are left.
    IsWanted(T),
    /// The items that are left are not needed.
    IsOver(T),
}

/// What a worker gives to another one that asks for work.
#[derive(PartialEq)]
enum Gives {
    Nothing,
    /// A part that has not begun.
    Part,
    /// If there is no such part, half of what is left of the part that the worker runs.
    Rest,
}

type Flow<T> = ControlFlow<Stopped<T>, T>;

impl<C> Loop<'_, C> {
    /// Runs over items. `value` is the value of the items before `items`.
    fn run_parts<S: Spe, I: Items<S>>(
        &self,
        worker: &Worker<'_, S>,
        mut items: I,
        value: C::Value,
        parts: usize,
    ) -> C::Value
    where
        C: Consumer<S, I::Item>,
    {
        let length = items.units();
        if parts == 1 || length <= 1 {
            return self.run_part(worker, items, value);
        }
        let of_first = parts.div_ceil(2);
        // The product of the length and `of_first` may be too large.
        let first = length / parts * of_first + (length % parts * of_first).div_ceil(parts);
        let first = if first > FEW * FEW {
            first - first % FEW
        } else {
            first
        };
        let first = items.split_off_first(first);
        let (first, second) = worker.join_quietly(
            |worker| {
                // A worker that sleeps takes no half that is not offered.
                if self.units <= FEW || worker.do_others_sleep() {
                    worker.offer_if_asked();
                }
                self.run_parts(worker, first, value, of_first)
            },
            |worker| {
                let identity = self.consumer.identity();
                self.run_parts(worker, items, identity, parts - of_first)
            },
        );
        self.consumer.reduce(first, second)
    }

    fn run_part<S: Spe, I: Items<S>>(
        &self,
        worker: &Worker<'_, S>,
        mut items: I,
        value: C::Value,
    ) -> C::Value
    where
        C: Consumer<S, I::Item>,
    {
        let flow = if self.is_short.load(Ordering::Relaxed) {
            Continue(value)
        } else if items.units() > FEW {
            self.measured(worker, &mut items, value)
        } else {
            self.blocks(worker, &mut items, value, (1, FEW), |_| Gives::Rest)
        };
        match flow {
            Continue(value) => {
                let rest = items.in_order(worker);
                match self.consumer.block(worker, value, rest) {
                    Continue(value) | Break(value) => value,
                }
            }
            Break(Stopped::IsWanted(value)) => self.run_parts(worker, items, value, 2),
            Break(Stopped::IsOver(value)) => value,
        }
    }

    /// Runs a part but its last items, in blocks that take about the time [`BLOCK`]. Answers
    /// requests of other workers if the loop is worth sharing.
    #[inline]
    fn measured<S: Spe, I: Items<S>>(
        &self,
        worker: &Worker<'_, S>,
        items: &mut I,
        mut value: C::Value,
    ) -> Flow<C::Value>
    where
        C: Consumer<S, I::Item>,
    {
        let (mut begin, mut left) = (worker.spe().now(), items.units());
        let block = self.block.load(Ordering::Relaxed);
        // `last` is how long the units of the last measurement took.
        let (mut size, mut is_shared, mut last) = match block {
            0 => (1, false, (0, 1)),
            // Not a whole block, because the items of this part may take longer.
            _ => (block.div_ceil(8), true, (BLOCK.as_femtoseconds(), block)),
        };
        let mut count = 1;
        loop {
            let taken_since = |begin| worker.spe().now().since(begin).as_femtoseconds();
            let gives = |still_left: usize| {
                if !is_shared {
                    return Gives::Nothing;
                }
                let (taken, units) = match left - still_left {
                    0 => last,
                    units => (taken_since(begin), units),
                };
                let of_rest = taken.saturating_mul(still_left as u128) / units as u128;
                if of_rest < WORTH_GIVING.as_femtoseconds() {
                    Gives::Part
                } else {
                    Gives::Rest
                }
            };
            value = self.blocks(worker, items, value, (size, count), gives)?;
            let (now, still_left) = (worker.spe().now(), items.units());
            let (taken, units) = (now.since(begin).as_femtoseconds(), left - still_left);
            let of_loop = taken.saturating_mul(self.units as u128) / units.max(1) as u128;
            let is_worth_sharing = of_loop >= WORTH_SHARING.as_femtoseconds();
            if taken < MEASURABLE.as_femtoseconds() {
                // Not all that is left, because later items may take longer.
                let most = (still_left / 2).clamp(FEW, LARGEST);
                size = (8 * size).clamp(FEW, most);
                size -= (size + units % FEW) % FEW;
            } else {
                is_shared = is_worth_sharing;
                let in_block = units as u128 * BLOCK.as_femtoseconds() / taken;
                (size, count) = ((in_block as usize).clamp(1, LARGEST), BLOCKS);
                size -= if size > FEW { size % FEW } else { 0 };
                if is_shared {
                    self.block.store(size, Ordering::Relaxed);
                }
                (begin, left, last) = (now, still_left, (taken, units));
            }
            if still_left <= size {
                if !is_shared && !is_worth_sharing {
                    self.is_short.store(true, Ordering::Relaxed);
                }
                return Continue(value);
            }
        }
    }

    /// Runs up to `count` blocks of `size` items, but not the last items. `gives` returns what the
    /// worker gives to another one while a number of units is left.
    #[inline(always)]
    fn blocks<S: Spe, I: Items<S>>(
        &self,
        worker: &Worker<'_, S>,
        items: &mut I,
        mut value: C::Value,
        (size, count): (usize, usize),
        gives: impl Fn(usize) -> Gives,
    ) -> Flow<C::Value>
    where
        C: Consumer<S, I::Item>,
    {
        for _ in 0..count {
            if self.consumer.is_over() {
                return Break(Stopped::IsOver(value));
            }
            if items.units() <= size {
                break;
            }
            if worker.is_wanted() {
                let gives = gives(items.units());
                let has_part = || worker.job().halves.has_private();
                if gives == Gives::Nothing || gives == Gives::Part && !has_part() {
                    worker.decline();
                } else {
                    worker.offer_if_asked();
                    if gives == Gives::Rest && worker.is_wanted() {
                        return Break(Stopped::IsWanted(value));
                    }
                }
            }
            let block = items.split_off_first(size);
            match self.consumer.block(worker, value, block.in_order(worker)) {
                Continue(next) => value = next,
                Break(last) => return Break(Stopped::IsOver(last)),
            }
        }
        Continue(value)
    }
}
