//! OS threads outside the machine that take part in a network.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use cellworks_csp::{
    Alternation, Any, Channel, Ended, Gate, GateError, Network, NetworkError, OutsidePlace,
    Process, Reader, Refused, Unsent, Writer,
};
use cellworks_host::Host;
use cellworks_machine::{Machine, Span, Time};

use crate::{host, plain, qs22, spe, strict_host};

#[path = "../../examples/box_office.rs"]
#[allow(dead_code, reason = "its main function is not called")]
mod box_office;

/// Pauses, mostly long enough for the other threads to fall asleep.
fn pause() {
    thread::sleep(Duration::from_millis(20));
}

fn in_ms(process: &Process<'_, OutsidePlace>, ms: u64) -> Time {
    process.now() + Span::from(Duration::from_millis(ms))
}

/// Runs a network on the calling thread, and `outside` on another thread.
fn beside<R: Send>(
    network: Network<'_, Host>,
    outside: impl FnOnce() -> R + Send,
) -> (Result<(), NetworkError>, R) {
    thread::scope(|scope| {
        let outside = scope.spawn(outside);
        let result = network.run();
        (result, outside.join().unwrap())
    })
}

/// A thread-local that was made before the first entry is destroyed after what a network keeps of
/// the thread.
#[test]
fn a_destructor_of_a_thread_local_may_enter_a_gate() {
    struct Last(Gate<Writer<u32>>);
    impl Last {
        fn write(&mut self, item: u32) {
            let (writer, process) = self.0.enter().unwrap();
            writer.write(&process, item).unwrap();
        }
    }
    impl Drop for Last {
        fn drop(&mut self) {
            self.write(2);
        }
    }
    thread_local! {
        static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
    }
    let host = host();
    let mut network = Network::on(&host);
    let (writer, mut reader) = Channel::new().one_to_one();
    network.process("reader", spe(0), move |process| {
        assert!(reader.items(process).eq([1, 2]));
        Ok(())
    });
    let gate = network.gate("client", writer);
    let client = move || LAST.with_borrow_mut(|last| last.insert(Last(gate)).write(1));
    beside(network, client).0.unwrap();
}

#[test]
fn the_box_office_sells_each_seat_once() {
    let (sold, mut pairs) = box_office::sell(&host(), 101).unwrap();
    pairs.sort_unstable();
    assert_eq!(sold, 100);
    assert!(pairs.into_iter().eq((0..100).step_by(2)));
}

/// Adds a process that reads numbers and writes each number plus one, until the numbers end.
fn successor(network: &mut Network<'_, Host>, capacity: usize) -> Gate<(Writer<u32>, Reader<u32>)> {
    let (numbers, mut to_read) = Channel::new().buffered(capacity).one_to_one();
    let (mut results, answers) = Channel::new().buffered(capacity).one_to_one();
    network.process("successor", spe(0), move |process| {
        loop {
            let number: u32 = to_read.read(process)?;
            results.write(process, number + 1)?;
        }
    });
    network.gate("client", (numbers, answers))
}

#[test]
fn four_threads_are_served() {
    let host = host();
    let mut network = Network::on(&host);
    let sum = AtomicU32::new(0);
    let gates: Vec<_> = [0, 1, 2, 5]
        .map(|capacity| successor(&mut network, capacity))
        .into();
    thread::scope(|scope| {
        for (client, mut gate) in (0..).zip(gates) {
            let sum = &sum;
            scope.spawn(move || {
                let ((numbers, answers), process) = gate.enter().unwrap();
                assert_eq!(process.name(), "client");
                for number in 100 * client..100 * (client + 1) {
                    numbers.write(&process, number).unwrap();
                    let answer = answers.read(&process).unwrap();
                    assert_eq!(answer, number + 1);
                    sum.fetch_add(answer, Ordering::Relaxed);
                }
            });
        }
        network.run()
    })
    .unwrap();
    assert_eq!(sum.into_inner(), (1..=400).sum());
}

#[test]
fn many_items_go_through_a_buffer() {
    let host = host();
    let mut network = Network::on(&host);
    let mut gate = successor(&mut network, 64);
    let (result, ()) = beside(network, move || {
        let ((numbers, answers), process) = gate.enter().unwrap();
        let mut seen = Vec::new();
        for round in 0..20 {
            numbers
                .write_all(&process, 50 * round..50 * (round + 1))
                .unwrap();
            while seen.len() < 50 * (round as usize + 1) {
                answers.read_up_to(&process, 10, &mut seen).unwrap();
            }
        }
        assert!(seen.into_iter().eq(1..=1_000));
    });
    result.unwrap();
}

