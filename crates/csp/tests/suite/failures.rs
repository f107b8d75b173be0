//! How networks fail: every deadlock is reported, and nothing else is reported as a deadlock.
//! Panics and full local stores name the process.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

use cellworks_csp::{
    Alternation, Channel, Deadlock, Ended, Network, NetworkError, Place, Process, ProcessError,
    Reader, Writer, processes,
};
use cellworks_machine::{CellMachine, CellSpe, Cycles, Machine, Processor, Span, Spe, Wait};

use crate::{network, on_every_machine, spe};

on_every_machine![
    two_readers_wait_for_each_other,
    two_writers_wait_for_each_other,
    a_cycle_of_four_is_named_in_order,
    who_waits_for_the_cycle_is_named_apart,
    alternations_wait_for_each_other,
    a_cycle_goes_through_one_of_several_guards,
    a_process_waits_for_itself,
    philosophers_wait_for_each_other,
    local_channels_are_in_cycles,
    the_main_process_is_in_a_cycle,
    a_main_process_that_unwraps_is_in_the_deadlock,
    an_end_that_is_not_used_is_waited_for,
    an_end_is_left_over,
    an_iterator_waits_at_the_line_of_the_user,
    an_end_of_the_main_process_is_only_borrowed,
    a_channel_is_never_created,
    an_end_that_was_not_taken_is_waited_for,
    a_wait_is_known_by_its_thread_and_not_by_its_text,
    destructors_of_cancelled_processes_do_not_wait,
    a_slow_network_is_no_deadlock,
    a_time_out_is_no_deadlock,
    a_timer_is_no_deadlock,
    a_panic_names_its_process,
    a_panic_ends_the_others,
    another_thread_cannot_wait_in_a_process,
    another_thread_cannot_wait_in_a_process_beside_one_that_unwinds,
    a_panic_of_one_of_several_processes_names_it,
    a_panic_comes_before_that_of_the_main_process,
    a_panic_of_the_main_process_names_it,
    a_payload_goes_on,
    an_error_names_its_process,
    an_error_ends_the_others,
    an_error_of_one_of_several_processes_names_it,
    an_error_comes_before_a_panic_that_is_known_earlier,
    a_panic_comes_before_one_that_is_known_earlier,
    a_panic_of_the_main_process_comes_before_what_follows_from_it,
    a_panic_that_was_caught_is_forgotten,
    an_error_comes_before_what_follows_from_it,
    a_network_in_a_process_is_refused,
    ends_of_channels_are_no_errors;
    on Cells:
    a_process_waits_for_something_else,
];

/// The call of `next` is in `std`.
fn an_iterator_waits_at_the_line_of_the_user<M: Machine>(machine: &M) {
    let (_kept, mut items) = Channel::new().one_to_one::<u32>();
    let mut network = network(machine);
    let line = line!() + 2;
    network.process("sum", spe(0), move |process| {
        let sum: u32 = items.items(process).map(|item| item + 1).sum();
        Err(format!("a sum was not expected: {sum}").into())
    });
    let deadlock = deadlock(network);
    let waits: Vec<_> = deadlock.cycle.iter().chain(&deadlock.others).collect();
    let at: Vec<_> = waits
        .iter()
        .map(|stuck| (stuck.at.file(), stuck.at.line()))
        .collect();
    assert_eq!(at, [(file!(), line)]);
}

/// Runs a network, and returns the deadlock in which it ends.
fn deadlock<M: Machine>(network: Network<'_, M>) -> Deadlock {
    match network.run() {
        Err(NetworkError::Deadlock(deadlock)) => deadlock,
        other => panic!("a deadlock is an error, not {other:?}"),
    }
}

/// Returns the report of a deadlock, without the numbers of lines in this file.
fn report(deadlock: &Deadlock) -> String {
    let text = deadlock.to_string();
    let mut parts = text.split("failures.rs:");
    let mut short = parts.next().unwrap().to_owned();
    for part in parts {
        short += "failures.rs";
        short += part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':');
    }
    short.replace("crates/csp/tests/suite/", "")
}

fn two_readers_wait_for_each_other<M: Machine>(machine: &M) {
    let (mut a, mut at_a) = Channel::new().named("a").one_to_one::<u8>();
    let (mut b, mut at_b) = Channel::new().named("b").one_to_one::<u8>();
    let mut network = network(machine);
    // Neither of the two processes has ever written.
    let line = line!() + 2;
    network.process("left", spe(0), move |process| {
        at_b.read(process)?;
        Ok(a.write(process, 1)?)
    });
    network.process("right", spe(1), move |process| {
        at_a.read(process)?;
        Ok(b.write(process, 1)?)
    });
    let deadlock = deadlock(network);
    let text = report(&deadlock);
    assert!(
        text.starts_with(
            "deadlock: these two processes wait for each other\n  \
             the process `left` waits to read the channel `b` at failures.rs\n  \
             the process `right` waits to read the channel `a` at failures.rs"
        ),
        "{text}"
    );
    assert!(deadlock.outside.is_empty(), "{text}");
    let left = &deadlock.cycle[0];
    assert_eq!((left.process.as_str(), left.at.line()), ("left", line));
    assert_eq!(left.operations, ["to read the channel `b`"]);
    assert!(deadlock.others.is_empty(), "{text}");
}

