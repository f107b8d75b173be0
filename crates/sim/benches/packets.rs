//! Bus packets a second of real time with the whole model of a QS20, and many small simulations on all CPUs.
//!
//! - *to neighbours*, *to opposite SPEs*: each of 8 SPEs gets blocks of 16 KB from the local store of another,
//!   by the rings alone;
//! - *from memory*: each of 8 SPEs gets blocks of 16 KB from the memory of its Cell;
//! - the sweep: simulations of 8 SPEs that exchange packets of 1 KB in pairs, both directions at once, for 1,000
//!   rounds, each with another seed, one simulation on each CPU at a time.
//!
//! A packet is a request of up to 128 bytes, from its command to its arrival; the bytes move too. Prints Markdown
//! tables: millions of packets a second as median (minimum-maximum) over the repetitions, which are
//! interleaved. Run it with `cargo bench -p cellworks-sim --bench packets`. It runs a tenth of the sweep, and all of
//! it with `-- --all`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use cellworks_machine::mfc::{EffectiveAddress, LsAddr, RawCommand, Tag};
use cellworks_machine::{Machine, Mfc, ModuleId, Spe, SpeId};
use cellworks_sim::{Description, Sim, SimSpe};

const REPETITIONS: usize = 9;
const SPES: u16 = 8;
const BLOCK_BYTES: u32 = 16_384;
/// Blocks that each SPE gets in one measurement.
const BLOCKS: usize = 500;

const SWEEP_ALL: usize = 5_040;
const SWEEP_SAMPLE: usize = SWEEP_ALL / 10;
const SWEEP_ROUNDS: usize = 1_000;
const SWEEP_BYTES: u32 = 1_024;

/// Returns packets a second.
type Measure = fn() -> f64;

fn main() {
    let streams: [(&str, Measure); 3] = [
        ("to neighbours", || between_local_stores(1)),
        ("to opposite SPEs", || between_local_stores(SPES / 2)),
        ("from memory", from_memory),
    ];
    let mut rounds = Vec::new();
    for round in 0..=REPETITIONS {
        let rates: Vec<f64> = streams.iter().map(|(_, measure)| measure()).collect();
        // The first round warms up.
        if round > 0 {
            rounds.push(rates);
        }
    }
    println!("\n{SPES} SPEs, blocks of {BLOCK_BYTES} bytes, {REPETITIONS} repetitions:\n");
    println!("| packets | millions a second |\n|---|---|");
    for (stream, (name, _)) in streams.iter().enumerate() {
        let mut rates: Vec<f64> = rounds.iter().map(|rates| rates[stream] / 1e6).collect();
        rates.sort_by(f64::total_cmp);
        println!(
            "| {name} | {:.2} ({:.2}-{:.2}) |",
            rates[REPETITIONS / 2],
            rates[0],
            rates[REPETITIONS - 1]
        );
    }
    let all = std::env::args().any(|argument| argument == "--all");
    sweep(if all { SWEEP_ALL } else { SWEEP_SAMPLE });
}

/// A QS20 that starts programs at once, so that all of them run from the beginning.
fn machine(seed: u64) -> Sim {
    let mut description = Description::built_in("qs20").expect("it is built in");
    description.ppe.start_program_ps.value = 1;
    Sim::builder(description).seed(seed).build()
}

/// Runs a program on the SPEs of Cell 0. Returns packets a second, by how many each of them moves.
fn run(sim: &Sim, packets: usize, program: impl Fn(&SimSpe) + Send + Sync) -> f64 {
    let start = Instant::now();
    let outcome = sim.run(|ppe| {
        for spe in 0..SPES {
            drop(ppe.spawn(SpeId::new(spe), &program));
        }
    });
    outcome.expect("no program waits for ever");
    (usize::from(SPES) * packets) as f64 / start.elapsed().as_secs_f64()
}

/// Returns packets a second.
fn between_local_stores(distance: u16) -> f64 {
    run(&machine(0), packets_of_stream(), |spe| {
        let me = spe.id().index() as u16;
        let reader = SpeId::new((me + SPES - distance) % SPES);
        let from = exchange_addresses(spe, reader, LsAddr(BLOCK_BYTES));
        get_blocks(spe, from);
        // Nobody ends while somebody reads from it.
        let partner = SpeId::new((me + distance) % SPES);
        spe.write_in_mbox_of(partner, 0);
        spe.read_in_mbox();
    })
}

/// Returns packets a second.
fn from_memory() -> f64 {
    let sim = machine(0);
    let bytes = usize::from(SPES) * BLOCK_BYTES as usize;
    let region = sim
        .allocate(ModuleId::new(0), bytes)
        .expect("the module has as much");
    run(&sim, packets_of_stream(), |spe| {
        get_blocks(spe, region.at(spe.id().index() * BLOCK_BYTES as usize));
    })
}

fn packets_of_stream() -> usize {
    BLOCKS * BLOCK_BYTES as usize / 128
}

/// Tells an SPE where this one has something, and is told by another one.
fn exchange_addresses(spe: &SimSpe, to: SpeId, at: LsAddr) -> EffectiveAddress {
    let mine = spe.local_store().effective(at);
    spe.write_in_mbox_of(to, mine.eah());
    spe.write_in_mbox_of(to, mine.eal());
    EffectiveAddress::from_halves(spe.read_in_mbox(), spe.read_in_mbox())
}

/// Gets blocks from one place, with two under way.
fn get_blocks(spe: &SimSpe, from: EffectiveAddress) {
    let tags = [Tag::of::<0>(), Tag::of::<1>()];
    for block in 0..BLOCKS {
        let tag = tags[block % 2];
        spe.mfc().wait_all(tag.mask());
        let get = RawCommand::get(LsAddr(0), from, BLOCK_BYTES, tag);
        spe.mfc().issue(get).expect("the address is there");
    }
    tags.iter().for_each(|tag| spe.mfc().wait_all(tag.mask()));
}

/// One simulation of the sweep: SPEs in pairs, each puts its packet to the other, tells it by a word, and goes
/// on when the other's has come.
fn exchange_packets(seed: u64) {
    const TAG: Tag = Tag::of::<0>();
    run(&machine(seed), SWEEP_ROUNDS, |spe| {
        let partner = SpeId::new(spe.id().index() as u16 ^ 1);
        let to = exchange_addresses(spe, partner, LsAddr(SWEEP_BYTES));
        for round in 0..SWEEP_ROUNDS as u32 {
            let put = RawCommand::put(LsAddr(0), to, SWEEP_BYTES, TAG);
            spe.mfc().issue(put).expect("the address is there");
            spe.mfc().wait_all(TAG.mask());
            spe.write_in_mbox_of(partner, round);
            assert_eq!(spe.read_in_mbox(), round);
        }
    });
}

fn sweep(simulations: usize) {
    let next = AtomicUsize::new(0);
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..cpus {
            scope.spawn(|| {
                loop {
                    let simulation = next.fetch_add(1, Ordering::Relaxed);
                    if simulation >= simulations {
                        break;
                    }
                    exchange_packets(simulation as u64);
                }
            });
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "\n{simulations} simulations on {cpus} CPUs took {seconds:.1} s; {SWEEP_ALL} take {:.0} s.",
        seconds * SWEEP_ALL as f64 / simulations as f64
    );
}
