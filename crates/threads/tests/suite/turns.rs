//! Tests of threads that take turns, and of the operations that end the turns.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

use cellworks_threads::{
    Blocked, Config, NoOutside, Owner, Thread, begin_turns, blocked_threads, current, others_ready,
    park, run, scope, take_turn, yield_now,
};

// SAFETY: in these tests no code relies on which other code wakes a thread.
const OWNER: Owner = unsafe { Owner::new() };

/// Runs `main` on a core with default settings and without events from outside.
fn core<R>(main: impl FnOnce() -> R) -> Result<R, Blocked> {
    run(&Config::default(), &NoOutside, main)
}

/// Yields, if possible by a turn. Returns whether the yield was a turn.
fn turn() -> bool {
    let was_turn = take_turn();
    if !was_turn {
        begin_turns();
    }
    was_turn
}

#[test]
fn turns_are_taken_in_the_order_in_which_they_were_begun() {
    let log = RefCell::new(Vec::new());
    let turns = Cell::new(0);
    core(|| {
        scope(|s| {
            for name in ["a", "b", "c"] {
                let (log, turns) = (&log, &turns);
                s.spawn(move || {
                    for round in 0..4 {
                        log.borrow_mut().push(format!("{name}{round}"));
                        let was_turn = turn();
                        turns.set(turns.get() + usize::from(was_turn));
                    }
                });
            }
        });
    })
    .unwrap();
    assert_eq!(log.take().join(" "), "a0 b0 c0 a1 b1 c1 a2 b2 c2 a3 b3 c3");
    // The first yield of each thread begins its turns. When the other threads have ended, the last
    // thread takes no turn.
    assert!((6..=9).contains(&turns.get()), "{}", turns.get());
}

#[test]
fn what_is_to_be_done_before_a_turn_is_done_if_there_is_one() {
    let (before, turns) = (Cell::new(0), Cell::new(0));
    core(|| {
        // SAFETY: in this test `before` only sets a cell and calls no function of the crate.
        assert!(!unsafe { OWNER.take_turn_after(|| before.set(1_000)) });
        scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    begin_turns();
                    for _ in 0..5 {
                        // SAFETY: `before` only sets a cell.
                        let was_turn =
                            unsafe { OWNER.take_turn_after(|| before.set(before.get() + 1)) };
                        turns.set(turns.get() + usize::from(was_turn));
                    }
                });
            }
        });
    })
    .unwrap();
    assert_eq!(before.get(), turns.get());
    assert!(turns.get() > 0);
}

#[test]
fn a_thread_without_others_to_take_turns_with_goes_on() {
    assert!(!turn());
    core(|| {
        assert!(!turn());
        scope(|s| {
            s.spawn(|| {
                assert!((0..3).all(|_| !turn()));
                assert!(!others_ready());
            });
        });
    })
    .unwrap();
}

/// While the parent runs, it is not in the ready queue in place of its threads that take turns.
#[test]
fn a_parent_that_runs_and_its_threads_yield_to_each_other_as_ever() {
    let log = RefCell::new(String::new());
    core(|| {
        scope(|s| {
            for name in ['a', 'b'] {
                let log = &log;
                s.spawn(move || {
                    for _ in 0..3 {
                        log.borrow_mut().push(name);
                        assert!(!turn());
                    }
                });
            }
            for _ in 0..4 {
                log.borrow_mut().push('p');
                yield_now();
            }
        });
    })
    .unwrap();
    assert_eq!(log.take(), "pabpabpabp");
}

