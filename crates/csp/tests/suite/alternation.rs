//! Alternation: which guard is chosen, and when no guard is chosen.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use cellworks_csp::{
    Alternation, Channel, Ended, GuardEnded, NetworkError, Reader, Transport, Writer,
};
use cellworks_machine::{Machine, Time};

use crate::{network, on_every_machine, spe};

on_every_machine![
    an_item_is_offered_to_any_of_several_channels,
    what_was_offered_to_any_is_withdrawn_from_all,
    priority_chooses_the_first_that_is_ready,
    fair_lets_none_wait_for_more_than_the_others,
    arbitrary_chooses_by_its_seed,
    a_guard_without_its_pre_condition_is_not_chosen,
    skip_takes_what_is_there_and_nothing_else,
    a_time_out_ends_a_selection,
    one_that_skips_meets_one_that_waits,
    a_hundred_guards_are_listed,
    an_alternation_writes_to_the_channel_that_is_read,
    mixed_guards_of_plain_parties,
    a_buffer_is_read_in_order_by_an_alternation,
    both_ends_of_a_buffer_in_one_alternation,
    an_alternation_that_found_no_room_hears_of_it,
    both_ends_of_a_rendezvous_in_one_alternation_never_meet,
    an_offer_comes_back,
    an_end_is_free_again_after_its_alternation,
    an_alternation_that_was_leaked_leaves_its_channels_usable,
    tokens_of_another_alternation_are_refused,
    nothing_to_wait_for_is_refused,
    three_alternations_in_a_ring_meet,
];

/// Runs `main` as the only process of a network. `main` writes to buffers and reads from these
/// buffers.
fn alone<M: Machine, R>(
    machine: &M,
    main: impl FnOnce(&cellworks_csp::Process<'_, cellworks_csp::PpePlace<'_, M::Core>>) -> R,
) -> R {
    network(machine).run_with(main).unwrap()
}

type Ends = (Vec<Writer<u32>>, Vec<Reader<u32>>);

fn buffers(number: usize, capacity: usize) -> Ends {
    (0..number)
        .map(|_| Channel::new().buffered(capacity).one_to_one())
        .unzip()
}

fn priority_chooses_the_first_that_is_ready<M: Machine>(machine: &M) {
    alone(machine, |process| {
        let (mut writers, mut readers) = buffers(3, 2);
        for writer in &mut writers[1..] {
            writer.write(process, 1).unwrap();
            writer.write(process, 2).unwrap();
        }
        let mut alternation = Alternation::priority();
        let guards: Vec<_> = readers.iter_mut().map(|r| alternation.read(r)).collect();
        let mut order = Vec::new();
        while let Some(chosen) = alternation.select_or_skip(process).unwrap() {
            alternation.take(process, &guards[chosen.index()]);
            order.push(chosen.index());
        }
        assert_eq!(order, [1, 1, 2, 2]);
    });
}

fn fair_lets_none_wait_for_more_than_the_others<M: Machine>(machine: &M) {
    const GUARDS: usize = 70;
    alone(machine, |process| {
        let (mut writers, mut readers) = buffers(GUARDS, 3);
        for writer in &mut writers {
            for item in 0..3 {
                writer.write(process, item).unwrap();
            }
        }
        let mut alternation = Alternation::fair();
        let guards: Vec<_> = readers.iter_mut().map(|r| alternation.read(r)).collect();
        for turn in 0..3 * GUARDS {
            let chosen = alternation.select(process).unwrap();
            assert_eq!(chosen.index(), turn % GUARDS);
            alternation.take(process, &guards[chosen.index()]);
        }
    });
}

fn arbitrary_chooses_by_its_seed<M: Machine>(machine: &M) {
    let order = |seed| {
        alone(machine, |process| {
            let (mut writers, mut readers) = buffers(8, 4);
            for writer in &mut writers {
                for item in 0..4 {
                    writer.write(process, item).unwrap();
                }
            }
            let mut alternation = Alternation::arbitrary(seed);
            let guards: Vec<_> = readers.iter_mut().map(|r| alternation.read(r)).collect();
            let mut order = Vec::new();
            while let Some(chosen) = alternation.select_or_skip(process).unwrap() {
                alternation.take(process, &guards[chosen.index()]);
                order.push(chosen.index());
            }
            order
        })
    };
    let first = order(1);
    assert_eq!(first, order(1));
    assert_ne!(first, order(2));
    let mut all = first;
    all.sort_unstable();
    assert_eq!(all, Vec::from_iter((0..8).flat_map(|index| [index; 4])));
}

