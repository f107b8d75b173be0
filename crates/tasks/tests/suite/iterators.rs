//! Tests of parallel iterators.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cellworks_host::Host;
use cellworks_machine::{Cycles, Machine, Spe};
use cellworks_tasks::{Indexed, IntoSource, Pool, Source, Worker};
use proptest::prelude::{Strategy, any, prop};

use crate::on;

crate::on_every_machine!(
    sources_have_the_items_of_std,
    ranges_have_their_ends,
    adaptors_do_what_those_of_std_do,
    loops_return_what_those_of_std_do,
    items_are_collected_into_any_collection,
    the_first_of_several_is_found,
    a_loop_that_ends_early_begins_no_other_item,
    results_end_a_loop_early,
    functions_are_given_their_worker,
    more_items_than_the_greatest_length_lose_none,
    a_bridge_gives_each_item_once,
    a_bridge_has_one_worker,
    items_of_a_vector_are_dropped_once,
    collected_items_are_dropped_after_a_panic,
    values_of_a_loop_are_few_and_never_shared,
    pieces_of_nothing_are_refused,
    a_source_that_lies_about_its_length_is_refused,
);

/// Lengths around those at which a loop is split, and at which its blocks become larger.
const LENGTHS: [usize; 11] = [0, 1, 2, 3, 7, 32, 33, 64, 257, 1_000, 5_000];

fn sources_have_the_items_of_std<M: Machine>(machine: &M) {
    for length in LENGTHS {
        on(machine, |worker| {
            let items = Vec::from_iter(0..length);
            let collected: Vec<usize> = worker.par_iter(0..length).collect();
            assert_eq!(collected, items);
            let collected: Vec<&usize> = worker.par_iter(&items).collect();
            assert_eq!(collected, Vec::from_iter(&items));
            let collected: Vec<&usize> = worker.par_iter(&items[..]).collect();
            assert_eq!(collected, Vec::from_iter(&items));
            let collected: Vec<usize> = worker.par_iter(items.clone()).collect();
            assert_eq!(collected, items);
            let collected: Vec<usize> = worker.par_iter(items.clone().into_boxed_slice()).collect();
            assert_eq!(collected, items);
            let mut changed = items.clone();
            worker.par_iter(&mut changed).for_each(|item| *item += 1);
            assert_eq!(changed, Vec::from_iter(1..length + 1));

            let mut turned = VecDeque::from(items.clone());
            turned.rotate_left(length / 3);
            turned.extend([1, 2, 3]);
            let collected: Vec<&usize> = worker.par_iter(&turned).collect();
            assert_eq!(collected, Vec::from_iter(&turned));
            let collected: Vec<usize> = worker.par_iter(turned.clone()).collect();
            assert_eq!(collected, Vec::from_iter(turned.clone()));
            worker.par_iter(&mut turned).for_each(|item| *item = 5);
            assert_eq!(turned, vec![5; length + 3]);

            for size in [1, 2, 3, 64, 10_000] {
                let collected: Vec<&[usize]> = worker.par_chunks(&items, size).collect();
                assert_eq!(collected, Vec::from_iter(items.chunks(size)));
                let collected: Vec<&[usize]> = worker.par_windows(&items, size).collect();
                assert_eq!(collected, Vec::from_iter(items.windows(size)));
                let mut changed = items.clone();
                let chunks = worker.par_chunks_mut(&mut changed, size);
                chunks
                    .enumerate()
                    .for_each(|(number, chunk)| chunk.fill(number));
                let numbers = (0..length).map(|index| index / size);
                assert_eq!(changed, Vec::from_iter(numbers));
            }

            let map: BTreeMap<usize, String> = items.iter().map(|&i| (i, i.to_string())).collect();
            let collected: Vec<(&usize, &String)> = worker.par_iter(&map).collect();
            assert_eq!(collected, Vec::from_iter(&map));
            let hashed: HashMap<usize, String> = map.clone().into_iter().collect();
            let collected: BTreeMap<usize, String> = worker.par_iter(hashed.clone()).collect();
            assert_eq!(collected, map);
            let mut changed = hashed;
            worker
                .par_iter(&mut changed)
                .for_each(|(_, text)| text.push('!'));
            assert!(
                changed
                    .iter()
                    .all(|(number, text)| *text == format!("{number}!"))
            );
            let set: HashSet<usize> = items.iter().copied().collect();
            let collected: HashSet<usize> = worker.par_iter(&set).copied().collect();
            assert_eq!(collected, set);
            let list: LinkedList<usize> = items.iter().copied().collect();
            let collected: LinkedList<usize> = worker.par_iter(&list).copied().collect();
            assert_eq!(collected, list);
        });
    }
    on(machine, |worker| {
        assert_eq!(worker.par_iter([3, 4]).sum::<i32>(), 7);
        assert_eq!(worker.par_iter(&[3, 4]).sum::<i32>(), 7);
        assert_eq!(worker.par_iter(Some(3)).sum::<i32>(), 3);
        assert_eq!(worker.par_iter(&None::<i32>).count(), 0);
    });
}