fn two_writers_wait_for_each_other<M: Machine>(machine: &M) {
    let (mut a, mut at_a) = Channel::new().named("a").one_to_one::<u8>();
    let (mut b, mut at_b) = Channel::new().buffered(2).named("b").one_to_one::<u8>();
    let mut network = network(machine);
    network.process("left", spe(0), move |process| {
        a.write(process, 1)?;
        at_b.read(process)?;
        Ok(())
    });
    network.process("right", spe(0), move |process| {
        (0..3).try_for_each(|item| b.write(process, item))?;
        at_a.read(process)?;
        Ok(())
    });
    let text = report(&deadlock(network));
    assert!(
        text.starts_with(
            "deadlock: these two processes wait for each other\n  \
             the process `left` waits to write to the channel `a` at failures.rs\n  \
             the process `right` waits to write to the channel `b` at failures.rs"
        ),
        "{text}"
    );
}

/// Adds four processes in a ring. Each process reads before it writes to the next process.
fn ring<M: Machine>(network: &mut Network<'_, M>) {
    let (writers, mut readers): (Vec<_>, Vec<_>) = (0..4)
        .map(|index| Channel::new().named(format!("{index}")).one_to_one::<u8>())
        .unzip();
    // The writer to channel 0 reads channel 1, and so on.
    readers.rotate_left(1);
    for (index, (writer, reader)) in writers.into_iter().zip(readers).enumerate() {
        network.process(format!("writer of {index}"), spe(index as u16), |process| {
            processes::identity(process, reader, writer)
        });
    }
}

fn a_cycle_of_four_is_named_in_order<M: Machine>(machine: &M) {
    let mut network = network(machine);
    ring(&mut network);
    let deadlock = deadlock(network);
    let mut names: Vec<_> = deadlock
        .cycle
        .iter()
        .map(|stuck| stuck.process.as_str())
        .collect();
    let first = names.iter().position(|name| *name == "writer of 0");
    names.rotate_left(first.unwrap());
    assert_eq!(
        names,
        ["writer of 0", "writer of 1", "writer of 2", "writer of 3"]
    );
    let text = report(&deadlock);
    assert!(
        text.starts_with(
            "deadlock: each of these processes waits for the next one, and the last one for the first\n"
        ),
        "{text}"
    );
    // The waiting call is in the standard process.
    assert!(
        text.contains("waits to read the channel `1` at crates/csp/src/processes.rs:"),
        "{text}"
    );
}

fn who_waits_for_the_cycle_is_named_apart<M: Machine>(machine: &M) {
    let (mut a, mut at_a) = Channel::new().named("a").one_to_one::<u8>();
    let (mut b, mut at_b) = Channel::new().named("b").one_to_one::<u8>();
    let (mut c, mut at_c) = Channel::new().named("c").one_to_one::<u8>();
    let mut network = network(machine);
    // The search for a cycle may begin at this process, which is in no cycle.
    network.process("bystander", spe(0), move |process| {
        at_c.read(process)?;
        Ok(())
    });
    network.process("left", spe(1), move |process| {
        let item = at_b.read(process)?;
        c.write(process, item)?;
        Ok(a.write(process, item)?)
    });
    network.process("right", spe(2), move |process| {
        at_a.read(process)?;
        Ok(b.write(process, 1)?)
    });
    let text = report(&deadlock(network));
    assert!(
        text.starts_with("deadlock: these two processes wait for each other\n  the process `"),
        "{text}"
    );
    assert!(
        text.contains(
            "\nbesides,\n  the process `bystander` waits to read the channel `c` at failures.rs"
        ),
        "{text}"
    );
}

fn alternations_wait_for_each_other<M: Machine>(machine: &M) {
    let mut network = network(machine);
    let (a, at_a) = Channel::new().named("a").one_to_one::<u8>();
    let (b, at_b) = Channel::new().named("b").one_to_one::<u8>();
    // Both processes read, and no process writes.
    let side = |mut reader: Reader<u8>, mut writer: Writer<u8>| {
        move |process: &cellworks_csp::Process<'_, M::Spe>| {
            let mut either = Alternation::fair();
            let _read = either.read(&mut reader);
            let _write = either.write(&mut writer);
            either.select(process)?;
            Ok(())
        }
    };
    network.process("left", spe(0), side(at_b, a));
    network.process("right", spe(1), side(at_a, b));
    let text = report(&deadlock(network));
    assert!(
        text.starts_with(
            "deadlock: these two processes wait for each other\n  \
             the process `left` waits to read the channel `b` at failures.rs\n  \
             the process `right` waits to read the channel `a` at failures.rs"
        ),
        "{text}"
    );
}

fn a_cycle_goes_through_one_of_several_guards<M: Machine>(machine: &M) {
    let (mut a, mut at_a) = Channel::new().named("a").one_to_one::<u8>();
    let (mut b, mut at_b) = Channel::new().named("b").one_to_one::<u8>();
    let (mut unused, mut at_unused) = Channel::new().named("unused").one_to_one::<u8>();
    let mut network = network(machine);
    network.process("alternating", spe(0), move |process| {
        let mut either = Alternation::priority();
        let offered = either.write(&mut unused);
        either.offer(process, &offered, 1);
        either.read(&mut at_b);
        either.select(process)?;
        Ok(a.write(process, 1)?)
    });
    network.process("plain", spe(1), move |process| {
        at_a.read(process)?;
        Ok(b.write(process, 1)?)
    });
    let result = network.run_with(|process| {
        // This process holds an end that it does not use, while it waits for other processes.
        let (_never, mut at_never) = Channel::new().named("never").one_to_one::<u8>();
        let _ = at_never.read(process);
        at_unused.read(process)
    });
    let Err(NetworkError::Deadlock(deadlock)) = result else {
        panic!("a deadlock is an error");
    };
    let text = report(&deadlock);
    assert!(
        text.contains(
            "the process `alternating` waits to write to the channel `unused` (which no process has read), \
             or to read the channel `b` at failures.rs"
        ),
        "{text}"
    );
}

