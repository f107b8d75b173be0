//! How simulated time passes.

use std::cell::Cell;

use cellworks_machine::mailbox::Outbound;
use cellworks_machine::mfc::LsAddr;
use cellworks_machine::{
    AtomicOp, CellMachine, CellSpe, Cycles, Machine, Mfc, ModuleId, Span, Spe, SpeId, Time, Wake,
};
use cellworks_sim::{Description, Sim, SimSpe};

/// A cycle of 3.2 GHz.
const CYCLE_FS: u128 = 312_500;
/// The time of reading the clock.
const LOOK_CYCLES: u128 = 1;

fn qs20() -> Description {
    Description::built_in("qs20").unwrap()
}

/// Runs a program on SPE 0.
fn on_spe<R: Send>(sim: &Sim, program: impl FnOnce(&SimSpe) -> R + Send) -> R {
    sim.run(|ppe| ppe.spawn(SpeId::new(0), program).join().unwrap())
        .unwrap()
}

fn cycles(span: Span) -> u128 {
    assert_eq!(span.as_femtoseconds() % CYCLE_FS, 0, "{span} is no cycles");
    span.as_femtoseconds() / CYCLE_FS
}

#[test]
fn computing_takes_exactly_its_cycles() {
    on_spe(&Sim::new(qs20()).unwrap(), |spe| {
        // The last number of cycles is larger than any lag (time that a processor has used but not
        // let pass).
        for count in [1, 250, 10_000_000] {
            let start = spe.now();
            spe.compute(Cycles(count));
            let took = cycles(spe.now().since(start));
            assert_eq!(took, u128::from(count) + LOOK_CYCLES);
        }
    });
}

#[test]
fn the_ppe_computes_for_exactly_its_cycles() {
    let sim = Sim::new(qs20()).unwrap();
    sim.run(|ppe| {
        for count in [1, 250, 10_000_000] {
            let start = ppe.now();
            ppe.compute(Cycles(count));
            let took = cycles(ppe.now().since(start));
            assert_eq!(took, u128::from(count) + LOOK_CYCLES);
        }
    })
    .unwrap();
}

#[test]
fn a_line_that_another_spe_has_comes_from_there_whatever_its_module() {
    let times = [0, 1].map(|module| {
        let sim = Sim::new(qs20()).unwrap();
        let region = sim.allocate(ModuleId::new(module), 128).unwrap();
        let line = region.at(0);
        let reading = |spe: &SimSpe| {
            let start = spe.now();
            spe.mfc().getllar(LsAddr(0), line).unwrap();
            spe.now().since(start)
        };
        let times = sim.run(|ppe| {
            let spes = [0, 1, 2].map(SpeId::new);
            spes.map(|spe| ppe.spawn(spe, reading).join().unwrap())
        });
        times.unwrap()
    });
    let [[from_memory, ..], [from_far_memory, ..]] = times;
    assert!(from_memory < from_far_memory, "{times:?}");
    // SPE 0 has only read the line, but the line still comes from its cache.
    assert_eq!(times[0][1..], times[1][1..], "{times:?}");
}

/// The accesses of a condition take time in every kind of wait.
#[test]
fn the_ppe_pays_for_a_mailbox_that_it_waits_for_until_a_deadline() {
    let took = |with_deadline: bool| {
        let sim = Sim::new(qs20()).unwrap();
        sim.run(|ppe| {
            let spe = SpeId::new(0);
            drop(ppe.spawn(spe, |spe| spe.write_out_mbox(Outbound::Plain, 7)));
            let mut has_come = || ppe.try_read_out_mbox(spe, Outbound::Plain) == Some(7);
            if with_deadline {
                let late = Time::from_femtoseconds(u128::from(u64::MAX / 4));
                let core = ppe.core();
                assert!(core.wait_until_deadline(&"a word", late, &mut has_come));
            } else {
                ppe.wait_until(&"a word", &mut has_come);
            }
            ppe.now()
        })
        .unwrap()
    };
    assert_eq!(took(true), took(false));
}

