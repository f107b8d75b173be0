//! Tests of yielding, parking and joining on cores that are not cancelled, and of panics.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::rc::Rc;

use cellworks_threads::{
    Config, Idle, NoOutside, Owner, Verdict, alive, current, others_ready, park, run, scope,
    stack_high_water_bytes, yield_now,
};

// SAFETY: in these tests no code relies on which other code wakes a thread.
const OWNER: Owner = unsafe { Owner::new() };

/// Runs `main` on a core with default settings and without events from outside.
fn core<R>(main: impl FnOnce() -> R) -> R {
    run(&Config::default(), &NoOutside, main).unwrap_or_else(|blocked| panic!("{blocked}"))
}

/// Returns the panic message of `f`.
fn panic_text(f: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(f)).expect_err("should have panicked");
    let text = payload.downcast_ref::<String>().cloned();
    text.unwrap_or_else(|| (*payload.downcast_ref::<&str>().expect("a text")).to_owned())
}

#[test]
fn threads_take_turns_in_order_of_creation() {
    let log = RefCell::new(Vec::new());
    core(|| {
        scope(|s| {
            for name in ["a", "b", "c"] {
                let log = &log;
                s.spawn(move || {
                    for round in 0..3 {
                        log.borrow_mut().push(format!("{name}{round}"));
                        yield_now();
                    }
                });
            }
        });
    });
    assert_eq!(log.take().join(" "), "a0 b0 c0 a1 b1 c1 a2 b2 c2");
}

#[test]
fn main_takes_part_in_the_turns() {
    let log = RefCell::new(String::new());
    core(|| {
        scope(|s| {
            s.spawn(|| log.borrow_mut().push('1'));
            log.borrow_mut().push('0');
            assert!(others_ready());
            assert_eq!(alive(), 2);
            yield_now();
            log.borrow_mut().push('2');
            assert!(!others_ready());
            assert_eq!(alive(), 1);
            yield_now();
        });
    });
    assert_eq!(alive(), 0);
    assert_eq!(log.take(), "012");
}

#[test]
fn who_is_handed_over_to_goes_on_before_those_that_are_ready() {
    let log = RefCell::new(String::new());
    core(|| {
        let (parked, main) = (Cell::new(None), current());
        scope(|s| {
            s.spawn(|| {
                parked.set(Some(current()));
                park(&"the hand-over");
                log.borrow_mut().push('1');
                main.unpark();
            });
            yield_now();
            s.spawn(|| log.borrow_mut().push('2'));
            OWNER.hand_over(parked.get().unwrap(), &"its turn");
            log.borrow_mut().push('3');
            // The first `hand_over` has consumed the first unpark.
            main.unpark();
            OWNER.hand_over(parked.get().unwrap(), &"nothing");
            log.borrow_mut().push('4');
        });
    });
    assert_eq!(log.take(), "1234");
}

#[test]
fn who_is_not_parked_is_handed_over_to_at_its_next_park() {
    core(|| {
        let (other, main) = (Cell::new(None), current());
        scope(|s| {
            s.spawn(|| {
                other.set(Some(current()));
                yield_now();
                park(&"what has come already");
                main.unpark();
            });
            yield_now();
            OWNER.hand_over(other.get().unwrap(), &"the other to end");
        });
    });
}

#[test]
fn a_thread_that_handed_over_is_cancelled_like_one_that_parks() {
    let blocked = run(&Config::default(), &NoOutside, || {
        let parked = Cell::new(None);
        scope(|s| {
            s.spawn(|| {
                parked.set(Some(current()));
                park(&"the hand-over");
            });
            yield_now();
            OWNER.hand_over(parked.get().unwrap(), &"what never comes");
        });
    });
    let text = blocked.unwrap_err().to_string();
    assert!(text.contains("waits for what never comes"), "{text}");
}

#[test]
fn a_lone_yield_returns_and_so_does_one_outside_of_a_core() {
    core(yield_now);
    yield_now();
}

#[test]
fn join_returns_the_result_whether_the_thread_has_ended_or_not() {
    core(|| {
        scope(|s| {
            let waited_for = s.spawn(|| {
                yield_now();
                String::from("late")
            });
            assert!(!waited_for.is_finished());
            assert_eq!(waited_for.join().unwrap(), "late");

            let ended = s.spawn(|| String::from("early"));
            yield_now();
            assert!(ended.is_finished());
            assert_eq!(ended.join().unwrap(), "early");
        });
    });
}

