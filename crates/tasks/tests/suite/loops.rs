//! Tests of loops and reductions.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cellworks_host::{Host, HostSpe};
use cellworks_machine::{Cycles, Machine, Span, Spe, Wake};
use cellworks_tasks::{Pool, PoolError, Worker};

crate::on_every_machine!(
    a_loop_visits_each_index_once,
    a_loop_changes_each_item_of_a_slice,
    a_loop_changes_each_piece_of_a_slice,
    pieces_of_nothing_are_refused,
    a_reduction_keeps_the_order,
    a_loop_in_a_loop_visits_each_pair_once,
    a_panic_in_a_loop_comes_out,
);

/// Runs a program on one worker of a pool.
fn on<M: Machine, R: Send>(
    machine: &M,
    program: impl FnOnce(&Worker<'_, M::Spe>) -> R + Send,
) -> Result<R, PoolError> {
    Pool::new(machine).run(|main| main.install(program))
}

fn a_loop_visits_each_index_once<M: Machine>(machine: &M) {
    for count in [0, 1, 2, 31, 32, 33, 64, 1_000, 20_000] {
        let visits: Vec<AtomicUsize> = (0..count + 7).map(|_| AtomicUsize::new(0)).collect();
        on(machine, |worker| {
            worker.for_each(7..count + 7, |worker, index| {
                // Some indices take longer, so on a simulated machine workers ask for work.
                worker.spe().compute(Cycles((index % 13) as u64 * 100));
                visits[index].fetch_add(1, Ordering::Relaxed);
            });
        })
        .unwrap();
        let visits: Vec<usize> = visits.into_iter().map(AtomicUsize::into_inner).collect();
        assert_eq!(visits[..7], [0; 7]);
        assert_eq!(visits[7..], vec![1; count]);
    }
}

fn a_loop_changes_each_item_of_a_slice<M: Machine>(machine: &M) {
    let mut items: Vec<usize> = (0..5_000).map(|index| 3 * index).collect();
    on(machine, |worker| {
        worker.for_each_mut(&mut items, |worker, index, item| {
            worker.spe().compute(Cycles(100));
            *item += index;
        });
    })
    .unwrap();
    assert!(
        items
            .iter()
            .enumerate()
            .all(|(index, &item)| item == 4 * index)
    );
}

fn a_loop_changes_each_piece_of_a_slice<M: Machine>(machine: &M) {
    for (count, size) in [(0, 3), (1, 3), (999, 3), (1_000, 3), (1_001, 7), (5, 100)] {
        let mut items = vec![(0, 0); count];
        on(machine, |worker| {
            worker.for_each_chunk(&mut items, size, |worker, number, piece| {
                worker.spe().compute(Cycles(1_000));
                let length = piece.len();
                piece.iter_mut().for_each(|(of, among)| {
                    *of += number;
                    *among += length;
                });
            });
        })
        .unwrap();
        for (index, &(number, length)) in items.iter().enumerate() {
            assert_eq!(number, index / size);
            assert_eq!(length, size.min(count - number * size));
        }
    }
}

fn pieces_of_nothing_are_refused<M: Machine>(machine: &M) {
    let error = on(machine, |worker| {
        worker.for_each_chunk(&mut [1, 2, 3], 0, |_, _, _| ());
    });
    let error = error.unwrap_err().to_string();
    let says = "`for_each_chunk` was asked for pieces of 0 items: a piece has at least 1";
    assert!(error.contains(says), "{error}");
}

/// Concatenates words, an operation that is associative but not commutative.
fn a_reduction_keeps_the_order<M: Machine>(machine: &M) {
    for count in [0, 1, 40, 3_000] {
        let words = on(machine, |worker| {
            let word = |worker: &Worker<'_, M::Spe>, index: usize| {
                worker.spe().compute(Cycles(1_000));
                format!("{index} ")
            };
            worker.map_reduce(0..count, String::new, word, |a, b| a + &b)
        });
        let expected: String = (0..count).map(|index| format!("{index} ")).collect();
        assert_eq!(words.unwrap(), expected);
    }
}

