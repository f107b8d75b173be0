//! Tests of cores that belong to an owner, where programs cannot start, suspend or wake threads.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};

use cellworks_threads::{
    Config, NoOutside, Owner, alive, begin_turns, blocked_threads, cancel_all, current,
    free_stack_bytes, is_cancelled, is_running, is_unwinding, others_ready, park, run, scope,
    take_turn, yield_now,
};

// SAFETY: in these tests no code relies on which other code wakes a thread.
const OWNER: Owner = unsafe { Owner::new() };

fn core<R>(main: impl FnOnce() -> R) -> R {
    OWNER
        .run(&Config::default(), &NoOutside, main)
        .unwrap_or_else(|blocked| panic!("{blocked}"))
}

/// Checks that each call panics, and checks the text of its panic.
#[track_caller]
fn all_are_refused() {
    let calls: [(&str, fn()); 8] = [
        ("run", || {
            run(&Config::default(), &NoOutside, || ()).unwrap();
        }),
        ("scope", || scope(|_| ())),
        ("yield_now", yield_now),
        ("take_turn", || assert!(!take_turn())),
        ("begin_turns", begin_turns),
        ("park", || park(&"nothing")),
        ("current", || current().unpark()),
        ("cancel_all", cancel_all),
    ];
    for (name, call) in calls {
        let panic = catch_unwind(call).expect_err(name);
        let text = panic.downcast_ref::<String>().expect("a text");
        assert_eq!(
            *text,
            format!(
                "`cellworks_threads::{name}` was called in a program of a machine, which alone starts, suspends and wakes \
                 the threads of its cores: use what the machine offers (`Spe::threads`, `Spe::yield_now`, \
                 `Wait::wait_until`), or start an OS thread and make that a core with `cellworks_threads::run`"
            )
        );
    }
}

#[test]
fn a_program_cannot_interfere_with_an_owner() {
    core(all_are_refused);
    core(|| {
        OWNER.scope_at(Location::caller(), |s| {
            s.spawn(all_are_refused);
        });
    });
}

#[test]
fn a_program_may_look() {
    core(|| {
        assert!(is_running() && !is_cancelled() && !is_unwinding() && !others_ready());
        assert_eq!(alive(), 1);
        assert_eq!(blocked_threads(), []);
        assert_eq!(free_stack_bytes(), None);
    });
}

#[test]
fn an_owner_does_what_programs_do_elsewhere() {
    let log = Cell::new(0);
    let note = |digit| log.set(log.get() * 10 + digit);
    core(|| {
        let main = OWNER.current();
        OWNER.scope_at(Location::caller(), |s| {
            s.spawn(|| {
                note(2);
                OWNER.yield_now();
                note(4);
                main.unpark();
                note(5);
            });
            note(1);
            OWNER.yield_now();
            note(3);
            OWNER.park(&"the other thread");
            note(6);
        });
    });
    assert_eq!(log.get(), 123_456);
}

#[test]
fn an_os_thread_without_core_can_be_as_strict_and_is_free_afterwards() {
    OWNER.run_without_core(all_are_refused);
    let panicked = catch_unwind(|| OWNER.run_without_core(|| panic!("the program")));
    assert!(panicked.is_err());
    // A core on another OS thread belongs to the program, so the program may start threads there.
    OWNER.run_without_core(|| {
        let other = std::thread::spawn(|| run(&Config::default(), &NoOutside, || scope(|_| 1)));
        assert_eq!(other.join().unwrap(), Ok(1));
    });
    assert_eq!(run(&Config::default(), &NoOutside, || scope(|_| 2)), Ok(2));
}

#[test]
fn a_core_within_a_strict_os_thread_is_its_owners() {
    OWNER.run_without_core(|| {
        core(all_are_refused);
        all_are_refused();
    });
}

/// Sets the flag when this value is dropped.
struct Sets<'a>(&'a Cell<bool>);

impl Drop for Sets<'_> {
    fn drop(&mut self) {
        self.0.set(true);
    }
}

/// crates/csp/tests/stack_overflow.rs tests that the report of an overflow shows the description.
#[test]
fn what_a_thread_does_is_its_own_and_no_name() {
    let task = |text: &str| Some(text.to_owned());
    assert_eq!(OWNER.set_task(task("nothing, as this is no core")), None);
    core(|| {
        assert_eq!(OWNER.set_task(task("first")), None);
        OWNER.scope_at(Location::caller(), |s| {
            s.spawn(|| assert_eq!(OWNER.set_task(task("of another thread")), None));
        });
        OWNER.scope_at(Location::caller(), |s| {
            // The next thread reuses the block, but has no description.
            s.spawn(|| assert_eq!(OWNER.set_task(None), None));
        });
        assert_eq!(OWNER.set_task(task("second")), task("first"));
        assert_eq!(OWNER.set_task(None), task("second"));
    });
}

#[test]
fn a_cancelled_thread_can_outlast_older_ones_and_those_that_outlast_others() {
    const THREADS: usize = 5;
    let have_ended: [Cell<bool>; THREADS] = Default::default();
    let outlived = Cell::new(0);
    let blocked = OWNER
        .run(&Config::default(), &NoOutside, || {
            OWNER.scope_at(Location::caller(), |s| {
                for (number, has_ended) in have_ended.iter().enumerate() {
                    let (have_ended, outlived) = (&have_ended, &outlived);
                    // Each thread lends a value to its predecessor, which is unwound later.
                    s.spawn(move || {
                        let _sets = Sets(has_ended);
                        let parks = || OWNER.park(&"nothing");
                        let cancelled = catch_unwind(AssertUnwindSafe(parks)).unwrap_err();
                        if number > 0 {
                            OWNER.outlast(&mut || have_ended[number - 1].get());
                            outlived.set(outlived.get() + 1);
                        }
                        resume_unwind(cancelled)
                    });
                }
            });
        })
        .unwrap_err();
    assert_eq!(blocked.threads.len(), THREADS + 1);
    assert_eq!(outlived.get(), THREADS - 1);
    assert!(have_ended.iter().all(Cell::get));
}

#[test]
fn a_thread_outlasts_threads_that_have_scopes_of_their_own() {
    let has_ended = Cell::new(false);
    let order = std::cell::RefCell::new(Vec::new());
    let blocked = OWNER
        .run(&Config::default(), &NoOutside, || {
            OWNER.scope_at(Location::caller(), |s| {
                s.spawn(|| {
                    let _sets = Sets(&has_ended);
                    OWNER.park(&"the older one");
                });
                s.spawn(|| {
                    OWNER.scope_at(Location::caller(), |s| {
                        s.spawn(|| {
                            let parks = || OWNER.park(&"the child");
                            let cancelled = catch_unwind(AssertUnwindSafe(parks)).unwrap_err();
                            OWNER.outlast(&mut || has_ended.get());
                            order.borrow_mut().push("child");
                            resume_unwind(cancelled)
                        });
                    });
                    order.borrow_mut().push("unreached");
                });
            });
        })
        .unwrap_err();
    assert_eq!(blocked.threads.len(), 4);
    assert_eq!(*order.borrow(), ["child"]);
}
