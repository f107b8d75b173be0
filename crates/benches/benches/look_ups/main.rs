//! Random look-ups in a table that no cache holds, one core: ordinary code that is interleaved,
//! beside the plain loop, beside pipelines written by hand, and beside what the memory allows. Then
//! the same where a cache does hold the table, and three structures of pointers.
//!
//! All systems are measured in turn, again and again, in one process, so that ratios hold on a
//! noisy machine. Prints Markdown tables: nanoseconds a miss as median (minimum-maximum) over the
//! repetitions, and the median over the repetitions of the ratio to the plain loop in the same
//! repetition.
//!
//! Run it with `cargo bench -p cellworks-benches --bench look_ups`. It takes some minutes and 5 GiB
//! of memory; `-- --small` takes 64 MiB, to see that it works.

mod by_hand;
mod memory;
mod structures;

use std::hint::black_box;
use std::slice;
use std::time::{Duration, Instant};

use cellworks_host::{Host, HostSpe};
use cellworks_machine::{InFlight, InterleavedSpe, Machine, Spe, SpeId};

use memory::{Pages, Table};

const REPETITIONS: usize = 11;
/// Misses in one measurement.
const MISSES: usize = 1 << 20;

/// A method of doing `probes` look-ups of `L` dependent misses each, and the sum of what they
/// found.
type Method<'a> = (&'a str, Box<dyn Fn(usize) -> u64 + 'a>);

fn main() {
    let is_small = std::env::args().any(|argument| argument == "--small");
    let bytes = if is_small { 64 << 20 } else { 4 << 30 };
    let host = Host::builder().spes(1).build().expect("one SPE");
    let run = host.run(|ppe| {
        let program = |spe: &HostSpe| {
            for pages in [Pages::Huge, Pages::Small] {
                let table = Table::new(bytes, pages);
                println!("\n## {} MiB, {pages}\n", bytes >> 20);
                limit(&table);
                look_ups::<1>(spe, &table);
                look_ups::<2>(spe, &table);
                look_ups::<4>(spe, &table);
            }
            for bytes in [16 << 10, 256 << 10] {
                let table = Table::new(bytes, Pages::Huge);
                println!("\n## {} KiB, which a cache holds\n", bytes >> 10);
                look_ups::<1>(spe, &table);
                look_ups::<2>(spe, &table);
                look_ups::<4>(spe, &table);
            }
            structures::measure(spe, bytes);
        };
        ppe.spawn(SpeId::new(0), program).join()
    });
    run.expect("nobody waits for anybody")
        .expect("the program does not panic");
}

