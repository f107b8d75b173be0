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

use cellworks_machine::{Span, Spe};

use crate::iter::items::Items;
use crate::worker::Worker;

/// The number of parts for each worker at the start of a loop.
const PARTS: usize = 2;

/// The number of items at the start of a part that a worker runs one by one.
const FIRST: usize = 32;

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
    run_parts(worker, items, consumer, consumer.identity(), parts)
}

/// Runs over items. `value` is the value of the items before `items`.
fn run_parts<S: Spe, I: Items<S>, C: Consumer<S, I::Item>>(
    worker: &Worker<'_, S>,
    mut items: I,
    consumer: &C,
    value: C::Value,
    parts: usize,
) -> C::Value {
    let length = items.units();
    if parts == 1 || length <= 1 {
        return run_part(worker, items, consumer, value);
    }
    let of_first = parts.div_ceil(2);
    // The product of the length and `of_first` may be too large.
    let first = length / parts * of_first + (length % parts * of_first).div_ceil(parts);
    let first = items.split_off_first(first);
    let (first, second) = worker.join(
        |worker| run_parts(worker, first, consumer, value, of_first),
        |worker| {
            let identity = consumer.identity();
            run_parts(worker, items, consumer, identity, parts - of_first)
        },
    );
    consumer.reduce(first, second)
}

fn run_part<S: Spe, I: Items<S>, C: Consumer<S, I::Item>>(
    worker: &Worker<'_, S>,
    mut items: I,
    consumer: &C,
    value: C::Value,
) -> C::Value {
    let flow = match items.units() > FIRST {
        true => in_measured_blocks(worker, &mut items, consumer, value),
        false => blocks(worker, &mut items, consumer, value, 1, FIRST),
    };
    match flow {
        Continue(value) => match consumer.block(worker, value, items.in_order(worker)) {
            Continue(value) | Break(value) => value,
        },
        Break(Stopped::IsWanted(value)) => run_parts(worker, items, consumer, value, 2),
        Break(Stopped::IsOver(value)) => value,
    }
}

/// Runs a part but its last items, in blocks that take about the time [`BLOCK`].
#[inline]
fn in_measured_blocks<S: Spe, I: Items<S>, C: Consumer<S, I::Item>>(
    worker: &Worker<'_, S>,
    items: &mut I,
    consumer: &C,
    mut value: C::Value,
) -> ControlFlow<Stopped<C::Value>, C::Value> {
    let mut begin = worker.spe().now();
    let (mut size, mut count) = (1, FIRST);
    loop {
        value = blocks(worker, items, consumer, value, size, count)?;
        let end = worker.spe().now();
        let taken = end.since(begin).as_femtoseconds().max(1);
        let items_in_block = (size * count) as u128 * BLOCK.as_femtoseconds() / taken;
        // The first limit is for times that are too short to be measured.
        size = (items_in_block as usize)
            .min(8 * size * count)
            .clamp(1, LARGEST);
        if items.units() <= size {
            return Continue(value);
        }
        (begin, count) = (end, BLOCKS);
    }
}

enum Stopped<T> {
    /// Another worker asks for work, and this worker has none to offer but the items that are left.
    IsWanted(T),
    /// The items that are left are not needed.
    IsOver(T),
}

/// Runs up to `blocks` blocks of `size` items, but not the last items.
#[inline(always)]
fn blocks<S: Spe, I: Items<S>, C: Consumer<S, I::Item>>(
    worker: &Worker<'_, S>,
    items: &mut I,
    consumer: &C,
    mut value: C::Value,
    size: usize,
    blocks: usize,
) -> ControlFlow<Stopped<C::Value>, C::Value> {
    for _ in 0..blocks {
        if consumer.is_over() {
            return Break(Stopped::IsOver(value));
        }
        if items.units() <= size {
            break;
        }
        if worker.is_wanted() {
            worker.answer();
            if worker.is_wanted() {
                return Break(Stopped::IsWanted(value));
            }
        }
        let block = items.split_off_first(size);
        match consumer.block(worker, value, block.in_order(worker)) {
            Continue(next) => value = next,
            Break(last) => return Break(Stopped::IsOver(last)),
        }
    }
    Continue(value)
}
