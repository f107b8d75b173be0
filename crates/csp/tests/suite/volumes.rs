//! What networks count: from each process to each other, exactly, and the same on every machine.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use cellworks_csp::{
    Alternation, Channel, Item, Network, NetworkError, OpenNetwork, Process, Reader, Writer, item,
};
use cellworks_host::Host;
use cellworks_machine::{Flows, Machine, Processor, Span, Spe, SpeId};
use cellworks_sim::trace::read_slices;
use cellworks_sim::{Description, Sim};

use crate::{host, network};

/// Returns the names, messages and bytes of all flows.
fn sent(flows: &Flows) -> Vec<(String, String, u64, u64)> {
    let name = |at: usize| flows.parties()[at].name.clone();
    let all = flows.iter();
    all.map(|flow| (name(flow.from), name(flow.to), flow.messages, flow.bytes))
        .collect()
}

fn from_to(from: &str, to: &str, messages: u64, bytes: u64) -> (String, String, u64, u64) {
    (from.to_owned(), to.to_owned(), messages, bytes)
}

/// Spreads processes over the SPEs that every machine of the tests has.
fn spe(at: usize) -> SpeId {
    SpeId::new((at % 2) as u16)
}

struct Block(Vec<u8>);
item!(struct Block(bytes));

fn a_ring_counts_each_neighbour<M: Machine>(machine: &M) {
    const ROUNDS: usize = 20;
    for buffer in [0, 3] {
        let (writers, mut readers): (Vec<Writer<u32>>, Vec<Reader<u32>>) = (0..4)
            .map(|_| Channel::new().buffered(buffer).one_to_one())
            .unzip();
        readers.rotate_right(1);
        let mut network = network(machine);
        for (at, (mut writer, mut reader)) in writers.into_iter().zip(readers).enumerate() {
            network.process(format!("ring {at}"), spe(at), move |process| {
                for _ in 0..ROUNDS {
                    if at == 0 {
                        writer.write(process, 7)?;
                    }
                    let item = reader.read(process)?;
                    if at != 0 {
                        writer.write(process, item)?;
                    }
                }
                Ok(())
            });
        }
        let counted = network.count_volumes();
        assert_eq!(counted.flows(), Flows::default());
        network.run().unwrap();
        let expected = [
            from_to("ring 0", "ring 1", 20, 80),
            from_to("ring 1", "ring 2", 20, 80),
            from_to("ring 2", "ring 3", 20, 80),
            from_to("ring 3", "ring 0", 20, 80),
        ];
        assert_eq!(sent(&counted.flows()), expected);
        let units: Vec<_> = counted
            .flows()
            .parties()
            .iter()
            .map(|party| party.unit)
            .collect();
        assert_eq!(units, [0, 1, 2, 3, 4]);
    }
}

fn each_of_several_writers_is_counted_with_the_bytes_of_its_items<M: Machine>(machine: &M) {
    for buffer in [0, 2] {
        let (writer, mut reader) = Channel::new().buffered(buffer).any_to_one();
        let mut network = network(machine);
        for at in 0..3 {
            let mut writer = writer.clone();
            network.process(format!("writer {at}"), spe(at), move |process| {
                for _ in 0..=at {
                    writer.write(process, Block(vec![0; 100 * at]))?;
                }
                Ok(())
            });
        }
        drop(writer);
        let counted = network.count_volumes();
        network
            .run_with(move |process| assert_eq!(reader.items(process).count(), 6))
            .unwrap();
        let expected = [
            from_to("writer 0", "main", 1, 0),
            from_to("writer 1", "main", 2, 200),
            from_to("writer 2", "main", 3, 600),
        ];
        assert_eq!(sent(&counted.flows()), expected);
    }
}

fn several_readers_are_counted_by_what_each_has_read<M: Machine>(machine: &M) {
    let (mut writer, reader) = Channel::new().one_to_any::<u64>();
    let (results, mut at_main) = Channel::new().buffered(2).any_to_one::<(u64, u64)>();
    let mut network = network(machine);
    for at in 0..2 {
        let (mut reader, mut results) = (reader.clone(), results.clone());
        network.process(format!("reader {at}"), spe(at), move |process| {
            let mut read = 0;
            while reader.read(process).is_ok() {
                read += 1;
            }
            Ok(results.write(process, (at as u64, read))?)
        });
    }
    drop((reader, results));
    let counted = network.count_volumes();
    let read = network.run_with(move |process| {
        (0..10).for_each(|number| writer.write(process, number).unwrap());
        drop(writer);
        at_main.items(process).collect::<Vec<_>>()
    });
    let flows = counted.flows();
    for (at, read) in read.unwrap() {
        let reader = format!("reader {at}");
        assert_eq!(flows.between("main", &reader).messages, read);
        assert_eq!(flows.between(&reader, "main").bytes, 16);
    }
}

