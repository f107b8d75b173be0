//! Faults that other implementations of channels have had, and that the channels here must not
//! have.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cellworks_csp::{Alternation, Channel, Ended, Item, NetworkError};
use cellworks_machine::{Machine, Time};

use crate::{network, on_every_machine, spe};

on_every_machine![
    no_item_is_lost_at_shutdown,
    what_is_dropped_while_it_waits_is_dropped_once,
    a_select_survives_peers_that_die,
    a_destructor_does_not_wait_in_a_cancelled_run,
    no_one_waits_busily_for_one_of_its_own_spe,
];

/// Counts the values that are alive, and the values that were dropped.
#[derive(Default)]
struct Counts {
    alive: AtomicU32,
    dropped: AtomicU32,
}

struct Counted(Arc<Counts>);

impl Counted {
    fn new(counts: &Arc<Counts>) -> Self {
        counts.alive.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(counts))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let alive = self.0.alive.fetch_sub(1, Ordering::Relaxed);
        assert_ne!(alive, 0, "dropped twice");
        self.0.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

impl Item for Counted {}

/// Writers write while the only reader ends. Each item must have been read, be back with its
/// writer, or have been in the buffer, which the reader got by poisoning.
fn no_item_is_lost_at_shutdown<M: Machine>(machine: &M) {
    for capacity in [0, 1, 4] {
        for limit in 0..12 {
            let (writer, reader) = Channel::new().buffered(capacity).any_to_one::<u32>();
            let (back, mut given_back) = Channel::new().any_to_one::<Vec<u32>>();
            let mut network = network(machine);
            for index in 0..3_u32 {
                let (mut writer, mut back) = (writer.clone(), back.clone());
                network.process(
                    format!("writer {index}"),
                    spe(index as u16),
                    move |process| {
                        let mut mine = Vec::new();
                        for item in 0..5 {
                            if let Err(unsent) = writer.write(process, index * 10 + item) {
                                mine.push(unsent.item);
                            }
                        }
                        Ok(back.write(process, mine)?)
                    },
                );
            }
            drop((writer, back));
            let all = network.run_with(|process| {
                let mut reader = reader;
                let mut all: Vec<_> = (0..limit).map(|_| reader.read(process).unwrap()).collect();
                all.extend(reader.poison(process));
                drop(reader);
                while let Ok(items) = given_back.read(process) {
                    all.extend(items);
                }
                all.sort_unstable();
                all
            });
            let expected = (0..3).flat_map(|index| (0..5).map(move |item| index * 10 + item));
            assert_eq!(all.unwrap(), Vec::from_iter(expected));
        }
    }
}

/// A run is cancelled while processes wait to write, to read, or in alternations that were offered
/// items.
fn what_is_dropped_while_it_waits_is_dropped_once<M: Machine>(machine: &M) {
    let counts = Arc::new(Counts::default());
    let (writer, reader) = Channel::new().buffered(1).any_to_any::<Counted>();
    let (mut other, mut other_reader) = Channel::new().one_to_one::<Counted>();
    let mut network = network(machine);
    for index in 0..2 {
        let (mut writer, counts) = (writer.clone(), Arc::clone(&counts));
        network.process(format!("writer {index}"), spe(0), move |process| {
            loop {
                writer.write(process, Counted::new(&counts))?;
            }
        });
    }
    let (mut writer, mine) = (writer, Arc::clone(&counts));
    network.process("alternating", spe(1), move |process| {
        let mut alternation = Alternation::fair();
        let first = alternation.write(&mut writer);
        let second = alternation.write(&mut other);
        loop {
            for write in [&first, &second] {
                if !alternation.is_offered(write) {
                    alternation.offer(process, write, Counted::new(&mine));
                }
            }
            alternation.select(process)?;
        }
    });
    let mut quiet = reader.clone();
    network.process("reader", spe(2), move |process| {
        for _ in 0..10 {
            quiet.read(process)?;
        }
        other_reader.read(process)?;
        let (_writer, mut never) = Channel::new().one_to_one::<u32>();
        never.read(process)?;
        Ok(())
    });
    let Err(NetworkError::Deadlock(deadlock)) = network.run() else {
        panic!("no process reads any more")
    };
    assert_eq!(
        deadlock.cycle.len() + deadlock.others.len(),
        4,
        "{deadlock}"
    );
    // One item is left in the buffer of the channel, because `reader` is still alive.
    assert_eq!(counts.alive.load(Ordering::Relaxed), 1);
    drop(reader);
    assert_eq!(counts.alive.load(Ordering::Relaxed), 0);
    assert!(counts.dropped.load(Ordering::Relaxed) > 10);
}

/// The other processes of an alternation end before, while and after the alternation waits for
/// them.
fn a_select_survives_peers_that_die<M: Machine>(machine: &M) {
    const PEERS: usize = 12;
    let mut network = network(machine);
    let mut readers = Vec::new();
    for index in 0..PEERS {
        let (mut writer, reader) = Channel::new().buffered(index % 2).one_to_one::<usize>();
        readers.push(reader);
        network.process(
            format!("peer {index}"),
            spe((index % 3) as u16),
            move |process| {
                for _ in 0..index % 5 {
                    process.yield_now();
                }
                for item in 0..index % 4 {
                    writer.write(process, item)?;
                }
                Ok(())
            },
        );
    }
    let counts = network.run_with(|process| {
        let mut counts = [0; PEERS];
        let mut alternation = Alternation::fair();
        let guards: Vec<_> = readers.iter_mut().map(|r| alternation.read(r)).collect();
        let mut alive = PEERS;
        while alive > 0 {
            match alternation.select(process) {
                Ok(chosen) => {
                    let item = alternation.take(process, &guards[chosen.index()]);
                    assert_eq!(item, counts[chosen.index()]);
                    counts[chosen.index()] += 1;
                }
                Err(ended) => {
                    assert_eq!(ended.ended, Ended::Closed);
                    alternation.when(&guards[ended.guard.index()], false);
                    alive -= 1;
                }
            }
        }
        counts
    });
    assert_eq!(counts.unwrap(), std::array::from_fn(|index| index % 4));
}

/// Writes, reads or selects in its destructor, although there is no partner.
fn a_destructor_does_not_wait_in_a_cancelled_run<M: Machine>(machine: &M) {
    struct OnDrop<F: FnMut()>(F);
    impl<F: FnMut()> Drop for OnDrop<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }
    let seen = AtomicU32::new(0);
    let (_writer, mut never) = Channel::new().one_to_one::<u32>();
    let mut network = network(machine);
    network.process("stubborn", spe(0), |process| {
        let (mut writer, mut reader) = Channel::new().one_to_one::<u32>();
        let _last_words = OnDrop(|| {
            let unsent = writer.write(process, 1).unwrap_err();
            assert_eq!((unsent.item, unsent.ended), (1, Ended::Closed));
            assert_eq!(reader.read(process), Err(Ended::Closed));
            let mut alternation = Alternation::fair();
            let read = alternation.read(&mut reader);
            let ended = alternation.select(process).unwrap_err();
            assert!(ended.guard == read);
            let late = Time::from_femtoseconds(u128::MAX / 2);
            assert_eq!(alternation.select_until(process, late), Ok(None));
            seen.fetch_add(1, Ordering::Relaxed);
        });
        never.read(process)?;
        Ok(())
    });
    let result = network.run();
    assert!(
        matches!(result, Err(NetworkError::Deadlock(_))),
        "{result:?}"
    );
    assert_eq!(seen.load(Ordering::Relaxed), 1);
}

