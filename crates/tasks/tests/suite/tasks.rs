//! Tests of tasks as values: staged, diced, ordered and locked.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use cellworks_machine::{Cycles, Machine, Spe};
use cellworks_tasks::{Part, Pool, Priority, Read, Staging, Update, Value, Worker, Write};

crate::on_every_machine!(
    tasks_read_update_and_write_what_they_declare,
    a_task_is_staged_ahead_as_asked,
    a_task_that_may_be_diced_is_staged_ahead_while_there_are_enough,
    one_diced_task_ends_up_on_all_workers,
    a_task_is_not_diced_while_there_are_enough,
    a_task_comes_after_others,
    tasks_of_one_block_run_in_the_order_that_they_declare,
    a_task_that_does_not_say_what_it_comes_after_is_refused,
    locked_tasks_do_not_run_at_once,
    a_task_runs_near_the_one_that_it_names,
    tasks_of_high_priority_run_first_and_of_low_priority_last,
    a_cancelled_task_does_not_run_nor_do_those_after_it,
    a_task_that_panics_is_named_and_the_rest_does_not_run,
    tasks_that_wait_for_each_other_are_named,
    a_task_that_waits_for_itself_is_named,
    a_task_that_waits_for_one_that_waits_for_its_phase_is_named,
    what_belongs_to_another_phase_is_refused,
    a_task_waits_for_tasks_that_it_submits,
    tasks_of_several_phases_on_one_worker_are_all_counted,
);

fn tasks_read_update_and_write_what_they_declare<M: Machine>(machine: &M) {
    for staging in [Staging::Automatic, Staging::Ahead(3), Staging::Off] {
        let offsets: Vec<u32> = (0..64).collect();
        let mut rows: Vec<u32> = (0..6_400).collect();
        let mut sums = vec![0_u32; 100];
        let (result, counters) = Pool::new(machine)
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
        let tasks: u64 = counters.workers.iter().map(|worker| worker.tasks).sum();
        assert_eq!(tasks, 100);
    }
}

fn a_task_is_staged_ahead_as_asked<M: Machine>(machine: &M) {
    let ahead = |staging| {
        let mut rows = vec![1_u32; 64 * 256];
        let (result, counters) = Pool::new(machine)
            .workers(1)
            .staging(staging)
            .run_counted(|main| {
                main.phase(|phase| {
                    for row in rows.chunks_mut(256) {
                        let task = phase.task("double", Update::new(row), |_, row| {
                            row.iter_mut().for_each(|x| *x *= 2);
                        });
                        phase.submit(main, task)?;
                    }
                    Ok(())
                })
            })
            .unwrap();
        result.unwrap();
        assert!(rows.iter().all(|&x| x == 2));
        counters.workers[0].staged_ahead
    };
    assert_eq!(ahead(Staging::Off), 0);
    // If runs do not repeat, the worker may be faster than the main program.
    let are_all_there = machine.topology().capabilities().repeats;
    for tasks in [1, 2] {
        let ahead = ahead(Staging::Ahead(tasks));
        assert!(ahead > if are_all_there { 32 } else { 0 }, "{ahead}");
    }
}

fn a_task_that_may_be_diced_is_staged_ahead_while_there_are_enough<M: Machine>(machine: &M) {
    let mut rows = vec![1_u32; 1_000 * 64];
    let (result, counters) = Pool::new(machine)
        .workers(2)
        .staging(Staging::Ahead(1))
        .run_counted(|main| {
            main.install(|worker| {
                worker.phase(|phase| {
                    for row in rows.chunks_mut(64) {
                        let task = phase.task("double", Update::new(row), |_, row| {
                            row.iter_mut().for_each(|x| *x *= 2);
                        });
                        phase.submit(worker, task.diced())?;
                    }
                    Ok(())
                })
            })
        })
        .unwrap();
    result.unwrap();
    assert!(rows.iter().all(|&x| x == 2));
    let ahead: u64 = counters.workers.iter().map(|one| one.staged_ahead).sum();
    assert!(ahead > 100, "{counters:?}");
    let diced: u64 = counters.workers.iter().map(|one| one.diced).sum();
    assert!(diced > 0, "{counters:?}");
}