#[test]
fn a_try_says_item_or_nothing_or_ended() {
    let host = host();
    let mut network = Network::on(&host);
    let (writer, mut reader) = Channel::new().one_to_one::<u32>();
    let (mut go_on, told) = Channel::new().one_to_one::<()>();
    network.process("reader", spe(0), move |process| {
        go_on.write(process, ())?;
        assert_eq!(reader.read(process), Ok(7));
        Ok(())
    });
    let mut gate = network.gate("client", (writer, told));
    let (result, ()) = beside(network, move || {
        let ((writer, told), process) = gate.enter().unwrap();
        assert_eq!(writer.try_write(&process, 6), Err(Refused::NotTaken(6)));
        while told.try_read(&process).unwrap().is_none() {
            process.yield_now();
        }
        assert_eq!(told.try_read(&process), Ok(None));
        while let Err(refused) = writer.try_write(&process, 7) {
            assert_eq!(refused, Refused::NotTaken(7));
        }
        // Waits until the process has ended.
        assert_eq!(writer.write(&process, 8).unwrap_err().item, 8);
        assert_eq!(told.read(&process), Err(Ended::Closed));
        assert_eq!(told.try_read(&process), Err(Ended::Closed));
        let ended = Ended::Closed;
        let refused = writer.try_write(&process, 8);
        assert_eq!(refused, Err(Refused::Ended(Unsent { item: 8, ended })));
    });
    result.unwrap();
}

#[test]
fn a_deadline_gives_the_item_back() {
    let host = host();
    let mut network = Network::on(&host);
    let (writer, mut reader) = Channel::new().one_to_one::<u32>();
    let (go_on, mut told) = Channel::new().one_to_one::<()>();
    let (mut late, answers) = Channel::new().one_to_one::<u32>();
    network.process("reader", spe(0), move |process| {
        told.read(process)?;
        assert_eq!(reader.read(process), Ok(2));
        late.write(process, 3)?;
        Ok(())
    });
    let mut gate = network.gate("client", (writer, go_on, answers));
    let (result, ()) = beside(network, move || {
        let ((writer, go_on, answers), process) = gate.enter().unwrap();
        let started = Instant::now();
        let refused = writer.write_until(&process, 1, in_ms(&process, 20));
        assert_eq!(refused, Err(Refused::NotTaken(1)));
        assert!(started.elapsed() >= Duration::from_millis(20));
        assert_eq!(answers.read_until(&process, in_ms(&process, 1)), Ok(None));
        go_on.write(&process, ()).unwrap();
        // The reader comes before this deadline.
        assert_eq!(
            writer.write_until(&process, 2, in_ms(&process, 60_000)),
            Ok(())
        );
        assert_eq!(
            answers.read_until(&process, in_ms(&process, 60_000)),
            Ok(Some(3))
        );
    });
    result.unwrap();
}

#[test]
fn a_process_that_ends_ends_the_waits_outside() {
    let host = host();
    let mut network = Network::on(&host);
    let (writer, reader) = Channel::new().one_to_one::<String>();
    let (results, answers) = Channel::new().one_to_one::<u32>();
    let (go_on, mut told) = Channel::new().one_to_one::<()>();
    network.process("short", spe(0), move |process| {
        told.read(process)?;
        pause();
        drop((reader, results));
        Ok(())
    });
    let mut to_write = network.gate("writer", (writer, go_on));
    let mut to_read = network.gate("reader", answers);
    let (result, ()) = beside(network, move || {
        thread::scope(|scope| {
            scope.spawn(|| {
                let (answers, process) = to_read.enter().unwrap();
                assert_eq!(answers.read(&process), Err(Ended::Closed));
            });
            let ((writer, go_on), process) = to_write.enter().unwrap();
            go_on.write(&process, ()).unwrap();
            let unsent = writer.write(&process, "kept".to_owned()).unwrap_err();
            assert_eq!(
                (unsent.item.as_str(), unsent.ended),
                ("kept", Ended::Closed)
            );
        });
    });
    result.unwrap();
}