fn a_process_waits_for_itself<M: Machine>(machine: &M) {
    let mut network = network(machine);
    network.process("lonely", spe(3), |process| {
        let (mut writer, _reader) = Channel::new().one_to_one::<u8>();
        Ok(writer.write(process, 1)?)
    });
    let text = report(&deadlock(network));
    assert!(
        text.starts_with(
            "deadlock: this process waits for itself\n  \
             the process `lonely` waits to write to the channel made at failures.rs at failures.rs"
        ),
        "{text}"
    );
}

/// Each fork is a channel with one item. A philosopher reads the item to take the fork, and writes
/// the item to put the fork back. Therefore each philosopher holds both ends of two channels.
fn philosophers_wait_for_each_other<M: Machine>(machine: &M) {
    for philosophers in [3, 5] {
        let forks: Vec<_> = (0..philosophers)
            .map(|fork| {
                let channel = Channel::new().named(format!("fork {fork}")).buffered(1);
                channel.any_to_any::<()>()
            })
            .collect();
        let (at_table, seats) = Channel::new().buffered(philosophers).any_to_one::<()>();
        let (mut may_go_on, go_on) = Channel::new().one_to_any::<()>();
        let mut network = network(machine);
        for index in 0..philosophers {
            let (mut put_left, mut take_left) = forks[index].clone();
            let (mut put_right, mut take_right) = forks[(index + 1) % philosophers].clone();
            let (mut at_table, mut go_on) = (at_table.clone(), go_on.clone());
            let name = format!("philosopher {index}");
            network.process(name, spe(index as u16 % 2), move |process| {
                put_left.write(process, ())?;
                take_left.read(process)?;
                // Each philosopher has one fork before any philosopher takes a second fork.
                at_table.write(process, ())?;
                go_on.read(process)?;
                take_right.read(process)?;
                put_right.write(process, ())?;
                Ok(put_left.write(process, ())?)
            });
        }
        drop((forks, at_table, go_on));
        let result = network.run_with(|process| {
            let mut seats = seats;
            (0..philosophers).for_each(|_| seats.read(process).unwrap());
            (0..philosophers).for_each(|_| may_go_on.write(process, ()).unwrap());
        });
        let Err(NetworkError::Deadlock(deadlock)) = result else {
            panic!("a deadlock is an error, not {result:?}");
        };
        // In the report, each philosopher waits for the next one.
        let waits: Vec<_> = deadlock
            .cycle
            .iter()
            .map(|stuck| (stuck.process.clone(), stuck.operations.clone()))
            .collect();
        let expected = (0..philosophers).map(|index| {
            let fork = (index + 1) % philosophers;
            (
                format!("philosopher {index}"),
                vec![format!("to read the channel `fork {fork}`")],
            )
        });
        assert_eq!(waits, Vec::from_iter(expected), "{deadlock}");
        assert!(deadlock.others.is_empty(), "{deadlock}");
    }
}

fn local_channels_are_in_cycles<M: Machine>(machine: &M) {
    let mut network = network(machine);
    network.group(spe(1), |group| {
        let (mut a, mut at_a) = Channel::local().named("a").one_to_one::<u8>();
        let (mut b, mut at_b) = Channel::local().named("b").one_to_one::<u8>();
        group.process("left", move |process| {
            at_b.read(process)?;
            Ok(a.write(process, 1)?)
        });
        group.process("right", move |process| {
            at_a.read(process)?;
            Ok(b.write(process, 1)?)
        });
    });
    let deadlock = deadlock(network);
    assert_eq!(deadlock.cycle.len(), 2, "{deadlock}");
    assert!(deadlock.outside.is_empty(), "{deadlock}");
}

fn the_main_process_is_in_a_cycle<M: Machine>(machine: &M) {
    let (mut a, mut at_a) = Channel::new().named("a").one_to_one::<u8>();
    let (mut b, mut at_b) = Channel::new().named("b").one_to_one::<u8>();
    let mut network = network(machine);
    network.process("other", spe(0), move |process| {
        at_a.read(process)?;
        Ok(b.write(process, 1)?)
    });
    let result = network.run_with(move |process| {
        at_b.read(process)?;
        Ok::<_, Ended>(a.write(process, 1)?)
    });
    let Err(NetworkError::Deadlock(deadlock)) = result else {
        panic!("a deadlock is an error");
    };
    let text = report(&deadlock);
    let mut names: Vec<_> = deadlock
        .cycle
        .iter()
        .map(|stuck| stuck.process.as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["main", "other"], "{text}");
    assert!(
        text.contains("the process `main` waits to read the channel `b` at failures.rs"),
        "{text}"
    );
    assert!(
        deadlock.others.is_empty() && deadlock.outside.is_empty(),
        "{text}"
    );
}

/// When the other process is cancelled, its channels are closed. The main process must not take the
/// closing for an answer.
fn a_main_process_that_unwraps_is_in_the_deadlock<M: Machine>(machine: &M) {
    for _ in 0..20 {
        let (a, mut at_a) = Channel::new().named("a").one_to_one::<u8>();
        let (_never, mut at_never) = Channel::new().named("never").one_to_one::<u8>();
        let mut network = network(machine);
        network.process("other", spe(0), move |process| {
            let _a = a;
            at_never.read(process)?;
            Ok(())
        });
        let result = network.run_with(|process| at_a.read(process).unwrap());
        let text = result.unwrap_err().to_string();
        assert!(text.starts_with("deadlock: "), "{text}");
        assert!(
            text.contains("the process `main` waits to read the channel `a` at "),
            "{text}"
        );
    }
}