fn a_guard_without_its_pre_condition_is_not_chosen<M: Machine>(machine: &M) {
    alone(machine, |process| {
        let (mut writers, mut readers) = buffers(2, 1);
        for (item, writer) in (0..).zip(&mut writers) {
            writer.write(process, item).unwrap();
        }
        let mut alternation = Alternation::priority();
        let guards: Vec<_> = readers.iter_mut().map(|r| alternation.read(r)).collect();
        alternation.when(&guards[0], false);
        assert!(alternation.select(process).unwrap() == guards[1]);
        // The guard still has its item, so the guard is not ready.
        assert_eq!(alternation.select_or_skip(process), Ok(None));
        assert_eq!(alternation.take(process, &guards[1]), 1);
        alternation.when(&guards[0], true);
        assert!(alternation.select(process).unwrap() == guards[0]);
        assert_eq!(alternation.take(process, &guards[0]), 0);
    });
}

fn skip_takes_what_is_there_and_nothing_else<M: Machine>(machine: &M) {
    alone(machine, |process| {
        let (mut writer, mut reader) = Channel::new().buffered(1).one_to_one();
        let mut alternation = Alternation::fair();
        let read = alternation.read(&mut reader);
        assert_eq!(alternation.select_or_skip(process), Ok(None));
        writer.write(process, 7_u32).unwrap();
        assert!(alternation.select_or_skip(process).unwrap().unwrap() == read);
        assert_eq!(alternation.take(process, &read), 7);
        drop(writer);
        let ended = alternation.select_or_skip(process).unwrap_err();
        assert_eq!(
            ended.to_string(),
            "the channel was closed, at the guard 0 of an alternation"
        );
        assert_eq!(Ended::from(ended), Ended::Closed);
    });
}

fn a_time_out_ends_a_selection<M: Machine>(machine: &M) {
    alone(machine, |process| {
        let (mut writer, mut reader) = Channel::new().buffered(1).one_to_one();
        let mut alternation = Alternation::fair();
        let read = alternation.read(&mut reader);
        let soon = |now: Time| Time::from_femtoseconds(now.as_femtoseconds() + 1_000_000_000);
        let deadline = soon(process.now());
        assert_eq!(alternation.select_until(process, deadline), Ok(None));
        assert!(process.now() >= deadline);
        // A selection with a deadline in the past is a skip.
        assert_eq!(alternation.select_until(process, Time::default()), Ok(None));
        writer.write(process, 7_u32).unwrap();
        let late = alternation.select_until(process, Time::default());
        assert!(late.unwrap().unwrap() == read);
        assert_eq!(alternation.take(process, &read), 7);
        // If no guard is enabled, a selection with a deadline only waits.
        alternation.when(&read, false);
        let deadline = soon(process.now());
        assert_eq!(alternation.select_until(process, deadline), Ok(None));
    });
}

fn one_that_skips_meets_one_that_waits<M: Machine>(machine: &M) {
    for skipper_writes in [true, false] {
        let (mut writer, mut reader) = Channel::new().one_to_one();
        let mut network = network(machine);
        network.process("writer", spe(0), move |process| {
            let mut alternation = Alternation::fair();
            let write = alternation.write(&mut writer);
            for item in 0..20_u32 {
                alternation.offer(process, &write, item);
                while skipper_writes && alternation.select_or_skip(process)?.is_none() {
                    process.yield_now();
                }
                if !skipper_writes {
                    alternation.select(process)?;
                }
            }
            Ok(())
        });
        let items = network.run_with(move |process| {
            let mut items = Vec::new();
            let mut alternation = Alternation::fair();
            let read = alternation.read(&mut reader);
            loop {
                let chosen = if skipper_writes {
                    alternation.select(process).map(Some)
                } else {
                    alternation.select_or_skip(process)
                };
                match chosen {
                    Ok(Some(_)) => items.push(alternation.take(process, &read)),
                    Ok(None) => process.yield_now(),
                    Err(_) => return items,
                }
            }
        });
        assert_eq!(items.unwrap(), Vec::from_iter(0..20));
    }
}