fn ranges_have_their_ends<M: Machine>(machine: &M) {
    on(machine, |worker| {
        let all: Vec<u8> = worker.par_iter(0..=255_u8).collect();
        assert_eq!(all, Vec::from_iter(0..=255));
        let all: Vec<i8> = worker.par_iter(-128..=127_i8).collect();
        assert_eq!(all, Vec::from_iter(-128..=127));
        let all: Vec<i8> = worker.par_iter(-128..127_i8).collect();
        assert_eq!(all, Vec::from_iter(-128..127));
        let last: Vec<u64> = worker.par_iter(u64::MAX - 999..=u64::MAX).collect();
        assert_eq!(last, Vec::from_iter(u64::MAX - 999..=u64::MAX));
        let end = worker.workers() as i64 - 20;
        assert_eq!(worker.par_iter(3..end).count(), 0);
        assert_eq!(worker.par_iter(3..=end).count(), 0);
        assert_eq!(worker.par_iter(-70_000..70_000_i32).count(), 140_000);
        let far = worker
            .par_iter(i64::MIN..i64::MAX)
            .find_any(|&n| n > i64::MIN + 70_000);
        assert!(far.is_some_and(|n| n > i64::MIN + 70_000));
        assert!(worker.par_iter(0..usize::MAX).any(|n| n == 70_000));
        assert!(worker.par_iter(0..=u64::MAX).any(|n| n == 70_000));
    });
}

