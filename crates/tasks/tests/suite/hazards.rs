//! Programs of strangers that broke the pool: panics in places where few expect them, waits that
//! can never end, threads that share a worker, and long chains.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any, resume_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cellworks_host::{Host, HostSpe};
use cellworks_machine::{Machine, RunError, Spe, Wait};
use cellworks_tasks::{Handle, Part, Pool, PoolError, Scheduler, TaskError, Worker};

crate::on_every_machine!(
    joins_of_two_threads_end_in_any_order,
    threads_share_a_worker_in_loops,
    a_holder_of_a_lock_waits_for_a_task_that_needs_the_lock,
    a_holder_of_a_lock_waits_for_a_task_far_after_one_that_needs_the_lock,
    a_task_waits_for_one_that_waits_for_a_task_after_it,
    a_closure_waits_for_the_task_that_has_started_it,
    a_half_of_a_join_waits_for_the_task_that_has_begun_it,
    each_thread_of_a_task_may_close_a_circle,
    a_cancelled_task_that_needs_the_lock_of_its_waiter_is_no_circle,
    a_task_waits_for_the_parent_of_a_task_that_waits_for_it,
    a_deadlock_ends_where_tasks_wait_by_handles_and_locks,
    a_captured_value_panics_as_it_is_dropped,
    a_captured_value_of_a_closure_panics_as_it_is_dropped,
    payloads_panic_as_they_are_dropped,
    a_result_panics_as_it_is_dropped,
    a_result_that_no_caller_gets_panics_as_it_is_dropped,
    a_long_chain_of_near_tasks_ends,
    a_long_chain_of_tasks_is_dropped,
    destructors_use_the_worker_while_a_deadlocked_run_ends,
    destructors_use_the_main_program_while_a_deadlocked_run_ends,
);

/// Calls `program` with a pool of each scheduler that the machine offers.
fn on_each_scheduler<M: Machine>(machine: &M, program: impl Fn(Pool<'_, M>)) {
    for scheduler in [Scheduler::Stealing, Scheduler::ThreeLevel, Scheduler::Mars] {
        let pool = || Pool::new(machine).workers(2).scheduler(scheduler);
        if !matches!(pool().run(|_| ()), Err(PoolError::NotACell { .. })) {
            program(pool());
        }
    }
}

/// A value that must be dropped once, and whose memory must not be used after that.
struct Once<'a> {
    drops: &'a AtomicUsize,
    is_dropped: Box<bool>,
}

impl<'a> Once<'a> {
    fn new(drops: &'a AtomicUsize) -> Self {
        let is_dropped = Box::new(false);
        Self { drops, is_dropped }
    }
}

impl Drop for Once<'_> {
    fn drop(&mut self) {
        assert!(!std::mem::replace(&mut *self.is_dropped, true));
        self.drops.fetch_add(1, Ordering::SeqCst);
    }
}

/// The first join of a thread ends while a later join of another thread still runs.
fn joins_of_two_threads_end_in_any_order<M: Machine>(machine: &M) {
    let (runs, drops) = (&AtomicUsize::new(0), &AtomicUsize::new(0));
    let count = &|| {
        let once = Once::new(drops);
        move |_: &Worker<'_, M::Spe>| {
            let _once = &once;
            runs.fetch_add(1, Ordering::SeqCst);
        }
    };
    let has_ended = AtomicBool::new(false);
    let program = |worker: &Worker<'_, M::Spe>| {
        worker.spe().thread_scope(|scope| {
            let first = || {
                worker.join(|worker| worker.spe().yield_now(), count());
                has_ended.store(true, Ordering::SeqCst);
            };
            let second = || {
                let wait = |worker: &Worker<'_, M::Spe>| {
                    while !has_ended.load(Ordering::SeqCst) {
                        worker.spe().yield_now();
                    }
                };
                worker.join(wait, count());
                for _ in 0..100 {
                    worker.join(|worker| worker.spe().yield_now(), |_| ());
                }
            };
            scope.spawn(move |_| first()).unwrap();
            scope.spawn(move |_| second()).unwrap();
        });
    };
    let pool = Pool::new(machine).workers(2);
    pool.run(|main| main.install(program)).unwrap();
    let [runs, drops] = [runs, drops].map(|count| count.load(Ordering::SeqCst));
    assert_eq!((runs, drops), (2, 2));
}

