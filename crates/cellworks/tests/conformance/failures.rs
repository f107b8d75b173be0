//! Failures of runs: panics, deadlocks, cancellation.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use cellworks::machine::mailbox::Outbound;
use cellworks::machine::mfc::{ListElement, LsAddr, RawCommand, Tag};
use cellworks::machine::{
    CellMachine, CellSpe, Cycles, Machine, Mfc, ModuleId, Processor, RunError, SignalRegister, Spe,
    Wait, Waiting, Wake,
};

use crate::{Words, on_every_machine, spe};

on_every_machine![
    a_panic_comes_out_of_join,
    a_program_that_computed_before_it_waits_for_ever_is_reported,
    a_panic_of_a_program_without_a_join_ends_the_run,
    a_panic_of_a_thread_reaches_the_program,
    a_panicking_destructor_is_carried,
    a_panic_with_the_payload_of_a_cancellation_is_a_panic,
    a_thread_that_waits_is_named,
    a_thread_that_waits_is_known_by_the_numbers_of_its_sleeper,
    a_program_that_yields_for_ever_is_cancelled_with_the_run;
    with words:
    the_first_panic_wins_over_the_deadlock_that_it_causes,
    a_panic_of_the_ppe_wins_over_those_that_it_causes,
    a_result_whose_destructor_panics_is_carried,
    a_captured_value_whose_destructor_panics_is_carried,
    a_condition_that_panics_harms_no_other_thread,
    a_thread_beside_one_that_unwinds_is_told_no_lies,
    cancelled_programs_run_their_destructors,
    waiting_in_a_destructor_of_a_cancelled_program_returns,
    threads_in_a_destructor_of_a_cancelled_program_do_not_run,
    waiting_in_a_destructor_of_a_panicking_program_waits,
    who_catches_the_cancellation_is_cancelled_again,
    programs_that_never_began_are_dropped,
    what_cancelled_programs_do_is_no_answer_to_the_ppe;
    on Cells:
    a_panic_of_the_ppe_cancels_programs_that_wait,
    a_deadlock_lists_who_waits_for_what,
    a_deadlock_names_places_in_foreign_source,
    a_dead_peer_is_a_deadlock,
];

/// Checks the locations in the report of a deadlock, and returns its entries without them.
fn deadlock(result: Result<impl Sized, RunError>) -> Vec<(String, String)> {
    let Err(RunError::Deadlock { waits }) = result else {
        panic!("expected a deadlock, got {:?}", result.err());
    };
    for Waiting { location, .. } in &waits {
        assert!(location.file().ends_with("failures.rs"), "{location}");
    }
    waits
        .into_iter()
        .map(|wait| (wait.who, wait.what))
        .collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected
        .iter()
        .map(|(who, what)| ((*who).to_owned(), (*what).to_owned()))
        .collect()
}

fn a_program_that_computed_before_it_waits_for_ever_is_reported<M: Machine>(machine: &M) {
    // The condition lets time pass, so the program waits from a time that no event has reached.
    let result = machine.run(|ppe| {
        drop(ppe.spawn(spe(1), |spe: &M::Spe| {
            spe.wait_until(&"what never comes", &mut || {
                spe.compute(Cycles(1_000));
                false
            });
        }));
    });
    let waits = deadlock(result);
    assert_eq!(
        waits[0],
        ("SPE 1".to_owned(), "what never comes".to_owned())
    );
}

fn a_panic_comes_out_of_join<M: Machine>(machine: &M) {
    machine
        .run(|ppe| {
            let program = |_: &M::Spe| -> u32 { std::panic::panic_any(7_i8) };
            let payload = ppe.spawn(spe(0), program).join().unwrap_err();
            assert_eq!(payload.downcast_ref(), Some(&7_i8));
            // The panic counts as handled, and the SPE can run another program.
            assert_eq!(ppe.spawn(spe(0), |_: &M::Spe| 3).join().unwrap(), 3);
        })
        .unwrap();
}

fn a_panic_of_a_program_without_a_join_ends_the_run<M: Machine>(machine: &M) {
    let error = machine
        .run(|ppe| drop(ppe.spawn(spe(2), |_: &M::Spe| panic!("no {}", "luck"))))
        .unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("a_panic_of_a_program_without_a_join_ends_the_run")
            && text.ends_with(" panicked on SPE 2: no luck"),
        "{text}"
    );
}