fn adaptors_do_what_those_of_std_do<M: Machine>(machine: &M) {
    for length in LENGTHS {
        on(machine, |worker| {
            let numbers = Vec::from_iter((0..length as u64).map(|n| n * 7 % 64));
            let par = || worker.par_iter(&numbers);
            let std = || numbers.iter();

            let all: Vec<u64> = par().map(|n| n + 1).collect();
            assert_eq!(all, Vec::from_iter(std().map(|n| n + 1)));
            let all: Vec<&u64> = par().filter(|n| **n > 20).collect();
            assert_eq!(all, Vec::from_iter(std().filter(|n| **n > 20)));
            let some = |n: &u64| n.is_multiple_of(3).then_some(n + 5);
            let all: Vec<u64> = par().filter_map(some).collect();
            assert_eq!(all, Vec::from_iter(std().filter_map(some)));
            let all: Vec<u64> = par().flat_map(|&n| 0..n % 4).collect();
            assert_eq!(all, Vec::from_iter(std().flat_map(|&n| 0..n % 4)));
            let all: Vec<(usize, u64)> = par().copied().enumerate().collect();
            assert_eq!(all, Vec::from_iter(std().copied().enumerate()));
            let all: Vec<u64> = par().cloned().chain(5..9_u64).chain(vec![1, 2]).collect();
            assert_eq!(
                all,
                Vec::from_iter(std().cloned().chain(5..9).chain([1, 2]))
            );
            let seen = AtomicUsize::new(0);
            let all: Vec<&u64> = par()
                .inspect(|n| _ = seen.fetch_add(**n as usize, Ordering::Relaxed))
                .collect();
            assert_eq!(all, Vec::from_iter(std()));
            assert_eq!(seen.into_inner() as u64, std().sum());

            for count in [0, 1, 40, 100_000] {
                let all: Vec<&u64> = par().skip(count).collect();
                assert_eq!(all, Vec::from_iter(std().skip(count)));
                let all: Vec<&u64> = par().take(count).collect();
                assert_eq!(all, Vec::from_iter(std().take(count)));
                let all: Vec<&u64> = par().step_by(count.max(1)).collect();
                assert_eq!(all, Vec::from_iter(std().step_by(count.max(1))));
                let all: Vec<(&u64, usize)> = par().zip(0..count).collect();
                assert_eq!(all, Vec::from_iter(std().zip(0..count)));
                let all: Vec<(usize, &u64)> = worker.par_iter(0..count).zip(par()).collect();
                assert_eq!(all, Vec::from_iter((0..count).zip(std())));
            }

            let all: Vec<&u64> = par().rev().collect();
            assert_eq!(all, Vec::from_iter(std().rev()));
            let all: Vec<(usize, &u64)> = par().rev().enumerate().rev().skip(3).collect();
            assert_eq!(all, Vec::from_iter(std().rev().enumerate().rev().skip(3)));
            let all: Vec<(&u64, usize)> = par().zip(0..length / 2).rev().step_by(3).collect();
            let pairs = std().zip(0..length).take(length / 2);
            assert_eq!(all, Vec::from_iter(pairs.rev().step_by(3)));
            for size in [1, 3, 64, 10_000] {
                let all: Vec<Vec<u64>> = par().map(|n| n + 1).chunks(size).collect();
                let more = Vec::from_iter(std().map(|n| n + 1));
                assert_eq!(all, Vec::from_iter(more.chunks(size).map(<[u64]>::to_vec)));
                let all: Vec<Vec<&u64>> = par().chunks(size).rev().collect();
                let chunks = numbers.chunks(size).rev();
                assert_eq!(all, Vec::from_iter(chunks.map(Vec::from_iter)));
            }
            let write = |text: &mut String, n: &u64| {
                text.clear();
                *text += &n.to_string();
                text.clone()
            };
            let all: Vec<String> = par().map_init(String::new, write).collect();
            assert_eq!(all, Vec::from_iter(std().map(u64::to_string)));

            let mut left = numbers.clone();
            let mut right = Vec::from_iter(0..length);
            worker
                .par_iter(&mut left)
                .zip(&mut right)
                .enumerate()
                .for_each(|(index, (left, right))| {
                    assert_eq!(*right, index);
                    *left = *right as u64 + 1;
                    *right = 0;
                });
            assert_eq!(left, Vec::from_iter(1..length as u64 + 1));
            assert_eq!(right, vec![0; length]);
        });
    }
}

fn loops_return_what_those_of_std_do<M: Machine>(machine: &M) {
    for length in LENGTHS {
        on(machine, |worker| {
            let numbers = Vec::from_iter((0..length as u64).map(|n| n * 7 % 64));
            let par = || worker.par_iter(&numbers);
            let std = || numbers.iter();

            assert_eq!(par().sum::<u64>(), std().sum());
            let small = |n: &u64| 1.0 + *n as f64 / 1e6;
            let (ours, theirs): (f64, f64) =
                (par().map(small).product(), std().map(small).product());
            assert!((ours / theirs - 1.0).abs() < 1e-9);
            assert_eq!(
                par().filter(|n| **n < 9).count(),
                std().filter(|n| **n < 9).count()
            );
            assert_eq!(par().min(), std().min());
            assert_eq!(par().max(), std().max());
            // The first and the last of equal items, as in the standard library.
            let key = |item: &(usize, &u64)| *item.1 / 8;
            assert_eq!(
                par().enumerate().min_by_key(key),
                std().enumerate().min_by_key(key)
            );
            assert_eq!(
                par().enumerate().max_by_key(key),
                std().enumerate().max_by_key(key)
            );
            let text = |n: &u64| n.to_string();
            let joined = par().map(text).reduce(String::new, |a, b| a + &b);
            assert_eq!(joined, String::from_iter(std().map(text)));
            let last = par().reduce_with(|_, b| b);
            assert_eq!(last, std().last());
            let (small, large): (Vec<&u64>, HashSet<&u64>) = par().partition(|n| **n < 30);
            assert_eq!(small, Vec::from_iter(std().filter(|n| **n < 30)));
            assert_eq!(large, HashSet::from_iter(std().filter(|n| **n >= 30)));
            let (indices, values): (Vec<usize>, Vec<&u64>) = par().enumerate().unzip();
            assert_eq!(indices, Vec::from_iter(0..length));
            assert_eq!(values, Vec::from_iter(std()));
            let mut extended = vec![7];
            par().copied().filter(|n| *n > 5).extend_into(&mut extended);
            let rest = std().copied().filter(|n| *n > 5);
            assert_eq!(extended, Vec::from_iter([7].into_iter().chain(rest)));
            let states = AtomicUsize::new(0);
            let sum = AtomicUsize::new(0);
            par().for_each_init(
                || states.fetch_add(1, Ordering::Relaxed),
                |_, n| _ = sum.fetch_add(*n as usize, Ordering::Relaxed),
            );
            assert_eq!(sum.into_inner() as u64, std().sum());
            assert!(states.into_inner() <= length.max(1));
            assert_eq!(par().any(|n| *n == 7), std().any(|n| *n == 7));
            assert_eq!(par().all(|n| *n < 60), std().all(|n| *n < 60));
        });
    }
}