fn an_end_that_is_not_used_is_waited_for<M: Machine>(machine: &M) {
    let (_writer, mut reader) = Channel::new().named("a").one_to_one::<u8>();
    let mut network = network(machine);
    network.process("reader", spe(0), |process| {
        Ok(reader.read(process).map(drop)?)
    });
    let text = report(&deadlock(network));
    assert!(
        text.starts_with(
            "deadlock: every process waits, and none of them can go on\n  \
             the process `reader` waits to read the channel `a` (which no process has written to) at failures.rs"
        ),
        "{text}"
    );
}

fn an_end_is_left_over<M: Machine>(machine: &M) {
    let (results, mut at_results) = Channel::new().named("results").any_to_one::<u8>();
    let mut network = network(machine);
    for worker in 0..2 {
        let mut results = results.clone();
        network.process(format!("worker {worker}"), spe(worker), move |process| {
            Ok(results.write(process, 1)?)
        });
    }
    // The program has forgotten to drop `results`.
    let result = network.run_with(|process| while at_results.read(process).is_ok() {});
    let text = result.unwrap_err().to_string();
    let expected = "the process `main` waits to read the channel `results` (whose writers have ended, but an end was \
                    not dropped: write `move` before the closure of the process that used it, or `drop` it before the \
                    run) at ";
    assert!(text.contains(expected), "{text}");
    drop(results);
}

/// Without `move`, the closure borrows the end, which lives on when the process has ended.
fn an_end_of_the_main_process_is_only_borrowed<M: Machine>(machine: &M) {
    let (mut numbers, mut at_numbers) = Channel::new().named("numbers").one_to_one::<u8>();
    let mut network = network(machine);
    network.process("reader", spe(0), move |process| {
        loop {
            at_numbers.read(process)?;
        }
    });
    let text = network
        .run_with(|process| numbers.write(process, 1).unwrap())
        .unwrap_err()
        .to_string();
    let expected = "the process `reader` waits to read the channel `numbers` (whose writers have ended, but an end was \
                    not dropped: write `move` before the closure of the process that used it, or `drop` it before the \
                    run) at ";
    assert!(text.contains(expected), "{text}");

    let (mut results, mut at_results) = Channel::new().named("results").one_to_one::<u8>();
    let mut network = crate::network(machine);
    network.process("writer", spe(0), move |process| {
        results.write(process, 1)?;
        Ok(results.write(process, 2)?)
    });
    let text = network
        .run_with(|process| at_results.read(process).unwrap())
        .unwrap_err()
        .to_string();
    let expected = "the process `writer` waits to write to the channel `results` (whose readers have ended, but an end \
                    was not dropped: write `move` before the closure";
    assert!(text.contains(expected), "{text}");
}

fn a_channel_is_never_created<M: Machine>(machine: &M) {
    let mut network = network(machine);
    network.process("reader", spe(0), |process| {
        process.reader::<u8, cellworks_csp::One>(7)?.read(process)?;
        Ok(())
    });
    let text = report(&deadlock(network));
    assert!(
        text.starts_with(
            "deadlock: every process waits, and none of them can go on\n  \
             the process `reader` waits for the channel 7 to be created at failures.rs"
        ),
        "{text}"
    );
}

fn an_end_that_was_not_taken_is_waited_for<M: Machine>(machine: &M) {
    let mut network = network(machine);
    network.process("reader", spe(0), |process| {
        process.create(7, Channel::new().named("numbers").one_to_one::<u8>())?;
        let mut reader: Reader<u8> = process.reader(7)?;
        reader.read(process)?;
        Ok(())
    });
    let text = report(&deadlock(network));
    assert!(
        text.contains(
            "the process `reader` waits to read the channel 7, `numbers` (which no process has written to) at failures.rs"
        ),
        "{text}"
    );
}

fn a_process_waits_for_something_else<M: CellMachine>(machine: &M) {
    let (mut a, mut at_a) = Channel::new().named("a").one_to_one::<u8>();
    let mut network = network(machine);
    network.process("mailbox", spe(0), move |process| {
        process.place().read_in_mbox();
        Ok(a.write(process, 1)?)
    });
    network.process("reader", spe(1), move |process| {
        at_a.read(process)?;
        Ok(())
    });
    let deadlock = deadlock(network);
    let text = report(&deadlock);
    assert!(
        text.contains("the process `reader` waits to read the channel `a`"),
        "{text}"
    );
    assert!(
        text.contains("SPE 0 waits for a word in its inbound mailbox at failures.rs"),
        "{text}"
    );
}

fn a_wait_is_known_by_its_thread_and_not_by_its_text<M: Machine>(machine: &M) {
    let (mut a, mut at_a) = Channel::new().named("a").one_to_one::<u8>();
    let mut network = network(machine);
    network.process("reader", spe(1), move |process| {
        at_a.read(process)?;
        Ok(())
    });
    network.process("other", spe(0), move |process| {
        // The text by which the machine's report describes the wait of the reader.
        let why = "a writer to the channel `a`, as the process `reader`";
        process.place().wait_until(&why, &mut || false);
        Ok(a.write(process, 1)?)
    });
    let deadlock = deadlock(network);
    let text = report(&deadlock);
    let [outside] = &deadlock.outside[..] else {
        panic!("one thread waits that is in no call of a channel: {text}");
    };
    assert_eq!(outside.who, "SPE 0");
    assert_eq!(deadlock.others.len(), 1, "{text}");
    assert_eq!(deadlock.others[0].process, "reader");
}

/// Uses channels in its destructor, such as for the last message of a process.
struct Farewell<'a, 'b, P: cellworks_csp::Place>(
    &'a cellworks_csp::Process<'b, P>,
    Writer<u8>,
    Reader<u8>,
);

impl<P: cellworks_csp::Place> Drop for Farewell<'_, '_, P> {
    fn drop(&mut self) {
        assert_eq!(self.1.write(self.0, 1).unwrap_err().item, 1);
        assert_eq!(self.2.read(self.0), Err(Ended::Closed));
        let error = self.0.reader::<u8, cellworks_csp::One>(1).unwrap_err();
        assert_eq!(error.mistake(), &cellworks_csp::Mistake::NotCreated);
    }
}