fn a_panic_of_the_ppe_cancels_programs_that_wait<M: CellMachine>(machine: &M) {
    let error = machine
        .run(|ppe| {
            drop(ppe.spawn(spe(0), |spe: &M::Spe| spe.read_in_mbox()));
            drop(ppe.spawn(spe(1), |spe: &M::Spe| spe.read_signal(SignalRegister::One)));
            panic!("enough");
        })
        .map(|(): ()| ())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the main program panicked on the PPE: enough"
    );
}

fn the_first_panic_wins_over_the_deadlock_that_it_causes<M: Machine>(
    machine: &M,
    words: &impl Words<M>,
) {
    let error = machine
        .run(|ppe| {
            drop(ppe.spawn(spe(0), |this: &M::Spe| words.read(this)));
            drop(ppe.spawn(spe(1), |this: &M::Spe| {
                if this.id() == spe(1) {
                    panic!("before the word was sent");
                }
                words.send_from(this, spe(0), 1);
            }));
        })
        .unwrap_err();
    assert!(matches!(&error, RunError::Panic { .. }), "{error}");
    assert!(
        error
            .to_string()
            .ends_with("on SPE 1: before the word was sent")
    );
}

fn a_panic_of_the_ppe_wins_over_those_that_it_causes<M: Machine>(
    machine: &M,
    words: &impl Words<M>,
) {
    let error = machine
        .run(|ppe| {
            drop(ppe.spawn(spe(1), |spe: &M::Spe| {
                words.answer(spe, 1);
                let waits = catch_unwind(AssertUnwindSafe(|| words.read(spe)));
                assert!(waits.is_ok(), "the PPE is gone");
            }));
            words.read_answer(ppe, spe(1));
            panic!("before");
        })
        .map(|(): ()| ())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the main program panicked on the PPE: before"
    );
}

fn a_panic_of_a_thread_reaches_the_program<M: Machine>(machine: &M) {
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let ended = Cell::new(0);
                let result = catch_unwind(AssertUnwindSafe(|| {
                    spe.threads(3, |thread| {
                        spe.yield_now();
                        assert!(thread.0 != 1, "thread 1 fails");
                        ended.set(ended.get() + 1);
                    })
                    .unwrap();
                }));
                let text = *result.unwrap_err().downcast::<&str>().unwrap();
                (text, ended.get())
            };
            let (text, ended) = ppe.spawn(spe(0), program).join().unwrap();
            assert_eq!((text, ended), ("thread 1 fails", 2));
        })
        .unwrap();
}

struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

fn a_panicking_destructor_is_carried<M: Machine>(machine: &M) {
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let data = [1_u8; 64];
                let _view = spe.stage(&data).unwrap();
                drop(OnDrop(|| panic!("in a destructor")));
            };
            let payload = ppe.spawn(spe(0), program).join().unwrap_err();
            assert_eq!(payload.downcast_ref(), Some(&"in a destructor"));
        })
        .unwrap();
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("the bomb went off");
        }
    }
}

fn assert_bomb_went_off(error: &RunError) {
    let text = error.to_string();
    assert!(
        text.ends_with("panicked on SPE 0: the bomb went off"),
        "{text}"
    );
}

fn a_result_whose_destructor_panics_is_carried<M: Machine>(machine: &M, words: &impl Words<M>) {
    let error = machine
        .run(|ppe| {
            // The program ends after its handle was dropped, so the SPE drops the result.
            drop(ppe.spawn(spe(0), |spe: &M::Spe| {
                words.read(spe);
                Bomb
            }));
            words.send(ppe, spe(0), 0);
        })
        .unwrap_err();
    assert_bomb_went_off(&error);
}

fn a_captured_value_whose_destructor_panics_is_carried<M: Machine>(
    machine: &M,
    words: &impl Words<M>,
) {
    let bomb = Bomb;
    let error = machine
        .run(|ppe| {
            drop(ppe.spawn(spe(0), |spe: &M::Spe| words.read(spe)));
            // This program never begins, and is dropped with the run.
            drop(ppe.spawn(spe(0), move |_: &M::Spe| drop(bomb)));
        })
        .unwrap_err();
    assert_bomb_went_off(&error);
}

fn a_panic_with_the_payload_of_a_cancellation_is_a_panic<M: Machine>(machine: &M) {
    let error = machine
        .run(|ppe| {
            drop(ppe.spawn(spe(0), |_: &M::Spe| {
                std::panic::panic_any(cellworks::machine::Cancelled);
            }));
        })
        .unwrap_err();
    assert!(matches!(error, RunError::Panic { .. }), "{error}");
}

