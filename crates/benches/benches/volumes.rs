//! What it costs a network to count what goes from process to process, and a pool to count what its
//! workers take from each other: a channel from one process to another, a tree of small tasks and a
//! loop, in networks and pools that count and in ones that do not, in turns.
//!
//! Prints a Markdown table: nanoseconds for each item of the channel, leaf of the tree or item of
//! the loop, as median (minimum-maximum) over the pairs of runs, and the median of the ratios of
//! each pair. The goal is a ratio of at most 1.02.
//!
//! Run it with `cargo bench -p cellworks-benches --bench volumes`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use cellworks_csp::{Channel, Network};
use cellworks_host::Host;
use cellworks_machine::{Machine, Spe, SpeId};
use cellworks_tasks::{Main, Pool, Worker};

/// The number of pairs of runs that count. One before them warms up.
const PAIRS: usize = 31;

/// The number of items of a measurement. A tenth as many go before them.
const ITEMS: u64 = 1_000_000;

/// The joins from the root of the tree to a leaf.
const LEVELS: u32 = 18;

/// The names of the channels, their numbers of SPEs, and the sizes of their buffers.
const CHANNELS: [(&str, usize, usize); 5] = [
    ("buffer of 1,024, one CPU", 1, 1_024),
    ("buffer of 8, one CPU", 1, 8),
    ("rendezvous, one CPU", 1, 0),
    ("buffer of 1,024, two CPUs", 2, 1_024),
    ("rendezvous, two CPUs", 2, 0),
];

fn main() {
    println!("| program | not counted, ns | counted, ns | ratio |");
    println!("|---|---|---|---|");
    for (name, spes, capacity) in CHANNELS {
        compare(&format!("channel, {name}"), spes, |host, counts| {
            let reader = SpeId::new(spes as u16 - 1);
            ns_of_an_item(host, reader, capacity, counts)
        });
    }
    for (cpus, spes) in [("one CPU", 1), ("two CPUs", 2)] {
        compare(&format!("tree of tasks, {cpus}"), spes, |host, counts| {
            on_a_pool(host, counts, 1 << LEVELS, |worker| {
                assert_eq!(leaves(worker, black_box(LEVELS)), 1 << LEVELS);
            })
        });
        compare(&format!("for_each, {cpus}"), spes, |host, counts| {
            on_a_pool(host, counts, ITEMS, |worker| {
                worker.for_each(0..ITEMS as usize, |_, item| {
                    black_box(item);
                });
            })
        });
    }
}

/// Prints the row of a program, which returns its nanoseconds, and is told whether it counts.
fn compare(name: &str, spes: usize, program: impl Fn(&Host, bool) -> f64) {
    let Ok(host) = Host::builder().spes(spes).build() else {
        println!("| {name} | left out: this computer has too few CPUs | | |");
        return;
    };
    let mut times = [Vec::new(), Vec::new()];
    for pair in 0..=PAIRS {
        // The first of a pair is by turns the one that counts and the other one.
        for turn in [pair % 2, 1 - pair % 2] {
            let ns = program(&host, turn == 1);
            if pair > 0 {
                times[turn].push(ns);
            }
        }
    }
    let ratios = times[0].iter().zip(&times[1]).map(|(off, on)| on / off);
    let ratio = median(&mut ratios.collect::<Vec<_>>());
    let [off, on] = times.map(|mut ns| {
        let middle = median(&mut ns);
        format!("{middle:.2} ({:.2}-{:.2})", ns[0], ns[ns.len() - 1])
    });
    println!("| {name} | {off} | {on} | {ratio:.3} |");
}

/// Sorts the numbers.
fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// Nanoseconds for each of `items` items of `work` on a worker of a pool. The first time that it
/// runs does not count.
fn on_a_pool(
    host: &Host,
    counts: bool,
    items: u64,
    work: impl Fn(&Worker<'_, <Host as Machine>::Spe>) + Sync,
) -> f64 {
    let main = |main: &Main<'_, Host>| {
        main.install(|worker| {
            work(worker);
            let start = Instant::now();
            work(worker);
            start.elapsed()
        })
    };
    let pool = Pool::new(host);
    let took = if counts {
        pool.run_counted(main).map(|(took, _)| took)
    } else {
        pool.run(main)
    };
    took.expect("no task fails").as_nanos() as f64 / items as f64
}

fn leaves<S: Spe>(worker: &Worker<'_, S>, levels: u32) -> u64 {
    if levels == 0 {
        return 1;
    }
    let (a, b) = worker.join(|w| leaves(w, levels - 1), |w| leaves(w, levels - 1));
    a + b
}

fn ns_of_an_item(host: &Host, at: SpeId, capacity: usize, counts: bool) -> f64 {
    let (mut writer, mut reader) = Channel::new().buffered(capacity).one_to_one::<u64>();
    let mut took = Duration::ZERO;
    let took_here = &mut took;
    let mut network = Network::on(host);
    network.process("writer", SpeId::new(0), move |process| {
        Ok((0..ITEMS / 10 + ITEMS).try_for_each(|number| writer.write(process, number))?)
    });
    network.process("reader", at, move |process| {
        let mut start = Instant::now();
        for number in 0..ITEMS / 10 + ITEMS {
            if number == ITEMS / 10 {
                start = Instant::now();
            }
            black_box(reader.read(process)?);
        }
        *took_here = start.elapsed();
        Ok(())
    });
    if counts {
        let _counted = network.count_volumes();
    }
    network
        .run()
        .expect("no process waits for ever, fails or panics");
    took.as_nanos() as f64 / ITEMS as f64
}
