//! A program of a machine must use the machine's own threads. The functions of `cellworks::threads`
//! refuse to run in such a program, because they know no machines.

use std::panic::{AssertUnwindSafe, catch_unwind};

use cellworks::machine::{CellMachine, CellSpe, Machine, RunError, Spe, Wait};
use cellworks::threads::{self, Config, NoOutside};

use crate::{Words, on_every_machine, spe};

on_every_machine![
    the_main_program_that_uses_raw_threads_is_told,
    a_thread_that_uses_raw_threads_is_told,
    an_os_thread_of_a_program_may_be_a_core;
    with words:
    a_program_that_uses_raw_threads_is_told,
    a_condition_that_uses_raw_threads_is_an_error;
    on Cells:
    raw_threads_that_would_take_words_of_a_mailbox_are_an_error,
];

/// Calls every function that starts, suspends or wakes threads, and checks that each call panics.
fn all_are_refused() {
    let calls: [(&str, fn()); 8] = [
        ("run", || {
            let _ = threads::run(&Config::default(), &NoOutside, || ());
        }),
        ("scope", || threads::scope(|_| ())),
        ("yield_now", threads::yield_now),
        ("take_turn", || assert!(!threads::take_turn())),
        ("begin_turns", threads::begin_turns),
        ("park", || threads::park(&"nothing")),
        ("current", || threads::current().unpark()),
        ("cancel_all", threads::cancel_all),
    ];
    for (name, call) in calls {
        let panic = catch_unwind(AssertUnwindSafe(call)).expect_err(name);
        let text = panic.downcast_ref::<String>().expect("a text");
        let begin = format!("`cellworks_threads::{name}` was called in a program of a machine, ");
        assert!(text.starts_with(&begin), "{text}");
    }
}

fn a_program_that_uses_raw_threads_is_told<M: Machine>(machine: &M, words: &impl Words<M>) {
    let word = machine.run(|ppe| {
        let waits = ppe.spawn(spe(1), |spe: &M::Spe| words.read(spe));
        let uses = |this: &M::Spe| {
            all_are_refused();
            words.send_from(this, spe(1), 7);
        };
        ppe.spawn(spe(0), uses).join().unwrap();
        waits.join().unwrap()
    });
    assert_eq!(word.unwrap(), 7);
}

fn the_main_program_that_uses_raw_threads_is_told<M: Machine>(machine: &M) {
    machine.run(|_| all_are_refused()).unwrap();
}

fn a_thread_that_uses_raw_threads_is_told<M: Machine>(machine: &M) {
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                spe.threads(3, |_| {
                    spe.yield_now();
                    all_are_refused();
                })
            };
            ppe.spawn(spe(0), program).join().unwrap().unwrap();
        })
        .unwrap();
}

/// If a simulated machine allowed raw threads, it would lose both words and report a deadlock.
fn raw_threads_that_would_take_words_of_a_mailbox_are_an_error<M: CellMachine>(machine: &M) {
    let error = machine.run(|ppe| {
        let reads = ppe.spawn(spe(0), |spe: &M::Spe| {
            threads::scope(|s| {
                for _ in 0..2 {
                    s.spawn(|| spe.read_in_mbox());
                }
            });
        });
        ppe.write_in_mbox(spe(0), 1);
        ppe.write_in_mbox(spe(0), 2);
        drop(reads);
    });
    is_the_panic_of_spe_0(&error.unwrap_err());
}

fn a_condition_that_uses_raw_threads_is_an_error<M: Machine>(machine: &M, words: &impl Words<M>) {
    let error = machine.run(|ppe| {
        let mut asked = 0;
        let program = move |spe: &M::Spe| {
            spe.wait_until(&"a word", &mut || {
                asked += 1;
                // Later calls of the condition may be on the stack of another thread.
                if asked > 1 {
                    threads::scope(|s| {
                        s.spawn(|| words.try_read(spe));
                    });
                }
                false
            })
        };
        drop(ppe.spawn(spe(0), program));
        words.send(ppe, spe(0), 1);
    });
    is_the_panic_of_spe_0(&error.unwrap_err());
}

fn is_the_panic_of_spe_0(error: &RunError) {
    let text = error.to_string();
    assert!(
        text.contains(
            " panicked on SPE 0: `cellworks_threads::scope` was called in a program of a machine"
        ),
        "{text}"
    );
}

fn an_os_thread_of_a_program_may_be_a_core<M: Machine>(machine: &M) {
    let sum = machine.run(|ppe| {
        let program = |_: &M::Spe| {
            let core = || {
                let main = || threads::scope(|s| s.spawn(|| 20).join().unwrap() + 1);
                threads::run(&Config::default(), &NoOutside, main).unwrap()
            };
            std::thread::spawn(core).join().unwrap()
        };
        ppe.spawn(spe(0), program).join().unwrap()
    });
    assert_eq!(sum.unwrap(), 21);
}
