//! Tests of closures and tasks that are started faster than the workers run them.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cellworks_machine::{Machine, Processor, Spe, Wait, Wake};
use cellworks_tasks::{Phase, Place, Pool, Priority, Scope, TaskError, Value, Worker};

crate::on_every_machine!(
    a_worker_that_starts_closures_waits_while_thousands_are_queued,
    the_main_program_waits_while_thousands_are_queued,
    a_worker_that_submits_tasks_waits_while_thousands_are_queued,
    the_main_program_submits_tasks_and_waits_while_thousands_are_queued,
    tasks_may_wait_for_what_the_one_that_submits_them_does_next,
    closures_that_start_closures_need_few_stacks,
    closures_may_wait_for_what_the_one_who_starts_them_does_next,
    closures_may_wait_for_what_the_main_program_does_next,
    closures_may_wait_for_each_other_on_one_worker,
    a_panic_while_thousands_are_queued_comes_out,
);

/// The largest number of closures that have not begun: 4,096 in the queue, and the closures that
/// workers have taken.
const BOUND: usize = 4_096 + 4 * 64;

/// The number of begun closures, and the largest number of started closures that had not begun.
#[derive(Default)]
struct Queue {
    begun: AtomicUsize,
    longest: AtomicUsize,
}

impl Queue {
    fn begins(&self) {
        self.begun.fetch_add(1, Ordering::Relaxed);
    }

    fn started(&self, started: usize) {
        let queued = started - self.begun.load(Ordering::Relaxed);
        self.longest.fetch_max(queued, Ordering::Relaxed);
    }
}

fn start_on_a_worker<M: Machine>(machine: &M, closures: usize) {
    for workers in [1, 4] {
        let queue = Queue::default();
        let pool = Pool::new(machine).workers(workers);
        let started = pool.run(|main| {
            main.install(|worker| {
                worker.scope(|scope| {
                    for started in 0..closures {
                        scope.spawn(worker, |_| queue.begins());
                        queue.started(started + 1);
                    }
                });
            });
        });
        started.unwrap();
        assert_eq!(queue.begun.into_inner(), closures);
        let longest = queue.longest.into_inner();
        assert!(
            (4_000..BOUND).contains(&longest) || workers > 1,
            "{longest}"
        );
        assert!(longest < BOUND, "{longest}");
    }
}

fn a_worker_that_starts_closures_waits_while_thousands_are_queued<M: Machine>(machine: &M) {
    start_on_a_worker(machine, 20_000);
}

#[test]
fn a_million_closures_need_bounded_memory() {
    start_on_a_worker(&crate::host(), 1_000_000);
}

fn the_main_program_waits_while_thousands_are_queued<M: Machine>(machine: &M) {
    for workers in [1, 4] {
        let queue = Queue::default();
        let pool = Pool::new(machine).workers(workers);
        let started = pool.run(|main| {
            main.scope(|scope| {
                for started in 0..20_000 {
                    scope.spawn(main, |_| queue.begins());
                    queue.started(started + 1);
                }
            });
        });
        started.unwrap();
        assert_eq!(queue.begun.into_inner(), 20_000);
        let longest = queue.longest.into_inner();
        assert!(longest < BOUND, "{longest}");
    }
}

/// The queue to which the tasks go.
#[derive(Clone, Copy)]
enum To {
    Starter,
    Priority(Priority),
    OneWorker,
}

const ALL: [To; 4] = [
    To::Starter,
    To::Priority(Priority::High),
    To::Priority(Priority::Low),
    To::OneWorker,
];

fn submit_all<'scope, S: Spe>(
    phase: &'scope Phase<'scope, '_, S>,
    from: &impl Place<S>,
    to: To,
    tasks: usize,
    queue: &'scope Queue,
) -> Result<(), TaskError> {
    let first = phase.submit(from, phase.task("first", Value(()), |_, ()| ()))?;
    first.wait(from)?;
    for submitted in 0..tasks {
        let task = phase.task("counted", Value(()), |_, ()| queue.begins());
        let task = match to {
            To::Starter => task,
            To::Priority(priority) => task.priority(priority),
            To::OneWorker => task.near(&first),
        };
        phase.submit(from, task)?;
        queue.started(submitted + 1);
    }
    Ok(())
}

