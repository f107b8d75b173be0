//! Tests of blocked cores, cancellation and unwinding: order of execution, and reports.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use cellworks_threads::{
    Blocked, Cancelled, Config, Idle, NoOutside, Verdict, blocked_threads, cancel_all, current,
    is_cancelled, park, run, scope, yield_now,
};

fn core<R>(main: impl FnOnce() -> R) -> Result<R, Blocked> {
    run(&Config::default(), &NoOutside, main)
}

/// Calls the function when it is dropped.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

#[test]
fn a_deadlock_is_reported_with_every_thread_what_it_waits_for_and_where() {
    let line = line!();
    let blocked = core(|| {
        scope(|s| {
            let thread = s
                .builder()
                .name("reader")
                .spawn(|| park(&format_args!("word {} of its mailbox", 4)));
            s.spawn(|| scope(|s| drop(s.spawn(|| park(&"nothing")))));
            thread.join()
        })
    })
    .map(|_| ())
    .unwrap_err();
    let expected = format!(
        "blocked for ever: 4 threads of this core wait and nothing is left to wake them
  thread 'main' waits for thread 'reader' to end at {file}:{}:20
  thread 'reader' waits for word 4 of its mailbox at {file}:{}:27
  thread '2' waits for 1 thread of its scope to end at {file}:{}:24
  thread '3' waits for nothing at {file}:{}:50",
        line + 8,
        line + 6,
        line + 7,
        line + 7,
        file = file!(),
    );
    assert_eq!(blocked.to_string(), expected);
    assert_eq!(blocked.threads[1].name, "reader");
    assert_eq!(blocked.threads[1].waits_for, "word 4 of its mailbox");
}

#[test]
fn a_lone_main_that_parks_is_stuck() {
    let blocked = core(|| park(&"a letter")).unwrap_err();
    assert_eq!(blocked.threads.len(), 1);
    assert!(core(|| ()).is_ok());
}

#[test]
fn cancellation_runs_the_destructors_of_children_before_those_of_parents() {
    let log = RefCell::new(Vec::new());
    let mark = |text: &'static str| {
        let log = &log;
        OnDrop(move || log.borrow_mut().push(text))
    };
    core(|| {
        let _main = mark("main");
        scope(|s| {
            let _inside = mark("scope");
            for (parent, child) in [("parent 1", "child 1"), ("parent 2", "child 2")] {
                s.spawn(move || {
                    let _parent = mark(parent);
                    scope(|s| {
                        s.spawn(|| {
                            let _child = mark(child);
                            park(&"nothing");
                        });
                        park(&"nothing");
                    });
                });
            }
            park(&"nothing");
        });
    })
    .unwrap_err();
    assert_eq!(
        log.take(),
        [
            "child 2", "child 1", "parent 2", "parent 1", "scope", "main"
        ]
    );
}

#[test]
fn cancel_all_unwinds_waiting_yielding_and_unstarted_threads() {
    let ended = Cell::new(0);
    let count = || OnDrop(|| ended.set(ended.get() + 1));
    let blocked = core(|| {
        scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    let _counted = count();
                    loop {
                        yield_now();
                    }
                });
                s.spawn(|| {
                    let _counted = count();
                    park(&"a letter");
                });
            }
            yield_now();
            yield_now();
            let unstarted = count();
            s.spawn(move || {
                let _counted = unstarted;
                unreachable!("started after cancellation");
            });
            assert!(!is_cancelled());
            cancel_all();
            assert!(is_cancelled());
            cancel_all();
            s.spawn(|| unreachable!("started after cancellation"));
        });
    })
    .unwrap_err();
    assert_eq!(ended.get(), 5);
    assert_eq!(
        blocked.to_string().lines().next().unwrap(),
        "cancelled: 2 threads of this core wait"
    );
    assert!(!is_cancelled());
}

#[test]
fn outside_of_a_core_there_is_nothing_to_cancel() {
    cancel_all();
    assert!(!is_cancelled());
    assert_eq!(blocked_threads(), []);
}

#[test]
fn a_thread_that_catches_the_payload_is_cancelled_again() {
    let caught = Cell::new(0);
    core(|| {
        scope(|s| {
            s.spawn(|| {
                for _ in 0..3 {
                    let payload = catch_unwind(|| park(&"nothing")).unwrap_err();
                    assert!(payload.is::<Cancelled>());
                    caught.set(caught.get() + 1);
                }
                let payload = catch_unwind(yield_now).unwrap_err();
                assert!(payload.is::<Cancelled>());
                park(&"nothing");
                unreachable!("park returned");
            });
        });
    })
    .unwrap_err();
    assert_eq!(caught.get(), 3);
}