fn alternations_count_what_they_read_and_write<M: Machine>(machine: &M) {
    let (mut first, mut of_first) = Channel::new().one_to_one::<u32>();
    let (mut second, mut of_second) = Channel::new().buffered(2).one_to_one::<u32>();
    let (mut on, mut of_alternation) = Channel::new().one_to_one::<u64>();
    let mut network = network(machine);
    network.process("first", spe(0), move |process| {
        Ok((0..5).try_for_each(|number| first.write(process, number))?)
    });
    network.process("second", spe(1), move |process| {
        Ok((0..7).try_for_each(|number| second.write(process, number))?)
    });
    network.process("alternation", spe(0), move |process| {
        let mut any = Alternation::fair();
        let reads = [any.read(&mut of_first), any.read(&mut of_second)];
        let write = any.write(&mut on);
        let mut left = [5, 7];
        while left != [0, 0] {
            any.when(&reads[0], left[0] > 0);
            any.when(&reads[1], left[1] > 0);
            let chosen = any.select(process)?;
            let at = usize::from(chosen == reads[1]);
            let number = any.take(process, &reads[at]);
            left[at] -= 1;
            any.when(&reads[0], false);
            any.when(&reads[1], false);
            any.offer(process, &write, u64::from(number));
            assert!(any.select(process)? == write);
        }
        Ok(())
    });
    network.process("reader", spe(1), move |process| {
        for _ in 0..12 {
            of_alternation.read(process)?;
        }
        Ok(())
    });
    let counted = network.count_volumes();
    network.run().unwrap();
    let expected = [
        from_to("first", "alternation", 5, 20),
        from_to("second", "alternation", 7, 28),
        from_to("alternation", "reader", 12, 96),
    ];
    assert_eq!(sent(&counted.flows()), expected);
}

/// `try_read`, `read_until`, `read_up_to` and `write_all` count as `read` and `write` do.
fn every_way_to_read_and_write_counts<M: Machine>(machine: &M) {
    let (mut writer, mut reader) = Channel::new().buffered(8).one_to_one::<u32>();
    let mut network = network(machine);
    network.process("writer", spe(0), move |process| {
        writer.write_all(process, 0..40).unwrap();
        let mut item = 40;
        while let Err(refused) = writer.try_write(process, item) {
            item = refused.into_item();
            process.yield_ready();
            process.sleep_until(process.now() + Span::from_nanoseconds(1_000));
        }
        let later = process.now() + Span::from_nanoseconds(1_000_000_000);
        writer.write_until(process, 41, later).unwrap();
        Ok(())
    });
    network.process("reader", spe(1), move |process| {
        let mut items = Vec::new();
        while items.len() < 20 {
            reader.read_up_to(process, 5, &mut items)?;
        }
        while items.len() < 30 {
            let later = process.now() + Span::from_nanoseconds(1_000_000_000);
            items.extend(reader.read_until(process, later)?);
        }
        while items.len() < 35 {
            items.extend(reader.try_read(process)?);
            process.sleep_until(process.now() + Span::from_nanoseconds(1_000));
        }
        items.extend(reader.items(process));
        assert!(items.into_iter().eq(0..42));
        Ok(())
    });
    let counted = network.count_volumes();
    network.run().unwrap();
    assert_eq!(
        sent(&counted.flows()),
        [from_to("writer", "reader", 42, 168)]
    );
}

