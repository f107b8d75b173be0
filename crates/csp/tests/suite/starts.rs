//! Processes that start processes while their network runs.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use cellworks_csp::{
    Any, Channel, Ended, Network, NetworkError, PpePlace, Process, ProcessError, Reader, Started,
    Starter, Transport,
};
use cellworks_machine::{Machine, Span, Spe, SpeId};
use cellworks_sim::Sim;

use crate::schedules::seeds;
use crate::{by, network, on_every_machine, qs22, qs22_with_seed, spe};

on_every_machine![
    a_started_process_returns_its_value_from_any_spe,
    a_started_process_that_is_not_joined_goes_on,
    a_leaked_handle_changes_nothing,
    the_main_process_starts_others,
    started_processes_start_others,
    started_processes_borrow_what_outlives_the_network,
    a_process_is_started_by_the_last_act_of_another,
    a_thousand_processes_are_started,
    a_panic_of_a_started_process_is_named,
    an_error_of_a_started_process_is_named,
    a_started_process_that_a_channel_ended_is_no_error,
    poison_spreads_to_the_process_that_joins,
    a_deadlock_names_started_processes,
    a_process_that_is_joined_by_its_own_partner_is_a_deadlock,
    what_was_not_started_is_dropped,
    a_process_is_not_started_where_the_network_has_none,
    a_process_is_not_started_by_a_starter_of_another_network,
];

fn a_started_process_returns_its_value_from_any_spe<M: Machine>(machine: &M) {
    let seen = Mutex::new(Vec::new());
    let mut network = network(machine);
    let starter = network.starter();
    network.group(spe(1), |_| {});
    let seen_by_parent = &seen;
    network.process("parent", spe(0), move |process| {
        for at in [0, 1].map(spe) {
            let started = starter.start(process, format!("child on {at}"), at, |process| {
                Ok((process.name().to_owned(), process.place().id().index()))
            });
            seen_by_parent.lock().unwrap().push(started.join(process)?);
        }
        Ok(())
    });
    network.run().unwrap();
    let expected = [
        ("child on SPE 0".to_owned(), 0),
        ("child on SPE 1".to_owned(), 1),
    ];
    assert_eq!(seen.into_inner().unwrap(), expected);
}

fn a_started_process_that_is_not_joined_goes_on<M: Machine>(machine: &M) {
    let (writer, mut reader) = Channel::new().any_to_one::<u32>();
    let mut network = network(machine);
    let starter = network.starter();
    network.group(spe(1), |_| {});
    network.process("parent", spe(0), move |process| {
        for (number, at) in [(1, 0), (2, 1)] {
            let mut writer = writer.clone();
            drop(starter.start(process, "child", spe(at), move |process| {
                Ok(writer.write(process, number)?)
            }));
        }
        Ok(())
    });
    let sum = network.run_with(|process| {
        let (first, second) = (reader.read(process)?, reader.read(process)?);
        assert_eq!(reader.read(process), Err(Ended::Closed));
        Ok::<_, Ended>(first + second)
    });
    assert_eq!(sum.unwrap(), Ok(3));
}

fn a_leaked_handle_changes_nothing<M: Machine>(machine: &M) {
    let ended = AtomicUsize::new(0);
    let mut network = network(machine);
    let starter = network.starter();
    network.group(spe(1), |_| {});
    let counter = &ended;
    network.process("parent", spe(0), move |process| {
        for at in [0, 1].map(spe) {
            std::mem::forget(starter.start(process, "child", at, move |process| {
                process.yield_now();
                counter.fetch_add(1, Ordering::Relaxed);
                Ok(vec![1_u64, 2, 3])
            }));
        }
        Ok(())
    });
    network.run().unwrap();
    assert_eq!(ended.into_inner(), 2);
}