fn a_hundred_guards_are_listed<M: Machine>(machine: &M) {
    const GUARDS: usize = 100;
    let (mut writers, mut readers) = buffers(GUARDS, 0);
    let mut network = network(machine);
    network.process("writer", spe(0), move |process| {
        for index in (0..GUARDS).rev() {
            writers[index].write(process, index as u32)?;
        }
        Ok(())
    });
    let order = network.run_with(move |process| {
        let mut alternation = Alternation::fair();
        let guards: Vec<_> = readers.iter_mut().map(|r| alternation.read(r)).collect();
        let read = |_| loop {
            // The writer drops all of its ends at once.
            match alternation.select(process) {
                Ok(chosen) => {
                    let item = alternation.take(process, &guards[chosen.index()]);
                    assert_eq!(item, chosen.index() as u32);
                    break item;
                }
                Err(ended) => alternation.when(&guards[ended.guard.index()], false),
            }
        };
        (0..GUARDS).map(read).collect::<Vec<_>>()
    });
    assert_eq!(order.unwrap(), Vec::from_iter((0..GUARDS as u32).rev()));
}

fn an_alternation_writes_to_the_channel_that_is_read<M: Machine>(machine: &M) {
    let (mut writers, readers) = buffers(3, 0);
    let (done, mut results) = Channel::new().any_to_one();
    let mut network = network(machine);
    for (index, mut reader) in (0..).zip(readers) {
        let mut done = done.clone();
        network.process(format!("reader {index}"), spe(index), move |process| {
            loop {
                let item = reader.read(process)?;
                done.write(process, item)?;
            }
        });
    }
    drop(done);
    network.process("writer", spe(3), move |process| {
        let mut alternation = Alternation::fair();
        let guards: Vec<_> = writers.iter_mut().map(|w| alternation.write(w)).collect();
        let mut items = 0..60_u32;
        loop {
            for guard in &guards {
                if !alternation.is_offered(guard)
                    && let Some(item) = items.next()
                {
                    alternation.offer(process, guard, item);
                }
            }
            if !guards.iter().any(|guard| alternation.is_offered(guard)) {
                return Ok(());
            }
            alternation.select(process)?;
        }
    });
    let all = network.run_with(|process| {
        let mut all = Vec::new();
        while let Ok(item) = results.read(process) {
            all.push(item);
        }
        all.sort_unstable();
        all
    });
    assert_eq!(all.unwrap(), Vec::from_iter(0..60));
}

fn mixed_guards_of_plain_parties<M: Machine>(machine: &M) {
    let (mut to, mut input) = Channel::new().one_to_one::<u32>();
    let (mut output, mut from) = Channel::new().one_to_one::<u32>();
    let mut network = network(machine);
    network.process("source", spe(0), move |process| {
        (0..50).try_for_each(|item| Ok(to.write(process, item)?))
    });
    network.process("buffer", spe(1), move |process| {
        let mut held = std::collections::VecDeque::new();
        let mut alternation = Alternation::fair();
        let read = alternation.read(&mut input);
        let write = alternation.write(&mut output);
        let mut is_open = true;
        while is_open || alternation.is_offered(&write) || !held.is_empty() {
            alternation.when(&read, is_open && held.len() < 4);
            if !alternation.is_offered(&write)
                && let Some(item) = held.pop_front()
            {
                alternation.offer(process, &write, item);
            }
            match alternation.select(process) {
                Ok(chosen) if chosen == read => held.push_back(alternation.take(process, &read)),
                Ok(_) => {}
                Err(ended) if ended.guard == read => is_open = false,
                Err(ended) => return Err(ended.into()),
            }
        }
        Ok(())
    });
    let items = network.run_with(|process| {
        let mut items = Vec::new();
        while let Ok(item) = from.read(process) {
            items.push(item);
        }
        items
    });
    assert_eq!(items.unwrap(), Vec::from_iter(0..50));
}