#[test]
fn threads_share_plain_cells_of_their_parent() {
    let sum = Cell::new(0);
    let shared = Rc::new(());
    core(|| {
        scope(|s| {
            for i in 0..10 {
                let (sum, shared) = (&sum, Rc::clone(&shared));
                s.spawn(move || {
                    yield_now();
                    sum.set(sum.get() + i * Rc::strong_count(&shared).min(1));
                });
            }
        });
    });
    assert_eq!((sum.get(), Rc::strong_count(&shared)), (45, 1));
}

#[test]
fn scopes_nest_within_and_across_threads() {
    let log = RefCell::new(Vec::new());
    core(|| {
        scope(|outer| {
            outer.spawn(|| {
                let own = Cell::new(0);
                scope(|inner| {
                    inner.spawn(|| own.set(own.get() + 1));
                    scope(|innermost| {
                        innermost.spawn(|| {
                            yield_now();
                            own.set(own.get() + 10);
                        });
                    });
                    log.borrow_mut().push(own.get());
                });
                // A thread may also spawn in the scope in which it was spawned.
                outer.spawn(|| log.borrow_mut().push(-1));
            });
        });
    });
    assert_eq!(log.take(), [11, -1]);
}

#[test]
fn ten_thousand_threads() {
    let count = Cell::new(0);
    let config = Config {
        stack_bytes: 16 * 1024,
        ..Config::default()
    };
    run(&config, &NoOutside, || {
        scope(|s| {
            for _ in 0..10_000 {
                s.spawn(|| {
                    yield_now();
                    count.set(count.get() + 1);
                    yield_now();
                });
            }
        });
    })
    .unwrap();
    assert_eq!(count.get(), 10_000);
}

#[test]
fn stacks_are_used_again() {
    core(|| {
        scope(|s| {
            let place = || std::ptr::from_ref(&std::hint::black_box(0u8)).addr();
            let first = s.spawn(place).join().unwrap();
            assert_eq!(s.spawn(place).join().unwrap(), first);
        });
    });
}

#[test]
fn closures_and_results_of_any_size_and_alignment() {
    #[repr(align(1024))]
    #[derive(Clone, Copy, PartialEq, Debug)]
    struct Aligned(u8);
    core(|| {
        scope(|s| {
            let large = [7u64; 1_000];
            let thread = s.spawn(move || {
                yield_now();
                large
            });
            assert_eq!(thread.join().unwrap(), large);

            let aligned = Aligned(3);
            let thread = s.spawn(move || {
                assert_eq!(std::ptr::from_ref(&aligned).addr() % 1024, 0);
                aligned
            });
            assert_eq!(thread.join().unwrap(), aligned);
            s.spawn(|| ()).join().unwrap();
        });
    });
}

#[test]
fn an_unfetched_result_is_dropped() {
    let result = Rc::new(());
    core(|| {
        scope(|s| {
            // Three handles: dropped before its thread ends, dropped afterwards, and never dropped.
            drop(s.spawn(|| Rc::clone(&result)));
            let ended = s.spawn(|| Rc::clone(&result));
            yield_now();
            assert_eq!(Rc::strong_count(&result), 2);
            drop(ended);
            assert_eq!(Rc::strong_count(&result), 1);
            std::mem::forget(s.spawn(|| Rc::clone(&result)));
        });
        assert_eq!(Rc::strong_count(&result), 1);
    });
}

#[test]
fn a_result_may_hold_the_handle_of_another_thread() {
    core(|| {
        scope(|s| {
            let handle = s.spawn(|| {
                let inner = s.spawn(|| 5);
                yield_now();
                inner
            });
            std::mem::forget(handle);
        });
        scope(|s| {
            let outer = s.spawn(|| s.spawn(|| 5));
            assert_eq!(outer.join().unwrap().join().unwrap(), 5);
        });
    });
}

#[test]
fn unpark_before_park_is_kept_once() {
    let parks = Cell::new(0);
    core(|| {
        let thread = Cell::new(None);
        scope(|s| {
            s.spawn(|| {
                thread.set(Some(current()));
                current().unpark();
                current().unpark();
                park(&"its own token");
                parks.set(1);
                park(&"a letter");
                parks.set(2);
            });
            yield_now();
            assert_eq!(parks.get(), 1);
            yield_now();
            assert_eq!(parks.get(), 1);
            let thread = thread.get().unwrap();
            thread.unpark();
            thread.unpark();
            yield_now();
            assert_eq!(parks.get(), 2);
            // The thread has ended.
            thread.unpark();
        });
    });
}

