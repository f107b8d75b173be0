//! Tests of sorting.

use std::cell::Cell;
use std::cmp::Ordering;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use cellworks_machine::{Machine, Spe};
use cellworks_tasks::Worker;

use crate::on;

crate::on_every_machine!(
    each_method_sorts_as_std_does,
    strings_are_sorted,
    items_without_size_are_sorted,
    a_panic_of_any_comparison_keeps_all_items,
    a_panic_of_a_key_keeps_all_items,
    contradictory_comparisons_keep_all_items,
);

/// Returns unordered numbers: the high bits of a linear congruential sequence.
fn numbers(count: usize) -> Vec<u32> {
    let next = |n: &u64| Some(n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    let sequence = std::iter::successors(Some(17_u64), next);
    let numbers = sequence.skip(1).map(|n| (n >> 40) as u32);
    numbers.take(count).collect()
}

/// Lengths around the smallest slice that several workers sort, and around those that are merged by
/// several workers.
const LENGTHS: [usize; 10] = [0, 1, 2, 20, 1_024, 1_025, 2_048, 2_049, 4_101, 20_000];

/// Returns slices of `count` numbers, each with the name of its shape.
fn shapes(count: usize) -> Vec<(&'static str, Vec<u32>)> {
    let random = numbers(count);
    let map = |change: &dyn Fn(usize, u32) -> u32| {
        let changed = random.iter().enumerate();
        changed.map(|(index, &n)| change(index, n)).collect()
    };
    let mut pieces = random.clone();
    pieces.chunks_mut(700).for_each(<[u32]>::sort_unstable);
    let one_of = |n: u32, of: u32| n.is_multiple_of(of);
    let ascending = |index: usize, _| index as u32;
    vec![
        ("random", random.clone()),
        ("sorted", map(&ascending)),
        ("reversed", map(&|index, _| (count - index) as u32)),
        (
            "reversed with equal items",
            map(&|index, _| (count - index) as u32 / 3),
        ),
        (
            "one is too small",
            map(&|index, _| if index + 1 == count { 0 } else { index as u32 }),
        ),
        (
            "one is too great",
            map(&|index, _| if index == 0 { u32::MAX } else { index as u32 }),
        ),
        (
            "mostly sorted",
            map(&|index, n| if one_of(n, 50) { n } else { 800 * index as u32 }),
        ),
        (
            "often unsorted",
            map(&|index, n| if one_of(n, 9) { n } else { 800 * index as u32 }),
        ),
        ("sorted pieces", pieces),
        (
            "halves swapped",
            map(&|index, _| ((index + count / 2) % count) as u32),
        ),
        ("2 values", map(&|_, n| n % 2)),
        ("16 values", map(&|_, n| n % 16)),
        (
            "one frequent value",
            map(&|_, n| if one_of(n, 10) { n } else { 1 << 23 }),
        ),
        // The two halves have different keys. Therefore merging divides sometimes the left half
        // in the middle and sometimes the right half.
        (
            "different halves",
            map(&|index, n| n % if 2 * index < count { 3 } else { 50 }),
        ),
        ("equal", vec![7; count]),
        ("sawtooth", map(&|index, _| index as u32 % 1_000)),
    ]
}

/// Checks that a method returns the same as a method of std, with items of two sizes.
macro_rules! check {
    ($worker:ident, $shape:expr, $keys:expr, $method:ident($($by:expr)?)) => {
        let items: Vec<(u32, usize)> = $keys.iter().copied().zip(0..).collect();
        let (mut sorted, mut expected) = (items.clone(), items);
        $worker.$method(&mut sorted $(, $by)?);
        expected.$method($($by)?);
        assert!(sorted == expected, "{} {} {}", stringify!($method), $shape, $keys.len());
    };
    ($worker:ident, $shape:expr, $keys:expr, unstable $method:ident($($by:expr)?)) => {
        // Items that are equal are the same, so all orders of them are the same.
        let items: Vec<(u32, [u32; 15])> = $keys.iter().map(|&key| (key, [key; 15])).collect();
        let (mut sorted, mut expected) = (items.clone(), items);
        $worker.$method(&mut sorted $(, $by)?);
        expected.$method($($by)?);
        assert!(sorted == expected, "{} {} {}", stringify!($method), $shape, $keys.len());
    };
}

fn each_method_sorts_as_std_does<M: Machine>(machine: &M) {
    on(machine, |worker| {
        for (shape, keys) in LENGTHS.into_iter().flat_map(shapes) {
            check!(worker, shape, keys, sort());
            check!(worker, shape, keys, sort_by(|a, b| b.0.cmp(&a.0)));
            check!(worker, shape, keys, sort_by_key(|item| item.0));
            check!(worker, shape, keys, sort_by_cached_key(|item| item.0 / 3));
            check!(worker, shape, keys, sort_unstable());
            check!(worker, shape, keys, unstable sort_unstable());
            check!(worker, shape, keys, unstable sort_unstable_by(|a, b| b.0.cmp(&a.0)));
            check!(worker, shape, keys, unstable sort_unstable_by_key(|item| item.0));
        }
    });
}

fn strings_are_sorted<M: Machine>(machine: &M) {
    let words: Vec<String> = numbers(7_000).iter().map(u32::to_string).collect();
    let mut expected = words.clone();
    expected.sort();
    let mut sorted = [words.clone(), words.clone(), words];
    on(machine, |worker| {
        worker.sort(&mut sorted[0]);
        worker.sort_unstable(&mut sorted[1]);
        worker.sort_by_cached_key(&mut sorted[2], |word| word.clone());
    });
    assert!(sorted.iter().all(|sorted| *sorted == expected));
}

fn items_without_size_are_sorted<M: Machine>(machine: &M) {
    #[derive(PartialEq, Eq, PartialOrd, Ord)]
    struct Nothing;
    let mut items: Vec<Nothing> = (0..5_000).map(|_| Nothing).collect();
    on(machine, |worker| {
        worker.sort(&mut items);
        worker.sort_unstable(&mut items);
        worker.sort_by_cached_key(&mut items, |_| 0);
    });
    assert_eq!(items.len(), 5_000);
}

/// An item that is not `Sync`, and that a comparison changes. It has memory of its own, so that
/// tools find an item that is dropped twice.
struct Item<'a> {
    key: u32,
    number: Box<usize>,
    comparisons: Cell<usize>,
    drops: &'a [AtomicUsize],
}