fn the_main_process_starts_others<M: Machine>(machine: &M) {
    let mut network = network(machine);
    let starter = network.starter();
    network.group(spe(0), |_| {});
    network.group(spe(1), |_| {});
    let places = network.run_with(|process| {
        let started = [1, 0, 1].map(|at| {
            starter.start(process, "child", spe(at), |process| {
                Ok(process.place().id().index())
            })
        });
        started.map(|started| started.join(process))
    });
    assert_eq!(places.unwrap(), [Ok(1), Ok(0), Ok(1)]);
}

/// Counts the processes of a tree. Each process knows only the depth of the tree below it.
fn count_tree<S: Spe>(
    starter: &Starter<'_, S>,
    process: &Process<'_, S>,
    depth: u32,
) -> Result<u32, ProcessError> {
    if depth == 0 {
        return Ok(1);
    }
    let here = process.place().id().index();
    let children = [here, 1 - here].map(|at| {
        let its_own = starter.clone();
        let name = format!("below {}", process.name());
        starter.start(process, name, SpeId::new(at as u16), move |process| {
            count_tree(&its_own, process, depth - 1)
        })
    });
    let mut count = 1;
    for child in children {
        count += child.join(process)?;
    }
    Ok(count)
}

fn started_processes_start_others<M: Machine>(machine: &M) {
    check_tree(machine, 4);
}

fn check_tree<M: Machine>(machine: &M, depth: u32) {
    let (mut result, mut count) = Channel::new().one_to_one();
    let mut network = network(machine);
    let starter = network.starter();
    network.group(spe(1), |_| {});
    network.process("root", spe(0), move |process| {
        let count = count_tree(&starter, process, depth)?;
        Ok(result.write(process, count)?)
    });
    let count = network.run_with(|process| count.read(process));
    assert_eq!(count.unwrap(), Ok((2 << depth) - 1));
}

#[test]
fn processes_are_started_in_any_order_of_events() {
    for seed in 0..seeds() {
        by(match seed % 2 {
            0 => Transport::Direct,
            _ => Transport::Coordinator,
        });
        check_tree(&qs22_with_seed(seed), 2);
    }
}

#[test]
fn processes_are_started_again_and_again_on_the_host() {
    let machine = crate::host();
    for _ in 0..300 {
        check_tree(&machine, 3);
    }
}

fn started_processes_borrow_what_outlives_the_network<M: Machine>(machine: &M) {
    let text = String::from("text");
    let mut network = network(machine);
    let starter = network.starter();
    network.group(spe(0), |_| {});
    let text = &text;
    let length = network.run_with(|process| {
        let started = starter.start(process, "length", spe(0), move |_| Ok(text.len()));
        started.join(process)
    });
    assert_eq!(length.unwrap(), Ok(4));
}

fn a_process_is_started_by_the_last_act_of_another<M: Machine>(machine: &M) {
    fn go_on<'env, S: Spe>(
        starter: &Starter<'env, S>,
        process: &Process<'_, S>,
        steps: &'env AtomicUsize,
    ) {
        let its_own = starter.clone();
        let next = spe(1 - process.place().id().index() as u16);
        drop(starter.start(process, "next", next, move |process| {
            if steps.fetch_add(1, Ordering::Relaxed) < 9 {
                go_on(&its_own, process, steps);
            }
            Ok(())
        }));
    }

    let steps = AtomicUsize::new(0);
    let mut network = network(machine);
    let starter = network.starter();
    network.group(spe(1), |_| {});
    let counter = &steps;
    network.process("first", spe(0), move |process| {
        go_on(&starter, process, counter);
        Ok(())
    });
    network.run().unwrap();
    assert_eq!(steps.into_inner(), 10);
}

fn a_thousand_processes_are_started<M: Machine>(machine: &M) {
    const AT_ONCE: u64 = 20;
    let mut network = network(machine);
    let starter = network.starter();
    network.group(spe(1), |_| {});
    let (mut result, mut sum) = Channel::new().one_to_one();
    network.process("parent", spe(0), move |process| {
        let mut sum = 0;
        for first in (0..1_000).step_by(AT_ONCE as usize) {
            let numbers = first..first + AT_ONCE;
            let started = numbers.map(|number| {
                let at = spe((number % 2) as u16);
                starter.start(process, format!("child {number}"), at, move |_| Ok(number))
            });
            for started in Vec::from_iter(started) {
                sum += started.join(process)?;
            }
        }
        Ok(result.write(process, sum)?)
    });
    assert_eq!(
        network.run_with(|process| sum.read(process)).unwrap(),
        Ok(499_500)
    );
}