fn threads_share_a_worker_in_loops<M: Machine>(machine: &M) {
    const THREADS: usize = 3;
    const ITEMS: usize = 200;
    let runs = AtomicUsize::new(0);
    let program = |worker: &Worker<'_, M::Spe>| {
        worker.spe().thread_scope(|scope| {
            for _ in 0..THREADS {
                let body = || {
                    worker.for_each(0..ITEMS, |worker, item| {
                        runs.fetch_add(1, Ordering::Relaxed);
                        if item % 7 == 0 {
                            worker.spe().yield_now();
                        }
                    });
                    let map = |worker: &Worker<'_, M::Spe>, item| {
                        worker.spe().yield_now();
                        item
                    };
                    let sum = worker.map_reduce(0..ITEMS, || 0, map, |a, b| a + b);
                    assert_eq!(sum, ITEMS * (ITEMS - 1) / 2);
                };
                scope.spawn(move |_| body()).unwrap();
            }
        });
    };
    for workers in 1..=3 {
        runs.store(0, Ordering::Relaxed);
        let pool = Pool::new(machine).workers(workers);
        pool.run(|main| main.install(program)).unwrap();
        assert_eq!(runs.load(Ordering::Relaxed), THREADS * ITEMS);
    }
}

/// A place in which a program leaves the handle of a task for another task.
type Slot<'a, S> = Mutex<Option<Handle<'a, S>>>;

/// Waits until there is a handle in `slot`.
fn handle_in<'a, S: Spe>(slot: &Slot<'a, S>, worker: &Worker<'_, S>) -> Handle<'a, S> {
    loop {
        if let Some(handle) = slot.lock().unwrap().clone() {
            return handle;
        }
        worker.spe().yield_now();
    }
}

/// A slot that lives as long as handles of a phase.
fn slot<'a, S: Spe>() -> &'a Slot<'a, S> {
    Box::leak(Box::default())
}

/// Checks that a wait has found a circle of exactly these tasks, in any order.
fn assert_circle(outcome: Result<(), TaskError>, expected: &[&str]) {
    let Err(TaskError::Circle { mut tasks }) = outcome else {
        panic!("{outcome:?} is no circle of {expected:?}");
    };
    tasks.sort();
    assert_eq!(tasks, expected);
}

fn a_holder_of_a_lock_waits_for_a_task_that_needs_the_lock<M: Machine>(machine: &M) {
    assert_holder_closes_circle(machine, 0, &["'holder' (1)", "'next' (2)"]);
}

fn a_holder_of_a_lock_waits_for_a_task_far_after_one_that_needs_the_lock<M: Machine>(machine: &M) {
    let tasks = [
        "'holder' (1)",
        "'later' (3)",
        "'later' (4)",
        "'later' (5)",
        "'next' (2)",
    ];
    assert_holder_closes_circle(machine, 3, &tasks);
}

/// The holder waits for the last of `later` tasks that come one after the other, after the task
/// that needs the lock.
fn assert_holder_closes_circle<M: Machine>(machine: &M, later: usize, expected: &[&str]) {
    on_each_scheduler(machine, |pool| {
        let outcome = Mutex::new(None);
        let ended = pool.run(|main| {
            main.phase(|phase| {
                let (next, outcome) = (slot(), &outcome);
                let holds = &*Box::leak(Box::new(AtomicBool::new(false)));
                let lock = phase.lock();
                let holder = phase.task("holder", Part(0..1), move |worker, _| {
                    holds.store(true, Ordering::SeqCst);
                    let waited = handle_in(next, worker).wait(worker);
                    *outcome.lock().unwrap() = Some(waited);
                });
                phase.submit(main, holder.locked(&lock))?;
                // Otherwise the next task could get the lock before the holder.
                main.install(|worker| {
                    while !holds.load(Ordering::SeqCst) {
                        worker.spe().yield_now();
                    }
                });
                let waiting = phase.task("next", Part(0..1), |_, _| ()).locked(&lock);
                let mut last = phase.submit(main, waiting)?;
                for _ in 0..later {
                    let task = phase.task("later", Part(0..1), |_, _| ()).after(&last);
                    last = phase.submit(main, task)?;
                }
                *next.lock().unwrap() = Some(last);
                Ok(())
            })
        });
        ended.unwrap().unwrap();
        let outcome = outcome.into_inner().unwrap().unwrap();
        assert_circle(outcome, expected);
    });
}

