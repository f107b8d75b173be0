//! Tasks of a pool that wait for channels, on every machine.

#[path = "../../../tests/machines.rs"]
mod machines;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cellworks::csp::{Any, OpenNetwork, Reader, Unsent};
use cellworks::prelude::*;
use cellworks::tasks::{Main, Value, Write};
use machines::{host, plain, qs22, strict_host};

macro_rules! on_every_machine {
    ($($case:ident),+ $(,)?) => {
        on_every_machine!(@on host: $($case),+);
        on_every_machine!(@on strict_host: $($case),+);
        on_every_machine!(@on plain: $($case),+);
        on_every_machine!(@on qs22: $($case),+);
    };
    (@on $machine:ident: $($case:ident),+) => {
        mod $machine {
            $(
                #[test]
                fn $case() {
                    super::$case(&super::$machine());
                }
            )+
        }
    };
}

on_every_machine!(
    two_tasks_of_one_worker_talk,
    a_worker_runs_others_while_a_task_waits_for_a_channel,
    tasks_pass_items_round_a_ring,
    tasks_of_a_phase_use_channels,
    a_task_alternates,
    a_task_waits_for_a_channel_and_for_its_own_closures,
    an_end_that_a_task_drops_outside_a_process_closes_its_channel,
    an_end_that_the_main_program_drops_closes_its_channel,
    the_ends_of_a_task_that_never_runs_close_its_channel,
    poison_reaches_tasks,
    tasks_that_wait_for_each_other_are_named,
    tasks_find_named_channels,
    a_named_channel_that_is_misused_ends_the_run,
);

fn two_tasks_of_one_worker_talk<M: Machine>(machine: &M) {
    for capacity in [0, 3] {
        let mut channel = Channel::new();
        if capacity > 0 {
            channel = channel.buffered(capacity);
        }
        let (mut numbers, mut to_add) = channel.one_to_one::<u64>();
        let mut sum = 0;
        let run = Pool::new(machine).workers(1).run(|main| {
            let network = OpenNetwork::new(main.ppe());
            let (network, sum) = (&network, &mut sum);
            main.scope(|scope| {
                scope.spawn(main, move |worker| {
                    network.process(worker.spe(), "reader", move |process| {
                        while let Ok(number) = to_add.read(process) {
                            *sum += number;
                        }
                    });
                });
                scope.spawn(main, move |worker| {
                    network.process(worker.spe(), "writer", move |process| {
                        (1..=100).for_each(|number| numbers.write(process, number).unwrap());
                    });
                });
            });
        });
        run.unwrap();
        assert_eq!(sum, 5_050);
    }
}

/// The reader begins first, and the writer writes only when all other tasks have run.
fn a_worker_runs_others_while_a_task_waits_for_a_channel<M: Machine>(machine: &M) {
    let (mut writer, mut reader) = Channel::new().one_to_one::<usize>();
    let has_begun = AtomicBool::new(false);
    let others = AtomicUsize::new(0);
    let mut received = None;
    let run = Pool::new(machine).workers(1).run(|main| {
        main.install(|worker| {
            let network = OpenNetwork::new(worker.spe());
            let (network, has_begun, others) = (&network, &has_begun, &others);
            let received = &mut received;
            worker.scope(|scope| {
                // The newest closure runs first.
                scope.spawn(worker, move |worker| {
                    network.process(worker.spe(), "writer", move |process| {
                        writer
                            .write(process, others.load(Ordering::Relaxed))
                            .unwrap();
                    });
                });
                for _ in 0..20 {
                    scope.spawn(worker, move |_| {
                        assert!(has_begun.load(Ordering::Relaxed));
                        others.fetch_add(1, Ordering::Relaxed);
                    });
                }
                scope.spawn(worker, move |worker| {
                    network.process(worker.spe(), "reader", move |process| {
                        has_begun.store(true, Ordering::Relaxed);
                        *received = Some(reader.read(process));
                    });
                });
            });
        });
    });
    run.unwrap();
    assert_eq!(received, Some(Ok(20)));
}

/// Each of twelve tasks waits for the task before it, with 1, 2 and 4 workers.
fn tasks_pass_items_round_a_ring<M: Machine>(machine: &M) {
    const TASKS: usize = 12;
    const ROUNDS: usize = 50;
    for workers in [1, 2, 4] {
        let (mut writers, readers): (Vec<_>, Vec<_>) = (0..TASKS)
            .map(|_| Channel::new().one_to_one::<Vec<usize>>())
            .unzip();
        writers.rotate_left(1);
        let run = Pool::new(machine).workers(workers).run(|main| {
            let network = OpenNetwork::new(main.ppe());
            let network = &network;
            main.scope(|scope| {
                for (number, (mut from, mut to)) in readers.into_iter().zip(writers).enumerate() {
                    scope.spawn(main, move |worker| {
                        network.process(worker.spe(), &format!("task {number}"), move |process| {
                            if number == 0 {
                                to.write(process, Vec::new()).unwrap();
                            }
                            for round in 0..ROUNDS {
                                let mut seen = from.read(process).unwrap();
                                seen.push(number);
                                if number == 0 && round == ROUNDS - 1 {
                                    assert_eq!(seen.len(), TASKS * ROUNDS);
                                    return;
                                }
                                to.write(process, seen).unwrap();
                            }
                        });
                    });
                }
            });
        });
        run.unwrap();
    }
}

