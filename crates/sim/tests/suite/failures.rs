//! The errors of a simulation, with their full texts.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use cellworks_machine::mailbox::Outbound;
use cellworks_machine::mfc::{LsAddr, RawCommand, Tag, TagMask};
use cellworks_machine::{
    CellMachine, CellSpe, Cycles, Machine, Mfc, ModuleId, RunError, SignalRegister, Span, Spe,
    SpeId, Time, Wake,
};
use cellworks_sim::{Description, HazardWatch, PpeAccess, Sim, SimSpe};

/// A machine on which programs start a microsecond apart.
fn machine() -> Description {
    let mut description = Description::built_in("qs20").unwrap();
    description.ppe.start_program_ps.value = 1_000_000;
    description.spu.switch_cycles.value = 180;
    description.mfc.issue_cycles.value = 10;
    description
}

/// The text of an error without the line numbers of this file, which change with the file.
fn text(error: &RunError) -> String {
    let (running, waits) = match error {
        RunError::Deadlock { waits } => (&[][..], waits.as_slice()),
        RunError::TimeLimit {
            running, programs, ..
        } => (running.as_slice(), programs.as_slice()),
        RunError::Panic { .. } | RunError::NoThread { .. } => (&[][..], &[][..]),
    };
    let of_waits = waits.iter().map(|wait| wait.location);
    let places = running.iter().map(|one| one.began_at).chain(of_waits);
    places.fold(error.to_string(), |text, place| {
        assert!(place.file().ends_with("failures.rs"), "{place}");
        text.replacen(&format!(" at {place}"), "", 1)
    })
}

#[test]
fn a_deadlock_lists_every_program_with_what_it_waits_for_and_since_when() {
    let error = Sim::new(machine())
        .unwrap()
        .run(|ppe| {
            drop(ppe.spawn(SpeId::new(3), |spe: &SimSpe| {
                spe.compute(Cycles(3_200));
                spe.read_in_mbox();
            }));
            drop(ppe.spawn(SpeId::new(12), |spe: &SimSpe| {
                spe.threads(2, |thread| {
                    if thread.0 == 0 {
                        spe.read_signal(SignalRegister::Two);
                    } else {
                        (0..5).for_each(|word| spe.write_in_mbox_of(SpeId::new(0), word));
                    }
                })
                .unwrap();
            }));
        })
        .unwrap_err();
    assert_eq!(
        text(&error),
        "deadlock: every program waits for another
  SPE 3 waits for a word in its inbound mailbox, since the time 2.00 us
  SPE 12 waits for 2 threads of its scope to end, since the time 2.00 us
  SPE 12, thread 0 waits for a signal in its signal register 2, since the time 2.06 us
  SPE 12, thread 1 waits for room in the inbound mailbox of SPE 0, since the time 2.13 us
  the PPE waits for the programs that it spawned to end, since the time 2.00 us"
    );
}

/// A machine on which runs end after 50 us.
fn limited(access: PpeAccess) -> Sim {
    let limit = Span::from_nanoseconds(50_000);
    Sim::builder(machine())
        .limit(limit)
        .ppe_access(access)
        .build()
        .unwrap()
}

