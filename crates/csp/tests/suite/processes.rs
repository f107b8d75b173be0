//! The standard processes, alone and in networks, with ends of every kind. How these processes end
//! and spread poison.

use std::cell::RefCell;
use std::rc::Rc;

use cellworks_csp::{
    Alternation, Channel, Ended, Network, Place, Process, Reader, Writer, processes,
};
use cellworks_machine::{Machine, Span, Time};

use crate::{network, on_every_machine, spe};

on_every_machine![
    the_numbers_come_from_a_ring,
    the_same_ring_runs_on_one_spe_with_local_channels,
    tail_and_add_give_the_sums_of_neighbours,
    a_delta_writes_to_the_first_output_first,
    a_parallel_delta_writes_in_either_order,
    add_reads_in_either_order,
    a_tee_goes_on_without_its_observer,
    a_mux_passes_on_all_and_ends_when_all_are_closed,
    a_mux_is_fair,
    a_mux_ends_when_one_input_is_poisoned,
    a_timer_writes_the_times,
    a_timer_leaves_out_ticks_without_a_waiting_process,
    poison_spreads_from_end_to_end_and_back,
    poison_spreads_around_a_ring,
    closing_runs_down_a_pipeline_after_what_was_written,
    spreading_poison_closes_when_the_body_ends_otherwise,
    ends_in_lists_are_poisoned,
    borrowed_ends_are_left_open,
    who_yields_lets_the_others_compute,
];

/// Returns the first `count` items of `reader`, and then poisons `reader`.
fn first<T: cellworks_csp::Item>(
    process: &Process<'_, impl Place>,
    reader: &mut Reader<T>,
    count: usize,
) -> Vec<T> {
    let items = (0..count).map(|_| reader.read(process).unwrap()).collect();
    reader.poison(process);
    items
}

/// Adds the processes of a ring that writes the numbers from 0 on to `output`, on the SPEs 0 to 2.
fn add_numbers<M: Machine>(network: &mut Network<'_, M>, output: Writer<u64>) {
    let (to_delta, at_delta) = Channel::new().named("to delta").one_to_one();
    let (to_successor, at_successor) = Channel::new().named("to successor").one_to_one();
    let (to_prefix, at_prefix) = Channel::new().named("to prefix").one_to_one();
    network.process("prefix", spe(0), move |process| {
        processes::prefix(process, 0, at_prefix, to_delta)
    });
    network.process("delta", spe(1), move |process| {
        processes::delta(process, at_delta, output, to_successor)
    });
    network.process("successor", spe(2), move |process| {
        processes::successor(process, at_successor, to_prefix)
    });
}

fn the_numbers_come_from_a_ring<M: Machine>(machine: &M) {
    let (output, mut numbers) = Channel::new().one_to_one();
    let mut network = network(machine);
    add_numbers(&mut network, output);
    let numbers = network.run_with(|process| first(process, &mut numbers, 20));
    assert_eq!(numbers.unwrap(), Vec::from_iter(0..20));
}

fn the_same_ring_runs_on_one_spe_with_local_channels<M: Machine>(machine: &M) {
    let (output, mut numbers) = Channel::new().one_to_one::<u64>();
    let mut network = network(machine);
    network.group(spe(0), move |group| {
        let (to_delta, at_delta) = Channel::local().one_to_one();
        let (to_successor, at_successor) = Channel::local().any_to_any();
        let (to_prefix, at_prefix) = Channel::local().buffered(1).one_to_one();
        group.process("prefix", move |process| {
            processes::prefix(process, 0, at_prefix, to_delta)
        });
        group.process("delta", move |process| {
            processes::parallel_delta(process, at_delta, output, to_successor)
        });
        group.process("successor", move |process| {
            processes::successor(process, at_successor, to_prefix)
        });
    });
    let numbers = network.run_with(|process| first(process, &mut numbers, 20));
    assert_eq!(numbers.unwrap(), Vec::from_iter(0..20));
}