/// For each way to yield: a thread that yields goes on only after every other thread has run.
#[test]
fn others_have_their_turn_once_a_round() {
    const MEMBERS: usize = 3;
    const ROUNDS: usize = 20;
    let runs: [Cell<usize>; MEMBERS + 2] = Default::default();
    let yields = |me: usize, way: &dyn Fn()| {
        for round in 1..=ROUNDS {
            runs[me].set(round);
            let before: Vec<usize> = runs.iter().map(Cell::get).collect();
            way();
            for (other, run) in runs.iter().enumerate().filter(|(other, _)| *other != me) {
                let has_run = run.get() - before[other];
                let is_there = (1..ROUNDS).contains(&before[other]);
                // Each other thread runs once in a round, or twice in the first round.
                assert!(
                    !is_there || (1..=2).contains(&has_run),
                    "{other} has run {has_run} times beside {me}"
                );
            }
        }
    };
    core(|| {
        scope(|s| {
            for outsider in 0..2 {
                let yields = &yields;
                s.spawn(move || yields(MEMBERS + outsider, &yield_now));
            }
            s.spawn(|| {
                scope(|s| {
                    for member in 0..MEMBERS {
                        let yields = &yields;
                        s.spawn(move || {
                            yields(member, &|| {
                                turn();
                            });
                        });
                    }
                });
            });
        });
    })
    .unwrap();
}

#[test]
fn who_parks_leaves_the_turns_to_the_others_and_comes_back() {
    let log = RefCell::new(String::new());
    let parked = Cell::new(None::<Thread>);
    core(|| {
        scope(|s| {
            s.spawn(|| {
                turn();
                turn();
                parked.set(Some(current()));
                park(&"to be woken");
                log.borrow_mut().push('p');
                turn();
                turn();
                log.borrow_mut().push('P');
            });
            for name in ['a', 'b'] {
                let (log, parked) = (&log, &parked);
                s.spawn(move || {
                    for _ in 0..4 {
                        turn();
                        assert!(others_ready() || name == 'b');
                        log.borrow_mut().push(name);
                    }
                    if let Some(thread) = parked.take() {
                        thread.unpark();
                    }
                });
            }
        });
    })
    .unwrap();
    let log = log.take();
    assert!(log.starts_with("abababa"), "{log}");
    assert!(log.ends_with("pP"), "{log}");
    assert_eq!(log.len(), 10);
}

#[test]
fn threads_that_take_turns_may_start_threads_and_join_them() {
    let sum = Cell::new(0);
    core(|| {
        scope(|s| {
            for member in 0..4 {
                let sum = &sum;
                s.spawn(move || {
                    for round in 0..3 {
                        turn();
                        let inner = scope(|s| {
                            let one = s.spawn(|| {
                                turn();
                                1
                            });
                            turn();
                            s.spawn(|| {
                                turn();
                                sum.set(sum.get() + member);
                                turn();
                            });
                            one.join().unwrap() + round
                        });
                        turn();
                        sum.set(sum.get() + inner);
                    }
                });
            }
        });
    })
    .unwrap();
    assert_eq!(sum.get(), 3 * (1 + 2 + 3) + 4 * (1 + 2 + 3));
}

#[test]
fn threads_between_turns_do_not_wait_for_anything() {
    let seen = Cell::new(usize::MAX);
    core(|| {
        scope(|s| {
            for member in 0..3 {
                let seen = &seen;
                s.spawn(move || {
                    turn();
                    turn();
                    if member == 1 {
                        seen.set(blocked_threads().len());
                    }
                    turn();
                });
            }
        });
    })
    .unwrap();
    assert_eq!(seen.get(), 0);
}

#[test]
fn a_panic_between_turns_reaches_the_scope_and_yields_nothing_on_its_way() {
    struct Yields<'a>(&'a Cell<usize>);
    impl Drop for Yields<'_> {
        fn drop(&mut self) {
            let before = self.0.get();
            assert!(!turn());
            assert_eq!(self.0.get(), before);
        }
    }
    let turns = Cell::new(0);
    core(|| {
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            scope(|s| {
                for member in 0..3 {
                    let turns = &turns;
                    s.spawn(move || {
                        let _yields = (member == 1).then(|| Yields(turns));
                        for round in 0..10 {
                            turns.set(turns.get() + 1);
                            turn();
                            assert!(member != 1 || round < 5, "half way");
                        }
                    });
                }
            });
        }));
        let payload = outcome.unwrap_err();
        assert_eq!(*payload.downcast_ref::<&str>().unwrap(), "half way");
    })
    .unwrap();
    assert_eq!(turns.get(), 10 + 6 + 10);
}

