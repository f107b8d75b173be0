//! The programs that are tasks of a pool, on every machine and on a simulated PlayStation 3.

use std::fmt::Debug;

use cellworks_apps::{BarnesHut, Done, Lu, Mandelbrot, OnOff, Program, Scheduler, Workers};
use cellworks_host::Host;
use cellworks_machine::Machine;
use cellworks_sim::{Description, Sim};

use crate::plain_machine::PlainMachine;

fn ps3() -> Sim {
    Sim::new(Description::built_in("ps3").unwrap()).unwrap()
}

fn done<P: Program>(program: P, machine: &impl Machine) -> Done<P> {
    match program.run(machine) {
        Ok(quantities) => Done {
            program,
            quantities,
        },
        Err(error) => panic!("{program:?}: {error}"),
    }
}

/// Runs programs on every machine. The programs check their results, and `check` checks more.
fn on_every_machine<P: Program>(programs: &[P], check: impl Fn(&Done<P>)) {
    let (plain, ps3) = (PlainMachine::new(4), ps3());
    let host = Host::builder().spes(4).build().unwrap();
    let strict_host = Host::builder().spes(4).strict().build().unwrap();
    for program in programs {
        check(&done(program.clone(), &plain));
        check(&done(program.clone(), &host));
        check(&done(program.clone(), &strict_host));
        check(&done(program.clone(), &ps3));
    }
}

fn workers(workers: usize, buffering: OnOff, dicing: OnOff) -> Workers {
    Workers {
        workers,
        buffering,
        dicing,
        scheduler: Scheduler::Stealing,
    }
}

/// Pools of one worker and of several, with and without buffering and dicing.
fn pools() -> Vec<Workers> {
    let settings = [
        (OnOff::On, OnOff::On),
        (OnOff::On, OnOff::Off),
        (OnOff::Off, OnOff::On),
        (OnOff::Off, OnOff::Off),
    ];
    let of = |count| settings.map(|(buffering, dicing)| workers(count, buffering, dicing));
    [1, 4].into_iter().flat_map(of).collect()
}

fn lu(size: usize) -> Lu {
    Lu {
        workers: workers(4, OnOff::On, OnOff::On),
        size,
    }
}

fn barnes_hut(bodies: usize) -> BarnesHut {
    BarnesHut {
        workers: workers(4, OnOff::On, OnOff::On),
        bodies,
        steps: 1,
    }
}

fn mandelbrot(tasks: usize) -> Mandelbrot {
    Mandelbrot {
        workers: workers(4, OnOff::On, OnOff::On),
        tasks,
        frames: 1,
        iterations: 20,
    }
}

/// A number of bodies for which only a sample of the phases is simulated.
const SAMPLED: usize = 51_200;

fn seconds<P: Program>(done: &Done<P>) -> f64 {
    done.value("run_time").unwrap()
}

#[test]
fn a_matrix_is_factored_by_every_pool() {
    let factored = |done: &Done<Lu>| {
        let residual = done.value("residual").unwrap();
        assert!(residual < 1e-5, "{done:?}");
        assert!(done.value("tasks_run").unwrap() > 0.0 || done.program.size == 1);
    };
    // The columns are not multiples of a cache line, and there are several tiles.
    let with = |workers| Lu { workers, ..lu(70) };
    on_every_machine(&pools().into_iter().map(with).collect::<Vec<_>>(), factored);
    on_every_machine(&[lu(1), lu(2), lu(3), lu(130)], factored);
}

#[test]
fn bodies_are_moved_by_every_pool() {
    let moved = |done: &Done<BarnesHut>| {
        assert!(done.value("energy_drift").unwrap() < 1e-3, "{done:?}");
        assert!(done.value("force_error").unwrap() < 0.03, "{done:?}");
    };
    let with = |workers| BarnesHut {
        workers,
        steps: 3,
        ..barnes_hut(1_100)
    };
    on_every_machine(&pools().into_iter().map(with).collect::<Vec<_>>(), moved);
    on_every_machine(&[2, 512, 513].map(barnes_hut), moved);
}