/// Runs a network in which a process on SPE 0 starts a process on SPE 1. Returns the result of
/// `join` and the result of the network.
fn failure_of<M: Machine>(
    machine: &M,
    body: fn(&Process<'_, M::Spe>) -> Result<u32, ProcessError>,
) -> (Result<u32, Ended>, Result<(), NetworkError>) {
    let joined = Mutex::new(Ok(0));
    let mut network = network(machine);
    let starter = network.starter();
    network.group(spe(1), |_| {});
    let result = &joined;
    network.process("parent", spe(0), move |process| {
        let started = starter.start(process, "child", spe(1), body);
        *result.lock().unwrap() = started.join(process);
        Ok(())
    });
    let failure = network.run();
    (joined.into_inner().unwrap(), failure)
}

fn a_panic_of_a_started_process_is_named<M: Machine>(machine: &M) {
    let (joined, failure) = failure_of(machine, |_| panic!("all is lost"));
    assert_eq!(joined, Err(Ended::Closed));
    assert_eq!(
        failure.unwrap_err().to_string(),
        "the process `child` panicked on SPE 1: all is lost"
    );
}

fn an_error_of_a_started_process_is_named<M: Machine>(machine: &M) {
    let (joined, failure) = failure_of(machine, |_| Err("no such number".into()));
    assert_eq!(joined, Err(Ended::Closed));
    assert_eq!(
        failure.unwrap_err().to_string(),
        "the process `child` failed on SPE 1: no such number"
    );
}

fn a_started_process_that_a_channel_ended_is_no_error<M: Machine>(machine: &M) {
    let (joined, failure) = failure_of(machine, |process| {
        let (writer, mut reader) = Channel::new().one_to_one::<u32>();
        drop(writer);
        Ok(reader.read(process)?)
    });
    assert_eq!(joined, Err(Ended::Closed));
    failure.unwrap();
}

fn poison_spreads_to_the_process_that_joins<M: Machine>(machine: &M) {
    let (joined, failure) = failure_of(machine, |process| {
        let (mut writer, mut reader) = Channel::new().one_to_one::<u32>();
        writer.poison(process);
        Ok(reader.read(process)?)
    });
    assert_eq!(joined, Err(Ended::Poisoned));
    failure.unwrap();
}

fn deadlock_of(result: Result<(), NetworkError>) -> cellworks_csp::Deadlock {
    match result.unwrap_err() {
        NetworkError::Deadlock(deadlock) => deadlock,
        other => panic!("{other}"),
    }
}

fn a_deadlock_names_started_processes<M: Machine>(machine: &M) {
    let (mut to_left, mut at_left) = Channel::new().named("to the left").one_to_one::<u32>();
    let (mut to_right, mut at_right) = Channel::new().named("to the right").one_to_one::<u32>();
    let mut network = network(machine);
    let starter = network.starter();
    network.group(spe(1), |_| {});
    network.process("parent", spe(0), move |process| {
        drop(starter.start(process, "left", spe(0), move |process| {
            at_left.read(process)?;
            Ok(to_right.write(process, 1)?)
        }));
        drop(starter.start(process, "right", spe(1), move |process| {
            at_right.read(process)?;
            Ok(to_left.write(process, 1)?)
        }));
        Ok(())
    });
    let deadlock = deadlock_of(network.run());
    let cycle = deadlock.cycle.iter().map(|stuck| stuck.process.as_str());
    assert_eq!(Vec::from_iter(cycle), ["left", "right"]);
    assert!(
        deadlock.others.is_empty() && deadlock.outside.is_empty(),
        "{deadlock}"
    );
}

fn a_process_that_is_joined_by_its_own_partner_is_a_deadlock<M: Machine>(machine: &M) {
    let (mut writer, mut reader) = Channel::new().named("numbers").one_to_one::<u32>();
    let mut network = network(machine);
    let starter = network.starter();
    network.group(spe(1), |_| {});
    network.process("parent", spe(0), move |process| {
        let child = starter.start(process, "child", spe(1), move |process| {
            Ok(reader.read(process)?)
        });
        child.join(process)?;
        Ok(writer.write(process, 1)?)
    });
    let deadlock = deadlock_of(network.run());
    let cycle = deadlock.cycle.iter();
    let cycle = cycle.map(|stuck| (stuck.process.as_str(), stuck.operations[0].as_str()));
    assert_eq!(
        Vec::from_iter(cycle),
        [
            ("child", "to read the channel `numbers`"),
            ("parent", "to read the channel `result of child`"),
        ]
    );
}

fn what_was_not_started_is_dropped<M: Machine>(machine: &M) {
    struct Counted<'a>(&'a AtomicUsize);
    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    let dropped = AtomicUsize::new(0);
    let mut network = network(machine);
    let starter = network.starter();
    network.group(spe(0), |_| {});
    network.group(spe(1), |_| {});
    let counter = &dropped;
    let result = network.run_with(move |process| {
        for at in [0, 1].map(spe) {
            let (counted, its_own) = (Counted(counter), starter.clone());
            drop(starter.start(process, "child", at, move |process| {
                let _held = (counted, its_own);
                let (_writer, mut reader) = Channel::new().one_to_one::<u32>();
                Ok(reader.read(process)?)
            }));
        }
        panic!("the main process panics");
    });
    let error: NetworkError = Result::<(), _>::unwrap_err(result);
    assert_eq!(
        error.to_string(),
        "the process `main` panicked on the PPE: the main process panics"
    );
    assert_eq!(dropped.into_inner(), 2);
}