/// Submits `tasks` tasks that have `rows` rows in all. Returns the number of rows that each SPE
/// ran, and the number of diced tasks.
fn rows_by_spe<M: Machine>(machine: &M, rows: usize, tasks: usize) -> (Vec<usize>, u64) {
    let by_spe: Vec<_> = (0..crate::SPES).map(|_| AtomicUsize::new(0)).collect();
    let mut image = vec![0_u8; 16 * rows];
    let (result, counters) = Pool::new(machine)
        .run_counted(|main| {
            main.phase(|phase| {
                let by_spe = &by_spe;
                for (number, part) in image.chunks_mut(16 * rows / tasks).enumerate() {
                    let rows = part.len() / 16;
                    let numbers = number * rows..(number + 1) * rows;
                    let data = (Part(numbers), Write::rows(part, 16));
                    let draw = phase.task("draw", data, |worker, (numbers, image)| {
                        let spe = worker.spe();
                        assert_eq!(image.len(), 16 * numbers.len());
                        for (row, number) in image.chunks_mut(16).zip(numbers) {
                            spe.compute(Cycles(100_000));
                            spe.yield_now();
                            row.fill(number as u8);
                            by_spe[spe.id().index()].fetch_add(1, Ordering::Relaxed);
                        }
                    });
                    phase.submit(main, draw.diced())?;
                }
                Ok(())
            })
        })
        .unwrap();
    result.unwrap();
    for (number, row) in image.chunks(16).enumerate() {
        assert_eq!(row, [number as u8; 16]);
    }
    let by_spe: Vec<_> = by_spe.into_iter().map(AtomicUsize::into_inner).collect();
    assert_eq!(by_spe.iter().sum::<usize>(), rows);
    let diced = counters.workers.iter().map(|worker| worker.diced).sum();
    (by_spe, diced)
}

fn one_diced_task_ends_up_on_all_workers<M: Machine>(machine: &M) {
    let (by_spe, diced) = rows_by_spe(machine, 256, 1);
    assert!(diced > 0);
    // On a real machine few workers may run at the same time.
    if machine.topology().capabilities().repeats {
        assert!(by_spe.iter().all(|&rows| rows > 32), "{by_spe:?}");
    }
}

fn a_task_is_not_diced_while_there_are_enough<M: Machine>(machine: &M) {
    let (_, diced) = rows_by_spe(machine, 256, 256);
    // The last tasks have one row each, which cannot be split.
    assert_eq!(diced, 0);
}

fn a_task_comes_after_others<M: Machine>(machine: &M) {
    let order = Mutex::new(Vec::new());
    Pool::new(machine)
        .run(|main| {
            main.phase(|phase| {
                let order = &order;
                let mut last = None;
                for number in 0..20 {
                    let mut task = phase.task("note", Value(number), move |worker, number| {
                        worker.spe().yield_now();
                        order.lock().unwrap().push(number);
                    });
                    if let Some(last) = &last {
                        task = task.after(last);
                    }
                    last = Some(phase.submit(main, task)?);
                }
                Ok(())
            })
        })
        .unwrap()
        .unwrap();
    assert_eq!(order.into_inner().unwrap(), (0..20).collect::<Vec<_>>());
}

fn tasks_of_one_block_run_in_the_order_that_they_declare<M: Machine>(machine: &M) {
    let mut numbers = vec![0_u64; 4 * 16];
    Pool::new(machine)
        .run(|main| {
            main.phase(|phase| {
                let blocks = phase.blocks(&mut numbers, 16);
                let mut last = None;
                for step in 0..12_u64 {
                    // Each block becomes the sum of the previous block and the step.
                    let (from, to) = (step as usize % 4, (step as usize + 1) % 4);
                    let data = (blocks.read(from), blocks.update(to), Value(step));
                    let mut task = phase.task("add", data, |_, (from, to, step)| {
                        to.iter_mut()
                            .zip(from)
                            .for_each(|(to, from)| *to = from + step);
                    });
                    if let Some(last) = &last {
                        task = task.after(last);
                    }
                    last = Some(phase.submit(main, task)?);
                }
                Ok(())
            })
        })
        .unwrap()
        .unwrap();
    assert_eq!(numbers[..16], [66; 16]);
}

