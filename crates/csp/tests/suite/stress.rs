//! Long runs of channels between two cores of this computer: every item arrives once, and the items
//! of one writer arrive in order.
//!
//! ```sh
//! CELLWORKS_STRESS_ITEMS=1000000000 cargo test --release --package cellworks-csp --test channels stress -- --test-threads=1
//! ```

use cellworks_csp::{
    Alternation, Channel, Ended, Network, Place, Process, ProcessError, Reader, Writer,
};
use cellworks_host::Host;

use crate::spe;

/// How many items all tests of this file write together, unless an environment variable sets
/// another number.
const ITEMS: u64 = if cfg!(debug_assertions) {
    300_000
} else {
    3_000_000
};

/// Returns how many items each of `networks` networks writes. Together, these networks write
/// `percent` of all items.
fn share(percent: u64, networks: usize) -> u64 {
    let items = match std::env::var("CELLWORKS_STRESS_ITEMS") {
        Ok(items) => items
            .parse()
            .expect("CELLWORKS_STRESS_ITEMS is a number of items"),
        Err(_) => ITEMS,
    };
    (items * percent / 100).div_ceil(networks as u64)
}

/// Makes a host with two SPEs, each on a core of its own if this computer has two cores.
fn two_cores() -> Host {
    Host::builder().spes(2).build().unwrap()
}

/// In the upper bits the number of a writer, and below the number of an item among this writer's
/// items.
type Numbered = u64;

const WRITER_SHIFT: u32 = 56;

/// The items of a writer.
fn items_of(writer: u64, items: u64) -> impl Iterator<Item = Numbered> {
    (0..items).map(move |item| writer << WRITER_SHIFT | item)
}

/// The number of the next item that a reader expects from each writer.
#[derive(Default)]
struct Expected([u64; 4]);

impl Expected {
    /// Checks that an item is the expected one, and counts it.
    fn arrived(&mut self, item: Numbered) {
        let next = &mut self.0[(item >> WRITER_SHIFT) as usize];
        let number = item & ((1 << WRITER_SHIFT) - 1);
        assert_eq!(number, *next, "of the writer {}", item >> WRITER_SHIFT);
        *next += 1;
    }

    /// Checks that all items have arrived.
    fn assert_complete(&self, writers: usize, items: u64) {
        let mut all = [0; 4];
        all[..writers].fill(items);
        assert_eq!(self.0, all, "how many items of each writer have arrived");
    }
}

/// How a process uses its end.
#[derive(Clone, Copy, Debug)]
enum Way {
    OneByOne,
    Batches,
    /// Uses one of the other ways for some items, and then an alternation for some items, and
    /// repeats this.
    Changing,
}

const BATCH: usize = 64;

/// How many items go through an alternation before the process uses the other way again.
const ALTERNATING: usize = 20;

fn write(
    process: &Process<'_, impl Place>,
    mut writer: Writer<Numbered>,
    way: Way,
    mut items: impl Iterator<Item = Numbered>,
) -> Result<(), ProcessError> {
    match way {
        Way::OneByOne => {
            for item in items {
                writer.write(process, item)?;
            }
        }
        Way::Batches => writer.write_all(process, items).map_err(Ended::from)?,
        Way::Changing => {
            for some in (1..).map(|round| round % 500) {
                let Some(first) = items.next() else {
                    break;
                };
                writer.write(process, first)?;
                let batch = items.by_ref().take(some);
                writer.write_all(process, batch).map_err(Ended::from)?;
                let mut alternation = Alternation::fair();
                let guard = alternation.write(&mut writer);
                for item in items.by_ref().take(ALTERNATING) {
                    alternation.offer(process, &guard, item);
                    alternation.select(process).map_err(Ended::from)?;
                }
            }
        }
    }
    Ok(())
}

/// Reads until the channel is closed.
fn read(
    process: &Process<'_, impl Place>,
    mut reader: Reader<Numbered>,
    way: Way,
    expected: &mut Expected,
) {
    match way {
        Way::OneByOne => {
            while let Ok(item) = reader.read(process) {
                expected.arrived(item);
            }
        }
        Way::Batches => {
            let mut batch = Vec::new();
            while reader.read_up_to(process, BATCH, &mut batch).is_ok() {
                batch.drain(..).for_each(|item| expected.arrived(item));
            }
        }
        Way::Changing => {
            for some in (1..).map(|round| round % 700) {
                for _ in 0..some {
                    match reader.read(process) {
                        Ok(item) => expected.arrived(item),
                        Err(_) => return,
                    }
                }
                let mut alternation = Alternation::fair();
                let guard = alternation.read(&mut reader);
                for _ in 0..ALTERNATING {
                    if alternation.select(process).is_err() {
                        return;
                    }
                    expected.arrived(alternation.take(process, &guard));
                }
            }
        }
    }
}