/// libspe2 reads the interrupt mailbox through the kernel, even if it reaches other registers by
/// loads and stores.
#[test]
fn the_ppe_reads_an_interrupt_mailbox_by_a_system_call() {
    let call = Span::from_femtoseconds(u128::from(qs20().ppe.mailbox_call_ps.value) * 1_000);
    let took = |mailbox| {
        let sim = Sim::new(qs20()).unwrap();
        sim.run(|ppe| {
            let spe = SpeId::new(0);
            drop(ppe.spawn(spe, move |spe| spe.write_out_mbox(mailbox, 7)));
            ppe.compute(Cycles(100_000_000));
            let start = ppe.now();
            assert_eq!(ppe.try_read_out_mbox(spe, mailbox), Some(7));
            ppe.now().since(start)
        })
        .unwrap()
    };
    assert!(took(Outbound::Plain) < call);
    assert!(took(Outbound::Interrupt) > call);
}

/// The reads and claims of a line by two SPEs do not overlap. Each read or claim is a command to
/// both Cells, whose answer takes at least 244 ns.
#[test]
fn fetches_and_adds_of_one_line_follow_each_other() {
    const EACH: u32 = 20;
    let sim = Sim::new(qs20()).unwrap();
    let line = sim.allocate(ModuleId::new(0), 128).unwrap();
    let ea = line.at(0);
    let took = sim
        .run(|ppe| {
            let programs = [0, 1, 2, 3].map(|spe| {
                ppe.spawn(SpeId::new(spe), move |spe: &SimSpe| {
                    spe.read_in_mbox();
                    let start = spe.now();
                    for _ in 0..EACH {
                        spe.fetch_update(ea, AtomicOp::Add(1)).unwrap();
                    }
                    spe.now().since(start)
                })
            });
            for spe in 0..4 {
                ppe.write_in_mbox(SpeId::new(spe), 0);
            }
            programs.map(|program| program.join().unwrap())
        })
        .unwrap();
    assert_eq!(line.load_u32(0), 4 * EACH);
    let longest = took.into_iter().max().unwrap();
    let one_after_the_other = Span::from_nanoseconds(u64::from(4 * EACH) * 2 * 244);
    assert!(longest > one_after_the_other * 3 / 4, "{longest}");
    assert!(longest < one_after_the_other * 5 / 4, "{longest}");
}

#[test]
fn one_thread_of_an_spe_computes_at_a_time_and_switches_cost() {
    let mut description = qs20();
    description.spu.switch_cycles.value = 180;
    let turns = on_spe(&Sim::new(description).unwrap(), |spe| {
        let turns = Cell::new(Vec::new());
        spe.threads(3, |thread| {
            for _ in 0..4 {
                let start = spe.now();
                spe.compute(Cycles(1_000));
                let end = spe.now();
                let mut all = turns.take();
                all.push((thread.0, start, end));
                turns.set(all);
                spe.yield_now();
            }
        })
        .unwrap();
        turns.take()
    });
    let order: Vec<_> = turns.iter().map(|(thread, ..)| *thread).collect();
    assert_eq!(order, [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]);
    for ((_, _, end), (_, start, _)) in turns.iter().zip(&turns[1..]).take(8) {
        // The yield itself takes a cycle.
        assert_eq!(cycles(start.since(*end)), 1 + 180 + LOOK_CYCLES);
    }
}

#[test]
fn a_program_without_threads_that_yields_pays_no_switch() {
    on_spe(&Sim::new(qs20()).unwrap(), |spe| {
        let start = spe.now();
        (0..10).for_each(|_| spe.yield_now());
        assert_eq!(cycles(spe.now().since(start)), 10 + LOOK_CYCLES);
    });
}