/// The processes of Listing 1 and Listing 2 add `0 1 2 3 ...` and `1 2 3 ...`. The sums are the odd
/// numbers.
fn tail_and_add_give_the_sums_of_neighbours<M: Machine>(machine: &M) {
    let (numbers, at_delta) = Channel::new().one_to_one();
    let (to_add, as_they_are) = Channel::new().one_to_one();
    let (to_tail, at_tail) = Channel::new().one_to_one();
    let (from_tail, without_first) = Channel::new().one_to_one();
    let (sums, mut results) = Channel::new().one_to_one();
    let mut network = network(machine);
    add_numbers(&mut network, numbers);
    network.process("delta of numbers", spe(3), move |process| {
        processes::parallel_delta(process, at_delta, to_add, to_tail)
    });
    network.process("tail", spe(3), move |process| {
        processes::tail(process, at_tail, from_tail)
    });
    network.process("add", spe(3), move |process| {
        processes::add(process, as_they_are, without_first, sums)
    });
    let sums = network.run_with(|process| first(process, &mut results, 10));
    assert_eq!(sums.unwrap(), [1, 3, 5, 7, 9, 11, 13, 15, 17, 19]);
}

fn a_delta_writes_to_the_first_output_first<M: Machine>(machine: &M) {
    let (mut items, input) = Channel::new().one_to_one();
    let (to_first, mut first) = Channel::new().one_to_one();
    let (to_second, mut second) = Channel::new().one_to_one();
    let mut network = network(machine);
    network.process("delta", spe(0), move |process| {
        processes::delta(process, input, to_first, to_second)
    });
    let read = network.run_with(move |process| {
        items.write(process, "item".to_owned()).unwrap();
        let mut either = Alternation::priority();
        let at_second = either.read(&mut second);
        let at_first = either.read(&mut first);
        let first_read = either.select(process).unwrap() == at_first;
        let copies = either.take(process, &at_first);
        assert!(either.select(process).unwrap() == at_second);
        (first_read, copies, either.take(process, &at_second))
    });
    assert_eq!(read.unwrap(), (true, "item".to_owned(), "item".to_owned()));
}

fn a_parallel_delta_writes_in_either_order<M: Machine>(machine: &M) {
    let (mut items, input) = Channel::new().one_to_one();
    let (to_first, mut first) = Channel::new().one_to_one();
    let (to_second, mut second) = Channel::new().one_to_one();
    let mut network = network(machine);
    network.process("delta", spe(0), move |process| {
        processes::parallel_delta(process, input, to_first, to_second)
    });
    let read = network.run_with(move |process| {
        let mut all = Vec::new();
        for item in 0..20 {
            items.write(process, item)?;
            let (one, other) = match item % 2 {
                0 => (&mut first, &mut second),
                _ => (&mut second, &mut first),
            };
            all.extend([one.read(process)?, other.read(process)?]);
        }
        Ok::<_, Ended>(all)
    });
    let expected: Vec<_> = (0..20).flat_map(|item| [item, item]).collect();
    assert_eq!(read.unwrap(), Ok(expected));
}

fn add_reads_in_either_order<M: Machine>(machine: &M) {
    let (mut left, at_left) = Channel::new().one_to_one::<u32>();
    let (mut right, at_right) = Channel::new().one_to_one();
    let (output, mut sums) = Channel::new().one_to_one();
    let mut network = network(machine);
    network.process("add", spe(0), move |process| {
        processes::add(process, at_left, at_right, output)
    });
    let sums = network.run_with(move |process| {
        let mut all = Vec::new();
        for number in 0..20 {
            let (one, other) = match number % 2 {
                0 => (&mut left, &mut right),
                _ => (&mut right, &mut left),
            };
            one.write(process, number)?;
            other.write(process, 100 * number)?;
            all.push(sums.read(process)?);
        }
        Ok::<_, Ended>(all)
    });
    let expected: Vec<_> = (0..20).map(|number| 101 * number).collect();
    assert_eq!(sums.unwrap(), Ok(expected));
}

fn a_tee_goes_on_without_its_observer<M: Machine>(machine: &M) {
    let (mut items, input) = Channel::new().one_to_one();
    let (output, mut passed) = Channel::new().one_to_one();
    let (to_side, mut side) = Channel::new().one_to_one();
    let mut network = network(machine);
    network.process("source", spe(0), move |process| {
        (0..10_u8).try_for_each(|item| Ok(items.write(process, item)?))
    });
    network.process("tee", spe(1), move |process| {
        processes::tee(process, input, output, to_side)
    });
    network.process("observer", spe(2), move |process| {
        assert_eq!((side.read(process), side.read(process)), (Ok(0), Ok(1)));
        side.poison(process);
        Ok(())
    });
    let all = network.run_with(move |process| {
        let mut all = Vec::new();
        while let Ok(item) = passed.read(process) {
            all.push(item);
        }
        // The observer has poisoned its channel. The other channels are closed and not poisoned.
        assert_eq!(passed.read(process), Err(Ended::Closed));
        all
    });
    assert_eq!(all.unwrap(), Vec::from_iter(0..10));
}