/// All tasks wait, each with a stack of its own, for the task that was submitted last.
fn tasks_of_a_phase_use_channels<M: Machine>(machine: &M) {
    const TASKS: u64 = 24;
    let mut squares = vec![0_u64; TASKS as usize];
    for workers in [1, 4] {
        let (to_square, numbers) = Channel::new().any_to_any::<u64>();
        let ran = Pool::new(machine).workers(workers).run(|main| {
            let network = OpenNetwork::new(main.ppe());
            let network = &network;
            main.phase(|phase| {
                for square in squares.chunks_mut(1) {
                    let numbers = &numbers;
                    let data = Write::new(square);
                    let task = phase.task("square", data, move |worker, square| {
                        let mut numbers = numbers.clone();
                        let name = "square";
                        let number =
                            network.process(worker.spe(), name, |process| numbers.read(process));
                        let number = number.unwrap();
                        square[0] = number * number;
                    });
                    phase.submit(main, task)?;
                }
                let to_square = &to_square;
                let write = phase.task("write", Value(TASKS), move |worker, count| {
                    let mut to_square = to_square.clone();
                    network.process(worker.spe(), "write", |process| {
                        (0..count).for_each(|n| to_square.write(process, n).unwrap());
                    });
                });
                phase.submit(main, write)?;
                Ok(())
            })
        });
        ran.unwrap().unwrap();
        squares.sort_unstable();
        assert!(squares.iter().zip(0..).all(|(&square, n)| square == n * n));
    }
}

fn a_task_alternates<M: Machine>(machine: &M) {
    let (mut left, from_left) = Channel::new().one_to_one::<u32>();
    let (mut right, from_right) = Channel::new().one_to_one::<u32>();
    let mut sums = [0, 0];
    let run = Pool::new(machine).workers(1).run(|main| {
        let network = OpenNetwork::new(main.ppe());
        let (network, sums) = (&network, &mut sums);
        main.scope(|scope| {
            scope.spawn(main, move |worker| {
                network.process(worker.spe(), "either", move |process| {
                    let (mut from_left, mut from_right) = (from_left, from_right);
                    let mut either = Alternation::fair();
                    let from_left = either.read(&mut from_left);
                    let from_right = either.read(&mut from_right);
                    for _ in 0..20 {
                        let chosen = either.select(process).unwrap();
                        if chosen == from_left {
                            sums[0] += either.take(process, &from_left);
                        } else {
                            sums[1] += either.take(process, &from_right);
                        }
                    }
                });
            });
            for writer in [&mut left, &mut right] {
                scope.spawn(main, move |worker| {
                    network.process(worker.spe(), "writer", move |process| {
                        (0..10).for_each(|number| writer.write(process, number).unwrap());
                    });
                });
            }
        });
    });
    run.unwrap();
    assert_eq!(sums, [45, 45]);
}

/// The processes wait for the other half of the join, and for the closures of the scope.
fn a_task_waits_for_a_channel_and_for_its_own_closures<M: Machine>(machine: &M) {
    for workers in [1, 4] {
        let (mut writer, mut reader) = Channel::new().one_to_one::<u64>();
        let pool = Pool::new(machine).workers(workers);
        let sum = pool.run(|main| {
            main.install(|worker| {
                let network = OpenNetwork::new(worker.spe());
                let (_, sum) = worker.join(
                    |worker| {
                        network.process(worker.spe(), "writer", |process| {
                            for _ in 0..10 {
                                let sum = |a, b| a + b;
                                let sum = worker.map_reduce(0..100, || 0, |_, i| i as u64, sum);
                                writer.write(process, sum).unwrap();
                            }
                        });
                    },
                    |worker| {
                        network.process(worker.spe(), "reader", |process| {
                            (0..10).map(|_| reader.read(process).unwrap()).sum::<u64>()
                        })
                    },
                );
                sum
            })
        });
        assert_eq!(sum.unwrap(), 49_500);
    }
}

/// Runs a task that reads from a channel, and `other`, which begins when that task waits. Returns
/// the end of the channel.
fn read_while<M: Machine, T: Item + 'static>(
    machine: &M,
    workers: usize,
    mut reader: Reader<T>,
    other: impl FnOnce(&Main<'_, M>, &OpenNetwork<'_>) + Send,
) -> Option<Ended> {
    let begun = AtomicBool::new(false);
    let mut ended = None;
    let run = Pool::new(machine).workers(workers).run(|main| {
        let network = OpenNetwork::new(main.ppe());
        let (network, begun, ended) = (&network, &begun, &mut ended);
        main.scope(|scope| {
            scope.spawn(main, move |worker| {
                network.process(worker.spe(), "reader", move |process| {
                    begun.store(true, Ordering::Relaxed);
                    *ended = reader.read(process).err();
                });
            });
            while !begun.load(Ordering::Relaxed) {
                main.ppe().now();
            }
            other(main, network);
        });
    });
    run.unwrap();
    ended
}

