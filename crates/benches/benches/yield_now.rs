//! Compares the cost of a yield, and of creating, running and joining a thread, with other crates.
//!
//! All systems take turns in every repetition, in one process on one CPU, so that ratios hold on a
//! noisy machine. Prints a Markdown table: nanoseconds as median (minimum-maximum) over the
//! repetitions, and the median of the ratio to corosensei in the same repetition.
//!
//! Our threads and `may` have a run queue. corosensei, generator and the rings of futures have
//! none: a loop resumes them in an order that is known beforehand. corosensei is measured with two
//! kinds of stacks: with tops that are staggered like ours, which is the reference, and as it maps
//! them itself. generator and `may` map their stacks themselves, at places that cannot be chosen.
//! Run it with `cargo bench -p cellworks-benches --bench yield_now`.

use std::cell::Cell;
use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use cellworks_threads::{Config, NoOutside, run, scope, yield_now};
use corosensei::stack::{DefaultStack, Stack, StackPointer};
use corosensei::{Coroutine, CoroutineResult};

const REPETITIONS: usize = 15;
const THREADS: [usize; 3] = [2, 16, 1_000];
/// The number of yields or created threads in one measurement, the same for every system.
const OPERATIONS: usize = 2_000_000;
/// The size of each stack in bytes, the same for every system.
const STACK_BYTES: usize = 64 * 1024;
/// The distance between the tops of our stacks in bytes, and the number of different tops. The
/// values are those of `STAGGER_BYTES` and `STAGGER_PLACES` in src/scheduler/blocks.rs.
const STAGGER_BYTES: usize = 128;
const STAGGER_PLACES: usize = 32;

/// A measurement with a number of threads, which returns picoseconds for each operation.
type Measure = fn(usize) -> u64;

fn main() {
    pin();
    may::config()
        .set_workers(1)
        .set_stack_size(STACK_BYTES / size_of::<usize>());

    let systems: [(&str, Measure); 7] = [
        ("corosensei, bare, stacks staggered", |n| {
            yield_corosensei(n, Staggered::new)
        }),
        ("corosensei, bare", |n| {
            yield_corosensei(n, |_| stack(STACK_BYTES))
        }),
        ("**cellworks-threads**", yield_ours),
        ("generator, bare", yield_generator),
        ("may", yield_may),
        ("futures of one type, polled by hand, bare", |n| {
            yield_futures(n, |yields| Box::pin(yield_times(yields)))
        }),
        ("futures of any type, polled by hand, bare", |n| {
            yield_futures::<dyn Future<Output = ()>>(n, |yields| Box::pin(yield_times(yields)))
        }),
    ];
    println!("\nOne yield, in a ring of N threads:\n");
    println!(
        "| system | {} |",
        THREADS.map(|n| format!("N = {n}, ns | ratio")).join(" | ")
    );
    println!("|---|{}", "---|".repeat(2 * THREADS.len()));
    let columns = THREADS.map(|threads| compare(&systems, threads));
    for (system, (name, _)) in systems.iter().enumerate() {
        println!(
            "| {name} | {} |",
            columns
                .each_ref()
                .map(|column| column[system].clone())
                .join(" | ")
        );
    }

    let systems: [(&str, Measure); 2] = [
        ("corosensei, stack kept", create_corosensei),
        ("**cellworks-threads**", create_ours),
    ];
    println!("\nCreating, running and joining one thread, its stack from a pool:\n");
    println!("| system | ns | ratio |\n|---|---|---|");
    let column = compare(&systems, 1);
    for ((name, _), cell) in systems.iter().zip(column) {
        println!("| {name} | {cell} |");
    }
}

