//! Programs that hang on pools where a task waits on the stack of another task.
//!
//! Each program comes from a report to rayon, with the number of the report. The tasks wait as
//! programs of a machine do, because a call that blocks the OS thread would block the worker.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cellworks_machine::{Cycles, Machine, Processor, Span, Spe, Wake};
use cellworks_tasks::{Pool, Worker};

crate::on_every_machine!(
    a_lock_is_held_across_a_join,
    a_lock_is_held_across_a_loop,
    readers_work_in_parallel_while_a_writer_waits,
    the_first_half_of_a_join_waits_for_the_second,
    the_second_half_is_begun_by_a_worker_that_looks_late,
    the_second_half_is_begun_by_the_worker_that_waits,
    the_second_half_of_a_join_waits_for_the_first_of_another,
    each_task_waits_for_the_one_before_it,
    more_tasks_than_workers_go_on_in_step,
    a_task_spins_on_another_and_yields,
    a_bounded_channel_lies_between_tasks_of_one_worker,
    a_scope_collects_what_its_closures_send,
);

/// Calls `program` for each number of workers. Some programs would hang only with few workers, and
/// others only with many workers.
fn on_any_number_of_workers<M: Machine>(machine: &M, program: impl Fn(&Worker<'_, M::Spe>) + Sync) {
    for workers in 1..=4 {
        let pool = Pool::new(machine).workers(workers);
        pool.run(|main| main.install(&program)).unwrap();
    }
}

/// Waits for a change by another task, on any worker. Tasks [notify](changed) all workers.
fn wait<S: Spe>(worker: &Worker<'_, S>, mut ready: impl FnMut() -> bool) {
    worker.spe().wait_until(&"another task", &mut ready);
}

fn changed<S: Spe>(worker: &Worker<'_, S>) {
    let spes = worker.spe().topology().spes();
    spes.take(worker.workers())
        .for_each(|spe| worker.spe().notify(Processor::Spe(spe)));
}

/// A lock with any number of readers, or one writer.
#[derive(Default)]
struct Lock {
    readers: AtomicUsize,
    is_written: AtomicBool,
}

impl Lock {
    fn write<S: Spe>(&self, worker: &Worker<'_, S>, body: impl FnOnce()) {
        wait(worker, || {
            self.readers.load(Ordering::SeqCst) == 0
                && !self.is_written.swap(true, Ordering::SeqCst)
        });
        body();
        self.is_written.store(false, Ordering::SeqCst);
        changed(worker);
    }
}

/// Report 592: a task holds a lock and waits for its second half. The worker of the task takes
/// another task that waits for the lock.
fn a_lock_is_held_across_a_join<M: Machine>(machine: &M) {
    on_any_number_of_workers(machine, |worker| {
        let (lock, done) = (Lock::default(), AtomicUsize::new(0));
        worker.scope(|scope| {
            for _ in 0..12 {
                scope.spawn(worker, |worker| {
                    lock.write(worker, || {
                        let work = |worker: &Worker<'_, M::Spe>| {
                            worker.spe().yield_now();
                            done.fetch_add(1, Ordering::Relaxed);
                        };
                        worker.join(work, work);
                    });
                });
            }
        });
        assert_eq!(done.into_inner(), 24);
    });
}

/// Reports 592 and 1174: as the previous test, but with a loop in a loop instead of a join.
fn a_lock_is_held_across_a_loop<M: Machine>(machine: &M) {
    on_any_number_of_workers(machine, |worker| {
        let (lock, done) = (Lock::default(), AtomicUsize::new(0));
        worker.for_each(0..8, |worker, _| {
            lock.write(worker, || {
                worker.for_each(0..40, |worker, _| {
                    worker.spe().yield_now();
                    done.fetch_add(1, Ordering::Relaxed);
                });
            });
        });
        assert_eq!(done.into_inner(), 320);
    });
}

/// Report 1205: readers start parallel work while a writer waits. The writer keeps new readers out.
fn readers_work_in_parallel_while_a_writer_waits<M: Machine>(machine: &M) {
    on_any_number_of_workers(machine, |worker| {
        let (lock, done) = (Lock::default(), AtomicUsize::new(0));
        let writer_waits = AtomicBool::new(false);
        worker.scope(|scope| {
            let (lock, done, writer_waits) = (&lock, &done, &writer_waits);
            for reader in 0..6 {
                scope.spawn(worker, move |worker| {
                    lock.readers.fetch_add(1, Ordering::SeqCst);
                    changed(worker);
                    if reader == 0 {
                        wait(worker, || writer_waits.load(Ordering::SeqCst));
                    }
                    worker.for_each(0..10, |_, _| {
                        done.fetch_add(1, Ordering::Relaxed);
                    });
                    lock.readers.fetch_sub(1, Ordering::SeqCst);
                    changed(worker);
                });
            }
            scope.spawn(worker, move |worker| {
                wait(worker, || lock.readers.load(Ordering::SeqCst) > 0);
                writer_waits.store(true, Ordering::SeqCst);
                changed(worker);
                lock.write(worker, || ());
            });
        });
        assert_eq!(done.into_inner(), 60);
    });
}

/// Report 1181: the second half must run while the first half waits.
fn the_first_half_of_a_join_waits_for_the_second<M: Machine>(machine: &M) {
    on_any_number_of_workers(machine, |worker| {
        for _ in 0..5 {
            let begun = AtomicBool::new(false);
            worker.join(
                |worker| wait(worker, || begun.load(Ordering::SeqCst)),
                |worker| {
                    begun.store(true, Ordering::SeqCst);
                    changed(worker);
                },
            );
        }
    });
}