fn destructors_of_cancelled_processes_do_not_wait<M: Machine>(machine: &M) {
    let (farewells, _at_farewells) = Channel::new().one_to_one::<u8>();
    let (_answer, answers) = Channel::new().one_to_one::<u8>();
    let (_never, mut at_never) = Channel::new().named("never").one_to_one::<u8>();
    let mut network = network(machine);
    network.process("polite", spe(0), move |process| {
        let _farewell = Farewell(process, farewells, answers);
        at_never.read(process)?;
        Ok(())
    });
    let text = report(&deadlock(network));
    let expected = "the process `polite` waits to read the channel `never` (which no process has written to) at failures.rs";
    assert!(text.contains(expected), "{text}");
}

fn a_slow_network_is_no_deadlock<M: Machine>(machine: &M) {
    let (mut results, mut at_results) = Channel::new().one_to_one();
    let (mut requests, mut at_requests) = Channel::new().one_to_one::<u64>();
    let mut network = network(machine);
    network.process("slow", spe(0), move |process| {
        let steps = at_requests.read(process)?;
        let mut sum = 0_u64;
        for step in 0..steps {
            process.place().compute(Cycles(10_000_000));
            sum = std::hint::black_box(sum ^ (0..100_000).fold(step, |x, y| x.rotate_left(1) ^ y));
            if step % 100 == 0 {
                process.yield_ready();
            }
        }
        Ok(results.write(process, sum)?)
    });
    // All other threads wait, for longer than a thread spins.
    let sum = network.run_with(|process| {
        requests.write(process, 500)?;
        at_results.read(process)
    });
    sum.unwrap().unwrap();
}

const LONG: Span = Span::from_nanoseconds(30_000_000);

fn a_time_out_is_no_deadlock<M: Machine>(machine: &M) {
    let (mut a, mut at_a) = Channel::new().one_to_one::<u8>();
    let mut network = network(machine);
    network.process("patient", spe(0), move |process| {
        at_a.read(process)?;
        Ok(())
    });
    let (_never, mut at_never) = Channel::new().one_to_one::<u8>();
    let chosen = network.run_with(move |process| {
        let mut either = Alternation::fair();
        let read = either.read(&mut at_never);
        let chosen = either.select_until(process, process.now() + LONG);
        let is_none = chosen.unwrap().is_none();
        // Selects again, without an enabled guard.
        either.when(&read, false);
        let until = process.now() + LONG;
        assert!(either.select_until(process, until).unwrap().is_none());
        assert!(process.now() >= until);
        a.write(process, 1).unwrap();
        is_none
    });
    assert!(chosen.unwrap());
}

fn a_timer_is_no_deadlock<M: Machine>(machine: &M) {
    let (ticks, mut at_ticks) = Channel::new().one_to_one();
    let (mut a, mut at_a) = Channel::new().one_to_one::<u8>();
    let mut network = network(machine);
    network.process("timer", spe(0), |process| {
        processes::timer(process, LONG, ticks)
    });
    network.process("ticked", spe(1), move |process| {
        at_ticks.read(process)?;
        at_ticks.poison(process);
        Ok(a.write(process, 1)?)
    });
    let read = network.run_with(|process| at_a.read(process));
    assert_eq!(read.unwrap(), Ok(1));
}

/// Returns the message of a network in which a process panicked.
fn panic_of<M: Machine, R>(network: Network<'_, M>, main: impl FnOnce() -> R) -> String {
    let result = network.run_with(|_| main());
    let Err(NetworkError::Panic {
        process,
        at,
        payload,
    }) = result.map(drop)
    else {
        panic!("a panic is an error");
    };
    let text = payload.downcast_ref::<&str>().unwrap();
    format!("{process}, {at}: {text}")
}

fn a_panic_names_its_process<M: Machine>(machine: &M) {
    let mut network = network(machine);
    network.process("innocent", spe(0), |_| Ok(()));
    network.process("guilty", spe(2), |_| panic!("a test"));
    let error = network.run().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the process `guilty` panicked on SPE 2: a test"
    );
    assert_eq!(format!("{error:?}"), error.to_string());
}

fn a_panic_ends_the_others<M: Machine>(machine: &M) {
    let mut network = network(machine);
    let (writer, mut reader) = Channel::new().one_to_one::<u32>();
    let (output, mut results) = Channel::new().one_to_one::<u32>();
    network.process("guilty", spe(0), move |process| {
        let mut writer = writer;
        writer.write(process, 1)?;
        panic!("a test");
    });
    network.process("identity", spe(1), move |process| {
        let mut output = output;
        loop {
            let item = reader.read(process)?;
            output.write(process, item)?;
        }
    });
    let result = network.run_with(|process| {
        let read = (results.read(process), results.read(process));
        assert_eq!(read, (Ok(1), Err(Ended::Closed)));
    });
    let error = result.unwrap_err().to_string();
    assert_eq!(error, "the process `guilty` panicked on SPE 0: a test");
}

/// For its channels, a process is one thread: waking the process wakes this thread.
fn another_thread_cannot_wait_in_a_process<M: Machine>(machine: &M) {
    let mut network = network(machine);
    let (writer, mut reader) = Channel::new().one_to_one::<u32>();
    network.process("lender", spe(0), move |process| {
        process.place().thread_scope(|scope| {
            // This writer keeps the channel open.
            let _writer = &writer;
            drop(scope.spawn(move |_| reader.read(process)).unwrap());
        });
        Ok(())
    });
    assert_eq!(
        network.run().unwrap_err().to_string(),
        "the process `lender` panicked on SPE 0: another thread was going to wait in the process `lender`, in which only the \
         thread that began it can wait; do the work of the other thread in a process of its own, on the same SPE"
    );
}

