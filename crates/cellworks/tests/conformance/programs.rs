//! Programs: how they start, borrow and are joined, and their cooperative threads.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};

use cellworks::machine::{
    CellMachine, CellSpe, Cycles, Machine, Processor, SignalRegister, Spe, ThreadId, Topology,
    Wait, Wake,
};

use crate::{SPES, Words, on_every_machine, spe};

on_every_machine![
    programs_borrow_from_the_caller,
    programs_return_values,
    programs_on_one_spe_run_one_after_the_other,
    a_program_is_seen_to_finish,
    a_machine_can_run_again,
    threads_take_turns,
    threads_may_start_threads,
    threads_wait_for_each_other,
    spawned_threads_return_values,
    a_scope_waits_for_threads_without_a_join,
    a_program_of_threads_has_an_argument_for_each,
    the_stack_that_is_left_is_known,
    ordinary_memory_can_be_waited_for,
    computing_is_allowed,
    spawning_where_no_spe_is_panics;
    with words:
    a_run_waits_for_programs_without_a_join,
    the_same_text_runs_on_all_spes_at_once;
    on Cells:
    threads_run_as_many_as_their_stacks_fit,
    naming_an_spe_that_is_not_there_panics,
];

fn programs_borrow_from_the_caller<M: Machine>(machine: &M) {
    let mut counts = vec![0; SPES];
    machine
        .run(|ppe| {
            for (count, at) in counts.iter_mut().zip(ppe.topology().spes()) {
                drop(ppe.spawn(at, move |spe: &M::Spe| *count = 1 + spe.id().index()));
            }
        })
        .unwrap();
    assert_eq!(counts, [1, 2, 3, 4]);
}

fn programs_return_values<M: Machine>(machine: &M) {
    let words = machine.run(|ppe| {
        let handle = ppe.spawn(spe(1), |_: &M::Spe| vec!["a".to_owned()]);
        assert_eq!(handle.spe(), spe(1));
        handle.join().unwrap()
    });
    assert_eq!(words.unwrap(), ["a"]);
}

fn programs_on_one_spe_run_one_after_the_other<M: Machine>(machine: &M) {
    let order = std::sync::Mutex::new(Vec::new());
    machine
        .run(|ppe| {
            for i in 0..20 {
                let order = &order;
                drop(ppe.spawn(spe(0), move |spe: &M::Spe| {
                    order.lock().unwrap().push((i, "begins"));
                    spe.yield_now();
                    order.lock().unwrap().push((i, "ends"));
                }));
            }
        })
        .unwrap();
    let expected: Vec<_> = (0..20).flat_map(|i| [(i, "begins"), (i, "ends")]).collect();
    assert_eq!(order.into_inner().unwrap(), expected);
}

fn a_run_waits_for_programs_without_a_join<M: Machine>(machine: &M, words: &impl Words<M>) {
    let done = AtomicU32::new(0);
    machine
        .run(|ppe| {
            for at in ppe.topology().spes() {
                drop(ppe.spawn(at, |spe: &M::Spe| {
                    words.read(spe);
                    done.fetch_add(1, Ordering::Relaxed);
                }));
                words.send(ppe, at, 0);
            }
        })
        .unwrap();
    assert_eq!(done.into_inner(), SPES as u32);
}

fn a_machine_can_run_again<M: Machine>(machine: &M) {
    for round in 0..20 {
        let result = machine.run(|ppe| ppe.spawn(spe(0), move |_: &M::Spe| round).join().unwrap());
        assert_eq!(result.unwrap(), round);
    }
}

fn the_same_text_runs_on_all_spes_at_once<M: Machine>(machine: &M, words: &impl Words<M>) {
    // Each program waits for all others, so all programs must really run at the same time.
    machine
        .run(|ppe| {
            for at in ppe.topology().spes() {
                drop(ppe.spawn(at, |this: &M::Spe| {
                    for to in this.topology().spes().filter(|to| *to != this.id()) {
                        words.send_from(this, to, 0);
                    }
                    for _ in 1..SPES {
                        words.read(this);
                    }
                }));
            }
        })
        .unwrap();
}

