//! Twelve figures. No change may make one of them slower by more than 3 %.
//!
//! Without `--old` the program prints its figures. With `--old` and the same program of another
//! build, it runs both programs in turn and compares them:
//!
//! ```text
//! cargo bench -p cellworks-benches --bench guard --no-run   # in the old checkout; prints PROGRAM
//! cargo bench -p cellworks-benches --bench guard -- --old PROGRAM
//! ```
//!
//! A pair is one run of each program. Which program is first changes from pair to pair. A pair
//! gives one ratio of new to old for each figure. The program prints the medians, and the interval
//! that contains the median of the ratio with a probability of 95 %. The interval is computed only
//! from the order of the ratios. A figure has become slower if the whole interval is above 1.03.

#[path = "../channels/cpus.rs"]
#[allow(dead_code, reason = "the other benchmark uses the rest")]
mod cpus;
#[path = "../look_ups/memory.rs"]
#[allow(dead_code, reason = "the other benchmark uses the rest")]
mod memory;
#[path = "../channels/ours.rs"]
#[allow(dead_code, reason = "the other benchmark uses the rest")]
mod ours;

use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use cellworks_csp::Channel;
use cellworks_host::{Host, HostSpe};
use cellworks_machine::mfc::{LsAddr, RawCommand, Tag};
use cellworks_machine::{
    CellMachine, CellSpe, InFlight, InterleavedSpe, Machine, Mfc, ModuleId, Spe, SpeId,
};
use cellworks_sim::{Description, Sim, SimSpe};
use cellworks_threads::{Config, NoOutside, run, scope, yield_now};
use memory::{Pages, Table};

const PAIRS: usize = 20;
/// With a probability of 95 %, the true median lies between these places of the 20 sorted ratios.
/// With a probability of 2.1 % each, at most 5 of 20 ratios lie below it, or at most 5 above it.
const INTERVAL: [usize; 2] = [5, 14];
const SLOWER: f64 = 1.03;
/// The number of measurements of a figure in one run. Their median counts.
const REPETITIONS: usize = 3;

/// A figure: its name, and a measurement that returns nanoseconds.
type Figure = (&'static str, fn() -> f64);

const ON_ONE_CPU: [Figure; 8] = [
    ("yield, 16 threads", yields),
    ("create, run and join", create),
    ("CommsTime, channels of one SPE", || {
        ours::comms_time(&ours::host(1), Channel::local, 50_000)
    }),
    ("CommsTime", || {
        ours::comms_time(&ours::host(1), Channel::new, 50_000)
    }),
    ("ping-pong on one SPE", || {
        ours::ping_pong_on_one_spe(&ours::host(1), Channel::new, 100_000)
    }),
    ("alternation over 8 channels", || {
        ours::alternation(&ours::host(1), Channel::new, 8, 100_000)
    }),
    ("alternation over 64 channels", || {
        ours::alternation(&ours::host(1), Channel::new, 64, 100_000)
    }),
    ("a look-up of 2 steps in 64 MiB", look_up),
];

const ON_ALL_CPUS: [Figure; 4] = [
    ("ping-pong between two SPEs", || {
        ours::ping_pong(&ours::host(2), 1, &1_u64, 20_000, Duration::ZERO)
    }),
    ("buffered between two SPEs", || {
        ours::stream(
            &ours::host(2),
            Channel::new().buffered(1024),
            [0, 1],
            300_000,
            1,
        )
    }),
    ("a simulated message", message),
    ("a simulated packet", packet),
];

fn main() {
    let arguments: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| a != "--bench")
        .collect();
    match arguments.as_slice() {
        [] => measure_all(),
        [flag, old] if flag == "--old" => compare(Path::new(old)),
        _ => panic!("usage: guard [--old PROGRAM], not {arguments:?}"),
    }
}

fn measure_all() {
    let all = cpus::allowed();
    for (name, measure) in ON_ALL_CPUS {
        println!("{name}\t{}", median((0..REPETITIONS).map(|_| measure())));
    }
    cpus::use_only(&[*all.last().expect("a process may use a CPU")]);
    for (name, measure) in ON_ONE_CPU {
        println!("{name}\t{}", median((0..REPETITIONS).map(|_| measure())));
    }
}

/// Runs a build of this program. Returns its figures in the order in which the build prints them.
fn figures_of(program: &Path) -> Vec<(String, f64)> {
    let output = Command::new(program).output();
    let output = output.unwrap_or_else(|error| panic!("cannot run {}: {error}", program.display()));
    assert!(
        output.status.success(),
        "{} ended with {}: {}",
        program.display(),
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).expect("it prints text");
    let line = |line: &str| {
        let (name, ns) = line.split_once('\t').expect("a name and a figure");
        (name.to_owned(), ns.parse().expect("a figure"))
    };
    text.lines().map(line).collect()
}