fn items_are_collected_into_any_collection<M: Machine>(machine: &M) {
    on(machine, |worker| {
        let par = || worker.par_iter(0..500_u32).filter(|n| n % 7 == 0);
        let std = || (0..500_u32).filter(|n| n % 7 == 0);
        assert_eq!(par().collect::<VecDeque<u32>>(), VecDeque::from_iter(std()));
        assert_eq!(
            par().collect::<LinkedList<u32>>(),
            LinkedList::from_iter(std())
        );
        assert_eq!(par().collect::<BTreeSet<u32>>(), BTreeSet::from_iter(std()));
        assert_eq!(par().collect::<HashSet<u32>>(), HashSet::from_iter(std()));
        let heap: BinaryHeap<u32> = par().collect();
        assert_eq!(heap.into_sorted_vec(), Vec::from_iter(std()));
        let pairs: HashMap<u32, String> = par().map(|n| (n, n.to_string())).collect();
        assert_eq!(pairs, HashMap::from_iter(std().map(|n| (n, n.to_string()))));
        let boxed: Box<[u32]> = par().collect();
        let shared: Arc<[u32]> = par().collect();
        assert_eq!(
            (&boxed[..], &shared[..]),
            (&Vec::from_iter(std())[..], &boxed[..])
        );
        let text: String = par().map(|n| n.to_string()).collect();
        assert_eq!(text, String::from_iter(std().map(|n| n.to_string())));
        let text: String = par().map(|n| char::from(n as u8 % 26 + b'a')).collect();
        assert_eq!(
            text,
            String::from_iter(std().map(|n| char::from(n as u8 % 26 + b'a')))
        );
        let words = text.clone() + " " + &text;
        let text: String = worker.par_iter(Vec::from_iter(words.split(' '))).collect();
        assert_eq!(text, words.replace(' ', ""));
        par().map(drop).collect::<()>();
    });
}

fn the_first_of_several_is_found<M: Machine>(machine: &M) {
    for length in LENGTHS {
        on(machine, |worker| {
            for at in [0, 1, 31, 32, 40, 700, 4_990] {
                let is_it = |worker: &Worker<'_, M::Spe>, n: usize| {
                    // The first items take longest, so others find theirs before.
                    worker.spe().compute(Cycles((length - n) as u64));
                    (n >= at).then_some(n)
                };
                let right = (at < length).then_some(at);
                let found = worker.par_iter(0..length).map_with_worker(is_it);
                assert_eq!(found.find_map_first(|n| n), right);
                let found = worker.par_iter(0..length).map_with_worker(is_it);
                assert_eq!(found.position_first(|n| n.is_some()), right);
                let some = worker.par_iter(0..length).filter(|n| n % 2 == 1);
                let right = (at..length).find(|n| n % 2 == 1);
                assert_eq!(some.find_first(|n| *n >= at), right);
                let any = worker.par_iter(0..length).find_any(|n| *n >= at);
                assert_eq!(any.is_some(), at < length);
                assert!(any.is_none_or(|n| n >= at));
                let any = worker.par_iter(0..length).position_any(|n| n == at);
                assert_eq!(any, (at < length).then_some(at));
            }
        });
    }
}