/// A thread that unwinds, and waits in a destructor, does not make the others look cancelled.
fn another_thread_cannot_wait_in_a_process_beside_one_that_unwinds<M: Machine>(machine: &M) {
    struct Yields<'a, S: Spe>(&'a S);
    impl<S: Spe> Drop for Yields<'_, S> {
        fn drop(&mut self) {
            (0..8).for_each(|_| self.0.yield_now());
        }
    }
    let refusal = Mutex::new(String::new());
    let noted = &refusal;
    let mut network = network(machine);
    let (writer, mut reader) = Channel::new().one_to_one::<u32>();
    network.process("lender", spe(0), move |process| {
        let spe = process.place();
        spe.thread_scope(|scope| {
            // This writer keeps the channel open.
            let _writer = &writer;
            let unwinds = scope.spawn(|_| {
                let _yields = Yields(spe);
                panic!("a test");
            });
            let waits = scope.spawn(|_| {
                spe.yield_now();
                let read = catch_unwind(AssertUnwindSafe(|| reader.read(process)));
                let panic = read.expect_err("the read is refused");
                *noted.lock().unwrap() = *panic.downcast::<String>().unwrap();
            });
            drop((unwinds, waits));
        });
        Ok(())
    });
    network.run().unwrap_err();
    let refusal = refusal.into_inner().unwrap();
    assert!(
        refusal.starts_with("another thread was going to wait in the process `lender`"),
        "{refusal}"
    );
}

fn a_panic_of_one_of_several_processes_names_it<M: Machine>(machine: &M) {
    let mut network = network(machine);
    let (mut a, mut at_a) = Channel::new().one_to_one::<u32>();
    network.process("waiting", spe(1), move |process| {
        at_a.read(process)?;
        Ok(())
    });
    network.process("guilty", spe(1), move |process| {
        let _end = &mut a;
        process.yield_now();
        panic!("a test")
    });
    network.process("innocent", spe(1), |_| Ok(()));
    assert_eq!(panic_of(network, || ()), "guilty, SPE 1: a test");
}

fn a_panic_comes_before_that_of_the_main_process<M: Machine>(machine: &M) {
    let mut network = network(machine);
    let (writer, mut reader) = Channel::new().one_to_one::<u32>();
    network.process("first", spe(1), move |process| {
        let _end = writer;
        process.yield_now();
        panic!("the reason")
    });
    let result = network.run_with(|process| reader.read(process).unwrap());
    let error = result.unwrap_err().to_string();
    assert_eq!(error, "the process `first` panicked on SPE 1: the reason");
}

fn a_panic_of_the_main_process_names_it<M: Machine>(machine: &M) {
    let mut network = network(machine);
    let (_writer, mut reader) = Channel::new().one_to_one::<u32>();
    network.process("waiting", spe(1), move |process| {
        reader.read(process)?;
        Ok(())
    });
    let result = network.run_with(|_| panic!("a {}", "test"));
    let error: NetworkError = result.unwrap_err();
    assert!(matches!(
        &error,
        NetworkError::Panic {
            at: Processor::Ppe,
            ..
        }
    ));
    assert_eq!(
        error.to_string(),
        "the process `main` panicked on the PPE: a test"
    );
}

/// The error of an order: no shoe has this size.
#[derive(Debug, PartialEq, thiserror::Error)]
#[error("{0} is not a size of a shoe")]
struct NoSize(u32);

fn checked(size: u32) -> Result<u32, NoSize> {
    if (36..47).contains(&size) {
        Ok(size)
    } else {
        Err(NoSize(size))
    }
}

fn an_error_names_its_process<M: Machine>(machine: &M) {
    let mut network = network(machine);
    network.process("innocent", spe(0), |_| Ok(()));
    network.process("guilty", spe(2), |_| {
        checked(36)?;
        checked(360)?;
        Ok(())
    });
    let error = network.run().unwrap_err();
    assert_eq!(
        error.to_string(),
        "the process `guilty` failed on SPE 2: 360 is not a size of a shoe"
    );
    let source = std::error::Error::source(&error).unwrap();
    assert_eq!(source.downcast_ref(), Some(&NoSize(360)));
    let NetworkError::Failed { process, at, .. } = error else {
        panic!("an error of a process is one, not {error:?}");
    };
    assert_eq!((process.as_str(), at), ("guilty", spe(2)));
}

fn an_error_ends_the_others<M: Machine>(machine: &M) {
    let mut network = network(machine);
    let (mut sizes, mut to_check) = Channel::new().one_to_one::<u32>();
    let (mut output, mut results) = Channel::new().one_to_one::<u32>();
    // The body may return the end of a channel, or an error of its own.
    network.process("guilty", spe(0), move |process| {
        loop {
            let size = checked(to_check.read(process)?)?;
            output.write(process, size)?;
        }
    });
    let result = network.run_with(|process| {
        sizes.write(process, 42).unwrap();
        assert_eq!(results.read(process), Ok(42));
        sizes.write(process, 12).unwrap();
        assert_eq!(results.read(process), Err(Ended::Closed));
        let unsent = sizes.write(process, 43).unwrap_err();
        assert_eq!((unsent.item, unsent.ended), (43, Ended::Closed));
    });
    let error = result.unwrap_err().to_string();
    assert_eq!(
        error,
        "the process `guilty` failed on SPE 0: 12 is not a size of a shoe"
    );
}