fn a_task_waits_for_one_that_waits_for_a_task_after_it<M: Machine>(machine: &M) {
    let outcome = Mutex::new(None);
    let ended = Pool::new(machine).workers(1).run(|main| {
        main.phase(|phase| {
            let ([other, after], outcome) = ([(); 2].map(|()| slot()), &outcome);
            let waits = &*Box::leak(Box::new(AtomicBool::new(false)));
            let first = phase.task("first", Part(0..1), move |worker, _| {
                // There is one worker, so 'other' waits when the flag is read.
                while !waits.load(Ordering::SeqCst) {
                    worker.spe().yield_now();
                }
                let waited = handle_in(other, worker).wait(worker);
                *outcome.lock().unwrap() = Some(waited);
            });
            let first = phase.submit(main, first)?;
            let body = move |worker: &Worker<'_, M::Spe>, _| {
                let after = handle_in(after, worker);
                waits.store(true, Ordering::SeqCst);
                after.wait(worker).unwrap();
            };
            let task = phase.task("other", Part(0..1), body);
            *other.lock().unwrap() = Some(phase.submit(main, task)?);
            let task = phase.task("after", Part(0..1), |_, _| ()).after(&first);
            *after.lock().unwrap() = Some(phase.submit(main, task)?);
            Ok(())
        })
    });
    ended.unwrap().unwrap();
    let expected = ["'after' (3)", "'first' (1)", "'other' (2)"];
    assert_circle(outcome.into_inner().unwrap().unwrap(), &expected);
}

fn a_closure_waits_for_the_task_that_has_started_it<M: Machine>(machine: &M) {
    on_each_scheduler(machine, |pool| {
        let outcome = Mutex::new(None);
        let ended = pool.run(|main| {
            main.phase(|phase| {
                let (own, outcome) = (slot(), &outcome);
                let outer = phase.task("outer", Part(0..1), move |worker, _| {
                    let own = handle_in(own, worker);
                    worker.scope(|scope| {
                        scope.spawn(worker, |worker| {
                            let waited = own.wait(worker);
                            *outcome.lock().unwrap() = Some(waited);
                        });
                    });
                });
                *own.lock().unwrap() = Some(phase.submit(main, outer)?);
                Ok(())
            })
        });
        ended.unwrap().unwrap();
        assert_circle(outcome.into_inner().unwrap().unwrap(), &["'outer' (1)"]);
    });
}

fn a_half_of_a_join_waits_for_the_task_that_has_begun_it<M: Machine>(machine: &M) {
    let (outcome, has_begun) = (Mutex::new(None), AtomicBool::new(false));
    let pool = Pool::new(machine).workers(2);
    let ended = pool.run(|main| {
        main.phase(|phase| {
            let (own, outcome, has_begun) = (slot(), &outcome, &has_begun);
            let outer = phase.task("outer", Part(0..1), move |worker, _| {
                let own = handle_in(own, worker);
                // The other worker takes the second half, because the first half waits for it.
                let first = |worker: &Worker<'_, M::Spe>| {
                    while !has_begun.load(Ordering::SeqCst) {
                        worker.join(|worker| worker.spe().yield_now(), |_| ());
                    }
                };
                worker.join(first, |worker| {
                    has_begun.store(true, Ordering::SeqCst);
                    *outcome.lock().unwrap() = Some(own.wait(worker));
                });
            });
            *own.lock().unwrap() = Some(phase.submit(main, outer)?);
            Ok(())
        })
    });
    ended.unwrap().unwrap();
    assert_circle(outcome.into_inner().unwrap().unwrap(), &["'outer' (1)"]);
}

