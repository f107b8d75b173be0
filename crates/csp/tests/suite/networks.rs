//! Networks as wholes: many processes, processes that poll or panic, and one network after the
//! other.

use std::sync::Mutex;

use cellworks_csp::{
    Alternation, Any, Channel, Ended, Network, NetworkError, Process, ProcessError, Reader,
    Transport, Writer,
};
use cellworks_machine::{Cycles, Machine, Spe, SpeId, Time};
use cellworks_sim::{Description, Sim};

use crate::{network, on_every_machine, spe};

on_every_machine![
    more_processes_than_a_signal_has_bits_are_told_apart,
    a_main_process_that_polls_keeps_no_process_waiting,
    a_process_that_panics_ends_the_network,
    a_machine_runs_one_network_after_the_other,
    processes_that_time_out_again_and_again_keep_no_process_waiting,
    nothing_is_lost_in_a_crowd,
    the_items_of_a_poisoned_channel_come_back_to_a_process,
];

fn more_processes_than_a_signal_has_bits_are_told_apart<M: Machine>(machine: &M) {
    const PROCESSES: u32 = 40;
    let mut network = network(machine);
    let (mut writers, mut readers) = (Vec::new(), Vec::new());
    let (results, mut result) = Channel::new().any_to_one();
    for index in 0..PROCESSES {
        let (writer, mut reader) = Channel::new().one_to_one::<u32>();
        writers.push(writer);
        readers.push(index);
        let mut results = results.clone();
        network.process(format!("square {index}"), spe(0), move |process| {
            let number = reader.read(process)?;
            Ok(results.write(process, number * number)?)
        });
    }
    drop(results);
    network.process("source", spe(1), move |process| {
        // The last process is woken first, so that processes with the same signal bit check in
        // vain.
        for (index, writer) in writers.iter_mut().enumerate().rev() {
            writer.write(process, index as u32)?;
        }
        Ok(())
    });
    let squares = network.run_with(|process| {
        let mut squares = Vec::new();
        while let Ok(square) = result.read(process) {
            squares.push(square);
        }
        squares.sort_unstable();
        squares
    });
    let expected: Vec<_> = (0..PROCESSES).map(|index| index * index).collect();
    assert_eq!(squares.unwrap(), expected);
}

fn a_main_process_that_polls_keeps_no_process_waiting<M: Machine>(machine: &M) {
    let (mut writer, mut ping) = Channel::new().any_to_any::<u32>();
    let (mut last, mut done) = Channel::new().one_to_one::<u32>();
    let mut network = network(machine);
    network.process("left", spe(0), move |process| {
        (0..50).try_for_each(|number| Ok(writer.write(process, number)?))
    });
    network.process("right", spe(1), move |process| {
        let mut sum = 0;
        while let Ok(number) = ping.read(process) {
            sum += number;
        }
        Ok(last.write(process, sum)?)
    });
    let sum = network.run_with(|process| {
        let mut alternation = Alternation::priority();
        let guard = alternation.read(&mut done);
        loop {
            if alternation.select_or_skip(process).unwrap().is_some() {
                break alternation.take(process, &guard);
            }
            process.yield_now();
        }
    });
    assert_eq!(sum.unwrap(), 49 * 50 / 2);
}

fn a_process_that_panics_ends_the_network<M: Machine>(machine: &M) {
    let (mut writer, mut reader) = Channel::new().one_to_one::<u32>();
    let (mut never, mut waits) = Channel::new().one_to_one::<u32>();
    let mut network = network(machine);
    network.process("reader", spe(0), move |process| {
        let number = reader.read(process)?;
        let _never = &mut never;
        // This call unwinds without printing a message.
        std::panic::resume_unwind(Box::new(number));
    });
    network.process("other", spe(0), move |process| {
        waits.read(process)?;
        Ok(())
    });
    let result = network.run_with(|process| {
        writer.write(process, 7).unwrap();
        assert_eq!(writer.write(process, 8).unwrap_err().ended, Ended::Closed);
    });
    let Err(NetworkError::Panic { payload, .. }) = result else {
        panic!("a panic is an error");
    };
    assert_eq!(payload.downcast_ref::<u32>(), Some(&7));
}

