//! Loops that make no progress. The time limit of the run ends them, because every call takes time.

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, Ordering};

use cellworks_machine::mailbox::Outbound;
use cellworks_machine::mfc::{EffectiveAddress, LsAddr, RawCommand, Tag, TagMask};
use cellworks_machine::{
    AtomicOp, CellMachine, CellSpe, Cycles, Machine, Mfc, ModuleId, Ppe, RunError, SignalRegister,
    Span, Spe, SpeId, Wait, Wake,
};
use cellworks_sim::{Description, PpeAccess, Sim, SimBuilder};

const SPE: SpeId = SpeId::new(0);
const OTHER: SpeId = SpeId::new(1);

/// A QS20 on which programs start soon, so that the limit can be short.
fn qs20() -> SimBuilder {
    let mut description = Description::built_in("qs20").unwrap();
    description.ppe.start_program_ps.value = 1_000;
    Sim::builder(description)
}

fn limited() -> SimBuilder {
    qs20().limit(Span::from_femtoseconds(50_000_000_000))
}

/// Runs `turn` again and again on an SPE with full mailboxes, until the time limit ends the run.
fn assert_ends(what: &str, turn: impl Fn(&<Sim as Machine>::Spe) + Sync) {
    let end = limited().build().unwrap().run(|ppe| {
        let program = ppe.spawn(SPE, |spe| {
            while spe.try_write_in_mbox_of(OTHER, 1).is_ok() {}
            spe.write_out_mbox(Outbound::Plain, 1);
            loop {
                turn(spe);
            }
        });
        program.join().unwrap();
    });
    assert!(
        matches!(end, Err(RunError::TimeLimit { .. })),
        "{what}: {:?}",
        end.err()
    );
}

/// Does the same as [`assert_ends`] on the PPE.
fn assert_ends_on_ppe(
    what: &str,
    access: PpeAccess,
    turn: impl for<'scope> Fn(&'scope Ppe<'scope, '_, Sim>),
) {
    let end = limited().ppe_access(access).build().unwrap().run(|ppe| {
        while ppe.try_write_in_mbox(OTHER, 1).is_ok() {}
        loop {
            turn(ppe);
        }
    });
    assert!(
        matches!(end, Err(RunError::TimeLimit { .. })),
        "{what}: {:?}",
        end.err()
    );
}

#[test]
fn loops_that_try_end() {
    const NOWHERE: EffectiveAddress = EffectiveAddress(0x1000);
    assert_ends("a full mailbox", |spe| {
        let _ = spe.try_write_in_mbox_of(OTHER, 1);
    });
    assert_ends("an own full mailbox", |spe| {
        let _ = spe.try_write_out_mbox(Outbound::Plain, 1);
    });
    assert_ends("an empty mailbox", |spe| {
        spe.try_read_in_mbox();
    });
    assert_ends("a count", |spe| {
        spe.in_mbox_count();
    });
    assert_ends("no signal", |spe| {
        spe.try_read_signal(SignalRegister::One);
    });
    assert_ends("no room", |spe| {
        assert!(spe.stage(&vec![0_u8; 1 << 20]).is_err());
    });
    assert_ends("a word that is nowhere", |spe| {
        assert!(spe.load_word(NOWHERE).is_err());
    });
    assert_ends("half a word", |spe| {
        assert!(
            spe.fetch_update(EffectiveAddress(2), AtomicOp::Add(1))
                .is_err()
        );
    });
    assert_ends("a line that is nowhere", |spe| {
        assert!(spe.mfc().getllar(LsAddr(0), NOWHERE).is_err());
    });
    assert_ends("no reservation", |spe| {
        spe.mfc().reservation_lost();
    });
    assert_ends("a queue", |spe| {
        spe.mfc().free_entries();
    });
}

#[test]
fn loops_that_do_nothing_end() {
    assert_ends("the clock", |spe| {
        spe.now();
    });
    assert_ends("a yield", Spe::yield_now);
    assert_ends("no cycle", |spe| spe.compute(Cycles(0)));
    assert_ends("no thread", |spe| spe.threads(0, |_| ()).unwrap());
    assert_ends("what is there already", |spe| {
        spe.wait_until(&"nothing", &mut || true);
    });
    assert_ends("what the MFC has already", |spe| {
        spe.mfc().wait_until(&"nothing", &mut || true);
    });
}

#[test]
fn loops_of_the_ppe_end() {
    for access in [PpeAccess::Direct, PpeAccess::SystemCalls] {
        assert_ends_on_ppe("a full mailbox", access, |ppe| {
            let _ = ppe.try_write_in_mbox(OTHER, 1);
        });
        assert_ends_on_ppe("an empty mailbox", access, |ppe| {
            ppe.try_read_out_mbox(OTHER, Outbound::Plain);
        });
        assert_ends_on_ppe("half a word", access, |ppe| {
            let half = EffectiveAddress(2);
            assert!(ppe.fetch_update(half, AtomicOp::Add(1)).is_err());
        });
        assert_ends_on_ppe("what is there already", access, |ppe| {
            ppe.wait_until(&"nothing", &mut || true);
        });
        assert_ends_on_ppe("the clock", access, |ppe| {
            ppe.now();
        });
    }
}

#[test]
fn a_program_is_seen_to_finish() {
    limited()
        .build()
        .unwrap()
        .run(|ppe| {
            let program = ppe.spawn(SPE, |spe| spe.compute(Cycles(1_000)));
            while !program.is_finished() {}
            program.join().unwrap();
        })
        .unwrap();
}