/// The cancelled task ends without the lock. 'last' comes after it, also when it has ended.
fn a_cancelled_task_that_needs_the_lock_of_its_waiter_is_no_circle<M: Machine>(machine: &M) {
    on_each_scheduler(machine, |pool| {
        let (outcomes, is_cancelled) = (Mutex::new(Vec::new()), AtomicBool::new(false));
        let ended = pool.run(|main| {
            main.phase(|phase| {
                let ([needs, last], outcomes) = ([(); 2].map(|()| slot()), &outcomes);
                let (is_cancelled, lock) = (&is_cancelled, phase.lock());
                let body = move |worker: &Worker<'_, M::Spe>, _| {
                    let [needs, last] = [needs, last].map(|slot| handle_in(slot, worker));
                    assert!(needs.cancel());
                    is_cancelled.store(true, Ordering::SeqCst);
                    for waited in [needs, last] {
                        let outcome = waited.wait(worker);
                        outcomes.lock().unwrap().push(outcome);
                    }
                };
                let holder = phase.task("holder", Part(0..1), body).locked(&lock);
                phase.submit(main, holder)?;
                // 'needs' is cancelled before it can be deferred.
                let body = |worker: &Worker<'_, M::Spe>, _| {
                    while !is_cancelled.load(Ordering::SeqCst) {
                        worker.spe().yield_now();
                    }
                };
                let first = phase.submit(main, phase.task("first", Part(0..1), body))?;
                let task = phase.task("needs", Part(0..1), |_, _| ()).locked(&lock);
                let task = phase.submit(main, task.after(&first))?;
                let after = phase.task("last", Part(0..1), |_, _| ()).after(&task);
                *last.lock().unwrap() = Some(phase.submit(main, after)?);
                *needs.lock().unwrap() = Some(task);
                Ok(())
            })
        });
        ended.unwrap().unwrap();
        let outcomes = outcomes.into_inner().unwrap();
        let did_not_run = |outcome: &_| matches!(outcome, Err(TaskError::DidNotRun { .. }));
        assert!(
            outcomes.len() == 2 && outcomes.iter().all(did_not_run),
            "{outcomes:?}"
        );
    });
}

/// A task waits in two threads. The wait that began first is part of a circle.
fn each_thread_of_a_task_may_close_a_circle<M: Machine>(machine: &M) {
    let (outcome, waits) = (Mutex::new(None), AtomicUsize::new(0));
    let pool = Pool::new(machine).workers(2);
    let ended = pool.run(|main| {
        main.phase(|phase| {
            let [both, last, other] = [(); 3].map(|()| slot());
            let (waits, outcome) = (&waits, &outcome);
            let body = move |worker: &Worker<'_, M::Spe>, _| {
                worker.spe().thread_scope(|scope| {
                    for target in [last, other] {
                        let wait = move || {
                            let target = handle_in(target, worker);
                            waits.fetch_add(1, Ordering::SeqCst);
                            target.wait(worker).unwrap();
                        };
                        scope.spawn(move |_| wait()).unwrap();
                    }
                });
            };
            let first = phase.task("both", Part(0..1), body);
            *both.lock().unwrap() = Some(phase.submit(main, first)?);
            let body = move |worker: &Worker<'_, M::Spe>, _| {
                while waits.load(Ordering::SeqCst) < 2 {
                    worker.spe().yield_now();
                }
                worker.spe().yield_now();
                let waited = handle_in(both, worker).wait(worker);
                *outcome.lock().unwrap() = Some(waited);
            };
            let closes = phase.task("closes", Part(0..1), body);
            let closes = phase.submit(main, closes)?;
            let body = |worker: &Worker<'_, M::Spe>, _| {
                while outcome.lock().unwrap().is_none() {
                    worker.spe().yield_now();
                }
            };
            let harmless = phase.submit(main, phase.task("harmless", Part(0..1), body))?;
            *last.lock().unwrap() = Some(closes);
            *other.lock().unwrap() = Some(harmless);
            Ok(())
        })
    });
    ended.unwrap().unwrap();
    let outcome = outcome.into_inner().unwrap().unwrap();
    assert_circle(outcome, &["'both' (1)", "'closes' (2)"]);
}