#[test]
fn threads_are_cancelled_between_turns() {
    struct Counts<'a>(&'a Cell<usize>);
    impl Drop for Counts<'_> {
        fn drop(&mut self) {
            turn();
            self.0.set(self.0.get() + 1);
        }
    }
    let dropped = Cell::new(0);
    let blocked = core(|| {
        scope(|s| {
            for member in 0..5 {
                let dropped = &dropped;
                s.spawn(move || {
                    let _counts = Counts(dropped);
                    for round in 0.. {
                        turn();
                        match (member, round) {
                            (1, 2) => park(&"what never comes"),
                            (3, 5) => cellworks_threads::cancel_all(),
                            _ => {}
                        }
                    }
                });
            }
        });
    });
    assert_eq!(dropped.get(), 5);
    let text = blocked.unwrap_err().to_string();
    assert!(text.contains("waits for what never comes"), "{text}");
}

/// If a core is cancelled while a thread is suspended by a turn or by `begin_turns`, the thread
/// goes on at the same place, and its registers have kept their values.
#[test]
fn what_threads_know_survives_being_cancelled_between_turns() {
    let kept = Cell::new(0);
    let blocked = core(|| {
        scope(|s| {
            for member in 0..6_u64 {
                let kept = &kept;
                s.spawn(move || {
                    let mut words = [member; 12];
                    for round in 0..40 {
                        let was = words;
                        // Some threads enter the rotation late. All leave it and enter again.
                        if round % 4 < member % 3 {
                            yield_now();
                        } else {
                            turn();
                        }
                        assert_eq!(was, words);
                        if cellworks_threads::is_cancelled() {
                            kept.set(kept.get() + 1);
                            return;
                        }
                        words = std::array::from_fn(|at| words[at] * 3 + at as u64);
                        if (member, round) == (4, 30) {
                            cellworks_threads::cancel_all();
                        }
                    }
                });
            }
            s.spawn(|| {
                for _ in 0..100 {
                    yield_now();
                }
            });
        });
    });
    assert!(blocked.is_err());
    assert!(kept.get() > 0, "those that a turn had suspended");
}

/// A function that suspends its thread keeps the registers that its callers rely on, also if a
/// cancelled core continues the thread.
#[cfg(target_arch = "x86_64")]
#[test]
fn registers_of_callers_survive_turns_and_yields() {
    use std::arch::asm;

    thread_local!(static TURNS: Cell<usize> = const { Cell::new(0) });

    extern "C" fn let_others_run(by_turn: u64) {
        // When a cancelled core continues a thread, the thread must not unwind through assembly.
        let unwound = catch_unwind(|| match by_turn {
            0 => yield_now(),
            _ => TURNS.set(TURNS.get() + usize::from(turn())),
        });
        assert!(unwound.is_ok() || cellworks_threads::is_cancelled());
    }
    /// Returns whether r12 to r15, rbx and rbp have the same values after the call as before it.
    fn keeps_registers(by_turn: bool, word: u64) -> bool {
        let (found, changed): (u64, u64);
        // SAFETY: rbx and rbp are pushed and popped, and the other registers are declared. After
        // the two pushes the stack is aligned for the call.
        unsafe {
            asm!(
                "push rbx",
                "push rbp",
                "mov rbx, rsi",
                "lea rbp, [rsi + 1]",
                "lea r12, [rsi + 2]",
                "lea r13, [rsi + 3]",
                "lea r14, [rsi + 4]",
                "lea r15, [rsi + 5]",
                "call {let_others_run}",
                "mov rax, rbx",
                "lea rcx, [rax + 1]",
                "xor rcx, rbp",
                "lea rdx, [rax + 2]",
                "xor rdx, r12",
                "or rcx, rdx",
                "lea rdx, [rax + 3]",
                "xor rdx, r13",
                "or rcx, rdx",
                "lea rdx, [rax + 4]",
                "xor rdx, r14",
                "or rcx, rdx",
                "lea rdx, [rax + 5]",
                "xor rdx, r15",
                "or rcx, rdx",
                "pop rbp",
                "pop rbx",
                let_others_run = sym let_others_run,
                inout("rdi") u64::from(by_turn) => _,
                inout("rsi") word => _,
                out("rax") found,
                out("rcx") changed,
                out("r12") _, out("r13") _, out("r14") _, out("r15") _,
                clobber_abi("C"),
            );
        }
        (found, changed) == (word, 0)
    }
    for is_cancelled in [false, true] {
        TURNS.set(0);
        let outcome = core(|| {
            scope(|s| {
                for member in 0..4_u64 {
                    s.spawn(move || {
                        for round in 0..60 {
                            let by_turn = (round / 5 + member) % 4 > 0;
                            let word = 1 << 32 | member << 16 | round << 8;
                            assert!(keeps_registers(by_turn, word), "{member} in {round}");
                            if cellworks_threads::is_cancelled() {
                                return;
                            }
                            if is_cancelled && (member, round) == (2, 38) {
                                return cellworks_threads::cancel_all();
                            }
                        }
                    });
                }
                // This thread is always ready, so the rotation pauses after each round.
                s.spawn(|| (0..50).for_each(|_| yield_now()));
            });
        });
        assert_eq!(outcome.is_err(), is_cancelled);
        assert!(TURNS.get() > 20, "{} turns", TURNS.get());
    }
}

