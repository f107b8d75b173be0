//! Compares interleaved work of ordinary code with the plain loop and with pipelines written by
//! hand: random look-ups on one core. The look-ups are in tables of words, some of which fit into a
//! cache, and in three structures of pointers.
//!
//! All methods take turns in every repetition, in one process, so that ratios hold on a noisy
//! machine. Prints Markdown tables: nanoseconds a miss as median (minimum-maximum) over the
//! repetitions, and the median of the ratio to the plain loop in the same repetition.
//!
//! Run it with `cargo bench -p cellworks-benches --bench look_ups`. It takes some minutes and 5 GiB
//! of memory. With `-- "64 MiB"` it measures only tables with these words in the title.

mod by_hand;
mod memory;
mod structures;
#[path = "../channels/table.rs"]
#[allow(dead_code, reason = "the other benchmark uses the rest")]
mod table;

use std::cell::{Cell, LazyCell};
use std::hint::black_box;
use std::slice;
use std::time::Instant;

use cellworks_host::{Host, HostSpe};
use cellworks_machine::{InFlight, InterleavedSpe, Machine, Spe, SpeId};

use memory::{Pages, Table};
use table::{System, compare, system};

/// The number of misses in one measurement.
const MISSES: usize = 1 << 20;

/// Sizes of tables and structures that do not fit into a second-level cache.
const LARGE: [(usize, &str); 2] = [(64 << 20, "64 MiB"), (4 << 30, "4 GiB")];
/// Sizes of tables that fit into a cache.
const SMALL: [(usize, &str); 2] = [(16 << 10, "16 KiB"), (256 << 10, "256 KiB")];

fn main() {
    let host = Host::builder().spes(1).build().expect("one SPE");
    let run = host.run(|ppe| {
        let program = |spe: &HostSpe| {
            for (bytes, size) in LARGE.into_iter().chain(SMALL) {
                for pages in [Pages::Huge, Pages::Small] {
                    let table = LazyCell::new(|| Table::new(bytes, pages));
                    let title = format!("{size} in {pages}");
                    look_ups::<1>(spe, &table, &title);
                    look_ups::<2>(spe, &table, &title);
                    look_ups::<4>(spe, &table, &title);
                }
            }
            for (bytes, size) in LARGE {
                structures::measure(spe, bytes, size);
            }
        };
        ppe.spawn(SpeId::new(0), program).join()
    });
    run.expect("no thread waits for another one")
        .expect("the program does not panic");
}

/// A key that looks random, but is the same in every run.
fn key(probe: usize) -> u64 {
    let mixed = (probe as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// The index at which a look-up goes on after it has read `word`.
#[inline(always)]
fn follow(word: u64, key: u64, mask: usize) -> usize {
    (word ^ key) as usize & mask
}

/// The ordinary code: stages an entry, waits for the entry, and follows it.
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

/// The sum of the results of interleaved work on the inputs from 0 to `probes`.
fn interleave(
    spe: &HostSpe,
    in_flight: InFlight,
    probes: usize,
    body: impl Fn(InterleavedSpe<'_, HostSpe>, usize) -> u64,
) -> u64 {
    let mut sum = 0_u64;
    spe.interleave(in_flight, 0..probes, body)
        .as_completed(|_, word| sum = sum.wrapping_add(word))
        .expect("a host needs no room for stacks");
    sum
}

/// The state that the methods of one table share.
struct Work {
    probes: usize,
    misses_per_probe: usize,
    /// The result of the first method. The other methods must have the same result.
    found: Cell<Option<u64>>,
}

impl Work {
    fn new(probes: usize, misses_per_probe: usize) -> Self {
        Self {
            probes,
            misses_per_probe,
            found: Cell::new(None),
        }
    }

    /// A method that does a number of look-ups, and returns the sum of their results.
    fn method<'a>(&'a self, name: &'a str, run: impl Fn(usize) -> u64 + 'a) -> System<'a> {
        system(name, move || {
            let start = Instant::now();
            let found = black_box(run(black_box(self.probes)));
            let took = start.elapsed();
            let expected = self.found.get().unwrap_or(found);
            assert_eq!(found, expected, "{name} finds something else");
            self.found.set(Some(found));
            took.as_secs_f64() * 1e9 / (self.probes * self.misses_per_probe) as f64
        })
    }
}

fn look_ups<const L: usize>(
    spe: &HostSpe,
    table: &LazyCell<Table, impl FnOnce() -> Table>,
    title: &str,
) {
    let work = Work::new(MISSES / L, L);
    let by_hand = |name, run: fn(&[u64], usize) -> u64| {
        work.method(name, move |probes| run(table.words(), probes))
    };
    let interleaved = |name, in_flight: InFlight| {
        work.method(name, move |probes| {
            let table = table.words();
            let body = move |spe: InterleavedSpe<'_, HostSpe>, probe| {
                look_up::<L, _>(spe, table, key(probe))
            };
            interleave(spe, in_flight, probes, body)
        })
    };
    let methods = vec![
        by_hand("plain loop", plain::<L>),
        by_hand("AMAC, 32", by_hand::amac::<L, 32, 1>),
        by_hand("AMAC, 64", by_hand::amac::<L, 64, 1>),
        by_hand("AMAC, 128", by_hand::amac::<L, 128, 1>),
        by_hand("AMAC into L2, 64", by_hand::amac::<L, 64, 2>),
        by_hand("AMAC into L2, 128", by_hand::amac::<L, 128, 2>),
        by_hand("group prefetching, 64", by_hand::group::<L, 64, 1>),
        by_hand("group prefetching into L2, 64", by_hand::group::<L, 64, 2>),
        by_hand(
            "group prefetching into L2, 128",
            by_hand::group::<L, 128, 2>,
        ),
        by_hand("futures, polled by hand, 64", by_hand::futures::<L, 64, 1>),
        interleaved("**interleave**, 1", 1.into()),
        interleaved("**interleave**, 32", 32.into()),
        interleaved("**interleave**, 64", 64.into()),
        interleaved("**interleave**, 128", 128.into()),
        interleaved("**interleave**, automatic", InFlight::Automatic),
    ];
    compare(&format!("{title}, chains of {L}"), methods);
}
