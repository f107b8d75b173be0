//! Tests of the schedulers with queues in main memory: that of the Jack Rabbit thesis, and MARS.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cellworks_machine::{Cycles, LocalStore, Machine, RunError, Span, Spe, SpeCore, Wait, Wake};
use cellworks_sim::{Description, Sim};
use cellworks_tasks::{
    Counters, Part, PendingTask, Pool, PoolError, Priority, Read, Scheduler, Staging, Update,
    Value, Write,
};
use proptest::prelude::*;

/// Runs cases on every machine that is a Cell.
macro_rules! on_every_cell {
    ($($case:ident),+ $(,)?) => {
        crate::on_every_machine!(@on host: $($case),+);
        crate::on_every_machine!(@on strict_host: $($case),+);
        crate::on_every_machine!(@on qs22: $($case),+);
    };
}

on_every_cell!(
    tasks_get_and_put_back_their_data,
    more_tasks_than_the_queues_hold_all_run,
    tasks_of_high_priority_run_first,
    tasks_that_come_after_others_go_through_the_queues,
    locked_tasks_go_through_the_queues,
    a_task_submits_tasks_and_waits_for_them,
    joins_and_scopes_go_on_beside_the_queues,
    phases_follow_each_other_and_nest,
    a_filter_reverses,
    a_filter_drops,
    a_filter_that_drops_an_awaited_task_is_an_error,
    a_filter_that_panics_ends_the_phase,
    a_task_that_panics_is_named,
    a_panic_of_the_main_program_ends_the_run,
    tasks_that_wait_for_ever_are_a_deadlock,
);

const BOTH: [Scheduler; 2] = [Scheduler::ThreeLevel, Scheduler::Mars];

/// The machine of the Jack Rabbit thesis.
fn ps3(seed: u64) -> Sim {
    let description = Description::built_in("ps3").unwrap();
    Sim::builder(description).seed(seed).build().unwrap()
}

fn tasks_get_and_put_back_their_data<M: Machine>(machine: &M) {
    for (scheduler, staging) in [
        (Scheduler::ThreeLevel, Staging::Automatic),
        (Scheduler::ThreeLevel, Staging::Ahead(2)),
        (Scheduler::ThreeLevel, Staging::Off),
        (Scheduler::Mars, Staging::Automatic),
        (Scheduler::Mars, Staging::Off),
    ] {
        let offsets: Vec<u32> = (0..64).collect();
        let mut rows: Vec<u32> = (0..6_400).collect();
        let mut sums = vec![0_u32; 100];
        let (result, counters) = Pool::new(machine)
            .scheduler(scheduler)
            .staging(staging)
            .run_counted(|main| {
                main.phase(|phase| {
                    let rows = rows.chunks_mut(64).zip(sums.chunks_mut(1)).enumerate();
                    for (number, (row, sum)) in rows {
                        let data = (
                            Update::new(row),
                            Read::new(&offsets[..]),
                            Write::new(sum),
                            Value(number as u32),
                        );
                        let add = phase.task("add", data, |_, (row, offsets, sum, number)| {
                            row.iter_mut().zip(offsets).for_each(|(x, by)| *x += by);
                            sum[0] = row.iter().sum::<u32>() + number;
                        });
                        phase.submit(main, add)?;
                    }
                    Ok(())
                })
            })
            .unwrap();
        result.unwrap();
        for (number, (row, sum)) in rows.chunks(64).zip(&sums).enumerate() {
            let expected: Vec<u32> = (0..64).map(|i| 64 * number as u32 + 2 * i).collect();
            assert_eq!(row, expected);
            assert_eq!(*sum, expected.iter().sum::<u32>() + number as u32);
        }
        assert_eq!(tasks(&counters), 100);
        let imported = counters.scheduler.imported;
        assert_eq!(imported, if scheduler == Scheduler::Mars { 0 } else { 100 });
        let ahead: u64 = counters
            .workers
            .iter()
            .map(|worker| worker.staged_ahead)
            .sum();
        assert_eq!(
            ahead > 0,
            staging == Staging::Ahead(2) || ahead > 0 && staging != Staging::Off
        );
    }
}

/// Returns the number of tasks that the workers have run.
fn tasks(counters: &Counters) -> u64 {
    counters.workers.iter().map(|worker| worker.tasks).sum()
}