#[test]
fn the_picture_is_the_same_however_it_is_submitted() {
    let drawn = |done: &Done<Mandelbrot>| assert!(done.value("tasks_run").unwrap() > 0.0);
    let with = |workers| Mandelbrot {
        workers,
        frames: 2,
        ..mandelbrot(9)
    };
    on_every_machine(&pools().into_iter().map(with).collect::<Vec<_>>(), drawn);
    on_every_machine(&[1, 200, 480].map(mandelbrot), drawn);
}

#[test]
fn tasks_have_the_rows_of_the_picture_divided_by_their_number_and_rounded() {
    let run = |tasks| {
        let mandelbrot = Mandelbrot {
            workers: workers(2, OnOff::On, OnOff::Off),
            ..mandelbrot(tasks)
        };
        done(mandelbrot, &ps3()).value("tasks_run").unwrap()
    };
    // These tasks have 480, 240, 4, 2 and 1 rows.
    assert_eq!(
        [1, 2, 128, 200, 480].map(run),
        [1.0, 2.0, 120.0, 240.0, 480.0]
    );
}

#[test]
fn buffering_gains_on_columns_and_less_on_bodies() {
    let machine = ps3();
    // One worker: with six the PPE, which makes the tasks, is the limit.
    let gain_of_lu = {
        let [on, off] = [OnOff::On, OnOff::Off].map(|buffering| {
            let lu = Lu {
                workers: workers(1, buffering, OnOff::Off),
                ..lu(128)
            };
            seconds(&done(lu, &machine))
        });
        off / on
    };
    assert!(gain_of_lu > 1.5, "{gain_of_lu}");
    let [on, off] = [OnOff::On, OnOff::Off].map(|buffering| {
        let barnes_hut = BarnesHut {
            workers: workers(1, buffering, OnOff::Off),
            ..barnes_hut(SAMPLED)
        };
        seconds(&done(barnes_hut, &machine))
    });
    assert!((1.0..gain_of_lu).contains(&(off / on)), "{on} {off}");
}

#[test]
fn one_task_of_the_picture_is_drawn_by_all_workers_if_it_is_diced() {
    let machine = ps3();
    let run = |count, dicing| {
        let mandelbrot = Mandelbrot {
            workers: workers(count, OnOff::On, dicing),
            ..mandelbrot(1)
        };
        done(mandelbrot, &machine)
    };
    let alone = seconds(&run(1, OnOff::On));
    let diced = run(6, OnOff::On);
    assert!(alone / seconds(&diced) > 4.0, "{alone} {diced:?}");
    assert!(diced.value("diced").unwrap() >= 1.0, "{diced:?}");
    let whole = run(6, OnOff::Off);
    assert!(
        (seconds(&whole) / alone - 1.0).abs() < 0.01,
        "{alone} {whole:?}"
    );
    assert_eq!(whole.value("diced"), Some(0.0));
}

/// Returns the time to draw the picture by six workers.
fn drawn_by_six(scheduler: Scheduler, tasks: usize) -> f64 {
    let is_on = match scheduler {
        Scheduler::Mars => OnOff::Off,
        _ => OnOff::On,
    };
    let mandelbrot = Mandelbrot {
        workers: Workers {
            scheduler,
            ..workers(6, is_on, is_on)
        },
        iterations: 200,
        ..mandelbrot(tasks)
    };
    seconds(&done(mandelbrot, &ps3()))
}

#[test]
fn the_number_of_tasks_hardly_matters_to_a_picture_that_is_diced() {
    // Section 5.3 of the paper: "our system remains steady in performance".
    let times = [1, 16, 24, 40, 480].map(|tasks| drawn_by_six(Scheduler::ThreeLevel, tasks));
    let least = times.into_iter().fold(f64::INFINITY, f64::min);
    assert!(times.iter().all(|time| time / least < 1.1), "{times:?}");
}