fn a_machine_runs_one_network_after_the_other<M: Machine>(machine: &M) {
    for round in 0..5_u32 {
        let (mut writer, mut reader) = Channel::new().buffered(3).one_to_one();
        let mut network = network(machine);
        network.process("writer", spe(0), move |process| {
            (0..round).try_for_each(|number| Ok(writer.write(process, number)?))
        });
        let count = network.run_with(|process| {
            let mut count = 0;
            while reader.read(process).is_ok() {
                count += 1;
            }
            count
        });
        assert_eq!(count.unwrap(), round);
    }
}

fn processes_that_time_out_again_and_again_keep_no_process_waiting<M: Machine>(machine: &M) {
    const ITEMS: u32 = 50;
    let (end, never) = Channel::new().one_to_any::<u32>();
    let (mut writer, mut reader) = Channel::new().one_to_one::<u32>();
    let mut network = network(machine);
    for index in 0..2 {
        let mut never = never.clone();
        network.process(format!("poller {index}"), spe(0), move |process| {
            let mut alternation = Alternation::fair();
            alternation.read(&mut never);
            loop {
                // The deadline of the first poller is now, and the deadline of the second poller in
                // five microseconds.
                let soon = process.now().as_femtoseconds() + index * 5_000_000_000;
                alternation.select_until(process, Time::from_femtoseconds(soon))?;
            }
        });
    }
    network.process("writer", spe(0), move |process| {
        (0..ITEMS).try_for_each(|item| Ok(writer.write(process, item)?))
    });
    drop(never);
    let sum = network.run_with(move |process| {
        let sum = (0..ITEMS)
            .map(|_| reader.read(process).unwrap())
            .sum::<u32>();
        drop(end);
        sum
    });
    assert_eq!(sum.unwrap(), ITEMS * (ITEMS - 1) / 2);
}

/// Processes on all SPEs read and write at any ready channel, some of them with deadlines.
fn crowd<M: Machine>(machine: &M, items: u32) {
    const WORKERS: usize = 8;
    let (tasks, worker) = Channel::new().buffered(2).any_to_any::<Vec<u32>>();
    let (done, mut results) = Channel::new().any_to_one::<Vec<u32>>();
    let mut network = network(machine);
    for index in 0..2 {
        let mut tasks = tasks.clone();
        network.process(format!("source {index}"), spe(index), move |process| {
            for item in 0..items {
                tasks.write(process, vec![item * 2 + u32::from(index)])?;
            }
            Ok(())
        });
    }
    drop(tasks);
    for index in 0..WORKERS {
        let (mut worker, mut done) = (worker.clone(), done.clone());
        let at = spe((index % 4) as u16);
        network.process(format!("worker {index}"), at, move |process| {
            work(process, &mut worker, &mut done, index)
        });
    }
    drop((worker, done));
    let all = network.run_with(|process| {
        let mut all = Vec::new();
        while let Ok(items) = results.read(process) {
            all.extend(items);
        }
        all.sort_unstable();
        all
    });
    assert_eq!(all.unwrap(), Vec::from_iter(0..2 * items));
}