fn an_end_that_a_task_drops_outside_a_process_closes_its_channel<M: Machine>(machine: &M) {
    for workers in [1, 4] {
        let (writer, reader) = Channel::new().one_to_one::<u32>();
        let ended = read_while(machine, workers, reader, |main, _| {
            main.install(move |_| drop(writer));
        });
        assert_eq!(ended, Some(Ended::Closed));
    }
}

fn an_end_that_the_main_program_drops_closes_its_channel<M: Machine>(machine: &M) {
    let (writer, reader) = Channel::new().one_to_one::<u32>();
    let ended = read_while(machine, 1, reader, |_, _| drop(writer));
    assert_eq!(ended, Some(Ended::Closed));
}

fn the_ends_of_a_task_that_never_runs_close_its_channel<M: Machine>(machine: &M) {
    let (writer, reader) = Channel::new().one_to_one::<u32>();
    let ended = read_while(machine, 4, reader, |main, _| {
        let failed = main.phase(|phase| {
            let fails = phase.task("fails", Value(()), |_, ()| {
                panic!("on purpose");
            });
            let fails = phase.submit(main, fails)?;
            let never = phase.task("never", Value(()), move |_, ()| {
                unreachable!("{writer:?}");
            });
            phase.submit(main, never.after(&fails))?;
            Ok(())
        });
        failed.unwrap_err();
    });
    assert_eq!(ended, Some(Ended::Closed));
}

fn poison_reaches_tasks<M: Machine>(machine: &M) {
    for workers in [1, 4] {
        let (mut writer, reader) = Channel::new().one_to_one::<u32>();
        let ended = read_while(machine, workers, reader, |main, network| {
            main.install(|worker| {
                network.process(worker.spe(), "poisoner", |process| {
                    writer.poison(process);
                    let Unsent { item, ended } = writer.write(process, 7).unwrap_err();
                    assert_eq!((item, ended), (7, Ended::Poisoned));
                });
            });
        });
        assert_eq!(ended, Some(Ended::Poisoned));
    }
}

fn tasks_that_wait_for_each_other_are_named<M: Machine>(machine: &M) {
    let (mut to_b, mut from_a) = Channel::new().named("a to b").one_to_one::<u32>();
    let (mut to_a, mut from_b) = Channel::new().named("b to a").one_to_one::<u32>();
    let run = Pool::new(machine).workers(1).run(|main| {
        let network = OpenNetwork::new(main.ppe());
        let network = &network;
        main.scope(|scope| {
            scope.spawn(main, move |worker| {
                network.process(worker.spe(), "a", move |process| {
                    let number = from_b.read(process).unwrap();
                    to_b.write(process, number).unwrap();
                });
            });
            scope.spawn(main, move |worker| {
                network.process(worker.spe(), "b", move |process| {
                    let number = from_a.read(process).unwrap();
                    to_a.write(process, number).unwrap();
                });
            });
        });
    });
    let error = run.unwrap_err().to_string();
    for process in [
        "`b to a`, as the process `a`",
        "`a to b`, as the process `b`",
    ] {
        let wait = format!("a writer to the channel {process}");
        assert!(error.contains(&wait), "{error}");
    }
    assert!(error.contains("tasks_and_channels.rs"), "{error}");
}

fn tasks_find_named_channels<M: Machine>(machine: &M) {
    let run = Pool::new(machine).workers(1).run(|main| {
        let network = OpenNetwork::new(main.ppe());
        main.install(|worker| {
            let (numbers, ()) = worker.join(
                |worker| {
                    network.process(worker.spe(), "reader", |process| {
                        let mut numbers: Reader<u32> = process.reader(7).unwrap();
                        [(); 3].map(|()| numbers.read(process).unwrap())
                    })
                },
                |worker| {
                    network.process(worker.spe(), "writer", |process| {
                        process
                            .create(7, Channel::new().any_to_one::<u32>())
                            .unwrap();
                        let mut numbers: Writer<u32, Any> = process.writer(7).unwrap();
                        (1..=3).for_each(|number| numbers.write(process, number).unwrap());
                    });
                },
            );
            numbers
        })
    });
    assert_eq!(run.unwrap(), [1, 2, 3]);
}

fn a_named_channel_that_is_misused_ends_the_run<M: Machine>(machine: &M) {
    let run = Pool::new(machine).workers(1).run(|main| {
        let network = OpenNetwork::new(main.ppe());
        main.install(|worker| {
            network.process(worker.spe(), "twice", |process| {
                let channel = || Channel::new().one_to_one::<u32>();
                process.create(7, channel()).unwrap();
                let error: ProcessError = process.create(7, channel()).unwrap_err().into();
                assert_eq!(error.ended(), Some(Ended::Poisoned));
            });
        });
    });
    let error = run.unwrap_err().to_string();
    assert!(
        error.contains("the process `twice`") && error.contains("channel 7"),
        "{error}"
    );
}