fn a_condition_that_panics_harms_no_other_thread<M: Machine>(machine: &M, words: &impl Words<M>) {
    for _ in 0..200 {
        machine
            .run(|ppe| {
                let reader = ppe.spawn(spe(0), |spe: &M::Spe| words.read(spe));
                let panics = ppe.spawn(spe(2), |spe: &M::Spe| {
                    spe.wait_until(&"a word to fail at", &mut || {
                        assert!(words.try_read(spe).is_none(), "the word has come");
                        false
                    });
                });
                words.send(ppe, spe(2), 0);
                assert!(panics.join().is_err());
                words.send(ppe, spe(0), 1);
                assert_eq!(reader.join().unwrap(), 1);
            })
            .unwrap();
    }
}

fn a_thread_beside_one_that_unwinds_is_told_no_lies<M: Machine>(
    machine: &M,
    words: &impl Words<M>,
) {
    let result = machine.run(|ppe| {
        drop(ppe.spawn(spe(0), |spe: &M::Spe| {
            spe.threads(2, |thread| {
                if thread.0 == 0 {
                    let _waits = OnDrop(|| {
                        spe.wait_until(&"what never comes", &mut || false);
                    });
                    panic!("and its destructor waits");
                }
                // This thread does not unwind, so it must not get an invented word.
                let word = words.read(spe);
                unreachable!("the word {word} was never sent");
            })
            .unwrap();
        }));
    });
    // The panic comes first, so the run reports the panic and not the deadlock.
    let text = result.unwrap_err().to_string();
    assert!(text.ends_with("and its destructor waits"), "{text}");
}

fn a_deadlock_lists_who_waits_for_what<M: CellMachine>(machine: &M) {
    let region = machine.allocate(ModuleId::new(0), 4_096).unwrap();
    let result = machine.run(|ppe| {
        drop(ppe.spawn(spe(0), |this: &M::Spe| this.read_in_mbox()));
        drop(ppe.spawn(spe(1), |this: &M::Spe| {
            for word in 0..2 {
                this.write_out_mbox(Outbound::Interrupt, word);
            }
        }));
        drop(ppe.spawn(spe(2), |this: &M::Spe| {
            this.read_signal(SignalRegister::Two)
        }));
        drop(ppe.spawn(spe(3), |this: &M::Spe| {
            let element = |stall_and_notify| {
                let eal = region.at(0).eal();
                ListElement {
                    stall_and_notify,
                    bytes: 16,
                    eal,
                }
                .to_words()
            };
            for (i, word) in [element(true), element(false)]
                .concat()
                .into_iter()
                .enumerate()
            {
                this.local_store()
                    .write_word(LsAddr(0x100 + 4 * i as u32), word);
            }
            let tag = Tag::of::<3>();
            let eah = region.at(0).eah();
            let list = RawCommand::getl(LsAddr(0x1000), eah, LsAddr(0x100), 16, tag);
            this.mfc().issue(list).unwrap();
            this.mfc().wait_all(tag.mask());
        }));
        ppe.read_out_mbox(spe(0), Outbound::Plain)
    });
    let text = result.as_ref().unwrap_err().to_string();
    assert!(
        text.starts_with(
            "deadlock: every program waits for another\n  SPE 0 waits for a word in its inbound \
             mailbox at "
        ),
        "{text}"
    );
    assert_eq!(
        deadlock(result),
        pairs(&[
            ("SPE 0", "a word in its inbound mailbox"),
            ("SPE 1", "the PPE to empty its outbound interrupt mailbox"),
            ("SPE 2", "a signal in its signal register 2"),
            ("SPE 3", "DMA of all tag groups in {3}"),
            ("the PPE", "a word in the outbound mailbox of SPE 0"),
        ])
    );
}

fn a_deadlock_names_places_in_foreign_source<M: CellMachine>(machine: &M) {
    let result = machine.run(|ppe| {
        // A place that is never left is forgotten with its program.
        let leaves_none = ppe.spawn(spe(0), |spe: &M::Spe| std::mem::forget(spe.at("gone.c:1")));
        leaves_none.join().unwrap();
        drop(ppe.spawn(spe(0), |spe: &M::Spe| spe.read_in_mbox()));
        drop(ppe.spawn(spe(1), |spe: &M::Spe| {
            let _outer = spe.at("spu.c:12:3 in main");
            drop(spe.at("spu.c:4:1 in work"));
            spe.read_in_mbox()
        }));
        drop(ppe.spawn(spe(2), |spe: &M::Spe| {
            spe.threads(3, |thread| {
                let _at = (thread.0 > 0).then(|| spe.at(["a.c:1", "b.c:2"][thread.0 - 1]));
                spe.read_in_mbox();
            })
        }));
    });
    let Err(error) = result else {
        panic!("no program sends words");
    };
    let text = error.to_string();
    let line = |who: &str| {
        let of_who = |line: &&str| {
            line.trim_start()
                .starts_with(&format!("{who} waits for a word"))
        };
        let line = text.lines().find(of_who);
        line.unwrap_or_else(|| panic!("no {who} in {text}"))
            .to_owned()
    };
    assert!(line("SPE 0").contains("failures.rs:"), "{text}");
    assert!(line("SPE 1").contains(" at spu.c:12:3 in main"), "{text}");
    assert!(line("SPE 2, thread 0").contains("failures.rs:"), "{text}");
    assert!(line("SPE 2, thread 1").contains(" at a.c:1"), "{text}");
    assert!(line("SPE 2, thread 2").contains(" at b.c:2"), "{text}");
}