/// Measures all systems in turn, and returns two cells of a row for each system. The ratios are to
/// the first system.
fn compare(systems: &[(&str, Measure)], threads: usize) -> Vec<String> {
    let mut rounds = Vec::new();
    for round in 0..=REPETITIONS {
        let times: Vec<u64> = systems
            .iter()
            .map(|(_, measure)| measure(threads))
            .collect();
        // The first round warms up.
        if round > 0 {
            rounds.push(times);
        }
    }
    let cells = (0..systems.len()).map(|system| {
        let times = sorted(rounds.iter().map(|times| times[system] as f64 / 1000.0));
        let ratios = sorted(
            rounds
                .iter()
                .map(|times| times[system] as f64 / times[0] as f64),
        );
        let (middle, last) = (times.len() / 2, times.len() - 1);
        format!(
            "{:.2} ({:.2}-{:.2}) | {:.2}",
            times[middle], times[0], times[last], ratios[middle]
        )
    });
    cells.collect()
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Keeps this process, with `may`'s worker, on one of the CPUs that it may use.
fn pin() {
    // SAFETY: the set is plain bits, valid as zeros. Both calls only read or write it.
    unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&allowed), &mut allowed);
        let last = (0..libc::CPU_SETSIZE as usize)
            .rev()
            .find(|&cpu| libc::CPU_ISSET(cpu, &allowed));
        libc::CPU_SET(last.expect("at least one CPU is allowed"), &mut one);
        if libc::sched_setaffinity(0, size_of_val(&one), &one) != 0 {
            eprintln!("warning: cannot pin the process; the figures will be noisier");
        }
    }
}

fn picoseconds(time: Duration, operations: usize) -> u64 {
    (time.as_nanos() * 1000 / operations as u128) as u64
}

/// The number of rounds of a ring of `threads` threads that makes about `operations` operations.
fn rounds(operations: usize, threads: usize) -> usize {
    (operations / threads).max(1)
}

fn yield_ours(threads: usize) -> u64 {
    let rounds = rounds(OPERATIONS, threads);
    let result = Cell::new(0);
    let config = Config {
        stack_bytes: STACK_BYTES,
        ..Config::default()
    };
    let outcome = run(&config, &NoOutside, || {
        scope(|s| {
            // The threads run in turn, so the first thread can count the rounds for all.
            s.spawn(|| {
                for _ in 0..rounds / 10 + 1 {
                    yield_now();
                }
                let start = Instant::now();
                for _ in 0..rounds {
                    yield_now();
                }
                result.set(picoseconds(start.elapsed(), rounds * threads));
            });
            for _ in 1..threads {
                s.spawn(|| {
                    for _ in 0..rounds / 10 + 1 + rounds {
                        yield_now();
                    }
                });
            }
        });
    });
    outcome.expect("no thread waits for ever");
    result.get()
}

/// A stack as corosensei maps it.
fn stack(bytes: usize) -> DefaultStack {
    DefaultStack::new(bytes).expect("a stack can be mapped")
}

/// The stack of a thread of a ring. Its top is somewhat below the top of its mapping.
struct Staggered {
    stack: DefaultStack,
    base: StackPointer,
}

impl Staggered {
    fn new(thread: usize) -> Self {
        let stack = stack(STACK_BYTES + STAGGER_PLACES * STAGGER_BYTES);
        let base = stack.base().get() - thread % STAGGER_PLACES * STAGGER_BYTES;
        let base = StackPointer::new(base).expect("within the mapping");
        Self { stack, base }
    }
}

// SAFETY: the guard page and the limit are those of the mapping. At least `STACK_BYTES` bytes are
// between the limit and the base. The base is a multiple of 128 bytes below the base of the
// mapping, and so it is aligned.
unsafe impl Stack for Staggered {
    fn base(&self) -> StackPointer {
        self.base
    }

    fn limit(&self) -> StackPointer {
        self.stack.limit()
    }
}

/// `stack` makes the stack of the thread with a number.
fn yield_corosensei<S: Stack + 'static>(threads: usize, stack: impl Fn(usize) -> S) -> u64 {
    let rounds = rounds(OPERATIONS, threads);
    let mut ring: Vec<_> = (0..threads)
        .map(|thread| {
            Coroutine::with_stack(stack(thread), move |yielder, ()| {
                for _ in 0..rounds / 10 + 1 + rounds {
                    yielder.suspend(());
                }
            })
        })
        .collect();
    let mut go_round = |rounds| {
        for _ in 0..rounds {
            for coroutine in &mut ring {
                black_box(matches!(coroutine.resume(()), CoroutineResult::Yield(())));
            }
        }
    };
    go_round(rounds / 10 + 1);
    let start = Instant::now();
    go_round(rounds);
    let time = start.elapsed();
    go_round(1);
    picoseconds(time, rounds * threads)
}

