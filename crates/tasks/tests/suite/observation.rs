//! Tests of the trace and the counters of a pool on a simulated machine.

use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use cellworks_machine::{Cycles, Machine, PpeCore, Span, Spe};
use cellworks_sim::trace::{Slice, read_slices};
use cellworks_sim::{Description, Sim};
use cellworks_tasks::{Counters, Main, Part, Pool, Update, Value};

use crate::{host, qs22};

/// A file in memory, because the test reads the contents afterwards.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs a program of a pool on a PS3. Returns the activities of the workers, and the counters.
fn traced(workers: usize, program: impl FnOnce(&Main<'_, Sim>)) -> (Vec<Slice>, Counters) {
    let kept = Kept::default();
    let ps3 = Description::built_in("ps3").unwrap();
    let sim = Sim::builder(ps3)
        .trace(Box::new(kept.clone()))
        .build()
        .unwrap();
    let run = Pool::new(&sim).workers(workers).run_counted(program);
    let ((), counters) = run.unwrap();
    assert!(sim.take_trace_error().is_none());
    let bytes = kept.0.lock().unwrap();
    let mut slices = read_slices(&bytes).unwrap();
    slices.retain(|slice| slice.track.ends_with("/activities"));
    (slices, counters)
}

/// The activities of one worker that have this name.
fn named<'a>(slices: &'a [Slice], worker: usize, name: &'a str) -> impl Iterator<Item = &'a Slice> {
    let track = format!("SPE {worker}/");
    let is_it = move |slice: &&Slice| slice.track.starts_with(&track) && slice.name == name;
    slices.iter().filter(is_it)
}

/// Whether `part` lies within `whole`, and does not begin where `whole` ends.
fn is_within(part: &Slice, whole: &Slice) -> bool {
    let begins_within = (whole.start_ns..whole.end_ns).contains(&part.start_ns);
    part.track == whole.track && begins_within && part.end_ns <= whole.end_ns
}

#[test]
fn a_trace_has_the_tasks_of_each_spe_and_when_they_waited_for_their_data() {
    const WORKERS: usize = 3;
    let mut rows = vec![0_u32; 1_024 * 60];
    let (slices, counters) = traced(WORKERS, |main| {
        let done = main.phase(|phase| {
            for row in rows.chunks_mut(1_024) {
                let row = phase.task("row", Update::new(row), |worker, row| {
                    worker.spe().compute(Cycles(32_000));
                    row[0] = 1;
                });
                phase.submit(main, row)?;
            }
            Ok(())
        });
        done.unwrap();
    });
    assert_eq!(rows.iter().sum::<u32>(), 60);
    for (worker, counters) in counters.workers.iter().enumerate() {
        assert!(counters.tasks > 0);
        let rows: Vec<_> = named(&slices, worker, "row").collect();
        assert_eq!(rows.len() as u64, counters.tasks);
        for row in rows {
            let mut staging = named(&slices, worker, "staging").filter(|part| is_within(part, row));
            let staged = staging.next().expect("a task is staged before it runs");
            assert!(staging.next().is_none());
            assert_eq!(staged.start_ns, row.start_ns);
            assert!(row.end_ns - staged.end_ns >= 10_000, "{row:?}, {staged:?}");
        }
    }
    assert_eq!(named(&slices, WORKERS, "row").count(), 0);
}

#[test]
fn a_trace_has_dicing_and_what_tasks_wait_for() {
    let (slices, counters) = traced(2, |main| {
        let done = main.phase(|phase| {
            let whole = phase.task("rows", Part(0..64), |worker, rows| {
                worker.spe().compute(Cycles(32_000 * rows.len() as u64));
            });
            let whole = phase.submit(main, whole.diced())?;
            let waits = phase.task("waits", Value(()), move |worker, ()| {
                worker.spe().compute(Cycles(1_000));
                whole.wait(worker).unwrap();
            });
            phase.submit(main, waits)?;
            Ok(())
        });
        done.unwrap();
    });
    for (worker, counters) in counters.workers.iter().enumerate() {
        assert!(counters.tasks > 0);
        // The pool also tries to dice parts that cannot be split, so `dicing` may occur more often.
        let dicing = named(&slices, worker, "dicing").count() as u64;
        assert!(dicing >= counters.diced, "{dicing}");
    }
    let diced: u64 = counters.workers.iter().map(|worker| worker.diced).sum();
    assert!(diced > 0);
    let of_all = |name| {
        slices
            .iter()
            .filter(move |slice: &&Slice| slice.name == name)
    };
    let waits: Vec<_> = of_all("waits").collect();
    let [waits] = waits[..] else {
        panic!("{waits:?}");
    };
    assert!(of_all("waiting").any(|waiting| is_within(waiting, waits)));
}

/// Computes for a millisecond of simulated time on a PS3.
const MILLISECOND: Cycles = Cycles(3_200_000);

/// Returns the time in milliseconds in which each worker was idle because of `program`.
fn idle_milliseconds(workers: usize, program: impl FnOnce(&Main<'_, Sim>)) -> Vec<f64> {
    let idle = |program: &mut dyn FnMut(&Main<'_, Sim>)| -> Vec<f64> {
        let sim = Sim::new(Description::built_in("ps3").unwrap()).unwrap();
        let run = Pool::new(&sim).workers(workers).run_counted(program);
        let workers = run.unwrap().1.workers;
        let milliseconds = |idle: Span| idle.as_femtoseconds() as f64 * 1e-12;
        let idle = workers.iter().map(|worker| milliseconds(worker.idle));
        idle.collect()
    };
    let mut program = Some(program);
    let with_it = idle(&mut |main| program.take().unwrap()(main));
    let without = idle(&mut |_| ());
    let pairs = with_it.iter().zip(without);
    pairs.map(|(with_it, without)| with_it - without).collect()
}

/// Compares times up to 0.01 ms, far more than starting and ending tasks takes.
#[track_caller]
fn assert_near(idle: &[f64], expected: &[f64]) {
    let is_near = |(idle, expected): (&f64, &f64)| (idle - expected).abs() < 0.01;
    assert!(
        idle.len() == expected.len() && idle.iter().zip(expected).all(is_near),
        "{idle:?}, and not {expected:?}"
    );
}

#[test]
fn a_worker_is_not_idle_while_one_of_its_threads_runs_a_task() {
    let idle = idle_milliseconds(1, |main| {
        main.install(|worker| worker.spe().compute(MILLISECOND));
        main.ppe().compute(Cycles(2 * MILLISECOND.0));
        main.install(|worker| {
            for _ in 0..3 {
                worker.spe().compute(MILLISECOND);
                // The other thread of the worker looks for a task.
                worker.spe().yield_now();
            }
        });
    });
    assert_near(&idle, &[2.0]);
}

#[test]
fn a_worker_is_idle_while_its_only_task_waits_for_one_of_another_worker() {
    let idle = idle_milliseconds(2, |main| {
        let done = main.phase(|phase| {
            let computes = phase.task("computes", Value(()), |worker, ()| {
                worker.spe().compute(Cycles(4 * MILLISECOND.0));
            });
            let computes = phase.submit(main, computes)?;
            let waits = phase.task("waits", Value(()), move |worker, ()| {
                worker.spe().compute(MILLISECOND);
                computes.wait(worker).unwrap();
                worker.spe().compute(MILLISECOND);
            });
            phase.submit(main, waits)?;
            Ok(())
        });
        done.unwrap();
    });
    // The first worker computes for 4 ms and then has no task for 1 ms. The other worker waits for
    // 3 ms.
    assert_near(&idle, &[1.0, 3.0]);
}

/// What each worker has received from the other workers.
fn received(counters: &Counters) -> Vec<u64> {
    let mut received = vec![0; counters.workers.len()];
    let is_worker = |at: usize| at < counters.workers.len();
    for flow in counters.flows.iter().filter(|flow| is_worker(flow.from)) {
        assert_ne!(flow.from, flow.to);
        received[flow.to] += flow.messages;
    }
    received
}

fn steals_are_the_flows_between_workers<M: Machine>(machine: &M) {
    let pool = Pool::new(machine).workers(2);
    let run = pool.run_counted(|main| {
        let done = main.phase(|phase| {
            for _ in 0..40 {
                let task = phase.task("task", Value(()), |worker, ()| {
                    worker.spe().compute(Cycles(20_000));
                    worker.join(
                        |worker| worker.spe().compute(Cycles(20_000)),
                        |worker| worker.spe().compute(Cycles(20_000)),
                    );
                });
                phase.submit(main, task)?;
            }
            Ok(())
        });
        done.unwrap();
    });
    let ((), counters) = run.unwrap();
    let names: Vec<&str> = counters
        .flows
        .parties()
        .iter()
        .map(|party| &*party.name)
        .collect();
    assert_eq!(names, ["worker 0", "worker 1", "main"]);
    let steals: Vec<u64> = counters
        .workers
        .iter()
        .map(|worker| worker.steals)
        .collect();
    assert_eq!(received(&counters), steals);
    let from_main = counters.flows.between("main", "worker 0").messages
        + counters.flows.between("main", "worker 1").messages;
    assert!((1..=40).contains(&from_main), "{from_main}");
}

/// The bytes of all flows from the main program, or between workers.
fn bytes_of(counters: &Counters, are_from_main: bool) -> u64 {
    let main = counters.workers.len();
    let flows = counters.flows.iter();
    let flows = flows.filter(|flow| (flow.from == main) == are_from_main);
    flows.map(|flow| flow.bytes).sum()
}

fn work_has_the_bytes_of_its_data_or_of_its_closure<M: Machine>(machine: &M) {
    for workers in [1, 2] {
        let pool = Pool::new(machine).workers(workers);
        let mut rows = vec![0_u32; 40 * 64];
        let tasks = pool.run_counted(|main| {
            let done = main.phase(|phase| {
                for row in rows.chunks_mut(64) {
                    let task = phase.task("row", Update::new(row), |_, row| row[0] += 1);
                    phase.submit(main, task)?;
                }
                Ok(())
            });
            done.unwrap();
        });
        assert_eq!(bytes_of(&tasks.unwrap().1, true), 40 * 256);

        let closures = pool.run_counted(|main| {
            main.scope(|scope| {
                for number in 0..40_u64 {
                    let many = [number; 10];
                    scope.spawn(main, move |_| _ = black_box(many));
                    scope.spawn(main, move |_| _ = black_box(number));
                }
            });
        });
        assert_eq!(bytes_of(&closures.unwrap().1, true), 40 * (80 + 8));
    }
}

#[test]
fn a_half_of_a_join_has_the_bytes_of_its_closure() {
    // On one CPU, nothing has to let the other worker run while this one computes.
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1) {
        takes_a_half(&host());
    }
    takes_a_half(&qs22());
}

fn takes_a_half<M: Machine>(machine: &M) {
    let counted = Pool::new(machine).workers(2).run_counted(|main| {
        main.install(|worker| {
            let is_elsewhere = AtomicBool::new(false);
            worker.join(
                |worker| {
                    // Without a yield, so that no other thread of this worker runs the half.
                    while !is_elsewhere.load(Ordering::SeqCst) {
                        worker.join(|worker| worker.spe().compute(Cycles(1_000)), |_| ());
                    }
                },
                |_| is_elsewhere.store(true, Ordering::SeqCst),
            );
        });
    });
    let ((), counters) = counted.unwrap();
    // The empty closures that another worker may have taken, too, have no bytes.
    assert_eq!(bytes_of(&counters, false), 8);
}

crate::on_every_machine![
    steals_are_the_flows_between_workers,
    work_has_the_bytes_of_its_data_or_of_its_closure,
];