fn threads_take_turns<M: Machine>(machine: &M) {
    let order = machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let order = RefCell::new(Vec::new());
                spe.threads(3, |ThreadId(thread)| {
                    for round in 0..2 {
                        order.borrow_mut().push((round, thread));
                        spe.yield_now();
                    }
                })
                .unwrap();
                order.into_inner()
            };
            ppe.spawn(spe(0), program).join().unwrap()
        })
        .unwrap();
    let expected: Vec<_> = (0..2).flat_map(|r| (0..3).map(move |t| (r, t))).collect();
    assert_eq!(order, expected);
}

fn threads_may_start_threads<M: Machine>(machine: &M) {
    let sum = machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let sum = Cell::new(0);
                spe.threads(4, |outer| {
                    spe.threads(4, |inner| {
                        spe.yield_now();
                        sum.set(sum.get() + 10 * outer.0 + inner.0);
                    })
                    .unwrap();
                })
                .unwrap();
                sum.get()
            };
            ppe.spawn(spe(0), program).join().unwrap()
        })
        .unwrap();
    assert_eq!(sum, 4 * 60 + 4 * 6);
}

fn threads_wait_for_each_other<M: Machine>(machine: &M) {
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let turn = Cell::new(0);
                spe.threads(5, |ThreadId(thread)| {
                    // The threads take turns backwards: the last thread goes first.
                    let mine = 4 - thread;
                    assert!(spe.wait_until(&"its turn", &mut || turn.get() == mine));
                    turn.set(mine + 1);
                })
                .unwrap();
                turn.get()
            };
            assert_eq!(ppe.spawn(spe(0), program).join().unwrap(), 5);
        })
        .unwrap();
}

fn threads_run_as_many_as_their_stacks_fit<M: CellMachine>(machine: &M) {
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let sum = Cell::new(0);
                let add = |thread: ThreadId| {
                    spe.yield_now();
                    sum.set(sum.get() + thread.0);
                };
                spe.threads(60, add).unwrap();
                assert_eq!(sum.take(), 1_770);
                let outcome = spe.threads(2_000, add);
                let free = spe.local_store().free_bytes();
                assert_eq!(free, spe.local_store().bytes());
                (outcome, sum.get())
            };
            let (outcome, sum) = ppe.spawn(spe(0), program).join().unwrap();
            // On a host that is not strict, stacks take no room in a local store.
            let Err(error) = outcome else {
                assert_eq!(sum, 1_999_000);
                return;
            };
            assert_eq!(sum, 0, "no thread has run");
            assert_eq!((error.threads(), error.fit()), (2_000, 64));
            let text = error.to_string();
            let begin = "no room for the 4096-byte stacks of 2000 cooperative threads: the local store of SPE 0 \
                         has no room: ";
            assert!(text.starts_with(begin), "{text}");
            let end =
                "; 64 would fit: start fewer threads, or give them smaller stacks or less data";
            assert!(text.ends_with(end), "{text}");
        })
        .unwrap();
}

fn spawned_threads_return_values<M: Machine>(machine: &M) {
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let words = [1, 2, 3];
                let order = RefCell::new(Vec::new());
                let sum = spe.thread_scope(|scope| {
                    let first = scope.spawn(|id| {
                        spe.yield_now();
                        order.borrow_mut().push(id.0);
                        words[0]
                    });
                    let first = first.unwrap();
                    assert!(!first.is_finished());
                    let second = scope.builder().stack_bytes(32 << 10).spawn(|id| {
                        let sum = first.join().unwrap() + words[1];
                        order.borrow_mut().push(id.0);
                        sum
                    });
                    let second = second.unwrap();
                    assert_eq!(second.id(), ThreadId(1));
                    second.join().unwrap() + words[2]
                });
                (sum, order.into_inner())
            };
            let result = ppe.spawn(spe(0), program).join().unwrap();
            assert_eq!(result, (6, vec![0, 1]));
        })
        .unwrap();
}

fn a_scope_waits_for_threads_without_a_join<M: Machine>(machine: &M) {
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let ended = Cell::new(0);
                spe.thread_scope(|scope| {
                    for _ in 0..3 {
                        let thread = scope.spawn(|_| {
                            spe.yield_now();
                            ended.set(ended.get() + 1);
                        });
                        std::mem::forget(thread.unwrap());
                    }
                });
                ended.get()
            };
            assert_eq!(ppe.spawn(spe(0), program).join().unwrap(), 3);
        })
        .unwrap();
}