fn yield_generator(threads: usize) -> u64 {
    let rounds = rounds(OPERATIONS, threads);
    let mut ring: Vec<_> = (0..threads)
        .map(|_| {
            generator::Gn::new_scoped_opt(
                STACK_BYTES / size_of::<usize>(),
                move |mut s: generator::Scope<'_, 'static, (), ()>| {
                    for _ in 0..rounds / 10 + 1 + rounds {
                        s.yield_with(());
                    }
                    generator::done!()
                },
            )
        })
        .collect();
    let mut go_round = |rounds| {
        for _ in 0..rounds {
            for generator in &mut ring {
                black_box(generator.resume());
            }
        }
    };
    go_round(rounds / 10 + 1);
    let start = Instant::now();
    go_round(rounds);
    let time = start.elapsed();
    go_round(1);
    picoseconds(time, rounds * threads)
}

/// `may` does not run its coroutines in turn, so the time of all coroutines is measured together.
/// It begins when a gate opens and ends with the last coroutine.
fn yield_may(threads: usize) -> u64 {
    let rounds = rounds(OPERATIONS, threads);
    let open = AtomicBool::new(false);
    let start = may::coroutine::scope(|s| {
        for _ in 0..threads {
            let body = || {
                while !open.load(Ordering::Acquire) {
                    may::coroutine::yield_now();
                }
                for _ in 0..rounds {
                    may::coroutine::yield_now();
                }
            };
            may::go!(s, body);
        }
        let start = Instant::now();
        open.store(true, Ordering::Release);
        start
    });
    picoseconds(start.elapsed(), rounds * threads)
}

/// A future that is pending once.
struct YieldOnce(bool);

impl Future for YieldOnce {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if std::mem::replace(&mut self.0, true) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

async fn yield_times(times: usize) {
    for _ in 0..times {
        YieldOnce(false).await;
    }
}

/// `future` makes a future that yields a number of times. The futures are of one concrete type, so
/// that the compiler sees their code, or are trait objects, as in an executor.
fn yield_futures<F: Future<Output = ()> + ?Sized>(
    threads: usize,
    future: impl Fn(usize) -> Pin<Box<F>>,
) -> u64 {
    let rounds = rounds(OPERATIONS, threads);
    let mut ring: Vec<_> = (0..threads)
        .map(|_| future(rounds / 10 + 1 + rounds))
        .collect();
    let mut context = Context::from_waker(Waker::noop());
    let mut go_round = |rounds| {
        for _ in 0..rounds {
            for future in &mut ring {
                black_box(future.as_mut().poll(&mut context).is_pending());
            }
        }
    };
    go_round(rounds / 10 + 1);
    let start = Instant::now();
    go_round(rounds);
    let time = start.elapsed();
    go_round(1);
    picoseconds(time, rounds * threads)
}

fn create_ours(_: usize) -> u64 {
    let config = Config {
        stack_bytes: STACK_BYTES,
        ..Config::default()
    };
    let outcome = run(&config, &NoOutside, || {
        scope(|s| {
            let mut sum = 0;
            let start = Instant::now();
            for i in 0..OPERATIONS {
                sum += s.spawn(move || black_box(i)).join().expect("no panic");
            }
            black_box(sum);
            start.elapsed()
        })
    });
    picoseconds(outcome.expect("no thread waits for ever"), OPERATIONS)
}

fn create_corosensei(_: usize) -> u64 {
    let mut stack = stack(STACK_BYTES);
    let mut sum = 0;
    let start = Instant::now();
    for i in 0..OPERATIONS {
        let mut coroutine = Coroutine::<(), (), _, _>::with_stack(stack, move |_, ()| black_box(i));
        if let CoroutineResult::Return(value) = coroutine.resume(()) {
            sum += value;
        }
        stack = coroutine.into_stack();
    }
    black_box(sum);
    picoseconds(start.elapsed(), OPERATIONS)
}