/// Runs tasks of these priorities. Returns the number of runs of each task, the order of the runs,
/// and the time of the last end.
fn run_of<M: Machine>(
    machine: &M,
    scheduler: Scheduler,
    workers: usize,
    priorities: &[Priority],
) -> (Vec<usize>, Vec<usize>, Span) {
    let runs: Vec<_> = priorities.iter().map(|_| AtomicUsize::new(0)).collect();
    let order = Mutex::new(Vec::new());
    let (result, counters) = Pool::new(machine)
        .scheduler(scheduler)
        .workers(workers)
        .run_counted(|main| {
            let result = main.phase(|phase| {
                let (runs, order) = (&runs, &order);
                for (number, &priority) in priorities.iter().enumerate() {
                    let task = phase.task("count", Value(number), move |_, number| {
                        runs[number].fetch_add(1, Ordering::Relaxed);
                        order.lock().unwrap().push(number);
                    });
                    phase.submit(main, task.priority(priority))?;
                }
                Ok(())
            });
            let end = main.install(|worker| worker.spe().now());
            result.map(|()| end.since(cellworks_machine::Time::default()))
        })
        .unwrap();
    assert_eq!(tasks(&counters), priorities.len() as u64);
    let runs = runs.into_iter().map(AtomicUsize::into_inner).collect();
    (runs, order.into_inner().unwrap(), result.unwrap())
}

fn more_tasks_than_the_queues_hold_all_run<M: Machine>(machine: &M) {
    for scheduler in BOTH {
        let (runs, _, _) = run_of(machine, scheduler, 4, &[Priority::Normal; 3_000]);
        assert!(runs.iter().all(|&runs| runs == 1));
    }
}

#[test]
fn every_task_runs_once_and_a_seed_repeats() {
    let any_scheduler = prop_oneof![Just(Scheduler::ThreeLevel), Just(Scheduler::Mars)];
    let any_priority = prop_oneof![
        Just(Priority::Low),
        Just(Priority::Normal),
        Just(Priority::High)
    ];
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(16));
    let any = (
        any_scheduler,
        1_usize..=6,
        any::<u64>(),
        prop::collection::vec(any_priority, 0..200),
    );
    runner
        .run(&any, |(scheduler, workers, seed, priorities)| {
            let run = || run_of(&ps3(seed), scheduler, workers, &priorities);
            let first = run();
            prop_assert!(first.0.iter().all(|&runs| runs == 1));
            prop_assert_eq!(first, run());
            Ok(())
        })
        .unwrap();
}

/// Some tasks submit more tasks, some come after others, and some are locked. Therefore workers
/// flush their outboxes while the PPE imports and other workers check out.
#[test]
fn no_order_of_the_locks_is_a_deadlock() {
    for seed in 0..50 {
        let scheduler = BOTH[seed as usize % 2];
        let ran = AtomicUsize::new(0);
        Pool::new(&ps3(seed))
            .scheduler(scheduler)
            .run(|main| {
                main.phase(|phase| {
                    let ran = &ran;
                    let all_locked = phase.lock();
                    let mut last = None;
                    for number in 0..30_usize {
                        let lock = all_locked.clone();
                        let more = phase.task("more", Value(number), move |worker, number| {
                            ran.fetch_add(1, Ordering::Relaxed);
                            for _ in 0..number % 4 {
                                let one = phase.task("one", Value(()), |_, ()| {
                                    ran.fetch_add(1, Ordering::Relaxed);
                                });
                                phase.submit(worker, one.locked(&lock)).unwrap();
                            }
                        });
                        let more = match last.take() {
                            Some(last) if number % 3 == 0 => more.after(&last),
                            _ => more,
                        };
                        last = Some(phase.submit(main, more)?);
                    }
                    Ok(())
                })
            })
            .unwrap()
            .unwrap();
        let of_tasks: usize = (0..30).map(|number| number % 4).sum();
        assert_eq!(ran.into_inner(), 30 + of_tasks, "seed {seed}");
    }
}

fn tasks_of_high_priority_run_first<M: Machine>(machine: &M) {
    // All tasks fit into one import, so the order is the order of the reorder buffer.
    let priorities: Vec<_> = [Priority::Low, Priority::High, Priority::Normal]
        .into_iter()
        .cycle()
        .take(15)
        .collect();
    let (_, order, _) = run_of(machine, Scheduler::ThreeLevel, 1, &priorities);
    let of = |priority| (0..15).filter(move |&task| priorities[task] == priority);
    let expected: Vec<_> = of(Priority::High).collect();
    assert_eq!(order[..5], expected);
}