fn submit_on_a_worker<M: Machine>(machine: &M, to: To, tasks: usize) {
    for workers in [1, 4] {
        let queue = Queue::default();
        let pool = Pool::new(machine).workers(workers);
        let submitted = pool.run(|main| {
            main.install(|worker| {
                worker.phase(|phase| submit_all(phase, worker, to, tasks, &queue))
            })
        });
        submitted.unwrap().unwrap();
        assert_eq!(queue.begun.into_inner(), tasks);
        let longest = queue.longest.into_inner();
        assert!(longest < BOUND, "{longest}");
    }
}

fn a_worker_that_submits_tasks_waits_while_thousands_are_queued<M: Machine>(machine: &M) {
    for to in ALL {
        submit_on_a_worker(machine, to, 10_000);
    }
}

#[test]
fn a_million_tasks_need_bounded_memory() {
    submit_on_a_worker(&crate::host(), To::Starter, 1_000_000);
}

fn the_main_program_submits_tasks_and_waits_while_thousands_are_queued<M: Machine>(machine: &M) {
    for (to, workers) in ALL.into_iter().flat_map(|to| [(to, 1), (to, 4)]) {
        let queue = Queue::default();
        let pool = Pool::new(machine).workers(workers);
        let submitted =
            pool.run(|main| main.phase(|phase| submit_all(phase, main, to, 10_000, &queue)));
        submitted.unwrap().unwrap();
        assert_eq!(queue.begun.into_inner(), 10_000);
        let longest = queue.longest.into_inner();
        assert!(longest < BOUND, "{longest}");
    }
}

fn tasks_may_wait_for_what_the_one_that_submits_them_does_next<M: Machine>(machine: &M) {
    let goes_on = AtomicBool::new(false);
    let ended = AtomicUsize::new(0);
    let pool = Pool::new(machine).workers(1);
    let run = pool.run(|main| {
        main.install(|worker| {
            worker.phase(|phase| {
                for _ in 0..5_000 {
                    let task = phase.task("waits", Value(()), |worker, ()| {
                        worker.spe().wait_until(&"all to be submitted", &mut || {
                            goes_on.load(Ordering::Relaxed)
                        });
                        ended.fetch_add(1, Ordering::Relaxed);
                    });
                    phase.submit(worker, task)?;
                }
                goes_on.store(true, Ordering::Relaxed);
                worker.spe().notify(Processor::Spe(worker.spe().id()));
                Ok(())
            })
        })
    });
    run.unwrap().unwrap();
    assert_eq!(ended.into_inner(), 5_000);
}

/// A tree of closures. Each closure starts ten closures. If each closure waited for room and kept
/// its stack, thousands of stacks would be in use.
fn closures_that_start_closures_need_few_stacks<M: Machine>(machine: &M) {
    fn grow<'scope, S: Spe>(
        scope: &'scope Scope<'scope, '_, S>,
        worker: &Worker<'_, S>,
        depth: u32,
        leaves: &'scope AtomicUsize,
        most_begun: &'scope [AtomicUsize; 2],
    ) {
        if depth == 0 {
            leaves.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let [begun, most] = most_begun;
        let now = begun.fetch_add(1, Ordering::Relaxed) + 1;
        most.fetch_max(now, Ordering::Relaxed);
        for _ in 0..10 {
            scope.spawn(worker, move |worker| {
                grow(scope, worker, depth - 1, leaves, most_begun);
            });
        }
        begun.fetch_sub(1, Ordering::Relaxed);
    }
    let leaves = AtomicUsize::new(0);
    let most_begun = [const { AtomicUsize::new(0) }; 2];
    let pool = Pool::new(machine).workers(1);
    let run = pool.run(|main| {
        main.install(|worker| {
            worker.scope(|scope| {
                for _ in 0..5_000 {
                    scope.spawn(worker, |_| ());
                }
                let (leaves, most_begun) = (&leaves, &most_begun);
                scope.spawn(worker, move |worker| {
                    grow(scope, worker, 4, leaves, most_begun)
                });
            });
        });
    });
    run.unwrap();
    assert_eq!(leaves.into_inner(), 10_000);
    let [_, most] = most_begun.map(AtomicUsize::into_inner);
    assert!(most < 16, "{most} closures had begun and not ended");
}

