//! Draws the Mandelbrot set as one task, which the pool splits while the task runs, on this
//! computer and on a simulated PlayStation 3.

use cellworks::machine::{Cycles, Time};
use cellworks::prelude::*;
use cellworks::sim::Description;
use cellworks::tasks::{Part, Write};

const WIDTH: usize = 72;
const HEIGHT: usize = 24;
const ITERATIONS: u16 = 500;

/// The cycles of an iteration on an SPU: three operations of 6 cycles, which depend on each other.
const CYCLES: u64 = 18;

/// Returns the number of iterations until a point of the picture leaves the set.
fn iterations(x: usize, y: usize) -> u16 {
    let (cx, cy) = (x as f32 / 24.0 - 2.2, y as f32 / 10.0 - 1.15);
    let (mut zx, mut zy) = (0.0_f32, 0.0_f32);
    for done in 0..ITERATIONS {
        if zx * zx + zy * zy > 4.0 {
            return done;
        }
        (zx, zy) = (zx * zx - zy * zy + cx, 2.0 * zx * zy + cy);
    }
    ITERATIONS
}

/// Draws the picture on any machine. Returns a text with the time and the number of parts.
fn draw<M: Machine>(
    machine: &M,
    picture: &mut [u16],
) -> Result<String, Box<dyn std::error::Error>> {
    let pool = Pool::new(machine);
    let (took, counters) = pool.run_counted(|main| {
        main.phase(|phase| {
            let data = (Part(0..HEIGHT), Write::rows(picture, WIDTH));
            let task = phase.task("draw", data, |worker, (rows, picture)| {
                for (y, row) in rows.zip(picture.chunks_mut(WIDTH)) {
                    for (x, point) in row.iter_mut().enumerate() {
                        *point = iterations(x, y);
                        worker.spe().compute(Cycles(CYCLES * u64::from(*point)));
                    }
                }
            });
            phase.submit(main, task.diced())?;
            Ok(())
        })?;
        Ok::<_, TaskError>(main.ppe().now().since(Time::default()))
    })?;
    let parts: u64 = counters.workers.iter().map(|worker| worker.tasks).sum();
    let workers = counters.workers.len();
    Ok(format!("{workers} workers, {parts} parts, {}", took?))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut picture = vec![0; WIDTH * HEIGHT];
    let here = draw(&Host::new()?, &mut picture)?;
    for row in picture.chunks(WIDTH) {
        let shade = |&point: &u16| match point {
            ITERATIONS => '#',
            20.. => '+',
            8.. => '.',
            _ => ' ',
        };
        println!("{}", row.iter().map(shade).collect::<String>().trim_end());
    }
    println!("this computer: {here}");

    let mut again = vec![0; WIDTH * HEIGHT];
    let console = Sim::new(Description::load("ps3")?)?;
    println!("a PlayStation 3: {}", draw(&console, &mut again)?);
    assert!(again == picture, "both machines draw the same");
    Ok(())
}