#[test]
fn a_limit_ends_what_never_ends() {
    let error = limited(PpeAccess::Direct)
        .run(|ppe| {
            drop(ppe.spawn(SpeId::new(0), |spe: &SimSpe| {
                loop {
                    spe.yield_now();
                }
            }));
            drop(ppe.spawn(SpeId::new(1), |spe: &SimSpe| spe.read_in_mbox()));
            drop(ppe.spawn(SpeId::new(2), |spe: &SimSpe| {
                spe.threads(2, |_| {
                    loop {
                        spe.yield_now();
                    }
                })
                .unwrap();
            }));
        })
        .unwrap_err();
    let RunError::TimeLimit { running, .. } = &error else {
        panic!("{error}");
    };
    let program = "suite::failures::a_limit_ends_what_never_ends::{{closure}}::{{closure}}";
    assert!(running.iter().all(|one| one.program == program), "{error}");
    assert_eq!(text(&error).replace(program, "PROGRAM"),"the run was ended after 50.00 us of simulated time, which was its limit; give it more, or look for a \
loop that waits for what never comes
  SPE 0 runs PROGRAM, begun
  SPE 2, thread 0 runs PROGRAM, begun
  SPE 2, thread 1 runs PROGRAM, begun
  SPE 1 waits for a word in its inbound mailbox, since the time 2.00 us
  SPE 2 waits for 2 threads of its scope to end, since the time 3.00 us
  the PPE waits for the programs that it spawned to end, since the time 3.00 us");
}

/// Two threads and two SPEs each wait until another one sets a flag. None does.
#[test]
fn programs_that_only_yield_are_a_deadlock() {
    let flag = AtomicBool::new(false);
    let wait = |spe: &SimSpe| {
        while !flag.load(Ordering::Relaxed) {
            spe.yield_now();
        }
    };
    let error = Sim::new(machine())
        .unwrap()
        .run(|ppe| {
            drop(ppe.spawn(SpeId::new(0), wait));
            drop(ppe.spawn(SpeId::new(1), |spe: &SimSpe| {
                spe.threads(2, |_| wait(spe)).unwrap();
            }));
            drop(ppe.spawn(SpeId::new(2), |spe: &SimSpe| spe.read_in_mbox()));
        })
        .unwrap_err();
    assert_eq!(
        text(&error),
        "deadlock: every program waits for another
  SPE 0 waits for what another program does, in a loop of yields, since the time 3.00 us
  SPE 1 waits for 2 threads of its scope to end, since the time 2.00 us
  SPE 1, thread 0 waits for what another program does, in a loop of yields, since the time 3.00 us
  SPE 1, thread 1 waits for what another program does, in a loop of yields, since the time 3.00 us
  SPE 2 waits for a word in its inbound mailbox, since the time 3.00 us
  the PPE waits for the programs that it spawned to end, since the time 3.00 us"
    );
}

/// More yields than the run takes for an endless loop, while an event is pending.
#[test]
fn a_loop_of_yields_may_end_by_what_comes_late() {
    let flag = AtomicBool::new(false);
    Sim::new(machine())
        .unwrap()
        .run(|ppe| {
            drop(ppe.spawn(SpeId::new(0), |spe: &SimSpe| {
                while !flag.load(Ordering::Relaxed) {
                    spe.yield_now();
                }
            }));
            drop(ppe.spawn(SpeId::new(1), |spe: &SimSpe| {
                spe.wait_until_deadline(
                    &"its time",
                    Time::default() + Span::from_nanoseconds(15_000_000),
                    &mut || false,
                );
                flag.store(true, Ordering::Relaxed);
            }));
        })
        .unwrap();
}

/// One turn of a program that repeats the turn without end.
type Round = fn(&SimSpe);

#[test]
fn loops_that_only_look_meet_the_limit() {
    let rounds: [Round; 5] = [
        |spe| spe.yield_now(),
        |spe| assert_eq!(spe.try_read_in_mbox(), None),
        |spe| assert_eq!(spe.try_read_signal(SignalRegister::One), None),
        |spe| assert!(spe.now() > Time::default()),
        |spe| spe.compute(Cycles(1)),
    ];
    for round in rounds {
        let error = limited(PpeAccess::Direct)
            .run(|ppe| {
                drop(ppe.spawn(SpeId::new(0), move |spe: &SimSpe| {
                    loop {
                        round(spe);
                    }
                }));
            })
            .unwrap_err();
        assert!(matches!(error, RunError::TimeLimit { .. }), "{error}");
    }
}

#[test]
fn a_ppe_that_polls_meets_the_limit() {
    for access in [PpeAccess::Direct, PpeAccess::SystemCalls] {
        let rounds = Cell::new(0);
        let error = limited(access)
            .run(|ppe| {
                while ppe
                    .try_read_out_mbox(SpeId::new(0), Outbound::Plain)
                    .is_none()
                {
                    rounds.set(rounds.get() + 1);
                }
            })
            .unwrap_err();
        assert!(matches!(error, RunError::TimeLimit { .. }), "{error}");
        assert!(rounds.get() > 10, "{access:?}: {}", rounds.get());
    }
}

#[test]
fn the_error_of_a_full_mailbox_names_it() {
    let refused = Sim::new(machine()).unwrap().run(|ppe| {
        let program = ppe.spawn(SpeId::new(0), |spe: &SimSpe| {
            let to = SpeId::new(1);
            (0..4).for_each(|word| spe.try_write_in_mbox_of(to, word).unwrap());
            spe.try_write_in_mbox_of(to, 4).unwrap_err().to_string()
        });
        program.join().unwrap()
    });
    assert_eq!(
        refused.unwrap(),
        "the inbound mailbox of SPE 1 is full, so the word 0x00000004 was not written; read the mailbox, or use \
         the write that waits"
    );
}

/// The pattern of every example: the error of the run has the cause, also if the main program
/// panics with it.
#[test]
fn an_unwrapped_join_names_the_spe_and_the_cause() {
    let error = Sim::new(machine())
        .unwrap()
        .run(|ppe| {
            let program = ppe.spawn(SpeId::new(3), |_: &SimSpe| -> u32 { panic!("no fuel") });
            program.join().unwrap()
        })
        .unwrap_err();
    let text = error.to_string();
    let begin =
        "the main program panicked on the PPE: called `Result::unwrap()` on an `Err` value: ";
    assert!(text.starts_with(begin), "{text}");
    assert!(text.ends_with(" panicked on SPE 3: no fuel"), "{text}");
}

/// A get of an address that is no multiple of 16, and a get into bytes that another one fills.
#[test]
fn a_joined_fault_and_a_joined_hazard_name_the_spe_and_the_rule() {
    let sim = Sim::builder(machine()).hazards(HazardWatch::Error);
    let sim = sim.build().unwrap();
    let region = sim.allocate(ModuleId::new(0), 1 << 14).unwrap();
    let failed = |to: [LsAddr; 2]| {
        let run = sim.run(|ppe| {
            let program = ppe.spawn(SpeId::new(1), |spe: &SimSpe| {
                for to in to {
                    let get = RawCommand::get(to, region.at(0), 1 << 14, Tag::of::<3>());
                    spe.mfc().issue(get).unwrap();
                }
                spe.mfc().wait_all(TagMask::ALL);
            });
            program.join().unwrap();
        });
        run.unwrap_err().to_string()
    };
    let fault = failed([LsAddr(8), LsAddr(0)]);
    assert!(fault.contains(" panicked on SPE 1: "), "{fault}");
    let hazard = failed([LsAddr(0), LsAddr(0)]);
    assert!(
        hazard.contains(" panicked on SPE 1: hazard at "),
        "{hazard}"
    );
}

#[test]
fn a_hazard_names_the_places_in_foreign_source() {
    let sim = Sim::new(machine()).unwrap();
    let region = sim.allocate(ModuleId::new(0), 1 << 14).unwrap();
    sim.run(|ppe| {
        drop(ppe.spawn(SpeId::new(1), |spe: &SimSpe| {
            let get = RawCommand::get(LsAddr(0), region.at(0), 1 << 14, Tag::of::<3>());
            for place in ["spu.c:10:3", "spu.c:11:3"] {
                let _at = spe.at(place);
                spe.mfc().issue(get).unwrap();
            }
            spe.mfc().issue(get).unwrap();
            spe.mfc().wait_all(TagMask::ALL);
        }));
    })
    .unwrap();
    let hazard = sim.counters().unwrap().hazards.remove(0);
    let (new, old) = hazard.split_once(" while its own ").unwrap();
    assert!(new.ends_with(", tag 3) at spu.c:11:3"), "{hazard}");
    assert!(
        old.contains(", tag 3) at spu.c:10:3, issued at "),
        "{hazard}"
    );
}

/// A command that waits for an entry of the queue is issued in the condition of a wait.
#[test]
fn a_command_that_waited_for_the_queue_has_its_place() {
    let sim = Sim::builder(machine()).hazards(HazardWatch::Error);
    let sim = sim.build().unwrap();
    let region = sim.allocate(ModuleId::new(0), 1 << 14).unwrap();
    let run = sim.run(|ppe| {
        drop(ppe.spawn(SpeId::new(1), |spe: &SimSpe| {
            let tag = Tag::of::<3>();
            let get = |at: u32| RawCommand::get(LsAddr(at << 12), region.at(0), 4_096, tag);
            (0..16).for_each(|at| spe.mfc().issue(get(at)).unwrap());
            let _at = spe.at("spu.c:12:3");
            spe.mfc().issue(get(15)).unwrap();
            spe.mfc().wait_all(TagMask::ALL);
        }));
    });
    let hazard = run.unwrap_err().to_string();
    assert!(
        hazard.contains(", tag 3) at spu.c:12:3 while its own "),
        "{hazard}"
    );
}

#[test]
fn an_spe_that_does_not_exist_is_named() {
    let error = Sim::new(machine())
        .unwrap()
        .run(|ppe| {
            drop(ppe.spawn(SpeId::new(2), |spe: &SimSpe| {
                spe.write_in_mbox_of(SpeId::new(16), 1);
            }));
        })
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.ends_with(
            " panicked on SPE 2: SPE 16 was named, but qs20 has 16 SPEs, 0 to 15; use `topology().spes()`"
        ),
        "{text}"
    );
    let spawned = Sim::new(machine())
        .unwrap()
        .run(|ppe| drop(ppe.spawn(SpeId::new(16), |_: &SimSpe| ())))
        .unwrap_err();
    assert_eq!(
        spawned.to_string(),
        "the main program panicked on the PPE: a program was spawned on SPE 16, but qs20 has 16 SPEs, 0 to 15; use \
         `topology().spes()`"
    );
}