/// The items that wait in a buffer belong to the process that wrote them, also if another process
/// has the end by then.
fn an_end_that_moves_on_leaves_its_items_to_their_writer<M: Machine>(machine: &M) {
    let (mut writer, mut reader) = Channel::new().buffered(8).one_to_one::<u32>();
    let (mut hand_over, mut at_second) = Channel::new().one_to_one::<Writer<u32>>();
    let mut network = network(machine);
    network.process("first", spe(0), move |process| {
        (0..3).try_for_each(|number| writer.write(process, number))?;
        Ok(hand_over.write(process, writer)?)
    });
    network.process("second", spe(0), move |process| {
        let mut writer = at_second.read(process)?;
        Ok((0..4).try_for_each(|number| writer.write(process, number))?)
    });
    network.process("reader", spe(1), move |process| {
        assert_eq!(reader.items(process).count(), 7);
        Ok(())
    });
    let counted = network.count_volumes();
    network.run().unwrap();
    let flows = counted.flows();
    assert_eq!(flows.between("first", "reader").messages, 3);
    assert_eq!(flows.between("second", "reader").messages, 4);
    assert_eq!(flows.between("first", "second").messages, 1);
}

/// Ends go to and fro between processes on one SPE, which read and write in different ways.
fn ends_that_come_back_count_for_each_process_that_uses_them<M: Machine>(machine: &M) {
    let (writer, reader) = Channel::new().buffered(16).one_to_one::<u32>();
    let (mut to_other, mut at_other) = Channel::new().one_to_one::<(Writer<u32>, Reader<u32>)>();
    let (mut to_one, mut at_one) = Channel::new().one_to_one::<(Writer<u32>, Reader<u32>)>();
    let mut network = network(machine);
    network.process("one", spe(0), move |process| {
        let mut ends = (writer, reader);
        for number in 0..3 {
            ends.0.write(process, number)?;
            ends.0.write(process, number)?;
            to_other.write(process, ends)?;
            ends = at_one.read(process)?;
            ends.1.read(process)?;
        }
        Ok(())
    });
    network.process("other", spe(0), move |process| {
        for _ in 0..3 {
            let (mut writer, mut reader) = at_other.read(process)?;
            {
                let mut any = Alternation::fair();
                let write = any.write(&mut writer);
                any.offer(process, &write, 7);
                any.select(process)?;
            }
            {
                let mut any = Alternation::fair();
                let read = any.read(&mut reader);
                any.select(process)?;
                any.take(process, &read);
            }
            to_one.write(process, (writer, reader))?;
        }
        Ok(())
    });
    let counted = network.count_volumes();
    network.run().unwrap();
    let flows = counted.flows();
    // `one` writes 0 0 1 1 2 2, and `other` a 7 after each pair. They read in turns, `other` first,
    // so three items are left. Each passes the pair of ends on three times.
    let messages = |from, to| flows.between(from, to).messages;
    assert_eq!(messages("one", "other"), 2 + 3);
    assert_eq!(messages("one", "one"), 2);
    assert_eq!(messages("other", "other"), 1);
    assert_eq!(messages("other", "one"), 1 + 3);
}

/// Two processes read from a buffer one after the other. The first lives on meanwhile.
fn a_reader_that_moves_on_counts_for_each_process_until_then<M: Machine>(machine: &M) {
    let (mut writer, mut reader) = Channel::new().buffered(32).one_to_one::<u32>();
    let (mut written, mut is_written) = Channel::new().one_to_one::<()>();
    let (mut hand_over, mut at_second) = Channel::new().one_to_one::<Reader<u32>>();
    let (mut done, mut is_done) = Channel::new().one_to_one::<()>();
    let mut network = network(machine);
    network.process("writer", spe(0), move |process| {
        (0..20).try_for_each(|number| writer.write(process, number))?;
        written.write(process, ())?;
        Ok((20..30).try_for_each(|number| writer.write(process, number))?)
    });
    network.process("first", spe(1), move |process| {
        is_written.read(process)?;
        for number in 0..5 {
            assert_eq!(reader.read(process)?, number);
        }
        hand_over.write(process, reader)?;
        Ok(is_done.read(process)?)
    });
    network.process("second", spe(0), move |process| {
        let mut reader = at_second.read(process)?;
        assert!(reader.items(process).eq(5..30));
        Ok(done.write(process, ())?)
    });
    let counted = network.count_volumes();
    network.run().unwrap();
    let flows = counted.flows();
    assert_eq!(flows.between("writer", "first").messages, 1 + 5);
    assert_eq!(flows.between("writer", "second").messages, 25);
    assert_eq!(flows.between("writer", "second").bytes, 100);
}

