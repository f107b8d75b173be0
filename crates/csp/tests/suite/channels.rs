//! Channels of every kind: each item is read once and in order, and processes notice the end of a
//! channel.

use cellworks_csp::{Alternation, Channel, Ended, NetworkError};
use cellworks_machine::Machine;

use crate::{network, on_every_machine, spe};

on_every_machine![
    items_arrive_in_order,
    items_arrive_in_order_through_a_buffer,
    processes_of_one_spe_share_local_channels,
    each_item_goes_to_one_of_several_readers,
    poison_ends_both_sides_and_gives_items_back,
    an_alternation_reads_whatever_is_there,
    two_alternations_meet,
    a_cycle_of_waits_is_reported,
];

fn check_order<M: Machine>(machine: &M, capacity: usize) {
    let (mut writer, mut reader) = Channel::new().buffered(capacity).one_to_one();
    let mut network = network(machine);
    network.process("writer", spe(0), move |process| {
        (0..100_u32).try_for_each(|item| Ok(writer.write(process, Box::new(item))?))
    });
    let items = network.run_with(|process| {
        let mut items = Vec::new();
        while let Ok(item) = reader.read(process) {
            items.push(*item);
        }
        assert_eq!(reader.read(process), Err(Ended::Closed));
        items
    });
    assert_eq!(items.unwrap(), Vec::from_iter(0..100));
}

fn items_arrive_in_order<M: Machine>(machine: &M) {
    check_order(machine, 0);
}

fn items_arrive_in_order_through_a_buffer<M: Machine>(machine: &M) {
    check_order(machine, 7);
}

fn processes_of_one_spe_share_local_channels<M: Machine>(machine: &M) {
    let (mut results, mut result) = Channel::new().one_to_one();
    let mut network = network(machine);
    network.group(spe(1), move |group| {
        let (mut forth, mut at_square) = Channel::local().one_to_one::<u64>();
        let (mut back, mut squared) = Channel::local().one_to_one::<u64>();
        group.process("square", move |process| {
            loop {
                let number = at_square.read(process)?;
                back.write(process, number * number)?;
            }
        });
        group.process("sum", move |process| {
            let mut sum = 0;
            for number in 1..=10 {
                forth.write(process, number)?;
                sum += squared.read(process)?;
            }
            Ok(results.write(process, sum)?)
        });
    });
    let sum = network.run_with(|process| result.read(process));
    assert_eq!(sum.unwrap(), Ok(385));
}

fn each_item_goes_to_one_of_several_readers<M: Machine>(machine: &M) {
    let (mut tasks, worker) = Channel::new().one_to_any::<u32>();
    let (done, mut results) = Channel::new().any_to_one::<u32>();
    let mut network = network(machine);
    for index in 0..3 {
        let (mut worker, mut done) = (worker.clone(), done.clone());
        network.process(format!("worker {index}"), spe(index), move |process| {
            loop {
                let task = worker.read(process)?;
                done.write(process, task)?;
            }
        });
    }
    drop((worker, done));
    network.process("source", spe(3), move |process| {
        (0..50).try_for_each(|task| Ok(tasks.write(process, task)?))
    });
    let results = network.run_with(|process| {
        let mut all = Vec::new();
        while let Ok(task) = results.read(process) {
            all.push(task);
        }
        all.sort_unstable();
        all
    });
    assert_eq!(results.unwrap(), Vec::from_iter(0..50));
}

fn poison_ends_both_sides_and_gives_items_back<M: Machine>(machine: &M) {
    let (mut writer, mut reader) = Channel::new().buffered(2).one_to_one();
    let (mut back, mut given_back) = Channel::new().one_to_one();
    let mut network = network(machine);
    network.process("writer", spe(0), move |process| {
        for item in 0.. {
            if let Err(unsent) = writer.write(process, format!("item {item}")) {
                assert_eq!(unsent.ended, Ended::Poisoned);
                back.write(process, unsent.item)?;
                break;
            }
        }
        Ok(())
    });
    let all = network.run_with(|process| {
        let mut all = vec![reader.read(process).unwrap()];
        all.extend(reader.poison(process));
        assert_eq!(reader.read(process), Err(Ended::Poisoned));
        all.push(given_back.read(process).unwrap());
        all
    });
    let all = all.unwrap();
    let expected: Vec<_> = (0..all.len()).map(|item| format!("item {item}")).collect();
    assert_eq!(all, expected);
}