/// Adds a mux on SPE 0, and two sources that write `0..items` and `100..100 + items`.
fn add_sources_and_mux<M: Machine>(
    network: &mut Network<'_, M>,
    output: Writer<u32>,
    items: u32,
    capacity: usize,
) {
    let mut inputs = Vec::new();
    for source in 0..2 {
        let (mut writer, reader) = Channel::new().buffered(capacity).one_to_one();
        inputs.push(reader);
        network.process(format!("source {source}"), spe(1), move |process| {
            (0..items).try_for_each(|item| Ok(writer.write(process, 100 * source + item)?))
        });
    }
    network.process("mux", spe(0), move |process| {
        processes::mux(process, inputs, output)
    });
}

fn a_mux_passes_on_all_and_ends_when_all_are_closed<M: Machine>(machine: &M) {
    let (output, mut items) = Channel::new().one_to_one();
    let mut network = network(machine);
    add_sources_and_mux(&mut network, output, 30, 0);
    let all = network.run_with(|process| {
        let mut all = Vec::new();
        while let Ok(item) = items.read(process) {
            all.push(item);
        }
        assert_eq!(items.read(process), Err(Ended::Closed));
        all
    });
    let all = all.unwrap();
    for source in 0..2 {
        let of_source = all.iter().filter(|item| *item / 100 == source);
        let expected = Vec::from_iter(100 * source..100 * source + 30);
        assert_eq!(Vec::from_iter(of_source.copied()), expected);
    }
    assert_eq!(all.len(), 60);
}

fn a_mux_is_fair<M: Machine>(machine: &M) {
    let (output, mut items) = Channel::new().one_to_one();
    let (mut full, is_full) = Channel::new().one_to_one();
    let (inputs, readers): (Vec<_>, Vec<_>) = (0..3)
        .map(|_| Channel::new().buffered(5).one_to_one::<usize>())
        .unzip();
    let mut network = network(machine);
    network.process("source", spe(1), move |process| {
        for (source, mut input) in inputs.into_iter().enumerate() {
            (0..5).try_for_each(|_| input.write(process, source))?;
        }
        Ok(full.write(process, ())?)
    });
    network.process("mux", spe(0), move |process| {
        let mut is_full: Reader<()> = is_full;
        is_full.read(process)?;
        processes::mux(process, readers, output)
    });
    let all = network
        .run_with(|process| std::iter::from_fn(|| items.read(process).ok()).collect::<Vec<_>>());
    // All inputs were ready until the end, so each input had every third turn.
    let all = all.unwrap();
    assert_eq!(all.len(), 15);
    for turns in all.chunks(3) {
        let mut turns = turns.to_vec();
        turns.sort_unstable();
        assert_eq!(turns, [0, 1, 2], "{all:?}");
    }
}

fn a_mux_ends_when_one_input_is_poisoned<M: Machine>(machine: &M) {
    let (mut poisoned, left) = Channel::new().one_to_one::<u8>();
    let (mut other, right) = Channel::new().one_to_one();
    let (output, mut items) = Channel::new().one_to_one();
    let mut network = network(machine);
    network.process("mux", spe(0), move |process| {
        processes::mux(process, vec![left, right], output)
    });
    let ends = network.run_with(move |process| {
        poisoned.poison(process);
        let read = items.read(process);
        (read, other.write(process, 1).map_err(|unsent| unsent.ended))
    });
    let poisoned = Ended::Poisoned;
    assert_eq!(ends.unwrap(), (Err(poisoned), Err(poisoned)));
}

const PERIOD: Span = Span::from_nanoseconds(200_000);

