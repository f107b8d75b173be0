//! Bus packets a second of real time with the whole model of a QS20, and many small simulations on
//! all CPUs.
//!
//! - *to neighbours*, *to opposite SPEs*: each of 8 SPEs gets blocks of 16 KB from the local store
//!   of another SPE, only over the rings;
//! - *from memory*: each of 8 SPEs gets blocks of 16 KB from the memory of its Cell;
//! - the sweep: 8 SPEs in a ring exchange packets of 1 KB with both neighbours for 1,000 rounds.
//!   Each of the 5,040 orders of the ring in which SPE 0 is first has a simulation, as in the paper
//!   on task mapping on a blade (Keller, Varbanescu 2010). Each CPU runs one simulation at a time.
//!
//! A packet is a request of up to 128 bytes, from its command to its arrival. The bytes are moved
//! too. Prints Markdown tables: millions of packets a second as median (minimum-maximum) over the
//! repetitions, which are interleaved. Run it with `cargo bench -p cellworks-benches --bench
//! packets`. It runs every tenth order of the sweep, or with `-- --all` every order.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use cellworks_machine::mailbox::Outbound;
use cellworks_machine::mfc::{EffectiveAddress, LsAddr, RawCommand, Tag};
use cellworks_machine::{CellMachine, CellSpe, Machine, Mfc, ModuleId, SignalRegister, Spe, SpeId};
use cellworks_sim::{Description, Sim, SimSpe};

const REPETITIONS: usize = 9;
const SPES: u16 = 8;
const BLOCK_BYTES: u32 = 16_384;
/// The number of blocks that each SPE gets in one measurement.
const BLOCKS: usize = 500;

/// The number of orders of a ring of 8 SPEs: the orders of the 7 SPEs after SPE 0.
const SWEEP_ALL: usize = 5_040;
/// Without `--all` only one of this many orders is simulated.
const SWEEP_STEP: usize = 10;
const SWEEP_ROUNDS: u32 = 1_000;
const SWEEP_BYTES: u32 = 1_024;
/// The two sides of an SPE in the ring: the next SPE, and the one before.
const SIDES: usize = 2;

/// A measurement that returns packets a second.
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
    sweep(if all { 1 } else { SWEEP_STEP });
}

/// A QS20 that starts programs at once, so that all of them run from the beginning.
fn machine() -> Sim {
    let mut description = Description::built_in("qs20").expect("it is built in");
    description.ppe.start_program_ps.value = 1;
    Sim::new(description).unwrap()
}

/// Runs a program on the SPEs of Cell 0. Each moves `packets` packets. Returns packets a second.
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

/// Returns packets a second for gets from the SPE at `distance`.
fn between_local_stores(distance: u16) -> f64 {
    run(&machine(), packets_of_stream(), |spe| {
        let me = spe.id().index() as u16;
        let reader = SpeId::new((me + SPES - distance) % SPES);
        let from = exchange_addresses(spe, reader, LsAddr(BLOCK_BYTES));
        get_blocks(spe, from);
        // No program ends while its partner reads from its local store.
        let partner = SpeId::new((me + distance) % SPES);
        spe.write_in_mbox_of(partner, 0);
        spe.read_in_mbox();
    })
}