/// The end of the reader and its items outlive the run.
fn a_reader_that_stays_open_has_counted_what_was_read<M: Machine>(machine: &M) {
    let (mut writer, mut reader) = Channel::new().buffered(8).one_to_one::<u32>();
    let (mut done, mut is_done) = Channel::new().one_to_one::<()>();
    let mut network = network(machine);
    let (to, from) = (&mut writer, &mut reader);
    network.process("writer", spe(0), move |process| {
        (0..8).try_for_each(|number| to.write(process, number))?;
        Ok(done.write(process, ())?)
    });
    network.process("reader", spe(1), move |process| {
        is_done.read(process)?;
        for number in 0..5 {
            assert_eq!(from.read(process)?, number);
        }
        Ok(())
    });
    let counted = network.count_volumes();
    network.run().unwrap();
    let expected = [from_to("writer", "reader", 1 + 5, 20)];
    assert_eq!(sent(&counted.flows()), expected);
}

/// The writer takes back what the reader has not read, while the reader lives on.
fn what_a_poisoned_buffer_gives_back_was_not_read<M: Machine>(machine: &M) {
    let (mut writer, mut reader) = Channel::new().buffered(8).one_to_one::<u32>();
    let (mut to_reader, mut at_reader) = Channel::new().one_to_one::<()>();
    let (mut to_writer, mut at_writer) = Channel::new().one_to_one::<()>();
    let mut network = network(machine);
    network.process("writer", spe(0), move |process| {
        (0..8).try_for_each(|number| writer.write(process, number))?;
        to_reader.write(process, ())?;
        at_writer.read(process)?;
        assert_eq!(writer.poison(process).len(), 5);
        Ok(to_reader.write(process, ())?)
    });
    network.process("reader", spe(1), move |process| {
        at_reader.read(process)?;
        for number in 0..3 {
            assert_eq!(reader.read(process)?, number);
        }
        to_writer.write(process, ())?;
        at_reader.read(process)?;
        assert!(reader.read(process).is_err());
        Ok(())
    });
    let counted = network.count_volumes();
    network.run().unwrap();
    let expected = [
        from_to("writer", "reader", 2 + 3, 12),
        from_to("reader", "writer", 1, 0),
    ];
    assert_eq!(sent(&counted.flows()), expected);
}

/// A server reads from the buffer of each request, one after the other.
fn a_hundred_buffers_of_one_reader_count_together<M: Machine>(machine: &M) {
    let (mut requests, mut at_server) = Channel::new().one_to_one::<Reader<Block>>();
    let mut network = network(machine);
    network.process("client", spe(0), move |process| {
        for bytes in 0..100 {
            let (mut writer, reader) = Channel::new().buffered(4).one_to_one();
            requests.write(process, reader)?;
            (0..3).try_for_each(|_| writer.write(process, Block(vec![0; bytes])))?;
        }
        Ok(())
    });
    network.process("server", spe(1), move |process| {
        while let Ok(mut request) = at_server.read(process) {
            assert_eq!(request.items(process).count(), 3);
        }
        Ok(())
    });
    let counted = network.count_volumes();
    network.run().unwrap();
    let flow = counted.flows().between("client", "server");
    let of_requests = 100 * size_of::<Reader<Block>>() as u64;
    assert_eq!(flow.messages, 100 + 300);
    assert_eq!(flow.bytes, of_requests + 3 * (0..100).sum::<u64>());
}

fn items_that_no_process_has_read_are_not_counted<M: Machine>(machine: &M) {
    let (mut writer, mut reader) = Channel::new().buffered(4).one_to_one::<u32>();
    let (mut done, mut at_reader) = Channel::new().one_to_one::<()>();
    let mut network = network(machine);
    network.process("writer", spe(0), move |process| {
        (0..4).try_for_each(|number| writer.write(process, number))?;
        Ok(done.write(process, ())?)
    });
    network.process("reader", spe(1), move |process| {
        at_reader.read(process)?;
        reader.read(process)?;
        assert_eq!(reader.poison(process).len(), 3);
        Ok(())
    });
    let counted = network.count_volumes();
    network.run().unwrap();
    assert_eq!(sent(&counted.flows()), [from_to("writer", "reader", 2, 4)]);
}

