//! Random tasks in random schedules. Every task runs once, in an order that gives the right result.

use cellworks_machine::{Cycles, Machine, Spe};
use cellworks_tasks::{Handle, Part, Pool, Priority, Staging, Update};
use proptest::prelude::*;

const BLOCKS: usize = 6;
const BLOCK: usize = 16;

/// A task that reads two blocks to change a third block.
#[derive(Clone, Debug)]
struct Step {
    to: usize,
    /// The distances from the changed block to the two blocks that the task reads.
    from: [usize; 2],
    priority: Priority,
    is_locked: bool,
    yields: usize,
}

/// A task that changes its own rows, and may be diced.
#[derive(Clone, Debug)]
struct Sweep {
    rows: usize,
    is_diced: bool,
}

#[derive(Clone, Debug)]
struct Program {
    workers: usize,
    staging: Staging,
    steps: Vec<Step>,
    sweeps: Vec<Sweep>,
}

fn programs() -> impl Strategy<Value = Program> {
    let priority = prop_oneof![
        6 => Just(Priority::Normal),
        1 => Just(Priority::High),
        1 => Just(Priority::Low),
    ];
    let step = (
        0..BLOCKS,
        [1..BLOCKS, 1..BLOCKS],
        priority,
        prop::bool::weighted(0.2),
        0..4_usize,
    );
    let step = step.prop_map(|(to, from, priority, is_locked, yields)| Step {
        to,
        from,
        priority,
        is_locked,
        yields,
    });
    let sweep = (1..40_usize, any::<bool>());
    let sweep = sweep.prop_map(|(rows, is_diced)| Sweep { rows, is_diced });
    let staging = prop_oneof![
        Just(Staging::Automatic),
        Just(Staging::Off),
        (1..4_usize).prop_map(Staging::Ahead),
    ];
    let steps = prop::collection::vec(step, 0..40);
    let sweeps = prop::collection::vec(sweep, 0..12);
    (1..=crate::SPES, staging, steps, sweeps).prop_map(|(workers, staging, steps, sweeps)| {
        Program {
            workers,
            staging,
            steps,
            sweeps,
        }
    })
}

/// Returns the value of an element after a step.
fn mixed(to: u64, from: [u64; 2], step: u64) -> u64 {
    to.wrapping_mul(3)
        .wrapping_add(from[0])
        .wrapping_add(from[1] << 1)
        .wrapping_add(step)
}

fn sources(step: &Step) -> [usize; 2] {
    step.from.map(|distance| (step.to + distance) % BLOCKS)
}

/// Returns the blocks after all steps, if the steps run one after the other.
fn in_turn(steps: &[Step]) -> Vec<u64> {
    let mut blocks: Vec<u64> = (0..(BLOCKS * BLOCK) as u64).collect();
    for (number, step) in steps.iter().enumerate() {
        let [a, b] = sources(step);
        for i in 0..BLOCK {
            let from = [blocks[a * BLOCK + i], blocks[b * BLOCK + i]];
            let to = &mut blocks[step.to * BLOCK + i];
            *to = mixed(*to, from, number as u64);
        }
    }
    blocks
}

fn check<M: Machine>(machine: &M, program: &Program) {
    let mut numbers: Vec<u64> = (0..(BLOCKS * BLOCK) as u64).collect();
    let rows: usize = program.sweeps.iter().map(|sweep| sweep.rows).sum();
    let mut table = vec![0_u32; 8 * rows];
    let pool = Pool::new(machine)
        .workers(program.workers)
        .staging(program.staging);
    let result = pool.run(|main| {
        main.phase(|phase| {
            let blocks = phase.blocks(&mut numbers, BLOCK);
            let lock = phase.lock();
            // For each block: the last task that changes it, and the later tasks that read it.
            let mut changed: [Option<Handle<'_, M::Spe>>; BLOCKS] = Default::default();
            let mut read: [Vec<Handle<'_, M::Spe>>; BLOCKS] = Default::default();
            let mut rest = &mut table[..];
            let mut sweeps = program.sweeps.iter();
            for (number, step) in program.steps.iter().enumerate() {
                let [a, b] = sources(step);
                let yields = step.yields;
                let work = move |spe: &M::Spe| {
                    for _ in 0..yields {
                        spe.compute(Cycles(500));
                        spe.yield_now();
                    }
                };
                // If a step reads the same block twice, its data names the block once.
                let to = blocks.update(step.to);
                let mut task = if a == b {
                    phase.task("step", (to, blocks.read(a)), move |worker, (to, a)| {
                        work(worker.spe());
                        for (to, a) in to.iter_mut().zip(a) {
                            *to = mixed(*to, [*a, *a], number as u64);
                        }
                    })
                } else {
                    let data = (to, blocks.read(a), blocks.read(b));
                    phase.task("step", data, move |worker, (to, a, b)| {
                        work(worker.spe());
                        for ((to, a), b) in to.iter_mut().zip(a).zip(b) {
                            *to = mixed(*to, [*a, *b], number as u64);
                        }
                    })
                };
                let before = [a, b].map(|from| changed[from].iter());
                let before = before.into_iter().flatten().chain(&changed[step.to]);
                for other in before.chain(&read[step.to]) {
                    task = task.after(other);
                }
                if step.is_locked {
                    task = task.locked(&lock);
                }
                let handle = phase.submit(main, task.priority(step.priority))?;
                read[a].push(handle.clone());
                read[b].push(handle.clone());
                read[step.to].clear();
                changed[step.to] = Some(handle);
                // Submits the tasks of the other kind in between.
                if let Some(sweep) = sweeps.next() {
                    rest = submit_sweep(main, phase, sweep, rest)?;
                }
            }
            for sweep in sweeps {
                rest = submit_sweep(main, phase, sweep, rest)?;
            }
            Ok(())
        })
    });
    result.unwrap().unwrap();
    assert_eq!(numbers, in_turn(&program.steps));
    assert!(table.iter().all(|&x| x == 1), "{table:?}");
}

/// Submits a task that counts in its rows. Returns the remaining rows.
fn submit_sweep<'scope, M: Machine>(
    main: &cellworks_tasks::Main<'_, M>,
    phase: &'scope cellworks_tasks::Phase<'scope, '_, M::Spe>,
    sweep: &Sweep,
    rest: &'scope mut [u32],
) -> Result<&'scope mut [u32], cellworks_tasks::TaskError> {
    let (rows, rest) = rest.split_at_mut(8 * sweep.rows);
    let data = (Part(0..sweep.rows), Update::rows(rows, 8));
    let task = phase.task("sweep", data, |worker, (part, rows)| {
        assert_eq!(rows.len(), 8 * part.len());
        worker.spe().compute(Cycles(200 * part.len() as u64));
        rows.iter_mut().for_each(|x| *x += 1);
    });
    let task = if sweep.is_diced { task.diced() } else { task };
    phase.submit(main, task)?;
    Ok(rest)
}

proptest! {
    #![proptest_config(crate::random_cases())]

    #[test]
    fn on_the_host(program in programs()) {
        check(&crate::host(), &program);
    }

    #[test]
    fn on_a_strict_host(program in programs()) {
        check(&crate::strict_host(), &program);
    }

    #[test]
    fn on_a_simulated_machine(program in programs(), seed in any::<u64>()) {
        check(&crate::qs22_with_seed(seed), &program);
    }
}