fn a_task_that_does_not_say_what_it_comes_after_is_refused<M: Machine>(machine: &M) {
    let mut numbers = vec![0_u64; 4 * 16];
    let conflict = |reads_first: bool| {
        let mut numbers = numbers.clone();
        Pool::new(machine)
            .run(|main| {
                main.phase(|phase| {
                    let blocks = phase.blocks(&mut numbers, 16);
                    if reads_first {
                        phase.submit(main, phase.task("sum", (blocks.read(2),), |_, _| ()))?;
                    } else {
                        phase.submit(main, phase.task("fill", (blocks.update(2),), |_, _| ()))?;
                    }
                    let data = (blocks.read(1), blocks.update(2));
                    phase.submit(main, phase.task("add", data, |_, _| ()))?;
                    Ok(())
                })
            })
            .unwrap()
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        conflict(true),
        "task 'add' (2) changes block 2, which task 'sum' (1) reads: say that it comes after that task (`Task::after`)"
    );
    assert_eq!(
        conflict(false),
        "task 'add' (2) changes block 2, which task 'fill' (1) changes: say that it comes after that task \
         (`Task::after`)"
    );
    let twice = Pool::new(machine)
        .run(|main| {
            main.phase(|phase| {
                let blocks = phase.blocks(&mut numbers, 16);
                let data = (blocks.read(3), blocks.update(3));
                phase.submit(main, phase.task("shift", data, |_, _| ()))?;
                Ok(())
            })
        })
        .unwrap()
        .unwrap_err();
    assert_eq!(
        twice.to_string(),
        "task 'shift' (1) changes block 3 and names it twice: name it once, as one that it updates"
    );
}

fn locked_tasks_do_not_run_at_once<M: Machine>(machine: &M) {
    let inside = AtomicUsize::new(0);
    let order = Mutex::new(Vec::new());
    let (result, counters) = Pool::new(machine)
        .run_counted(|main| {
            main.phase(|phase| {
                let lock = phase.lock();
                let (inside, order) = (&inside, &order);
                for number in 0..40 {
                    let task = phase.task("alone", Value(number), move |worker, number| {
                        assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0);
                        for _ in 0..3 {
                            worker.spe().compute(Cycles(1_000));
                            worker.spe().yield_now();
                        }
                        order.lock().unwrap().push(number);
                        inside.fetch_sub(1, Ordering::Relaxed);
                    });
                    phase.submit(main, task.locked(&lock))?;
                }
                Ok(())
            })
        })
        .unwrap();
    result.unwrap();
    let mut order = order.into_inner().unwrap();
    order.sort_unstable();
    assert_eq!(order, (0..40).collect::<Vec<_>>());
    if machine.topology().capabilities().repeats {
        let deferred: u64 = counters.workers.iter().map(|worker| worker.deferred).sum();
        assert!(deferred > 0);
    }
}

fn a_task_runs_near_the_one_that_it_names<M: Machine>(machine: &M) {
    const TASKS: usize = 4;
    let rounds: [[AtomicUsize; TASKS]; 2] = Default::default();
    Pool::new(machine)
        .run(|main| {
            main.phase(|phase| {
                let task = |name: &'static str, place| {
                    phase.task(name, Value(0), move |worker, _| {
                        let spe = worker.spe();
                        for _ in 0..20 {
                            spe.compute(Cycles(50_000));
                            spe.yield_now();
                        }
                        let place: &AtomicUsize = place;
                        place.store(spe.id().index(), Ordering::Relaxed);
                    })
                };
                let mut first = Vec::new();
                for place in &rounds[0] {
                    first.push(phase.submit(main, task("first", place))?);
                }
                for first in &first {
                    first.wait(main)?;
                }
                // The order differs from the order of the first round, so that tasks do not go to
                // the same workers by chance.
                for (place, first) in rounds[1].iter().zip(&first).rev() {
                    phase.submit(main, task("second", place).near(first))?;
                }
                Ok(())
            })
        })
        .unwrap()
        .unwrap();
    // On a real machine a worker without other work may take a task.
    if machine.topology().capabilities().repeats {
        let [first, second] = rounds.map(|round| round.map(AtomicUsize::into_inner));
        assert_eq!(first, second);
    }
}

fn tasks_of_high_priority_run_first_and_of_low_priority_last<M: Machine>(machine: &M) {
    let order = Mutex::new(Vec::new());
    Pool::new(machine)
        .workers(1)
        .run(|main| {
            main.install(|worker| {
                worker.phase(|phase| {
                    let order = &order;
                    let priorities = [Priority::Low, Priority::Normal, Priority::High];
                    for priority in priorities.into_iter().cycle().take(12) {
                        let task = phase.task("note", Value(0), move |_, _| {
                            order.lock().unwrap().push(priority);
                        });
                        phase.submit(worker, task.priority(priority))?;
                    }
                    Ok(())
                })
            })
        })
        .unwrap()
        .unwrap();
    let order = order.into_inner().unwrap();
    assert_eq!(order.len(), 12);
    assert!(order.is_sorted_by(|a, b| a >= b), "{order:?}");
}