/// 'parent' waits for its phase, in which 'child' waits for 'waiter', which waits for 'parent'.
fn a_task_waits_for_the_parent_of_a_task_that_waits_for_it<M: Machine>(machine: &M) {
    let (outcome, child_waits) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let pool = Pool::new(machine).workers(2);
    let ended = pool.run(|main| {
        main.phase(|phase| {
            let [parent, waiter] = [(); 2].map(|()| slot());
            let (child_waits, outcome) = (&child_waits, &outcome);
            let body = move |worker: &Worker<'_, M::Spe>, _| {
                let inner = worker.phase(|phase| {
                    let child = phase.task("child", Part(0..1), move |worker, _| {
                        let waiter = handle_in(waiter, worker);
                        child_waits.store(true, Ordering::SeqCst);
                        keep_failure(outcome, waiter.wait(worker));
                    });
                    phase.submit(worker, child)?;
                    Ok(())
                });
                inner.unwrap();
            };
            let task = phase.task("parent", Part(0..1), body);
            *parent.lock().unwrap() = Some(phase.submit(main, task)?);
            let body = move |worker: &Worker<'_, M::Spe>, _| {
                while !child_waits.load(Ordering::SeqCst) {
                    worker.spe().yield_now();
                }
                keep_failure(outcome, handle_in(parent, worker).wait(worker));
            };
            let task = phase.task("waiter", Part(0..1), body);
            *waiter.lock().unwrap() = Some(phase.submit(main, task)?);
            Ok(())
        })
    });
    ended.unwrap().unwrap();
    // The wait that begins last is an error, and ends the other one.
    let failures = outcome.into_inner().unwrap();
    let [failure] = failures.try_into().expect("one error");
    let tasks = ["'child' (1)", "'parent' (1)", "'waiter' (2)"];
    assert_circle(Err(failure), &tasks);
}

fn keep_failure(failures: &Mutex<Vec<TaskError>>, waited: Result<(), TaskError>) {
    failures.lock().unwrap().extend(waited.err());
}

fn is_deadlock<R>(ended: &Result<R, PoolError>) -> bool {
    matches!(ended, Err(PoolError::Run(RunError::Deadlock { .. })))
}

/// A task waits for one that needs a lock, whose holder waits for an event that never comes.
fn a_deadlock_ends_where_tasks_wait_by_handles_and_locks<M: Machine>(machine: &M) {
    on_each_scheduler(machine, |pool| {
        let ended = pool.run(|main| {
            main.phase(|phase| {
                let lock = phase.lock();
                let never = |worker: &Worker<'_, M::Spe>, _| wait_for_ever(worker);
                let holder = phase.task("holder", Part(0..1), never).locked(&lock);
                phase.submit(main, holder)?;
                let next = phase.task("next", Part(0..1), |_, _| ()).locked(&lock);
                let next = phase.submit(main, next)?;
                let waits = phase.task("waits", Part(0..1), move |worker, _| {
                    next.wait(worker).unwrap();
                });
                phase.submit(main, waits)?.wait(main)
            })
        });
        assert!(is_deadlock(&ended), "{ended:?}");
    });
}

fn wait_for_ever<S: Spe>(worker: &Worker<'_, S>) {
    worker
        .spe()
        .wait_until(&"an event that never comes", &mut || false);
}

/// A value with a destructor that panics.
struct Bomb(&'static str);

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic_any(self.0);
        }
    }
}

fn message(payload: &(dyn std::any::Any + Send)) -> &'static str {
    payload.downcast_ref::<&str>().copied().unwrap_or("no text")
}

fn a_captured_value_panics_as_it_is_dropped<M: Machine>(machine: &M) {
    on_each_scheduler(machine, |pool| {
        let ended = pool.run(|main| {
            main.phase(|phase| {
                for _ in 0..3 {
                    let bomb = Bomb("captured");
                    let task = phase.task("owner", Part(0..1), move |_, _| {
                        let _bomb = &bomb;
                    });
                    phase.submit(main, task)?;
                }
                Ok(())
            })
        });
        match ended.unwrap() {
            Err(TaskError::Panicked { task, payload }) => {
                assert!(task.starts_with("'owner' ("), "{task}");
                assert_eq!(message(&*payload.into_inner()), "captured");
            }
            other => panic!("{other:?}"),
        }
    });
}

