//! The same program, description and seed give the same simulation. The seed only permutes events
//! of the same instant.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex};

use cellworks_machine::mfc::{EffectiveAddress, LsAddr, RawCommand, Tag};
use cellworks_machine::{
    AtomicOp, CellMachine, CellSpe, Cycles, Machine, Mfc, ModuleId, Span, Spe, SpeId, Time, Wake,
};
use cellworks_sim::{Counters, Crossbar, Description, Interconnect, Quantity, Sim, SimSpe};
use cellworks_threads::{self as threads, Owner, Thread};

const SPES: u16 = 4;
const TAG: Tag = Tag::of::<1>();

/// The hash of [`busy_program`] on [`machine`] with seed 0. It changes if the model, the QS20's
/// description or the program changes, but not with the computer or the build. The hash includes
/// the program's name, which includes the path of the program's module.
const GOLDEN_HASH: u64 = 0x824f_f487_44a6_a5ce;

/// A trace that the test can read after the machine has taken it.
#[derive(Clone, Default)]
struct Trace(Arc<Mutex<Vec<u8>>>);

impl io::Write for Trace {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn machine() -> Description {
    Description::built_in("qs20").unwrap()
}

/// Uses words, signals, transfers, atomic operations and cooperative threads on both Cells. Returns
/// the result of each program. The programs call `disturb` again and again.
fn busy_program(sim: &Sim, disturb: fn()) -> (Vec<u64>, Counters) {
    let region = sim.allocate(ModuleId::new(0), 1 << 16).unwrap();
    let counter = region.at(0);
    let results = sim.run(|ppe| {
        let programs: Vec<_> = (0..SPES)
            .map(|place| {
                let region = &region;
                // The multiples of 5 are SPEs of both Cells.
                let id = |place: u16| SpeId::new(place % SPES * 5);
                ppe.spawn(id(place), move |spe: &SimSpe| {
                    let next = id(place + 1);
                    let mut sum = 0;
                    for round in 0..20 {
                        disturb();
                        let block = region.at(1 << 14);
                        let get = RawCommand::get(LsAddr(0), block, 2_048, TAG);
                        spe.mfc().issue(get).unwrap();
                        spe.mfc().wait_all(TAG.mask());
                        let before = spe.fetch_update(counter, AtomicOp::Add(1)).unwrap();
                        spe.write_in_mbox_of(next, before);
                        sum += u64::from(spe.read_in_mbox()) * (round + 1);
                    }
                    spe.threads(2, |thread| {
                        for _ in 0..5 {
                            disturb();
                            spe.compute(Cycles(100 + 7 * thread.0 as u64));
                            spe.yield_now();
                        }
                    })
                    .unwrap();
                    sum ^ spe.now().since(Time::default()).as_femtoseconds() as u64
                })
            })
            .collect();
        let joined = programs.into_iter().map(|program| program.join().unwrap());
        joined.collect()
    });
    (results.unwrap(), sim.counters().unwrap())
}

#[test]
fn threads_that_are_woken_out_of_turn_go_back_to_sleep() {
    fn wake_all() {
        // SAFETY: this test shows that the waits of the simulator do not rely on the promise of
        // `Owner::new`.
        let owner = unsafe { Owner::new() };
        for blocked in threads::blocked_threads() {
            // SAFETY: the number `blocked.thread` is that of a thread.
            owner.unpark_parked(unsafe { Thread::from_raw(blocked.thread) });
        }
    }
    let undisturbed = busy_program(&Sim::new(machine()).unwrap(), || ());
    assert_eq!(
        busy_program(&Sim::new(machine()).unwrap(), wake_all),
        undisturbed
    );
}

#[test]
fn two_runs_are_equal_to_the_byte() {
    for seed in [0, 1] {
        let traced = || {
            let trace = Trace::default();
            let sim = Sim::builder(machine())
                .seed(seed)
                .trace(Box::new(trace.clone()))
                .build()
                .unwrap();
            let did = busy_program(&sim, || ());
            let bytes = std::mem::take(&mut *trace.0.lock().unwrap());
            assert!(!bytes.is_empty());
            (did, bytes)
        };
        let (first, second) = (traced(), traced());
        assert_eq!(first.0, second.0);
        assert!(first.1 == second.1, "the traces differ");
        let plain = busy_program(&Sim::builder(machine()).seed(seed).build().unwrap(), || ());
        assert_eq!(plain, first.0, "a trace changes nothing");
    }
}

#[test]
fn a_second_run_of_the_same_machine_begins_anew() {
    let sim = Sim::new(machine()).unwrap();
    let program = || {
        let end = sim.run(|ppe| {
            drop(ppe.spawn(SpeId::new(0), |spe: &SimSpe| {
                spe.write_in_mbox_of(SpeId::new(1), 5);
            }));
            let receiver = ppe.spawn(SpeId::new(1), |spe: &SimSpe| spe.read_in_mbox());
            (receiver.join().unwrap(), ppe.now())
        });
        (end.unwrap(), sim.counters())
    };
    assert_eq!(program(), program());
}

#[test]
fn a_fixed_program_has_its_hash_on_every_computer() {
    let (_, counters) = busy_program(&Sim::new(machine()).unwrap(), || ());
    assert_eq!(
        counters.trace_hash, GOLDEN_HASH,
        "{:#x}",
        counters.trace_hash
    );
}

/// A machine on which words meet no other packets, and on which programs start a microsecond apart.
fn crossbar() -> Description {
    let mut description = machine();
    description.interconnect = Interconnect::Crossbar(Crossbar {
        latency_ps: Quantity::plain(100_000),
        port_bytes_per_s: Quantity::plain(25_600_000_000),
    });
    description.ppe.start_program_ps.value = 1_000_000;
    description
}

/// Runs two SPEs that each send a word to a third SPE, the second SPE later by `apart`. Returns the
/// words in the order of their arrival, and the time at which both words have arrived.
fn two_senders(seed: u64, apart: Cycles) -> ([u32; 2], Span) {
    let sim = Sim::builder(crossbar()).seed(seed).build().unwrap();
    let words = sim.run(|ppe| {
        let receiver = ppe.spawn(SpeId::new(0), |spe: &SimSpe| {
            [spe.read_in_mbox(), spe.read_in_mbox()]
        });
        for sender in [1, 2_u16] {
            drop(ppe.spawn(SpeId::new(sender), move |spe: &SimSpe| {
                let passed = spe.now().since(Time::default()).as_femtoseconds() / 312_500;
                let wait = 100_000 - passed as u64 + u64::from(sender) * apart.0;
                spe.compute(Cycles(wait));
                spe.write_in_mbox_of(SpeId::new(0), u32::from(sender));
            }));
        }
        receiver.join().unwrap()
    });
    (words.unwrap(), sim.counters().unwrap().elapsed)
}

#[test]
fn seed_0_is_the_plain_order() {
    let (words, _) = two_senders(0, Cycles(0));
    assert_eq!(words, [1, 2]);
}

#[test]
fn seeds_permute_what_happens_at_one_instant() {
    let outcomes: BTreeSet<_> = (0..32).map(|seed| two_senders(seed, Cycles(0))).collect();
    let words: BTreeSet<_> = outcomes.iter().map(|(words, _)| *words).collect();
    assert_eq!(words, BTreeSet::from([[1, 2], [2, 1]]));
    let ends: BTreeSet<_> = outcomes.iter().map(|(_, end)| *end).collect();
    assert_eq!(ends.len(), 1, "the order costs no time: {ends:?}");
}

#[test]
fn seeds_change_nothing_where_nothing_is_tied() {
    let plain = two_senders(0, Cycles(1));
    for seed in 1..32 {
        assert_eq!(two_senders(seed, Cycles(1)), plain, "seed {seed}");
    }
}

#[test]
fn times_without_ties_are_the_same_under_all_seeds() {
    let alone = |seed| {
        let sim = Sim::builder(machine()).seed(seed).build().unwrap();
        let region = sim.allocate(ModuleId::new(1), 1 << 14).unwrap();
        let from: EffectiveAddress = region.at(0);
        let end = sim.run(|ppe| {
            let program = ppe.spawn(SpeId::new(0), |spe: &SimSpe| {
                // The requests follow one another.
                for _ in 0..10 {
                    let get = RawCommand::get(LsAddr(0), from, 128, TAG);
                    spe.mfc().issue(get).unwrap();
                    spe.mfc().wait_all(TAG.mask());
                }
                spe.now()
            });
            program.join().unwrap()
        });
        (end.unwrap(), sim.counters().unwrap().elapsed)
    };
    let plain = alone(0);
    for seed in [1, 2, 3, u64::MAX] {
        assert_eq!(alone(seed), plain, "seed {seed}");
    }
}

#[test]
fn a_machine_that_is_used_again_takes_the_same_time() {
    const SPES: u16 = 8;
    const BYTES: usize = 16_384;
    let times = |sim: &Sim| {
        let region = sim.allocate(ModuleId::new(0), usize::from(SPES) * BYTES);
        let region = &region.unwrap();
        let run = sim.run(|ppe| {
            let programs: Vec<_> = (0..SPES)
                .map(|place| {
                    ppe.spawn(SpeId::new(place), move |spe: &SimSpe| {
                        // The PPE starts one program after the other, but all puts begin together.
                        spe.compute(Cycles(u64::from(SPES - place) * 5_360_000));
                        let to = region.at(usize::from(place) * BYTES);
                        for _ in 0..4 {
                            let put = RawCommand::put(LsAddr(0), to, BYTES as u32, TAG);
                            spe.mfc().issue(put).unwrap();
                        }
                        spe.mfc().wait_all(TAG.mask());
                        spe.now()
                    })
                })
                .collect();
            let ends = programs.into_iter().map(|program| program.join().unwrap());
            ends.collect::<Vec<Time>>()
        });
        run.unwrap()
    };
    let fresh = times(&Sim::new(machine()).unwrap());
    let used = Sim::new(machine()).unwrap();
    for pages in [1, 5, 17] {
        drop(used.allocate(ModuleId::new(0), pages << 12).unwrap());
        assert_eq!(times(&used), fresh, "after a region of {pages} pages");
    }
}
