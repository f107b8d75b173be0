//! Reads and writes that do not wait or have a deadline, and reads by an iterator.

use cellworks_csp::{
    Alternation, Channel, Ended, Input, Kind, Output, Place, Process, Reach, Reader, Refused,
    Unsent, Writer,
};
use cellworks_machine::{Machine, Span, Time};

use crate::{network, on_every_machine, spe};

on_every_machine![
    a_try_says_item_or_nothing_or_ended,
    a_deadline_says_item_or_nothing_or_ended,
    a_try_meets_a_process_that_waits,
    a_try_meets_an_alternation_that_waits,
    a_partner_that_comes_in_time_is_met,
    a_partner_that_comes_too_late_finds_nothing,
    items_go_through_while_both_sides_have_deadlines,
    local_ends_try_and_have_deadlines,
    an_iterator_knows_how_its_channel_ended,
];

fn in_ns(process: &Process<'_, impl Place>, ns: u64) -> Time {
    process.now() + Span::from_nanoseconds(ns)
}

/// The two ways to limit a wait: no wait at all, and a deadline.
#[derive(Clone, Copy)]
enum Way {
    Try,
    Until,
}

impl Way {
    fn read(
        self,
        process: &Process<'_, impl Place>,
        mut reader: impl Input<u32>,
    ) -> Result<Option<u32>, Ended> {
        match self {
            Self::Try => reader.try_read(process),
            Self::Until => reader.read_until(process, in_ns(process, 500)),
        }
    }

    fn write(
        self,
        process: &Process<'_, impl Place>,
        mut writer: impl Output<u32>,
        item: u32,
    ) -> Result<(), Refused<u32>> {
        match self {
            Self::Try => writer.try_write(process, item),
            Self::Until => writer.write_until(process, item, in_ns(process, 500)),
        }
    }
}

/// Checks a channel that no other process uses.
fn check_alone<W: Kind, D: Kind, R: Reach>(
    process: &Process<'_, impl Place>,
    way: Way,
    capacity: u32,
    (mut writer, mut reader): (Writer<u32, W, R>, Reader<u32, D, R>),
) {
    let ended = |ended| Err(Refused::Ended(Unsent { item: 9, ended }));
    assert_eq!(way.read(process, &mut reader), Ok(None));
    for round in 0..3 {
        for item in 0..capacity {
            assert_eq!(way.write(process, &mut writer, round + item), Ok(()));
        }
        let refused = way.write(process, &mut writer, 9).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "an item was not written: no reader took it in time"
        );
        assert_eq!(refused.not_taken(), Ok(9));
        for item in 0..capacity {
            assert_eq!(way.read(process, &mut reader), Ok(Some(round + item)));
        }
        assert_eq!(way.read(process, &mut reader), Ok(None));
    }
    if capacity > 0 {
        writer.write(process, 7).unwrap();
    }
    writer.close(process);
    assert_eq!(way.write(process, &mut writer, 9), ended(Ended::Closed));
    if capacity > 0 {
        assert_eq!(way.read(process, &mut reader), Ok(Some(7)));
    }
    assert_eq!(way.read(process, &mut reader), Err(Ended::Closed));
    reader.poison(process);
    assert_eq!(way.read(process, &mut reader), Err(Ended::Poisoned));
    assert_eq!(way.write(process, &mut writer, 9), ended(Ended::Poisoned));
}

fn check_all_kinds(process: &Process<'_, impl Place>, way: Way) {
    for capacity in [0, 1, 3] {
        let buffered = || Channel::new().buffered(capacity as usize);
        check_alone(process, way, capacity, buffered().one_to_one());
        check_alone(process, way, capacity, buffered().one_to_any());
        check_alone(process, way, capacity, buffered().any_to_one());
        check_alone(process, way, capacity, buffered().any_to_any());
    }
}

fn a_try_says_item_or_nothing_or_ended<M: Machine>(machine: &M) {
    let mut network = network(machine);
    network.process("alone", spe(1), |process| {
        check_all_kinds(process, Way::Try);
        Ok(())
    });
    network
        .run_with(|process| check_all_kinds(process, Way::Try))
        .unwrap();
}

fn a_deadline_says_item_or_nothing_or_ended<M: Machine>(machine: &M) {
    let mut network = network(machine);
    network.process("alone", spe(1), |process| {
        check_all_kinds(process, Way::Until);
        Ok(())
    });
    network
        .run_with(|process| check_all_kinds(process, Way::Until))
        .unwrap();
}

fn local_ends_try_and_have_deadlines<M: Machine>(machine: &M) {
    let mut network = network(machine);
    network.group(spe(1), |group| {
        group.process("alone", |process| {
            for way in [Way::Try, Way::Until] {
                for capacity in [0, 2] {
                    let local = || Channel::local().buffered(capacity as usize);
                    check_alone(process, way, capacity, local().one_to_one());
                    check_alone(process, way, capacity, local().any_to_any());
                }
            }
            Ok(())
        });
    });
    network.run().unwrap();
}

fn a_try_meets_a_process_that_waits<M: Machine>(machine: &M) {
    for at in [0, 1] {
        let (mut to_plain, mut at_plain) = Channel::new().one_to_one::<u32>();
        let (mut from_plain, mut to_read) = Channel::new().one_to_one::<u32>();
        let mut network = network(machine);
        network.process("plain", spe(0), move |process| {
            let item = at_plain.read(process)?;
            Ok(from_plain.write(process, item + 1)?)
        });
        network.process("tries", spe(at), move |process| {
            let mut item = 6;
            while let Err(refused) = to_plain.try_write(process, item) {
                item = refused.not_taken()?;
                process.yield_now();
            }
            loop {
                if let Some(item) = to_read.try_read(process)? {
                    assert_eq!(item, 7);
                    return Ok(());
                }
                process.yield_now();
            }
        });
        network.run().unwrap();
    }
}