fn a_captured_value_of_a_closure_panics_as_it_is_dropped<M: Machine>(machine: &M) {
    let panic_of = |program: &(dyn Fn(&Worker<'_, M::Spe>) + Sync)| {
        let pool = Pool::new(machine).workers(2);
        let ended = pool.run(|main| {
            main.install(|worker| {
                let outcome = catch_unwind(AssertUnwindSafe(|| program(worker)));
                message(&*outcome.unwrap_err())
            })
        });
        ended.unwrap()
    };
    let in_scope = panic_of(&|worker| {
        worker.scope(|scope| {
            for _ in 0..4 {
                let bomb = Bomb("captured");
                scope.spawn(worker, move |_| {
                    let _bomb = &bomb;
                });
            }
        });
    });
    assert_eq!(in_scope, "captured");
    let in_join = panic_of(&|worker| {
        let (bomb, other) = (Bomb("captured"), Bomb("captured"));
        let first = move |worker: &Worker<'_, M::Spe>| {
            let _bomb = &bomb;
            worker.spe().yield_now();
        };
        worker.join(first, move |_| {
            let _other = &other;
        });
    });
    assert_eq!(in_join, "captured");
    // The first panic wins. The second closure does not run, and is dropped.
    let by_first = panic_of(&|worker| {
        let bomb = Bomb("captured");
        worker.join(|_| panic_any("first"), move |_| drop(bomb));
    });
    assert_eq!(by_first, "first");
}

/// Each closure panics with a payload whose destructor panics. The first payload comes out.
fn payloads_panic_as_they_are_dropped<M: Machine>(machine: &M) {
    let pool = || Pool::new(machine).workers(2);
    let is_bomb = |outcome: std::thread::Result<()>| {
        let payload = outcome.unwrap_err();
        let is_bomb = payload.is::<Bomb>();
        std::mem::forget(payload);
        is_bomb
    };
    let ended = pool().run(|main| {
        main.install(|worker| {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                worker.scope(|scope| {
                    for _ in 0..8 {
                        scope.spawn(worker, |_| panic_any(Bomb("payload")));
                    }
                });
            }));
            assert!(is_bomb(outcome));
            for _ in 0..50 {
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    let first = |worker: &Worker<'_, M::Spe>| {
                        worker.spe().yield_now();
                        panic_any(Bomb("payload"))
                    };
                    worker.join(first, |_| panic_any(Bomb("payload")));
                }));
                assert!(is_bomb(outcome));
            }
        });
    });
    ended.unwrap();
    on_each_scheduler(machine, |pool| {
        let ended = pool.run(|main| {
            main.phase(|phase| {
                for _ in 0..8 {
                    let task = phase.task("fails", Part(0..1), |_, _| panic_any(Bomb("payload")));
                    phase.submit(main, task)?;
                }
                Ok(())
            })
        });
        match ended.unwrap() {
            Err(TaskError::Panicked { payload, .. }) => assert!(is_bomb(Err(payload.into_inner()))),
            other => panic!("{other:?}"),
        }
    });
}

/// The other half panics, so no caller gets the result.
fn a_result_panics_as_it_is_dropped<M: Machine>(machine: &M) {
    let pool = Pool::new(machine).workers(2);
    let ended = pool.run(|main| {
        main.install(|worker| {
            for _ in 0..50 {
                let outcome = catch_unwind(AssertUnwindSafe(|| {
                    let first = |worker: &Worker<'_, M::Spe>| {
                        worker.spe().yield_now();
                        panic_any("first")
                    };
                    worker.join(first, |_| Bomb("result")).0
                }));
                assert_eq!(message(&*outcome.unwrap_err()), "first");
            }
        });
    });
    ended.unwrap();
}

/// A value whose destructor panics, also while another panic unwinds the stack, which would abort
/// the process.
struct HardBomb;

impl Drop for HardBomb {
    fn drop(&mut self) {
        resume_unwind(Box::new("a destructor"))
    }
}