/// The places of a ring buffer keep the sender of an item, and a network that does not count leaves
/// them as they are.
fn items_of_earlier_networks_come_from_outside<M: Machine>(machine: &M) {
    let (mut writer, mut reader) = Channel::new().buffered(1).one_to_one::<u32>();
    let (to, from) = (&mut writer, &mut reader);
    let mut first = network(machine);
    first.process("writer", spe(0), move |process| Ok(to.write(process, 1)?));
    first.process("reader", spe(1), move |process| {
        assert_eq!(from.read(process)?, 1);
        Ok(())
    });
    let counted = first.count_volumes();
    first.run().unwrap();
    assert_eq!(sent(&counted.flows()), [from_to("writer", "reader", 1, 4)]);

    let to = &mut writer;
    let mut plain = network(machine);
    plain.process("plain", spe(0), move |process| Ok(to.write(process, 2)?));
    plain.run().unwrap();

    let from = &mut reader;
    let mut last = network(machine);
    last.process("silent", spe(0), |_| Ok(()));
    last.process("reader", spe(1), move |process| {
        assert_eq!(from.read(process)?, 2);
        Ok(())
    });
    let counted = last.count_volumes();
    last.run().unwrap();
    assert_eq!(sent(&counted.flows()), [from_to("outside", "reader", 1, 4)]);
}

fn a_network_that_fails_has_counted<M: Machine>(machine: &M) {
    let (mut writer, mut reader) = Channel::new().one_to_one::<u32>();
    let mut network = network(machine);
    network.process("writer", spe(0), move |process| {
        writer.write(process, 1)?;
        Err("it gave up".into())
    });
    network.process("reader", spe(1), move |process| {
        Ok(reader.read(process).map(drop)?)
    });
    let counted = network.count_volumes();
    assert!(matches!(network.run(), Err(NetworkError::Failed { .. })));
    assert_eq!(sent(&counted.flows()), [from_to("writer", "reader", 1, 4)]);
}

/// An item that knows its bytes only if it is true.
struct Sized(bool);

impl Item for Sized {
    fn bytes(&self) -> usize {
        assert!(self.0, "the bytes are not known");
        100
    }
}

/// Also with a whole batch of items.
#[test]
fn an_item_counts_as_a_message_also_if_its_bytes_are_not_known() {
    for buffer in [0, 8] {
        let machine = &host();
        let (mut writer, mut reader) = Channel::new().buffered(buffer).one_to_one::<Sized>();
        let mut network = network(machine);
        network.process("writer", spe(0), move |process| {
            for is_known in [true, true, true, false] {
                writer.write(process, Sized(is_known))?;
            }
            Ok(())
        });
        network.process("reader", spe(0), move |process| {
            let mut items = Vec::new();
            loop {
                let read = || reader.read_up_to(process, 4, &mut items);
                match catch_unwind(AssertUnwindSafe(read)) {
                    Ok(read) => assert!(read? > 0),
                    Err(_) => break,
                }
            }
            Ok(())
        });
        let counted = network.count_volumes();
        network.run().unwrap();
        let expected = [from_to("writer", "reader", 4, 301)];
        assert_eq!(sent(&counted.flows()), expected);
    }
}

/// More senders than a tally has slots.
#[test]
fn a_hundred_writers_are_counted_apart() {
    let machine = &host();
    let (writer, mut reader) = Channel::new().any_to_one::<u8>();
    let mut network = network(machine);
    for at in 0..100 {
        let mut writer = writer.clone();
        network.process(format!("writer {at}"), spe(at), move |process| {
            (0..2 + at % 2).try_for_each(|_| writer.write(process, 1))?;
            Ok(())
        });
    }
    drop(writer);
    let counted = network.count_volumes();
    network
        .run_with(move |process| assert_eq!(reader.items(process).count(), 250))
        .unwrap();
    let expected: Vec<_> = (0..100)
        .map(|at| from_to(&format!("writer {at}"), "main", 2 + at % 2, 2 + at % 2))
        .collect();
    assert_eq!(sent(&counted.flows()), expected);
}