fn a_buffer_is_read_in_order_by_an_alternation<M: Machine>(machine: &M) {
    let (mut writer, mut reader) = Channel::new().buffered(3).one_to_one();
    let mut network = network(machine);
    network.process("writer", spe(0), move |process| {
        (0..3_000_u32).try_for_each(|item| Ok(writer.write(process, item)?))
    });
    network
        .run_with(|process| {
            let mut alternation = Alternation::fair();
            let read = alternation.read(&mut reader);
            for item in 0..3_000 {
                alternation.select(process).unwrap();
                assert_eq!(alternation.take(process, &read), item);
            }
        })
        .unwrap();
}

fn both_ends_of_a_buffer_in_one_alternation<M: Machine>(machine: &M) {
    alone(machine, |process| {
        let (mut writer, mut reader) = Channel::new().buffered(1).one_to_one();
        let mut alternation = Alternation::priority();
        let read = alternation.read(&mut reader);
        let write = alternation.write(&mut writer);
        for item in 0..10_u32 {
            alternation.offer(process, &write, item);
            assert!(alternation.select(process).unwrap() == write);
            assert!(alternation.select(process).unwrap() == read);
            assert_eq!(alternation.take(process, &read), item);
        }
    });
}

fn an_alternation_that_found_no_room_hears_of_it<M: Machine>(machine: &M) {
    fn check<M: Machine, E>(machine: &M, ends: (Writer<u32, E>, Reader<u32, E>)) {
        let (mut writer, mut reader) = ends;
        alone(machine, |process| {
            let mut alternation = Alternation::fair();
            let write = alternation.write(&mut writer);
            for item in 0..10 {
                alternation.offer(process, &write, item);
                assert!(alternation.select(process).unwrap() == write);
                alternation.offer(process, &write, item);
                assert_eq!(alternation.select_or_skip(process), Ok(None));
                assert_eq!(reader.read(process), Ok(item));
                assert!(alternation.select_or_skip(process).unwrap().unwrap() == write);
                assert_eq!(reader.read(process), Ok(item));
            }
        });
    }
    check(machine, Channel::new().buffered(1).one_to_one());
    check(machine, Channel::new().buffered(1).any_to_any());
}

fn both_ends_of_a_rendezvous_in_one_alternation_never_meet<M: Machine>(machine: &M) {
    let mut network = network(machine);
    network.process("alone", spe(0), |process| {
        let (mut writer, mut reader) = Channel::new().named("own").one_to_one::<u32>();
        let mut alternation = Alternation::priority();
        alternation.read(&mut reader);
        let write = alternation.write(&mut writer);
        alternation.offer(process, &write, 1);
        assert_eq!(alternation.select_or_skip(process), Ok(None));
        alternation.select(process)?;
        Ok(())
    });
    let Err(NetworkError::Deadlock(deadlock)) = network.run() else {
        panic!("no other process has an end")
    };
    let text = deadlock.to_string();
    assert!(
        text.contains("waits to read the channel `own`, or to write to the channel `own`"),
        "{text}"
    );
}

fn an_offer_comes_back<M: Machine>(machine: &M) {
    alone(machine, |process| {
        let (mut writer, reader) = Channel::new().one_to_one();
        let mut alternation = Alternation::fair();
        let write = alternation.write(&mut writer);
        assert!(!alternation.is_offered(&write));
        assert_eq!(alternation.withdraw(process, &write), None);
        alternation.offer(process, &write, "first".to_owned());
        assert!(alternation.is_offered(&write));
        assert_eq!(alternation.select_or_skip(process), Ok(None));
        let item = alternation.withdraw(process, &write);
        assert_eq!(item.as_deref(), Some("first"));
        alternation.offer(process, &write, "second".to_owned());
        drop(reader);
        let GuardEnded { guard, ended } = alternation.select(process).unwrap_err();
        assert!(guard == write);
        assert_eq!(ended, Ended::Closed);
        let item = alternation.withdraw(process, &write);
        assert_eq!(item.as_deref(), Some("second"));
    });
}