/// The panic of another closure comes out instead of the results.
fn a_result_that_no_caller_gets_panics_as_it_is_dropped<M: Machine>(machine: &M) {
    let ended = Pool::new(machine).workers(2).run(|main| {
        main.install(|worker| {
            let panic_of = |program: &dyn Fn()| {
                let outcome = catch_unwind(AssertUnwindSafe(program));
                message(&*outcome.unwrap_err())
            };
            for _ in 0..50 {
                let in_join = panic_of(&|| {
                    worker.join(|_| HardBomb, |_| panic_any("second"));
                });
                assert_eq!(in_join, "second");
            }
            let in_broadcast = panic_of(&|| {
                let captured = HardBomb;
                worker.broadcast(move |worker| {
                    let _captured = &captured;
                    if worker.number() == 0 {
                        panic_any("one");
                    }
                    [HardBomb]
                });
            });
            assert_eq!(in_broadcast, "one");
        });
    });
    ended.unwrap();
}

#[test]
fn a_task_is_near_a_task_of_another_pool() {
    let [machine, other] = [crate::host(), crate::host()];
    on_each_scheduler(&other, |pool| {
        let pool = Mutex::new(Some(pool));
        let outer = Pool::new(&machine).run(|main| {
            main.phase(|phase| {
                let far = phase.submit(main, phase.task("far", Part(0..1), |_, _| ()))?;
                far.wait(main)?;
                let pool = pool.lock().unwrap().take().unwrap();
                let inner = pool.run(|main| {
                    main.phase(|phase| {
                        let near = phase.task("near", Part(0..1), |_, _| ()).near(&far);
                        phase.submit(main, near)?;
                        Ok(())
                    })
                });
                let expected = "task 'near' (1) is near task 'far' (1) of another pool, whose \
                                workers are not those of this pool: name a task of this pool \
                                (`Task::near`)";
                assert_eq!(inner.unwrap().unwrap_err().to_string(), expected);
                Ok(())
            })
        });
        outer.unwrap().unwrap();
    });
}

/// The number of tasks of a chain. With one call for each, a chain overflowed every stack.
fn long_chain<M: Machine>(machine: &M) -> usize {
    // Simulated tasks take longer, and a stack of a worker is small.
    let is_simulated = machine.topology().name().contains("QS22");
    if is_simulated { 5_000 } else { 100_000 }
}

fn a_long_chain_of_near_tasks_ends<M: Machine>(machine: &M) {
    let runs = AtomicUsize::new(0);
    let ended = Pool::new(machine).workers(2).run(|main| {
        main.phase(|phase| {
            let mut last: Option<Handle<'_, M::Spe>> = None;
            for _ in 0..long_chain(machine) {
                let mut step = phase.task("step", Part(0..1), |_, _| {
                    runs.fetch_add(1, Ordering::Relaxed);
                });
                if let Some(last) = &last {
                    step = step.near(last);
                }
                last = Some(phase.submit(main, step)?);
            }
            Ok(())
        })
    });
    ended.unwrap().unwrap();
    assert_eq!(runs.into_inner(), long_chain(machine));
}

/// Each task comes after the one before it, and none of them runs.
fn a_long_chain_of_tasks_is_dropped<M: Machine>(machine: &M) {
    on_each_scheduler(machine, |pool| {
        let ended = pool.run(|main| {
            main.phase(|phase| {
                let never = |worker: &Worker<'_, M::Spe>, _| {
                    wait_for_ever(worker);
                };
                let mut last = phase.submit(main, phase.task("stuck", Part(0..1), never))?;
                for _ in 0..long_chain(machine) {
                    let step = phase.task("step", Part(0..1), |_, _| ()).after(&last);
                    last = phase.submit(main, step)?;
                }
                Ok(())
            })
        });
        assert!(is_deadlock(&ended), "{ended:?}");
    });
}

/// A value whose destructor calls a function.
struct Finally<F: Fn()>(F);

impl<F: Fn()> Drop for Finally<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

