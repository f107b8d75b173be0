//! Tests of pools that any thread may use.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, LazyLock, mpsc};
use std::thread;
use std::time::Duration;

use cellworks_host::Host;
use cellworks_machine::{Machine, Spe};
use cellworks_tasks::{PoolError, SharedPool, Worker};

use crate::{SPES, host, plain, qs22, strict_host};

static POOL: LazyLock<SharedPool<Host>> =
    LazyLock::new(|| SharedPool::start(host(), |pool| pool).unwrap());

#[track_caller]
fn pool(workers: usize) -> SharedPool<Host> {
    SharedPool::start(host(), move |pool| pool.workers(workers)).unwrap()
}

fn sum<S: Spe>(worker: &Worker<'_, S>, numbers: &[u64]) -> u64 {
    worker.par_iter(numbers).sum()
}

#[test]
fn many_threads_use_one_pool() {
    for workers in [1, 2, SPES] {
        let pool = pool(workers);
        thread::scope(|threads| {
            for number in 0..8 {
                let pool = &pool;
                threads.spawn(move || {
                    for turn in 0..200 {
                        // The closure borrows from the stack of this thread.
                        let numbers = Vec::from_iter(number..turn);
                        let sum = pool.install(|worker| sum(worker, &numbers));
                        assert_eq!(sum, (number..turn).sum());
                    }
                });
            }
        });
        pool.end().unwrap();
    }
}

/// As a library does that has a pool of its own, whose callers may be its own tasks.
#[test]
fn a_task_may_call_its_pool_as_other_threads_do() {
    fn fibonacci(n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let (a, b) = POOL.install(|worker| worker.join(|_| fibonacci(n - 1), |_| fibonacci(n - 2)));
        a + b
    }
    assert_eq!(fibonacci(15), 610);
    let ends = Arc::new(AtomicUsize::new(0));
    let (all_ended, result) = mpsc::channel();
    POOL.install(|_| {
        for _ in 0..100 {
            let (ends, all_ended) = (Arc::clone(&ends), all_ended.clone());
            POOL.spawn(move |_| {
                if ends.fetch_add(1, Ordering::Relaxed) == 99 {
                    all_ended.send(()).unwrap();
                }
            });
        }
    });
    result.recv().unwrap();
}

#[test]
fn the_panic_of_a_call_comes_to_its_thread_and_the_pool_goes_on() {
    let pool = pool(2);
    for _ in 0..20 {
        let call = || pool.install(|worker| _ = worker.join(|_| 1, |_| panic!("half")));
        let panic = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"half"));
    }
    assert_eq!(pool.install(|_| 3), 3);
    pool.end().unwrap();
}

#[test]
fn a_pool_waits_for_what_was_started_before_its_end() {
    let ends = Arc::new(AtomicUsize::new(0));
    for by_drop in [false, true] {
        let pool = pool(2);
        for _ in 0..10_000 {
            let ends = Arc::clone(&ends);
            pool.spawn(move |worker| {
                worker.spawn(move |_| _ = ends.fetch_add(1, Ordering::Relaxed));
            });
        }
        if by_drop {
            drop(pool);
        } else {
            pool.end().unwrap();
        }
    }
    assert_eq!(ends.load(Ordering::Relaxed), 20_000);
    assert_eq!(Arc::strong_count(&ends), 1);
}

#[test]
fn the_panic_of_a_started_closure_is_the_error_of_the_pool() {
    for by_task in [false, true] {
        let pool = pool(2);
        let spawn = || pool.spawn(|_| panic!("alone"));
        let line = line!() - 1;
        if by_task {
            pool.install(|_| spawn());
        } else {
            spawn();
        }
        pool.spawn(|_| ());
        assert_eq!(pool.install(|_| 3), 3);
        let error = pool.end().unwrap_err();
        let expected = format!(
            "a closure given to `SharedPool::spawn` at {}:{line}:29 panicked: alone",
            file!()
        );
        assert_eq!(error.to_string(), expected);
    }
}