#[test]
fn memory_beyond_the_module_is_refused() {
    let sim = Sim::new(machine()).unwrap();
    let module = ModuleId::new(0);
    let refused = |bytes| match sim.allocate(module, bytes) {
        Ok(_) => panic!("{bytes} bytes were allocated"),
        Err(error) => error.to_string(),
    };
    assert_eq!(
        refused((512 << 20) + 1),
        "536870913 bytes of main memory in memory module 0 could not be allocated: the module has 536870912 \
         bytes, of which 536870912 are free"
    );
    let half = sim.allocate(module, 256 << 20).unwrap();
    assert_eq!(
        refused((256 << 20) + 1),
        "268435457 bytes of main memory in memory module 0 could not be allocated: the module has 536870912 \
         bytes, of which 268435456 are free"
    );
    drop(half);
    sim.allocate(module, 512 << 20).unwrap();
}

#[test]
fn a_module_that_does_not_exist_is_refused() {
    let error = match Sim::new(machine()).unwrap().allocate(ModuleId::new(2), 128) {
        Ok(_) => panic!("there is no such module"),
        Err(error) => error.to_string(),
    };
    assert_eq!(
        error,
        "memory module 2 does not exist: qs20 has memory modules 0 to 1"
    );
}

#[test]
fn the_panic_of_a_program_comes_before_the_deadlock_that_it_caused() {
    let error = Sim::new(machine())
        .unwrap()
        .run(|ppe| {
            drop(ppe.spawn(SpeId::new(0), |_: &SimSpe| panic!("no word today")));
            drop(ppe.spawn(SpeId::new(1), |spe: &SimSpe| spe.read_in_mbox()));
        })
        .unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with(" panicked on SPE 0: no word today"),
        "{error}"
    );
}