fn a_loop_that_ends_early_begins_no_other_item<M: Machine>(machine: &M) {
    on(machine, |worker| {
        // Without an early end, these loops take centuries.
        let is_large = |n: usize| n > 1_000;
        let huge = || worker.par_iter(0..usize::MAX);
        assert!(huge().any(is_large));
        assert!(!huge().all(|n| !is_large(n)));
        assert_eq!(huge().find_first(|n| is_large(*n)), Some(1_001));
        assert_eq!(huge().position_first(is_large), Some(1_001));
        let fails = |n| if is_large(n) { Err(n) } else { Ok(()) };
        assert!(huge().try_for_each(fails).is_err_and(is_large));
        let fails = |n| if is_large(n) { Err(n) } else { Ok(0) };
        let sum = huge().map(fails).try_reduce(|| 0, |a, b| Ok(a + b));
        assert!(sum.is_err_and(is_large));
        assert!(worker.par_bridge(0..).any(is_large));
    });
}

fn results_end_a_loop_early<M: Machine>(machine: &M) {
    on(machine, |worker| {
        let half = |n: u32| {
            if n.is_multiple_of(2) {
                Ok(n / 2)
            } else {
                Err(n)
            }
        };
        let all: Result<Vec<u32>, u32> = worker.par_iter(0..900).map(|n| half(2 * n)).collect();
        assert_eq!(all, Ok(Vec::from_iter(0..900)));
        let all: Result<Vec<u32>, u32> = worker.par_iter(0..900).map(half).collect();
        assert!(all.is_err_and(|n| n % 2 == 1));
        let all: Option<HashSet<u32>> = worker.par_iter(0..900).map(|n| half(n).ok()).collect();
        assert_eq!(all, None);
        let all: Option<Vec<u32>> = worker.par_iter(0..900).map(Some).collect();
        assert_eq!(all, Some(Vec::from_iter(0..900)));
        let sum = |a: u32, b: u32| a.checked_add(b).ok_or("too large");
        let all = worker.par_iter(0..900).map(Ok).try_reduce(|| 0, sum);
        assert_eq!(all, Ok(900 * 899 / 2));
        let all = worker
            .par_iter(0..900)
            .map(|n| Ok(n << 20))
            .try_reduce(|| 0, sum);
        assert_eq!(all, Err("too large"));
    });
}

fn functions_are_given_their_worker<M: Machine>(machine: &M) {
    on(machine, |worker| {
        let rows = Vec::from_iter((0..70_u64).map(|n| Vec::from_iter(0..n)));
        let sum = |worker: &Worker<'_, M::Spe>, row: &Vec<u64>| worker.par_iter(row).sum();
        let sums: Vec<u64> = worker.par_iter(&rows).map_with_worker(sum).collect();
        assert_eq!(
            sums,
            Vec::from_iter(rows.iter().map(|row| row.iter().sum()))
        );
        let total = Mutex::new(0);
        worker.par_iter(&rows).for_each_with_worker(|worker, row| {
            let sum: u64 = worker.par_iter(row).sum();
            *total.lock().unwrap() += sum;
        });
        assert_eq!(total.into_inner().unwrap(), sums.iter().sum::<u64>());
    });
}

fn more_items_than_the_greatest_length_lose_none<M: Machine>(machine: &M) {
    const MOST: usize = usize::MAX;
    static NOTHINGS: [(); MOST] = [(); MOST];
    on(machine, |worker| {
        let last = worker.par_iter(0..=u64::MAX).skip(MOST);
        assert_eq!(last.collect::<Vec<_>>(), [u64::MAX]);
        let last = worker.par_iter(0..=u64::MAX).skip(MOST - 1).skip(1);
        assert_eq!(last.collect::<Vec<_>>(), [u64::MAX]);
        let both = worker.par_iter(0..MOST).chain(0..MOST);
        assert_eq!(both.find_first(|n| *n == 100_000), Some(100_000));
        assert!(worker.par_windows(&NOTHINGS, 1).any(|_| true));
        assert_eq!(worker.par_windows(&NOTHINGS, MOST - 1).count(), 2);
    });
}

