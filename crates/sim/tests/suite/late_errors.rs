//! Errors that are found after the return of the call that caused them, and commands that ended
//! programs leave behind.

use cellworks_machine::memory::Region;
use cellworks_machine::mfc::{EffectiveAddress, ListElement, LsAddr, RawCommand, Tag, TagMask};
use cellworks_machine::{
    CellMachine, CellSpe, Cycles, Machine, Mfc, ModuleId, ProblemStateRegister, ProgramPanic,
    RunError, SignalRegister, Span, Spe, SpeId, Wake,
};
use cellworks_sim::{Description, HazardWatch, Sim};

const SPE: SpeId = SpeId::new(0);
const OTHER: SpeId = SpeId::new(1);
const TAG: Tag = Tag::new(3).unwrap();
const LIST: LsAddr = LsAddr(0x100);

fn qs20() -> Sim {
    Sim::new(Description::built_in("qs20").unwrap()).unwrap()
}

/// Writes a list of elements of 16 bytes at this address, with or without stall-and-notify.
fn write_list(spe: &<Sim as Machine>::Spe, ea: EffectiveAddress, stalls: [bool; 2]) {
    let words = stalls.map(|stall_and_notify| {
        let element = ListElement {
            stall_and_notify,
            bytes: 16,
            eal: ea.eal(),
        };
        element.to_words()
    });
    for (at, word) in (LIST.0..).step_by(4).zip(words.into_iter().flatten()) {
        spe.local_store().write_word(LsAddr(at), word);
    }
}

/// Issues a list that waits for a get, which changes the list so that it names missing memory.
fn issue_bad_list(spe: &<Sim as Machine>::Spe, region: &Region) {
    let nowhere = EffectiveAddress(region.at(0).0 + (1 << 24));
    write_list(spe, nowhere, [false; 2]);
    let get = RawCommand::get(LsAddr(0x1000), region.at(0), 4_096, TAG);
    spe.mfc().issue(get).unwrap();
    let list = RawCommand::getlf(LsAddr(0x2000), nowhere.eah(), LIST, 16, TAG);
    spe.mfc().issue(list).unwrap();
}

/// The text of a panic.
fn text(payload: &ProgramPanic) -> &str {
    payload.downcast_ref::<String>().unwrap()
}

/// A message without its time, which differs from test to test.
fn without_time(message: &str) -> String {
    let (before, rest) = message.split_once(", at ").unwrap();
    let (time, after) = rest.split_once(": ").unwrap();
    assert!(time.ends_with(" ms") || time.ends_with(" us"), "{message}");
    format!("{before}: {after}")
}

const LATE: &str = "a command that waited in the MFC queue of SPE 0, getlf (local store address 0x2000, list of 16 bytes \
    at local store address 0x100, EAH 0x1, tag 3): element 0 (16 bytes) of a getlf at effective address 0x101000000: this memory is not mapped or may not be accessed so; use an address in memory that the \
    machine allocated (MFC data-storage interrupt; CBEA p.118)";

#[test]
fn a_late_fault_ends_the_program_that_caused_it() {
    let sim = qs20();
    let region = sim.allocate(ModuleId::new(0), 4_096).unwrap();
    sim.run(|ppe| {
        // This program calls its MFC again, and gets the error.
        let asks = ppe.spawn(SPE, |spe| {
            issue_bad_list(spe, &region);
            spe.mfc().wait_all(TagMask::ALL);
        });
        let payload = asks.join().unwrap_err();
        assert_eq!(without_time(text(&payload)), LATE);
        // This program does not call its MFC again, and the next program gets no error.
        let ends = ppe.spawn(SPE, |spe| {
            issue_bad_list(spe, &region);
            spe.compute(Cycles(1_000_000));
        });
        let after = ppe.spawn(SPE, |spe| {
            assert_eq!(spe.mfc().free_entries(), 16);
            spe.mfc().wait_all(TagMask::ALL);
        });
        let payload = ends.join().unwrap_err();
        assert_eq!(without_time(text(&payload)), LATE);
        after.join().unwrap();
    })
    .unwrap();
}