fn an_end_is_free_again_after_its_alternation<M: Machine>(machine: &M) {
    alone(machine, |process| {
        let (mut writer, mut reader) = Channel::new().buffered(1).one_to_one();
        for item in 0..3_u32 {
            let mut alternation = Alternation::fair();
            alternation.read(&mut reader);
            drop(alternation);
            writer.write(process, item).unwrap();
            assert_eq!(reader.read(process), Ok(item));
        }
    });
}

fn an_alternation_that_was_leaked_leaves_its_channels_usable<M: Machine>(machine: &M) {
    let (mut writer, mut reader) = Channel::new().one_to_one();
    let mut network = network(machine);
    network.process("writer", spe(0), move |process| {
        let mut alternation = Alternation::fair();
        let write = alternation.write(&mut writer);
        alternation.offer(process, &write, Box::new(0));
        std::mem::forget(alternation);
        (1..4_u32).try_for_each(|item| Ok(writer.write(process, Box::new(item))?))
    });
    let items = network.run_with(|process| {
        let mut alternation = Alternation::fair();
        alternation.read(&mut reader);
        std::mem::forget(alternation);
        let mut items = Vec::new();
        while let Ok(item) = reader.read(process) {
            items.push(*item);
        }
        items
    });
    assert_eq!(items.unwrap(), [1, 2, 3]);
}

fn tokens_of_another_alternation_are_refused<M: Machine>(machine: &M) {
    alone(machine, |process| {
        let (_numbers, mut number) = Channel::new().buffered(1).one_to_one::<u64>();
        let (mut texts, mut text) = Channel::new().buffered(1).one_to_one::<String>();
        texts.write(process, "text".to_owned()).unwrap();
        // The second alternation probably has the memory address of the first alternation.
        let mut alternation = Alternation::fair();
        let stale = alternation.read(&mut number);
        drop(alternation);
        let mut alternation = Alternation::fair();
        let read = alternation.read(&mut text);
        let chosen = alternation.select(process).unwrap();
        assert!(chosen == read && chosen != stale);
        let taken = catch_unwind(AssertUnwindSafe(|| alternation.take(process, &stale)));
        let message = *taken.unwrap_err().downcast::<&str>().unwrap();
        assert_eq!(
            message,
            "a guard of another alternation was used; each has guards of its own"
        );
        assert_eq!(alternation.take(process, &read), "text");
    });
}

fn nothing_to_wait_for_is_refused<M: Machine>(machine: &M) {
    let mut network = network(machine);
    network.process("alone", spe(0), |process| {
        let (_writer, mut reader) = Channel::new().one_to_one::<u32>();
        let mut alternation = Alternation::fair();
        let read = alternation.read(&mut reader);
        alternation.when(&read, false);
        assert_eq!(alternation.select_or_skip(process), Ok(None));
        alternation.select(process)?;
        Ok(())
    });
    let text = network.run().unwrap_err().to_string();
    let expected = "the process `alone` selects from 1 guards of which none is enabled, so it would wait for ever; enable \
                    one, or take what was read";
    assert!(text.contains(expected), "{text}");
}

fn three_alternations_in_a_ring_meet<M: Machine>(machine: &M) {
    const ROUNDS: u32 = 200;
    let (writers, mut readers) = buffers(3, 0);
    readers.rotate_right(1);
    let mut network = network(machine);
    for (index, (mut writer, mut reader)) in (0..).zip(writers.into_iter().zip(readers)) {
        network.process(format!("party {index}"), spe(index), move |process| {
            let mut alternation = Alternation::arbitrary(u64::from(index));
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
        });
    }
    network.run().unwrap();
}

// This test is only for machines on which all processes wait soon.
#[test]
fn alternations_at_one_channel_take_turns() {
    take_turns(&crate::host());
    for transport in [Transport::Direct, Transport::Coordinator] {
        crate::by(transport);
        take_turns(&crate::qs22());
    }
}

