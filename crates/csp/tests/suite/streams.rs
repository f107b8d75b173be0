//! Buffered channels with one writer and one reader, one item at a time and in batches.

use cellworks_csp::{Alternation, Channel, Ended};
use cellworks_machine::{Machine, Span};

use crate::{network, on_every_machine, spe};

on_every_machine![
    batches_arrive_in_order_through_every_kind_of_channel,
    a_batch_is_what_is_there,
    what_is_left_of_a_batch_is_given_back,
    a_writer_that_poisons_gets_the_items_that_were_not_read,
    what_a_closed_buffer_holds_is_read_first,
    a_writer_goes_on_as_soon_as_there_is_room,
    ends_move_to_another_processor,
    an_alternation_reads_and_writes_buffers,
    a_buffer_drops_items_that_were_not_read,
    room_for_items_without_bytes_takes_none,
    what_was_read_of_a_batch_is_kept_if_the_channel_ends,
];

fn batches_arrive_in_order_through_every_kind_of_channel<M: Machine>(machine: &M) {
    const ITEMS: u32 = 1000;
    for capacity in [0, 1, 3, 64] {
        let (mut writer, mut reader) = Channel::new().buffered(capacity).one_to_one();
        let (mut copy, mut copied) = Channel::new().buffered(capacity).any_to_any();
        let mut network = network(machine);
        network.process("writer", spe(0), move |process| {
            // Writes single items and batches to the same channel.
            for first in (0..ITEMS).step_by(100) {
                writer.write(process, Box::new(first))?;
                writer.write_all(process, (first + 1..first + 100).map(Box::new))?;
            }
            Ok(())
        });
        network.process("copy", spe(1), move |process| {
            let mut batch = Vec::new();
            loop {
                batch.push(reader.read(process)?);
                let before = batch.len();
                // The channel may end before this read.
                let read = reader.read_up_to(process, 7, &mut batch);
                assert_eq!(batch.len(), before + read.unwrap_or(0));
                copy.write_all(process, batch.drain(..))?;
                read?;
            }
        });
        let items = network.run_with(|process| {
            let mut items = Vec::new();
            while copied.read_up_to(process, 100, &mut items).is_ok() {}
            items
        });
        let items: Vec<u32> = items.unwrap().into_iter().map(|item| *item).collect();
        assert_eq!(items, Vec::from_iter(0..ITEMS), "capacity {capacity}");
    }
}

fn a_batch_is_what_is_there<M: Machine>(machine: &M) {
    let (mut writer, mut reader) = Channel::new().buffered(8).one_to_one();
    let mut network = network(machine);
    network.process("both", spe(0), move |process| {
        writer.write_all(process, 0..8)?;
        let mut items = Vec::new();
        assert_eq!(reader.read_up_to(process, 0, &mut items), Ok(0));
        let first = reader.read_up_to(process, 3, &mut items)?;
        let rest = reader.read_up_to(process, 100, &mut items)?;
        // The first read may get only one item.
        assert!(first <= 3 && first + rest <= 8, "{first} and {rest}");
        while items.len() < 8 {
            reader.read_up_to(process, 100, &mut items)?;
        }
        assert_eq!(items, Vec::from_iter(0..8));
        drop(writer);
        assert_eq!(
            reader.read_up_to(process, 3, &mut items),
            Err(Ended::Closed)
        );
        assert_eq!(items.len(), 8);
        Ok(())
    });
    network.run().unwrap();
}

fn what_is_left_of_a_batch_is_given_back<M: Machine>(machine: &M) {
    const ITEMS: u32 = 500;
    for capacity in [0, 4, 100] {
        let (mut writer, mut reader) = Channel::new().buffered(capacity).one_to_one();
        let (mut back, mut given_back) = Channel::new().one_to_one();
        let mut network = network(machine);
        network.process("writer", spe(0), move |process| {
            let unsent = writer
                .write_all(process, (0..ITEMS).map(Box::new))
                .unwrap_err();
            assert_eq!(unsent.ended, Ended::Poisoned);
            let rest: Vec<_> = unsent.item.collect();
            Ok(back.write(process, rest)?)
        });
        let items = network.run_with(|process| {
            let mut items: Vec<_> = (0..150).map(|_| reader.read(process).unwrap()).collect();
            items.extend(reader.poison(process));
            items.extend(given_back.read(process).unwrap());
            items
        });
        let items: Vec<u32> = items.unwrap().into_iter().map(|item| *item).collect();
        assert_eq!(items, Vec::from_iter(0..ITEMS), "capacity {capacity}");
    }
}

