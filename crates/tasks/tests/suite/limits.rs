//! Runs that a limit of simulated time ends, wherever they are.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cellworks_machine::{Cycles, Machine, RunError, Span, Spe, Time, Wake};
use cellworks_sim::{Description, Sim};
use cellworks_tasks::{Part, Pool, PoolError, Scheduler, Staging, Update, Worker};

/// Runs a phase with `limits` limits, which lie at equal distances in the first of `shares` shares of
/// its time.
#[track_caller]
fn assert_each_limit_ends(
    run: fn(Option<u128>) -> Result<[u128; 2], PoolError>,
    limits: u128,
    shares: u128,
) {
    let [begin, end] = run(None).unwrap();
    for step in 0..limits {
        let limit = begin + (end - begin) * step / limits / shares;
        let cut = run(Some(limit));
        let is_cut = matches!(cut, Err(PoolError::Run(RunError::TimeLimit { .. })));
        assert!(is_cut, "{limit} fs: {cut:?}");
    }
}

fn ps3(limit: Option<u128>) -> Sim {
    let mut ps3 = Description::built_in("ps3").unwrap();
    ps3.ppe.start_program_ps.value = 1_000;
    let mut sim = Sim::builder(ps3);
    if let Some(limit) = limit {
        sim = sim.limit(Span::from_femtoseconds(limit));
    }
    sim.build().unwrap()
}

/// Runs a phase whose tasks are staged ahead. Returns when it began and ended, in femtoseconds.
fn stages_ahead(limit: Option<u128>) -> Result<[u128; 2], PoolError> {
    let sim = ps3(limit);
    let pool = Pool::new(&sim).workers(2).staging(Staging::Ahead(4));
    let mut rows = [[0_u32; 512]; 24];
    pool.run(|main| {
        let now = || main.install(|worker| worker.spe().now().since(Time::default()));
        let begin = now();
        let phase = main.phase(|phase| {
            for row in &mut rows {
                let (low, high) = row.split_at_mut(256);
                let data = (Update::new(low), Update::new(high));
                let task = phase.task("row", data, |_, (low, high): (&mut [u32], &mut [u32])| {
                    low.iter_mut().chain(high).for_each(|number| *number += 1);
                });
                phase.submit(main, task)?;
            }
            Ok(())
        });
        phase.unwrap();
        [begin, now()].map(Span::as_femtoseconds)
    })
}

/// Runs a phase whose tasks run one after the other, each after the one before or by one lock.
/// Returns the same.
fn follow_each_other(limit: Option<u128>, by_lock: bool) -> Result<[u128; 2], PoolError> {
    let sim = ps3(limit);
    Pool::new(&sim).workers(2).run(|main| {
        let now = || main.install(|worker| worker.spe().now().since(Time::default()));
        let begin = now();
        let phase = main.phase(|phase| {
            let lock = phase.lock();
            let mut last = None;
            for _ in 0..6 {
                let mut task = phase.task("next", Part(0..1), |_, _| ());
                if by_lock {
                    task = task.locked(&lock);
                } else if let Some(last) = &last {
                    task = task.after(last);
                }
                last = Some(phase.submit(main, task)?);
            }
            Ok(())
        });
        phase.unwrap();
        [begin, now()].map(Span::as_femtoseconds)
    })
}

/// Runs a phase whose tasks a scheduler splits. Returns the same.
fn dices(limit: Option<u128>, scheduler: Scheduler) -> Result<[u128; 2], PoolError> {
    let sim = ps3(limit);
    let pool = Pool::new(&sim).workers(2).staging(Staging::Off);
    let pool = pool.scheduler(scheduler).dicing(Some(100));
    pool.run(|main| {
        let now = || main.install(|worker| worker.spe().now().since(Time::default()));
        let begin = now();
        let phase = main.phase(|phase| {
            for _ in 0..3 {
                let cuts = |range: Range<usize>, parts| {
                    let cut = |part| range.start + range.len() * part / parts;
                    (1..parts).map(cut).collect()
                };
                let task = phase.task_with_cuts("many", Part(0..2_000), |_, _| (), cuts);
                phase.submit(main, task)?;
            }
            Ok(())
        });
        phase.unwrap();
        [begin, now()].map(Span::as_femtoseconds)
    })
}