fn a_try_meets_an_alternation_that_waits<M: Machine>(machine: &M) {
    let (mut to_other, mut at_other) = Channel::new().one_to_one::<u32>();
    let (mut from_other, mut to_read) = Channel::new().one_to_one::<u32>();
    let mut network = network(machine);
    network.process("alternates", spe(0), move |process| {
        let mut either = Alternation::fair();
        let read = either.read(&mut at_other);
        let write = either.write(&mut from_other);
        either.offer(process, &write, 8);
        for _ in 0..2 {
            if either.select(process)? == read {
                assert_eq!(either.take(process, &read), 6);
            }
        }
        Ok(())
    });
    network.process("tries", spe(1), move |process| {
        while to_other.try_write(process, 6).is_err() {
            process.yield_now();
        }
        loop {
            if let Some(item) = to_read.try_read(process)? {
                assert_eq!(item, 8);
                return Ok(());
            }
            process.yield_now();
        }
    });
    network.run().unwrap();
}

fn a_partner_that_comes_in_time_is_met<M: Machine>(machine: &M) {
    let (mut to_late, mut at_late) = Channel::new().one_to_one::<u32>();
    let (mut from_late, mut to_read) = Channel::new().one_to_one::<u32>();
    let mut network = network(machine);
    network.process("late", spe(0), move |process| {
        process.sleep_until(in_ns(process, 20_000));
        assert_eq!(at_late.read(process), Ok(1));
        process.sleep_until(in_ns(process, 20_000));
        Ok(from_late.write(process, 2)?)
    });
    network.process("waits", spe(1), move |process| {
        let minute = in_ns(process, 60_000_000_000);
        assert_eq!(to_late.write_until(process, 1, minute), Ok(()));
        assert_eq!(to_read.read_until(process, minute), Ok(Some(2)));
        Ok(())
    });
    network.run().unwrap();
}

fn a_partner_that_comes_too_late_finds_nothing<M: Machine>(machine: &M) {
    let (mut to_late, mut at_late) = Channel::new().one_to_one::<u32>();
    let (mut from_late, mut to_read) = Channel::new().one_to_one::<u32>();
    let (mut gone, mut has_gone) = Channel::new().one_to_one::<()>();
    let mut network = network(machine);
    network.process("late", spe(0), move |process| {
        has_gone.read(process)?;
        assert_eq!(at_late.try_read(process), Ok(None));
        let refused = from_late.try_write(process, 2).unwrap_err();
        assert_eq!(refused.into_item(), 2);
        Ok(has_gone.read(process)?)
    });
    network.process("waits", spe(1), move |process| {
        let soon = in_ns(process, 1_000);
        let refused = to_late.write_until(process, 1, soon).unwrap_err();
        assert_eq!(refused, Refused::NotTaken(1));
        assert_eq!(to_read.read_until(process, soon), Ok(None));
        gone.write(process, ())?;
        // This process keeps its ends until the other process has checked the channel.
        Ok(gone.write(process, ())?)
    });
    network.run().unwrap();
}

fn items_go_through_while_both_sides_have_deadlines<M: Machine>(machine: &M) {
    const ITEMS: u32 = 100;
    for capacity in [0, 2] {
        let (mut writer, mut reader) = Channel::new().buffered(capacity).one_to_one::<u32>();
        let mut network = network(machine);
        network.process("writer", spe(0), move |process| {
            for item in 0..ITEMS {
                let mut item = item;
                // The first deadline is often too early, and the second deadline is long enough.
                let mut ns = u64::from(item % 7) * 100;
                while let Err(refused) = writer.write_until(process, item, in_ns(process, ns)) {
                    item = refused.not_taken()?;
                    ns = 10_000_000;
                }
            }
            Ok(())
        });
        let items = network.run_with(|process| {
            let mut items = Vec::new();
            let mut ns = 0;
            loop {
                match reader.read_until(process, in_ns(process, ns)) {
                    Ok(Some(item)) => {
                        ns = u64::from(item % 5) * 100;
                        items.push(item);
                    }
                    Ok(None) => ns = 10_000_000,
                    Err(ended) => return (items, ended),
                }
            }
        });
        assert_eq!(items.unwrap(), (Vec::from_iter(0..ITEMS), Ended::Closed));
    }
}

fn an_iterator_knows_how_its_channel_ended<M: Machine>(machine: &M) {
    for poisons in [false, true] {
        let (mut writer, mut reader) = Channel::new().one_to_one::<u32>();
        let mut network = network(machine);
        network.process("writer", spe(0), move |process| {
            for item in 0..5 {
                writer.write(process, item)?;
            }
            if poisons {
                writer.poison(process);
            }
            Ok(())
        });
        network
            .run_with(|process| {
                let mut items = reader.items(process);
                assert_eq!(items.ended(), None);
                assert!(items.by_ref().eq(0..5));
                assert_eq!(items.next(), None);
                let ended = if poisons {
                    Ended::Poisoned
                } else {
                    Ended::Closed
                };
                assert_eq!(items.ended(), Some(ended));
            })
            .unwrap();
    }
}
