//! How channels end: by poison, by close, and by dropped ends. Which processes go on then, and
//! where the items are.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cellworks_csp::{Alternation, Channel, Ended, Item, Network, Process, Reader, Unsent, Writer};
use cellworks_machine::{Machine, Processor, Wait, Wake};

use crate::{network, on_every_machine, spe};

on_every_machine![
    close_lets_a_buffer_be_read,
    close_gives_back_what_waits,
    a_writer_that_closes_and_one_that_poisons,
    poison_returns_what_is_in_the_buffer,
    poison_comes_after_close,
    the_last_end_that_is_dropped_closes,
    a_channel_is_used_by_one_network_after_the_other,
    what_cannot_be_read_any_more_is_dropped_with_the_last_reader,
    a_buffer_without_bound_never_has_its_writer_wait,
    an_end_that_is_dropped_wakes_at_once,
    an_end_that_was_not_used_wakes_a_waiting_process,
    ends_of_a_process_that_unwinds_are_dropped,
    a_channel_outlives_its_network,
];

fn close_lets_a_buffer_be_read<M: Machine>(machine: &M) {
    network(machine)
        .run_with(|process| {
            let (mut writer, mut reader) = Channel::new().buffered(3).one_to_one();
            writer.write(process, 1_u32).unwrap();
            writer.write(process, 2).unwrap();
            writer.close(process);
            let unsent = writer.write(process, 3).unwrap_err();
            assert_eq!((unsent.item, unsent.ended), (3, Ended::Closed));
            assert_eq!(reader.read(process), Ok(1));
            assert_eq!(reader.read(process), Ok(2));
            assert_eq!(reader.read(process), Err(Ended::Closed));
        })
        .unwrap();
}

fn close_gives_back_what_waits<M: Machine>(machine: &M) {
    for by_alternation in [false, true] {
        let (mut writer, mut reader) = Channel::new().buffered(1).one_to_one::<String>();
        let (mut to, mut given_back) = Channel::new().one_to_one();
        let (mut waits, mut is_full) = Channel::new().one_to_one();
        let mut network = network(machine);
        network.process("writer", spe(0), move |process| {
            writer.write(process, "accepted".to_owned())?;
            waits.write(process, ())?;
            let item = "not accepted".to_owned();
            let item = if by_alternation {
                let mut alternation = Alternation::fair();
                let write = alternation.write(&mut writer);
                alternation.offer(process, &write, item);
                let ended = alternation.select(process).unwrap_err();
                assert_eq!(ended.ended, Ended::Closed);
                alternation.withdraw(process, &write).unwrap()
            } else {
                let Unsent { item, ended } = writer.write(process, item).unwrap_err();
                assert_eq!(ended, Ended::Closed);
                item
            };
            Ok(to.write(process, item)?)
        });
        network
            .run_with(|process| {
                is_full.read(process).unwrap();
                reader.close(process);
                let item = given_back.read(process);
                assert_eq!(item.as_deref(), Ok("not accepted"));
                assert_eq!(reader.read(process).as_deref(), Ok("accepted"));
                assert_eq!(reader.read(process), Err(Ended::Closed));
            })
            .unwrap();
    }
}

fn a_writer_that_closes_and_one_that_poisons<M: Machine>(machine: &M) {
    for poisons in [false, true] {
        let (mut writer, reader) = Channel::new().one_to_any::<u32>();
        let ended = if poisons {
            Ended::Poisoned
        } else {
            Ended::Closed
        };
        let mut network = network(machine);
        for index in 0..3 {
            let mut reader = reader.clone();
            network.process(format!("reader {index}"), spe(index), move |process| {
                if index == 0 {
                    let mut alternation = Alternation::fair();
                    alternation.read(&mut reader);
                    assert_eq!(alternation.select(process).unwrap_err().ended, ended);
                } else {
                    assert_eq!(reader.read(process), Err(ended));
                }
                Ok(())
            });
        }
        drop(reader);
        network
            .run_with(|process| {
                if poisons {
                    assert!(writer.poison(process).is_empty());
                } else {
                    writer.close(process);
                }
            })
            .unwrap();
    }
}

fn poison_returns_what_is_in_the_buffer<M: Machine>(machine: &M) {
    network(machine)
        .run_with(|process| {
            let (mut writer, mut reader) = Channel::new().buffered(3).one_to_one();
            for item in 1..4_u32 {
                writer.write(process, item).unwrap();
            }
            assert_eq!(reader.read(process), Ok(1));
            assert_eq!(writer.poison(process), [2, 3]);
            assert_eq!(reader.read(process), Err(Ended::Poisoned));
            assert!(reader.poison(process).is_empty());
            let unsent = writer.write(process, 4).unwrap_err();
            assert_eq!(
                unsent.to_string(),
                "an item was not written: the channel was poisoned"
            );
            assert_eq!(format!("{unsent:?}"), unsent.to_string());
            assert_eq!(Ended::from(unsent), Ended::Poisoned);
        })
        .unwrap();
}