#[test]
fn a_deadlock_among_threads_that_took_turns_is_one() {
    let parks = Cell::new(0);
    let blocked = core(|| {
        scope(|s| {
            for _ in 0..3 {
                let parks = &parks;
                s.spawn(move || {
                    turn();
                    turn();
                    parks.set(parks.get() + 1);
                    park(&"what never comes");
                });
            }
        });
    });
    assert_eq!(parks.get(), 3, "who is cancelled goes on where it waits");
    let text = blocked.unwrap_err().to_string();
    assert_eq!(
        text.matches("waits for what never comes").count(),
        3,
        "{text}"
    );
    assert!(
        text.contains("waits for 3 threads of its scope to end"),
        "{text}"
    );
}

/// Threads that call random functions of the crate all end.
#[test]
fn turns_mix_with_everything_else() {
    const MEMBERS: usize = 9;
    let (ended, rounds) = (Cell::new(0), Cell::new(0));
    let parked = RefCell::new(Vec::<Thread>::new());
    let member = |mut word: u64| {
        for _ in 0..400 {
            // xorshift64
            word ^= word << 13;
            word ^= word >> 7;
            word ^= word << 17;
            match word % 16 {
                0 => yield_now(),
                1 => scope(|s| {
                    for _ in 0..word >> 8 & 3 {
                        s.spawn(|| {
                            turn();
                            turn();
                        });
                    }
                    if word >> 16 & 1 == 1 {
                        turn();
                    }
                }),
                2 => assert!(scope(|s| s.spawn(|| [turn(), true]).join().unwrap()[1])),
                // The last thread that is not parked does not park, so no thread waits for ever.
                3 if ended.get() + parked.borrow().len() + 1 < MEMBERS => {
                    parked.borrow_mut().push(current());
                    park(&"a neighbour");
                }
                4 => {
                    let thread = parked.borrow_mut().pop();
                    if let Some(thread) = thread {
                        thread.unpark();
                    }
                }
                _ => {
                    turn();
                }
            }
            rounds.set(rounds.get() + 1);
        }
        ended.set(ended.get() + 1);
        parked.take().into_iter().for_each(Thread::unpark);
    };
    core(|| {
        scope(|s| {
            let member = &member;
            s.spawn(|| (0..3_000).for_each(|_| yield_now()));
            for seed in 0..MEMBERS as u64 {
                s.spawn(move || member(0x9e37_79b9_7f4a_7c15 ^ seed << 32 | 1));
            }
        });
    })
    .unwrap();
    assert_eq!((ended.get(), rounds.get()), (MEMBERS, MEMBERS * 400));
}