#[test]
fn a_late_fault_is_reported_in_place_of_the_deadlock_that_it_causes() {
    let sim = qs20();
    let region = sim.allocate(ModuleId::new(0), 4_096).unwrap();
    let end = sim.run(|ppe| {
        drop(ppe.spawn(SPE, |spe| {
            issue_bad_list(spe, &region);
            spe.read_in_mbox();
        }));
    });
    let Err(RunError::Panic { at, payload, .. }) = end else {
        panic!("{:?}", end.err());
    };
    assert_eq!(at.to_string(), "SPE 0");
    assert_eq!(without_time(&payload.to_string()), LATE);
}

#[test]
fn a_late_fault_that_is_taken_harms_no_list_that_stalls_meanwhile() {
    let sim = qs20();
    let region = sim.allocate(ModuleId::new(0), 4_096).unwrap();
    region.write(0, &[7; 16]);
    let other = Tag::new(4).unwrap();
    sim.run(|ppe| {
        let program = ppe.spawn(SPE, |spe| {
            let mfc = spe.mfc();
            assert_eq!(mfc.take_late_fault(), None);
            issue_bad_list(spe, &region);
            mfc.wait_all(TagMask::ALL);
            // The fault is there, and no program has taken it.
            write_list(spe, region.at(0), [true, false]);
            let list = RawCommand::getl(LsAddr(0x3000), region.at(0).eah(), LIST, 16, other);
            mfc.issue(list).unwrap();
            assert_eq!(mfc.wait_stalled(), other.mask());
            assert!(mfc.take_late_fault().is_some());
            mfc.acknowledge_stall(other).unwrap();
            mfc.wait_all(TagMask::ALL);
            let mut moved = [0; 32];
            spe.local_store().read(LsAddr(0x3000), &mut moved);
            moved
        });
        assert_eq!(program.join().unwrap(), [7; 32]);
    })
    .unwrap();
}

#[test]
fn a_late_fault_that_waits_to_be_taken_hides_no_hazard() {
    let qs20 = Description::built_in("qs20").unwrap();
    let sim = Sim::builder(qs20).hazards(HazardWatch::Error);
    let sim = sim.build().unwrap();
    let region = sim.allocate(ModuleId::new(0), 4_096).unwrap();
    sim.run(|ppe| {
        let program = ppe.spawn(SPE, |spe| {
            assert_eq!(spe.mfc().take_late_fault(), None);
            issue_bad_list(spe, &region);
            spe.mfc().wait_all(TagMask::ALL);
            let get = RawCommand::get(LsAddr(0x1000), region.at(0), 4_096, TAG);
            spe.mfc().issue(get).unwrap();
            spe.mfc().issue(get).unwrap();
            unreachable!("the second get is a hazard");
        });
        let panic = program.join().unwrap_err();
        assert!(text(&panic).starts_with("hazard at "), "{panic}");
    })
    .unwrap();
}

/// A value whose destructor calls the MFC.
struct WaitsWhenDropped<'a>(&'a <Sim as Machine>::Spe);

impl Drop for WaitsWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.mfc().wait_all(TagMask::ALL);
    }
}

#[test]
fn a_late_fault_does_not_end_the_process() {
    let sim = qs20();
    let region = sim.allocate(ModuleId::new(0), 4_096).unwrap();
    let end = sim.run(|ppe| {
        let program = ppe.spawn(SPE, |spe| {
            let _asks = WaitsWhenDropped(spe);
            issue_bad_list(spe, &region);
            spe.compute(Cycles(1_000_000));
            panic!("its own");
        });
        let payload = program.join().unwrap_err();
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"its own"));
    });
    end.unwrap();
}