fn a_group_is_one_task_and_keeps_its_processes_apart<M: Machine>(machine: &M) {
    let (mut out, mut input) = Channel::new().one_to_one::<u32>();
    let mut network = network(machine);
    network.process("sink", spe(1), move |process| {
        assert_eq!(input.items(process).sum::<u32>(), 6);
        Ok(())
    });
    network.group(spe(0), move |group| {
        let (mut writer, mut reader) = Channel::local().one_to_one::<u32>();
        group.process("source", move |process| {
            Ok((1..4).try_for_each(|number| writer.write(process, number))?)
        });
        group.process("relay", move |process| {
            while let Ok(number) = reader.read(process) {
                out.write(process, number)?;
            }
            Ok(())
        });
    });
    let counted = network.count_volumes();
    network.run().unwrap();
    let flows = counted.flows();
    let expected = [
        from_to("source", "relay", 3, 12),
        from_to("relay", "sink", 3, 12),
    ];
    assert_eq!(sent(&flows), expected);
    assert_eq!(
        sent(&flows.of_tasks()),
        [from_to("source, relay", "sink", 3, 12)]
    );
    let graph = "\
tasks 2
# task 0 on SPE 1: sink
# task 1 on SPE 0: source, relay
1 0 3  # 3 messages, 12 bytes
";
    assert_eq!(flows.to_string(), graph);
}

/// Processes run where the placement says, and have the same order and counts as without it.
fn a_placement_moves_processes<M: Machine>(machine: &M) {
    let run = |places: Option<[SpeId; 2]>| {
        let (mut writer, mut reader) = Channel::new().one_to_one::<u32>();
        let mut network = network(machine);
        network.process("writer", spe(0), move |process| {
            Ok(writer.write(process, process.place().id().index() as u32)?)
        });
        network.process("reader", spe(1), move |process| {
            let at = reader.read(process)?;
            assert_eq!(at as usize, 1 - process.place().id().index());
            Ok(())
        });
        if let Some(places) = places {
            network.place(places);
        }
        let counted = network.count_volumes();
        network.run().unwrap();
        counted.flows()
    };
    let (before, after) = (run(None), run(Some([spe(1), spe(0)])));
    assert_eq!(sent(&before), sent(&after));
    let places = |flows: &Flows| -> Vec<String> {
        let parties = flows.parties().iter().take(2);
        parties.map(|party| party.at.unwrap().to_string()).collect()
    };
    assert_eq!(places(&before), ["SPE 0", "SPE 1"]);
    assert_eq!(places(&after), ["SPE 1", "SPE 0"]);
}

/// A group without processes, for a process that another starts, and a group that comes last.
fn empty_groups_keep_their_units_and_started_processes_are_no_tasks<M: Machine>(machine: &M) {
    let run = |places: Option<Vec<SpeId>>| {
        let (mut half, mut of_half) = Channel::new().one_to_one::<u32>();
        let (mut sum, mut of_sum) = Channel::new().one_to_one::<u32>();
        let mut network = network(machine);
        let starter = network.starter();
        network.group(spe(1), |_| {});
        network.process("B", spe(0), move |process| {
            let start_half = move |process: &Process<'_, M::Spe>| Ok(half.write(process, 1)?);
            starter
                .start(process, "half", spe(1), start_half)
                .join(process)?;
            Ok(())
        });
        network.process("C", spe(1), move |process| {
            Ok(sum.write(process, of_half.read(process)?)?)
        });
        network.group(spe(0), |_| {});
        places.into_iter().for_each(|places| network.place(places));
        let counted = network.count_volumes();
        let read = network.run_with(move |process| of_sum.read(process));
        assert_eq!(read.unwrap(), Ok(1));
        counted.flows()
    };
    let flows = run(None);
    let units: Vec<_> = flows
        .parties()
        .iter()
        .map(|party| (party.name.as_str(), party.unit))
        .collect();
    let expected = [
        ("no process", 0),
        ("B", 1),
        ("C", 2),
        ("no process", 3),
        ("half", 4),
        ("main", 5),
    ];
    assert_eq!(units, expected);
    assert_eq!(
        sent(&flows),
        [
            from_to("C", "main", 1, 4),
            from_to("half", "B", 1, 0),
            from_to("half", "C", 1, 4)
        ]
    );
    let tasks = flows.of_tasks();
    assert_eq!(tasks.iter().count(), 0);
    let names: Vec<_> = tasks.parties().iter().map(|party| &party.name).collect();
    assert_eq!(names, ["no process", "B", "C", "no process"]);

    // The SPEs of the tasks are those that `place` takes.
    let places = [1, 1, 0, 0].map(spe).to_vec();
    let placed = run(Some(places.clone())).of_tasks();
    let at: Vec<_> = placed
        .parties()
        .iter()
        .map(|party| party.at.unwrap())
        .collect();
    assert_eq!(
        at,
        places.into_iter().map(Processor::Spe).collect::<Vec<_>>()
    );
}