/// More processes than any computer has CPUs take turns on one SPE. If a process waited busily for
/// another process, the waiting process would keep the other process from running for ever.
fn no_one_waits_busily_for_one_of_its_own_spe<M: Machine>(machine: &M) {
    const STAGES: usize = 20;
    let (mut first, mut input) = Channel::new().one_to_one::<u32>();
    let mut network = network(machine);
    for stage in 0..STAGES {
        let (mut output, next) = Channel::new().buffered(stage % 2).one_to_one::<u32>();
        let mut from = std::mem::replace(&mut input, next);
        network.process(format!("stage {stage}"), spe(0), move |process| {
            if stage % 3 == 0 {
                let mut alternation = Alternation::fair();
                let read = alternation.read(&mut from);
                loop {
                    alternation.select(process)?;
                    let item = alternation.take(process, &read);
                    output.write(process, item + 1)?;
                }
            }
            loop {
                let item = from.read(process)?;
                output.write(process, item + 1)?;
            }
        });
    }
    network.process("source", spe(0), move |process| {
        (0..30).try_for_each(|item| Ok(first.write(process, item)?))
    });
    let items = network.run_with(|process| {
        let mut items = Vec::new();
        while let Ok(item) = input.read(process) {
            items.push(item);
        }
        items
    });
    assert_eq!(
        items.unwrap(),
        Vec::from_iter((0..30).map(|item| item + STAGES as u32))
    );
}