#[test]
fn a_stall_that_was_not_read_is_not_for_the_next_program() {
    let sim = qs20();
    let region = sim.allocate(ModuleId::new(0), 4_096).unwrap();
    sim.run(|ppe| {
        drop(ppe.spawn(SPE, |spe| {
            write_list(spe, region.at(0), [true, false]);
            let list = RawCommand::getl(LsAddr(0x2000), region.at(0).eah(), LIST, 16, TAG);
            spe.mfc().issue(list).unwrap();
            spe.compute(Cycles(1_000_000));
            spe.now();
            spe.yield_now();
            spe.mfc().acknowledge_stall(TAG).unwrap();
            spe.mfc().wait_all(TagMask::ALL);
        }));
        let after = ppe.spawn(SPE, |spe| spe.mfc().take_stall_notifications());
        assert_eq!(after.join().unwrap(), TagMask::NONE);
    })
    .unwrap();
}

#[test]
fn a_panic_wins_over_the_limit_that_is_met_while_its_program_ends() {
    let mut description = Description::built_in("qs20").unwrap();
    description.ppe.end_program_ps.value = 1_000_000_000_000;
    let limit = Span::from_femtoseconds(100_000_000_000_000);
    let sim = Sim::builder(description).limit(limit).build().unwrap();
    let end = sim.run(|ppe| {
        drop(ppe.spawn(SPE, |_| panic!("first")));
    });
    let Err(RunError::Panic { payload, .. }) = end else {
        panic!("{:?}", end.err());
    };
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"first"));
}

#[test]
fn room_in_a_mailbox_is_not_lost_to_a_program_that_has_ended() {
    let third = SpeId::new(2);
    qs20()
        .run(|ppe| {
            let in_mbox = ProblemStateRegister::InMbox.of(OTHER);
            let put = RawCommand::put(LsAddr(0xc), in_mbox, 4, TAG);
            // Four words fill the mailbox. The fifth word is still in the queue when its program
            // ends.
            let gives_up = ppe.spawn(SPE, move |spe| {
                for word in 0..4 {
                    spe.write_in_mbox_of(OTHER, word);
                }
                spe.local_store().write_word(LsAddr(0xc), 4);
                spe.mfc().issue(put).unwrap();
                spe.compute(Cycles(100_000));
                spe.now();
                spe.yield_now();
            });
            gives_up.join().unwrap();
            let sender = ppe.spawn(third, move |spe| {
                spe.local_store().write_word(LsAddr(0xc), 5);
                spe.mfc().issue(put).unwrap();
                spe.mfc().wait_all(TagMask::ALL);
                spe.send_signal(OTHER, SignalRegister::One, 1);
            });
            let reader = ppe.spawn(OTHER, |spe| {
                spe.compute(Cycles(100_000_000));
                spe.yield_now();
                let first = spe.read_in_mbox();
                // The program reads no other word before the put is complete.
                spe.read_signal(SignalRegister::One);
                [
                    first,
                    spe.read_in_mbox(),
                    spe.read_in_mbox(),
                    spe.read_in_mbox(),
                ]
            });
            assert_eq!(reader.join().unwrap(), [0, 1, 2, 3]);
            sender.join().unwrap();
        })
        .unwrap();
}

#[test]
fn a_put_that_waits_for_room_is_one_hazard_however_often_it_tries() {
    const PUTS: u32 = 6;
    let sim = qs20();
    sim.run(|ppe| {
        let in_mbox = ProblemStateRegister::InMbox.of(OTHER);
        let senders = [0, 2, 3].map(|sender| {
            ppe.spawn(SpeId::new(sender), move |spe| {
                // The put of one sender takes each free place, while the puts of the other senders
                // fail.
                for _ in 0..PUTS {
                    spe.mfc()
                        .issue(RawCommand::put(LsAddr(0xc), in_mbox, 4, TAG))
                        .unwrap();
                }
                spe.mfc().wait_all(TagMask::ALL);
            })
        });
        let reader = ppe.spawn(OTHER, |spe| {
            for _ in 0..3 * PUTS {
                spe.compute(Cycles(1_000_000));
                spe.read_in_mbox();
            }
        });
        senders
            .into_iter()
            .for_each(|sender| sender.join().unwrap());
        reader.join().unwrap();
    })
    .unwrap();
    let counters = sim.counters().unwrap();
    // The hazards are all puts except the four that filled the mailbox.
    assert_eq!(counters.hazards_seen, u64::from(3 * PUTS - 4));
    let full = |hazard: &String| hazard.contains("inbound mailbox of SPE 1");
    assert!(counters.hazards.iter().all(full), "{:?}", counters.hazards);
    assert_eq!(counters.hazards.len(), 3);
}