#[test]
fn a_local_store_has_the_size_that_is_described_and_not_more() {
    const BYTES: usize = 81 * 128;
    let mut description = machine();
    description.local_store.bytes.value = BYTES as u64;
    let program = |spe: &SimSpe| {
        let large = [1_u8; BYTES + 1];
        let refused = spe.stage(&large).unwrap_err().to_string();
        (
            spe.local_store().bytes(),
            spe.stage(&large[1..]).unwrap()[BYTES - 1],
            refused,
        )
    };
    let (bytes, last, refused) = Sim::new(description)
        .unwrap()
        .run(|ppe| ppe.spawn(SpeId::new(0), program).join().unwrap())
        .unwrap();
    assert_eq!((bytes, last), (BYTES, 1));
    assert!(
        refused.starts_with("the local store of SPE 0 has no room: "),
        "{refused}"
    );
}

#[test]
fn local_stores_without_memory_are_an_error() {
    let mut description = machine();
    description.local_store.bytes.value = 1 << 62;
    let error = match Sim::new(description) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("no computer has so much memory"),
    };
    assert!(
        error.starts_with(
            "the system gives no memory for the local store of SPE 0 (4611686018427387904 bytes): "
        ),
        "{error}"
    );
    assert!(
        error.ends_with("; describe fewer or smaller ones"),
        "{error}"
    );
}