fn destructors_use_the_worker_while_a_deadlocked_run_ends<M: Machine>(machine: &M) {
    type Use<S> = fn(&Worker<'_, S>);
    let uses: [Use<M::Spe>; 7] = [
        |worker| worker.scope(|scope| (0..3).for_each(|_| scope.spawn(worker, |_| ()))),
        |worker| {
            let phase = worker.phase(|phase| {
                let task = phase.task("in a destructor", Part(0..1), |_, _| ());
                phase.submit(worker, task)?.wait(worker)
            });
            assert!(
                matches!(phase, Err(TaskError::DidNotRun { .. })),
                "{phase:?}"
            );
        },
        |worker| {
            let body = |worker: &Worker<'_, M::Spe>| worker.spe().yield_now();
            (0..100).for_each(|_| _ = worker.join(body, body));
        },
        |worker| worker.for_each(0..1_000, |_, _| ()),
        |worker| {
            let mut numbers: Vec<u32> = (0..10_000).map(|n| n * 7_919 % 10_007).collect();
            worker.sort(&mut numbers);
            assert!(numbers.is_sorted());
        },
        |worker| {
            wait_for_ever(worker);
        },
        |worker| {
            worker.scope(|scope| {
                let wait = |worker: &Worker<'_, M::Spe>| {
                    wait_for_ever(worker);
                };
                scope.spawn(worker, wait);
                wait(worker);
            });
        },
    ];
    for (number, uses) in uses.into_iter().enumerate() {
        let called = AtomicUsize::new(0);
        on_each_scheduler(machine, |pool| {
            let ended = pool.run(|main| {
                main.install(|worker| {
                    let _finally = Finally(|| {
                        uses(worker);
                        called.fetch_add(1, Ordering::Relaxed);
                    });
                    wait_for_ever(worker);
                });
            });
            assert!(is_deadlock(&ended), "{number}: {ended:?}");
            assert!(called.swap(0, Ordering::Relaxed) == 1, "{number}");
        });
    }
}

fn destructors_use_the_main_program_while_a_deadlocked_run_ends<M: Machine>(machine: &M) {
    let called = AtomicUsize::new(0);
    on_each_scheduler(machine, |pool| {
        let ended = pool.run(|main| {
            let _finally = Finally(|| {
                main.scope(|scope| scope.spawn(main, |_| ()));
                let phase = main.phase(|phase| {
                    // More tasks than the queues in main memory have room for.
                    for _ in 0..3_000 {
                        phase.submit(main, phase.task("in a destructor", Part(0..1), |_, _| ()))?;
                    }
                    let task = phase.task("in a destructor", Part(0..1), |_, _| ());
                    phase.submit(main, task)?.wait(main)
                });
                assert!(
                    matches!(phase, Err(TaskError::DidNotRun { .. })),
                    "{phase:?}"
                );
                called.fetch_add(1, Ordering::Relaxed);
            });
            main.ppe()
                .wait_until(&"an event that never comes", &mut || false);
        });
        assert!(is_deadlock(&ended), "{ended:?}");
        assert!(called.swap(0, Ordering::Relaxed) == 1);
    });
}

/// The halves are all taken by other workers, and then the joins end in the order in which they
/// began.
#[test]
fn a_half_runs_once_if_joins_of_threads_end_in_any_order() {
    const THREADS: usize = 24;
    let host = Host::builder().spes(4).build().unwrap();
    Pool::new(&host)
        .run(|main| {
            main.install(|worker| {
                for round in 0..10_000 {
                    let begun = AtomicUsize::new(0);
                    worker.spe().thread_scope(|threads| {
                        for _ in 0..THREADS {
                            let spawned = threads.spawn(|_| {
                                let value = Box::new([1_u64; 8]);
                                let waits = |worker: &Worker<'_, HostSpe>| {
                                    while begun.load(Ordering::Relaxed) < THREADS {
                                        worker.spe().yield_now();
                                    }
                                };
                                let (_, sum) = worker.join(waits, |_| {
                                    begun.fetch_add(1, Ordering::Relaxed);
                                    value.into_iter().sum::<u64>()
                                });
                                assert_eq!(sum, 8, "round {round}");
                            });
                            spawned.unwrap();
                        }
                    });
                    assert_eq!(begun.into_inner(), THREADS, "round {round}");
                }
            });
        })
        .unwrap();
}