#[test]
fn a_hazard_of_a_buffer_that_goes_back_late_ends_its_own_program() {
    let qs20 = Description::built_in("qs20").unwrap();
    let sim = Sim::builder(qs20)
        .hazards(HazardWatch::Error)
        .build()
        .unwrap();
    let region = sim.allocate(ModuleId::new(0), 1 << 16).unwrap();
    let mut data = vec![1_u32; 64];
    let end = sim.run(|ppe| {
        let program = ppe.spawn(SPE, |spe| {
            let view = spe.stage_out(&mut data).unwrap();
            drop(view);
            // While the put is under way, a longer get of the same bytes begins.
            for _ in 0..4 {
                let get = RawCommand::get(LsAddr(0), region.at(0), 1 << 14, TAG);
                spe.mfc().issue(get).unwrap();
            }
            spe.compute(Cycles(1_000_000));
        });
        let payload = program.join().unwrap_err();
        assert!(text(&payload).starts_with("hazard at "));
    });
    end.unwrap();
}

#[test]
fn lists_and_lines_count_the_bytes_that_they_move() {
    let sim = qs20();
    let region = sim.allocate(ModuleId::new(0), 1 << 16).unwrap();
    sim.run(|ppe| {
        let program = ppe.spawn(SPE, |spe| {
            // The first element stops the list, which goes on later.
            write_list(spe, region.at(0), [true, false]);
            let list = RawCommand::getl(LsAddr(0x2000), region.at(0).eah(), LIST, 16, TAG);
            spe.mfc().issue(list).unwrap();
            assert_eq!(spe.mfc().wait_stalled(), TAG.mask());
            spe.mfc().acknowledge_stall(TAG).unwrap();
            let line = RawCommand::putqlluc(LsAddr(0x4000), region.at(0), TAG);
            spe.mfc().issue(line).unwrap();
            spe.mfc().wait_all(TagMask::ALL);
        });
        program.join().unwrap();
    })
    .unwrap();
    let counters = sim.counters().unwrap();
    let spe = &counters.spes[0];
    assert_eq!((spe.commands, spe.bytes), (2, 2 * 16 + 128));
}

/// Uses main memory of the machine in a run, and returns the hash of the run's trace.
fn observed(sim: &Sim) -> u64 {
    let region = sim.allocate(ModuleId::new(0), 12_288).unwrap();
    let data = vec![1_u8; 50_000];
    sim.run(|ppe| {
        let programs = [SPE, OTHER].map(|at| {
            let (region, data) = (&region, &data);
            ppe.spawn(at, move |spe| {
                let get = RawCommand::get(LsAddr(0x1000), region.at(0), 8_192, TAG);
                spe.mfc().issue(get).unwrap();
                let mut stream = spe.stream(data, 4_096);
                while stream.next().unwrap().is_some() {
                    spe.compute(Cycles(100));
                }
                spe.mfc().wait_all(TagMask::ALL);
            })
        });
        for program in programs {
            program.join().unwrap();
        }
    })
    .unwrap();
    sim.counters().unwrap().trace_hash
}

#[test]
fn a_machine_that_runs_again_does_the_same_as_a_new_one() {
    let again = qs20();
    let first = observed(&again);
    assert_eq!(observed(&again), first);
    assert_eq!(observed(&qs20()), first);
}