fn a_loop_in_a_loop_visits_each_pair_once<M: Machine>(machine: &M) {
    let sum = on(machine, |worker| {
        let row = |worker: &Worker<'_, M::Spe>, row: usize| {
            let pair = |worker: &Worker<'_, M::Spe>, column: usize| {
                worker.spe().compute(Cycles(200));
                row * column
            };
            worker.map_reduce(0..70, || 0, pair, |a, b| a + b)
        };
        worker.map_reduce(0..50, || 0, row, |a, b| a + b)
    });
    assert_eq!(sum.unwrap(), (49 * 50 / 2) * (69 * 70 / 2));
}

fn a_panic_in_a_loop_comes_out<M: Machine>(machine: &M) {
    let error = on(machine, |worker| {
        worker.for_each(0..1_000, |worker, index| {
            worker.spe().compute(Cycles(1_000));
            assert_ne!(index, 613, "the index of the panic");
        });
    });
    let error = error.unwrap_err().to_string();
    assert!(error.contains("the index of the panic"), "{error}");
}

/// Returns the simulated time of a loop of 3,000 expensive indices, and the number of indices that
/// each worker runs.
fn simulated(workers: usize, cost: impl Fn(usize) -> u64 + Sync) -> (Span, Vec<usize>) {
    let counts = Mutex::new(vec![0; workers]);
    let machine = crate::qs22();
    let seat = |spe| machine.topology().spes().position(|other| other == spe);
    let time = Pool::new(&machine).workers(workers).run(|main| {
        main.install(|worker| {
            let begin = worker.spe().now();
            worker.for_each(0..3_000, |worker, index| {
                worker.spe().compute(Cycles(cost(index)));
                counts.lock().unwrap()[seat(worker.spe().id()).unwrap()] += 1;
            });
            worker.spe().now().since(begin)
        })
    });
    (time.unwrap(), counts.into_inner().unwrap())
}

#[test]
fn one_loop_ends_up_on_all_workers_of_a_simulated_machine() {
    // The last indices cost a thousand times as much as the first indices.
    let skewed = |index| if index < 2_900 { 40 } else { 40_000 };
    let even = |_| 5_000;
    let (skewed_alone, _) = simulated(1, skewed);
    let (even_alone, _) = simulated(1, even);
    for workers in [2, 4] {
        let share = |time: Span| time.as_nanoseconds_f64() * workers as f64;
        let (time, counts) = simulated(workers, even);
        let fair = 3_000 / workers;
        let is_fair = |&count: &usize| count > fair * 9 / 10 && count < fair * 11 / 10;
        assert!(counts.iter().all(is_fair), "{counts:?}");
        assert!(share(time) < 1.05 * even_alone.as_nanoseconds_f64());
        let (time, counts) = simulated(workers, skewed);
        assert!(counts.iter().all(|&count| count > 0), "{counts:?}");
        assert!(share(time) < 1.6 * skewed_alone.as_nanoseconds_f64());
    }
}

/// The last ten indices take 6,250 times as long as the others. While a worker runs the first of
/// them, it finds out that half of the rest is worth giving away.
#[test]
fn the_end_of_a_loop_is_shared_if_it_takes_long() {
    let late = |index| if index < 2_990 { 640 } else { 4_000_000 };
    let (alone, _) = simulated(1, late);
    let (time, _) = simulated(2, late);
    let share = time.as_nanoseconds_f64() / alone.as_nanoseconds_f64();
    assert!(share < 0.65, "{share}");
}

/// Returns a host with two SPEs on two CPUs, or `None` if this process has one CPU.
fn host_of_two_cpus() -> Option<Host> {
    let host = Host::builder().spes(2).build().unwrap();
    let topology = host.topology();
    let mut places = topology.spes().map(|spe| topology.place_of(spe));
    let are_two = places.next() != places.next();
    drop(places);
    are_two.then_some(host)
}

/// Two pieces of code that meet, although neither of them calls the pool.
#[derive(Default)]
struct Meeting(AtomicUsize);