fn an_error_of_one_of_several_processes_names_it<M: Machine>(machine: &M) {
    let mut network = network(machine);
    let (mut a, mut at_a) = Channel::new().one_to_one::<u32>();
    network.process("waiting", spe(1), move |process| {
        at_a.read(process)?;
        Ok(())
    });
    network.process("guilty", spe(1), move |process| {
        let _end = &mut a;
        process.yield_now();
        // A text is an error, too.
        Err("it rains".into())
    });
    let error = network.run().unwrap_err().to_string();
    assert_eq!(error, "the process `guilty` failed on SPE 1: it rains");
}

fn an_error_comes_before_what_follows_from_it<M: Machine>(machine: &M) {
    let mut network = network(machine);
    let (mut a, mut at_a) = Channel::new().one_to_one::<u32>();
    network.process("first", spe(1), move |_| {
        let _end = &mut a;
        Err(NoSize(0).into())
    });
    // The second process waits for an item that no process writes. The main process panics.
    let (_never, mut at_never) = Channel::new().one_to_one::<u32>();
    network.process("second", spe(2), move |process| {
        at_never.read(process)?;
        Ok(())
    });
    let result = network.run_with(|process| at_a.read(process).unwrap());
    let error = result.unwrap_err().to_string();
    assert_eq!(
        error,
        "the process `first` failed on SPE 1: 0 is not a size of a shoe"
    );
}

/// Waits in its destructor until a channel is closed.
struct Late<'a, 'b, P: Place>(&'a Process<'b, P>, Reader<()>);

impl<P: Place> Drop for Late<'_, '_, P> {
    fn drop(&mut self) {
        assert_eq!(self.1.read(self.0), Err(Ended::Closed));
    }
}

/// Adds a process that panics when the channel `at_a` is closed. Another process of the SPE runs
/// only after this panic, and then closes a channel. Therefore the close of this channel, whose
/// reader is returned, means that the network knows of the panic.
fn add_victim<M: Machine>(network: &mut Network<'_, M>, mut at_a: Reader<u32>) -> Reader<()> {
    let (panicked, mut at_panicked) = Channel::new().one_to_one::<()>();
    let (known, at_known) = Channel::new().one_to_one();
    network.process("victim", spe(2), move |process| {
        let _panicked = panicked;
        at_a.read(process).unwrap();
        Ok(())
    });
    network.process("observer", spe(2), move |process| {
        let _known = known;
        Ok(at_panicked.read(process)?)
    });
    at_known
}

/// Returns the error of a network in which a process fails. Another process fails because of this
/// failure, and the network gets the second failure first.
fn error_of_late<M: Machine>(machine: &M, fail: fn() -> ProcessError) -> String {
    let mut network = network(machine);
    let (a, at_a) = Channel::new().one_to_one::<u32>();
    let at_known = add_victim(&mut network, at_a);
    network.process("guilty", spe(1), move |process| {
        let _late = Late(process, at_known);
        let _dropped_before = a;
        Err(fail())
    });
    network.run().unwrap_err().to_string()
}

fn an_error_comes_before_a_panic_that_is_known_earlier<M: Machine>(machine: &M) {
    assert_eq!(
        error_of_late(machine, || NoSize(0).into()),
        "the process `guilty` failed on SPE 1: 0 is not a size of a shoe"
    );
}

fn a_panic_comes_before_one_that_is_known_earlier<M: Machine>(machine: &M) {
    assert_eq!(
        error_of_late(machine, || panic!("the reason")),
        "the process `guilty` panicked on SPE 1: the reason"
    );
}

fn a_panic_of_the_main_process_comes_before_what_follows_from_it<M: Machine>(machine: &M) {
    let mut network = network(machine);
    let (a, at_a) = Channel::new().one_to_one::<u32>();
    let at_known = add_victim(&mut network, at_a);
    let result = network.run_with(move |process| {
        let _late = Late(process, at_known);
        let _dropped_before = a;
        panic!("the reason")
    });
    let error: NetworkError = result.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the process `main` panicked on the PPE: the reason"
    );
}

/// A panic that a process catches is no failure, and does not date the next panic of the process.
fn a_panic_that_was_caught_is_forgotten<M: Machine>(machine: &M) {
    let mut network = network(machine);
    let (unused, _at_unused) = Channel::new().one_to_one::<u32>();
    let (mut begun, mut at_begun) = Channel::new().one_to_one::<()>();
    let (a, mut at_a) = Channel::new().one_to_one::<u32>();
    network.process("victim", spe(1), move |process| {
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _unused = unused;
            panic!("a test that catches this")
        }));
        assert!(caught.is_err());
        begun.write(process, ())?;
        drop(begun);
        at_a.read(process).unwrap();
        Ok(())
    });
    network.process("guilty", spe(2), move |process| {
        let _a = a;
        at_begun.read(process)?;
        Err("the reason".into())
    });
    let error = network.run().unwrap_err().to_string();
    assert_eq!(error, "the process `guilty` failed on SPE 2: the reason");
}

fn ends_of_channels_are_no_errors<M: Machine>(machine: &M) {
    let mut network = network(machine);
    let (written, mut not_read) = Channel::new().one_to_one::<Box<u32>>();
    let (mut not_written, read) = Channel::new().one_to_one::<u32>();
    let (mut listed_writer, mut listed) = Channel::new().one_to_one::<u32>();
    network.process("writer", spe(0), move |process| {
        let mut written = written;
        loop {
            written.write(process, Box::new(1))?;
        }
    });
    network.process("reader", spe(1), move |process| {
        let mut read = read;
        loop {
            read.read(process)?;
        }
    });
    network.process("alternating", spe(2), move |process| {
        let mut either = Alternation::fair();
        either.read(&mut listed);
        loop {
            either.select(process)?;
        }
    });
    let result = network.run_with(|process| {
        not_read.poison(process);
        not_written.poison(process);
        listed_writer.poison(process);
    });
    result.unwrap();
}