fn tasks_that_come_after_others_go_through_the_queues<M: Machine>(machine: &M) {
    for scheduler in BOTH {
        let order = Mutex::new(Vec::new());
        Pool::new(machine)
            .scheduler(scheduler)
            .run(|main| {
                main.phase(|phase| {
                    let order = &order;
                    let mut last = None;
                    for number in 0..40 {
                        let mut task = phase.task("note", Value(number), move |_, number| {
                            order.lock().unwrap().push(number);
                        });
                        if let Some(last) = &last {
                            task = task.after(last);
                        }
                        last = Some(phase.submit(main, task)?);
                    }
                    last.unwrap().wait(main)
                })
            })
            .unwrap()
            .unwrap();
        assert_eq!(order.into_inner().unwrap(), (0..40).collect::<Vec<_>>());
    }
}

fn locked_tasks_go_through_the_queues<M: Machine>(machine: &M) {
    for scheduler in BOTH {
        let (inside, ran) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Pool::new(machine)
            .scheduler(scheduler)
            .run(|main| {
                main.phase(|phase| {
                    let lock = phase.lock();
                    let (inside, ran) = (&inside, &ran);
                    for _ in 0..40 {
                        let task = phase.task("alone", Value(()), |worker, ()| {
                            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                            worker.spe().compute(Cycles(10_000));
                            worker.spe().yield_now();
                            inside.fetch_sub(1, Ordering::SeqCst);
                            ran.fetch_add(1, Ordering::Relaxed);
                        });
                        phase.submit(main, task.locked(&lock))?;
                    }
                    Ok(())
                })
            })
            .unwrap()
            .unwrap();
        assert_eq!(ran.into_inner(), 40);
    }
}

fn a_task_submits_tasks_and_waits_for_them<M: Machine>(machine: &M) {
    for scheduler in BOTH {
        let ran = AtomicUsize::new(0);
        Pool::new(machine)
            .scheduler(scheduler)
            .run(|main| {
                main.phase(|phase| {
                    let ran = &ran;
                    for _ in 0..10 {
                        let parent = phase.task("parent", Value(()), move |worker, ()| {
                            // The parent's own phase.
                            worker
                                .phase(|phase| {
                                    for _ in 0..3 {
                                        let child = phase.task("child", Value(()), |_, ()| {
                                            ran.fetch_add(1, Ordering::Relaxed);
                                        });
                                        phase.submit(worker, child)?;
                                    }
                                    Ok(())
                                })
                                .unwrap();
                            // The phase of the main program.
                            let sibling = phase.task("sibling", Value(()), |_, ()| {
                                ran.fetch_add(1, Ordering::Relaxed);
                            });
                            let sibling = phase.submit(worker, sibling).unwrap();
                            sibling.wait(worker).unwrap();
                        });
                        phase.submit(main, parent)?;
                    }
                    Ok(())
                })
            })
            .unwrap()
            .unwrap();
        assert_eq!(ran.into_inner(), 40);
    }
}

fn joins_and_scopes_go_on_beside_the_queues<M: Machine>(machine: &M) {
    for scheduler in BOTH {
        let sum = AtomicUsize::new(0);
        Pool::new(machine)
            .scheduler(scheduler)
            .run(|main| {
                let sum = &sum;
                main.scope(|scope| {
                    for _ in 0..8 {
                        scope.spawn(main, |worker| {
                            worker.join(
                                |_| sum.fetch_add(1, Ordering::Relaxed),
                                |_| sum.fetch_add(1, Ordering::Relaxed),
                            );
                        });
                    }
                    main.phase(|phase| {
                        for _ in 0..20 {
                            let task = phase.task("scope", Value(()), |worker, ()| {
                                worker.scope(|scope| {
                                    for _ in 0..2 {
                                        scope.spawn(worker, |_| {
                                            sum.fetch_add(1, Ordering::Relaxed);
                                        });
                                    }
                                });
                            });
                            phase.submit(main, task)?;
                        }
                        Ok(())
                    })
                })
            })
            .unwrap()
            .unwrap();
        assert_eq!(sum.into_inner(), 8 * 2 + 20 * 2);
    }
}