#[test]
fn a_thread_that_spins_and_yields_lets_others_run() {
    let flag = AtomicBool::new(false);
    limited()
        .build()
        .unwrap()
        .run(|ppe| {
            drop(ppe.spawn(SPE, |spe| {
                while !flag.load(Ordering::Acquire) {
                    spe.yield_now();
                }
            }));
            drop(ppe.spawn(OTHER, |spe| {
                spe.compute(Cycles(5_000));
                flag.store(true, Ordering::Release);
            }));
        })
        .unwrap();
}

#[test]
fn no_time_is_too_long_for_the_longest_limit() {
    let end = qs20().build().unwrap().run(|ppe| {
        let program = ppe.spawn(SPE, |spe| {
            loop {
                spe.compute(Cycles(u64::MAX));
                spe.now();
            }
        });
        program.join().unwrap();
    });
    let Err(RunError::TimeLimit { limit, .. }) = end else {
        panic!("{:?}", end.err());
    };
    assert_eq!(limit.as_femtoseconds(), 18_000_000_000_000_000_000);
}

#[test]
fn no_time_is_too_long_in_a_condition() {
    let end = qs20().build().unwrap().run(|ppe| {
        let program = ppe.spawn(SPE, |spe| {
            spe.wait_until(&"a long time", &mut || {
                (0..3).for_each(|_| spe.compute(Cycles(u64::MAX)));
                spe.send_signal(OTHER, SignalRegister::One, 1);
                spe.now();
                true
            });
            spe.yield_now();
        });
        program.join().unwrap();
    });
    assert!(
        matches!(end, Err(RunError::TimeLimit { .. })),
        "{:?}",
        end.err()
    );
}

#[test]
fn a_machine_runs_one_program_at_a_time() {
    let sim = limited().build().unwrap();
    let end = sim.run(|_| {
        let inner = catch_unwind(std::panic::AssertUnwindSafe(|| sim.run(|_| ())));
        let payload = inner.err().unwrap();
        payload.downcast_ref::<String>().unwrap().clone()
    });
    assert_eq!(
        end.unwrap(),
        format!(
            "{} runs a program already, which this one was started in or beside; make a machine for each run",
            sim.topology().name()
        )
    );
    sim.run(|_| ()).unwrap();
}

#[test]
fn a_program_of_another_machine_cannot_run_a_machine_and_the_error_has_a_remedy() {
    let (outer, inner) = (limited().build().unwrap(), limited().build().unwrap());
    let refusal = || {
        let ran = catch_unwind(std::panic::AssertUnwindSafe(|| inner.run(|_| ())));
        ran.unwrap_err().downcast_ref::<String>().unwrap().clone()
    };
    let refusals = outer.run(|ppe| {
        let of_spe = ppe.spawn(SPE, |_| refusal()).join().unwrap();
        [refusal(), of_spe]
    });
    let expected = "qs20 cannot run a program inside of a program of another machine: an OS thread runs one machine \
        at a time; run it before or after the other, or on an OS thread of its own (`std::thread::scope`)";
    assert_eq!(refusals.unwrap(), [expected, expected]);
    // After the outer run has ended, the inner machine can run.
    inner.run(|_| ()).unwrap();
}

#[test]
fn another_machine_runs_on_another_os_thread() {
    let (outer, inner) = (limited().build().unwrap(), limited().build().unwrap());
    let sum = outer.run(|ppe| {
        let program = ppe.spawn(SPE, |_| {
            assert!(catch_unwind(std::panic::AssertUnwindSafe(|| inner.run(|_| ()))).is_err());
            std::thread::scope(|os| os.spawn(|| inner.run(|_| 3).unwrap()).join().unwrap())
        });
        program.join().unwrap()
    });
    assert_eq!(sum.unwrap(), 3);
}

#[test]
fn a_memory_that_sends_all_the_time_does_not_keep_a_word_from_its_mailbox() {
    let mut ps3 = Description::built_in("ps3").unwrap();
    ps3.ppe.start_program_ps.value = 1_000;
    // Without a refresh, the memory has no pause.
    ps3.modules[0].refresh_ps.value = 0;
    let limit = Span::from_femtoseconds(50_000_000_000);
    let sim = Sim::builder(ps3).limit(limit).build().unwrap();
    let block = 1 << 14;
    let data = &sim.allocate(ModuleId::new(0), 12 * block).unwrap();
    let tags = &[
        Tag::of::<0>(),
        Tag::of::<1>(),
        Tag::of::<2>(),
        Tag::of::<3>(),
    ];
    let end = sim.run(|ppe| {
        // Three SPEs read with four buffers each, until they have a word.
        let readers = [0, 1, 2].map(|spe| {
            ppe.spawn(SpeId::new(spe), move |spe| {
                for buffer in (0..4).cycle() {
                    spe.mfc().wait_all(tags[buffer].mask());
                    if spe.try_read_in_mbox().is_some() {
                        break;
                    }
                    let at = LsAddr((buffer * block) as u32);
                    let from = data.at((spe.id().index() * 4 + buffer) * block);
                    let get = RawCommand::get(at, from, block as u32, tags[buffer]);
                    spe.mfc().issue(get).unwrap();
                }
                spe.mfc().wait_all(TagMask::ALL);
            })
        });
        ppe.compute(Cycles(16_000));
        for spe in [3, 0, 1, 2] {
            ppe.write_in_mbox(SpeId::new(spe), 1);
        }
        for reader in readers {
            reader.join().unwrap();
        }
    });
    end.unwrap();
}
