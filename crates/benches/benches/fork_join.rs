//! Compares joins, loops, closures and sorting on a pool of two workers with rayon and chili with
//! two threads. The systems take turns in one process.
//!
//! ```text
//!   fibonacci   a join at every level: the cost of a join with the addition between its halves
//!   tree        2^20 leaves by joins
//!   loop        1,000,000 items by the pools' own loops, which choose the sizes of pieces
//!   closures    1,000,000 empty closures, started one by one
//!   sort        1,000,000 numbers
//!   short calls joins, scopes and loops of 10 to 116 us, called one after the other, as programs
//!               with an outer loop call them: a worker often has no work for some microseconds
//!   first join  two closures of some 20 ms in a fresh pool, which do not call the pool
//!   idle        the CPU time of a pool that has nothing to do
//! ```
//!
//! Short calls are also measured in C++: with OpenMP and, if its headers are there, oneTBB.
//!
//! In one call of 64 (or of another number that it is given), chili's `join` offers its second half
//! to other threads. In all other calls it calls both halves itself, and no other thread can take
//! the second one. chili has no loops, and no closures that are started one by one.
//!
//! Run it with `cargo bench -p cellworks-benches --bench fork_join`. If words follow `--`, only
//! tables with one of these words in the title are measured.

#[path = "channels/cpus.rs"]
#[allow(dead_code, reason = "another benchmark uses the rest")]
mod cpus;
mod peers;
#[path = "channels/table.rs"]
#[allow(dead_code, reason = "another benchmark uses the rest")]
mod table;

use std::hint::black_box;
use std::num::NonZero;
use std::time::{Duration, Instant};

use cellworks_host::Host;
use cellworks_machine::{Machine, Spe};
use cellworks_tasks::{Main, Pool, Worker};
use peers::Cpp;
use rayon::iter::{
    IndexedParallelIterator, IntoParallelIterator, IntoParallelRefMutIterator, ParallelIterator,
};
use rayon::slice::ParallelSliceMut;
use table::{System, compare, system};

const N: u64 = 34;
const LEVELS: u32 = 20;
const COUNT: usize = 1_000_000;
const IDLE: Duration = Duration::from_secs(2);

struct Pools {
    host: Host,
    rayon: rayon::ThreadPool,
    chili: chili::ThreadPool,
}

fn main() {
    let pools = Pools {
        host: Host::builder()
            .spes(2)
            .build()
            .expect("this computer can be measured"),
        rayon: rayon::ThreadPoolBuilder::new()
            .num_threads(2)
            .build()
            .expect("rayon can start two threads"),
        chili: chili::ThreadPool::with_config(chili::Config {
            thread_count: NonZero::new(2),
            ..chili::Config::default()
        }),
    };
    pools.fibonacci();
    pools.tree();
    pools.loops();
    pools.closures();
    pools.sort();
    pools.short_calls();
    pools.first_join();
    pools.idle();
}

/// Nanoseconds for each of `count` operations.
fn each(count: usize, work: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_nanos() as f64 / count as f64
}

fn alone(n: u64) -> u64 {
    match n {
        0 | 1 => n,
        _ => alone(n - 1) + alone(n - 2),
    }
}

fn ours<S: Spe>(worker: &Worker<'_, S>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = worker.join(|w| ours(w, n - 1), |w| ours(w, n - 2));
    a + b
}

fn by_rayon(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = rayon::join(|| by_rayon(n - 1), || by_rayon(n - 2));
    a + b
}

fn by_chili<const EVERY: u8>(scope: &mut chili::Scope<'_>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = scope.join_with_heartbeat_every::<EVERY, _, _, _, _>(
        |s| by_chili::<EVERY>(s, n - 1),
        |s| by_chili::<EVERY>(s, n - 2),
    );
    a + b
}

fn our_leaves<S: Spe>(worker: &Worker<'_, S>, levels: u32) -> u64 {
    if levels == 0 {
        return 1;
    }
    let (a, b) = worker.join(|w| our_leaves(w, levels - 1), |w| our_leaves(w, levels - 1));
    a + b
}