fn a_bridge_gives_each_item_once<M: Machine>(machine: &M) {
    on(machine, |worker| {
        for length in [0, 1, 5, 300] {
            let squares = worker
                .par_bridge((0..length).filter(|n| n % 3 > 0))
                .map(|n| n * n);
            let mut squares: Vec<usize> = squares.collect();
            squares.sort();
            let right = (0..length).filter(|n| n % 3 > 0).map(|n| n * n);
            assert_eq!(squares, Vec::from_iter(right));
            let both = worker.par_bridge(0..length).chain(0..10).count();
            assert_eq!(both, length + 10);
        }
        // An iterator that has panicked is not called again.
        let calls = AtomicUsize::new(0);
        let panics = (0..100).inspect(|&n| {
            calls.fetch_add(1, Ordering::Relaxed);
            assert!(n < 40, "the iterator panics");
        });
        let counted = catch_unwind(AssertUnwindSafe(|| worker.par_bridge(panics).count()));
        assert!(counted.is_err());
        assert_eq!(calls.into_inner(), 41);
    });
}

fn a_bridge_has_one_worker<M: Machine>(machine: &M) {
    let pool = || Pool::new(machine).workers(1);
    for length in 0..50 {
        let count = pool().run(|main| main.install(|worker| worker.par_bridge(0..length).count()));
        assert_eq!(count.unwrap(), length);
    }
}

/// A value that counts itself while it exists.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(living: &'a AtomicUsize) -> Self {
        living.fetch_add(1, Ordering::Relaxed);
        Self(living)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn items_of_a_vector_are_dropped_once<M: Machine>(machine: &M) {
    let living = AtomicUsize::new(0);
    on(machine, |worker| {
        let items = || Vec::from_iter((0..1_000).map(|_| Counted::new(&living)));
        let alive = || living.load(Ordering::Relaxed);
        drop(worker.par_iter(items()));
        assert_eq!(alive(), 0);
        worker.par_iter(items()).for_each(drop);
        assert_eq!(alive(), 0);
        let kept: Vec<Counted> = worker.par_iter(items()).skip(300).take(200).collect();
        assert_eq!((kept.len(), alive()), (200, 200));
        let pairs: Vec<(Counted, usize)> = worker.par_iter(kept).zip(0..50).collect();
        assert_eq!((pairs.len(), alive()), (50, 50));
        drop(pairs);
        assert!(worker.par_iter(items()).position_any(|_| true).is_some());
        assert_eq!(alive(), 0);
        let panics = || {
            worker
                .par_iter(items())
                .enumerate()
                .for_each(|(n, _)| assert!(n != 400))
        };
        assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
        assert_eq!(alive(), 0);
    });
}

fn collected_items_are_dropped_after_a_panic<M: Machine>(machine: &M) {
    let living = AtomicUsize::new(0);
    on(machine, |worker| {
        for at in [0, 1, 500, 999] {
            let new = |n| {
                assert!(n != at, "item {n} panics");
                Counted::new(&living)
            };
            let indexed = || worker.par_iter(0..1_000).map(new).collect::<Vec<_>>();
            assert!(catch_unwind(AssertUnwindSafe(indexed)).is_err());
            assert_eq!(living.load(Ordering::Relaxed), 0);
            let filtered = || {
                worker
                    .par_iter(0..1_000)
                    .map(new)
                    .filter(|_| true)
                    .collect::<Vec<_>>()
            };
            assert!(catch_unwind(AssertUnwindSafe(filtered)).is_err());
            assert_eq!(living.load(Ordering::Relaxed), 0);
        }
    });
}

/// A worker has a value for each loop that waits, so that two calls never have the same value.
fn values_of_a_loop_are_few_and_never_shared<M: Machine>(machine: &M) {
    on(machine, |worker| {
        let values = AtomicUsize::new(0);
        let items = || {
            let init = || (values.fetch_add(1, Ordering::Relaxed), false);
            worker.par_iter(0..40_000_u64).map_init(init, |value, n| {
                assert!(!std::mem::replace(&mut value.1, true), "in another call");
                value.1 = false;
                n
            })
        };
        let are_few = || {
            let values = values.swap(0, Ordering::Relaxed);
            assert!((1..=worker.workers()).contains(&values), "{values} values");
        };
        assert_eq!(items().sum::<u64>(), (0..40_000).sum());
        are_few();
        // These do not ask each block for the item after its last one.
        assert!(items().collect::<Vec<_>>().into_iter().eq(0..40_000));
        are_few();
        assert_eq!(worker.par_iter(0..40_000).zip(items()).count(), 40_000);
        are_few();
        let broken = catch_unwind(AssertUnwindSafe(|| {
            let items = worker.par_iter(0..1_000).map_init(Vec::new, |all, n| {
                assert!(n != 700, "at 700");
                all.push(Box::new(n));
            });
            items.count()
        }));
        assert_eq!(broken.unwrap_err().downcast_ref(), Some(&"at 700"));
    });
}

