//! A network that does not go on because of a gate: a message names the gate, and says what to do.
//!
//! Each case runs in a child process, which waits for ever. The test has no harness, because it
//! reads the standard error of the children, and because the threads of a harness wait with time
//! limits.

#[path = "../../../tests/started.rs"]
mod started;

use std::thread;
use std::time::Duration;

use cellworks_csp::{Any, Channel, Gate, Network, Reader, Writer};
use cellworks_host::Host;
use cellworks_machine::SpeId;
use started::Started;

/// Longer than the time after which there is a hint, with several checks of the watchdog.
const LONGER_THAN_A_HINT: Duration = Duration::from_secs(16);

const MOVE: &str = "without `move` only borrows";
const RUN_FIRST: &str = "waits until `Network::run` is called";
const CLONED: &str = "or a gate is kept that was only cloned";
const IF_NO_USER: &str = "If no thread or task will use such a gate any more, drop it and its ends";
const UNUSED: &str = "the gate `server` was neither used nor dropped";

/// The name of each case, its program, and parts of lines that the program prints.
type Case = (&'static str, fn(), &'static [&'static str]);

const CASES: [Case; 7] = [
    (
        "a thread borrows its gate",
        a_thread_borrows_its_gate,
        &[
            MOVE,
            "the gate `client` was not dropped, but the thread that entered it has ended",
        ],
    ),
    (
        "a task borrows its ends",
        a_task_borrows_its_ends,
        &[
            "hint: all processes of the network that was run at crates/csp/tests/hints.rs:",
            "Either the network is idle and waits for its clients",
            MOVE,
            "the gate `client` or one of its async ends was not dropped",
        ],
    ),
    (
        "the original of a gate is kept",
        the_original_of_a_gate_is_kept,
        &[CLONED, IF_NO_USER, UNUSED],
    ),
    (
        "an unused async gate is kept",
        an_unused_async_gate_is_kept,
        &[CLONED, IF_NO_USER, UNUSED],
    ),
    (
        "a thread is joined before the run",
        a_thread_is_joined_before_the_run,
        &["at the gate `client`, a thread or task", RUN_FIRST],
    ),
    (
        "a task is awaited before the run",
        a_task_is_awaited_before_the_run,
        &["at the gate `client`, a thread or task", RUN_FIRST],
    ),
    (
        "a task waits again before the run",
        a_task_waits_again_before_the_run,
        &["at the gate `client`, a thread or task", RUN_FIRST],
    ),
];

/// The cases that print nothing.
const QUIET: [&str; 2] = ["quiet", "unasked"];

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("quiet") => an_idle_network_ends(),
        Some("unasked") => a_network_that_no_client_has_asked_ends(),
        Some(name) => match CASES.iter().find(|(case, ..)| *case == name) {
            Some((_, program, _)) => program(),
            // A filter of tests.
            None => parent(),
        },
        None => parent(),
    }
}

fn parent() {
    thread::scope(|cases| {
        for case in QUIET {
            cases.spawn(move || {
                let mut child = Started::new(&[case]);
                assert_eq!(child.line(), None, "{}", child.said);
                assert!(child.child.wait().unwrap().success(), "{}", child.said);
            });
        }
        for (case, _, parts) in CASES {
            cases.spawn(move || says(case, parts));
        }
    });
    println!("{} passed, 0 failed", QUIET.len() + CASES.len());
}

fn says(case: &str, parts: &[&str]) {
    let mut child = Started::new(&[case]);
    while !parts.iter().all(|part| child.said.contains(part)) {
        if child.line().is_none() {
            panic!("{case}: the child ended after: {}", child.said);
        }
    }
}

// ----------------------------------------------------------------------------------- the children

/// Returns a network with a process that reads all numbers of a writer.
fn with_a_reader(host: &Host) -> (Network<'_, Host>, Writer<u32>) {
    let (numbers, mut to_read) = Channel::new().one_to_one();
    let mut network = Network::on(host);
    network.process("reader", SpeId::new(0), move |process| {
        loop {
            to_read.read(process)?;
        }
    });
    (network, numbers)
}

fn a_thread_borrows_its_gate() {
    let host = Host::new().unwrap();
    let (mut network, numbers) = with_a_reader(&host);
    let mut gate = network.gate("client", numbers);
    thread::scope(|scope| {
        scope.spawn(|| {
            let (numbers, process) = gate.enter().unwrap();
            numbers.write(&process, 1).unwrap();
        });
        network.run().unwrap();
    });
}

