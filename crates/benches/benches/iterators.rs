//! Compares parallel iterators on a pool of two workers with those of rayon with two threads, and
//! with the iterators of the standard library on one thread. The systems take turns in one process.
//!
//! The programs are those of people who port from rayon: loops over slices, sums, searches,
//! collections and loops in loops. Each line of a program differs only in how the iterator begins.
//!
//! Run it with `cargo bench -p cellworks-benches --bench iterators`. If words follow `--`, only
//! tables with one of these words in the title are measured.

#[path = "channels/cpus.rs"]
#[allow(dead_code, reason = "another benchmark uses the rest")]
mod cpus;
#[path = "channels/table.rs"]
#[allow(dead_code, reason = "another benchmark uses the rest")]
mod table;

use std::collections::HashMap;
use std::hint::black_box;
use std::time::Instant;

use cellworks_host::{Host, HostSpe};
use cellworks_tasks::{Pool, Worker};
use rayon::prelude::{
    IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator,
    IntoParallelRefMutIterator, ParallelIterator,
};
use table::{compare, system};

const COUNT: usize = 1_000_000;
const WORDS: usize = 50_000;
const BODIES: usize = 500;

type Body = [f64; 3];

/// Nanoseconds for each of 20 calls, after one that is not measured.
fn each<R>(mut call: impl FnMut() -> R) -> f64 {
    const CALLS: usize = 20;
    black_box(call());
    let begin = Instant::now();
    (0..CALLS).for_each(|_| _ = black_box(call()));
    begin.elapsed().as_nanos() as f64 / CALLS as f64
}

/// Adds the pull of another body to an acceleration.
fn add_pull(mut sum: Body, body: &Body, other: &Body) -> Body {
    let distance: Body = std::array::from_fn(|axis| other[axis] - body[axis]);
    let square = distance.iter().map(|d| d * d).sum::<f64>() + 0.01;
    let pull = 1.0 / (square * square.sqrt());
    (0..3).for_each(|axis| sum[axis] += pull * distance[axis]);
    sum
}

fn plus(a: Body, b: Body) -> Body {
    std::array::from_fn(|axis| a[axis] + b[axis])
}

fn count<'t>(mut counts: HashMap<&'t str, u32>, word: &&'t str) -> HashMap<&'t str, u32> {
    *counts.entry(*word).or_default() += 1;
    counts
}

fn counted<'t>(
    mut all: HashMap<&'t str, u32>,
    counts: HashMap<&'t str, u32>,
) -> HashMap<&'t str, u32> {
    counts
        .into_iter()
        .for_each(|(word, count)| *all.entry(word).or_default() += count);
    all
}