/// Checks one writer with one reader.
fn check_pair(channel: Channel, write_way: Way, read_way: Way, items: u64) {
    let host = two_cores();
    let (writer, reader) = channel.one_to_one();
    let mut network = Network::on(&host);
    network.process("writer", spe(0), move |process| {
        write(process, writer, write_way, items_of(0, items))
    });
    network.process("reader", spe(1), move |process| {
        let mut expected = Expected::default();
        read(process, reader, read_way, &mut expected);
        expected.assert_complete(1, items);
        Ok(())
    });
    network.run().unwrap();
}

#[test]
fn buffers() {
    let ways = [
        (Way::OneByOne, Way::OneByOne, 28),
        (Way::Batches, Way::Batches, 29),
        (Way::OneByOne, Way::Batches, 15),
        (Way::Changing, Way::Changing, 5),
    ];
    // At a small buffer, both sides often wait with the lock.
    let capacities = [5, 64, 1000];
    for (write, read, percent) in ways {
        for capacity in capacities {
            let items = share(percent, capacities.len());
            check_pair(Channel::new().buffered(capacity), write, read, items);
        }
    }
    // At a buffer for one item, a side waits for each item.
    check_pair(
        Channel::new().buffered(1),
        Way::OneByOne,
        Way::OneByOne,
        share(3, 1),
    );
}

#[test]
fn rendezvous() {
    check_pair(Channel::new(), Way::OneByOne, Way::OneByOne, share(5, 1));
    check_pair(Channel::new(), Way::Changing, Way::Changing, share(1, 1));
}

/// Checks writers on both cores with one reader.
fn check_crowd(capacity: usize, items: u64) {
    const WRITERS: usize = 3;
    let items = items / WRITERS as u64;
    let host = two_cores();
    let (writer, mut reader) = Channel::new().buffered(capacity).any_to_one();
    let mut network = Network::on(&host);
    for number in 0..WRITERS {
        let (mut writer, at) = (writer.clone(), spe(number as u16 % 2));
        network.process(format!("writer {number}"), at, move |process| {
            for item in items_of(number as u64, items) {
                writer.write(process, item)?;
            }
            Ok(())
        });
    }
    drop(writer);
    network.process("reader", spe(1), move |process| {
        let mut expected = Expected::default();
        while let Ok(item) = reader.read(process) {
            expected.arrived(item);
        }
        expected.assert_complete(WRITERS, items);
        Ok(())
    });
    network.run().unwrap();
}

#[test]
fn several_writers() {
    check_crowd(0, share(2, 1));
    check_crowd(10, share(2, 1));
}

/// Checks a process that waits for several channels in an alternation. The writers are on the other
/// core: one process with an alternation, or one process for each channel.
fn check_choice(capacities: [usize; 3], writer_alternates: bool, items: u64) {
    let items = items / capacities.len() as u64;
    let host = two_cores();
    let (writers, mut readers): (Vec<_>, Vec<_>) = capacities
        .iter()
        .map(|capacity| Channel::new().buffered(*capacity).one_to_one())
        .unzip();
    let mut network = Network::on(&host);
    if writer_alternates {
        let mut writers = writers;
        network.process("writer", spe(0), move |process| {
            let mut alternation = Alternation::fair();
            let guards = Vec::from_iter(writers.iter_mut().map(|to| alternation.write(to)));
            let mut left = Vec::from_iter((0..).take(guards.len()).map(|n| items_of(n, items)));
            for (guard, left) in guards.iter().zip(&mut left) {
                if let Some(item) = left.next() {
                    alternation.offer(process, guard, item);
                }
            }
            while guards.iter().any(|guard| alternation.is_offered(guard)) {
                let index = alternation.select(process)?.index();
                if let Some(item) = left[index].next() {
                    alternation.offer(process, &guards[index], item);
                }
            }
            Ok(())
        });
    } else {
        for (number, mut writer) in writers.into_iter().enumerate() {
            network.process(format!("writer {number}"), spe(0), move |process| {
                for item in items_of(number as u64, items) {
                    writer.write(process, item)?;
                }
                Ok(())
            });
        }
    }
    network.process("reader", spe(1), move |process| {
        let mut expected = Expected::default();
        let mut alternation = Alternation::fair();
        let guards = Vec::from_iter(readers.iter_mut().map(|from| alternation.read(from)));
        let mut open = guards.len();
        while open > 0 {
            match alternation.select(process) {
                Ok(chosen) => {
                    let item = alternation.take(process, &guards[chosen.index()]);
                    expected.arrived(item);
                }
                Err(ended) => {
                    alternation.when(&guards[ended.guard.index()], false);
                    open -= 1;
                }
            }
        }
        expected.assert_complete(guards.len(), items);
        Ok(())
    });
    network.run().unwrap();
}

#[test]
fn alternations() {
    check_choice([0, 0, 0], false, share(3, 1));
    check_choice([0, 1, 100], false, share(3, 1));
    check_choice([0, 0, 0], true, share(2, 1));
    check_choice([0, 1, 100], true, share(2, 1));
}