fn compare(old: &Path) {
    let new = std::env::current_exe().expect("this program has a path");
    let mut pairs = Vec::new();
    for pair in 0..PAIRS {
        eprint!("\r{pair} of {PAIRS} pairs");
        pairs.push(match pair % 2 {
            0 => {
                let before = figures_of(old);
                (before, figures_of(&new))
            }
            _ => {
                let after = figures_of(&new);
                (figures_of(old), after)
            }
        });
    }
    eprintln!("\r{PAIRS} of {PAIRS} pairs");
    println!("| figure | old, ns | new, ns | new to old | 95 % of its median | |");
    println!("|---|---|---|---|---|---|");
    for figure in 0..pairs[0].0.len() {
        let name = &pairs[0].0[figure].0;
        let of = |figures: &[(String, f64)]| {
            assert_eq!(
                figures[figure].0, *name,
                "both builds print the same figures"
            );
            figures[figure].1
        };
        let before = median(pairs.iter().map(|(old, _)| of(old)));
        let after = median(pairs.iter().map(|(_, new)| of(new)));
        let ratios = sorted(pairs.iter().map(|(old, new)| of(new) / of(old)));
        let [low, high] = INTERVAL.map(|place| ratios[place]);
        println!(
            "| {name} | {before:.2} | {after:.2} | {:.3} | {low:.3} to {high:.3} | {} |",
            median(ratios.iter().copied()),
            if low > SLOWER { "slower" } else { "" }
        );
    }
}

fn yields() -> f64 {
    const THREADS: usize = 16;
    const ROUNDS: usize = 100_000;
    let config = Config::default();
    let start = Instant::now();
    let outcome = run(&config, &NoOutside, || {
        scope(|threads| {
            for _ in 0..THREADS {
                threads.spawn(|| (0..ROUNDS).for_each(|_| yield_now()));
            }
        });
    });
    outcome.expect("all threads go on");
    ns_each(start, THREADS * ROUNDS)
}

fn create() -> f64 {
    const THREADS: usize = 1_000_000;
    let start = Instant::now();
    let outcome = run(&Config::default(), &NoOutside, || {
        scope(|threads| {
            let run_one = |number| threads.spawn(move || black_box(number)).join();
            black_box(
                (0..THREADS)
                    .map(|number| run_one(number).expect("no panic"))
                    .sum::<usize>(),
            )
        })
    });
    outcome.expect("all threads go on");
    ns_each(start, THREADS)
}

fn look_up() -> f64 {
    const LOOK_UPS: usize = 2_000_000;
    let table = Table::new(64 << 20, Pages::Huge);
    let words = table.words();
    let mask = words.len() - 1;
    let host: Host = ours::host(1);
    let outcome = host.run(|ppe| {
        let program = |spe: &HostSpe| {
            let start = Instant::now();
            let keys =
                (0..LOOK_UPS).map(|probe| (probe as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let mut sum = 0_u64;
            let find = |spe: InterleavedSpe<'_, HostSpe>, key: u64| {
                let entry = |at: usize| std::slice::from_ref(&words[at & mask]);
                let first = spe
                    .stage(entry((key >> 20) as usize))
                    .expect("room for a word")[0];
                spe.stage(entry((first ^ key) as usize))
                    .expect("room for a word")[0]
            };
            let done = spe.interleave(InFlight::Automatic, keys, find);
            let done = done.as_completed(|_, word| sum = sum.wrapping_add(word));
            done.expect("a host needs no room for stacks");
            black_box(sum);
            ns_each(start, LOOK_UPS)
        };
        ppe.spawn(SpeId::new(0), program).join().expect("no panic")
    });
    outcome.expect("the program ends")
}

/// A mailbox exchange between the SPEs of eight pairs in a QS20.
fn message() -> f64 {
    const PAIRS: u16 = 8;
    const ROUNDS: u32 = 20_000;
    let sim = Sim::new(Description::built_in("qs20").expect("it is built in"))
        .expect("there is memory for its local stores");
    let start = Instant::now();
    let outcome = sim.run(|ppe| {
        for pair in 0..PAIRS {
            let [ping, pong] = [2 * pair, 2 * pair + 1].map(SpeId::new);
            drop(ppe.spawn(ping, move |spe: &SimSpe| {
                for round in 0..ROUNDS {
                    spe.write_in_mbox_of(pong, round);
                    black_box(spe.read_in_mbox());
                }
            }));
            drop(ppe.spawn(pong, move |spe: &SimSpe| {
                for _ in 0..ROUNDS {
                    spe.write_in_mbox_of(ping, spe.read_in_mbox());
                }
            }));
        }
    });
    outcome.expect("a message is always on its way");
    ns_each(start, 2 * usize::from(PAIRS) * ROUNDS as usize)
}

/// A packet of 128 bytes from memory to an SPE, while eight SPEs get blocks.
fn packet() -> f64 {
    const SPES: u16 = 8;
    const BLOCKS: usize = 400;
    const BYTES: u32 = 16_384;
    let sim = Sim::new(Description::built_in("qs20").expect("it is built in"))
        .expect("there is memory for its local stores");
    let bytes = usize::from(SPES) * BYTES as usize;
    let region = sim
        .allocate(ModuleId::new(0), bytes)
        .expect("the module has as much");
    let region = &region;
    let start = Instant::now();
    let outcome = sim.run(|ppe| {
        for spe in 0..SPES {
            drop(ppe.spawn(SpeId::new(spe), move |spe: &SimSpe| {
                let from = region.at(spe.id().index() * BYTES as usize);
                for block in 0..BLOCKS {
                    let tag = [Tag::of::<0>(), Tag::of::<1>()][block % 2];
                    spe.mfc().wait_all(tag.mask());
                    let get = RawCommand::get(LsAddr(0), from, BYTES, tag);
                    spe.mfc().issue(get).expect("the address is there");
                }
            }));
        }
    });
    outcome.expect("no program waits for ever");
    ns_each(start, usize::from(SPES) * BLOCKS * BYTES as usize / 128)
}

fn ns_each(start: Instant, operations: usize) -> f64 {
    start.elapsed().as_nanos() as f64 / operations as f64
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let values = sorted(values);
    (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0
}