fn an_alternation_reads_whatever_is_there<M: Machine>(machine: &M) {
    let mut network = network(machine);
    let mut readers = Vec::new();
    for index in 0..4 {
        let (mut writer, reader) = Channel::new().one_to_one();
        readers.push(reader);
        network.process(format!("writer {index}"), spe(index), move |process| {
            (0..20_u32).try_for_each(|item| Ok(writer.write(process, item)?))
        });
    }
    let counts = network.run_with(|process| {
        let mut counts = [0; 4];
        let mut alternation = Alternation::fair();
        let guards: Vec<_> = readers.iter_mut().map(|r| alternation.read(r)).collect();
        let mut open = guards.len();
        while open > 0 {
            match alternation.select(process) {
                Ok(chosen) => {
                    let index = chosen.index();
                    let item = alternation.take(process, &guards[index]);
                    assert_eq!(item, counts[index]);
                    counts[index] += 1;
                }
                Err(ended) => {
                    assert_eq!(ended.ended, Ended::Closed);
                    alternation.when(&guards[ended.guard.index()], false);
                    open -= 1;
                }
            }
        }
        counts
    });
    assert_eq!(counts.unwrap(), [20; 4]);
}

fn two_alternations_meet<M: Machine>(machine: &M) {
    const ROUNDS: u32 = 200;
    let (ping, pong) = Channel::new().one_to_one::<u32>();
    let (forth, back) = Channel::new().one_to_one::<u32>();
    let mut network = network(machine);
    let side = |mut writer: cellworks_csp::Writer<u32>, mut reader: cellworks_csp::Reader<u32>| {
        move |process: &cellworks_csp::Process<'_, M::Spe>| {
            let mut alternation = Alternation::fair();
            let read = alternation.read(&mut reader);
            let write = alternation.write(&mut writer);
            let (mut sent, mut received) = (0, 0);
            while sent < ROUNDS || received < ROUNDS {
                alternation.when(&read, received < ROUNDS);
                if !alternation.is_offered(&write) && sent < ROUNDS {
                    alternation.offer(process, &write, sent);
                }
                if alternation.select(process)? == read {
                    assert_eq!(alternation.take(process, &read), received);
                    received += 1;
                } else {
                    sent += 1;
                }
            }
            Ok(())
        }
    };
    network.process("left", spe(0), side(ping, back));
    network.process("right", spe(1), side(forth, pong));
    network.run().unwrap();
}

fn a_cycle_of_waits_is_reported<M: Machine>(machine: &M) {
    let (mut a, mut at_a) = Channel::new().named("a").one_to_one::<u8>();
    let (mut b, mut at_b) = Channel::new().named("b").one_to_one::<u8>();
    let mut network = network(machine);
    network.process("left", spe(0), move |process| {
        a.write(process, 1)?;
        at_b.read(process)?;
        at_b.read(process)?;
        Ok(a.write(process, 2)?)
    });
    network.process("right", spe(1), move |process| {
        at_a.read(process)?;
        b.write(process, 1)?;
        at_a.read(process)?;
        Ok(b.write(process, 2)?)
    });
    let Err(NetworkError::Deadlock(deadlock)) = network.run() else {
        panic!("a deadlock is an error");
    };
    let text = deadlock.to_string();
    assert_eq!(deadlock.cycle.len(), 2, "{text}");
    assert!(
        text.contains(
            "the process `left` waits to read the channel `b` at crates/csp/tests/suite/channels.rs"
        ),
        "{text}"
    );
    assert!(
        text.contains("the process `right` waits to read the channel `a` at"),
        "{text}"
    );
    assert!(deadlock.others.is_empty(), "{text}");
}