/// If the local store has no room for another stack, the program that starts closures goes on.
fn closures_may_wait_for_what_the_one_who_starts_them_does_next<M: Machine>(machine: &M) {
    let goes_on = AtomicBool::new(false);
    let ended = AtomicUsize::new(0);
    let pool = Pool::new(machine).workers(1);
    let run = pool.run(|main| {
        main.install(|worker| {
            worker.scope(|scope| {
                for _ in 0..5_000 {
                    scope.spawn(worker, |worker| {
                        worker.spe().wait_until(&"all to be started", &mut || {
                            goes_on.load(Ordering::Relaxed)
                        });
                        ended.fetch_add(1, Ordering::Relaxed);
                    });
                }
                goes_on.store(true, Ordering::Relaxed);
                worker.spe().notify(Processor::Spe(worker.spe().id()));
            });
        });
    });
    run.unwrap();
    assert_eq!(ended.into_inner(), 5_000);
}

fn closures_may_wait_for_what_the_main_program_does_next<M: Machine>(machine: &M) {
    let goes_on = AtomicBool::new(false);
    let ended = AtomicUsize::new(0);
    let pool = Pool::new(machine).workers(2);
    let run = pool.run(|main| {
        main.scope(|scope| {
            for _ in 0..5_000 {
                scope.spawn(main, |worker| {
                    while !goes_on.load(Ordering::Relaxed) {
                        worker.spe().yield_now();
                    }
                    ended.fetch_add(1, Ordering::Relaxed);
                });
            }
            goes_on.store(true, Ordering::Relaxed);
        });
    });
    run.unwrap();
    assert_eq!(ended.into_inner(), 5_000);
}

/// Each closure waits for the closure that was started before it. The newest closures run first.
fn closures_may_wait_for_each_other_on_one_worker<M: Machine>(machine: &M) {
    const CLOSURES: usize = 12_000;
    const GROUP: usize = 8;
    let begun: Vec<AtomicBool> = (0..CLOSURES).map(|_| AtomicBool::new(false)).collect();
    let pool = Pool::new(machine).workers(1);
    let run = pool.run(|main| {
        main.install(|worker| {
            worker.scope(|scope| {
                for number in 0..CLOSURES {
                    let begun = &begun;
                    scope.spawn(worker, move |worker| {
                        begun[number].store(true, Ordering::Relaxed);
                        worker.spe().notify(Processor::Spe(worker.spe().id()));
                        let first = number / GROUP * GROUP;
                        worker
                            .spe()
                            .wait_until(&"its whole group to begin", &mut || {
                                let group = &begun[first..first + GROUP];
                                group.iter().all(|begun| begun.load(Ordering::Relaxed))
                            });
                    });
                }
            });
        });
    });
    run.unwrap();
    assert!(begun.into_iter().all(AtomicBool::into_inner));
}

fn a_panic_while_thousands_are_queued_comes_out<M: Machine>(machine: &M) {
    let ended = AtomicUsize::new(0);
    let error = Pool::new(machine).run(|main| {
        main.install(|worker| {
            worker.scope(|scope| {
                for number in 0..10_000 {
                    let ended = &ended;
                    scope.spawn(worker, move |_| {
                        ended.fetch_add(1, Ordering::Relaxed);
                        assert_ne!(number, 17, "the seventeenth");
                    });
                }
            });
        });
    });
    let error = error.unwrap_err().to_string();
    assert!(error.contains("the seventeenth"), "{error}");
    assert_eq!(ended.into_inner(), 10_000);
}