fn a_dead_peer_is_a_deadlock<M: CellMachine>(machine: &M) {
    let result = machine.run(|ppe| {
        ppe.spawn(spe(1), |_: &M::Spe| ()).join().unwrap();
        for word in 0..5 {
            ppe.write_in_mbox(spe(1), word);
        }
    });
    let expected = [("the PPE", "room in the inbound mailbox of SPE 1")];
    assert_eq!(deadlock(result), pairs(&expected));
}

/// Fulfils the condition for which the PPE waits only when the program is cancelled.
struct AnswersLate<'a, S: Spe>(&'a S, &'a AtomicU32);

impl<S: Spe> Drop for AnswersLate<'_, S> {
    fn drop(&mut self) {
        self.1.store(1, Ordering::Release);
        self.0.notify(Processor::Ppe);
    }
}

fn what_cancelled_programs_do_is_no_answer_to_the_ppe<M: Machine>(
    machine: &M,
    words: &impl Words<M>,
) {
    for _ in 0..20 {
        let answer = AtomicU32::new(0);
        let result = machine.run(|ppe| {
            let answer = &answer;
            drop(ppe.spawn(spe(0), move |spe: &M::Spe| {
                let _answers = AnswersLate(spe, answer);
                words.read(spe);
            }));
            ppe.wait_until(&"an answer", &mut || answer.load(Ordering::Acquire) == 1);
            unreachable!("the run was cancelled");
        });
        let waits = deadlock(result);
        assert!(waits.contains(&("the PPE".to_owned(), "an answer".to_owned())));
    }
}

fn a_thread_that_waits_is_named<M: Machine>(machine: &M) {
    let result = machine.run(|ppe| {
        drop(ppe.spawn(spe(0), |spe: &M::Spe| {
            spe.threads(3, |thread| {
                if thread.0 == 1 {
                    spe.wait_until(&"what never comes", &mut || false);
                }
            })
            .unwrap();
        }));
    });
    let waits = deadlock(result);
    let thread = pairs(&[("SPE 0, thread 1", "what never comes")]);
    assert!(waits.contains(&thread[0]), "{waits:?}");
    assert!(
        waits
            .iter()
            .any(|(who, what)| who == "the PPE" && what == "the programs that it spawned to end"),
        "{waits:?}"
    );
}

fn a_thread_that_waits_is_known_by_the_numbers_of_its_sleeper<M: Machine>(machine: &M) {
    let sleepers = Mutex::new(BTreeSet::new());
    let result = machine.run(|ppe| {
        for id in [0, 1] {
            drop(ppe.spawn(spe(id), |spe: &M::Spe| {
                spe.threads(2, |_| {
                    sleepers.lock().unwrap().insert(spe.sleeper().thread());
                    spe.wait_until(&"what never comes", &mut || false);
                })
                .unwrap();
            }));
        }
        sleepers
            .lock()
            .unwrap()
            .insert(ppe.core().sleeper().thread());
        ppe.wait_until(&"what never comes", &mut || false);
    });
    let Err(RunError::Deadlock { mut waits }) = result else {
        panic!("expected a deadlock, got {:?}", result.err());
    };
    waits.retain(|wait| wait.what == "what never comes");
    let threads = BTreeSet::from_iter(waits.iter().map(|wait| wait.thread));
    assert_eq!(threads, sleepers.into_inner().unwrap(), "{waits:?}");
    assert_eq!(threads.len(), 5, "{waits:?}");
}