/// Drops the last handle of a pool in a task of the pool, which then calls `after`. Returns when
/// the OS thread of the pool has ended.
fn drop_last(after: impl FnOnce() + Send + 'static) {
    thread_local! {
        static RUNS: RefCell<Option<mpsc::Sender<()>>> = const { RefCell::new(None) };
    }
    let (runs, has_ended) = mpsc::channel();
    let pool = SharedPool::start(host(), move |pool| {
        RUNS.set(Some(runs));
        pool.workers(1)
    });
    let pool = Arc::new(pool.unwrap());
    let its = Arc::clone(&pool);
    let (begin, may_begin) = mpsc::channel::<()>();
    pool.spawn(move |_| {
        may_begin.recv().unwrap();
        drop(its);
        after();
    });
    drop(pool);
    begin.send(()).unwrap();
    // The sender is dropped with what the thread had for itself.
    assert_eq!(has_ended.recv(), Err(mpsc::RecvError));
}

/// The last handle is dropped by a task of the pool, which cannot wait for itself.
#[test]
fn a_task_may_drop_its_pool() {
    let (dropped, result) = mpsc::channel();
    drop_last(move || dropped.send(()).unwrap());
    result.recv().unwrap();
}

/// The error of a dropped pool reaches no caller. It has the payload of the panic.
#[test]
fn the_payload_of_a_dropped_pool_may_panic_when_it_is_dropped() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("the destructor of a payload");
        }
    }
    drop_last(|| panic_any(Bomb));
    let pool_of_bomb = || {
        let pool = pool(1);
        pool.spawn(|_| panic_any(Bomb));
        pool
    };
    drop(pool_of_bomb());
    let unwound = catch_unwind(|| {
        let _pool = pool_of_bomb();
        panic!("while the pool runs");
    });
    assert_eq!(
        unwound.unwrap_err().downcast_ref(),
        Some(&"while the pool runs")
    );
}

/// The pool would wait for the task, which would wait for the pool.
#[test]
fn a_task_that_ends_its_pool_is_told_to_drop_it() {
    let pool = Arc::new(pool(1));
    let (its, (said, message)) = (Arc::clone(&pool), mpsc::channel());
    let (begin, may_begin) = mpsc::channel::<()>();
    pool.spawn(move |_| {
        may_begin.recv().unwrap();
        let last = Arc::into_inner(its).unwrap();
        said.send(catch_unwind(AssertUnwindSafe(|| last.end())).unwrap_err())
            .unwrap();
    });
    drop(pool);
    begin.send(()).unwrap();
    assert_eq!(
        message.recv().unwrap().downcast_ref(),
        Some(
            &"`SharedPool::end` was called in a task of the pool, and would wait for this task: call it in another \
              thread, or drop the pool, which does not wait here"
        )
    );
}

/// Runs `here` at the same time in a task of each of `count` pools. A task is given the pool of the
/// next one, and the last task that of the first. Returns the lines where the pools were started,
/// and what the tasks returned.
fn in_a_circle<R: Send + 'static>(count: usize, here: fn(SharedPool<Host>) -> R) -> Vec<(u32, R)> {
    let first = (line!(), pool(1));
    let second = (line!(), pool(1));
    let third = (line!(), pool(1));
    let (lines, pools): (Vec<_>, Vec<_>) = [first, second, third].into_iter().take(count).unzip();
    let pools = Vec::from_iter(pools.into_iter().map(Arc::new));
    let (said, results) = mpsc::channel();
    let begin = Arc::new(Barrier::new(count + 1));
    for (index, pool) in pools.iter().enumerate() {
        let next = Arc::clone(&pools[(index + 1) % count]);
        let (said, may_begin) = (said.clone(), Arc::clone(&begin));
        pool.spawn(move |_| {
            may_begin.wait();
            let last = Arc::into_inner(next).expect("`pools` was dropped");
            said.send((index, here(last))).unwrap();
        });
    }
    drop(pools);
    begin.wait();
    let limit = Duration::from_secs(60);
    let results = (0..count).map(|_| results.recv_timeout(limit));
    let mut results = Vec::from_iter(results.map(|result| result.expect("a pool waits for ever")));
    results.sort_by_key(|(index, _)| *index);
    let results = results.into_iter().map(|(_, result)| result);
    lines.into_iter().zip(results).collect()
}

#[test]
fn tasks_may_drop_each_others_pools() {
    for count in [2, 3] {
        in_a_circle(count, drop);
    }
}

