//! How channels end: poison, close, and ends that are dropped; whom that wakes, and where items are
//! then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cellworks_csp::{Alternation, Channel, Ended, Network, Process, Reader, Unsent, Writer};
use cellworks_host::Host;
use cellworks_machine::{Machine, Processor, Wait, Wake};

use crate::{network, on_every_machine, spe};

on_every_machine![
    close_lets_a_buffer_be_read,
    close_gives_back_what_waits,
    a_writer_that_closes_and_one_that_poisons,
    poison_returns_what_is_in_the_buffer,
    poison_comes_after_close,
    the_last_end_that_is_dropped_closes,
    an_end_that_is_dropped_wakes_at_once,
    an_end_that_nobody_used_wakes_who_waits,
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
        let ended = match poisons {
            true => Ended::Poisoned,
            false => Ended::Closed,
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
            .run_with(|process| match poisons {
                true => assert!(writer.poison(process).is_empty()),
                false => writer.close(process),
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
            assert_eq!(format!("{unsent:?}"), "Unsent { ended: Poisoned, .. }");
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
            // Closing changes nothing any more.
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
            // What nobody can read any more comes back to who asks for it.
            assert_eq!(writer.poison(process), [1]);
        })
        .unwrap();
}

/// Also if who drops it has nothing more to do with channels, and waits for who waits for the end.
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

fn an_end_that_nobody_used_wakes_who_waits<M: Machine>(machine: &M) {
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
    // Items may borrow what is outside, and a channel may be used by one network after the other.
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

#[test]
fn a_channel_between_two_networks_is_refused() {
    /// Says so when it is dropped, also in a process that panics.
    struct Over<'a>(&'a AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    let (mut writer, mut reader) = Channel::new().one_to_one::<u32>();
    let is_over = AtomicBool::new(false);
    let run = |network: Network<'_, Host>| {
        // Somebody goes on, or the first network would be found waiting for nobody.
        let ended = network.run_with(|_| {
            while !is_over.load(Ordering::Relaxed) {
                std::thread::yield_now();
            }
        });
        ended.map_err(|error| error.to_string())
    };
    let results = std::thread::scope(|scope| {
        let reads = scope.spawn(|| {
            let host = crate::host();
            let mut network = Network::on(&host);
            network.process("reader", spe(0), |process| {
                let _over = Over(&is_over);
                reader.read(process)?;
                Ok(())
            });
            run(network)
        });
        let host = crate::host();
        let mut network = Network::on(&host);
        network.process("writer", spe(0), |process| {
            let _over = Over(&is_over);
            Ok(writer.write(process, 1)?)
        });
        [run(network), reads.join().unwrap()]
    });
    let text = format!("{results:?}");
    let expected = "uses a channel at which a process of another network waits; all that use a channel have to belong to \
                    one network, and be run together";
    assert!(text.contains(expected), "{text}");
}