/// Returns packets a second for gets from main memory.
fn from_memory() -> f64 {
    let sim = machine();
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

/// Sends the effective address of `at` in the local store of `spe` to the SPE `to`. Returns the
/// address that another SPE has sent.
fn exchange_addresses(spe: &SimSpe, to: SpeId, at: LsAddr) -> EffectiveAddress {
    let mine = spe.local_store().effective(at);
    spe.write_in_mbox_of(to, mine.eah());
    spe.write_in_mbox_of(to, mine.eal());
    EffectiveAddress::from_halves(spe.read_in_mbox(), spe.read_in_mbox())
}

/// Gets all blocks from one address, with two gets under way.
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

/// The order with this number, below [`SWEEP_ALL`]: SPE 0, and the other SPEs after it.
fn ring_order(mut number: usize) -> [u16; SPES as usize] {
    let mut left: Vec<u16> = (1..SPES).collect();
    let mut order = [0; SPES as usize];
    for place in &mut order[1..] {
        let choice = number % left.len();
        number /= left.len();
        *place = left.remove(choice);
    }
    order
}

/// One simulation of the sweep. Returns the simulated time of its rounds in nanoseconds.
fn exchange_around_ring(order: [u16; SPES as usize]) -> u64 {
    let sim = machine();
    let around = |place: usize| SpeId::new(order[place % order.len()]);
    let took = sim.run(|ppe| {
        for place in 0..order.len() {
            let neighbours = [around(place + 1), around(place + order.len() - 1)];
            drop(ppe.spawn(around(place), move |spe| exchange(spe, neighbours)));
        }
        let read = |spe| ppe.read_out_mbox(spe, Outbound::Plain);
        let addresses: Vec<[u32; 2]> = (0..order.len())
            .map(|place| [read(around(place)), read(around(place))])
            .collect();
        for place in 0..order.len() {
            let [next, before] = [place + 1, place + order.len() - 1];
            for word in [next, before]
                .map(|place| addresses[place % order.len()])
                .concat()
            {
                ppe.write_in_mbox(around(place), word);
            }
        }
        let hear_all = || {
            for place in 0..order.len() {
                read(around(place));
            }
        };
        // Neighbours write to each other's mailboxes only when the PPE has stopped writing to them.
        hear_all();
        let begin = ppe.now();
        for place in 0..order.len() {
            ppe.send_signal(around(place), SignalRegister::One, 1);
        }
        hear_all();
        ppe.now().since(begin).as_nanoseconds_f64() as u64
    });
    took.expect("no program waits for ever")
}

/// The program of the sweep. In each round an SPE puts a packet to both neighbours and sends them a
/// word. It goes on when both neighbours have sent it a word.
fn exchange(spe: &SimSpe, neighbours: [SpeId; SIDES]) {
    const TAG: Tag = Tag::of::<0>();
    let tell_ppe = |word| spe.write_out_mbox(Outbound::Plain, word);
    // A neighbour may already be in the next round. So packets of two rounds in a row have
    // different addresses, and no packet overwrites the last one.
    let incoming = |side: usize, round: u32| {
        let number = 1 + side as u32 * 2 + round % 2;
        LsAddr(number * SWEEP_BYTES)
    };
    let mine = spe.local_store().effective(LsAddr(0));
    tell_ppe(mine.eah());
    tell_ppe(mine.eal());
    let address = || EffectiveAddress::from_halves(spe.read_in_mbox(), spe.read_in_mbox());
    let local_stores = [address(), address()];
    tell_ppe(0);
    spe.read_signal(SignalRegister::One);
    // The number of rounds that the neighbour on each side has reported.
    let mut told = [0; SIDES];
    for round in 0..SWEEP_ROUNDS {
        for (side, local_store) in local_stores.iter().enumerate() {
            // For the next SPE of the ring, this SPE is the one before.
            let there = incoming(1 - side, round);
            let to = EffectiveAddress(local_store.0 + u64::from(there.0));
            let put = RawCommand::put(LsAddr(0), to, SWEEP_BYTES, TAG);
            spe.mfc().issue(put).expect("the address is there");
        }
        spe.mfc().wait_all(TAG.mask());
        for (side, neighbour) in neighbours.iter().enumerate() {
            spe.write_in_mbox_of(*neighbour, 1 - side as u32);
        }
        while told.iter().any(|rounds| *rounds <= round) {
            told[spe.read_in_mbox() as usize] += 1;
        }
    }
    tell_ppe(0);
}

/// Simulates one of every `step` orders.
fn sweep(step: usize) {
    let simulations = SWEEP_ALL / step;
    let next = AtomicUsize::new(0);
    let (fastest_ns, slowest_ns) = (AtomicU64::new(u64::MAX), AtomicU64::new(0));
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
                    let ns = exchange_around_ring(ring_order(simulation * step));
                    fastest_ns.fetch_min(ns, Ordering::Relaxed);
                    slowest_ns.fetch_max(ns, Ordering::Relaxed);
                }
            });
        }
    });
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "\n{simulations} simulations on {cpus} CPUs took {seconds:.1} s; {SWEEP_ALL} take {:.0} s.",
        seconds * SWEEP_ALL as f64 / simulations as f64
    );
    let (fastest, slowest) = (fastest_ns.into_inner(), slowest_ns.into_inner());
    println!(
        "In simulated time the fastest order takes {fastest} ns, the slowest {:.3} times as long.",
        slowest as f64 / fastest as f64
    );
}