fn cancelled_programs_run_their_destructors<M: Machine>(machine: &M, words: &impl Words<M>) {
    let order = Mutex::new(Vec::new());
    let result = machine.run(|ppe| {
        drop(ppe.spawn(spe(0), |spe: &M::Spe| {
            let _outer = OnDrop(|| order.lock().unwrap().push("program"));
            spe.threads(1, |_| {
                let _inner = OnDrop(|| order.lock().unwrap().push("thread"));
                words.read(spe);
            })
            .unwrap();
        }));
    });
    assert!(matches!(result, Err(RunError::Deadlock { .. })));
    assert_eq!(order.into_inner().unwrap(), ["thread", "program"]);
}

fn waiting_in_a_destructor_of_a_cancelled_program_returns<M: Machine>(
    machine: &M,
    words: &impl Words<M>,
) {
    let returned = AtomicU32::new(0);
    let result = machine.run(|ppe| {
        drop(ppe.spawn(spe(0), |spe: &M::Spe| {
            let _guard = OnDrop(|| {
                let came = spe.wait_until(&"what never comes", &mut || false);
                assert!(!came);
                words.read(spe);
                spe.yield_now();
                returned.fetch_add(1, Ordering::Relaxed);
            });
            words.read(spe);
        }));
    });
    assert!(matches!(result, Err(RunError::Deadlock { .. })));
    assert_eq!(returned.into_inner(), 1);
}

fn threads_in_a_destructor_of_a_cancelled_program_do_not_run<M: Machine>(
    machine: &M,
    words: &impl Words<M>,
) {
    let returned = AtomicU32::new(0);
    let result = machine.run(|ppe| {
        drop(ppe.spawn(spe(0), |spe: &M::Spe| {
            let _guard = OnDrop(|| {
                let ran = Cell::new(0);
                spe.threads(3, |_| ran.set(ran.get() + 1)).unwrap();
                assert_eq!(ran.get(), 0);
                returned.fetch_add(1, Ordering::Relaxed);
            });
            words.read(spe);
        }));
    });
    assert!(matches!(result, Err(RunError::Deadlock { .. })));
    assert_eq!(returned.into_inner(), 1);
}

fn waiting_in_a_destructor_of_a_panicking_program_waits<M: Machine>(
    machine: &M,
    words: &impl Words<M>,
) {
    let word = AtomicU32::new(0);
    machine
        .run(|ppe| {
            let program = ppe.spawn(spe(0), |spe: &M::Spe| {
                let _guard = OnDrop(|| {
                    words.answer(spe, 1);
                    word.store(words.read(spe), Ordering::Relaxed);
                });
                panic!("then the destructor waits");
            });
            words.read_answer(ppe, spe(0));
            words.send(ppe, spe(0), 8);
            let payload = program.join().map(|(): ()| ()).unwrap_err();
            assert_eq!(payload.downcast_ref(), Some(&"then the destructor waits"));
        })
        .unwrap();
    assert_eq!(word.into_inner(), 8);
}

fn who_catches_the_cancellation_is_cancelled_again<M: Machine>(machine: &M, words: &impl Words<M>) {
    let caught = AtomicU32::new(0);
    let result = machine.run(|ppe| {
        drop(ppe.spawn(spe(0), |spe: &M::Spe| {
            for _ in 0..3 {
                let waits = catch_unwind(AssertUnwindSafe(|| words.read(spe)));
                assert!(waits.is_err());
                caught.fetch_add(1, Ordering::Relaxed);
            }
        }));
    });
    assert!(matches!(result, Err(RunError::Deadlock { .. })));
    assert_eq!(caught.into_inner(), 3);
}

fn programs_that_never_began_are_dropped<M: Machine>(machine: &M, words: &impl Words<M>) {
    let dropped = AtomicU32::new(0);
    let result = machine.run(|ppe| {
        drop(ppe.spawn(spe(0), |spe: &M::Spe| words.read(spe)));
        let guard = OnDrop(|| {
            dropped.fetch_add(1, Ordering::Relaxed);
        });
        drop(ppe.spawn(spe(0), move |_: &M::Spe| {
            let _guard = &guard;
            unreachable!("the SPE never gets there");
        }));
    });
    assert!(matches!(result, Err(RunError::Deadlock { .. })));
    assert_eq!(dropped.into_inner(), 1);
}

fn a_program_that_yields_for_ever_is_cancelled_with_the_run<M: Machine>(machine: &M) {
    let error = machine
        .run(|ppe| {
            drop(ppe.spawn(spe(1), |spe: &M::Spe| {
                loop {
                    spe.yield_now();
                }
            }));
            panic!("enough");
        })
        .map(|(): ()| ())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the main program panicked on the PPE: enough"
    );
}
