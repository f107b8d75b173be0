//! Compares programs of a pool of two workers with the same kernels on rayon with two threads. The
//! systems take turns in one process.
//!
//! ```text
//!   lu           1,024 rows in tiles of 64
//!   barnes-hut   5 steps of 100,000 bodies: building the tree, forces, moves
//!   mandelbrot   640 x 480 pixels, as one task and as 128, ten times
//! ```
//!
//! All threads are pinned. The threads of rayon run before the time begins, and for `lu` our
//! workers do so too. The other programs of ours are whole runs of `cellworks run`, with the time
//! that it prints: the main program begins while the workers are started.
//!
//! Run it with `cargo bench -p cellworks-benches --bench programs`. If words follow `--`, only
//! tables with one of these words in the title are measured.

#[path = "channels/cpus.rs"]
#[allow(dead_code, reason = "another benchmark uses the rest")]
mod cpus;
#[path = "channels/table.rs"]
#[allow(dead_code, reason = "another benchmark uses the rest")]
mod table;

use std::hint::black_box;
use std::time::Instant;

use cellworks_apps::barnes_hut::{Body, Tree, accelerate, advance, disc, kick};
use cellworks_apps::lu::{
    Matrix, Tile, Tiles, factor_tile, factor_tiles, solve_column, solve_row, subtract_product,
};
use cellworks_apps::mandelbrot::View;
use cellworks_apps::{BarnesHut, Mandelbrot, OnOff, Program, Scheduler, Workers};
use cellworks_host::Host;
use cellworks_machine::Spe;
use cellworks_tasks::{Pool, Worker};
use rayon::iter::{IndexedParallelIterator, IntoParallelRefMutIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;
use table::{compare, system};

const SIZE: usize = 1_024;
const BODIES: usize = 100_000;
const PIXELS: usize = View::PAPER.width * View::PAPER.height;
const FRAMES: usize = 10;

const STEPS: usize = 5;

/// The same values as in [`BarnesHut`].
const THETA: f32 = 0.5;
const STEP: f32 = 0.01;
const SEED: u64 = 1;

fn main() {
    let host = Host::builder().spes(2).build();
    let host = host.expect("this computer can be measured");
    // Our workers are pinned too. Otherwise the system wakes both threads of rayon on one CPU.
    let pin = |thread: usize| cpus::use_only(&cpus::allowed()[thread..=thread]);
    let rayon = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .start_handler(pin);
    let rayon = rayon.build().expect("rayon can start two threads");
    lu(&host, &rayon);
    barnes_hut(&host, &rayon);
    mandelbrot(&host, &rayon);
}

fn workers(workers: usize, dicing: OnOff) -> Workers {
    Workers {
        workers,
        buffering: OnOff::Off,
        dicing,
        scheduler: Scheduler::Stealing,
    }
}

/// Nanoseconds for each of `count` operations.
fn each(count: usize, work: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_nanos() as f64 / count as f64
}

/// Nanoseconds for each of `count` operations, from the run time that a program returns.
fn of_run(count: usize, program: &impl Program, host: &Host) -> f64 {
    let quantities = program.run(host).expect("the result is right");
    let mut named = quantities.iter();
    let run_time = named.find(|one| one.name == "run_time");
    run_time.expect("it was timed").value * 1e9 / count as f64
}

fn fibonacci<S: Spe>(worker: &Worker<'_, S>, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = worker.join(|w| fibonacci(w, n - 1), |w| fibonacci(w, n - 2));
    a + b
}

fn lu(host: &Host, rayon: &rayon::ThreadPool) {
    let tiles = Tiles::of(&Matrix::<f64>::random(SIZE, SEED));
    let elements = SIZE * SIZE;
    let ours = |workers| {
        let mut tiles = tiles.clone();
        let pool = Pool::new(host).workers(workers);
        let measured = pool.run(|main| {
            // This wakes all workers.
            main.install(|worker| fibonacci(worker, 24));
            each(elements, || {
                factor_tiles(main, &mut tiles).expect("no task fails");
            })
        });
        measured.expect("no task fails")
    };
    compare(
        "An element of a matrix that is factored",
        vec![
            system("one thread", || {
                let mut tiles = tiles.clone();
                each(elements, || _ = black_box(tiles.factor()))
            }),
            system("**cellworks**", || ours(2)),
            system("**cellworks**, 1 worker", || ours(1)),
            system("rayon, by columns of tiles", || {
                let mut tiles = tiles.clone();
                rayon.install(|| each(elements, || factor_by_columns(&mut tiles)))
            }),
            system("rayon, by tiles", || {
                let mut tiles = tiles.clone();
                rayon.install(|| each(elements, || factor_by_tiles(&mut tiles)))
            }),
        ],
    );
}

type Column<'a> = &'a mut [Tile<f64>];

/// Factors the step's column, its tiles in parallel. Returns the tiles and the other columns.
fn factor_column<'c, 'a>(
    columns: &'c mut [Column<'a>],
    step: usize,
) -> (&'c [Tile<f64>], &'c mut [Column<'a>]) {
    let (done, others) = columns.split_at_mut(step + 1);
    let (diagonal, below) = done[step][step..]
        .split_first_mut()
        .expect("a column has a tile on the diagonal");
    factor_tile(diagonal);
    below.par_iter_mut().for_each(|tile| {
        solve_column(tile, diagonal);
    });
    (&done[step][step..], others)
}

fn factor_by_columns(tiles: &mut Tiles<f64>) {
    let count = tiles.count();
    let mut columns: Vec<_> = tiles.columns_mut().collect();
    for step in 0..count {
        let (factored, others) = factor_column(&mut columns, step);
        others.par_iter_mut().for_each(|column| {
            let (right, targets) = column[step..].split_first_mut().expect("it has a tile");
            solve_row(right, &factored[0]);
            for (target, left) in targets.iter_mut().zip(&factored[1..]) {
                subtract_product(target, left, right);
            }
        });
    }
}

fn factor_by_tiles(tiles: &mut Tiles<f64>) {
    let count = tiles.count();
    let mut columns: Vec<_> = tiles.columns_mut().collect();
    for step in 0..count {
        let (factored, others) = factor_column(&mut columns, step);
        others.par_iter_mut().for_each(|column| {
            let (right, targets) = column[step..].split_first_mut().expect("it has a tile");
            solve_row(right, &factored[0]);
            let right = &*right;
            let pairs = targets.par_iter_mut().zip(&factored[1..]);
            pairs.for_each(|(target, left)| {
                subtract_product(target, left, right);
            });
        });
    }
}

fn barnes_hut(host: &Host, rayon: &rayon::ThreadPool) {
    let ours = |dicing| {
        let program = BarnesHut {
            workers: workers(2, dicing),
            bodies: BODIES,
            steps: STEPS,
        };
        of_run(STEPS * BODIES, &program, host)
    };
    let by = |step: &(dyn Fn(&mut [Body], bool) + Sync)| {
        let mut bodies = disc(BODIES, SEED);
        each(STEPS * BODIES, || {
            (0..STEPS).for_each(|number| step(&mut bodies, number == 0));
        })
    };
    let alone = |bodies: &mut [Body], is_first: bool| {
        let tree = Tree::new(bodies);
        accelerate(bodies, tree.whole(), THETA);
        move_on(bodies, is_first);
    };
    let by_rayon = |bodies: &mut [Body], is_first: bool, set: usize| {
        let tree = Tree::new(bodies);
        bodies.par_chunks_mut(set).for_each(|set| {
            accelerate(set, tree.whole(), THETA);
        });
        let sets = bodies.par_chunks_mut(set);
        sets.for_each(|set| move_on(set, is_first));
    };
    compare(
        "A body in a step",
        vec![
            system("one thread", || by(&alone)),
            system("**cellworks**", || ours(OnOff::On)),
            system("**cellworks**, dicing off", || ours(OnOff::Off)),
            system("rayon, in sets of 512", || {
                rayon.install(|| by(&|bodies, is_first| by_rayon(bodies, is_first, 512)))
            }),
            system("rayon, in sets of 64", || {
                rayon.install(|| by(&|bodies, is_first| by_rayon(bodies, is_first, 64)))
            }),
        ],
    );
}

fn move_on(bodies: &mut [Body], is_first: bool) {
    if !is_first {
        kick(bodies, STEP);
    }
    advance(bodies, STEP);
}

fn mandelbrot(host: &Host, rayon: &rayon::ThreadPool) {
    const VIEW: View = View::PAPER;
    let ours = |tasks, dicing| Mandelbrot {
        workers: workers(2, dicing),
        tasks,
        frames: FRAMES,
        iterations: VIEW.iterations,
    };
    let run = |tasks, dicing| of_run(FRAMES * PIXELS, &ours(tasks, dicing), host);
    // The same picture is drawn each time, as by our program.
    let by = |draw: &(dyn Fn(&mut [u16]) + Sync)| {
        let mut picture = vec![0; PIXELS];
        each(FRAMES * PIXELS, || {
            for _ in 0..FRAMES {
                draw(&mut picture);
            }
        })
    };
    let alone = |picture: &mut [u16]| {
        let rows = picture.chunks_mut(VIEW.width).enumerate();
        rows.for_each(|(row, counts)| _ = VIEW.row(row, counts));
    };
    let as_one_task = |picture: &mut [u16]| {
        rayon::scope(|scope| scope.spawn(|_| alone(picture)));
    };
    let by_its_loop = |picture: &mut [u16]| {
        let rows = picture.par_chunks_mut(VIEW.width).enumerate();
        rows.for_each(|(row, counts)| _ = VIEW.row(row, counts));
    };
    compare(
        "A pixel of a picture",
        vec![
            system("one thread", || by(&alone)),
            system("**cellworks**, 1 task", || run(1, OnOff::On)),
            system("**cellworks**, 128 tasks", || run(128, OnOff::On)),
            system("**cellworks**, 128 tasks, dicing off", || {
                run(128, OnOff::Off)
            }),
            system("rayon, 1 task", || rayon.install(|| by(&as_one_task))),
            system("rayon, its own loop over rows", || {
                rayon.install(|| by(&by_its_loop))
            }),
        ],
    );
}