fn pieces_of_nothing_are_refused<M: Machine>(machine: &M) {
    on(machine, |worker| {
        let refuses = |what: &str, call: &dyn Fn()| {
            let refused = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
            let message = refused.downcast_ref::<String>().expect("a message");
            assert!(
                message.starts_with(&format!("`{what}` was asked for ")),
                "{message}"
            );
        };
        refuses("par_chunks", &|| drop(worker.par_chunks(&[1], 0)));
        refuses("par_chunks_mut", &|| {
            drop(worker.par_chunks_mut(&mut [1], 0))
        });
        refuses("par_windows", &|| drop(worker.par_windows(&[1], 0)));
        refuses("step_by", &|| drop(worker.par_iter(0..9).step_by(0)));
        refuses("chunks", &|| drop(worker.par_iter(0..9).chunks(0)));
    });
}

/// A source of a program, which says of any items that they have indices.
struct Lie<I>(I);

impl<S: Spe, I: Source<S>> Source<S> for Lie<I> {
    type Item = I::Item;
    type Items<'a>
        = I::Items<'a>
    where
        Self: 'a;
    const IS_INDEXED: bool = true;

    fn items(&mut self) -> I::Items<'_> {
        self.0.items()
    }
}

impl<S: Spe, I: Source<S>> Indexed<S> for Lie<I> {}

impl<S: Spe, I: Source<S>> IntoSource<S> for Lie<I> {
    type Item = I::Item;
    type Source = Self;

    fn into_source(self) -> Self {
        self
    }
}

fn a_source_that_lies_about_its_length_is_refused<M: Machine>(machine: &M) {
    let living = AtomicUsize::new(0);
    on(machine, |worker| {
        let new = |_| Box::new(Counted::new(&living));
        let few = worker.par_iter(0..5_000).filter(|n| n % 3 == 0).map(new);
        let lie = Lie(few.into_source());
        let collect = || worker.par_iter(lie).collect::<Vec<_>>();
        let refused = catch_unwind(AssertUnwindSafe(collect));
        let message = refused.err().unwrap().downcast::<String>().unwrap();
        assert!(message.starts_with("a source whose items have indices has fewer items"));
        assert_eq!(living.load(Ordering::Relaxed), 0);
        let many = worker.par_iter(0..5_000).flat_map(|n| [n, n]).map(new);
        let lie = Lie(many.into_source());
        assert_eq!(worker.par_iter(lie).collect::<Vec<_>>().len(), 5_000);
        assert_eq!(living.load(Ordering::Relaxed), 0);
    });
}

/// A chain of more items than a length can count.
#[test]
fn the_last_of_more_items_than_can_be_counted_is_refused() {
    on(&Host::new().unwrap(), |worker| {
        let all = || worker.par_iter(0..usize::MAX).chain(0..10_usize);
        let refused = |what: &str, call: &dyn Fn() -> Option<usize>| {
            let refused = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
            let expected = format!(
                "`{what}` was called on {} items or more, so that the last one is not known: use fewer items",
                usize::MAX
            );
            assert_eq!(refused.downcast_ref(), Some(&expected));
        };
        refused("rev", &|| all().rev().find_any(|_| true));
        refused("chunks", &|| {
            all().chunks(2).map(|list| list[0]).find_any(|_| true)
        });
    });
}

/// Items that may be sent but not shared, and functions that are not cloned.
#[test]
fn items_need_not_be_shared() {
    on(&Host::new().unwrap(), |worker| {
        let mut cells = Vec::from_iter((0..300).map(Cell::new));
        let by = String::from("four");
        worker
            .par_iter(&mut cells)
            .for_each(move |cell| cell.set(cell.get() + by.len()));
        let cells = worker.par_iter(cells).filter(|cell| cell.get() % 2 == 0);
        assert_eq!(
            cells.map(Cell::into_inner).sum::<usize>(),
            (2..152).sum::<usize>() * 2
        );
    });
}