/// Returns the text of a panic of the main process.
fn panic_of(result: Result<(), NetworkError>) -> String {
    match result.unwrap_err() {
        NetworkError::Panic { payload, .. } => payload.to_string(),
        other => panic!("{other}"),
    }
}

fn a_process_is_not_started_where_the_network_has_none<M: Machine>(machine: &M) {
    let mut network = network(machine);
    let starter = network.starter();
    network.group(spe(0), |_| {});
    let result = network.run_with(|process| {
        drop(starter.start(process, "child", spe(1), |_| Ok(())));
    });
    assert_eq!(
        panic_of(result),
        "the process `main` was going to start the process `child` on SPE 1, where its network has no process; add one \
         there before the network runs, or a `group`, which may be empty"
    );
}

fn a_process_is_not_started_by_a_starter_of_another_network<M: Machine>(machine: &M) {
    let mut other = network(machine);
    let starter = other.starter();
    let network = network(machine);
    let result = network.run_with(|process| {
        drop(starter.start(process, "child", spe(0), |_| Ok(())));
    });
    assert_eq!(
        panic_of(result),
        "the process `main` was going to start the process `child` with the starter of another network; use one that its own \
         network has made"
    );
}

/// Returns the simulated time from the start of a process on `at`, by a process on SPE 0, until the
/// new process begins.
fn time_to_start_on(at: u16, transport: Transport) -> Span {
    by(transport);
    let machine = qs22();
    let (mut result, mut taken) = Channel::new().one_to_one::<Span>();
    let mut network = network(&machine);
    let starter = network.starter();
    network.group(spe(1), |_| {});
    network.process("parent", spe(0), move |process| {
        // After this start, the program of the other SPE is running.
        let child = starter.start(process, "first", spe(1), |_| Ok(()));
        child.join(process)?;
        let (mut writer, mut reader) = Channel::new().one_to_one();
        let before = process.now();
        drop(starter.start(process, "child", spe(at), move |process| {
            Ok(writer.write(process, process.now())?)
        }));
        // The time of this read must not be a part of the measured time.
        process.sleep_until(before + Span::from_femtoseconds(100_000_000_000));
        let begun = reader.read(process)?;
        Ok(result.write(process, begun.since(before))?)
    });
    let taken = network.run_with(|process| taken.read(process)).unwrap();
    taken.unwrap()
}