fn a_writer_that_poisons_gets_the_items_that_were_not_read<M: Machine>(machine: &M) {
    const ITEMS: u32 = 1000;
    let (mut writer, mut reader) = Channel::new().buffered(16).one_to_one();
    let (mut back, mut given_back) = Channel::new().one_to_one();
    let mut network = network(machine);
    network.process("writer", spe(0), move |process| {
        writer.write_all(process, (0..ITEMS).map(Box::new))?;
        let unread = writer.poison(process);
        Ok(back.write(process, unread)?)
    });
    let items = network.run_with(|process| {
        let mut items = Vec::new();
        let ended = loop {
            match reader.read(process) {
                Ok(item) => items.push(item),
                Err(ended) => break ended,
            }
        };
        assert_eq!(ended, Ended::Poisoned);
        items.extend(given_back.read(process).unwrap());
        items
    });
    let items: Vec<u32> = items.unwrap().into_iter().map(|item| *item).collect();
    assert_eq!(items, Vec::from_iter(0..ITEMS));
}

fn what_a_closed_buffer_holds_is_read_first<M: Machine>(machine: &M) {
    let (mut writer, mut reader) = Channel::new().buffered(8).one_to_one();
    let mut network = network(machine);
    network.process("both", spe(0), move |process| {
        writer.write_all(process, 0..5)?;
        writer.close(process);
        let unsent = writer.write(process, 5).unwrap_err();
        assert_eq!((unsent.item, unsent.ended), (5, Ended::Closed));
        for item in 0..5 {
            assert_eq!(reader.read(process), Ok(item));
        }
        assert_eq!(reader.read(process), Err(Ended::Closed));
        Ok(())
    });
    network.run().unwrap();
}

fn a_writer_goes_on_as_soon_as_there_is_room<M: Machine>(machine: &M) {
    for readers_spe in [0, 1] {
        let (mut writer, mut reader) = Channel::new().buffered(1).one_to_one();
        let (mut done, mut is_done) = Channel::new().one_to_one();
        let (mut empty, mut is_empty) = Channel::new().one_to_one();
        let mut network = network(machine);
        network.process("writer", spe(0), move |process| {
            for round in 0..100 {
                writer.write_all(process, [round, round])?;
                done.write(process, ())?;
                is_empty.read(process)?;
            }
            Ok(())
        });
        network.process("reader", spe(readers_spe), move |process| {
            for round in 0..100 {
                assert_eq!(reader.read(process)?, round);
                // The writer has room for its second item now, even if the reader does not come
                // back.
                is_done.read(process)?;
                assert_eq!(reader.read(process)?, round);
                empty.write(process, ())?;
            }
            Ok(())
        });
        network.run().unwrap();
    }
}

fn ends_move_to_another_processor<M: Machine>(machine: &M) {
    const ROUNDS: u32 = 50;
    // The ends of this channel are sent from process to process, so all processes use the channel
    // in turn.
    let ring = [0, 1, 2].map(|_| Channel::new().one_to_one());
    let (mut to, mut from): (Vec<_>, Vec<_>) = ring.into_iter().unzip();
    to.rotate_left(1);
    let ends = Channel::new().buffered(4).one_to_one::<u32>();
    let mut ends = Some(ends);
    let (mut done, mut all) = Channel::new().one_to_one();
    let mut done = Some(&mut done);
    let mut network = network(machine);
    for index in 0..3_u32 {
        let (mut to, mut from) = (to.remove(0), from.remove(0));
        let (mut first, done) = (ends.take(), done.take_if(|_| index == 0));
        network.process(
            format!("process {index}"),
            spe(index as u16),
            move |process| {
                let mut sum = 0;
                for round in 0..ROUNDS {
                    let held = first.take().map(Moving);
                    let Moving((mut writer, mut reader)) = match held {
                        Some(ends) => ends,
                        None => from.read(process)?,
                    };
                    if round > 0 || index > 0 {
                        sum += reader.read(process)? + reader.read(process)?;
                    }
                    writer.write_all(process, [round, index])?;
                    to.write(process, Moving((writer, reader)))?;
                }
                match done {
                    Some(done) => {
                        from.read(process)?;
                        Ok(done.write(process, sum)?)
                    }
                    None => Ok(()),
                }
            },
        );
    }
    let sum = network.run_with(|process| all.read(process));
    // Process 0 reads the item that process 2 has written in the round before.
    assert_eq!(
        sum.unwrap(),
        Ok((0..ROUNDS - 1).map(|round| round + 2).sum())
    );
}