fn a_timer_writes_the_times<M: Machine>(machine: &M) {
    let (output, mut times) = Channel::new().one_to_one::<Time>();
    let mut network = network(machine);
    network.process("timer", spe(0), move |process| {
        processes::timer(process, PERIOD, output)
    });
    let times = network.run_with(|process| first(process, &mut times, 3));
    let times = times.unwrap();
    let nominal = (1..).map(|periods| Span::from_femtoseconds(periods * PERIOD.as_femtoseconds()));
    for (time, nominal) in times.iter().zip(nominal) {
        assert!(time.since(Time::default()) >= nominal, "{times:?}");
    }
    assert!(times.is_sorted_by(|a, b| a < b), "{times:?}");
}

fn a_timer_leaves_out_ticks_without_a_waiting_process<M: Machine>(machine: &M) {
    let (output, mut times) = Channel::new().one_to_one::<Time>();
    let mut network = network(machine);
    network.process("timer", spe(0), move |process| {
        processes::timer(process, PERIOD, output)
    });
    let times = network.run_with(|process| {
        let first = times.read(process).unwrap();
        let late = first + Span::from_femtoseconds(10 * PERIOD.as_femtoseconds());
        process.sleep_until(late);
        // While the main process slept, the timer waited to write one time. Each later time comes
        // when it is due.
        let after = self::first(process, &mut times, 4);
        (after[1] >= late, after[3].since(after[0]))
    });
    let (is_late, apart) = times.unwrap();
    assert!(is_late);
    assert!(apart > PERIOD, "three times came at once: {apart}");
}

/// Adds five identities, each on the next SPE. Returns the two ends of the pipeline.
fn add_pipeline<M: Machine>(network: &mut Network<'_, M>) -> (Writer<u32>, Reader<u32>) {
    let (writer, mut input) = Channel::new().one_to_one();
    for index in 0..5 {
        let (output, next) = Channel::new().one_to_one();
        let input = std::mem::replace(&mut input, next);
        network.process(
            format!("identity {index}"),
            spe(index % 4),
            move |process| processes::identity(process, input, output),
        );
    }
    (writer, input)
}

fn poison_spreads_from_end_to_end_and_back<M: Machine>(machine: &M) {
    for from_the_front in [true, false] {
        let mut network = network(machine);
        let (mut writer, mut reader) = add_pipeline(&mut network);
        let ended = network.run_with(move |process| {
            if from_the_front {
                writer.poison(process);
                return reader.read(process).unwrap_err();
            }
            reader.poison(process);
            let unsent = (0..).find_map(|item| writer.write(process, item).err());
            unsent.unwrap().ended
        });
        assert_eq!(ended.unwrap(), Ended::Poisoned);
    }
}

fn poison_spreads_around_a_ring<M: Machine>(machine: &M) {
    let (output, mut numbers) = Channel::new().one_to_one();
    let mut network = network(machine);
    add_numbers(&mut network, output);
    // Checks that the run ends at all. No process outside the ring holds an end of a channel of the
    // ring.
    let ended = network.run_with(move |process| {
        numbers.poison(process);
        numbers.read(process)
    });
    assert_eq!(ended.unwrap(), Err(Ended::Poisoned));
}

fn closing_runs_down_a_pipeline_after_what_was_written<M: Machine>(machine: &M) {
    let mut network = network(machine);
    let (mut writer, mut reader) = add_pipeline(&mut network);
    network.process("source", spe(3), move |process| {
        (0..10).try_for_each(|item| Ok(writer.write(process, item)?))
    });
    let all = network.run_with(move |process| {
        let all: Vec<_> = std::iter::from_fn(|| reader.read(process).ok()).collect();
        assert_eq!(reader.read(process), Err(Ended::Closed));
        all
    });
    assert_eq!(all.unwrap(), Vec::from_iter(0..10));
}

fn spreading_poison_closes_when_the_body_ends_otherwise<M: Machine>(machine: &M) {
    let (output, mut reader) = Channel::new().one_to_one::<u32>();
    let mut network = network(machine);
    network.process("writer", spe(0), move |process| {
        let sum = process.spread_poison(output, |output| {
            output.write(process, 1)?;
            Ok(7)
        });
        assert_eq!(sum.unwrap(), 7);
        Ok(())
    });
    let read = network.run_with(|process| (reader.read(process), reader.read(process)));
    assert_eq!(read.unwrap(), (Ok(1), Err(Ended::Closed)));
}