impl Meeting {
    /// Waits for the other piece of code, for up to a minute.
    fn come(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        let begin = Instant::now();
        while self.0.load(Ordering::Relaxed) < 2 {
            assert!(
                begin.elapsed() < Duration::from_secs(60),
                "nothing has come"
            );
            std::hint::spin_loop();
        }
    }
}

/// Calls `work` at once in a fresh pool, and in a pool whose other worker becomes idle only later.
fn meets_in_a_pool(work: impl Fn(&Worker<'_, HostSpe>, &Meeting) + Sync) {
    let Some(host) = host_of_two_cpus() else {
        return;
    };
    on(&host, |worker| work(worker, &Meeting::default())).unwrap();
    on(&host, |worker| {
        let (has_begun, is_late) = (AtomicBool::new(false), AtomicBool::new(false));
        worker.scope(|scope| {
            scope.spawn(worker, |_| {
                has_begun.store(true, Ordering::Relaxed);
                while !is_late.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
                let begin = Instant::now();
                while begin.elapsed() < Duration::from_millis(2) {}
            });
            while !has_begun.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
            is_late.store(true, Ordering::Relaxed);
            work(worker, &Meeting::default());
        });
    })
    .unwrap();
}

#[test]
fn the_halves_of_a_join_run_at_the_same_time_although_neither_calls_the_pool() {
    meets_in_a_pool(|worker, meeting| {
        worker.join(|_| meeting.come(), |_| meeting.come());
    });
}

#[test]
fn the_halves_of_the_outer_join_run_at_the_same_time() {
    meets_in_a_pool(|worker, meeting| {
        worker.join(
            |worker| worker.join(|_| meeting.come(), |_| ()),
            |_| meeting.come(),
        );
    });
}

#[test]
fn the_indices_of_a_loop_run_at_the_same_time_although_none_calls_the_pool() {
    meets_in_a_pool(|worker, meeting| worker.for_each(0..2, |_, _| meeting.come()));
    meets_in_a_pool(|worker, meeting| {
        let comes = |_: &Worker<'_, HostSpe>, index: usize| {
            meeting.come();
            index
        };
        assert_eq!(worker.map_reduce(0..2, || 0, comes, |a, b| a + b), 1);
    });
}

/// A worker that shares the CPU of a busy one is not woken in place of one on another CPU.
#[test]
fn halves_run_at_the_same_time_if_workers_share_cpus() {
    if host_of_two_cpus().is_none() {
        return;
    }
    let host = Host::builder().spes(16).build().unwrap();
    Pool::new(&host)
        .run(|main| {
            for _ in 0..10 {
                // All workers lie down.
                std::thread::sleep(Duration::from_millis(5));
                let meeting = Meeting::default();
                main.install(|worker| worker.join(|_| meeting.come(), |_| meeting.come()));
                std::thread::sleep(Duration::from_millis(5));
                let meeting = &Meeting::default();
                main.install(|worker| {
                    worker.scope(|scope| {
                        scope.spawn(worker, |_| meeting.come());
                        meeting.come();
                    });
                });
            }
        })
        .unwrap();
}

/// If a host has a CPU for each worker, its workers run at the same time.
#[test]
fn one_loop_ends_up_on_all_workers_of_a_host() {
    let Some(host) = host_of_two_cpus() else {
        return;
    };
    let has_run = [const { AtomicUsize::new(0) }; 2];
    on(&host, |worker| {
        worker.for_each(0..20_000_000, |worker, _| {
            let of = |worker: usize| has_run[worker].load(Ordering::Relaxed);
            if of(0) == 0 || of(1) == 0 {
                // Indices are expensive until both workers have run an index.
                has_run[worker.spe().id().index()].store(1, Ordering::Relaxed);
                let begin = Instant::now();
                while begin.elapsed() < Duration::from_micros(1) {}
            }
        });
    })
    .unwrap();
    assert_eq!(has_run.map(AtomicUsize::into_inner), [1, 1]);
}