#[test]
fn a_gate_that_is_dropped_ends_the_waits_inside() {
    let host = host();
    for has_entered in [false, true] {
        let mut network = Network::on(&host);
        let (writer, mut reader) = Channel::new().one_to_one::<u32>();
        let (mut results, answers) = Channel::new().one_to_one::<u32>();
        network.process("reader", spe(0), move |process| {
            assert_eq!(reader.read(process), Err(Ended::Closed));
            Ok(())
        });
        network.process("writer", spe(1), move |process| {
            assert_eq!(results.write(process, 5).unwrap_err().item, 5);
            Ok(())
        });
        let mut gate = network.gate("client", (writer, answers));
        let (result, ()) = beside(network, move || {
            pause();
            if has_entered {
                drop(gate.enter().unwrap());
            }
            drop(gate);
        });
        result.unwrap();
    }
}

#[test]
fn the_main_process_meets_threads_outside() {
    let host = host();
    let mut network = Network::on(&host);
    let (mut writer, answers) = Channel::new().one_to_one();
    let (numbers, mut reader) = Channel::new().one_to_one();
    let mut gate = network.gate("client", (numbers, answers));
    thread::scope(|scope| {
        scope.spawn(move || {
            let ((numbers, answers), process) = gate.enter().unwrap();
            for number in 0..50_u32 {
                numbers.write(&process, number).unwrap();
                assert_eq!(answers.read(&process), Ok(number + 1));
            }
        });
        network.run_with(|process| {
            while let Ok(number) = reader.read(process) {
                writer.write(process, number + 1).unwrap();
            }
        })
    })
    .unwrap();
}

#[test]
fn threads_outside_meet_each_other() {
    let host = host();
    let mut network = Network::on(&host);
    let (writer, reader) = Channel::new().one_to_one::<u32>();
    let (until, mut told) = Channel::new().any_to_one::<()>();
    // The network runs until both outside threads have ended.
    network.process("last", spe(0), move |process| {
        assert_eq!(told.read(process), Err(Ended::Closed));
        Ok(())
    });
    let mut to_write = network.gate("writer", (writer, until.clone()));
    let mut to_read = network.gate("reader", (reader, until));
    let (result, ()) = beside(network, move || {
        thread::scope(|scope| {
            scope.spawn(move || {
                let ((writer, _), process) = to_write.enter().unwrap();
                (0..50).for_each(|item| writer.write(&process, item).unwrap());
            });
            let ((reader, _), process) = to_read.enter().unwrap();
            assert!(reader.items(&process).eq(0..50));
        });
        drop(to_read);
    });
    result.unwrap();
}

#[test]
fn both_sides_alternate() {
    let host = host();
    let mut network = Network::on(&host);
    let (writers, mut readers): (Vec<_>, Vec<_>) =
        (0..3).map(|_| Channel::new().one_to_one::<u32>()).unzip();
    let (mut sum, total) = Channel::new().one_to_one();
    let (stop, mut stopped) = Channel::new().one_to_one::<()>();
    network.process("server", spe(0), move |process| {
        let mut any = Alternation::fair();
        let numbers: Vec<_> = readers.iter_mut().map(|reader| any.read(reader)).collect();
        let stopped = any.read(&mut stopped);
        let mut so_far = 0;
        loop {
            let chosen = any.select(process)?;
            if chosen == stopped {
                break Ok(sum.write(process, so_far)?);
            }
            so_far += any.take(process, &numbers[chosen.index()]);
        }
    });
    let mut gate = network.gate("client", (writers, stop, total));
    let (result, total) = beside(network, move || {
        let ((writers, stop, total), process) = gate.enter().unwrap();
        let mut all = Alternation::fair();
        let guards: Vec<_> = writers.iter_mut().map(|writer| all.write(writer)).collect();
        for round in 0..30 {
            for guard in &guards {
                all.offer(&process, guard, round);
            }
            for _ in 0..3 {
                all.select(&process).unwrap();
            }
        }
        stop.write(&process, ()).unwrap();
        total.read(&process).unwrap()
    });
    result.unwrap();
    assert_eq!(total, 3 * (0..30).sum::<u32>());
}