fn ends_in_lists_are_poisoned<M: Machine>(machine: &M) {
    let (mut first, reader) = Channel::new().one_to_one::<u8>();
    let (writers, mut readers): (Vec<_>, Vec<_>) =
        (0..3).map(|_| Channel::new().one_to_one::<u8>()).unzip();
    let ended = network(machine).run_with(|process| {
        // This process is on the PPE, and no other process waits at its channels.
        first.poison(process);
        let mut ends = (reader, writers);
        let result = process.spread_poison(&mut ends, |(reader, _)| Ok(reader.read(process)?));
        assert_eq!(result.unwrap_err().ended(), Some(Ended::Poisoned));
        let ended = readers.iter_mut().map(|reader| reader.read(process));
        ended.collect::<Vec<_>>()
    });
    assert_eq!(ended.unwrap(), [Err(Ended::Poisoned); 3]);
}

fn borrowed_ends_are_left_open<M: Machine>(machine: &M) {
    let (mut numbers, input) = Channel::new().one_to_one::<u32>();
    let (mut output, mut results) = Channel::new().one_to_one::<u32>();
    let mut network = network(machine);
    network.process("twice", spe(0), move |process| {
        let ended = processes::successor(process, input, &mut output);
        assert_eq!(ended.unwrap_err().ended(), Some(Ended::Closed));
        // The input was dropped, but the output was not.
        Ok(output.write(process, 0)?)
    });
    let read = network.run_with(move |process| {
        numbers.write(process, 1).unwrap();
        let first = results.read(process);
        drop(numbers);
        (first, results.read(process))
    });
    assert_eq!(read.unwrap(), (Ok(2), Ok(0)));
}

fn computing_processes_take_turns<M: Machine>(machine: &M, is_yielding: bool) -> Vec<usize> {
    let (mut results, mut result) = Channel::new().one_to_one();
    let mut network = network(machine);
    network.group(spe(0), move |group| {
        let log = Rc::new(RefCell::new(Vec::new()));
        for index in 0..2 {
            let log = Rc::clone(&log);
            let (mut done, mut is_done) = Channel::local().one_to_one::<()>();
            group.process(format!("computing {index}"), move |process| {
                for _ in 0..3 {
                    log.borrow_mut().push(index);
                    if is_yielding {
                        process.yield_ready();
                    }
                }
                Ok(done.write(process, ())?)
            });
            group.process(format!("waiting for {index}"), move |process| {
                Ok(is_done.read(process)?)
            });
        }
        group.process("result", move |process| {
            while log.borrow().len() < 6 {
                process.yield_now();
            }
            Ok(results.write(process, log.take())?)
        });
    });
    network
        .run_with(|process| result.read(process))
        .unwrap()
        .unwrap()
}

fn who_yields_lets_the_others_compute<M: Machine>(machine: &M) {
    assert_eq!(
        computing_processes_take_turns(machine, true),
        [0, 1, 0, 1, 0, 1]
    );
    assert_eq!(
        computing_processes_take_turns(machine, false),
        [0, 0, 0, 1, 1, 1]
    );
}

#[test]
fn the_schedule_makes_no_difference() {
    for seed in 1..=100 {
        let machine = crate::qs22_with_seed(seed);
        tail_and_add_give_the_sums_of_neighbours(&machine);
        a_mux_passes_on_all_and_ends_when_all_are_closed(&machine);
        poison_spreads_around_a_ring(&machine);
    }
}

/// The other process may compute for long between two yields.
#[test]
fn a_process_that_polls_runs_at_each_yield_of_another() {
    use std::sync::atomic::{AtomicBool, Ordering};

    use cellworks_machine::Wait;

    let host = crate::host();
    let [flag, seen] = [const { AtomicBool::new(false) }; 2];
    let (flag, seen) = (&flag, &seen);
    let mut network = cellworks_csp::Network::on(&host);
    network.process("polls", crate::spe(0), move |process| {
        let spe = process.place();
        spe.wait_until(&"the flag", &mut || flag.load(Ordering::Relaxed));
        seen.store(true, Ordering::Relaxed);
        Ok(())
    });
    network.process("yields", crate::spe(0), move |process| {
        process.yield_now();
        flag.store(true, Ordering::Relaxed);
        process.yield_now();
        assert!(seen.load(Ordering::Relaxed));
        Ok(())
    });
    network.run().unwrap();
}