#[test]
fn starting_on_another_spe_takes_longer_and_the_same_each_time() {
    for transport in [Transport::Direct, Transport::Coordinator] {
        let own = time_to_start_on(0, transport);
        let other = time_to_start_on(1, transport);
        println!("{transport:?}: {own} on the own SPE, {other} on another one");
        // The PPE handles a request for 500 of its cycles.
        let handled = Span::from_femtoseconds(500 * 312_500);
        let least = own.as_femtoseconds() + handled.as_femtoseconds();
        assert!(
            other.as_femtoseconds() > least,
            "{transport:?}: {own}, {other}"
        );
        assert_eq!(own, time_to_start_on(0, transport));
        assert_eq!(other, time_to_start_on(1, transport));
    }
}

/// Runs a network in which the main process starts 70 processes on SPE 3, which live at the same
/// time.
fn start_70(
    transport: Transport,
    start: impl for<'env> Fn(
        &Starter<'env, <Sim as Machine>::Spe>,
        &Process<'_, PpePlace<'_, <Sim as Machine>::Core>>,
        String,
        Reader<u32, Any>,
    ),
) -> Result<(), NetworkError> {
    by(transport);
    let machine = qs22();
    let mut network = network(&machine);
    let starter = network.starter();
    network.group(spe(3), |_| {});
    network.run_with(|process| {
        let (writer, reader) = Channel::new().one_to_any::<u32>();
        for number in 0..70 {
            start(&starter, process, format!("child {number}"), reader.clone());
        }
        drop(writer);
    })
}

#[test]
fn a_full_local_store_names_the_process_the_spe_and_the_bytes() {
    for transport in [Transport::Direct, Transport::Coordinator] {
        let result = start_70(transport, |starter, process, name, mut reader| {
            drop(starter.start(process, name, spe(3), move |process| {
                Ok(reader.read(process)?)
            }));
        });
        let error = result.unwrap_err();
        assert!(matches!(error, NetworkError::NoRoomToStart { .. }));
        let text = error.to_string();
        let begins = "the process `child 64` cannot start on SPE 3; start it elsewhere, or give it a smaller stack by \
                      `start_with_stack`: no room for the 4096-byte stack of a cooperative thread: ";
        assert!(text.starts_with(begins), "{text}");
    }
}

#[test]
fn more_started_processes_fit_with_smaller_stacks() {
    for transport in [Transport::Direct, Transport::Coordinator] {
        let result = start_70(transport, |starter, process, name, mut reader| {
            drop(
                starter.start_with_stack(process, name, spe(3), 2_048, move |process| {
                    Ok(reader.read(process)?)
                }),
            );
        });
        result.unwrap();
    }
}

#[test]
fn a_host_starts_thousands_that_live_at_once() {
    let machine = crate::host();
    let (mut result, mut sum) = Channel::new().one_to_one::<u64>();
    let mut network = Network::on(&machine);
    let starter = network.starter();
    network.group(spe(1), |_| {});
    network.process("parent", spe(0), move |process| {
        let (mut first, mut end) = Channel::new().one_to_one::<u64>();
        for number in 0..3_000 {
            let (mut writer, reader) = Channel::new().one_to_one::<u64>();
            let mut before = std::mem::replace(&mut end, reader);
            let at = spe(number % 2);
            drop::<Started<()>>(starter.start(process, "successor", at, move |process| {
                loop {
                    let number = before.read(process)?;
                    writer.write(process, number + 1)?;
                }
            }));
        }
        first.write(process, 0)?;
        Ok(result.write(process, end.read(process)?)?)
    });
    assert_eq!(
        network.run_with(|process| sum.read(process)).unwrap(),
        Ok(3_000)
    );
}
