//! Tests of closures in no scope, and of closures on each worker.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use cellworks_machine::{Machine, Spe};
use cellworks_tasks::{Pool, Worker};

use crate::{SPES, on};

crate::on_every_machine!(
    a_run_waits_for_what_was_started_in_no_scope,
    the_panic_of_a_closure_in_no_scope_ends_the_run,
    the_panic_of_an_installed_closure_names_the_call,
    a_panic_like_that_of_an_installed_closure_is_the_main_programs,
    a_resumed_panic_of_an_installed_closure_names_the_call,
    a_broadcast_runs_once_on_each_worker,
    a_broadcast_reaches_workers_that_wait,
    broadcasts_of_several_tasks_end,
    a_panic_in_a_broadcast_comes_out_after_all_calls,
);

/// Starts a closure that starts the next one, from the main program and from a task.
fn a_run_waits_for_what_was_started_in_no_scope<M: Machine>(machine: &M) {
    fn chain<S: Spe>(worker: &Worker<'_, S>, left: usize, ends: Arc<AtomicUsize>) {
        ends.fetch_add(1, Ordering::Relaxed);
        if left > 0 {
            worker.spawn(move |worker| chain(worker, left - 1, ends));
        }
    }
    let ends = Arc::new(AtomicUsize::new(0));
    let (first, second, many) = (Arc::clone(&ends), Arc::clone(&ends), Arc::clone(&ends));
    Pool::new(machine)
        .run(|main| {
            main.spawn(move |worker| chain(worker, 99, first));
            main.install(move |worker| {
                worker.spawn(move |worker| chain(worker, 199, second));
            });
            for _ in 0..5_000 {
                let many = Arc::clone(&many);
                main.spawn(move |_| _ = many.fetch_add(1, Ordering::Relaxed));
            }
        })
        .unwrap();
    assert_eq!(ends.load(Ordering::Relaxed), 5_300);
    drop(many);
    assert_eq!(Arc::strong_count(&ends), 1);
}

fn the_panic_of_a_closure_in_no_scope_ends_the_run<M: Machine>(machine: &M) {
    let ends = Arc::new(AtomicUsize::new(0));
    let others = Arc::clone(&ends);
    let line = line!() + 2;
    let result = Pool::new(machine).run(|main| {
        main.spawn(|_| panic!("alone"));
        for _ in 0..100 {
            let others = Arc::clone(&others);
            main.spawn(move |_| _ = others.fetch_add(1, Ordering::Relaxed));
        }
    });
    let error = result.unwrap_err();
    let expected = format!(
        "a closure given to `Main::spawn` at {}:{line}:14 panicked: alone",
        file!()
    );
    assert_eq!(error.to_string(), expected);
    assert_eq!(ends.load(Ordering::Relaxed), 100);
}

fn the_panic_of_an_installed_closure_names_the_call<M: Machine>(machine: &M) {
    let line = line!() + 1;
    let result = Pool::new(machine).run(|main| main.install(|_| -> () { panic!("installed") }));
    let error = result.unwrap_err();
    let expected = format!(
        "a closure given to `Main::install` at {}:{line}:53 panicked: installed",
        file!()
    );
    assert_eq!(error.to_string(), expected);
    let own = Pool::new(machine).run(|main| -> () {
        let install = || main.install(|_| panic!("caught"));
        let _: std::thread::Result<()> = catch_unwind(AssertUnwindSafe(install));
        panic!("its own");
    });
    let own = own.unwrap_err().to_string();
    assert_eq!(own, "the main program panicked on the PPE: its own");
}

/// The panic of the main program has the text, and often the address, of one that it has caught.
fn a_panic_like_that_of_an_installed_closure_is_the_main_programs<M: Machine>(machine: &M) {
    let formatted = |round: usize| -> () { panic!("failed in round {round}") };
    let constant = |_| -> () { panic!("failed") };
    let fails: [(&(dyn Fn(usize) + Sync), &str); 2] =
        [(&formatted, "failed in round 7"), (&constant, "failed")];
    for (fail, text) in fails {
        for _ in 0..20 {
            let own = Pool::new(machine).run(|main| {
                let install = || main.install(|_| fail(7));
                let caught = catch_unwind(AssertUnwindSafe(install));
                drop(caught);
                fail(7);
            });
            let expected = format!("the main program panicked on the PPE: {text}");
            assert_eq!(own.unwrap_err().to_string(), expected);
        }
    }
}

/// The main program goes on with the panic of a closure that it has caught.
fn a_resumed_panic_of_an_installed_closure_names_the_call<M: Machine>(machine: &M) {
    for text in ["constant", "formatted"] {
        let resumed = Pool::new(machine).run(|main| -> () {
            let install = || {
                main.install(|_| match text {
                    "constant" => panic!("it failed"),
                    _ => panic!("it {}", "failed".to_owned()),
                })
            };
            let panic = catch_unwind(AssertUnwindSafe(install)).unwrap_err();
            resume_unwind(panic)
        });
        let error = resumed.unwrap_err().to_string();
        assert!(
            error.starts_with("a closure given to `Main::install` at ")
                && error.ends_with(" panicked: it failed"),
            "{error}"
        );
    }
}

fn a_broadcast_runs_once_on_each_worker<M: Machine>(machine: &M) {
    on(machine, |worker| {
        assert_eq!(worker.workers(), SPES);
        for turn in 0..50 {
            let spes = worker.broadcast(|worker| (worker.number(), worker.spe().id().index()));
            assert_eq!(spes, Vec::from_iter((0..SPES).map(|n| (n, n))), "{turn}");
        }
    });
}

/// Each worker runs a task that waits for the broadcast.
fn a_broadcast_reaches_workers_that_wait<M: Machine>(machine: &M) {
    on(machine, |worker| {
        let (begun, reached) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let wait = |worker: &Worker<'_, M::Spe>| {
            begun.fetch_add(1, Ordering::SeqCst);
            let all = || reached.load(Ordering::SeqCst) == SPES;
            while !all() {
                worker.spe().yield_now();
            }
        };
        worker.join(
            |worker| worker.broadcast(wait),
            |worker| {
                while begun.load(Ordering::SeqCst) < SPES {
                    worker.spe().yield_now();
                }
                worker.broadcast(|_| reached.fetch_add(1, Ordering::SeqCst))
            },
        );
    });
}

fn broadcasts_of_several_tasks_end<M: Machine>(machine: &M) {
    on(machine, |worker| {
        let calls = AtomicUsize::new(0);
        worker.for_each(0..40, |worker, _| {
            worker.broadcast(|worker| {
                let (a, b) = worker.join(|_| 1, |_| 2);
                calls.fetch_add(a + b, Ordering::Relaxed);
            });
        });
        assert_eq!(calls.into_inner(), 40 * SPES * 3);
    });
}

fn a_panic_in_a_broadcast_comes_out_after_all_calls<M: Machine>(machine: &M) {
    let calls = AtomicUsize::new(0);
    let (ended, result) = mpsc::channel();
    let run = Pool::new(machine).run(|main| {
        main.install(|worker| {
            worker.broadcast(|worker| {
                calls.fetch_add(1, Ordering::Relaxed);
                let ended = ended.clone();
                assert_ne!(worker.number(), 1, "on the second");
                ended.send(worker.number()).unwrap();
            });
        });
    });
    assert!(run.unwrap_err().to_string().contains("on the second"));
    assert_eq!(calls.into_inner(), SPES);
    assert_eq!(result.try_iter().count(), SPES - 1);
}