#[test]
fn a_worker_that_draws_keeps_no_queue_locked() {
    let [many, rows] = [240, 480].map(|tasks| drawn_by_six(Scheduler::Mars, tasks));
    assert!(many / rows < 1.02, "{many} {rows}");
}

#[test]
fn bodies_are_shared_by_all_workers() {
    let machine = ps3();
    let all: Vec<_> = [1, 2, 6]
        .map(|count| {
            let barnes_hut = BarnesHut {
                workers: workers(count, OnOff::On, OnOff::Off),
                ..barnes_hut(SAMPLED)
            };
            done(barnes_hut, &machine)
        })
        .into();
    let conclusions = BarnesHut::conclusions(&all);
    let speedups: Vec<_> = conclusions.iter().map(|one| one.quantity.value).collect();
    assert_eq!(speedups[0], 1.0);
    // The speed-up is lower, because phases end with a barrier.
    assert!((1.8..2.0).contains(&speedups[1]), "{speedups:?}");
    assert!((4.0..6.0).contains(&speedups[2]), "{speedups:?}");
    let figure = &BarnesHut::figures(&all)[0];
    assert_eq!(figure.x.label, "number of workers");
    assert_eq!(figure.curves[0].points.len(), 3);
    // Without a run with one worker there is no comparison.
    assert!(BarnesHut::conclusions(&all[1..]).is_empty());
}

#[test]
fn a_large_matrix_is_simulated_at_a_sample_of_its_steps() {
    let done = done(lu(600), &ps3());
    assert_eq!(done.value("steps_simulated"), Some(12.0));
    assert_eq!(done.value("residual"), None);
}

/// The PPE makes the tasks one after the other, in 7.25 us each. A worker takes three times as long
/// for a task.
#[test]
fn a_matrix_takes_as_long_with_six_workers_as_with_three() {
    let time = |count| {
        let workers = workers(count, OnOff::Off, OnOff::Off);
        let lu = Lu {
            workers,
            ..lu(1_024)
        };
        done(lu, &ps3()).value("run_time").unwrap()
    };
    let [one, three, six] = [1, 3, 6].map(time);
    assert!((0.97..1.03).contains(&(six / three)), "{three} {six}");
    assert!((2.0..2.6).contains(&(one / six)), "{one} {six}");
}

#[test]
fn fitted_costs_are_results_of_a_simulated_cell() {
    let of = |buffering| {
        let workers = workers(2, buffering, OnOff::Off);
        let lu = Lu { workers, ..lu(20) };
        let bodies = BarnesHut {
            workers,
            ..barnes_hut(600)
        };
        (lu, bodies)
    };
    for (buffering, wait) in [(OnOff::On, 0.0), (OnOff::Off, 39_000.0)] {
        let (lu, bodies) = of(buffering);
        let (lu, bodies) = (done(lu, &ps3()), done(bodies, &ps3()));
        assert_eq!(lu.value("update_cost"), Some(16.0));
        assert_eq!(lu.value("making_cost"), Some(23_200.0));
        assert_eq!(lu.value("wait_cost"), Some(wait));
        assert_eq!(bodies.value("walk_factor"), Some(0.047));
        assert_eq!(bodies.value("wait_cost"), Some(wait));
    }
    let strict_host = Host::builder().spes(2).strict().build().unwrap();
    let (lu, bodies) = of(OnOff::Off);
    assert_eq!(done(lu, &strict_host).value("making_cost"), None);
    assert_eq!(done(bodies, &strict_host).value("wait_cost"), None);
}