fn main() {
    let host = Host::builder().spes(2).build();
    let host = host.expect("this computer can be measured");
    // Without this, both threads often share a CPU, and rayon takes twice as long.
    let cpus = cpus::allowed();
    let threads = rayon::ThreadPoolBuilder::new().num_threads(2);
    let threads = threads.start_handler(move |thread| cpus::use_only(&[cpus[thread % cpus.len()]]));
    let threads = threads.build().expect("rayon can start two threads");

    /// Compares a program of one thread, one that is given a worker, and one of rayon. Each has its
    /// own copies of the data that it changes.
    macro_rules! program {
        (
            $title:expr; $($name:ident = $copy:expr),*; $alone:expr,
            |$worker:ident| $ours:expr, $rayon:expr $(,)?
        ) => {
            compare(
                $title,
                vec![
                    system("one thread", || {
                        $(let mut $name = $copy;)*
                        each(|| $alone)
                    }),
                    system("**cellworks**", || {
                        $(let mut $name = $copy;)*
                        let measure = |$worker: &Worker<'_, HostSpe>| each(|| $ours);
                        let measured = Pool::new(&host).run(|main| main.install(measure));
                        measured.expect("no task fails")
                    }),
                    system("rayon", || {
                        $(let mut $name = $copy;)*
                        threads.install(|| each(|| $rayon))
                    }),
                ],
            );
        };
    }

    let numbers = Vec::from_iter((0..COUNT as u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let x = Vec::from_iter((0..COUNT).map(|n| (n % 1_000) as f32));
    let names = Vec::from_iter((0..5_000).map(|n| format!("word{n}")));
    let words = Vec::from_iter((0..WORDS).map(|n| names[n % 5_000].as_str()));
    let coordinate = |n: usize| [n, n * 7 % 13, n * 3 % 11].map(|n| n as f64);
    let bodies: Vec<Body> = (0..BODIES).map(coordinate).collect();
    let on_body = |body: &Body| {
        let others = bodies.iter();
        others.fold([0.0; 3], |sum, other| add_pull(sum, body, other))
    };

    let increment = |y: &mut f32| *y += 1.0;
    program!(
        "Increment of a million f32"; y = x.clone();
        y.iter_mut().for_each(increment),
        |w| w.par_iter(&mut y).for_each(increment),
        y.par_iter_mut().for_each(increment),
    );
    let axpy = |(y, x): (&mut f32, &f32)| *y += 0.5 * x;
    program!(
        "y = ax + y over a million f32"; y = x.clone();
        y.iter_mut().zip(&x).for_each(axpy),
        |w| w.par_iter(&mut y).zip(&x).for_each(axpy),
        y.par_iter_mut().zip(&x).for_each(axpy),
    );
    program!(
        "y = ax + y over 32,000 f32"; y = x[..32_000].to_vec();
        y.iter_mut().zip(&x).for_each(axpy),
        |w| w.par_iter(&mut y).zip(&x).for_each(axpy),
        y.par_iter_mut().zip(&x).for_each(axpy),
    );
    let swap = |(y, z): (&mut f32, &mut f32)| std::mem::swap(y, z);
    program!(
        "Swap of two slices of a million f32"; y = x.clone(), z = x.clone();
        y.iter_mut().zip(&mut z).for_each(swap),
        |w| w.par_iter(&mut y).zip(&mut z).for_each(swap),
        y.par_iter_mut().zip(&mut z).for_each(swap),
    );
    program!(
        "Sum of a million u64";;
        numbers.iter().sum::<u64>(),
        |w| w.par_iter(&numbers).sum::<u64>(),
        numbers.par_iter().sum::<u64>(),
    );
    program!(
        "Greatest of a million u64";;
        numbers.iter().max(),
        |w| w.par_iter(&numbers).max(),
        numbers.par_iter().max(),
    );
    program!(
        "Product of a million numbers by reduce";;
        (1..=COUNT as u64).fold(1, u64::wrapping_mul),
        |w| w.par_iter(1..=COUNT as u64).reduce(|| 1, u64::wrapping_mul),
        (1..=COUNT as u64)
            .into_par_iter()
            .reduce(|| 1, u64::wrapping_mul),
    );
    let triple = |n: &u64| n.wrapping_mul(3);
    program!(
        "A million u64, mapped and collected";;
        numbers.iter().map(triple).collect::<Vec<u64>>(),
        |w| w.par_iter(&numbers).map(triple).collect::<Vec<u64>>(),
        numbers.par_iter().map(triple).collect::<Vec<u64>>(),
    );
    let is_multiple = |n: &&u64| n.is_multiple_of(3);
    program!(
        "A third of a million u64, filtered and collected";;
        numbers.iter().filter(is_multiple).collect::<Vec<&u64>>(),
        |w| w
            .par_iter(&numbers)
            .filter(is_multiple)
            .collect::<Vec<&u64>>(),
        numbers
            .par_iter()
            .filter(is_multiple)
            .collect::<Vec<&u64>>(),
    );
    let is_negative = |x: &f32| *x < 0.0;
    program!(
        "Search in a million f32 for the first of none";;
        x.iter().position(is_negative),
        |w| w.par_iter(&x).position_first(is_negative),
        x.par_iter().position_first(is_negative),
    );
    program!(
        "Search in a million u64 for any of none";;
        numbers.iter().find(|n| **n == 5),
        |w| w.par_iter(&numbers).find_any(|n| **n == 5),
        numbers.par_iter().find_any(|n| **n == 5),
    );
    program!(
        "Count of 5,000 different words among 50,000";;
        words.iter().fold(HashMap::new(), count),
        |w| w.par_iter(&words).fold(HashMap::new, count, counted),
        words
            .par_iter()
            .fold(HashMap::new, count)
            .reduce(HashMap::new, counted),
    );
    program!(
        "Bodies: the pull of 500 on each of 500";;
        bodies.iter().map(on_body).collect::<Vec<Body>>(),
        |w| w.par_iter(&bodies).map(on_body).collect::<Vec<Body>>(),
        bodies.par_iter().map(on_body).collect::<Vec<Body>>(),
    );
    program!(
        "Bodies: the same by a loop in a loop";;
        bodies.iter().map(on_body).collect::<Vec<Body>>(),
        |w| {
            let on_body = |w: &Worker<'_, HostSpe>, body: &Body| {
                let add = |sum, other: &Body| add_pull(sum, body, other);
                w.par_iter(&bodies).fold(|| [0.0; 3], add, plus)
            };
            let pulls = w.par_iter(&bodies).map_with_worker(on_body);
            pulls.collect::<Vec<Body>>()
        },
        bodies
            .par_iter()
            .map(|body| {
                let add = |sum, other: &Body| add_pull(sum, body, other);
                let sums = bodies.par_iter().fold(|| [0.0; 3], add);
                sums.reduce(|| [0.0; 3], plus)
            })
            .collect::<Vec<Body>>(),
    );
}