/// Two items meet, so two workers run a loop at the same time: in a pool that has just begun, in
/// one whose other worker sleeps, and after loops that were too short to be shared.
#[test]
fn items_run_at_the_same_time_although_none_calls_the_pool() {
    let host = Host::builder().spes(2).build().unwrap();
    let mut places = host
        .topology()
        .spes()
        .map(|spe| host.topology().place_of(spe));
    if places.next() == places.next() {
        return;
    }
    drop(places);
    Pool::new(&host)
        .run(|main| {
            for length in [2, 3, 32, 33, 40, 1_000] {
                for pause in [0, 20] {
                    std::thread::sleep(Duration::from_millis(pause));
                    main.install(|worker| {
                        for _ in 0..if pause == 0 { 1_000 } else { 0 } {
                            worker
                                .par_iter(0..100)
                                .for_each(|n| _ = std::hint::black_box(n));
                        }
                        let came = [const { AtomicBool::new(false) }; 2];
                        let begin = Instant::now();
                        worker.par_iter(0..length).map(|n| n * 2 / length).for_each(
                            |half: usize| {
                                came[half].store(true, Ordering::Relaxed);
                                while !came[1 - half].load(Ordering::Relaxed) {
                                    assert!(
                                        begin.elapsed() < Duration::from_secs(60),
                                        "{length} items"
                                    );
                                    std::hint::spin_loop();
                                }
                            },
                        );
                    });
                }
            }
        })
        .unwrap();
}

/// The other worker falls asleep after the loop has begun, and before it has parts.
#[test]
fn items_run_at_the_same_time_although_the_first_value_takes_long() {
    let host = Host::builder().spes(2).build().unwrap();
    let spes = || host.topology().spes();
    let places = Vec::from_iter(spes().map(|spe| host.topology().place_of(spe)));
    if places[0] == places[1] {
        return;
    }
    on(&host, |worker| {
        let came = [const { AtomicBool::new(false) }; 2];
        let begin = Instant::now();
        let first = || std::thread::sleep(Duration::from_millis(20));
        let meet = |(), n: usize| {
            if n.is_multiple_of(500) {
                came[n / 500].store(true, Ordering::Relaxed);
                while !came[1 - n / 500].load(Ordering::Relaxed) {
                    assert!(begin.elapsed() < Duration::from_secs(60));
                    std::hint::spin_loop();
                }
            }
        };
        worker.par_iter(0..1_000).fold(first, meet, |(), ()| ());
    });
}

#[derive(Clone, Debug)]
enum Step {
    Map(u64),
    Filter(u64),
    FlatMap(u64),
    Chain(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0..4, 1..6_u64).prop_map(|(kind, by)| match kind {
        0 => Step::Map(by),
        1 => Step::Filter(by),
        2 => Step::FlatMap(by % 4),
        _ => Step::Chain(by * 20),
    });
    prop::collection::vec(step, 0..4)
}

proptest::proptest! {
    #![proptest_config(crate::random_cases())]

    #[test]
    fn random_chains_give_what_std_gives(
        numbers in prop::collection::vec(any::<u64>(), 0..600),
        steps in steps(),
    ) {
        let mut right = numbers.clone();
        for step in &steps {
            right = match *step {
                Step::Map(by) => right.into_iter().map(|n| n.wrapping_mul(by)).collect(),
                Step::Filter(by) => right.into_iter().filter(|n| n % by != 1).collect(),
                Step::FlatMap(by) => right.into_iter().flat_map(|n| n..n.saturating_add(by)).collect(),
                Step::Chain(by) => right.into_iter().chain(0..by).collect(),
            };
        }
        let ours = [run(&crate::host(), &numbers, &steps), run(&crate::qs22(), &numbers, &steps)];
        assert_eq!(ours, [right.clone(), right]);
    }
}

fn run<M: Machine>(machine: &M, numbers: &[u64], steps: &[Step]) -> Vec<u64> {
    on(machine, |worker| {
        let mut all = numbers.to_vec();
        for step in steps {
            let items = worker.par_iter(all);
            all = match *step {
                Step::Map(by) => items.map(|n| n.wrapping_mul(by)).collect(),
                Step::Filter(by) => items.filter(|n| n % by != 1).collect(),
                Step::FlatMap(by) => items.flat_map(|n| n..n.saturating_add(by)).collect(),
                Step::Chain(by) => items.chain(0..by).collect(),
            };
        }
        all
    })
}
