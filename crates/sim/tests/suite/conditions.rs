//! Tests of the conditions of waits, and of the code that prints descriptions of waits.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use cellworks_machine::mailbox::Outbound;
use cellworks_machine::{
    CellSpe, Cycles, Machine, Mfc, Processor, RunError, SignalRegister, Spe, SpeId, Time, Wait,
    Wake,
};
use cellworks_sim::{Description, PpeAccess, Sim};

const SPE: SpeId = SpeId::new(0);
const OTHER: SpeId = SpeId::new(1);

fn qs20() -> Sim {
    Sim::new(Description::built_in("qs20").unwrap()).unwrap()
}

#[test]
fn a_condition_of_the_ppe_may_send_and_wait_for_the_answer() {
    for access in [PpeAccess::Direct, PpeAccess::SystemCalls] {
        let qs20 = Description::built_in("qs20").unwrap();
        let sim = Sim::builder(qs20).ppe_access(access).build().unwrap();
        sim.run(|ppe| {
            let program = ppe.spawn(SPE, |spe| {
                assert_eq!(spe.read_signal(SignalRegister::One), 7);
                let word = spe.read_in_mbox();
                spe.write_out_mbox(Outbound::Plain, word + 1);
            });
            let mut has_sent = false;
            let mut answer = None;
            ppe.wait_until(&"an answer", &mut || {
                if !has_sent {
                    ppe.send_signal(SPE, SignalRegister::One, 7);
                    has_sent = ppe.try_write_in_mbox(SPE, 41).is_ok();
                }
                answer = ppe.try_read_out_mbox(SPE, Outbound::Plain);
                answer.is_some()
            });
            assert_eq!(answer, Some(42));
            program.join().unwrap();
        })
        .unwrap();
    }
}

#[test]
fn what_a_condition_of_the_ppe_sends_when_it_comes_true_arrives() {
    qs20()
        .run(|ppe| {
            let program = ppe.spawn(SPE, |spe| {
                let signal = spe.read_signal(SignalRegister::Two);
                signal + spe.read_in_mbox()
            });
            ppe.wait_until(&"nothing", &mut || {
                ppe.send_signal(SPE, SignalRegister::Two, 1);
                ppe.try_write_in_mbox(SPE, 2).is_ok()
            });
            assert_eq!(program.join().unwrap(), 3);
        })
        .unwrap();
}

#[test]
fn a_yield_in_a_condition_lets_no_other_thread_run() {
    qs20()
        .run(|ppe| {
            let program = ppe.spawn(SPE, |spe| {
                let turn = Cell::new(0);
                spe.threads(3, |_| {
                    spe.wait_until(&"its turn", &mut || {
                        let before = turn.get();
                        spe.yield_now();
                        assert_eq!(turn.get(), before);
                        true
                    });
                    turn.set(turn.get() + 1);
                    spe.yield_now();
                })
                .unwrap();
                turn.get()
            });
            assert_eq!(program.join().unwrap(), 3);
        })
        .unwrap();
}

#[test]
fn a_condition_must_not_start_threads() {
    let end = qs20().run(|ppe| {
        let program = ppe.spawn(SPE, |spe| {
            spe.wait_until(&"threads", &mut || {
                spe.threads(2, |_| ()).unwrap();
                true
            });
        });
        let payload = program.join().unwrap_err();
        payload.downcast_ref::<String>().unwrap().clone()
    });
    assert_eq!(
        end.unwrap(),
        "SPE 0 waits within the condition of another wait; conditions must not wait"
    );
}

/// The time at which an SPE goes on after a wait whose condition is checked many times.
fn goes_on_at(uses_its_mfc: bool) -> Time {
    let is_there = AtomicBool::new(false);
    let checks = AtomicU32::new(0);
    let end = qs20().run(|ppe| {
        let program = ppe.spawn(SPE, |spe| {
            spe.wait_until(&"what comes late", &mut || {
                let is_there = is_there.load(Ordering::Relaxed);
                if uses_its_mfc && !is_there {
                    checks.fetch_add(1, Ordering::Relaxed);
                    spe.mfc().free_entries();
                    spe.compute(Cycles(100));
                }
                is_there
            });
            spe.now()
        });
        drop(ppe.spawn(OTHER, |spe| {
            for turn in 0..50 {
                spe.compute(Cycles(100_000));
                is_there.store(turn == 49, Ordering::Relaxed);
                spe.notify(Processor::Spe(SPE));
            }
        }));
        program.join().unwrap()
    });
    assert!(!uses_its_mfc || checks.into_inner() > 10);
    end.unwrap()
}

#[test]
fn checking_again_takes_no_time() {
    assert_eq!(goes_on_at(true), goes_on_at(false));
}

/// A description of a wait that itself waits when printed.
struct Meddles<'a>(&'a <Sim as Machine>::Spe);

impl fmt::Display for Meddles<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.compute(Cycles(1 << 40));
        self.0.yield_now();
        self.0.send_signal(OTHER, SignalRegister::One, 1);
        write!(f, "Godot")
    }
}

/// A description of a wait that panics when printed.
struct Waits<'a>(&'a <Sim as Machine>::Spe);

impl fmt::Display for Waits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.read_in_mbox())
    }
}

#[test]
fn a_description_that_uses_its_spe_harms_no_report() {
    let end = qs20().run(|ppe| {
        drop(ppe.spawn(SPE, |spe| {
            spe.threads(2, |_| {
                spe.wait_until(&Meddles(spe), &mut || false);
            })
            .unwrap();
        }));
        drop(ppe.spawn(OTHER, |spe| {
            spe.wait_until(&Waits(spe), &mut || false);
        }));
    });
    let Err(RunError::Deadlock { waits }) = end else {
        panic!("{:?}", end.err());
    };
    let waits: Vec<_> = waits.iter().map(|wait| (&*wait.who, &*wait.what)).collect();
    assert_eq!(
        waits,
        [
            ("SPE 0", "2 threads of its scope to end"),
            ("SPE 0, thread 0", "Godot"),
            ("SPE 0, thread 1", "Godot"),
            ("SPE 1", "something whose description panicked"),
            ("the PPE", "the programs that it spawned to end"),
        ]
    );
}