/// The worker that has run the half of the first join looks for work after the second join has
/// begun.
fn the_second_half_is_begun_by_a_worker_that_looks_late<M: Machine>(machine: &M) {
    on_any_number_of_workers(machine, |worker| {
        // All workers have begun, and sleep.
        worker.spe().compute(Cycles(10_000_000));
        for _ in 0..2 {
            first_waits_for_second(worker, 100_000);
        }
    });
}

/// The other thread of the worker has looked for work in vain before the join.
fn the_second_half_is_begun_by_the_worker_that_waits<M: Machine>(machine: &M) {
    on_any_number_of_workers(machine, |worker| {
        let spe = worker.spe();
        let deadline = spe.now() + Span::from_nanoseconds(1_000_000);
        spe.wait_until_deadline(&"the other thread to sleep", deadline, &mut || false);
        first_waits_for_second(worker, 1);
    });
}

/// The second half sets a flag, for which the first waits, and goes on for some cycles.
fn first_waits_for_second<S: Spe>(worker: &Worker<'_, S>, cycles: u64) {
    let begun = AtomicBool::new(false);
    worker.join(
        |worker| wait(worker, || begun.load(Ordering::SeqCst)),
        |worker| {
            begun.store(true, Ordering::SeqCst);
            changed(worker);
            worker.spe().compute(Cycles(cycles));
        },
    );
}

/// The first halves of two nested joins wait for the second half of the inner join.
fn the_second_half_of_a_join_waits_for_the_first_of_another<M: Machine>(machine: &M) {
    on_any_number_of_workers(machine, |worker| {
        let set = [const { AtomicBool::new(false) }; 3];
        let set_and_wait = |worker: &Worker<'_, M::Spe>, own: usize, other: usize| {
            set[own].store(true, Ordering::SeqCst);
            changed(worker);
            wait(worker, || set[other].load(Ordering::SeqCst));
        };
        worker.join(
            |worker| set_and_wait(worker, 0, 2),
            |worker| {
                worker.join(
                    |worker| set_and_wait(worker, 1, 2),
                    |worker| set_and_wait(worker, 2, 0),
                );
            },
        );
    });
}

/// Report 396: tasks are started in order. Each task needs an item that the task before it sends.
fn each_task_waits_for_the_one_before_it<M: Machine>(machine: &M) {
    const TASKS: usize = 20;
    on_any_number_of_workers(machine, |worker| {
        let ended = AtomicUsize::new(0);
        worker.scope(|scope| {
            for number in 0..TASKS {
                let ended = &ended;
                scope.spawn(worker, move |worker| {
                    wait(worker, || ended.load(Ordering::SeqCst) == number);
                    ended.fetch_add(1, Ordering::SeqCst);
                    changed(worker);
                });
            }
        });
        assert_eq!(ended.into_inner(), TASKS);
    });
}

/// Report 1258: 16 tasks go from stage to stage together, on fewer threads.
fn more_tasks_than_workers_go_on_in_step<M: Machine>(machine: &M) {
    const TASKS: usize = 16;
    on_any_number_of_workers(machine, |worker| {
        let arrived = AtomicUsize::new(0);
        worker.scope(|scope| {
            for _ in 0..TASKS {
                scope.spawn(worker, |worker| {
                    for stage in 1..=3 {
                        arrived.fetch_add(1, Ordering::SeqCst);
                        changed(worker);
                        wait(worker, || arrived.load(Ordering::SeqCst) >= stage * TASKS);
                    }
                });
            }
        });
    });
}

/// Reports 1181 and 1258: a task loops until another task, which is in the queue of the same
/// worker, has run.
fn a_task_spins_on_another_and_yields<M: Machine>(machine: &M) {
    on_any_number_of_workers(machine, |worker| {
        let is_done = AtomicBool::new(false);
        worker.scope(|scope| {
            scope.spawn(worker, |_| is_done.store(true, Ordering::SeqCst));
            while !is_done.load(Ordering::SeqCst) {
                worker.spe().yield_now();
            }
        });
    });
}

/// Report 1269: two stages on one pool, with a channel between them that holds two items.
fn a_bounded_channel_lies_between_tasks_of_one_worker<M: Machine>(machine: &M) {
    const ITEMS: usize = 30;
    on_any_number_of_workers(machine, |worker| {
        let (room, items) = (AtomicUsize::new(2), AtomicUsize::new(0));
        let take = |worker: &Worker<'_, M::Spe>, from: &AtomicUsize| {
            wait(worker, || {
                let less = |number: usize| number.checked_sub(1);
                from.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less)
                    .is_ok()
            });
        };
        let give = |worker: &Worker<'_, M::Spe>, to: &AtomicUsize| {
            to.fetch_add(1, Ordering::SeqCst);
            changed(worker);
        };
        worker.scope(|scope| {
            for _ in 0..ITEMS {
                scope.spawn(worker, |worker| {
                    take(worker, &room);
                    give(worker, &items);
                });
                scope.spawn(worker, |worker| {
                    take(worker, &items);
                    give(worker, &room);
                });
            }
        });
        assert_eq!((room.into_inner(), items.into_inner()), (2, 0));
    });
}

/// Report 835: the function of a scope waits for its closures one by one, on a pool of one worker.
fn a_scope_collects_what_its_closures_send<M: Machine>(machine: &M) {
    on_any_number_of_workers(machine, |worker| {
        let sent = AtomicUsize::new(0);
        let collected = worker.scope(|scope| {
            (0..20)
                .map(|number| {
                    let sent = &sent;
                    scope.spawn(worker, move |worker| {
                        sent.store(number + 1, Ordering::SeqCst);
                        changed(worker);
                    });
                    wait(worker, || sent.load(Ordering::SeqCst) > 0);
                    sent.swap(0, Ordering::SeqCst)
                })
                .sum::<usize>()
        });
        assert_eq!(collected, 210);
    });
}