#[test]
fn poison_goes_in_and_out() {
    let host = host();
    let mut network = Network::on(&host);
    let (mut to_poison, mut poisoned) = Channel::new().one_to_one::<u32>();
    let (writer, mut reader) = Channel::new().one_to_one::<u32>();
    network.process("inside", spe(0), move |process| {
        // The outside thread poisons this channel while the process waits.
        assert_eq!(poisoned.read(process), Err(Ended::Poisoned));
        pause();
        // The process poisons this channel while the outside thread waits.
        assert!(reader.poison(process).is_empty());
        Ok(())
    });
    let mut gate = network.gate("client", writer);
    let mut poisoner = network.gate("poisoner", ());
    let (result, ()) = beside(network, move || {
        pause();
        let ((), process) = poisoner.enter().unwrap();
        to_poison.poison(&process);
        let (writer, process) = gate.enter().unwrap();
        let unsent = writer.write(&process, 3).unwrap_err();
        assert_eq!((unsent.item, unsent.ended), (3, Ended::Poisoned));
    });
    result.unwrap();
}

#[test]
fn a_panic_of_a_process_ends_the_waits_outside() {
    let host = host();
    let mut network = Network::on(&host);
    let (writer, mut reader) = Channel::new().one_to_one::<u32>();
    let (mut results, answers) = Channel::new().one_to_one::<u32>();
    network.process("clumsy", spe(0), move |process| {
        let number = reader.read(process)?;
        assert!(number < 5, "{number} is too much");
        Ok(results.write(process, number)?)
    });
    let mut gate = network.gate("client", (writer, answers));
    let (result, error) = beside(network, move || {
        let ((writer, answers), process) = gate.enter().unwrap();
        writer.write(&process, 7).unwrap();
        assert_eq!(answers.read(&process), Err(Ended::Closed));
        assert_eq!(writer.write(&process, 8).unwrap_err().item, 8);
        wait_for_the_end(&mut gate)
    });
    assert_eq!(
        result.unwrap_err().to_string(),
        "the process `clumsy` panicked on SPE 0: 7 is too much"
    );
    assert_eq!(
        error,
        "the gate `client` is closed, as the run of its network has ended; the result of the run says why"
    );
}

/// Waits until the network has ended. Returns the text of the error that `enter` gives then.
fn wait_for_the_end<E>(gate: &mut Gate<E>) -> String {
    loop {
        match gate.enter() {
            Ok(_) => thread::yield_now(),
            Err(error) => return error.to_string(),
        }
    }
}

#[test]
fn a_panic_outside_ends_the_waits_inside() {
    let host = host();
    let mut network = Network::on(&host);
    let (writer, mut reader) = Channel::new().one_to_one::<u32>();
    network.process("reader", spe(0), move |process| {
        assert_eq!(reader.read(process), Ok(1));
        assert_eq!(reader.read(process), Err(Ended::Closed));
        Ok(())
    });
    let mut gate = network.gate("client", writer);
    thread::scope(|scope| {
        let client = scope.spawn(move || {
            let (writer, process) = gate.enter().unwrap();
            writer.write(&process, 1).unwrap();
            panic!("clumsy");
        });
        network.run().unwrap();
        client.join().unwrap_err();
    });
}

#[test]
fn a_cancelled_run_ends_the_waits_outside() {
    let host = host();
    let mut network = Network::on(&host);
    // No process drops the reader of this channel.
    let (writer, _reader) = Channel::new().one_to_one::<String>();
    let (until, mut told) = Channel::new().one_to_one::<()>();
    network.process("waits", spe(0), move |process| Ok(told.read(process)?));
    let mut gate = network.gate("client", (writer, until));
    thread::scope(|scope| {
        let client = scope.spawn(move || {
            let ((writer, _), process) = gate.enter().unwrap();
            let unsent = writer.write(&process, "kept".to_owned()).unwrap_err();
            assert_eq!(
                (unsent.item.as_str(), unsent.ended),
                ("kept", Ended::Closed)
            );
            // No call waits from now on.
            let closed = |result: Result<(), Refused<String>>| {
                assert!(
                    matches!(result, Err(Refused::Ended(unsent)) if unsent.ended == Ended::Closed)
                );
            };
            let (a, b, c) = ("a".to_owned(), "b".to_owned(), "c".to_owned());
            assert_eq!(writer.write(&process, a).unwrap_err().ended, Ended::Closed);
            closed(writer.try_write(&process, b));
            let deadline = in_ms(&process, 60_000);
            closed(writer.write_until(&process, c, deadline));
            let mut any = Alternation::fair();
            let guard = any.write(writer);
            assert_eq!(any.select_or_skip(&process), Ok(None));
            any.offer(&process, &guard, "d".to_owned());
            assert_eq!(any.select(&process).unwrap_err().ended, Ended::Closed);
            assert_eq!(
                any.select_or_skip(&process).unwrap_err().ended,
                Ended::Closed
            );
            let ended = any.select_until(&process, deadline).unwrap_err().ended;
            assert_eq!(ended, Ended::Closed);
            drop(any);
            wait_for_the_end(&mut gate)
        });
        let result = network.run_with(|_| {
            pause();
            panic!("cancels the run");
        });
        let error = result.unwrap_err().to_string();
        assert_eq!(
            error,
            "the process `main` panicked on the PPE: cancels the run"
        );
        assert!(
            client
                .join()
                .unwrap()
                .starts_with("the gate `client` is closed")
        );
    });
}