/// The payload of a panic. Its destructor panics, too.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        resume_unwind(Box::new("the destructor of a payload"))
    }
}

/// Runs a phase whose filter, or else whose tasks when the PPE splits them, panic with a [`Bomb`].
/// Returns the same.
fn panics_with_a_bomb(limit: Option<u128>, in_filter: bool) -> Result<[u128; 2], PoolError> {
    let sim = ps3(limit);
    let pool = Pool::new(&sim).workers(2).staging(Staging::Off);
    let mut pool = pool.scheduler(Scheduler::ThreeLevel).dicing(Some(100));
    if in_filter {
        pool = pool.filter(|_| resume_unwind(Box::new(Bomb)));
    }
    pool.run(|main| {
        let now = || main.install(|worker| worker.spe().now().since(Time::default()));
        let begin = now();
        let phase = catch_unwind(AssertUnwindSafe(|| {
            main.phase(|phase| {
                for _ in 0..4 {
                    let cuts = |_: Range<usize>, _| resume_unwind(Box::new(Bomb));
                    let task = phase.task_with_cuts("many", Part(0..100), |_, _| (), cuts);
                    phase.submit(main, task)?;
                }
                Ok(())
            })
        }));
        match phase {
            Err(payload) if !payload.is::<Bomb>() => resume_unwind(payload),
            // The payload is not dropped.
            phase => std::mem::forget(phase),
        }
        [begin, now()].map(Span::as_femtoseconds)
    })
}

#[test]
fn a_limit_drops_payloads_of_panics_whose_destructors_panic() {
    assert_each_limit_ends(|limit| panics_with_a_bomb(limit, false), 100, 1);
    assert_each_limit_ends(|limit| panics_with_a_bomb(limit, true), 100, 1);
}

#[test]
fn a_limit_while_tasks_are_diced_ends_the_run() {
    // The PPE dices tasks when they come to it, workers when they have few.
    assert_each_limit_ends(|limit| dices(limit, Scheduler::ThreeLevel), 100, 20);
    assert_each_limit_ends(|limit| dices(limit, Scheduler::Stealing), 200, 1);
}

#[test]
fn a_limit_while_data_is_staged_ahead_ends_the_run() {
    assert_each_limit_ends(stages_ahead, 500, 1);
}

#[test]
fn a_limit_while_an_ended_task_lets_another_one_run_ends_the_run() {
    assert_each_limit_ends(|limit| follow_each_other(limit, false), 300, 1);
    assert_each_limit_ends(|limit| follow_each_other(limit, true), 300, 1);
}