fn a_task_borrows_its_ends() {
    let host = Host::new().unwrap();
    let (mut network, numbers) = with_a_reader(&host);
    let (gate, numbers) = network.gate("client", numbers).into_async();
    let mut numbers = gate.writer(numbers);
    let client = async { numbers.write(1).await.unwrap() };
    thread::scope(|scope| {
        scope.spawn(|| smol::block_on(client));
        network.run().unwrap();
    });
}

/// Returns a network with a process that reads all numbers of any number of writers.
fn with_a_server(host: &Host) -> (Network<'_, Host>, Writer<u32, Any>) {
    let (numbers, mut to_read) = Channel::new().any_to_one();
    let mut network = Network::on(host);
    network.process("server", SpeId::new(0), move |process| {
        loop {
            to_read.read(process)?;
        }
    });
    (network, numbers)
}

/// Starts a thread that waits with a time limit, as those of a server do. A process all of whose
/// threads wait without one is ended before the hint.
fn start_a_thread_with_a_time_limit() {
    thread::spawn(|| thread::sleep(10 * LONGER_THAN_A_HINT));
}

fn the_original_of_a_gate_is_kept() {
    start_a_thread_with_a_time_limit();
    let host = Host::new().unwrap();
    let (mut network, numbers) = with_a_server(&host);
    let gate = network.gate("server", numbers);
    thread::scope(|scope| {
        let mut gate = gate.clone();
        scope.spawn(move || {
            let (numbers, process) = gate.enter().unwrap();
            numbers.write(&process, 1).unwrap();
        });
        network.run().unwrap();
    });
}

fn an_unused_async_gate_is_kept() {
    start_a_thread_with_a_time_limit();
    let host = Host::new().unwrap();
    let (mut network, numbers) = with_a_server(&host);
    let gate = network.gate("server", numbers);
    let (kept, kept_numbers) = gate.clone().into_async();
    let _kept_numbers = kept.writer(kept_numbers);
    thread::scope(|scope| {
        scope.spawn(move || {
            let (gate, numbers) = gate.into_async();
            smol::block_on(gate.writer(numbers).write(1)).unwrap();
        });
        network.run().unwrap();
    });
}

fn a_thread_is_joined_before_the_run() {
    let host = Host::new().unwrap();
    let (mut network, numbers) = with_a_reader(&host);
    let mut gate = network.gate("client", numbers);
    let client = thread::spawn(move || {
        let (numbers, process) = gate.enter().unwrap();
        numbers.write(&process, 1).unwrap();
    });
    client.join().unwrap();
    network.run().unwrap();
}

fn a_task_is_awaited_before_the_run() {
    let host = Host::new().unwrap();
    let (mut network, numbers) = with_a_reader(&host);
    let (gate, numbers) = network.gate("client", numbers).into_async();
    let mut numbers = gate.writer(numbers);
    smol::block_on(async { numbers.write(1).await.unwrap() });
    network.run().unwrap();
}

/// The first wait ends before there is a hint.
fn a_task_waits_again_before_the_run() {
    let host = Host::new().unwrap();
    let (mut network, numbers) = with_a_reader(&host);
    let (gate, numbers) = network.gate("client", numbers).into_async();
    let mut numbers = gate.writer(numbers);
    smol::block_on(async {
        let first = smol::future::poll_once(numbers.write(1)).await;
        assert!(first.is_none());
        thread::sleep(LONGER_THAN_A_HINT);
        numbers.write(2).await.unwrap();
    });
    network.run().unwrap();
}

/// A server whose only client is idle, and one that no client has asked yet.
fn an_idle_network_ends() {
    let host = Host::new().unwrap();
    let (numbers, to_read) = Channel::new().any_to_one();
    let mut network = Network::on(&host);
    network.process("reader", SpeId::new(0), move |process| {
        let mut numbers: Reader<u32> = to_read;
        loop {
            numbers.read(process)?;
        }
    });
    let gate = network.gate("client", numbers);
    let listening: Gate<_> = gate.clone();
    let (gate, numbers) = gate.into_async();
    let mut numbers = gate.writer(numbers);
    thread::scope(|scope| {
        scope.spawn(move || {
            smol::block_on(numbers.write(1)).unwrap();
            thread::sleep(LONGER_THAN_A_HINT);
            // Gates that go one after the other show that the network does not stand still.
            drop(listening);
            thread::sleep(Duration::from_secs(3));
            drop((gate, numbers));
        });
        network.run().unwrap();
    });
}

/// A server that listens for its first client.
fn a_network_that_no_client_has_asked_ends() {
    let host = Host::new().unwrap();
    let (mut network, numbers) = with_a_server(&host);
    let gate = network.gate("server", numbers);
    thread::scope(|scope| {
        scope.spawn(move || {
            thread::sleep(LONGER_THAN_A_HINT);
            drop(gate);
        });
        network.run().unwrap();
    });
}