/// Returns the report of a deadlock, without the line numbers of this file.
fn report(result: Result<(), NetworkError>) -> String {
    let Err(NetworkError::Deadlock(deadlock)) = result else {
        panic!("a deadlock is an error, not {result:?}");
    };
    let text = deadlock.to_string();
    let lines = text
        .lines()
        .map(|line| line.split(" at crates").next().unwrap());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_deadlock_with_a_thread_outside_names_it() {
    let host = host();
    let mut network = Network::on(&host);
    let (requests, mut to_serve) = Channel::new().named("requests").one_to_one::<u32>();
    let (mut results, answers) = Channel::new().named("answers").one_to_one::<u32>();
    network.process("server", spe(0), move |process| {
        // This process never answers.
        loop {
            to_serve.read(process)?;
            if false {
                results.write(process, 0)?;
            }
        }
    });
    let mut gate = network.gate("client", (requests, answers));
    let (result, ()) = beside(network, move || {
        let ((requests, answers), process) = gate.enter().unwrap();
        requests.write(&process, 1).unwrap();
        assert_eq!(answers.read(&process), Err(Ended::Closed));
    });
    if let Err(NetworkError::Deadlock(deadlock)) = &result {
        let outside: Vec<_> = deadlock.cycle.iter().map(|it| it.is_outside).collect();
        assert_eq!(outside, [true, false]);
    }
    assert_eq!(
        report(result),
        "deadlock: these two processes wait for each other\n  \
         outside, the gate `client` waits to read the channel `answers`\n  \
         the process `server` waits to read the channel `requests`"
    );
}

#[test]
fn a_deadlock_of_others_names_the_thread_outside_that_waits_for_them() {
    let host = host();
    let mut network = Network::on(&host);
    let (mut a, mut at_a) = Channel::new().named("a").one_to_one::<u32>();
    let (mut b, mut at_b) = Channel::new().named("b").one_to_one::<u32>();
    let (mut results, answers) = Channel::new().named("answers").one_to_one::<u32>();
    network.process("left", spe(0), move |process| {
        at_b.read(process)?;
        a.write(process, 1)?;
        Ok(results.write(process, 1)?)
    });
    network.process("right", spe(1), move |process| {
        at_a.read(process)?;
        Ok(b.write(process, 1)?)
    });
    let mut gate = network.gate("client", answers);
    let (result, ()) = beside(network, move || {
        pause();
        let (answers, process) = gate.enter().unwrap();
        assert_eq!(answers.read(&process), Err(Ended::Closed));
    });
    assert_eq!(
        report(result),
        "deadlock: these two processes wait for each other\n  \
         the process `left` waits to read the channel `b`\n  \
         the process `right` waits to read the channel `a`\n\
         besides,\n  \
         outside, the gate `client` waits to read the channel `answers`"
    );
}

#[test]
fn a_deadlock_is_seen_when_the_last_gate_goes() {
    let host = host();
    let mut network = Network::on(&host);
    let (mut writer, mut reader) = Channel::new().named("own").one_to_one::<u32>();
    network.process("alone", spe(0), move |process| {
        reader.read(process)?;
        Ok(writer.write(process, 1)?)
    });
    let gate = network.gate("client", ());
    let (result, ()) = beside(network, move || {
        pause();
        drop(gate);
    });
    assert_eq!(
        report(result),
        "deadlock: this process waits for itself\n  \
         the process `alone` waits to read the channel `own`"
    );
}

#[test]
fn a_thread_outside_that_may_still_write_is_no_deadlock() {
    let host = host();
    let mut network = Network::on(&host);
    let mut slow = successor(&mut network, 0);
    let mut waits = network.gate("waits", Channel::new().one_to_one::<u32>());
    let (result, ()) = beside(network, move || {
        thread::scope(|scope| {
            scope.spawn(|| {
                let ((_, reader), process) = waits.enter().unwrap();
                assert_eq!(reader.read(&process), Err(Ended::Closed));
            });
            let ((numbers, answers), process) = slow.enter().unwrap();
            for number in 0..3 {
                pause();
                numbers.write(&process, number).unwrap();
                assert_eq!(answers.read(&process), Ok(number + 1));
            }
            drop(slow);
        });
    });
    result.unwrap();
}

/// Returns the error of a network with a gate.
fn refusal<M: Machine>(machine: &M) -> String {
    let mut network = Network::on(machine);
    let (writer, reader) = Channel::new().one_to_one::<u32>();
    network.process("never", spe(0), |_| panic!("no process starts"));
    let mut gate = network.gate("client", (writer, reader));
    let error = network.run().unwrap_err();
    assert!(matches!(error, NetworkError::NoGate { .. }));
    assert_eq!(
        gate.enter().err().unwrap(),
        GateError::NeverRan {
            gate: "client".to_owned()
        }
    );
    error.to_string()
}

#[test]
fn machines_without_gates_refuse_the_network_before_it_starts() {
    assert_eq!(
        refusal(&qs22()),
        "the network has the gate `client`, but no OS thread outside of qs22 can take part in its networks, because its \
         time is simulated or its SPEs are confined to their local stores; run the network on a host that is not strict, \
         or do the work of the thread in a process"
    );
    refusal(&plain());
    refusal(&strict_host());
}

#[test]
fn a_gate_waits_until_its_network_runs() {
    let host = host();
    let mut network = Network::on(&host);
    let mut gate = successor(&mut network, 0);
    thread::scope(|scope| {
        let client = scope.spawn(move || {
            let ((numbers, answers), process) = gate.enter().unwrap();
            numbers.write(&process, 1).unwrap();
            answers.read(&process)
        });
        pause();
        assert!(!client.is_finished());
        network.run().unwrap();
        assert_eq!(client.join().unwrap(), Ok(2));
    });
}

#[test]
fn a_gate_of_a_network_that_never_runs_says_so() {
    let host = host();
    let mut network = Network::on(&host);
    let mut gate = network.gate("client", ());
    thread::scope(|scope| {
        let client = scope.spawn(move || gate.enter().err().unwrap().to_string());
        pause();
        drop(network);
        assert_eq!(
            client.join().unwrap(),
            "the gate `client` is closed, as its network never ran; run the network"
        );
    });
}

#[test]
fn a_process_is_not_let_through_a_gate() {
    let host = host();
    let mut network = Network::on(&host);
    let mut gate = network.gate("client", ());
    let (sender, errors) = std::sync::mpsc::channel();
    network.process("inside", spe(0), move |_| {
        sender.send(gate.enter().err().unwrap().to_string())?;
        Ok(())
    });
    network.run().unwrap();
    assert_eq!(
        errors.recv().unwrap(),
        "a process of a network was going to enter the gate `client`, which is for other threads; give the process ends \
         of its own"
    );
}

#[test]
fn a_gate_is_cloned_while_the_network_runs() {
    let host = host();
    let mut network = Network::on(&host);
    let (numbers, mut to_add) = Channel::new().any_to_one::<u32>();
    let (mut result, mut sum) = Channel::new().one_to_one();
    network.process("sum", spe(0), move |process| {
        Ok(result.write(process, to_add.items(process).sum::<u32>())?)
    });
    let gate = network.gate("client", numbers);
    assert_eq!(format!("{gate:?}"), "Gate `client`");
    thread::scope(|scope| {
        scope.spawn(move || {
            // Each request has its own gate, as in a pool of threads.
            for number in 1..=100 {
                let mut gate: Gate<Writer<u32, Any>> = gate.clone();
                let (numbers, process) = gate.enter().unwrap();
                numbers.write(&process, number).unwrap();
            }
        });
        let sum = network.run_with(|process| sum.read(process));
        assert_eq!(sum.unwrap(), Ok(5_050));
    });
}

#[test]
fn the_threads_of_a_split_gate_have_their_own_ends() {
    let host = host();
    let mut network = Network::on(&host);
    let (mut requests, mut answers) = successor(&mut network, 1).split();
    let (result, ()) = beside(network, move || {
        thread::scope(|scope| {
            scope.spawn(move || {
                let (requests, process) = requests.enter().unwrap();
                (0..100).for_each(|number| requests.write(&process, number).unwrap());
            });
            let (answers, process) = answers.enter().unwrap();
            // The channels close when the other thread has ended, as this one has no such end.
            assert!(answers.items(&process).eq(1..=100));
        });
    });
    result.unwrap();
}

#[test]
fn a_gate_is_made_for_a_channel_that_is_made_during_the_run() {
    let host = host();
    let mut network = Network::on(&host);
    let (requests, mut to_serve) = Channel::new().any_to_one::<(u32, Writer<u32>)>();
    network.process("server", spe(0), move |process| {
        loop {
            let (number, mut answer) = to_serve.read(process)?;
            answer.write(process, number + 1)?;
        }
    });
    let gate = network.gate("client", requests);
    let (result, ()) = beside(network, move || {
        for number in 0..20 {
            // As in a server of sockets, one thread asks and another one reads the answer.
            let mut asking = gate.clone();
            let (answer, answered) = Channel::new().one_to_one();
            let mut answered = asking.with("answers", answered);
            assert_eq!(format!("{answered:?}"), "Gate `answers`");
            thread::scope(|scope| {
                scope.spawn(move || {
                    let (requests, process) = asking.enter().unwrap();
                    requests.write(&process, (number, answer)).unwrap();
                });
                let (answers, process) = answered.enter().unwrap();
                assert_eq!(answers.read(&process), Ok(number + 1));
                assert_eq!(answers.read(&process), Err(Ended::Closed));
            });
        }
    });
    result.unwrap();
}

#[test]
fn a_deadlock_names_both_threads_of_a_split_gate() {
    let host = host();
    let mut network = Network::on(&host);
    let (requests, mut to_serve) = Channel::new().named("requests").one_to_one::<u32>();
    let (mut results, answers) = Channel::new().named("answers").one_to_one::<u32>();
    let (mut own, mut to_read) = Channel::new().named("own").one_to_one::<u32>();
    network.process("server", spe(0), move |process| {
        own.write(process, to_read.read(process)?)?;
        results.write(process, to_serve.read(process)?)?;
        Ok(())
    });
    let (mut requests, mut answers) = network.gate("client", (requests, answers)).split();
    let (result, ()) = beside(network, move || {
        thread::scope(|scope| {
            scope.spawn(move || {
                let (requests, process) = requests.enter().unwrap();
                assert_eq!(requests.write(&process, 1).unwrap_err().item, 1);
            });
            let (answers, process) = answers.enter().unwrap();
            assert_eq!(answers.read(&process), Err(Ended::Closed));
        });
    });
    assert_eq!(
        report(result),
        "deadlock: this process waits for itself\n  \
         the process `server` waits to read the channel `own`\n\
         besides,\n  \
         outside, the gate `client` waits to write to the channel `requests`\n  \
         outside, the gate `client` waits to read the channel `answers`"
    );
}

#[test]
fn a_thousand_networks_serve_two_threads() {
    let host = Host::builder().spes(2).build().unwrap();
    for round in 0..1_000 {
        let mut network = Network::on(&host);
        let gates = [0, round % 3].map(|capacity| successor(&mut network, capacity));
        thread::scope(|scope| {
            for mut gate in gates {
                scope.spawn(move || {
                    let ((numbers, answers), process) = gate.enter().unwrap();
                    for number in 0..10 {
                        numbers.write(&process, number).unwrap();
                        assert_eq!(answers.read(&process), Ok(number + 1));
                    }
                });
            }
            network.run()
        })
        .unwrap();
    }
}

#[test]
fn a_thousand_networks_end_in_a_deadlock_with_two_threads() {
    let host = Host::builder().spes(2).build().unwrap();
    for round in 0..1_000_usize {
        let mut network = Network::on(&host);
        let gates = [0, 1].map(|_| successor(&mut network, round % 2));
        let waits = |mut gate: Gate<(Writer<u32>, Reader<u32>)>| {
            let ((_, answers), process) = gate.enter().unwrap();
            assert_eq!(answers.read(&process), Err(Ended::Closed));
        };
        let result = thread::scope(|scope| {
            for gate in gates {
                scope.spawn(|| waits(gate));
            }
            network.run()
        });
        let text = report(result);
        let outside = text
            .matches("outside, the gate `client` waits to read")
            .count();
        assert_eq!(
            (outside, text.matches("the process `successor`").count()),
            (2, 2),
            "{text}"
        );
    }
}