fn a_placement_of_another_number_of_units_is_refused<M: Machine>(machine: &M) {
    let mut network = network(machine);
    network.process("only", spe(0), |_| panic!("no process runs"));
    network.place([spe(0), spe(1)]);
    let error = network.run().unwrap_err().to_string();
    let expected = "the placement has an SPE for 2 units, but the network has 1: one for each call of `process` or `group`; \
                    give one SPE for each of them";
    assert_eq!(error, expected);
}

#[test]
fn threads_behind_gates_are_one_party_outside() {
    let machine = host();
    let mut network = Network::on(&machine);
    let ends = sum(&mut network);
    let mut gate = network.gate("a thread", ends);
    let counted = network.count_volumes();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let ((numbers, answer), process) = gate.enter().unwrap();
            (0..2).for_each(|number| numbers.write(&process, number).unwrap());
            numbers.close(&process);
            assert_eq!(answer.read(&process), Ok(1));
        });
        network.run().unwrap();
    });
    assert_is_outside(&counted.flows());
}

/// Each time, the thread has a process of its own, which uses the same end on the same thread.
#[test]
fn a_thread_that_enters_its_gate_again_counts_each_time() {
    let machine = host();
    let mut network = Network::on(&machine);
    let (mut numbers, reader) = Channel::new().buffered(8).one_to_one::<u32>();
    // Without it, the network could end before the thread enters again.
    let (done, mut is_done) = Channel::new().one_to_one::<u32>();
    let mut gate = network.gate("a thread", (reader, done));
    network.process("source", spe(0), move |process| {
        (0..6).try_for_each(|number| numbers.write(process, number))?;
        is_done.read(process)?;
        Ok(())
    });
    let counted = network.count_volumes();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for turn in 0..3 {
                let ((reader, done), process) = gate.enter().unwrap();
                assert_eq!(reader.read(&process), Ok(2 * turn));
                assert_eq!(reader.read(&process), Ok(2 * turn + 1));
                if turn == 2 {
                    done.write(&process, 0).unwrap();
                }
            }
        });
        network.run().unwrap();
    });
    assert_eq!(
        sent(&counted.flows()),
        [
            from_to("source", "outside", 6, 24),
            from_to("outside", "source", 1, 4)
        ]
    );
}

#[test]
fn async_tasks_are_the_party_outside_too() {
    let machine = host();
    let mut network = Network::on(&machine);
    let ends = sum(&mut network);
    let (gate, (numbers, answer)) = network.gate("a task", ends).into_async();
    let (mut numbers, mut answer) = (gate.writer(numbers), gate.reader(answer));
    let counted = network.count_volumes();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            smol::block_on(async {
                numbers.write(0).await.unwrap();
                numbers.write(1).await.unwrap();
                numbers.close();
                assert_eq!(answer.read().await, Ok(1));
            });
        });
        network.run().unwrap();
    });
    assert_is_outside(&counted.flows());
}

/// Adds a process that writes the sum of the numbers that it reads.
fn sum(network: &mut Network<'_, Host>) -> (Writer<u32>, Reader<u64>) {
    let (numbers, mut to_add) = Channel::new().one_to_one::<u32>();
    let (mut sum, answer) = Channel::new().one_to_one();
    network.process("sum", spe(0), move |process| {
        let total = to_add.items(process).map(u64::from).sum();
        Ok(sum.write(process, total)?)
    });
    (numbers, answer)
}

fn assert_is_outside(flows: &Flows) {
    let expected = [
        from_to("sum", "outside", 1, 8),
        from_to("outside", "sum", 2, 8),
    ];
    assert_eq!(sent(flows), expected);
    assert_eq!(flows.parties().last().unwrap().at, None);
    assert_eq!(flows.of_tasks().iter().count(), 0);
}