/// A key that looks random, and is the same each time.
fn key(probe: usize) -> u64 {
    let mixed = (probe as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// Where a look-up that has found `word` goes on.
#[inline(always)]
fn follow(word: u64, key: u64, mask: usize) -> usize {
    (word ^ key) as usize & mask
}

/// The ordinary code: stages an entry, waits for it, and follows it.
#[inline(always)]
fn look_up<const L: usize, S: Spe>(spe: InterleavedSpe<'_, S>, table: &[u64], key: u64) -> u64 {
    let mask = table.len() - 1;
    let mut at = key as usize & mask;
    let mut word = 0;
    for _ in 0..L {
        word = spe
            .stage(slice::from_ref(&table[at]))
            .expect("room for a word")[0];
        at = follow(word, key, mask);
    }
    word
}

fn plain<const L: usize>(table: &[u64], probes: usize) -> u64 {
    let mask = table.len() - 1;
    let mut sum = 0_u64;
    for probe in 0..probes {
        let key = key(probe);
        let mut at = key as usize & mask;
        let mut word = 0;
        for _ in 0..L {
            word = table[at];
            at = follow(word, key, mask);
        }
        sum = sum.wrapping_add(word);
    }
    sum
}

/// The plain loop, one look-up after the other: the compiler works on none together with another
/// one in the registers for vectors, as it cannot where each may let other threads run.
fn one_by_one<const L: usize>(table: &[u64], probes: usize) -> u64 {
    let mask = table.len() - 1;
    let mut sum = 0_u64;
    for probe in 0..probes {
        let key = key(probe);
        let mut at = key as usize & mask;
        let mut word = 0;
        for _ in 0..L {
            word = table[at];
            at = follow(black_box(word), key, mask);
        }
        sum = sum.wrapping_add(word);
    }
    sum
}

fn interleaved<const L: usize>(
    spe: &HostSpe,
    table: &[u64],
    in_flight: InFlight,
    probes: usize,
) -> (u64, usize) {
    let mut sum = 0_u64;
    let done = spe
        .interleave(in_flight, 0..probes, move |spe, probe| {
            look_up::<L, _>(spe, table, key(probe))
        })
        .as_completed(|_, word| sum = sum.wrapping_add(word))
        .expect("a host needs no room for stacks");
    (sum, done.in_flight)
}

fn look_ups<const L: usize>(spe: &HostSpe, table: &Table) {
    let table = table.words();
    let methods: Vec<Method<'_>> = vec![
        ("plain loop", Box::new(|probes| plain::<L>(table, probes))),
        (
            "plain loop, one by one",
            Box::new(|probes| one_by_one::<L>(table, probes)),
        ),
        (
            "group prefetching, 32",
            Box::new(|probes| by_hand::group::<L, 32>(table, probes)),
        ),
        (
            "group prefetching, 64",
            Box::new(|probes| by_hand::group::<L, 64>(table, probes)),
        ),
        (
            "group prefetching, 128",
            Box::new(|probes| by_hand::group::<L, 128>(table, probes)),
        ),
        (
            "AMAC, 32",
            Box::new(|probes| by_hand::amac::<L, 32>(table, probes)),
        ),
        (
            "AMAC, 64",
            Box::new(|probes| by_hand::amac::<L, 64>(table, probes)),
        ),
        (
            "AMAC, 128",
            Box::new(|probes| by_hand::amac::<L, 128>(table, probes)),
        ),
        (
            "futures, polled by hand, 32",
            Box::new(|probes| by_hand::futures::<L, 32>(table, probes)),
        ),
        (
            "futures, polled by hand, 64",
            Box::new(|probes| by_hand::futures::<L, 64>(table, probes)),
        ),
        (
            "futures, polled by hand, 128",
            Box::new(|probes| by_hand::futures::<L, 128>(table, probes)),
        ),
        (
            "**interleave**, 1",
            Box::new(|probes| interleaved::<L>(spe, table, 1.into(), probes).0),
        ),
        (
            "**interleave**, 32",
            Box::new(|probes| interleaved::<L>(spe, table, 32.into(), probes).0),
        ),
        (
            "**interleave**, 64",
            Box::new(|probes| interleaved::<L>(spe, table, 64.into(), probes).0),
        ),
        (
            "**interleave**, 128",
            Box::new(|probes| interleaved::<L>(spe, table, 128.into(), probes).0),
        ),
        (
            "**interleave**, automatic",
            Box::new(|probes| interleaved::<L>(spe, table, InFlight::Automatic, probes).0),
        ),
    ];
    let chosen = interleaved::<L>(spe, table, InFlight::Automatic, MISSES / L).1;
    println!("\nChains of {L}; the automatic choice is {chosen}:\n");
    compare(&methods, MISSES / L, L);
}

/// As many misses as a core can have under way: so many chains of pointers, followed in turn.
fn limit(table: &Table) {
    fn chase<const K: usize>(table: &[u64], misses: usize) -> u64 {
        let mask = table.len() - 1;
        let mut at: [usize; K] = std::array::from_fn(|chain| key(chain) as usize & mask);
        for step in 0..misses / K {
            for at in &mut at {
                // Without the step, chains would run into cycles that a cache holds.
                *at = follow(table[*at], step as u64, mask);
            }
        }
        at.iter().sum::<usize>() as u64
    }
    let table = table.words();
    let methods: Vec<Method<'_>> = vec![
        ("1", Box::new(|misses| chase::<1>(table, misses / 8))),
        ("8", Box::new(|misses| chase::<8>(table, misses))),
        ("12", Box::new(|misses| chase::<12>(table, misses))),
        ("16", Box::new(|misses| chase::<16>(table, misses))),
        ("24", Box::new(|misses| chase::<24>(table, misses))),
        ("32", Box::new(|misses| chase::<32>(table, misses))),
        ("64", Box::new(|misses| chase::<64>(table, misses))),
        ("128", Box::new(|misses| chase::<128>(table, misses))),
    ];
    println!(
        "\nSo many pointer chases at once, which is the limit (the first has an eighth of the misses):\n"
    );
    let rounds = rounds(&methods, MISSES);
    print(&methods, &rounds, MISSES);
}

/// Measures all methods in turn, and checks that they find the same.
fn compare(methods: &[Method<'_>], probes: usize, misses_per_probe: usize) {
    let found: Vec<u64> = methods.iter().map(|(_, run)| run(probes)).collect();
    for ((name, _), found_here) in methods.iter().zip(&found) {
        assert_eq!(*found_here, found[0], "{name} finds something else");
    }
    print(methods, &rounds(methods, probes), probes * misses_per_probe);
}

fn rounds(methods: &[Method<'_>], probes: usize) -> Vec<Vec<Duration>> {
    let time = |run: &dyn Fn(usize) -> u64| {
        let start = Instant::now();
        black_box(run(black_box(probes)));
        start.elapsed()
    };
    (0..REPETITIONS)
        .map(|_| methods.iter().map(|(_, run)| time(run)).collect())
        .collect()
}

fn print(methods: &[Method<'_>], rounds: &[Vec<Duration>], misses: usize) {
    println!("| method | ns a miss | ratio |\n|---|---|---|");
    for (method, (name, _)) in methods.iter().enumerate() {
        let times = sorted(
            rounds
                .iter()
                .map(|round| round[method].as_secs_f64() * 1e9 / misses as f64),
        );
        let ratios = sorted(
            rounds
                .iter()
                .map(|round| round[method].as_secs_f64() / round[0].as_secs_f64()),
        );
        let (middle, last) = (times.len() / 2, times.len() - 1);
        println!(
            "| {name} | {:.2} ({:.2}-{:.2}) | {:.3} |",
            times[middle], times[0], times[last], ratios[middle]
        );
    }
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}