fn take_turns<M: Machine>(machine: &M) {
    const READERS: u64 = 3;
    let (mut writer, reader) = Channel::new().one_to_any::<u64>();
    let counts: Vec<AtomicU64> = (0..READERS).map(|_| AtomicU64::new(0)).collect();
    let mut network = network(machine);
    for (index, count) in counts.iter().enumerate() {
        let mut reader = reader.clone();
        network.process(format!("reader {index}"), spe(0), move |process| {
            let mut alternation = Alternation::fair();
            let read = alternation.read(&mut reader);
            loop {
                alternation.select(process)?;
                count.fetch_add(alternation.take(process, &read), Ordering::Relaxed);
            }
        });
    }
    drop(reader);
    network.process("writer", spe(0), move |process| {
        for _ in 0..4 * READERS {
            // Sleeps until all readers wait again, on a host and on a simulated machine.
            process.yield_now();
            let soon = process.now().as_femtoseconds() + 100_000_000_000;
            process.sleep_until(Time::from_femtoseconds(soon));
            writer.write(process, 1)?;
        }
        Ok(())
    });
    network.run().unwrap();
    for count in &counts {
        assert_eq!(count.load(Ordering::Relaxed), 4, "{counts:?}");
    }
}

/// Each task goes to a free worker. After an offer to several guards, one guard is chosen, and the
/// other guards have no item.
fn an_item_is_offered_to_any_of_several_channels<M: Machine>(machine: &M) {
    const TASKS: u32 = 60;
    for capacity in [0, 2] {
        let mut network = network(machine);
        let (results, mut all_results) = Channel::new().any_to_one::<u32>();
        let mut workers = Vec::new();
        for index in 0..3_u16 {
            let (to_worker, mut tasks) = Channel::new().buffered(capacity).one_to_one::<u32>();
            workers.push(to_worker);
            let mut results = results.clone();
            network.process(format!("worker {index}"), spe(index), move |process| {
                loop {
                    let mut task = tasks.read(process)?;
                    if index == 1 {
                        // This worker also reads with an alternation.
                        results.write(process, task)?;
                        let mut one = Alternation::fair();
                        let guard = one.read(&mut tasks);
                        one.select(process)?;
                        task = one.take(process, &guard);
                    }
                    results.write(process, task)?;
                }
            });
        }
        drop(results);
        network.process("farmer", spe(3), move |process| {
            let mut free = Alternation::fair();
            let guards: Vec<_> = workers
                .iter_mut()
                .map(|worker| free.write(worker))
                .collect();
            for task in 0..TASKS {
                free.offer_to_any(process, &guards, task);
                assert!(guards.iter().all(|guard| free.is_offered(guard)));
                free.select(process)?;
                assert!(!guards.iter().any(|guard| free.is_offered(guard)));
            }
            Ok(())
        });
        let mut got = network
            .run_with(|process| all_results.items(process).collect::<Vec<_>>())
            .unwrap();
        got.sort_unstable();
        assert_eq!(got, Vec::from_iter(0..TASKS));
    }
}

fn what_was_offered_to_any_is_withdrawn_from_all<M: Machine>(machine: &M) {
    network(machine)
        .run_with(|process| {
            let (mut first, _at_first) = Channel::new().one_to_one::<Box<u32>>();
            let (mut second, mut at_second) = Channel::new().buffered(1).one_to_one::<Box<u32>>();
            let mut any = Alternation::priority();
            let guards = [any.write(&mut first), any.write(&mut second)];
            for guard in &guards {
                any.offer_to_any(process, &guards, Box::new(1));
                assert_eq!(any.withdraw(process, guard), Some(Box::new(1)));
                assert_eq!(any.withdraw(process, guard), None);
                assert!(!guards.iter().any(|guard| any.is_offered(guard)));
            }
            any.offer_to_any(process, &guards, Box::new(2));
            assert_eq!(any.select(process).unwrap(), guards[1]);
            // Offers an item to each guard again.
            any.offer(process, &guards[0], Box::new(3));
            any.offer(process, &guards[1], Box::new(4));
            assert_eq!(any.select_or_skip(process).unwrap(), None);
            assert_eq!(at_second.read(process), Ok(Box::new(2)));
            assert_eq!(any.select(process).unwrap(), guards[1]);
            assert_eq!(at_second.read(process), Ok(Box::new(4)));
            assert_eq!(any.withdraw(process, &guards[0]), Some(Box::new(3)));
        })
        .unwrap();
}