#[test]
fn curves_of_settings_are_named_by_what_is_set() {
    let of = |buffering, count| Done {
        program: Lu {
            workers: workers(count, buffering, OnOff::On),
            ..lu(64)
        },
        quantities: vec![cellworks_apps::Quantity {
            name: "run_time",
            value: 1.0,
            unit: "s",
        }],
    };
    let all = [
        of(OnOff::On, 1),
        of(OnOff::On, 2),
        of(OnOff::Off, 1),
        of(OnOff::Off, 2),
    ];
    let figure = &Lu::figures(&all)[0];
    let names: Vec<_> = figure.curves.iter().map(|curve| &*curve.name).collect();
    assert_eq!(names, ["buffering on", "buffering off"]);
}

/// The programs compare their results with the expected results.
#[test]
fn programs_run_with_the_schedulers_of_the_paper() {
    let schedulers = [
        (Scheduler::ThreeLevel, OnOff::On),
        (Scheduler::ThreeLevel, OnOff::Off),
        (Scheduler::Mars, OnOff::Off),
    ];
    for (scheduler, is_on) in schedulers {
        let workers = Workers {
            scheduler,
            ..workers(3, is_on, is_on)
        };
        Lu { workers, ..lu(64) }.run(&ps3()).unwrap();
        let bodies = BarnesHut {
            workers,
            ..barnes_hut(600)
        };
        bodies.run(&ps3()).unwrap();
        let picture = Mandelbrot {
            workers,
            tasks: 1,
            frames: 1,
            iterations: 50,
        };
        picture.run(&ps3()).unwrap();
    }
}

#[track_caller]
fn refused<P: Program + Debug>(program: P, parameter: &str, message: &str) {
    crate::refused(&ps3(), program, parameter, message);
}

#[test]
fn what_makes_no_sense_is_refused_by_the_parameter_that_is_wrong() {
    let with = |workers| Lu { workers, ..lu(64) };
    refused(
        with(workers(0, OnOff::On, OnOff::On)),
        "workers",
        "0 workers do nothing; use at least 1",
    );
    refused(
        with(workers(7, OnOff::On, OnOff::On)),
        "workers",
        "each worker has an SPE, and ps3 has 6, not 7; use at most 6",
    );
    let mars = |buffering, dicing| Lu {
        workers: Workers {
            scheduler: Scheduler::Mars,
            ..workers(1, buffering, dicing)
        },
        ..lu(64)
    };
    refused(
        mars(OnOff::Off, OnOff::On),
        "dicing",
        "mars does not split tasks; use --dicing off, or another scheduler",
    );
    refused(
        mars(OnOff::On, OnOff::Off),
        "buffering",
        "mars stages nothing ahead; use --buffering off, or another scheduler",
    );
    refused(lu(0), "size", "0 rows do nothing; use at least 1");
    refused(
        lu(4_097),
        "size",
        "a matrix of 4097 rows takes too long, and too much memory; use at most 4096",
    );
    refused(
        barnes_hut(1),
        "bodies",
        "gravity of 1 bodies is not simulated; use 2 to 1000000",
    );
    refused(
        BarnesHut {
            steps: 0,
            ..barnes_hut(100)
        },
        "steps",
        "0 steps do nothing; use at least 1",
    );
    refused(
        BarnesHut {
            steps: 1_000_001,
            ..barnes_hut(100)
        },
        "steps",
        "1000001 steps take too long; use at most 1000000",
    );
    refused(mandelbrot(0), "tasks", "0 tasks do nothing; use at least 1");
    refused(
        mandelbrot(481),
        "tasks",
        "481 tasks are more than the picture has rows; use at most 480",
    );
    refused(
        Mandelbrot {
            frames: 0,
            ..mandelbrot(1)
        },
        "frames",
        "0 frames do nothing; use at least 1",
    );
    refused(
        Mandelbrot {
            frames: 100_001,
            ..mandelbrot(1)
        },
        "frames",
        "100001 frames take too long; use at most 100000",
    );
    refused(
        Mandelbrot {
            iterations: 0,
            ..mandelbrot(1)
        },
        "iterations",
        "0 iterations do nothing; use at least 1",
    );
}