impl Drop for Item<'_> {
    fn drop(&mut self) {
        self.drops[*self.number].fetch_add(1, Relaxed);
    }
}

impl Item<'_> {
    fn key(&self) -> u32 {
        self.comparisons.update(|comparisons| comparisons + 1);
        self.key
    }
}

const COUNT: usize = 6_000;

type Sort<S> =
    fn(&Worker<'_, S>, &mut [Item<'_>], &(dyn Fn(&Item<'_>, &Item<'_>) -> Ordering + Sync));

fn sorts<S: Spe>() -> [Sort<S>; 2] {
    [
        |worker, items, compare| worker.sort_by(items, compare),
        |worker, items, compare| worker.sort_unstable_by(items, compare),
    ]
}

/// Runs a sort of items whose comparisons may panic. Checks that the slice keeps each item once,
/// with all changes by comparisons. Returns the number of comparisons, and whether one panicked.
fn keeps_all_items<S: Spe>(
    worker: &Worker<'_, S>,
    keys: &[u32],
    sort: Sort<S>,
    compare: impl Fn(usize, u32, u32) -> Ordering + Sync,
) -> (usize, bool) {
    let drops: Vec<AtomicUsize> = keys.iter().map(|_| AtomicUsize::new(0)).collect();
    let mut items: Vec<Item<'_>> = (keys.iter().enumerate())
        .map(|(number, &key)| Item {
            key,
            number: Box::new(number),
            comparisons: Cell::new(0),
            drops: &drops,
        })
        .collect();
    let comparisons = AtomicUsize::new(0);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        sort(worker, &mut items, &|a, b| {
            let (a, b) = (a.key(), b.key());
            compare(comparisons.fetch_add(1, Relaxed), a, b)
        });
    }));
    let comparisons = comparisons.into_inner();
    let changes: usize = items.iter().map(|item| item.comparisons.get()).sum();
    assert_eq!(changes, 2 * comparisons);
    assert!(items.iter().all(|item| item.key == keys[*item.number]));
    drop(items);
    assert!(drops.iter().all(|drops| drops.load(Relaxed) == 1));
    (comparisons, ended.is_err())
}

fn a_panic_of_any_comparison_keeps_all_items<M: Machine>(machine: &M) {
    let shapes = shapes(COUNT).into_iter();
    let shapes =
        shapes.filter(|(shape, _)| matches!(*shape, "random" | "mostly sorted" | "16 values"));
    on(machine, |worker| {
        for (sort, (_, keys)) in sorts()
            .into_iter()
            .flat_map(|sort| shapes.clone().map(move |shape| (sort, shape)))
        {
            let (all, panicked) = keeps_all_items(worker, &keys, sort, |_, a, b| a.cmp(&b));
            assert!(!panicked);
            for number in (0..20)
                .map(|part| all * part / 20)
                .chain([1, 2, all - 2, all - 1])
            {
                let (_, panicked) = keeps_all_items(worker, &keys, sort, |comparison, a, b| {
                    assert_ne!(comparison, number, "the comparison of the panic");
                    a.cmp(&b)
                });
                assert!(panicked);
            }
        }
    });
}

fn a_panic_of_a_key_keeps_all_items<M: Machine>(machine: &M) {
    let mut items: Vec<String> = numbers(COUNT).iter().map(u32::to_string).collect();
    let mut expected = items.clone();
    let message = on(machine, |worker| {
        let sort = AssertUnwindSafe(|| {
            worker.sort_by_cached_key(&mut items, |word| {
                assert_ne!(*word, expected[COUNT / 2], "the key of the panic");
                word.clone()
            });
        });
        let panic = catch_unwind(sort).unwrap_err();
        panic.downcast_ref::<String>().cloned()
    });
    assert!(message.unwrap().contains("the key of the panic"));
    items.sort();
    expected.sort();
    assert_eq!(items, expected);
}

fn contradictory_comparisons_keep_all_items<M: Machine>(machine: &M) {
    let keys = numbers(COUNT);
    let answers = [Ordering::Less, Ordering::Equal, Ordering::Greater];
    on(machine, |worker| {
        for sort in sorts() {
            let random = |comparison: usize, _, _| answers[keys[comparison % COUNT] as usize % 3];
            keeps_all_items(worker, &keys, sort, random);
            for answer in answers {
                keeps_all_items(worker, &keys, sort, |_, _, _| answer);
            }
            // A circle: 0 is before 1, 1 is before 2, and 2 is before 0.
            let circle = |_, a: u32, b: u32| (a % 3).cmp(&((b + 1) % 3));
            keeps_all_items(worker, &keys, sort, circle);
        }
    });
}