/// The two ends of a channel, as an item.
struct Moving((cellworks_csp::Writer<u32>, cellworks_csp::Reader<u32>));

impl cellworks_csp::Item for Moving {}

fn an_alternation_reads_and_writes_buffers<M: Machine>(machine: &M) {
    const ITEMS: u32 = 300;
    let (mut numbers, mut input) = Channel::new().buffered(5).one_to_one();
    let (mut output, mut results) = Channel::new().buffered(3).one_to_one();
    let mut network = network(machine);
    network.process("source", spe(0), move |process| {
        Ok(numbers.write_all(process, 0..ITEMS)?)
    });
    network.process("between", spe(1), move |process| {
        // Items pass without guards, then with guards, then without guards again.
        for _ in 0..50 {
            output.write(process, input.read(process)?)?;
        }
        {
            let mut held = std::collections::VecDeque::new();
            let mut alternation = Alternation::fair();
            let read = alternation.read(&mut input);
            let write = alternation.write(&mut output);
            let (mut taken, mut written) = (0, 0);
            while written < 100 {
                alternation.when(&read, taken < 100);
                if !alternation.is_offered(&write)
                    && let Some(number) = held.pop_front()
                {
                    alternation.offer(process, &write, number);
                }
                if alternation.select(process)? == read {
                    held.push_back(alternation.take(process, &read));
                    taken += 1;
                } else {
                    written += 1;
                }
            }
        }
        loop {
            output.write(process, input.read(process)?)?;
        }
    });
    let items = network.run_with(|process| {
        let mut items = Vec::new();
        while results.read_up_to(process, 10, &mut items).is_ok() {}
        items
    });
    assert_eq!(items.unwrap(), Vec::from_iter(0..ITEMS));
}

fn a_buffer_drops_items_that_were_not_read<M: Machine>(machine: &M) {
    let item = std::sync::Arc::new(());
    let (mut writer, mut reader) = Channel::new().buffered(8).one_to_one();
    let items = (0..5).map(|_| Shared(std::sync::Arc::clone(&item)));
    let items: Vec<_> = items.collect();
    let mut network = network(machine);
    network.process("both", spe(0), move |process| {
        writer.write_all(process, items)?;
        drop(reader.read(process)?);
        Ok(())
    });
    network.run().unwrap();
    assert_eq!(std::sync::Arc::strong_count(&item), 1);
}

fn room_for_items_without_bytes_takes_none<M: Machine>(machine: &M) {
    for capacity in [1 << 40, usize::MAX] {
        let (mut writer, mut reader) = Channel::new().buffered(capacity).one_to_one();
        let mut network = network(machine);
        network.process("writer", spe(0), move |process| {
            Ok((0..100).try_for_each(|_| writer.write(process, ()))?)
        });
        let items =
            network.run_with(|process| std::iter::from_fn(|| reader.read(process).ok()).count());
        assert_eq!(items.unwrap(), 100);
    }
}

fn what_was_read_of_a_batch_is_kept_if_the_channel_ends<M: Machine>(machine: &M) {
    // The poison may come before, after or between the items.
    for delay_ns in (0..2000).step_by(100) {
        let (mut writer, mut reader) = Channel::new().buffered(64).one_to_one();
        let mut network = network(machine);
        network.process("writer", spe(0), move |process| {
            writer.write_all(process, 0..64_u32)?;
            let time = process.now() + Span::from_nanoseconds(delay_ns);
            process.sleep_until(time);
            let unread = writer.poison(process);
            assert!(unread.is_sorted());
            Ok(())
        });
        let (result, items) = network
            .run_with(|process| {
                let mut items = Vec::new();
                let result = reader.read_up_to(process, 64, &mut items);
                (result, items)
            })
            .unwrap();
        assert_eq!(
            items.len(),
            result.unwrap_or(0),
            "poisoned after {delay_ns} ns"
        );
    }
}

#[derive(Debug)]
struct Shared(#[expect(dead_code, reason = "it is counted")] std::sync::Arc<()>);

impl cellworks_csp::Item for Shared {}
