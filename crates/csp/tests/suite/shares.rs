//! Processes that share a core: even a process that never has to wait lets the other processes run.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cellworks_csp::{Alternation, Channel};
use cellworks_machine::Machine;

use crate::{host, network, plain, spe};

#[test]
fn a_writer_whose_buffer_is_never_full_lets_its_neighbour_run() {
    check_neighbour(&host());
    check_neighbour(&plain());
}

/// The most items that a process may write while its neighbour wants to run.
const MOST: usize = 1_000;

fn check_neighbour<M: Machine>(machine: &M) {
    let items = 20_000;
    for capacity in [1 << 15, usize::MAX] {
        let (written, at_most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let has_ended = AtomicBool::new(false);
        let (mut writer, mut reader) = Channel::new().buffered(capacity).one_to_one();
        let mut network = network(machine);
        network.group(spe(0), |group| {
            let (written, has_ended) = (&written, &has_ended);
            group.process("writer", move |process| {
                for item in 0..items {
                    writer.write(process, item)?;
                    written.fetch_add(1, Ordering::Relaxed);
                }
                has_ended.store(true, Ordering::Relaxed);
                Ok(())
            });
            let at_most = &at_most;
            group.process("neighbour", move |process| {
                let mut before = written.load(Ordering::Relaxed);
                while !has_ended.load(Ordering::Relaxed) {
                    process.yield_now();
                    let now = written.load(Ordering::Relaxed);
                    at_most.fetch_max(now - before, Ordering::Relaxed);
                    before = now;
                }
                Ok(())
            });
        });
        network.process("reader", spe(1), move |process| {
            let mut read = 0;
            while reader.read(process).is_ok() {
                read += 1;
            }
            assert_eq!(read, items);
            Ok(())
        });
        network.run().unwrap();
        let at_most = at_most.into_inner();
        assert!((1..=MOST).contains(&at_most), "{capacity}: {at_most}");
    }
}

/// How many equal writers share a core.
const WRITERS: usize = 4;
const ITEMS: usize = 50_000;

#[test]
fn equal_writers_on_an_spe_with_readers_on_another_one_have_equal_shares() {
    check_shares(&host(), SHARES_OF_A_HOST, written_to_readers);
    check_shares(&plain(), SIMULATED_SHARES, written_to_readers);
}

#[test]
fn equal_writers_have_equal_shares_of_a_fair_alternation_on_another_spe() {
    check_shares(&host(), SHARES_OF_A_HOST, written_to_alternation);
    check_shares(&plain(), SIMULATED_SHARES, written_to_alternation);
}

/// The shares that writers on a machine must have.
struct Shares {
    /// The fewest items of each writer at the time when the first writer has written all its items.
    fewest: usize,
    /// The number of runs of which at least one must give these shares.
    runs: usize,
}

/// Another program on the CPUs can hold up an OS thread for milliseconds, which changes the shares.
/// Most runs have 1 : 1.5 or better. If processes were not woken by name, every run would have
/// about 1 : 500.
const SHARES_OF_A_HOST: Shares = Shares {
    fewest: ITEMS / 2,
    runs: 20,
};

/// On a simulated machine all runs are the same. When items that did not go through the ring ended
/// the turns of some writers too early, the fewest items were 88 of 100.
const SIMULATED_SHARES: Shares = Shares {
    fewest: ITEMS / 100 * 99,
    runs: 1,
};

/// Checks how many items each writer has written when the first writer has written all its items.
fn check_shares<M: Machine>(
    machine: &M,
    Shares { fewest, runs }: Shares,
    written: impl Fn(&M, Option<usize>) -> Vec<usize>,
) {
    for capacity in [None, Some(1), Some(16)] {
        let mut seen = Vec::new();
        let is_equal = (0..runs).any(|_| {
            let written = written(machine, capacity);
            let is_equal = written.iter().all(|items| *items >= fewest);
            seen.push(written);
            is_equal
        });
        assert!(is_equal, "{capacity:?}: {seen:?}");
    }
}

fn channel(capacity: Option<usize>) -> Channel {
    let channel = Channel::new();
    match capacity {
        Some(capacity) => channel.buffered(capacity),
        None => channel,
    }
}

/// Each writer has a reader of its own. Each reader counts its items until one of the readers has
/// read all its items.
fn written_to_readers<M: Machine>(machine: &M, capacity: Option<usize>) -> Vec<usize> {
    let counts = Mutex::new(Vec::new());
    let has_ended = AtomicBool::new(false);
    let mut network = network(machine);
    for _ in 0..WRITERS {
        let (mut writer, mut reader) = channel(capacity).one_to_one();
        network.process("writer", spe(0), move |process| {
            while writer.write(process, 0_u64).is_ok() {}
            Ok(())
        });
        let (counts, has_ended) = (&counts, &has_ended);
        network.process("reader", spe(1), move |process| {
            let mut read = 0;
            while !has_ended.load(Ordering::Relaxed) {
                reader.read(process)?;
                read += 1;
                has_ended.fetch_or(read == ITEMS, Ordering::Relaxed);
            }
            counts.lock().unwrap().push(read);
            Ok(())
        });
    }
    network.run().unwrap();
    counts.into_inner().unwrap()
}

/// All writers write to one fair alternation, which counts the items of each writer until it has
/// read all items of one writer.
fn written_to_alternation<M: Machine>(machine: &M, capacity: Option<usize>) -> Vec<usize> {
    let counts = Mutex::new(vec![0; WRITERS]);
    let mut network = network(machine);
    let mut readers = Vec::new();
    for _ in 0..WRITERS {
        let (mut writer, reader) = channel(capacity).one_to_one();
        readers.push(reader);
        network.process("writer", spe(0), move |process| {
            while writer.write(process, 0_u64).is_ok() {}
            Ok(())
        });
    }
    let counts_of = &counts;
    network.process("alternation", spe(1), move |process| {
        let mut counts = counts_of.lock().unwrap();
        let mut alternation = Alternation::fair();
        let guards: Vec<_> = readers
            .iter_mut()
            .map(|end| alternation.read(end))
            .collect();
        while !counts.contains(&ITEMS) {
            let chosen = alternation.select(process)?;
            alternation.take(process, &guards[chosen.index()]);
            counts[chosen.index()] += 1;
        }
        Ok(())
    });
    network.run().unwrap();
    counts.into_inner().unwrap()
}

/// Checks that one of the runs gives neither SPE more than four times the share of the other.
/// Without turns of the PPE, an alternation had about 1 : 80, and a reader of one channel about 1 :
/// 10.
fn check_spes<M: Machine>(machine: &M, what: &str, shares: impl Fn(&M) -> [usize; 2]) {
    let mut seen = Vec::new();
    let is_fair = (0..SHARES_OF_A_HOST.runs).any(|_| {
        let [a, b] = shares(machine);
        seen.push([a, b]);
        a <= 4 * b && b <= 4 * a
    });
    assert!(is_fair, "{what}: {seen:?}");
}

#[test]
fn writers_on_two_spes_have_equal_shares_of_a_channel_that_the_main_process_reads() {
    check_spes(&host(), "one channel", read_by_main);
    check_spes(&plain(), "one channel", read_by_main);
}

#[test]
fn partners_on_two_spes_have_equal_shares_of_an_alternation_of_the_main_process() {
    for policy in [Alternation::fair, || Alternation::arbitrary(7)] {
        let what = format!("{:?}", policy());
        check_spes(&host(), &what, |host| chosen_by_main(host, policy));
        check_spes(&plain(), &what, |plain| chosen_by_main(plain, policy));
    }
}

/// Fifty writers on each of two SPEs write to one channel, which the main process reads. Returns
/// how many of the first half of the items came from each SPE.
fn read_by_main<M: Machine>(machine: &M) -> [usize; 2] {
    const EACH: usize = 400;
    let (writer, mut reader) = Channel::new().any_to_one::<usize>();
    let mut network = network(machine);
    for number in 0..100 {
        let (mut writer, at) = (writer.clone(), number % 2);
        network.process("writer", spe(at as u16), move |process| {
            for _ in 0..EACH {
                writer.write(process, at)?;
            }
            Ok(())
        });
    }
    drop(writer);
    network
        .run_with(|process| {
            let mut counts = [0; 2];
            for (number, at) in reader.items(process).enumerate() {
                counts[at] += usize::from(number < 50 * EACH);
            }
            counts
        })
        .unwrap()
}

/// The main process alternates over two readers and two writers of each of two SPEs, which are
/// always ready. Returns how many of the chosen guards have their partners on each SPE.
fn chosen_by_main<M: Machine>(machine: &M, policy: fn() -> Alternation<'static>) -> [usize; 2] {
    let (mut readers, mut writers) = (Vec::new(), Vec::new());
    let mut network = network(machine);
    for number in 0..4 {
        let at = spe(number % 2);
        let (mut writer, reader) = Channel::new().one_to_one::<u64>();
        readers.push(reader);
        network.process("writer", at, move |process| {
            while writer.write(process, 0).is_ok() {}
            Ok(())
        });
        let (writer, mut reader) = Channel::new().one_to_one::<u64>();
        writers.push(writer);
        network.process("reader", at, move |process| {
            while reader.read(process).is_ok() {}
            Ok(())
        });
    }
    network
        .run_with(move |process| {
            let (mut readers, mut writers) = (readers, writers);
            let mut counts = [0; 2];
            let mut alternation = policy();
            let reads: Vec<_> = readers
                .iter_mut()
                .map(|end| alternation.read(end))
                .collect();
            let writes: Vec<_> = writers
                .iter_mut()
                .map(|end| alternation.write(end))
                .collect();
            for write in &writes {
                alternation.offer(process, write, 1);
            }
            for _ in 0..20_000 {
                let index = alternation.select(process).unwrap().index();
                match reads.get(index) {
                    Some(read) => _ = alternation.take(process, read),
                    None => alternation.offer(process, &writes[index - reads.len()], 1),
                }
                counts[index % 2] += 1;
            }
            counts
        })
        .unwrap()
}