fn a_program_of_threads_has_an_argument_for_each<M: Machine>(machine: &M) {
    machine
        .run(|ppe| {
            let names = ["a", "b", "c"].map(str::to_owned);
            let handle = ppe.spawn_threads(spe(1), names, |spe, thread, name| {
                spe.yield_now();
                format!("{}{name}{}", spe.id(), thread.0)
            });
            let results = handle.join().unwrap().unwrap();
            assert_eq!(results, ["SPE 1a0", "SPE 1b1", "SPE 1c2"]);
            let handle = ppe.spawn_threads(spe(0), [0; 65], |_, _, _| ());
            if let Err(error) = handle.join().unwrap() {
                assert_eq!(error.fit(), 64);
            }
        })
        .unwrap();
}

fn the_stack_that_is_left_is_known<M: Machine>(machine: &M) {
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| {
                let outside = spe.free_stack_bytes();
                let inside = spe.thread_scope(|scope| {
                    let thread = scope.builder().stack_bytes(64 << 10);
                    thread.spawn(|_| spe.free_stack_bytes()).unwrap().join()
                });
                (outside, inside.unwrap())
            };
            let (outside, inside) = ppe.spawn(spe(0), program).join().unwrap();
            assert!(outside > 8 << 10, "{outside}");
            assert!(inside > 32 << 10, "{inside}");
        })
        .unwrap();
}

fn ordinary_memory_can_be_waited_for<M: Machine>(machine: &M) {
    let flag = AtomicU32::new(0);
    machine
        .run(|ppe| {
            drop(ppe.spawn(spe(0), |this: &M::Spe| {
                this.wait_until(&"the flag", &mut || flag.load(Ordering::Acquire) == 1);
                flag.store(2, Ordering::Release);
                this.notify(Processor::Ppe);
            }));
            flag.store(1, Ordering::Release);
            ppe.notify(spe(0));
            ppe.wait_until(&"the answer", &mut || flag.load(Ordering::Acquire) == 2);
        })
        .unwrap();
}

fn computing_is_allowed<M: Machine>(machine: &M) {
    machine
        .run(|ppe| {
            let program = |spe: &M::Spe| spe.compute(Cycles(1_000));
            ppe.spawn(spe(0), program).join().unwrap();
        })
        .unwrap();
}

fn naming_an_spe_that_is_not_there_panics<M: CellMachine>(machine: &M) {
    let calls: [fn(&M::Spe); 3] = [
        |this| this.notify(Processor::Spe(spe(99))),
        |this| this.write_in_mbox_of(spe(99), 0),
        |this| this.send_signal(spe(99), SignalRegister::One, 0),
    ];
    for call in calls {
        let error = machine
            .run(|ppe| drop(ppe.spawn(spe(0), call)))
            .unwrap_err();
        let text = error.to_string();
        let expected = format!(
            "SPE 99 was named, but {} has 4 SPEs, 0 to 3; use `topology().spes()`",
            machine.topology().name()
        );
        assert!(text.ends_with(&expected), "{text}");
    }
    let topology = machine.topology();
    let looks: [fn(&Topology); 4] = [
        |topology| _ = topology.cell_of(spe(99)),
        |topology| _ = topology.place_of(spe(99)),
        |topology| _ = topology.module_of(spe(99)),
        |topology| _ = topology.distance(spe(0), spe(99)),
    ];
    for look in looks {
        let panic = catch_unwind(AssertUnwindSafe(|| look(topology))).unwrap_err();
        let expected = format!(
            "SPE 99 was named, but {} has 4 SPEs, 0 to 3; use `topology().spes()`",
            topology.name()
        );
        assert_eq!(panic.downcast_ref(), Some(&expected));
    }
}

fn spawning_where_no_spe_is_panics<M: Machine>(machine: &M) {
    let error = machine
        .run(|ppe| drop(ppe.spawn(spe(77), |_: &M::Spe| ())))
        .unwrap_err();
    let expected = format!(
        "the main program panicked on the PPE: a program was spawned on SPE 77, but {} has 4 SPEs, 0 to 3; \
         use `topology().spes()`",
        machine.topology().name()
    );
    assert_eq!(error.to_string(), expected);
}

fn a_program_is_seen_to_finish<M: Machine>(machine: &M) {
    machine
        .run(|ppe| {
            let program = ppe.spawn(spe(0), |_| 7);
            while !program.is_finished() {
                std::thread::yield_now();
            }
            assert_eq!(program.join().unwrap(), 7);
        })
        .unwrap();
}