/// Runs `call` on a pool with a limit in each cycle of the call, and checks that closures which own
/// a part of `value` were dropped.
fn assert_each_cycle_ends(
    workers: usize,
    call: fn(&Worker<'_, <Sim as Machine>::Spe>, value: &Arc<()>),
) {
    let value = Arc::new(());
    let run = |limit| {
        let sim = ps3(limit);
        Pool::new(&sim).workers(workers).run(|main| {
            main.install(|worker| {
                let now = || worker.spe().now().since(Time::default());
                // Another thread of this worker looks for a job, and is told of the next one.
                (0..3).for_each(|_| worker.spe().yield_now());
                let begin = now();
                call(worker, &value);
                [begin, now()].map(Span::as_femtoseconds)
            })
        })
    };
    let [begin, end] = run(None).unwrap();
    for limit in (begin..end).step_by(312_500) {
        let cut = run(Some(limit));
        let is_cut = matches!(cut, Err(PoolError::Run(RunError::TimeLimit { .. })));
        assert!(is_cut, "{limit} fs: {cut:?}");
        assert_eq!(Arc::strong_count(&value), 1, "{limit} fs");
    }
}

#[test]
fn a_limit_while_a_join_adds_its_half_drops_both_closures() {
    assert_each_cycle_ends(2, |worker, value| {
        for cycles in [0, 20] {
            let [first, second] = [Arc::clone(value), Arc::clone(value)];
            let joined = catch_unwind(AssertUnwindSafe(|| {
                worker.join(
                    move |worker| {
                        worker.spe().compute(Cycles(cycles));
                        drop(first);
                    },
                    move |_| drop(second),
                );
            }));
            // The run goes on after a limit, so the second call is one of a cancelled run.
            drop(joined);
        }
    });
}

/// A value whose destructor panics before [`begins`](Self::begins): of a closure that does not
/// begin, or a result that no caller gets.
struct Unbegun {
    _value: Arc<()>,
    is_unbegun: AtomicBool,
}

impl Unbegun {
    fn new(value: &Arc<()>) -> Self {
        Self {
            _value: Arc::clone(value),
            is_unbegun: AtomicBool::new(true),
        }
    }

    fn begins(&self) {
        self.is_unbegun.store(false, Ordering::Relaxed);
    }
}

impl Drop for Unbegun {
    fn drop(&mut self) {
        if *self.is_unbegun.get_mut() {
            resume_unwind(Box::new("the destructor of a value of a closure"))
        }
    }
}

/// Computes, and goes on after a limit. The time of the last cycles passes in the next call, which
/// panics if the run is cancelled.
fn compute_past_limit<S: Spe>(worker: &Worker<'_, S>) {
    let compute = || worker.spe().compute(Cycles(60));
    drop(catch_unwind(AssertUnwindSafe(compute)));
    worker.spe().compute(Cycles(10));
}

/// A destructor that panics while a panic unwinds the stack would abort the process.
#[test]
fn a_limit_before_a_closure_is_started_drops_it_although_its_destructor_panics() {
    assert_each_cycle_ends(2, |worker, value| {
        compute_past_limit(worker);
        let [first, second] = [Unbegun::new(value), Unbegun::new(value)];
        worker.join(move |_| first.begins(), move |_| second.begins());
    });
    assert_each_cycle_ends(2, |worker, value| {
        worker.scope(|scope| {
            compute_past_limit(worker);
            let value = Unbegun::new(value);
            scope.spawn(worker, move |_| value.begins());
        });
    });
    assert_each_cycle_ends(2, |worker, value| {
        let phase = worker.phase(|phase| {
            compute_past_limit(worker);
            let value = Unbegun::new(value);
            let task = phase.task("task", Part(0..1), move |_, _| value.begins());
            phase.submit(worker, task).map(drop)
        });
        phase.unwrap();
    });
}

/// The main program is unwound although the closure has returned a result.
#[test]
fn a_limit_after_an_installed_closure_drops_its_result_although_its_destructor_panics() {
    let value = Arc::new(());
    let run = |limit| {
        let sim = ps3(limit);
        Pool::new(&sim).workers(1).run(|main| {
            let mut times = [0; 2];
            let result = main.install(|worker| {
                let now = || worker.spe().now().since(Time::default());
                times[0] = now().as_femtoseconds();
                compute_past_limit(worker);
                times[1] = now().as_femtoseconds();
                Unbegun::new(&value)
            });
            result.begins();
            times
        })
    };
    let [begin, end] = run(None).unwrap();
    for limit in (begin..end).step_by(312_500) {
        let cut = run(Some(limit));
        let is_cut = matches!(cut, Err(PoolError::Run(RunError::TimeLimit { .. })));
        assert!(is_cut, "{limit} fs: {cut:?}");
        assert_eq!(Arc::strong_count(&value), 1, "{limit} fs");
    }
}

#[test]
fn a_limit_while_a_worker_takes_a_closure_drops_it() {
    assert_each_cycle_ends(3, |worker, value| {
        worker.scope(|scope| {
            for _ in 0..6 {
                let value = Arc::clone(value);
                scope.spawn(worker, move |worker| {
                    worker.spe().compute(Cycles(60));
                    drop(value);
                });
            }
        });
    });
}