fn phases_follow_each_other_and_nest<M: Machine>(machine: &M) {
    for scheduler in BOTH {
        let ran = AtomicUsize::new(0);
        Pool::new(machine)
            .scheduler(scheduler)
            .run(|main| {
                let ran = &ran;
                for round in 1..=5 {
                    main.phase(|outer| {
                        let count = || {
                            ran.fetch_add(1, Ordering::Relaxed);
                        };
                        for _ in 0..round {
                            let task = outer.task("outer", Value(()), move |_, ()| count());
                            outer.submit(main, task)?;
                        }
                        let before = round * (round - 1);
                        main.phase(|inner| {
                            for _ in 0..round {
                                let task = inner.task("inner", Value(()), move |_, ()| count());
                                inner.submit(main, task)?;
                            }
                            Ok(())
                        })?;
                        assert!(ran.load(Ordering::Relaxed) >= before + round);
                        Ok(())
                    })
                    .unwrap();
                    assert_eq!(ran.load(Ordering::Relaxed), round * (round + 1));
                    // A phase without tasks.
                    main.phase(|_| Ok(())).unwrap();
                }
            })
            .unwrap();
    }
}

/// Runs `count` tasks on one worker, with a filter. All tasks fit into one import. Returns the
/// order of the runs, and the result of the phase as text.
fn filtered<M: Machine>(
    machine: &M,
    count: usize,
    filter: impl Fn(&mut Vec<PendingTask<'_>>),
    after_first: bool,
) -> (Vec<usize>, Result<u64, String>) {
    let order = Mutex::new(Vec::new());
    let result = Pool::new(machine)
        .scheduler(Scheduler::ThreeLevel)
        .workers(1)
        .filter(filter)
        .run_counted(|main| {
            main.phase(|phase| {
                let order = &order;
                let mut first = None;
                for number in 1..=count {
                    let name = if number % 3 == 0 { "third" } else { "task" };
                    let mut task = phase.task(name, Value(number), move |_, number| {
                        order.lock().unwrap().push(number);
                    });
                    if number == count && after_first {
                        task = task.after(first.as_ref().unwrap());
                    }
                    let submitted = phase.submit(main, task)?;
                    first.get_or_insert(submitted);
                }
                Ok(())
            })
        });
    let result = match result {
        Ok((Ok(()), counters)) => Ok(counters.scheduler.dropped),
        Ok((Err(error), _)) => Err(error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    (order.into_inner().unwrap(), result)
}

fn a_filter_reverses<M: Machine>(machine: &M) {
    let (order, result) = filtered(machine, 12, |pending| pending.reverse(), false);
    assert_eq!(order, (1..=12).rev().collect::<Vec<_>>());
    assert_eq!(result, Ok(0));
}

fn a_filter_drops<M: Machine>(machine: &M) {
    let filter = |pending: &mut Vec<PendingTask<'_>>| {
        assert!(
            pending
                .iter()
                .all(|task| task.priority() == Priority::Normal)
        );
        assert!(!pending.iter().any(PendingTask::is_part));
        pending.retain(|task| task.name() != "third");
    };
    let (order, result) = filtered(machine, 12, filter, false);
    assert_eq!(order, [1, 2, 4, 5, 7, 8, 10, 11]);
    assert_eq!(result, Ok(4));
}

fn a_filter_that_drops_an_awaited_task_is_an_error<M: Machine>(machine: &M) {
    let filter = |pending: &mut Vec<PendingTask<'_>>| pending.retain(|task| task.number() != 1);
    let (order, result) = filtered(machine, 5, filter, true);
    assert!(!order.contains(&1) && !order.contains(&5), "{order:?}");
    assert_eq!(
        result.unwrap_err(),
        "task 'task' (1) was dropped by a filter, but another task comes after it or a program waits for it: have \
         the filter keep it (`Pool::filter`)"
    );
}

fn a_filter_that_panics_ends_the_phase<M: Machine>(machine: &M) {
    let (order, result) = filtered(machine, 5, |_| panic!("the filter gives up"), false);
    assert_eq!(order, [1, 2, 3, 4, 5]);
    let error = result.unwrap_err();
    assert!(error.contains("the filter gives up"), "{error}");
}

fn a_task_that_panics_is_named<M: Machine>(machine: &M) {
    for scheduler in BOTH {
        let error = Pool::new(machine)
            .scheduler(scheduler)
            .run(|main| {
                main.phase(|phase| {
                    for number in 1..=50 {
                        let task = phase.task("divide", Value(number), |_, number| {
                            assert!(number != 7, "no {number}");
                        });
                        phase.submit(main, task)?;
                    }
                    Ok(())
                })
            })
            .unwrap()
            .unwrap_err();
        assert_eq!(error.to_string(), "task 'divide' (7) panicked: no 7");
    }
}

fn a_panic_of_the_main_program_ends_the_run<M: Machine>(machine: &M) {
    for scheduler in BOTH {
        let ran = AtomicUsize::new(0);
        let error = Pool::new(machine)
            .scheduler(scheduler)
            .run(|main| {
                main.phase(|phase| {
                    for _ in 0..100 {
                        let task = phase.task("count", Value(()), |_, ()| {
                            ran.fetch_add(1, Ordering::Relaxed);
                        });
                        phase.submit(main, task)?;
                    }
                    if ran.load(Ordering::Relaxed) <= 100 {
                        panic!("the main program gives up");
                    }
                    Ok(())
                })
            })
            .unwrap_err();
        assert!(
            error.to_string().contains("the main program gives up"),
            "{error}"
        );
        // The phase has waited for its tasks although the main program panicked.
        assert_eq!(ran.into_inner(), 100);
    }
}

fn tasks_that_wait_for_ever_are_a_deadlock<M: Machine>(machine: &M) {
    for scheduler in BOTH {
        let error = Pool::new(machine)
            .scheduler(scheduler)
            .run(|main| {
                main.phase(|phase| {
                    for number in 0..50 {
                        let task = phase.task("wait", Value(number), move |worker, number| {
                            if number % 10 == 3 {
                                let why = "what never comes";
                                worker.spe().wait_until(&why, &mut || false);
                            }
                        });
                        phase.submit(main, task)?;
                    }
                    Ok(())
                })
            })
            .unwrap_err();
        let is_deadlock = matches!(error, PoolError::Run(RunError::Deadlock { .. }));
        assert!(is_deadlock, "{error}");
    }
}

#[test]
fn queues_that_have_no_room_say_so() {
    let mut description = Description::built_in("ps3").unwrap();
    description.local_store.bytes.value = 16 << 10;
    let error = Pool::new(&Sim::new(description).unwrap())
        .workers(1)
        .scheduler(Scheduler::ThreeLevel)
        .run(|main| main.install(|_| ()))
        .unwrap_err();
    let error = error.to_string();
    let expected = "worker 0 on SPE 0 cannot start: the scheduler needs room for its queues and for the code of a task, \
                    which `Scheduler::Stealing` does not: the local store of SPE 0 has no room: ";
    assert!(error.starts_with(expected), "{error}");
    let mut description = Description::built_in("ps3").unwrap();
    description.modules[0].bytes.value = 1 << 20;
    let error = Pool::new(&Sim::new(description).unwrap())
        .scheduler(Scheduler::Mars)
        .run(|_| ())
        .unwrap_err();
    let error = error.to_string();
    let expected = "the queues of tasks cannot be allocated: ";
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn a_machine_that_is_no_cell_says_so() {
    for scheduler in BOTH {
        let error = Pool::new(&crate::plain()).scheduler(scheduler).run(|_| ());
        assert_eq!(
            error.unwrap_err().to_string(),
            format!(
                "the scheduler {scheduler:?} needs the MFCs of a Cell, and a plain machine is no Cell: use \
                 `Scheduler::Stealing`"
            )
        );
    }
}

#[test]
fn what_a_scheduler_does_not_do_is_refused() {
    let machine = crate::host();
    let pool = |scheduler| Pool::new(&machine).scheduler(scheduler);
    let mars = || pool(Scheduler::Mars);
    for (pool, scheduler, what) in [
        (mars().dicing(Some(16)), Scheduler::Mars, "dicing"),
        (
            mars().staging(Staging::Ahead(1)),
            Scheduler::Mars,
            "staging ahead",
        ),
        (mars().filter(|_| ()), Scheduler::Mars, "filters"),
        (
            pool(Scheduler::Stealing).filter(|_| ()),
            Scheduler::Stealing,
            "filters",
        ),
    ] {
        assert_eq!(
            pool.run(|_| ()).unwrap_err().to_string(),
            format!(
                "the scheduler {scheduler:?} has no {what}: use `Scheduler::ThreeLevel`, or do without"
            )
        );
    }
    mars()
        .dicing(None)
        .staging(Staging::Off)
        .run(|_| ())
        .unwrap();
}

/// Submits `tasks` tasks to some workers of a PS3. Each task has `rows` rows, and each row
/// takes `cycles` cycles. Returns the time that the tasks took, and the counters.
fn rows(
    scheduler: Scheduler,
    workers: usize,
    tasks: usize,
    rows: usize,
    cycles: u64,
) -> (Span, Counters) {
    let mut image = vec![0_u32; 4 * tasks * rows];
    let machine = ps3(0);
    let (took, counters) = Pool::new(&machine)
        .scheduler(scheduler)
        .workers(workers)
        .run_counted(|main| {
            let begin = main.install(|worker| worker.spe().now());
            main.phase(|phase| {
                for part in image.chunks_mut(4 * rows) {
                    let data = Update::rows(part, 4);
                    let task = phase.task("rows", data, move |worker, part| {
                        for row in part.chunks_mut(4) {
                            worker.spe().compute(Cycles(cycles));
                            row.iter_mut().for_each(|x| *x += 1);
                        }
                    });
                    phase.submit(main, task.diced())?;
                }
                Ok(())
            })
            .unwrap();
            main.install(|worker| worker.spe().now()).since(begin)
        })
        .unwrap();
    assert!(image.iter().all(|&x| x == 1));
    (took, counters)
}

#[test]
fn tasks_are_diced_as_by_the_figure() {
    let diced = |workers, tasks, rows_of_each| {
        let (_, counters) = rows(Scheduler::ThreeLevel, workers, tasks, rows_of_each, 10);
        (counters.scheduler.diced, counters.scheduler.parts)
    };
    // The pool wants 16 tasks for each of 6 workers and has 1, so 95 are missing. Parts of one row
    // cannot be split again.
    assert_eq!(diced(6, 1, 95), (1, 95));
    // The pool wants 16 tasks for each of 4 workers and has 1, so 63 are missing.
    assert_eq!(diced(4, 1, 63), (1, 63));
    // The pool wants 16 tasks and has 3, so 13 are missing: 4 for each task.
    assert_eq!(diced(1, 3, 4), (3, 12));
    // A task of 3 rows has no more than 3 parts.
    assert_eq!(diced(6, 1, 3), (1, 3));
    // Tasks of one row are not diced.
    assert_eq!(diced(6, 5, 1), (0, 0));
    // The first 16 tasks are imported and diced while the main program submits the others.
    assert_eq!(diced(6, 16, 5), (16, 80));
    // Tasks of two rows are diced when the reorder buffer holds no more than a third of 96: the
    // first 16 tasks, and the last ones.
    let (diced_of_96, parts) = diced(6, 96, 2);
    assert!(16 < diced_of_96 && diced_of_96 <= 16 + 32, "{diced_of_96}");
    assert_eq!(parts, 2 * diced_of_96);
}

fn speed_up(scheduler: Scheduler, tasks: usize) -> f64 {
    let took = |workers| {
        let (took, _) = rows(scheduler, workers, tasks, 480 / tasks, 40_000);
        took.as_femtoseconds() as f64
    };
    took(1) / took(6)
}

#[test]
fn few_tasks_end_up_on_all_workers_if_they_are_diced() {
    // Without dicing, each of six workers checks out two of these tasks, and the others wait for
    // workers that have run both.
    for tasks in [8, 16, 20] {
        let diced = speed_up(Scheduler::ThreeLevel, tasks);
        assert!(diced > 5.5, "{tasks}: {diced}");
    }
}

#[test]
fn one_task_ends_up_on_all_workers_if_it_is_diced() {
    let diced = speed_up(Scheduler::ThreeLevel, 1);
    assert!(diced > 5.0, "{diced}");
    let whole = speed_up(Scheduler::Mars, 1);
    assert!((0.9..1.1).contains(&whole), "{whole}");
    let many = speed_up(Scheduler::Mars, 480);
    assert!(many > 5.0, "{many}");
}

/// Returns the time of 200 tasks on one worker. Each task gets and puts 4 KiB, and computes for
/// about the time of these transfers.
fn buffered(staging: Staging) -> Span {
    let mut data = vec![1_u32; 200 * 1_024];
    let machine = ps3(0);
    let took = Pool::new(&machine)
        .scheduler(Scheduler::ThreeLevel)
        .staging(staging)
        .workers(1)
        .run(|main| {
            let begin = main.install(|worker| worker.spe().now());
            main.phase(|phase| {
                for part in data.chunks_mut(1_024) {
                    let task = phase.task("double", Update::new(part), |worker, part| {
                        worker.spe().compute(Cycles(3_000));
                        part.iter_mut().for_each(|x| *x *= 2);
                    });
                    phase.submit(main, task)?;
                }
                Ok(())
            })
            .unwrap();
            main.install(|worker| worker.spe().now()).since(begin)
        })
        .unwrap();
    assert!(data.iter().all(|&x| x == 2));
    took
}

#[test]
fn double_buffering_hides_transfers() {
    let (off, on) = (buffered(Staging::Off), buffered(Staging::Ahead(1)));
    let saved = 1.0 - on.as_femtoseconds() as f64 / off.as_femtoseconds() as f64;
    assert!(saved > 0.1, "{saved}: {off:?} without, {on:?} with");
}

/// If tasks have two names in turn, each task transfers its binary. If all tasks have the same
/// name, only the first task does.
#[test]
fn a_task_of_another_kind_brings_its_binary() {
    let took = |names: [&'static str; 2]| {
        Pool::new(&ps3(0))
            .scheduler(Scheduler::ThreeLevel)
            .workers(1)
            .run(|main| {
                let begin = main.install(|worker| worker.spe().now());
                main.phase(|phase| {
                    for number in 0..100 {
                        phase.submit(main, phase.task(names[number % 2], Value(()), |_, ()| ()))?;
                    }
                    Ok(())
                })
                .unwrap();
                main.install(|worker| worker.spe().now()).since(begin)
            })
            .unwrap()
    };
    // A transfer of 16 KiB takes about a microsecond.
    let more = took(["even", "odd"]).as_femtoseconds() - took(["same"; 2]).as_femtoseconds();
    assert!(more > 50_000_000_000, "{more} fs");
}

#[test]
fn the_queues_take_room_in_the_local_store() {
    let machine = ps3(0);
    let free = |scheduler| {
        Pool::new(&machine)
            .scheduler(scheduler)
            .run(|main| {
                main.install(|worker| {
                    let local_store = worker.spe().confined_to().map(LocalStore::free_bytes);
                    local_store.expect("a simulated SPE has a local store")
                })
            })
            .unwrap()
    };
    let taken = free(Scheduler::Stealing) - free(Scheduler::ThreeLevel);
    assert!((24 << 10..26 << 10).contains(&taken), "{taken} bytes");
}

/// Threads of a worker submit tasks while another one moves tasks to the queue. One of them stayed
/// in the local store, and all workers waited for it.
#[test]
fn a_task_that_is_submitted_while_others_are_moved_to_the_queue_runs() {
    let mut description = Description::built_in("ps3").unwrap();
    description.ppe.start_program_ps.value = 1_000;
    description.local_store.bytes.value = 1 << 26;
    let sim = Sim::builder(description).seed(52).build().unwrap();
    let ended = AtomicUsize::new(0);
    let pool = Pool::new(&sim).workers(2).scheduler(Scheduler::Mars);
    pool.run(|main| {
        main.phase(|phase| {
            for outer in 0..5 {
                let ended = &ended;
                let submits = phase.task("outer", Part(0..1), move |worker, _| {
                    for turn in 0..100 {
                        let cycles = 52 * 7_919 + outer * 104_729 + turn * 1_299_709;
                        worker.spe().compute(Cycles(cycles % 1_500));
                        let cycles = Cycles((52 * 31 + outer * 7 + turn * 13) % 700);
                        let inner = phase.task("inner", Part(0..1), move |worker, _| {
                            worker.spe().compute(cycles);
                            worker.spe().yield_now();
                        });
                        let inner = phase.submit(worker, inner).unwrap();
                        let after = phase.task("after", Part(0..1), |_, _| ());
                        let after = phase.submit(worker, after.after(&inner)).unwrap();
                        if turn % 2 == 0 {
                            inner.wait(worker).unwrap();
                        }
                        after.wait(worker).unwrap();
                    }
                    ended.fetch_add(1, Ordering::Relaxed);
                });
                phase.submit(main, submits)?;
            }
            Ok(())
        })
    })
    .unwrap()
    .unwrap();
    assert_eq!(ended.into_inner(), 5);
}