fn a_cancelled_task_does_not_run_nor_do_those_after_it<M: Machine>(machine: &M) {
    let runs = AtomicUsize::new(0);
    Pool::new(machine)
        .workers(1)
        .run(|main| {
            main.install(|worker| {
                worker.phase(|phase| {
                    let runs = &runs;
                    let count = |name: &'static str| {
                        phase.task(name, Value(0), move |_, _| {
                            runs.fetch_add(1, Ordering::Relaxed);
                        })
                    };
                    let first = phase.submit(worker, count("first"))?;
                    let second = phase.submit(worker, count("second").after(&first))?;
                    let third = phase.submit(worker, count("third"))?;
                    assert!(first.cancel());
                    third.wait(worker)?;
                    assert!(!third.cancel());
                    let error = second.wait(worker).unwrap_err();
                    assert_eq!(
                        error.to_string(),
                        "task 'second' (2) did not run: it was cancelled, or a task that comes before it has failed"
                    );
                    Ok(())
                })
            })
        })
        .unwrap()
        .unwrap();
    assert_eq!(runs.into_inner(), 1);
}

fn a_task_that_panics_is_named_and_the_rest_does_not_run<M: Machine>(machine: &M) {
    let runs = AtomicUsize::new(0);
    let error = Pool::new(machine)
        .run(|main| {
            main.phase(|phase| {
                let runs = &runs;
                let fails = phase.task("fails", Value(0), |_, _| panic!("no luck"));
                let fails = phase.submit(main, fails)?;
                for number in 0..10 {
                    let task = phase.task("after", Value(number), move |_, _| {
                        runs.fetch_add(1, Ordering::Relaxed);
                    });
                    phase.submit(main, task.after(&fails))?;
                }
                Ok(())
            })
        })
        .unwrap()
        .unwrap_err();
    assert_eq!(error.to_string(), "task 'fails' (1) panicked: no luck");
    assert_eq!(runs.into_inner(), 0);
}

fn tasks_that_wait_for_each_other_are_named<M: Machine>(machine: &M) {
    let error = Mutex::new(String::new());
    Pool::new(machine)
        .run(|main| {
            main.phase(|phase| {
                let (error, handles) = (&error, &*Box::leak(Box::new(Mutex::new(Vec::new()))));
                for (me, other) in [("a", 1), ("b", 0)] {
                    let task = phase.task(me, Value(other), move |worker, other: usize| {
                        let is_there = || handles.lock().unwrap().len() == 2;
                        while !is_there() {
                            worker.spe().yield_now();
                        }
                        let other: cellworks_tasks::Handle<'_, M::Spe> =
                            Vec::clone(&handles.lock().unwrap()).swap_remove(other);
                        if let Err(circle) = other.wait(worker) {
                            *error.lock().unwrap() = circle.to_string();
                        }
                    });
                    let handle = phase.submit(main, task)?;
                    handles.lock().unwrap().push(handle);
                }
                Ok(())
            })
        })
        .unwrap()
        .unwrap();
    let error = error.into_inner().unwrap();
    let expected = |first, second| {
        format!(
            "tasks wait for each other, and none would ever end: {first}, which waits for {second}, which waits for \
             the first"
        )
    };
    let (a, b) = ("'a' (1)", "'b' (2)");
    assert!(
        error == expected(a, b) || error == expected(b, a),
        "{error}"
    );
}

fn a_task_that_waits_for_itself_is_named<M: Machine>(machine: &M) {
    let error = Mutex::new(String::new());
    Pool::new(machine)
        .run(|main| {
            main.phase(|phase| {
                let error = &error;
                let handle = &*Box::leak(Box::new(Mutex::new(None)));
                let task = phase.task("snake", Value(0), move |worker, _| {
                    while handle.lock().unwrap().is_none() {
                        worker.spe().yield_now();
                    }
                    let me: Option<cellworks_tasks::Handle<'_, M::Spe>> =
                        handle.lock().unwrap().clone();
                    let circle = me.unwrap().wait(worker).unwrap_err();
                    *error.lock().unwrap() = circle.to_string();
                });
                *handle.lock().unwrap() = Some(phase.submit(main, task)?);
                Ok(())
            })
        })
        .unwrap()
        .unwrap();
    assert_eq!(
        error.into_inner().unwrap(),
        "task 'snake' (1) waits for itself: it would never end"
    );
}