#[test]
fn main_cannot_swallow_a_cancellation() {
    let blocked = core(|| drop(catch_unwind(|| park(&"nothing"))));
    assert_eq!(blocked.unwrap_err().threads.len(), 1);
}

#[test]
fn destructors_that_wait_return_at_once_when_cancelled() {
    let done = Cell::new(0);
    core(|| {
        scope(|s| {
            s.spawn(|| {
                let sleeper = s.spawn(|| park(&"nothing"));
                let handle = Cell::new(Some(sleeper));
                let _waits = OnDrop(|| {
                    park(&"in a destructor");
                    yield_now();
                    scope(|s| drop(s.spawn(|| park(&"in a scope of a destructor"))));
                    let joined = handle.take().unwrap().join();
                    // The child is younger than its parent, so it has ended by now.
                    assert!(joined.unwrap_err().is::<Cancelled>());
                    done.set(done.get() + 1);
                });
                park(&"nothing");
            });
        });
    })
    .unwrap_err();
    assert_eq!(done.get(), 1);
}

#[test]
fn a_join_in_a_destructor_of_a_thread_that_has_not_ended_says_cancelled() {
    let joined = Cell::new(None);
    core(|| {
        scope(|s| {
            let main_waits = s.spawn(|| {
                let younger = s.spawn(|| park(&"nothing"));
                let younger = Cell::new(Some(younger));
                let _waits = OnDrop(|| joined.set(Some(younger.take().unwrap().join())));
                cancel_all();
                yield_now();
            });
            main_waits.join()
        })
    })
    .map(|_| ())
    .unwrap_err();
    assert!(joined.take().unwrap().unwrap_err().is::<Cancelled>());
}

#[test]
fn a_panic_wins_over_the_deadlock_that_it_causes() {
    let payload = catch_unwind(|| {
        core(|| {
            scope(|s| {
                let main = current();
                s.spawn(move || {
                    if !is_cancelled() {
                        panic!("before the answer");
                    }
                    main.unpark();
                });
                park(&"the answer");
            });
        })
    });
    assert_eq!(
        *payload.unwrap_err().downcast::<&str>().unwrap(),
        "before the answer"
    );
}

#[test]
fn a_yield_during_unwinding_does_not_switch() {
    let log = RefCell::new(Vec::new());
    core(|| {
        scope(|s| {
            let thread = s.spawn(|| {
                let _yields = OnDrop(|| {
                    log.borrow_mut().push("in");
                    yield_now();
                    log.borrow_mut().push("out");
                });
                panic!("unwind");
            });
            s.spawn(|| log.borrow_mut().push("other"));
            thread.join().unwrap_err();
        });
    })
    .unwrap();
    assert_eq!(log.take(), ["in", "out", "other"]);
}

#[test]
fn a_wait_during_unwinding_waits_and_lets_others_run_panic_and_yield() {
    let log = RefCell::new(Vec::new());
    let say = |text| log.borrow_mut().push(text);
    core(|| {
        let waiter = Cell::new(None);
        scope(|s| {
            let thread = s.spawn(|| {
                let _waits = OnDrop(|| {
                    waiter.set(Some(current()));
                    say("waits");
                    park(&"the other to have yielded");
                    say("goes on");
                });
                panic!("outer");
            });
            let other = s.spawn(|| {
                say("other");
                // `panicking` returns true, although the calling thread is not unwinding.
                assert!(std::thread::panicking());
                yield_now();
                say("yielded");
                let inner = catch_unwind(|| panic!("inner")).unwrap_err();
                assert_eq!(*inner.downcast::<&str>().unwrap(), "inner");
                waiter.get().unwrap().unpark();
            });
            s.spawn(|| say("third"));
            let payload = thread.join().unwrap_err();
            assert_eq!(*payload.downcast::<&str>().unwrap(), "outer");
            other.join().unwrap();
        });
        assert!(!std::thread::panicking());
    })
    .unwrap();
    assert_eq!(
        log.take(),
        ["waits", "other", "third", "yielded", "goes on"]
    );
}

