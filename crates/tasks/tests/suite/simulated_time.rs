//! How long the calls of a pool take on simulated machines.

use cellworks_machine::{Cycles, Machine, PpeCore, Span, Spe, Wake};
use cellworks_sim::{Description, Sim};
use cellworks_tasks::{Pool, Value, Worker};
use proptest::prelude::*;

/// Less than the SPEs of a machine compute ahead of the clock. They have 3.2 GHz.
const CYCLES: u64 = 1_000_000;

/// The most cycles until a worker begins, and its caller goes on, for each step that follows
/// another.
const OVERHEAD: u64 = 20_000;

fn machines() -> Vec<(&'static str, Sim)> {
    let named = |name| {
        let description = Description::built_in(name).unwrap();
        (name, Sim::builder(description).build().unwrap())
    };
    ["ps3", "qs20", "qs22"].map(named).into()
}

fn compute<S: Spe>(worker: &Worker<'_, S>, cycles: u64) {
    worker.spe().compute(Cycles(cycles));
}

/// Returns the cycles that `call` takes on a worker of a pool, after all workers have begun.
fn cycles_of<M: Machine>(
    machine: &M,
    workers: usize,
    before: u64,
    call: impl FnOnce(&Worker<'_, M::Spe>) + Send,
) -> u64 {
    let span = Pool::new(machine).workers(workers).run(|main| {
        main.install(|worker| {
            compute(worker, 10 * CYCLES);
            let begin = worker.spe().now();
            compute(worker, before);
            call(worker);
            worker.spe().now().since(begin)
        })
    });
    cycles(span.unwrap()) - before
}

fn cycles(span: Span) -> u64 {
    (span.as_femtoseconds() * 32 / 10_000_000) as u64
}

/// Calls `call` on pools of 2 to 6 workers, which it is given. It must take `cycles`.
fn each_takes(cycles: u64, call: impl Fn(&Worker<'_, <Sim as Machine>::Spe>, usize) + Sync) {
    for (name, machine) in &machines() {
        for workers in 2..=6 {
            for before in [1, 3_000, CYCLES] {
                let took = cycles_of(machine, workers, before, |worker| call(worker, workers));
                assert!(
                    (cycles..cycles + OVERHEAD).contains(&took),
                    "{name}, {workers} workers: {took} cycles, not {cycles}, after {before} cycles"
                );
            }
        }
    }
}

fn tree<S: Spe>(worker: &Worker<'_, S>, leaves: usize) {
    match leaves {
        1 => compute(worker, CYCLES),
        _ => {
            let first = leaves / 2;
            worker.join(|w| tree(w, first), |w| tree(w, leaves - first));
        }
    }
}

fn chain<S: Spe>(worker: &Worker<'_, S>, length: usize) {
    if length > 0 {
        worker.join(|w| compute(w, CYCLES), |w| chain(w, length - 1));
    }
}

fn chain_of_firsts<S: Spe>(worker: &Worker<'_, S>, length: usize) {
    if length > 0 {
        worker.join(|w| chain_of_firsts(w, length - 1), |w| compute(w, CYCLES));
    }
}

#[test]
fn equal_closures_on_as_many_workers_take_the_time_of_one() {
    each_takes(CYCLES, tree);
    each_takes(CYCLES, chain);
    each_takes(CYCLES, chain_of_firsts);
    each_takes(CYCLES, |worker, n| {
        worker.scope(|scope| (0..n).for_each(|_| scope.spawn(worker, |w| compute(w, CYCLES))));
    });
    each_takes(CYCLES, |worker, n| {
        worker.for_each(0..n, |w, _| compute(w, CYCLES))
    });
    each_takes(CYCLES, |worker, _| {
        worker.broadcast(|w| compute(w, CYCLES));
    });
}

#[test]
fn the_first_join_of_a_pool_is_shared() {
    for (name, machine) in &machines() {
        let times = Pool::new(machine).workers(2).run(|main| {
            main.install(|worker| {
                let begin = worker.spe().now();
                worker.join(|w| compute(w, CYCLES), |w| compute(w, CYCLES));
                worker.spe().now().since(begin)
            })
        });
        let took = cycles(times.unwrap());
        assert!(
            (CYCLES..CYCLES + OVERHEAD).contains(&took),
            "{name}: {took} cycles"
        );
    }
}

/// The end of a closure is not known before the closure has computed, also if the caller only
/// waits.
#[test]
fn a_call_takes_as_long_as_its_longest_closure() {
    each_takes(CYCLES / 2, |worker, _| {
        worker.join(|w| compute(w, CYCLES / 10), |w| compute(w, CYCLES / 2));
    });
    each_takes(CYCLES / 2, |worker, _| {
        worker.scope(|scope| scope.spawn(worker, |w| compute(w, CYCLES / 2)));
    });
    // A closure does not begin before it was started.
    each_takes(CYCLES / 10 + CYCLES / 2, |worker, _| {
        worker.scope(|scope| {
            compute(worker, CYCLES / 10);
            scope.spawn(worker, |w| compute(w, CYCLES / 2));
        });
    });
    each_takes(CYCLES / 2, |worker, _| {
        let phase = worker.phase(|phase| {
            let first = phase.task("first", Value(0), |w, _| compute(w, CYCLES / 5));
            let first = phase.submit(worker, first)?;
            let second = phase.task("second", Value(0), |w, _| compute(w, 3 * CYCLES / 10));
            phase.submit(worker, second.after(&first))?;
            Ok(())
        });
        phase.unwrap();
    });
}

#[test]
fn what_the_main_program_starts_takes_its_time() {
    for (name, machine) in &machines() {
        for before in [1, 3_000, CYCLES / 2] {
            let took = Pool::new(machine).workers(2).run(|main| {
                main.install(|_| ());
                let begin = main.ppe().now();
                main.ppe().compute(Cycles(before));
                main.install(|worker| compute(worker, CYCLES / 2));
                main.scope(|scope| scope.spawn(main, |worker| compute(worker, CYCLES / 2)));
                main.ppe().now().since(begin)
            });
            let took = cycles(took.unwrap());
            assert!(
                (before + CYCLES..before + CYCLES + OVERHEAD).contains(&took),
                "{name}: {took} cycles after {before}"
            );
        }
    }
}

/// What a worker does.
#[derive(Clone, Debug)]
enum Work {
    Computes(u64),
    Joins(Box<[Work; 2]>),
    Starts(Vec<Work>),
    InTurn(Vec<Work>),
}

fn works() -> impl Strategy<Value = Work> {
    let cycles = prop_oneof![1..100_u64, 1_000..100_000_u64, 100_000..3_000_000_u64];
    let leaf = cycles.prop_map(Work::Computes);
    leaf.prop_recursive(5, 30, 4, |work| {
        prop_oneof![
            (work.clone(), work.clone()).prop_map(|(a, b)| Work::Joins(Box::new([a, b]))),
            prop::collection::vec(work.clone(), 1..4).prop_map(Work::Starts),
            prop::collection::vec(work, 1..4).prop_map(Work::InTurn),
        ]
    })
}

impl Work {
    fn run<S: Spe>(&self, worker: &Worker<'_, S>) {
        match self {
            Self::Computes(cycles) => compute(worker, *cycles),
            Self::Joins(halves) => {
                worker.join(|w| halves[0].run(w), |w| halves[1].run(w));
            }
            Self::Starts(works) => worker.scope(|scope| {
                works
                    .iter()
                    .for_each(|work| scope.spawn(worker, |w| work.run(w)));
            }),
            Self::InTurn(works) => works.iter().for_each(|work| work.run(worker)),
        }
    }

    /// Returns the cycles on one worker, and on as many workers as there are closures.
    fn cycles(&self) -> (u64, u64) {
        let all = |works: &[Self]| works.iter().map(Self::cycles).collect::<Vec<_>>();
        let sum = |of: Vec<(u64, u64)>, one: fn(&(u64, u64)) -> u64| of.iter().map(one).sum();
        let (works, is_in_turn) = match self {
            Self::Computes(cycles) => return (*cycles, *cycles),
            Self::Joins(halves) => (&halves[..], false),
            Self::Starts(works) => (&works[..], false),
            Self::InTurn(works) => (&works[..], true),
        };
        let longest = all(works).iter().map(|it| it.1).max().unwrap_or(0);
        let at_once = if is_in_turn {
            sum(all(works), |it| it.1)
        } else {
            longest
        };
        (sum(all(works), |it| it.0), at_once)
    }
}

proptest! {
    #![proptest_config(crate::random_cases())]
    /// No call ends before its work can be done.
    #[test]
    fn work_is_shared_and_takes_its_time(work in works(), workers in 1..7_usize, seed in 0..4_u64) {
        let description = Description::built_in("ps3").unwrap();
        let machine = Sim::builder(description).seed(seed).build().unwrap();
        let took = cycles_of(&machine, workers, 1, |worker| work.run(worker));
        let (all, at_once) = work.cycles();
        let least = at_once.max(all / workers as u64);
        prop_assert!(took + 10 >= least, "{took} cycles of {least}");
    }
}
