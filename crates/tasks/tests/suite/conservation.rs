//! Random programs in random schedules: every task runs exactly once, and its result arrives.

use std::sync::atomic::{AtomicUsize, Ordering};

use cellworks_machine::{Cycles, Machine, Processor, Spe};
use cellworks_tasks::{Pool, Worker};
use proptest::prelude::*;

/// The program of a task.
#[derive(Clone, Debug)]
enum Tree {
    /// Computes for some cycles.
    Leaf(u64),
    /// Lets other tasks run.
    Yield,
    Join(Box<[Tree; 2]>),
    /// Starts a closure for each of these programs.
    Scope(Vec<Tree>),
    /// Runs a loop. Each index runs one of these programs.
    Loop(Vec<Tree>),
    /// Starts closures. Each closure waits until the next closure has begun.
    Chain(u8),
    /// The first half of a join waits until the second half has begun.
    Rendezvous,
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        (0_u64..20_000).prop_map(Tree::Leaf),
        Just(Tree::Yield),
        (1_u8..6).prop_map(Tree::Chain),
        Just(Tree::Rendezvous),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let several = || prop::collection::vec(inner.clone(), 0..6);
        prop_oneof![
            [inner.clone(), inner.clone()].prop_map(|halves| Tree::Join(Box::new(halves))),
            several().prop_map(Tree::Scope),
            several().prop_map(Tree::Loop),
        ]
    })
}

impl Tree {
    /// Returns the number of tasks of the program, including the task that runs the program.
    fn tasks(&self) -> usize {
        1 + match self {
            Self::Leaf(_) | Self::Yield => 0,
            Self::Join(halves) => halves.iter().map(Self::tasks).sum(),
            Self::Scope(tasks) | Self::Loop(tasks) => tasks.iter().map(Self::tasks).sum(),
            Self::Chain(links) => usize::from(*links),
            Self::Rendezvous => 2,
        }
    }

    /// Runs the program. Each task adds 1 to its element of `runs`. Returns the number of tasks.
    fn run<S: Spe>(&self, worker: &Worker<'_, S>, runs: &[AtomicUsize]) -> usize {
        runs[0].fetch_add(1, Ordering::Relaxed);
        let rest = &runs[1..];
        1 + match self {
            Self::Leaf(cycles) => {
                worker.spe().compute(Cycles(*cycles));
                0
            }
            Self::Yield => {
                worker.spe().yield_now();
                0
            }
            Self::Join(halves) => {
                let [first, second] = &**halves;
                let (of_first, of_second) = rest.split_at(first.tasks());
                let (a, b) = worker.join(
                    |worker| first.run(worker, of_first),
                    |worker| second.run(worker, of_second),
                );
                a + b
            }
            Self::Scope(tasks) => {
                let sum = AtomicUsize::new(0);
                worker.scope(|scope| {
                    for (task, runs) in Self::parts(tasks, rest) {
                        let sum = &sum;
                        scope.spawn(worker, move |worker| {
                            sum.fetch_add(task.run(worker, runs), Ordering::Relaxed);
                        });
                    }
                });
                sum.into_inner()
            }
            Self::Loop(tasks) => {
                let parts: Vec<_> = Self::parts(tasks, rest).collect();
                let run = |worker: &Worker<'_, S>, index: usize| {
                    let (task, runs): (&Self, _) = parts[index];
                    task.run(worker, runs)
                };
                worker.map_reduce(0..parts.len(), || 0, run, |a, b| a + b)
            }
            Self::Chain(links) => {
                worker.scope(|scope| {
                    for link in 0..usize::from(*links) {
                        scope.spawn(worker, move |worker| {
                            begin(worker, &rest[link]);
                            if link + 1 < usize::from(*links) {
                                wait_for(worker, &rest[link + 1]);
                            }
                        });
                    }
                });
                usize::from(*links)
            }
            Self::Rendezvous => {
                let first = |worker: &Worker<'_, S>| {
                    begin(worker, &rest[0]);
                    wait_for(worker, &rest[1]);
                };
                worker.join(first, |worker| begin(worker, &rest[1]));
                2
            }
        }
    }

    /// Returns each program with its part of `runs`.
    fn parts<'a>(
        tasks: &'a [Self],
        mut runs: &'a [AtomicUsize],
    ) -> impl Iterator<Item = (&'a Self, &'a [AtomicUsize])> {
        tasks.iter().map(move |task| {
            let (own, rest) = runs.split_at(task.tasks());
            runs = rest;
            (task, own)
        })
    }
}

fn begin<S: Spe>(worker: &Worker<'_, S>, runs: &AtomicUsize) {
    runs.fetch_add(1, Ordering::SeqCst);
    let spes = worker.spe().topology().spes();
    spes.take(worker.workers())
        .for_each(|spe| worker.spe().notify(Processor::Spe(spe)));
}

fn wait_for<S: Spe>(worker: &Worker<'_, S>, runs: &AtomicUsize) {
    let has_begun = &mut || runs.load(Ordering::SeqCst) > 0;
    worker.spe().wait_until(&"another task to begin", has_begun);
}

fn check<M: Machine>(machine: &M, workers: usize, tree: &Tree) {
    let runs: Vec<AtomicUsize> = (0..tree.tasks()).map(|_| AtomicUsize::new(0)).collect();
    let pool = Pool::new(machine).workers(workers);
    let result = pool.run(|main| main.install(|worker| tree.run(worker, &runs)));
    assert_eq!(result.unwrap(), tree.tasks());
    assert!(runs.into_iter().all(|runs| runs.into_inner() == 1));
}

proptest! {
    #![proptest_config(crate::random_cases())]

    #[test]
    fn every_task_runs_once_on_a_host(tree in tree(), workers in 1..=4_usize) {
        check(&crate::host(), workers, &tree);
    }

    #[test]
    fn every_task_runs_once_on_a_simulated_machine(
        tree in tree(),
        workers in 1..=4_usize,
        seed: u64,
    ) {
        let machine = crate::qs22_with_seed(seed);
        check(&machine, workers, &tree);
    }
}