fn a_task_waits_for_tasks_that_it_submits<M: Machine>(machine: &M) {
    for workers in [1, crate::SPES] {
        let mut numbers = vec![1_u64; 256];
        Pool::new(machine)
            .workers(workers)
            .run(|main| {
                main.phase(|phase| {
                    for part in numbers.chunks_mut(64) {
                        let data = (Value(2), Part(0..4));
                        let part = Mutex::new(Some(part));
                        let task = phase.task("parent", data, move |worker, _| {
                            let part = part.lock().unwrap().take().unwrap();
                            let children = worker.phase(|phase| {
                                for part in part.chunks_mut(16) {
                                    let task = phase.task("child", Update::new(part), |_, part| {
                                        part.iter_mut().for_each(|x| *x += 1);
                                    });
                                    phase.submit(worker, task)?.wait(worker)?;
                                }
                                Ok(())
                            });
                            children.unwrap();
                            part.iter_mut().for_each(|x| *x *= 2);
                        });
                        phase.submit(main, task)?;
                    }
                    Ok(())
                })
            })
            .unwrap()
            .unwrap();
        assert!(numbers.iter().all(|&x| x == 4));
    }
}

/// Tasks of several phases end on one worker one after the other, on different threads. When a task
/// ends, the written data of the previous task is still on its way to main memory.
fn tasks_of_several_phases_on_one_worker_are_all_counted<M: Machine>(machine: &M) {
    let mut rows = vec![1_u32; 24 * 4 * 256];
    Pool::new(machine)
        .run(|main| {
            main.phase(|phase| {
                for rows in rows.chunks_mut(4 * 256) {
                    let rows = Mutex::new(rows);
                    let parent = phase.task("parent", Value(()), move |worker, ()| {
                        let mut rows = rows.lock().unwrap();
                        let submitted = worker.phase(|phase| {
                            for row in rows.chunks_mut(256) {
                                let double = |worker: &Worker<'_, M::Spe>, row: &mut [u32]| {
                                    worker.spe().yield_now();
                                    row.iter_mut().for_each(|x| *x *= 2);
                                };
                                let child = phase.task("child", Update::new(row), double);
                                phase.submit(worker, child)?;
                            }
                            Ok(())
                        });
                        submitted.unwrap();
                    });
                    phase.submit(main, parent)?;
                }
                Ok(())
            })
        })
        .unwrap()
        .unwrap();
    assert!(rows.iter().all(|&x| x == 2));
}

#[test]
fn a_task_larger_than_the_local_store_is_named() {
    too_large(&crate::strict_host());
    too_large(&crate::qs22());
}

fn too_large<M: Machine>(machine: &M) {
    for staging in [Staging::Automatic, Staging::Off] {
        let mut rows = vec![0_u8; 1 << 19];
        let error = Pool::new(machine).staging(staging).run(|main| {
            main.phase(|phase| {
                let task = phase.task("all of it", Update::new(&mut rows), |_, _| ());
                phase.submit(main, task)?;
                Ok(())
            })
        });
        let error = error.unwrap().unwrap_err().to_string();
        let expected = "task 'all of it' (1) needs 524288 bytes of local store for its data, and there is no room: ";
        assert!(error.starts_with(expected), "{error}");
        assert!(
            error.ends_with("; give each task less data, or let it be diced"),
            "{error}"
        );
    }
}

/// The next task needs the room of several tasks that are staged ahead. These tasks are put back.
#[test]
fn a_task_that_needs_the_room_of_those_behind_it_gets_it() {
    let machine = crate::qs22();
    let mut rows = vec![1_u32; 24 * 4_096];
    let (result, counters) = Pool::new(&machine)
        .workers(1)
        .staging(Staging::Ahead(8))
        .run_counted(|main| {
            main.phase(|phase| {
                let mut rest = &mut rows[..];
                for number in 0..12 {
                    let len = [4_096, 3 * 4_096][number % 2];
                    let (row, more) = rest.split_at_mut(len);
                    rest = more;
                    let task = phase.task("add", Update::new(row), |_, row| {
                        row.iter_mut().for_each(|x| *x += 1);
                    });
                    phase.submit(main, task)?;
                }
                Ok(())
            })
        })
        .unwrap();
    result.unwrap();
    assert!(rows.iter().all(|&x| x == 2));
    assert_eq!(counters.workers[0].tasks, 12);
}