/// A file in memory, because the test reads the contents afterwards.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl io::Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_trace_has_what_each_process_has_read() {
    let kept = Kept::default();
    let qs22 = Description::built_in("qs22").unwrap();
    let machine = Sim::builder(qs22)
        .trace(Box::new(kept.clone()))
        .build()
        .unwrap();
    let (mut writer, mut reader) = Channel::new().one_to_one::<u32>();
    let mut network = Network::on(&machine);
    network.process("writer", spe(0), move |process| {
        Ok((0..3).try_for_each(|number| writer.write(process, number))?)
    });
    network.process("reader", spe(1), move |process| {
        assert_eq!(reader.items(process).count(), 3);
        Ok(())
    });
    let _counted = network.count_volumes();
    network.run().unwrap();
    let slices = read_slices(&kept.0.lock().unwrap()).unwrap();
    let of = |spe: usize| -> Vec<&str> {
        let track = format!("SPE {spe}/");
        let of_spe = slices
            .iter()
            .filter(|slice| slice.track.starts_with(&track));
        let reads = of_spe.filter(|slice| slice.name.starts_with("read "));
        reads.map(|slice| &*slice.name).collect()
    };
    assert_eq!(of(0), ["read 0 messages, 0 bytes"]);
    assert_eq!(of(1), ["read 3 messages, 12 bytes"]);
}

#[test]
fn an_open_network_counts() {
    let machine = host();
    let flows = machine.run(|ppe| {
        let program = ppe.spawn(spe(0), |at| {
            let mut open = OpenNetwork::new(at);
            let counted = open.count_volumes();
            let (mut writer, mut reader) = Channel::new().one_to_one::<u32>();
            let open = &open;
            at.thread_scope(|scope| {
                let writes = move |_| {
                    open.process(at, "writer", move |process| {
                        (0..3).for_each(|number| writer.write(process, number).unwrap());
                    });
                };
                scope.spawn(writes).unwrap();
                let read = open.process(at, "reader", |process| reader.items(process).count());
                assert_eq!(read, 3);
            });
            counted.flows()
        });
        program.join().unwrap()
    });
    assert_eq!(flows.unwrap().between("writer", "reader").bytes, 12);
}

crate::on_every_machine![
    a_ring_counts_each_neighbour,
    each_of_several_writers_is_counted_with_the_bytes_of_its_items,
    several_readers_are_counted_by_what_each_has_read,
    alternations_count_what_they_read_and_write,
    every_way_to_read_and_write_counts,
    an_end_that_moves_on_leaves_its_items_to_their_writer,
    ends_that_come_back_count_for_each_process_that_uses_them,
    a_reader_that_moves_on_counts_for_each_process_until_then,
    a_reader_that_stays_open_has_counted_what_was_read,
    what_a_poisoned_buffer_gives_back_was_not_read,
    a_hundred_buffers_of_one_reader_count_together,
    items_that_no_process_has_read_are_not_counted,
    a_network_that_fails_has_counted,
    items_of_earlier_networks_come_from_outside,
    a_group_is_one_task_and_keeps_its_processes_apart,
    a_placement_moves_processes,
    empty_groups_keep_their_units_and_started_processes_are_no_tasks,
    a_placement_of_another_number_of_units_is_refused,
];

/// An item that says that it has more bytes than any memory.
struct Huge;

impl Item for Huge {
    fn bytes(&self) -> usize {
        usize::MAX
    }
}

#[test]
fn bytes_that_no_number_holds_wrap_around() {
    let machine = &host();
    let (mut writer, mut reader) = Channel::new().buffered(8).one_to_one::<Huge>();
    let (mut second, mut at_second) = Channel::new().one_to_one::<Huge>();
    let mut network = network(machine);
    network.process("writer", spe(0), move |process| {
        for _ in 0..4 {
            writer.write(process, Huge)?;
        }
        Ok(second.write(process, Huge)?)
    });
    network.process("reader", spe(0), move |process| {
        for _ in 0..4 {
            reader.read(process)?;
        }
        at_second.read(process)?;
        Ok(())
    });
    let counted = network.count_volumes();
    network.run().unwrap();
    // Each item counts as one byte less than none.
    let bytes = 0_u64.wrapping_sub(5);
    assert_eq!(
        sent(&counted.flows()),
        [from_to("writer", "reader", 5, bytes)]
    );
}