fn work<S: Spe>(
    process: &Process<'_, S>,
    worker: &mut Reader<Vec<u32>, Any>,
    done: &mut Writer<Vec<u32>, Any>,
    index: usize,
) -> Result<(), ProcessError> {
    let mut held = Vec::new();
    let mut alternation = Alternation::arbitrary(index as u64);
    let read = alternation.read(worker);
    let write = alternation.write(done);
    let mut is_open = true;
    while is_open || !held.is_empty() || alternation.is_offered(&write) {
        alternation.when(&read, is_open && held.len() < 2);
        if !alternation.is_offered(&write)
            && let Some(item) = held.pop()
        {
            alternation.offer(process, &write, item);
        }
        let chosen = if index.is_multiple_of(2) {
            let soon = Time::from_femtoseconds(process.now().as_femtoseconds() + 5_000_000_000);
            alternation.select_until(process, soon)
        } else {
            alternation.select(process).map(Some)
        };
        match chosen {
            Ok(Some(chosen)) if chosen == read => held.push(alternation.take(process, &read)),
            Ok(Some(_)) => {}
            Ok(None) => process.yield_now(),
            Err(error) if error.guard == read => is_open = false,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn nothing_is_lost_in_a_crowd<M: Machine>(machine: &M) {
    crowd(machine, 40);
}

#[test]
fn nothing_is_lost_in_a_crowd_whatever_happens_first() {
    for transport in [Transport::Direct, Transport::Coordinator] {
        crate::by(transport);
        for seed in 0..20 {
            let description = Description::built_in("qs22").unwrap();
            crowd(&Sim::builder(description).seed(seed).build().unwrap(), 10);
        }
    }
}

/// The items that processes have begun to write, and the items that they have at the end.
#[derive(Default)]
struct Ledger {
    written: Vec<u64>,
    held: Vec<u64>,
}

/// Two writers and two readers use one channel, one writer and one reader by an alternation. The
/// processes go on until one of the four poisons the channel, or until the writers have no more
/// items.
fn poisoned<M: Machine>(machine: &M, capacity: usize, poisoner: usize, after: u64) {
    const ITEMS: u64 = 30;
    let ledger = Mutex::new(Ledger::default());
    let ledger = &ledger;
    let begin = |item| ledger.lock().unwrap().written.push(item);
    let hold = |item| ledger.lock().unwrap().held.push(item);
    let (writer, reader) = Channel::new().buffered(capacity).any_to_any::<u64>();
    let mut network = network(machine);
    for index in 0..2 {
        let mut writer = writer.clone();
        network.process(
            format!("writer {index}"),
            spe(index as u16),
            move |process| {
                for round in 0..ITEMS {
                    if index == poisoner && round == after {
                        writer.poison(process).into_iter().for_each(hold);
                    }
                    let item = round * 2 + index as u64;
                    begin(item);
                    if index == 0 {
                        if let Err(unsent) = writer.write(process, item) {
                            hold(unsent.item);
                            return Err(unsent.into());
                        }
                        continue;
                    }
                    let mut alternation = Alternation::priority();
                    let write = alternation.write(&mut writer);
                    alternation.offer(process, &write, item);
                    if let Err(error) = alternation.select(process) {
                        let back = alternation.withdraw(process, &write);
                        back.into_iter().for_each(hold);
                        return Err(error.into());
                    }
                }
                Ok(())
            },
        );
        let mut reader = reader.clone();
        let at = spe(1 + index as u16);
        network.process(format!("reader {index}"), at, move |process| {
            for round in 0.. {
                process.place().compute(Cycles(300 * index as u64));
                if index + 2 == poisoner && round == after {
                    reader.poison(process).into_iter().for_each(hold);
                }
                if index == 0 {
                    hold(reader.read(process)?);
                    continue;
                }
                let mut alternation = Alternation::priority();
                let read = alternation.read(&mut reader);
                alternation.select(process)?;
                hold(alternation.take(process, &read));
            }
            Ok(())
        });
    }
    drop((writer, reader));
    network.run().unwrap();
    let mut ledger = ledger.lock().unwrap();
    ledger.written.sort_unstable();
    ledger.held.sort_unstable();
    assert_eq!(ledger.written, ledger.held);
}

fn the_items_of_a_poisoned_channel_come_back_to_a_process<M: Machine>(machine: &M) {
    for poisoner in 0..4 {
        for capacity in [0, 3] {
            poisoned(machine, capacity, poisoner, 5);
        }
    }
}

#[test]
fn poison_loses_nothing_whatever_happens_first() {
    for transport in [Transport::Direct, Transport::Coordinator] {
        crate::by(transport);
        for seed in 0..40 {
            let description = Description::built_in("qs22").unwrap();
            let sim = Sim::builder(description).seed(seed).build().unwrap();
            let seed = seed as usize;
            poisoned(&sim, seed / 4 % 3, seed % 4, seed as u64 % 7);
        }
    }
}

/// The last item that the main process waits for comes together with requests of processes that go
/// on. The main process must still answer them.
#[test]
fn requests_that_come_with_the_last_item_of_the_main_process_are_answered() {
    for round in 0..600 {
        let machine = crate::strict_host();
        let mut network = Network::on(&machine);
        network.transport(Transport::Coordinator);
        let (back, mut backs) = Channel::new().buffered(16).any_to_one();
        let mut kept = Vec::new();
        for pair in 0..3 {
            let (mut writer, mut reader) = Channel::new().buffered(5).any_to_any();
            kept.push((writer.clone(), reader.clone()));
            let at = |by: usize| SpeId::new(((round + pair * by) % 2) as u16);
            network.process("writer", at(1), move |process| {
                for number in 0..1 + (round + pair) % 5 {
                    writer.write(process, number)?;
                }
                Ok(())
            });
            let mut back = back.clone();
            network.process("reader", at(3), move |process| {
                Ok(back.write(process, reader.read(process)?)?)
            });
        }
        drop(back);
        let count = network.run_with(move |process| backs.items(process).count());
        assert_eq!(count.unwrap(), 3, "round {round}");
    }
}
