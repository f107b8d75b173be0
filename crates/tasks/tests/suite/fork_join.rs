//! Tests of `join` and `scope`.

use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cellworks_machine::{Cycles, Machine, RunError, Spe, SpeId, Wait};
use cellworks_tasks::{Pool, PoolError, Worker};

crate::on_every_machine!(
    a_join_runs_both_and_returns_both,
    a_tree_of_joins_is_the_sum_of_its_leaves,
    every_closure_of_a_scope_runs_once,
    closures_of_a_scope_start_more_of_them,
    a_panic_in_a_join_comes_out_after_both_have_ended,
    a_panic_in_a_scope_comes_out_after_all_have_ended,
    a_task_that_waits_lets_others_of_its_worker_run,
    tasks_that_wait_for_each_other_are_a_deadlock,
    a_pool_has_as_many_workers_as_it_can,
);

fn a_join_runs_both_and_returns_both<M: Machine>(machine: &M) {
    let mut numbers = [1, 2];
    let pool = Pool::new(machine);
    let result = pool.run(|main| {
        main.install(|worker| {
            let [a, b] = &mut numbers;
            worker.join(|_| *a += 10, |_| *b += 20);
            worker.join(|_| "first", |_| "second")
        })
    });
    assert_eq!(result.unwrap(), ("first", "second"));
    assert_eq!(numbers, [11, 22]);
}

fn fibonacci<S: Spe>(worker: &Worker<'_, S>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = worker.join(|w| fibonacci(w, n - 1), |w| fibonacci(w, n - 2));
    a + b
}

fn a_tree_of_joins_is_the_sum_of_its_leaves<M: Machine>(machine: &M) {
    let pool = Pool::new(machine);
    let result = pool.run(|main| main.install(|worker| fibonacci(worker, 16)));
    assert_eq!(result.unwrap(), 987);
}

fn every_closure_of_a_scope_runs_once<M: Machine>(machine: &M) {
    const CLOSURES: usize = 1_000;
    let runs: Vec<AtomicUsize> = (0..CLOSURES).map(|_| AtomicUsize::new(0)).collect();
    Pool::new(machine)
        .run(|main| {
            main.scope(|scope| {
                for run in &runs[..CLOSURES / 2] {
                    scope.spawn(main, |_| {
                        run.fetch_add(1, Ordering::Relaxed);
                    });
                }
                scope.spawn(main, |worker| {
                    worker.scope(|scope| {
                        for run in &runs[CLOSURES / 2..] {
                            scope.spawn(worker, |_| {
                                run.fetch_add(1, Ordering::Relaxed);
                            });
                        }
                    });
                });
            });
        })
        .unwrap();
    assert!(runs.into_iter().all(|run| run.into_inner() == 1));
}

fn closures_of_a_scope_start_more_of_them<M: Machine>(machine: &M) {
    let ended = AtomicUsize::new(0);
    Pool::new(machine)
        .run(|main| {
            main.scope(|scope| {
                let ended = &ended;
                scope.spawn(main, move |worker| {
                    for _ in 0..10 {
                        scope.spawn(worker, move |worker| {
                            for _ in 0..10 {
                                scope.spawn(worker, move |_| {
                                    ended.fetch_add(1, Ordering::Relaxed);
                                });
                            }
                        });
                    }
                });
            });
            assert_eq!(ended.load(Ordering::Relaxed), 100);
        })
        .unwrap();
}

fn text(error: &PoolError) -> String {
    error.to_string()
}

fn a_panic_in_a_join_comes_out_after_both_have_ended<M: Machine>(machine: &M) {
    let ended = AtomicUsize::new(0);
    let error = Pool::new(machine)
        .run(|main| {
            main.install(|worker| {
                worker.scope(|scope| {
                    for half in 0..20 {
                        let ended = &ended;
                        scope.spawn(worker, move |worker| {
                            let work = |_: &Worker<'_, M::Spe>| {
                                ended.fetch_add(1, Ordering::Relaxed);
                            };
                            let fails = |_: &Worker<'_, M::Spe>| panic!("half {half}");
                            worker.join(work, fails);
                        });
                    }
                });
            });
        })
        .unwrap_err();
    assert!(text(&error).contains("half "), "{error}");
    assert_eq!(ended.into_inner(), 20);
}