/// The one that would close the circle is told. After that the others end.
#[test]
fn tasks_that_end_each_others_pools_are_told_so() {
    for count in [2, 3] {
        let mut ends = in_a_circle(count, |pool| {
            let end = catch_unwind(AssertUnwindSafe(|| pool.end()));
            end.map_err(|message| message.downcast_ref::<String>().unwrap().clone())
        });
        let told = ends.iter().position(|(_, end)| end.is_err()).unwrap();
        ends.rotate_left(told);
        let (here, ended) = (ends[0].0, ends[1].0);
        let [told, others @ ..] = ends.as_slice() else {
            unreachable!("there are at least two pools");
        };
        assert!(others.iter().all(|(_, end)| matches!(end, Ok(Ok(())))));
        let message = told.1.as_ref().unwrap_err();
        let of = |line| format!("the pool that was started at {}:{line}:", file!());
        let parts = [
            format!("`SharedPool::end` was called for {}", of(ended)),
            format!(", in a task of {}", of(here)),
            ", for whose end a task of the first one waits already, so neither pool would end: call it where no task waits \
             for the end, such as in `main`, or drop the pool, which does not wait here"
                .to_owned(),
        ];
        let is_there = |part: &String| message.contains(part);
        assert!(parts.iter().all(is_there), "{message}");
    }
}

/// A thread-local that was made before the first call is destroyed after what the pool keeps of the
/// thread.
#[test]
fn a_destructor_of_a_thread_local_may_use_and_drop_a_pool() {
    struct Last(SharedPool<Host>, mpsc::Sender<i32>);
    impl Drop for Last {
        fn drop(&mut self) {
            self.1.send(self.0.install(|_| 3)).unwrap();
        }
    }
    thread_local! {
        static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
    }
    let (answer, answered) = mpsc::channel();
    let user = thread::spawn(move || {
        LAST.with_borrow_mut(|last| {
            let last = last.insert(Last(pool(2), answer));
            last.0.install(|_| ());
        });
    });
    assert_eq!(answered.recv(), Ok(3));
    user.join().unwrap();
}

#[test]
fn waiting_calls_keep_no_worker() {
    let pool = pool(1);
    let turn = AtomicUsize::new(0);
    thread::scope(|threads| {
        for number in 0..4 {
            let (pool, turn) = (&pool, &turn);
            threads.spawn(move || {
                pool.install(|worker| {
                    while turn.load(Ordering::SeqCst) != 3 - number {
                        worker.spe().yield_now();
                    }
                    turn.fetch_add(1, Ordering::SeqCst);
                });
            });
        }
    });
}

#[test]
fn a_thread_of_a_task_is_told_to_use_its_worker() {
    let pool = pool(1);
    let message = pool.install(|worker| {
        worker.spe().thread_scope(|scope| {
            let thread = scope.spawn(|_| {
                let call = || pool.install(|_| ());
                catch_unwind(AssertUnwindSafe(call)).unwrap_err()
            });
            *thread
                .unwrap()
                .join()
                .unwrap()
                .downcast::<String>()
                .unwrap()
        })
    });
    assert_eq!(
        message,
        "`SharedPool::install` was called in a cooperative thread that a task of the pool has started, or in a filter, \
         and would block a worker of the pool: use the worker that the task was given"
    );
}

#[test]
fn a_pool_on_a_machine_with_its_own_time_or_local_stores_is_refused() {
    fn refused<M: Machine + Send + 'static>(machine: M) {
        let name = machine.topology().name().to_owned();
        let error = SharedPool::start(machine, |pool| pool).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "other threads cannot use a pool on {name}, whose tasks have their own time or data in local stores: \
                 use `Pool::run`"
            )
        );
    }
    refused(strict_host());
    refused(plain());
    refused(qs22());
}

#[test]
fn errors_and_panics_of_the_begin_come_to_the_caller() {
    let error = SharedPool::start(host(), |pool| pool.workers(0)).unwrap_err();
    assert!(matches!(error, PoolError::NoWorkers { .. }), "{error}");
    let settings = || SharedPool::start(host(), |_| panic!("no settings"));
    let panic = catch_unwind(AssertUnwindSafe(settings)).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"no settings"));
}