fn rayon_leaves(levels: u32) -> u64 {
    if levels == 0 {
        return 1;
    }
    let (a, b) = rayon::join(|| rayon_leaves(levels - 1), || rayon_leaves(levels - 1));
    a + b
}

fn chili_leaves<const EVERY: u8>(scope: &mut chili::Scope<'_>, levels: u32) -> u64 {
    if levels == 0 {
        return 1;
    }
    let (a, b) = scope.join_with_heartbeat_every::<EVERY, _, _, _, _>(
        |s| chili_leaves::<EVERY>(s, levels - 1),
        |s| chili_leaves::<EVERY>(s, levels - 1),
    );
    a + b
}

/// The work on an item of the loops: some multiplications that depend on each other.
fn change(item: &mut f64) {
    *item = (*item * 0.99 + 1.0) * 0.98 + 1.0;
}

fn numbers() -> Vec<u64> {
    let next = |n: &u64| Some(n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    let sequence = std::iter::successors(Some(17_u64), next);
    sequence.map(|n| n >> 20).take(COUNT).collect()
}

/// Takes `count` steps, each of which needs the one before, as fast as `steps` of
/// `short_calls.cpp`. A `black_box` in each step took different times in the two languages.
#[inline(never)]
fn steps(count: u64) -> u64 {
    (0..count).fold(1, |x: u64, _| {
        (x ^ (x >> 29)).wrapping_mul(6_364_136_223_846_793_005)
    })
}

fn work(count: u64) {
    black_box(steps(black_box(count)));
}

/// Nanoseconds for each of 1,000 calls.
fn calls(mut call: impl FnMut()) -> f64 {
    const CALLS: usize = 1_000;
    call();
    each(CALLS, || (0..CALLS).for_each(|_| call()))
}

impl Pools {
    /// Runs `work` on a worker of a pool with awake workers, and returns the result of `work`.
    fn on_worker(
        &self,
        workers: usize,
        work: impl Fn(&Worker<'_, <Host as Machine>::Spe>) -> f64 + Sync,
    ) -> f64 {
        let pool = Pool::new(&self.host).workers(workers);
        let measured = pool.run(|main| {
            main.install(|worker| {
                ours(worker, 24);
                work(worker)
            })
        });
        measured.expect("no task fails")
    }

    fn on_main(&self, work: impl Fn(&Main<'_, Host>) -> f64) -> f64 {
        let measured = Pool::new(&self.host).run(|main| {
            main.install(|worker| ours(worker, 24));
            work(main)
        });
        measured.expect("no task fails")
    }

    fn by_chili(&self, work: impl Fn(&mut chili::Scope<'_>) -> f64) -> f64 {
        let mut scope = self.chili.scope();
        by_chili::<64>(&mut scope, 24);
        work(&mut scope)
    }

    fn fibonacci(&self) {
        let joins = (2..=N).fold((0, 0), |(a, b), _| (b, a + b + 1)).1;
        let fibonacci = |sum: u64| assert_eq!(sum, 5_702_887);
        compare(
            "A join of a Fibonacci number",
            vec![
                system("one thread, no joins", || {
                    each(joins, || fibonacci(alone(black_box(N))))
                }),
                system("**cellworks**", || {
                    self.on_worker(2, |w| each(joins, || fibonacci(ours(w, black_box(N)))))
                }),
                system("**cellworks**, 1 worker", || {
                    self.on_worker(1, |w| each(joins, || fibonacci(ours(w, black_box(N)))))
                }),
                system("chili", || {
                    self.by_chili(|s| each(joins, || fibonacci(by_chili::<64>(s, black_box(N)))))
                }),
                system("chili, aside in one call of 255", || {
                    self.by_chili(|s| each(joins, || fibonacci(by_chili::<255>(s, black_box(N)))))
                }),
                system("chili, aside in each call", || {
                    self.by_chili(|s| each(joins, || fibonacci(by_chili::<1>(s, black_box(N)))))
                }),
                system("rayon", || {
                    let work = || each(joins, || fibonacci(by_rayon(black_box(N))));
                    self.rayon.install(work)
                }),
            ],
        );
    }

    fn tree(&self) {
        let leaves = 1 << LEVELS;
        let all = |counted: u64| assert_eq!(counted, leaves as u64);
        compare(
            "A leaf of a tree of joins",
            vec![
                system("**cellworks**", || {
                    self.on_worker(2, |w| {
                        each(leaves, || all(our_leaves(w, black_box(LEVELS))))
                    })
                }),
                system("chili", || {
                    self.by_chili(|s| {
                        each(leaves, || all(chili_leaves::<64>(s, black_box(LEVELS))))
                    })
                }),
                system("chili, aside in one call of 255", || {
                    self.by_chili(|s| {
                        each(leaves, || all(chili_leaves::<255>(s, black_box(LEVELS))))
                    })
                }),
                system("rayon", || {
                    let work = || each(leaves, || all(rayon_leaves(black_box(LEVELS))));
                    self.rayon.install(work)
                }),
            ],
        );
    }

    fn loops(&self) {
        let items = || vec![1.0_f64; COUNT];
        compare(
            "An item of a loop",
            vec![
                system("one thread", || {
                    let mut items = items();
                    each(COUNT, || black_box(&mut items).iter_mut().for_each(change))
                }),
                system("**cellworks**", || {
                    self.on_worker(2, |w| {
                        let mut items = items();
                        let items = black_box(&mut items);
                        each(COUNT, || w.for_each_mut(items, |_, _, item| change(item)))
                    })
                }),
                system("**cellworks**, 1 worker", || {
                    self.on_worker(1, |w| {
                        let mut items = items();
                        let items = black_box(&mut items);
                        each(COUNT, || w.for_each_mut(items, |_, _, item| change(item)))
                    })
                }),
                system("rayon", || {
                    let mut items = items();
                    let items = black_box(&mut items);
                    self.rayon
                        .install(|| each(COUNT, || items.par_iter_mut().for_each(change)))
                }),
                system("rayon, at least 10,000 to a piece", || {
                    let mut items = items();
                    let items = black_box(&mut items).par_iter_mut().with_min_len(10_000);
                    self.rayon
                        .install(|| each(COUNT, || items.for_each(change)))
                }),
            ],
        );
    }

    fn closures(&self) {
        let start_on = |workers| {
            self.on_worker(workers, |worker| {
                each(COUNT, || {
                    worker.scope(|scope| (0..COUNT).for_each(|_| scope.spawn(worker, |_| ())));
                })
            })
        };
        compare(
            "An empty closure",
            vec![
                system("**cellworks**", || start_on(2)),
                system("**cellworks**, 1 worker", || start_on(1)),
                system("**cellworks**, from the main program", || {
                    self.on_main(|main| {
                        each(COUNT, || {
                            main.scope(|scope| (0..COUNT).for_each(|_| scope.spawn(main, |_| ())));
                        })
                    })
                }),
                system("rayon", || {
                    let spawn = || rayon::scope(|s| (0..COUNT).for_each(|_| s.spawn(|_| ())));
                    self.rayon.install(|| each(COUNT, spawn))
                }),
            ],
        );
    }

    fn sort(&self) {
        let numbers = numbers();
        compare(
            "An item that is sorted",
            vec![
                system("one thread", || {
                    let mut numbers = numbers.clone();
                    each(COUNT, || black_box(&mut numbers).sort())
                }),
                system("**cellworks**", || {
                    self.on_worker(2, |worker| {
                        let mut numbers = numbers.clone();
                        each(COUNT, || worker.sort(black_box(&mut numbers)))
                    })
                }),
                system("rayon", || {
                    let mut numbers = numbers.clone();
                    let sort = || black_box(&mut numbers).par_sort();
                    self.rayon.install(|| each(COUNT, sort))
                }),
            ],
        );
    }

    fn short_calls(&self) {
        let per_step = each(10_000_000, || work(10_000_000));
        let steps_of = |us: f64| (us * 1e3 / per_step) as u64;
        let cpp = Cpp::short_calls();
        let compare = |title: &str, mut systems: Vec<System<'_>>, what: &str, argument: u64| {
            systems.extend(cpp.systems(what, argument));
            compare(title, systems);
        };

        let half = steps_of(5.0);
        compare(
            "A join of two halves of 5 us",
            vec![
                system("one thread", || calls(|| (0..2).for_each(|_| work(half)))),
                system("**cellworks**", || {
                    self.on_worker(2, |w| calls(|| _ = w.join(|_| work(half), |_| work(half))))
                }),
                system("rayon", || {
                    let join = || _ = rayon::join(|| work(half), || work(half));
                    self.rayon.install(|| calls(join))
                }),
            ],
            "join",
            half,
        );

        let eighth = steps_of(10.0 / 8.0);
        compare(
            "A scope of 8 closures, 10 us in all",
            vec![
                system("one thread", || calls(|| (0..8).for_each(|_| work(eighth)))),
                system("**cellworks**", || {
                    self.on_worker(2, |w| {
                        calls(|| w.scope(|s| (0..8).for_each(|_| s.spawn(w, |_| work(eighth)))))
                    })
                }),
                system("rayon", || {
                    let scope = || rayon::scope(|s| (0..8).for_each(|_| s.spawn(|_| work(eighth))));
                    self.rayon.install(|| calls(scope))
                }),
            ],
            "closures",
            eighth,
        );

        for us in [10.0, 116.0] {
            let item = steps_of(us / 16.0);
            compare(
                &format!("A loop of 16 items, {us} us in all"),
                vec![
                    system("one thread", || calls(|| (0..16).for_each(|_| work(item)))),
                    system("**cellworks**", || {
                        self.on_worker(2, |w| calls(|| w.for_each(0..16, |_, _| work(item))))
                    }),
                    system("rayon", || {
                        let items = || (0..16_u32).into_par_iter().for_each(|_| work(item));
                        self.rayon.install(|| calls(items))
                    }),
                ],
                "items",
                item,
            );
        }

        for count in [100_000, 400_000] {
            let x = vec![1.0_f32; count];
            let y = || vec![2.0_f32; count];
            let add = |(y, x): (&mut f32, &f32)| *y += 0.5 * x;
            compare(
                &format!("A loop y = ax + y over {count} numbers"),
                vec![
                    system("one thread", || {
                        let mut y = y();
                        calls(|| black_box(&mut y).iter_mut().zip(&x).for_each(add))
                    }),
                    system("**cellworks**", || {
                        self.on_worker(2, |w| {
                            let mut y = y();
                            calls(|| w.par_iter(black_box(&mut y)).zip(&x).for_each(add))
                        })
                    }),
                    system("**cellworks**, by index", || {
                        self.on_worker(2, |w| {
                            let mut y = y();
                            calls(|| w.for_each_mut(black_box(&mut y), |_, i, y| add((y, &x[i]))))
                        })
                    }),
                    system("rayon", || {
                        let mut y = y();
                        let items = || black_box(&mut y).par_iter_mut().zip(&x).for_each(add);
                        self.rayon.install(|| calls(items))
                    }),
                ],
                "axpy",
                count as u64,
            );
        }
    }

    fn first_join(&self) {
        let long = 10_000_000;
        let work = || work(long);
        compare(
            "The first join of a pool",
            vec![
                system("one thread", || {
                    each(1, || {
                        work();
                        work();
                    })
                }),
                system("**cellworks**", || {
                    let join = |w: &Worker<'_, _>| each(1, || _ = w.join(|_| work(), |_| work()));
                    let measured = Pool::new(&self.host).run(|main| main.install(join));
                    measured.expect("no task fails")
                }),
                system("rayon", || {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
                    let pool = pool.expect("rayon can start two threads");
                    pool.install(|| each(1, || _ = rayon::join(work, work)))
                }),
            ],
        );
    }

    /// Measures the share of one CPU that a pool takes while its main program sleeps.
    fn idle(&self) {
        if !table::is_wanted("An idle pool") {
            return;
        }
        let share = |pool: &dyn Fn() -> f64| 100.0 * pool() / IDLE.as_nanos() as f64;
        let sleep = || {
            let before = cpus::time_used_ns();
            std::thread::sleep(IDLE);
            cpus::time_used_ns() - before
        };
        let none = share(&sleep);
        let ours = share(&|| self.on_main(|_| sleep()));
        println!("\nAn idle pool takes {ours:.2} % of a CPU; the rest of the process {none:.2} %.");
    }
}