fn a_payload_goes_on<M: Machine>(machine: &M) {
    let mut network = network(machine);
    network.process("guilty", spe(0), |_| std::panic::panic_any(42_u32));
    let error = network.run().unwrap_err();
    assert!(error.to_string().ends_with("(a payload that is not text)"));
    let resumed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| error.resume()));
    assert_eq!(resumed.unwrap_err().downcast_ref(), Some(&42_u32));
}

/// 80 stacks of 4 KB, in a local store of 256 KB.
fn check_no_room<M: Machine>(machine: &M) {
    let mut network = network(machine);
    let (writer, mut reader) = Channel::new().any_to_one::<usize>();
    for index in 0..80 {
        let mut writer = writer.clone();
        network.process(format!("number {index}"), spe(2), move |process| {
            Ok(writer.write(process, index)?)
        });
    }
    drop(writer);
    let mut ran = None;
    let result = network.run_with(|process| ran = reader.read(process).ok());
    assert_eq!(ran, None, "all processes of an SPE run, or none");
    let error = result.unwrap_err();
    let NetworkError::NoRoom { fit, processes, .. } = &error else {
        panic!("{error}");
    };
    assert!((10..70).contains(fit) && *processes == 80, "{error}");
    let expected = format!(
        "SPE 2 cannot run its 80 processes side by side: its local store has room for the stacks of {fit}, and not for that \
         of `number {fit}`; place some elsewhere, or give them smaller stacks by `process_with_stack`"
    );
    assert_eq!(error.to_string(), expected);
}

#[test]
fn stacks_need_local_store_on_a_strict_host() {
    check_no_room(&crate::strict_host());
}

#[test]
fn stacks_need_local_store_on_a_qs22() {
    check_no_room(&crate::qs22());
}

fn check_small_stacks<M: Machine>(machine: &M) {
    let mut network = network(machine);
    let (writer, mut reader) = Channel::new().any_to_one::<usize>();
    network.group(spe(0), move |group| {
        for index in 0..80 {
            let mut writer = writer.clone();
            group.process_with_stack(format!("number {index}"), 1_024, move |process| {
                Ok(writer.write(process, index)?)
            });
        }
    });
    let count =
        network.run_with(|process| std::iter::from_fn(|| reader.read(process).ok()).count());
    assert_eq!(count.unwrap(), 80);
}

#[test]
fn small_stacks_fit() {
    check_small_stacks(&crate::strict_host());
    check_small_stacks(&crate::qs22());
}

#[test]
fn a_process_needs_an_spe() {
    let host = crate::host();
    let mut network = Network::on(&host);
    let place = || network.process("lost", spe(4), |_| Ok(()));
    let panic = catch_unwind(AssertUnwindSafe(place)).unwrap_err();
    let expected = format!(
        "a process was placed on SPE 4, but {} has 4 SPEs, 0 to 3; use `topology().spes()`",
        host.topology().name()
    );
    assert_eq!(panic.downcast_ref(), Some(&expected));
}

/// The network ends what other destructors of the thread may have ended before.
#[test]
fn a_network_runs_in_the_destructor_of_a_thread_local() {
    struct RunsAtTheEnd(std::sync::mpsc::Sender<u32>);
    impl Drop for RunsAtTheEnd {
        fn drop(&mut self) {
            self.0.send(sum()).unwrap();
        }
    }
    fn sum() -> u32 {
        let host = crate::host();
        let (mut writer, mut reader) = Channel::new().one_to_one();
        let mut network = Network::on(&host);
        network.process("writer", spe(0), move |process| {
            Ok((1..=3).try_for_each(|number| writer.write(process, number))?)
        });
        let sum = network.run_with(move |process| reader.items(process).sum());
        sum.unwrap()
    }
    thread_local! {
        static LAST: std::cell::OnceCell<RunsAtTheEnd> = const { std::cell::OnceCell::new() };
    }
    let (sender, sums) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        LAST.with(|last| assert!(last.set(RunsAtTheEnd(sender)).is_ok()));
        sum()
    });
    assert_eq!(sums.recv(), Ok(6));
    assert_eq!(thread.join().unwrap(), 6);
}

#[test]
fn a_deadlock_is_the_same_under_every_schedule() {
    for seed in 1..=100 {
        let machine = crate::qs22_with_seed(seed);
        two_readers_wait_for_each_other(&machine);
        a_cycle_of_four_is_named_in_order(&machine);
        who_waits_for_the_cycle_is_named_apart(&machine);
        an_end_is_left_over(&machine);
        a_panic_ends_the_others(&machine);
    }
}

fn a_network_in_a_process_is_refused<M: Machine + Sync>(machine: &M) {
    for is_main in [false, true] {
        let nested = || {
            let mut inner = network(machine);
            inner.process("inner", spe(1), |_| panic!("it was to be refused"));
            let error = inner.run().unwrap_err();
            assert!(matches!(error, NetworkError::Nested { .. }), "{error}");
            error.to_string()
        };
        let (mut to_main, mut texts) = Channel::new().one_to_one();
        let mut outer = network(machine);
        outer.process("outer", spe(0), move |process| {
            let text = if is_main { String::new() } else { nested() };
            Ok(to_main.write(process, text)?)
        });
        let text = outer
            .run_with(|process| {
                let text = texts.read(process).unwrap();
                if is_main { nested() } else { text }
            })
            .unwrap();
        for part in [
            "a process of the network that was run at crates/csp/tests/suite/failures.rs:",
            "was going to run another network, at crates/csp/tests/suite/failures.rs:",
            "which would stop its SPE until the other one has ended; add the processes to the first network, or run the other \
             one before it or after it",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
}