#[test]
fn a_thread_that_waits_in_its_unwinding_is_cancelled_beside_others() {
    let ends = Cell::new(0);
    let payload = catch_unwind(AssertUnwindSafe(|| {
        core(|| {
            scope(|s| {
                s.spawn(|| {
                    let _waits = OnDrop(|| {
                        while !is_cancelled() {
                            park(&"nothing");
                        }
                        ends.set(ends.get() + 1);
                    });
                    panic!("its own");
                });
                s.spawn(|| {
                    let _counts = OnDrop(|| ends.set(ends.get() + 10));
                    park(&"nothing");
                });
            });
        })
    }))
    .unwrap_err();
    assert_eq!(ends.get(), 11);
    assert_eq!(*payload.downcast::<&str>().unwrap(), "its own");
}

/// Calls the function when a report formats this value.
struct Calls<F: Fn()>(F);

impl<F: Fn()> fmt::Display for Calls<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0)();
        write!(f, "a call")
    }
}

#[test]
fn descriptions_cannot_wait_spawn_or_switch() {
    let ran = Rc::new(Cell::new(false));
    core(|| {
        let parked = Cell::new(None);
        scope(|s| {
            s.spawn(|| {
                parked.set(Some(current()));
                park(&Calls(|| {
                    parked.get().unwrap().unpark();
                    yield_now();
                }));
            });
            s.spawn(|| park(&Calls(|| park(&"nothing"))));
            s.spawn(|| park(&Calls(|| drop(s.spawn(|| ())))));
            yield_now();
            let ran = Rc::clone(&ran);
            s.spawn(move || ran.set(true));
            let texts: Vec<_> = blocked_threads().into_iter().map(|t| t.waits_for).collect();
            let panicked = "something whose description panicked";
            assert_eq!(texts, ["a call", panicked, panicked]);
        });
    })
    .unwrap_err();
    assert!(ran.get());
}

struct Hook<F: Fn() -> Verdict>(F);

impl<F: Fn() -> Verdict> Idle for Hook<F> {
    fn idle(&self) -> Verdict {
        (self.0)()
    }
}

#[test]
fn a_panic_of_the_idle_hook_comes_out_of_run_after_all_threads_have_ended() {
    let ended = Cell::new(0);
    let payload = catch_unwind(AssertUnwindSafe(|| {
        run(&Config::default(), &Hook(park_in_idle), || {
            scope(|s| {
                for _ in 0..3 {
                    s.spawn(|| {
                        let _ended = OnDrop(|| ended.set(ended.get() + 1));
                        park(&"nothing");
                    });
                }
            });
        })
    }))
    .unwrap_err();
    assert_eq!(ended.get(), 3);
    assert_eq!(
        *payload.downcast::<String>().unwrap(),
        "`park` was called by `Idle::idle`, or by the `Display` of what a thread waits for, where nothing may wait or be started"
    );
}

fn park_in_idle() -> Verdict {
    park(&"nothing");
    Verdict::Continue
}

#[test]
fn the_idle_hook_may_cancel() {
    let hook = Hook(|| {
        cancel_all();
        yield_now();
        Verdict::Continue
    });
    let blocked = run(&Config::default(), &hook, || {
        scope(|s| {
            s.spawn(|| park(&"nothing"));
        });
    })
    .unwrap_err();
    assert_eq!(blocked.threads.len(), 2);
}

#[test]
fn the_idle_hook_is_asked_when_an_ended_thread_leaves_only_waiting_ones() {
    let parked = Cell::new(None::<cellworks_threads::Thread>);
    let hook = Hook(|| {
        parked.take().expect("asked once").unpark();
        Verdict::Continue
    });
    run(&Config::default(), &hook, || {
        scope(|s| {
            s.spawn(|| {
                parked.set(Some(current()));
                park(&"the outside");
            });
            drop(s.spawn(|| ()));
        });
    })
    .unwrap();
}

#[test]
fn thousands_of_blocked_threads_are_cancelled() {
    let ended = Cell::new(0);
    let config = Config {
        stack_bytes: 16 * 1024,
        ..Config::default()
    };
    let blocked = run(&config, &NoOutside, || {
        scope(|s| {
            for _ in 0..3_000 {
                s.spawn(|| {
                    let _ended = OnDrop(|| ended.set(ended.get() + 1));
                    park(&"nothing");
                });
            }
        });
    })
    .unwrap_err();
    assert_eq!((ended.get(), blocked.threads.len()), (3_000, 3_001));
}