fn poison_comes_after_close<M: Machine>(machine: &M) {
    network(machine)
        .run_with(|process| {
            let (mut writer, mut reader) = Channel::new().buffered(2).one_to_one();
            writer.write(process, 1_u32).unwrap();
            writer.close(process);
            assert_eq!(writer.poison(process), [1]);
            // After poison, closing changes nothing.
            writer.close(process);
            assert_eq!(reader.read(process), Err(Ended::Poisoned));
        })
        .unwrap();
}

fn the_last_end_that_is_dropped_closes<M: Machine>(machine: &M) {
    network(machine)
        .run_with(|process| {
            let (mut writer, reader) = Channel::new().buffered(2).any_to_any::<u32>();
            let other = reader.clone();
            drop(reader);
            writer.write(process, 1).unwrap();
            drop(other);
            let unsent = writer.write(process, 2).unwrap_err();
            assert_eq!((unsent.item, unsent.ended), (2, Ended::Closed));
            assert!(writer.poison(process).is_empty());
        })
        .unwrap();
}

/// Records that it was dropped.
struct Says<'a>(&'a AtomicBool);

impl Item for Says<'_> {}

impl Drop for Says<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// When a channel ends in any way, the items in its buffer are dropped. An item may hold an end for
/// which another process waits.
fn what_cannot_be_read_any_more_is_dropped_with_the_last_reader<M: Machine>(machine: &M) {
    for (is_closed, is_for_several) in [(false, false), (false, true), (true, false), (true, true)]
    {
        let is_dropped = AtomicBool::new(false);
        let dropped = || is_dropped.load(Ordering::Relaxed);
        network(machine)
            .run_with(|process| {
                let channel = Channel::new().buffered(3);
                if is_for_several {
                    let (mut writer, reader) = channel.any_to_any();
                    let other = reader.clone();
                    assert!(writer.write(process, Says(&is_dropped)).is_ok());
                    drop(other);
                    assert!(!dropped());
                    if is_closed {
                        writer.close(process);
                    }
                    drop(reader);
                    assert!(dropped());
                    drop(writer);
                } else {
                    let (mut writer, reader) = channel.one_to_one();
                    assert!(writer.write(process, Says(&is_dropped)).is_ok());
                    if is_closed {
                        writer.close(process);
                    }
                    assert!(!dropped());
                    drop(reader);
                    assert!(dropped());
                    drop(writer);
                }
            })
            .unwrap();
    }
}

fn a_buffer_without_bound_never_has_its_writer_wait<M: Machine>(machine: &M) {
    network(machine)
        .run_with(|process| {
            let (mut writer, mut reader) = Channel::new().buffered(usize::MAX).one_to_one();
            for item in 0..5_000_u32 {
                writer.write(process, item).unwrap();
            }
            drop(writer);
            for item in 0..5_000 {
                assert_eq!(reader.read(process), Ok(item));
            }
            assert_eq!(reader.read(process), Err(Ended::Closed));
        })
        .unwrap();
}

/// The thread that drops the end uses no channel afterwards, and waits for the process that the
/// dropped end wakes.
fn an_end_that_is_dropped_wakes_at_once<M: Machine>(machine: &M) {
    for other in [0, 1] {
        let has_ended = AtomicBool::new(false);
        let (writer, mut reader) = Channel::new().one_to_one::<u32>();
        let mut network = network(machine);
        network.process("reader", spe(0), |process: &Process<'_, M::Spe>| {
            assert_eq!(reader.read(process), Err(Ended::Closed));
            has_ended.store(true, Ordering::Relaxed);
            process.place().notify(Processor::Spe(spe(other)));
            Ok(())
        });
        network.process("writer", spe(other), |process: &Process<'_, M::Spe>| {
            for _ in 0..10 {
                process.yield_now();
            }
            drop(writer);
            let mut ready = || has_ended.load(Ordering::Relaxed);
            process.place().wait_until(&"the reader to end", &mut ready);
            Ok(())
        });
        network.run().unwrap();
    }
}

fn an_end_that_was_not_used_wakes_a_waiting_process<M: Machine>(machine: &M) {
    let (writer, mut reader) = Channel::new().one_to_one::<u32>();
    let mut network = network(machine);
    network.group(spe(0), move |_| drop(writer));
    let ended = network.run_with(|process| reader.read(process));
    assert_eq!(ended.unwrap(), Err(Ended::Closed));
}