#[test]
fn who_is_alone_does_not_try_to_park() {
    core(|| {
        let main = current();
        main.unpark();
        assert!(!OWNER.try_park(&"a thread that is not there"));
        scope(|s| {
            s.spawn(|| main.unpark());
            // The first unpark left a token, and the `try_park` that failed did not consume it.
            assert!(OWNER.try_park(&"its own token"));
            assert!(OWNER.try_park(&"the other thread"));
            assert!(!OWNER.try_park(&"the other thread, which has ended"));
        });
    });
}

#[test]
fn a_thread_of_another_run_is_not_unparked_here() {
    let before = core(|| {
        assert!(current().try_unpark());
        current()
    });
    assert!(!before.try_unpark());
    core(|| {
        assert!(!before.try_unpark());
        let ended = scope(|s| {
            let thread = s.spawn(|| (current(), current().runs()));
            thread.join().unwrap()
        });
        assert!(ended.1);
        // The thread belonged to this run, even though it has ended.
        assert!(ended.0.try_unpark() && !ended.0.runs());
    });
}

#[test]
fn an_unpark_of_a_joining_thread_waits_for_its_next_park() {
    core(|| {
        let main = current();
        scope(|s| {
            let thread = s.spawn(|| {
                main.unpark();
                yield_now();
                yield_now();
            });
            thread.join().unwrap();
            park(&"the token that came during the join");
        });
    });
}

#[test]
fn unparking_an_ended_thread_does_not_reach_its_successor_on_the_same_stack() {
    let ended = core(|| {
        let reached = &Cell::new(false);
        scope(|s| {
            let ended = s.spawn(current).join().unwrap();
            s.spawn(move || {
                let successor = current();
                assert_ne!(successor, ended);
                s.spawn(move || {
                    ended.unpark();
                    yield_now();
                    successor.unpark();
                });
                park(&"its own token");
                reached.set(true);
            });
            yield_now();
            yield_now();
            assert!(!reached.get());
            ended
        })
    });
    // The stack of the thread is no longer mapped, or the stack belongs to a later core.
    ended.unpark();
    core(|| ended.unpark());
}

#[test]
fn a_panic_is_carried_through_three_joins_with_its_payload() {
    struct Letter(u32);
    core(|| {
        let payload = scope(|s| {
            let outer = s.spawn(|| {
                scope(|s| {
                    let middle = s.spawn(|| {
                        scope(|s| {
                            let inner = s.spawn(|| {
                                yield_now();
                                panic_any(Letter(4));
                            });
                            inner
                                .join()
                                .unwrap_or_else(|p| std::panic::resume_unwind(p));
                        });
                    });
                    middle
                        .join()
                        .unwrap_or_else(|p| std::panic::resume_unwind(p));
                });
            });
            outer.join().unwrap_err()
        });
        assert_eq!(payload.downcast::<Letter>().unwrap().0, 4);
    });
}

#[test]
fn an_unjoined_panic_comes_out_of_the_scope_after_all_threads_have_ended() {
    for forget in [false, true] {
        let ended = Cell::new(false);
        let text = panic_text(|| {
            core(|| {
                scope(|s| {
                    let thread = s.spawn(|| panic!("first"));
                    if forget {
                        std::mem::forget(thread);
                    }
                    s.spawn(|| {
                        for _ in 0..5 {
                            yield_now();
                        }
                        ended.set(true);
                    });
                });
            });
        });
        assert_eq!((text.as_str(), ended.get()), ("first", true));
    }
}

#[test]
fn the_panic_of_a_scope_wins_over_those_of_its_threads() {
    let text = panic_text(|| {
        core(|| {
            scope(|s| {
                s.spawn(|| panic!("of a thread"));
                yield_now();
                panic!("of the scope");
            });
        });
    });
    assert_eq!(text, "of the scope");
}

#[test]
fn a_panic_of_main_comes_out_of_run_and_the_core_can_run_again() {
    assert_eq!(panic_text(|| core(|| panic!("of main"))), "of main");
    assert_eq!(core(|| 5), 5);
}

#[test]
fn a_panic_in_the_destructor_of_a_result_is_carried() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("of the destructor");
        }
    }
    let detached = || core(|| scope(|s| drop(s.spawn(|| Bomb))));
    assert_eq!(panic_text(detached), "of the destructor");
    let forgotten = || core(|| scope(|s| std::mem::forget(s.spawn(|| Bomb))));
    assert_eq!(panic_text(forgotten), "of the destructor");
    let within = || {
        core(|| {
            scope(|s| {
                let thread = s.spawn(|| drop(Bomb));
                std::panic::resume_unwind(thread.join().unwrap_err());
            })
        })
    };
    assert_eq!(panic_text(within), "of the destructor");
}