#[test]
fn a_thread_that_yields_alone_pays_a_switch_to_itself() {
    let mut description = qs20();
    description.spu.switch_cycles.value = 180;
    let took = on_spe(&Sim::new(description).unwrap(), |spe| {
        let took = Cell::new(Span::default());
        spe.threads(1, |_| {
            let start = spe.now();
            (0..10).for_each(|_| spe.yield_now());
            took.set(spe.now().since(start));
        })
        .unwrap();
        took.get()
    });
    assert_eq!(cycles(took), 10 * (180 + 1) + LOOK_CYCLES);
}

#[test]
fn a_thread_that_is_alone_and_yields_if_others_are_ready_pays_no_switch() {
    let mut description = qs20();
    description.spu.switch_cycles.value = 180;
    let took = on_spe(&Sim::new(description).unwrap(), |spe| {
        let took = Cell::new(Span::default());
        spe.threads(1, |_| {
            let start = spe.now();
            (0..10).for_each(|_| spe.yield_ready());
            took.set(spe.now().since(start));
        })
        .unwrap();
        took.get()
    });
    assert_eq!(cycles(took), 10 + LOOK_CYCLES);
}

#[test]
fn the_decrementer_ticks_at_the_timebase() {
    let mut description = qs20();
    description.clock.timebase_hz.value = 14_318_000;
    on_spe(&Sim::new(description).unwrap(), |spe| {
        assert_eq!(spe.timebase().hertz(), 14_318_000);
        spe.set_decrementer(1_000_000);
        // At 3.2 GHz and 14.318 MHz a tick has 223.49 cycles.
        spe.compute(Cycles(100_000));
        let ticks = 1_000_000 - spe.decrementer();
        assert_eq!(ticks, 447, "100,000 cycles and some for the channels");
        // The decrementer counts down past 0.
        spe.set_decrementer(1);
        spe.compute(Cycles(224 * 4));
        assert_eq!(spe.decrementer(), u32::MAX - 2);
    });
}

#[test]
fn every_primitive_takes_at_least_a_cycle() {
    let takes_time = |spe: &SimSpe, name: &str, primitive: &dyn Fn()| {
        let start = spe.now();
        primitive();
        let took = cycles(spe.now().since(start));
        assert!(took > LOOK_CYCLES, "{name} took {took} cycles");
    };
    on_spe(&Sim::new(qs20()).unwrap(), |spe| {
        let other = SpeId::new(1);
        takes_time(spe, "yield_now", &|| spe.yield_now());
        takes_time(spe, "yield_ready", &|| spe.yield_ready());
        takes_time(spe, "in_mbox_count", &|| {
            spe.in_mbox_count();
        });
        takes_time(spe, "try_read_in_mbox", &|| {
            spe.try_read_in_mbox();
        });
        takes_time(spe, "decrementer", &|| {
            spe.decrementer();
        });
        takes_time(spe, "write_in_mbox_of", &|| spe.write_in_mbox_of(other, 1));
        takes_time(spe, "notify", &|| {
            spe.notify(cellworks_machine::Processor::Ppe);
        });
    });
}

#[test]
fn a_word_takes_the_same_time_whenever_it_is_waited_for() {
    // A receiver that waits when the word arrives goes on at once, at the same time however long it
    // has waited.
    let arrival_after_computing = |cycles: u64| -> Time {
        let sim = Sim::new(qs20()).unwrap();
        let received = sim.run(|ppe| {
            let receiver = ppe.spawn(SpeId::new(1), move |spe: &SimSpe| {
                spe.compute(Cycles(cycles));
                spe.read_in_mbox();
                spe.now()
            });
            drop(ppe.spawn(SpeId::new(0), |spe: &SimSpe| {
                spe.write_in_mbox_of(SpeId::new(1), 1);
            }));
            receiver.join().unwrap()
        });
        received.unwrap()
    };
    let plain = arrival_after_computing(0);
    assert_eq!(arrival_after_computing(1), plain);
    assert_eq!(arrival_after_computing(1_000_000), plain);
    assert!(arrival_after_computing(10_000_000) > plain);
}