fn a_task_that_waits_for_one_that_waits_for_its_phase_is_named<M: Machine>(machine: &M) {
    let error = Mutex::new(String::new());
    Pool::new(machine)
        .run(|main| {
            main.phase(|phase| {
                let error = &error;
                let handle = &*Box::leak(Box::new(Mutex::new(None)));
                let parent = phase.task("parent", Value(0), move |worker, _| {
                    let result = worker.phase(|phase| {
                        let child = phase.task("child", Value(0), move |worker, _| {
                            while handle.lock().unwrap().is_none() {
                                worker.spe().yield_now();
                            }
                            let parent: Option<cellworks_tasks::Handle<'_, M::Spe>> =
                                handle.lock().unwrap().clone();
                            let circle = parent.unwrap().wait(worker).unwrap_err();
                            *error.lock().unwrap() = circle.to_string();
                        });
                        phase.submit(worker, child)?;
                        Ok(())
                    });
                    result.unwrap();
                });
                *handle.lock().unwrap() = Some(phase.submit(main, parent)?);
                Ok(())
            })
        })
        .unwrap()
        .unwrap();
    assert_eq!(
        error.into_inner().unwrap(),
        "tasks wait for each other, and none would ever end: 'parent' (1), which waits for 'child' (1), which waits for \
         the first"
    );
}

fn what_belongs_to_another_phase_is_refused<M: Machine>(machine: &M) {
    let errors = Pool::new(machine).run(|main| {
        main.phase(|outer| {
            let lock = outer.lock();
            let first = outer.submit(main, outer.task("first", Value(1), |_, _| ()))?;
            let inner = |after_first: bool| {
                let result = main.phase(|phase| {
                    let task = phase.task("second", Value(2), |_, _| ());
                    let task = if after_first {
                        task.after(&first)
                    } else {
                        task.locked(&lock)
                    };
                    phase.submit(main, task).map(|_| ())
                });
                result.unwrap_err().to_string()
            };
            Ok([inner(true), inner(false)])
        })
    });
    assert_eq!(
        errors.unwrap().unwrap(),
        [
            "task 'second' (1) comes after task 'first' (1) of another phase: a task comes after tasks of its own phase, \
             and is locked by its locks",
            "task 'second' (1) has a lock of another phase: a task comes after tasks of its own phase, and is locked by \
             its locks"
        ]
    );
}

/// Two pools run at the same time. Each pool has a worker on an SPE with the same name.
#[test]
fn a_worker_of_another_pool_is_refused() {
    let machines = [crate::host(), crate::host()];
    let panic = Pool::new(&machines[0]).run(|outer| {
        outer.scope(|scope| {
            let inner = Pool::new(&machines[1]).run(|main| {
                main.install(|worker| scope.spawn(worker, |_| ()));
            });
            inner.unwrap_err().to_string()
        })
    });
    let panic = panic.unwrap();
    assert!(
        panic.contains("a task was started from a worker of another pool: name the worker"),
        "{panic}"
    );
}

/// A refused closure is dropped, and a refused task does not use its blocks.
#[test]
fn a_refused_start_leaves_nothing_behind() {
    let machines = [crate::host(), crate::host()];
    let value = &Arc::new(());
    let outer = Pool::new(&machines[0]).run(|outer| {
        let inner = Pool::new(&machines[1]).run(|main| {
            let is_refused = |start: &dyn Fn()| catch_unwind(AssertUnwindSafe(start)).is_err();
            outer.scope(|scope| {
                let captured = Arc::clone(value);
                assert!(is_refused(&|| {
                    let captured = Arc::clone(&captured);
                    scope.spawn(main, move |_| drop(captured));
                }));
            });
            assert_eq!(Arc::strong_count(value), 1);
            let mut numbers = [0_u32; 4];
            let phase = outer.phase(|phase| {
                let blocks = phase.blocks(&mut numbers, 4);
                let task = || {
                    let captured = Arc::clone(value);
                    phase.task("task", blocks.update(0), move |_, numbers: &mut [u32]| {
                        let _captured = &captured;
                        numbers[0] += 1;
                    })
                };
                assert!(is_refused(&|| drop(phase.submit(main, task()))));
                assert_eq!(Arc::strong_count(value), 1);
                phase.submit(outer, task())?;
                Ok(())
            });
            phase.unwrap();
            assert_eq!(numbers, [1, 0, 0, 0]);
        });
        inner.unwrap();
    });
    outer.unwrap();
}