fn a_panic_in_a_scope_comes_out_after_all_have_ended<M: Machine>(machine: &M) {
    let ended = AtomicUsize::new(0);
    let error = Pool::new(machine)
        .run(|main| {
            main.scope(|scope| {
                for number in 0..100 {
                    let ended = &ended;
                    scope.spawn(main, move |_| {
                        ended.fetch_add(1, Ordering::Relaxed);
                        assert_ne!(number, 17, "the seventeenth");
                    });
                }
            });
        })
        .unwrap_err();
    assert!(text(&error).contains("the seventeenth"), "{error}");
    assert_eq!(ended.into_inner(), 100);
}

/// Each task waits until all tasks have begun. If all tasks shared one stack, the test would hang.
fn a_task_that_waits_lets_others_of_its_worker_run<M: Machine>(machine: &M) {
    const TASKS: usize = 12;
    let begun = AtomicUsize::new(0);
    Pool::new(machine)
        .workers(1)
        .run(|main| {
            main.scope(|scope| {
                for _ in 0..TASKS {
                    let begun = &begun;
                    scope.spawn(main, move |worker| {
                        begun.fetch_add(1, Ordering::Relaxed);
                        worker.spe().wait_until(&"all tasks to begin", &mut || {
                            begun.load(Ordering::Relaxed) == TASKS
                        });
                    });
                }
            });
        })
        .unwrap();
}

fn tasks_that_wait_for_each_other_are_a_deadlock<M: Machine>(machine: &M) {
    let lent = Cell::new(7);
    let error = Pool::new(machine)
        .run(|main| {
            main.install(|worker| {
                let never = |worker: &Worker<'_, M::Spe>| {
                    worker.spe().wait_until(&"what never comes", &mut || false);
                };
                let lent = std::sync::Mutex::new(5);
                worker.scope(|scope| {
                    for _ in 0..3 {
                        let lent = &lent;
                        scope.spawn(worker, move |worker| {
                            let _guard = lent.lock().map(|number| *number);
                            never(worker);
                        });
                    }
                    worker.join(never, never);
                });
            });
        })
        .unwrap_err();
    assert!(
        matches!(error, PoolError::Run(RunError::Deadlock { .. })),
        "{error}"
    );
    assert!(text(&error).contains("what never comes"), "{error}");
    assert_eq!(lent.get(), 7);
}

fn a_pool_has_as_many_workers_as_it_can<M: Machine>(machine: &M) {
    let name = machine.topology().name();
    let error = |workers| {
        let pool = Pool::new(machine).workers(workers);
        pool.run(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(
        error(0),
        format!("a pool has at least 1 worker: ask for 1 to 4, as {name} has 4 SPEs")
    );
    assert_eq!(
        error(5),
        format!("5 workers were asked for, but {name} has 4 SPEs: ask for 1 to 4 workers")
    );
    let pool = Pool::new(machine).workers(3);
    assert_eq!(
        pool.run(|main| main.install(|worker| worker.workers()))
            .unwrap(),
        3
    );
}

/// Runs `depth` nested joins. A half that another worker runs takes longer than all of this call.
fn long_halves<S: Spe>(worker: &Worker<'_, S>, depth: usize, ran: &Mutex<HashSet<SpeId>>) {
    if depth == 0 {
        return;
    }
    let owner = worker.spe().id();
    worker.join(
        |worker| {
            worker.spe().compute(Cycles(50_000));
            long_halves(worker, depth - 1, ran);
        },
        |worker| {
            if worker.spe().id() != owner {
                ran.lock().unwrap().insert(worker.spe().id());
                worker.spe().compute(Cycles(50_000_000));
            }
        },
    );
}

/// All other workers ask at the beginning, and each runs the half that it is given for long, so it
/// does not ask on behalf of the next.
#[test]
fn each_idle_worker_is_given_a_half_although_one_request_is_for_all() {
    for seed in 0..10 {
        let machine = crate::qs22_with_seed(seed);
        let ran = Mutex::default();
        let result = Pool::new(&machine).run(|main| {
            main.install(|worker| {
                worker.spe().compute(Cycles(1_000_000));
                long_halves(worker, 20, &ran);
            });
        });
        result.unwrap();
        assert_eq!(ran.into_inner().unwrap().len(), crate::SPES - 1);
    }
}