#[test]
fn a_core_is_neither_nested_nor_assumed() {
    assert_eq!(
        panic_text(|| core(|| core(|| ()))),
        "this OS thread already runs cooperative threads: `run` cannot be nested; use `scope` to start more threads"
    );
    let outside =
        "this OS thread runs no cooperative threads: call this inside `cellworks_threads::run`";
    assert_eq!(panic_text(|| park(&"nothing")), outside);
    assert_eq!(panic_text(|| scope(|_| ())), outside);
    assert_eq!(panic_text(|| _ = current()), outside);
    assert_eq!(panic_text(|| _ = stack_high_water_bytes()), outside);
}

#[test]
fn every_os_thread_can_be_a_core() {
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                core(|| {
                    scope(|s| {
                        for _ in 0..100 {
                            s.spawn(|| (0..100).for_each(|_| yield_now()));
                        }
                    });
                });
            });
        }
    });
}

fn recurse(depth: usize) -> usize {
    let frame = std::hint::black_box([depth; 16]);
    if depth == 0 {
        0
    } else {
        1 + recurse(depth - 1) + frame[3] - depth
    }
}

#[test]
fn deep_recursion_fits_a_stack_that_is_large_enough() {
    core(|| {
        scope(|s| {
            let thread = s.builder().stack_bytes(64 << 20).spawn(|| recurse(100_000));
            assert_eq!(thread.join().unwrap(), 100_000);
            // Stacks with a size other than the default are pooled too.
            let thread = s.builder().stack_bytes(64 << 20).spawn(|| recurse(100_000));
            assert_eq!(thread.join().unwrap(), 100_000);
        });
    });
}

#[test]
fn the_high_water_mark_follows_the_deepest_use() {
    core(|| {
        assert_eq!(stack_high_water_bytes(), None);
        scope(|s| {
            s.spawn(|| {
                let before = stack_high_water_bytes().unwrap();
                recurse(500);
                let after = stack_high_water_bytes().unwrap();
                assert!(before < after - 500 * 128, "{before} then {after}");
                recurse(10);
                assert_eq!(stack_high_water_bytes(), Some(after));
                assert!(after < Config::default().stack_bytes);
            });
        });
    });
}

/// Unparks one thread of the list in each call. With an empty list the core is stuck.
struct Outside(RefCell<Vec<cellworks_threads::Thread>>, Cell<usize>);

impl Idle for Outside {
    fn idle(&self) -> Verdict {
        self.1.set(self.1.get() + 1);
        assert_eq!(
            cellworks_threads::blocked_threads().len(),
            1 + self.0.borrow().len()
        );
        // A yield in the idle hook does not switch, although a thread is ready.
        yield_now();
        match self.0.borrow_mut().pop() {
            Some(thread) => thread.unpark(),
            None => return Verdict::Stuck,
        }
        yield_now();
        Verdict::Continue
    }
}

#[test]
fn the_idle_hook_wakes_threads_also_the_one_whose_stack_it_runs_on() {
    let outside = Outside(RefCell::default(), Cell::new(0));
    run(&Config::default(), &outside, || {
        scope(|s| {
            for _ in 0..3 {
                s.spawn(|| {
                    outside.0.borrow_mut().push(current());
                    park(&"the outside");
                });
            }
        });
    })
    .unwrap();
    assert_eq!(outside.1.get(), 3);
}

/// Starts more runs than there are ranges of serial numbers. A stored handle names a thread of
/// none.
#[test]
fn a_handle_names_no_thread_of_a_later_run() {
    let kept = core(|| scope(|s| s.spawn(current).join().unwrap()));
    for _ in 0..70_000 {
        core(|| {
            scope(|s| {
                s.spawn(|| assert!(!kept.try_unpark()));
            });
        });
    }
}

#[test]
fn a_park_in_a_description_panics_and_takes_no_wake_of_another_thread() {
    struct Parks;

    impl std::fmt::Display for Parks {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            cellworks_threads::park(&"inside a description");
            f.write_str("never")
        }
    }

    let mut went_on = false;
    let end = cellworks_threads::run(
        &cellworks_threads::Config::default(),
        &cellworks_threads::NoOutside,
        || {
            cellworks_threads::current().unpark();
            cellworks_threads::scope(|s| {
                s.spawn(|| cellworks_threads::park(&Parks));
                cellworks_threads::yield_now();
                let blocked = cellworks_threads::blocked_threads();
                assert!(blocked[0].waits_for.contains("panicked"), "{blocked:?}");
                cellworks_threads::park(&"the wake that came before");
                went_on = true;
                cellworks_threads::cancel_all();
            });
        },
    );
    assert!(end.is_err());
    assert!(went_on);
}