fn ends_of_a_process_that_unwinds_are_dropped<M: Machine>(machine: &M) {
    let (writer, mut reader) = Channel::new().one_to_one::<u32>();
    let mut network = network(machine);
    network.process("writer", spe(0), move |process| {
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut writer = writer;
            writer.write(process, 1).unwrap();
            std::panic::resume_unwind(Box::new("no message"));
        }));
        assert!(caught.is_err());
        Ok(())
    });
    let items = network.run_with(|process| [reader.read(process), reader.read(process)]);
    assert_eq!(items.unwrap(), [Ok(1), Err(Ended::Closed)]);
}

fn a_channel_outlives_its_network<M: Machine>(machine: &M) {
    // Items may borrow values outside the network, and one channel may serve several networks in
    // turn.
    let text = "borrowed".to_owned();
    struct Borrowed<'a>(&'a str);
    impl cellworks_csp::Item for Borrowed<'_> {}
    let (mut writer, mut reader): (Writer<_>, Reader<Borrowed<'_>>) =
        Channel::new().buffered(2).one_to_one();
    let counted = Arc::new(());
    for _ in 0..3 {
        let mut network = network(machine);
        let (writer, text, counted) = (&mut writer, &text, Arc::clone(&counted));
        network.process("writer", spe(0), move |process| {
            let _counted = counted;
            Ok(writer.write(process, Borrowed(text))?)
        });
        let read = network.run_with(|process| reader.read(process).map(|item| item.0));
        assert_eq!(read.unwrap(), Ok("borrowed"));
    }
    assert_eq!(Arc::strong_count(&counted), 1);
}

/// Two networks, on two machines, use one channel at the same time. The second process at the
/// channel ends before an item has moved.
fn two_networks_at_one_channel<M: Machine + Sync>(first: &M, second: &M, capacity: usize) {
    /// Records that it was dropped, also in a process that panics.
    struct Over<'a>(&'a AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let channel = Channel::new().named("between").buffered(capacity);
    let (mut writer, mut reader) = channel.any_to_one::<u32>();
    let mut own = writer.clone();
    let (is_over, reads_first) = (AtomicBool::new(false), AtomicBool::new(false));
    let line = line!() + 13;
    let results = std::thread::scope(|scope| {
        let reads = scope.spawn(|| {
            let mut network = Network::on(first);
            network.process("reader", spe(0), |process| {
                assert_eq!(reader.read(process), Ok(7));
                reads_first.store(true, Ordering::Relaxed);
                reader.read(process)?;
                panic!("nothing was to be read");
            });
            network.process("own writer", spe(0), move |process| {
                Ok(own.write(process, 7)?)
            });
            network.run_with(|process| {
                // The main process must go on, because otherwise the reader's wait would be a
                // deadlock.
                while !is_over.load(Ordering::Relaxed) {
                    process.yield_now();
                    std::thread::yield_now();
                }
            })
        });
        while !reads_first.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        let mut network = Network::on(second);
        network.process("writer", spe(0), |process| {
            let _over = Over(&is_over);
            Ok(writer.write(process, 1)?)
        });
        let writes = network.run();
        [writes, reads.join().unwrap()]
    });
    let [writes, reads] = results.map(|result| result.unwrap_err().to_string());
    assert!(
        writes.starts_with(
            "the process `writer` panicked on SPE 0: the process `writer` of the network that was run at crates/csp/tests/suite/ends.rs:"
        ),
        "{writes}"
    );
    let both = format!(
        "was going to use the channel `between`, which the network that was run at crates/csp/tests/suite/ends.rs:{line}:"
    );
    assert!(writes.contains(&both), "{writes}");
    assert!(
        writes.ends_with(
            "uses; all processes that use a channel have to belong to one network: put them into one, or run the second \
             network when the first one has ended"
        ),
        "{writes}"
    );
    assert!(reads.starts_with("deadlock"), "{reads}");
}

#[test]
fn a_channel_between_two_networks_is_refused() {
    for capacity in [0, 2] {
        two_networks_at_one_channel(&crate::host(), &crate::host(), capacity);
    }
}

/// Another network may use a channel after the first network has ended.
fn a_channel_is_used_by_one_network_after_the_other<M: Machine>(machine: &M) {
    for capacity in [2, 40] {
        let (mut writer, mut reader) = Channel::new().buffered(capacity).one_to_one::<u32>();
        for round in 0..3 {
            let mut first = network(machine);
            first.process(
                "writer",
                spe(1),
                |process| Ok(writer.write(process, round)?),
            );
            first.run().unwrap();
            let mut second = network(machine);
            second.process("reader", spe(1), |process| {
                assert_eq!(reader.read(process), Ok(round));
                Ok(())
            });
            second.run().unwrap();
        }
    }
}
