//! Tasks of async runtimes that take part in a network.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use cellworks_csp::{
    Alternation, AsyncGate, AsyncReader, AsyncWriter, Channel, Ended, Network, NetworkError,
    Reader, Refused, Unsent, Writer,
};
use cellworks_host::Host;

use crate::{host, qs22, spe};

#[path = "../../examples/tcp_server.rs"]
#[allow(dead_code, reason = "its main function is not called")]
mod tcp_server;

#[test]
fn the_tcp_server_counts_each_word_once() {
    assert_eq!(tcp_server::run(&host(), 50).unwrap(), 101);
}

/// Pauses, mostly long enough for the other threads to fall asleep.
fn pause() {
    thread::sleep(Duration::from_millis(20));
}

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs a task on a runtime.
type BlockOn = fn(Task);

fn on_threads_of_tokio(task: Task) {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { tokio::spawn(task).await.unwrap() });
}

fn on_one_thread_of_tokio(task: Task) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(task);
}

fn on_smol(task: Task) {
    smol::block_on(smol::spawn(task));
}

/// Runs each case on every runtime.
macro_rules! on_every_runtime {
    ($($case:ident),* $(,)?) => {
        mod on_threads_of_tokio {
            $(#[test] fn $case() { super::$case(super::on_threads_of_tokio); })*
        }
        mod on_one_thread_of_tokio {
            $(#[test] fn $case() { super::$case(super::on_one_thread_of_tokio); })*
        }
        mod on_smol { $(#[test] fn $case() { super::$case(super::on_smol); })* }
    };
}
on_every_runtime![
    items_go_out_and_in,
    no_item_is_lost_or_doubled_when_futures_are_dropped_at_every_point,
    two_tasks_meet_and_drop_futures_at_every_point,
    tasks_meet_alternations,
    several_tasks_share_a_channel,
    a_process_that_ends_ends_the_waits_of_tasks,
    close_and_poison_go_in_and_out,
    a_panic_of_a_process_ends_the_waits_of_tasks,
    a_cancelled_run_ends_the_waits_of_tasks,
    a_deadlock_names_the_task,
    a_task_waits_until_its_network_runs,
];

/// Runs a network on the calling thread, and a task on another thread.
fn beside(
    network: Network<'_, Host>,
    block_on: BlockOn,
    task: impl Future<Output = ()> + Send + 'static,
) -> Result<(), NetworkError> {
    thread::scope(|scope| {
        let outside = scope.spawn(move || block_on(Box::pin(task)));
        let result = network.run();
        outside.join().unwrap();
        result
    })
}

/// Is ready after `polls` polls, each of which lets the other tasks of the runtime run.
async fn polls(mut polls: usize) {
    poll_fn(|context| match polls.checked_sub(1) {
        None => Poll::Ready(()),
        Some(left) => {
            polls = left;
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}

/// Returns the result of a future, or `None` if it was not ready in `most` polls.
async fn within<F: Future + Unpin>(most: usize, future: &mut F) -> Option<F::Output> {
    let result = async { Some(future.await) };
    smol::future::or(result, async {
        polls(most).await;
        None
    })
    .await
}

/// Adds a process that reads numbers and writes each number plus one, until the numbers end.
fn successor_of(network: &mut Network<'_, Host>, capacity: usize) -> (Writer<u32>, Reader<u32>) {
    let (numbers, mut to_read) = Channel::new().buffered(capacity).one_to_one();
    let (mut results, answers) = Channel::new().buffered(capacity).one_to_one();
    network.process("successor", spe(0), move |process| {
        loop {
            let number: u32 = to_read.read(process)?;
            results.write(process, number + 1)?;
        }
    });
    (numbers, answers)
}

fn successor(
    network: &mut Network<'_, Host>,
    capacity: usize,
) -> (AsyncGate, AsyncWriter<u32>, AsyncReader<u32>) {
    let ends = successor_of(network, capacity);
    let (gate, (numbers, answers)) = network.gate("client", ends).into_async();
    let (numbers, answers) = (gate.writer(numbers), gate.reader(answers));
    (gate, numbers, answers)
}

fn items_go_out_and_in(block_on: BlockOn) {
    let host = host();
    for capacity in [0, 1, 5, 64] {
        let mut network = Network::on(&host);
        let (gate, mut numbers, mut answers) = successor(&mut network, capacity);
        let task = async move {
            for number in 0..200 {
                numbers.write(number).await.unwrap();
                assert_eq!(answers.read().await, Ok(number + 1));
            }
            drop(gate);
        };
        beside(network, block_on, task).unwrap();
    }
}

/// Writes the numbers below `count`, and drops each future after some polls until it is ready.
async fn write_impatiently(mut numbers: AsyncWriter<u32>, count: u32) {
    for number in 0..count {
        let (mut item, mut most) = (number, number as usize % 5);
        loop {
            let mut writing = numbers.write(item);
            match within(most, &mut writing).await {
                Some(result) => break result.unwrap(),
                // It is `None` if a dropped write was written nevertheless.
                None => item = writing.into_item().unwrap(),
            }
            most += 1;
        }
    }
}

/// Reads until the channel ends, and drops each future after some polls until it is ready.
async fn read_impatiently(mut answers: AsyncReader<u32>) -> Vec<u32> {
    let mut read = Vec::new();
    let mut most = 0;
    loop {
        match within(most % 4, &mut answers.read()).await {
            Some(Ok(number)) => read.push(number),
            Some(Err(ended)) => {
                assert_eq!(ended, Ended::Closed);
                return read;
            }
            None => {}
        }
        most += 1;
    }
}

fn no_item_is_lost_or_doubled_when_futures_are_dropped_at_every_point(block_on: BlockOn) {
    let host = host();
    for capacity in [0, 1, 3] {
        let mut network = Network::on(&host);
        let (gate, numbers, answers) = successor(&mut network, capacity);
        drop(gate);
        let task = async move {
            let both =
                smol::future::zip(write_impatiently(numbers, 2_000), read_impatiently(answers));
            let ((), read) = both.await;
            assert!(read.into_iter().eq(1..=2_000));
        };
        beside(network, block_on, task).unwrap();
    }
}

#[test]
fn no_item_is_lost_or_doubled_when_time_runs_out() {
    let host = host();
    for capacity in [0, 2] {
        let mut network = Network::on(&host);
        let (gate, mut numbers, mut answers) = successor(&mut network, capacity);
        drop(gate);
        let task = async move {
            let writes = tokio::spawn(async move {
                for number in 0..1_000_u32 {
                    let mut item = number;
                    let mut time = Duration::from_micros(u64::from(number) % 100);
                    loop {
                        let mut writing = numbers.write(item);
                        tokio::select! {
                            result = &mut writing => break result.unwrap(),
                            () = tokio::time::sleep(time) => item = writing.into_item().unwrap(),
                        }
                        time *= 2;
                    }
                }
            });
            let mut read = Vec::new();
            for micros in (0..100).cycle() {
                let time = Duration::from_micros(micros);
                match tokio::time::timeout(time, answers.read()).await {
                    Ok(Ok(number)) => read.push(number),
                    Ok(Err(ended)) => {
                        assert_eq!(ended, Ended::Closed);
                        break;
                    }
                    Err(_) => {}
                }
            }
            writes.await.unwrap();
            assert!(read.into_iter().eq(1..=1_000));
        };
        beside(network, on_threads_of_tokio, task).unwrap();
    }
}

/// A process that waits until the network is told to end, so that it runs as long as tasks need it.
fn until_told(network: &mut Network<'_, Host>) -> Writer<(), cellworks_csp::Any> {
    let (until, mut told) = Channel::new().any_to_one::<()>();
    network.process("last", spe(0), move |process| {
        assert_eq!(told.read(process), Err(Ended::Closed));
        Ok(())
    });
    until
}

fn two_tasks_meet_and_drop_futures_at_every_point(block_on: BlockOn) {
    let host = host();
    for capacity in [0, 1] {
        let mut network = Network::on(&host);
        let until = until_told(&mut network);
        let (writer, reader) = Channel::new().buffered(capacity).one_to_one::<u32>();
        let (to_write, writer) = network.gate("writer", writer).into_async();
        let (to_read, (reader, until)) = network.gate("reader", (reader, until)).into_async();
        let (writer, reader) = (to_write.writer(writer), to_read.reader(reader));
        let task = async move {
            let both =
                smol::future::zip(write_impatiently(writer, 1_000), read_impatiently(reader));
            let ((), read) = both.await;
            assert!(read.into_iter().eq(0..1_000));
            drop(to_read.writer(until));
        };
        beside(network, block_on, task).unwrap();
    }
}

fn tasks_meet_alternations(block_on: BlockOn) {
    let host = host();
    for capacity in [0, 2] {
        let mut network = Network::on(&host);
        let (writers, mut readers): (Vec<_>, Vec<_>) = (0..2)
            .map(|_| Channel::new().buffered(capacity).one_to_one::<u32>())
            .unzip();
        let (mut back, results) = Channel::new().buffered(capacity).one_to_one::<u32>();
        network.process("server", spe(0), move |process| {
            let mut any = Alternation::fair();
            let guards: Vec<_> = readers.iter_mut().map(|reader| any.read(reader)).collect();
            let mut open = guards.len();
            let mut out = Alternation::fair();
            let to_write = out.write(&mut back);
            while open > 0 {
                match any.select(process) {
                    Ok(chosen) => {
                        let number = any.take(process, &guards[chosen.index()]);
                        out.offer(process, &to_write, number);
                        out.select(process)?;
                    }
                    Err(ended) => {
                        any.when(&guards[ended.guard.index()], false);
                        open -= 1;
                    }
                }
            }
            Ok(())
        });
        let (gate, (writers, results)) = network.gate("client", (writers, results)).into_async();
        let mut writers = writers.into_iter().map(|writer| gate.writer(writer));
        let (left, right) = (writers.next().unwrap(), writers.next().unwrap());
        let results = gate.reader(results);
        let task = async move {
            let writes =
                smol::future::zip(write_impatiently(left, 500), write_impatiently(right, 500));
            let (_, mut read) = smol::future::zip(writes, read_impatiently(results)).await;
            read.sort_unstable();
            assert!(
                read.into_iter()
                    .eq((0..500).flat_map(|number| [number, number]))
            );
            drop(gate);
        };
        beside(network, block_on, task).unwrap();
    }
}

fn several_tasks_share_a_channel(block_on: BlockOn) {
    let host = host();
    let mut network = Network::on(&host);
    let (numbers, mut to_add) = Channel::new().any_to_any::<u32>();
    let (mut total, sum) = Channel::new().one_to_one();
    let mut other = to_add.clone();
    let (mut part, mut parts) = Channel::new().one_to_one();
    network.process("other", spe(1), move |process| {
        Ok(part.write(process, other.items(process).sum::<u32>())?)
    });
    network.process("sum", spe(0), move |process| {
        let sum: u32 = to_add.items(process).sum();
        Ok(total.write(process, sum + parts.read(process)?)?)
    });
    let (gate, (numbers, sum)) = network.gate("clients", (numbers, sum)).into_async();
    let task = async move {
        let clients: Vec<_> = (0..4)
            .map(|client| {
                let gate = gate.another(format!("client {client}"));
                let mut numbers = gate.writer(numbers.clone());
                smol::spawn(async move {
                    for number in 1..=100 {
                        numbers.write(number).await.unwrap();
                    }
                })
            })
            .collect();
        drop(numbers);
        let mut sum = gate.reader(sum);
        assert_eq!(sum.read().await, Ok(4 * 5_050));
        for client in clients {
            client.await;
        }
    };
    beside(network, block_on, task).unwrap();
}

fn a_process_that_ends_ends_the_waits_of_tasks(block_on: BlockOn) {
    let host = host();
    let mut network = Network::on(&host);
    let (writer, reader) = Channel::new().one_to_one::<String>();
    let (results, answers) = Channel::new().one_to_one::<u32>();
    network.process("short", spe(0), move |_| {
        pause();
        drop((reader, results));
        Ok(())
    });
    let (gate, (writer, answers)) = network.gate("client", (writer, answers)).into_async();
    let (mut writer, mut answers) = (gate.writer(writer), gate.reader(answers));
    let task = async move {
        let (read, unsent) =
            smol::future::zip(answers.read(), writer.write("kept".to_owned())).await;
        assert_eq!(read, Err(Ended::Closed));
        let ended = Ended::Closed;
        assert_eq!(
            unsent,
            Err(Unsent {
                item: "kept".to_owned(),
                ended
            })
        );
        let refused = Err(Refused::Ended(Unsent {
            item: "tried".to_owned(),
            ended,
        }));
        assert_eq!(writer.try_write("tried".to_owned()), refused);
        assert_eq!(answers.try_read(), Err(ended));
    };
    beside(network, block_on, task).unwrap();
}

fn close_and_poison_go_in_and_out(block_on: BlockOn) {
    let host = host();
    let mut network = Network::on(&host);
    let (to_poison, mut poisoned) = Channel::new().one_to_one::<u32>();
    let (to_close, mut closed) = Channel::new().buffered(2).one_to_one::<u32>();
    let (writer, mut reader) = Channel::new().one_to_one::<u32>();
    let (mut full, unread) = Channel::new().buffered(2).one_to_one::<u32>();
    let (mut is_full, told) = Channel::new().one_to_one::<()>();
    network.process("inside", spe(0), move |process| {
        // The task poisons and closes these channels while the process waits.
        assert_eq!(poisoned.read(process), Err(Ended::Poisoned));
        assert_eq!(closed.read(process), Ok(1));
        assert_eq!(closed.read(process), Err(Ended::Closed));
        full.write(process, 8)?;
        full.write(process, 9)?;
        is_full.write(process, ())?;
        assert_eq!(full.write(process, 10).unwrap_err().ended, Ended::Poisoned);
        pause();
        // The process poisons this channel while the task waits.
        assert!(reader.poison(process).is_empty());
        Ok(())
    });
    let ends = (to_poison, to_close, writer, unread);
    let (gate, (to_poison, to_close, writer, unread)) = network.gate("client", ends).into_async();
    let mut told = gate.reader(told);
    let (mut to_poison, mut to_close) = (gate.writer(to_poison), gate.writer(to_close));
    let (mut writer, mut unread) = (gate.writer(writer), gate.reader(unread));
    let task = async move {
        pause();
        assert!(to_poison.poison().is_empty());
        to_close.write(1).await.unwrap();
        to_close.close();
        assert_eq!(to_close.write(2).await.unwrap_err().ended, Ended::Closed);
        told.read().await.unwrap();
        assert_eq!(unread.poison(), [8, 9]);
        assert_eq!(unread.read().await, Err(Ended::Poisoned));
        let unsent = writer.write(3).await.unwrap_err();
        assert_eq!((unsent.item, unsent.ended), (3, Ended::Poisoned));
    };
    beside(network, block_on, task).unwrap();
}

fn a_panic_of_a_process_ends_the_waits_of_tasks(block_on: BlockOn) {
    let host = host();
    let mut network = Network::on(&host);
    let (writer, mut reader) = Channel::new().one_to_one::<u32>();
    let (mut results, answers) = Channel::new().one_to_one::<u32>();
    network.process("clumsy", spe(0), move |process| {
        let number = reader.read(process)?;
        pause();
        assert!(number < 5, "{number} is too much");
        Ok(results.write(process, number)?)
    });
    let (gate, (writer, answers)) = network.gate("client", (writer, answers)).into_async();
    let (mut writer, mut answers) = (gate.writer(writer), gate.reader(answers));
    let task = async move {
        writer.write(7).await.unwrap();
        assert_eq!(answers.read().await, Err(Ended::Closed));
        assert_eq!(writer.write(8).await.unwrap_err().item, 8);
    };
    assert_eq!(
        beside(network, block_on, task).unwrap_err().to_string(),
        "the process `clumsy` panicked on SPE 0: 7 is too much"
    );
}

fn a_cancelled_run_ends_the_waits_of_tasks(block_on: BlockOn) {
    let host = host();
    let mut network = Network::on(&host);
    // No process drops the other ends of these channels.
    let (writer, _reader) = Channel::new().one_to_one::<String>();
    let (_results, answers) = Channel::new().one_to_one::<u32>();
    let (gate, (writer, answers)) = network.gate("client", (writer, answers)).into_async();
    let (mut writer, mut answers) = (gate.writer(writer), gate.reader(answers));
    let task = async move {
        let (read, unsent) =
            smol::future::zip(answers.read(), writer.write("kept".to_owned())).await;
        assert_eq!(read, Err(Ended::Closed));
        let ended = Ended::Closed;
        assert_eq!(
            unsent,
            Err(Unsent {
                item: "kept".to_owned(),
                ended
            })
        );
        assert_eq!(answers.try_read(), Err(Ended::Closed));
        drop(gate);
    };
    thread::scope(|scope| {
        let client = scope.spawn(move || block_on(Box::pin(task)));
        let result = network.run_with(|_| {
            pause();
            panic!("cancels the run");
        });
        assert_eq!(
            result.map(|(): ()| ()).unwrap_err().to_string(),
            "the process `main` panicked on the PPE: cancels the run"
        );
        client.join().unwrap();
    });
}

/// Adds a process that reads requests and never answers.
fn silent_server(network: &mut Network<'_, Host>) -> (Writer<u32>, Reader<u32>) {
    let (requests, mut to_serve) = Channel::new().named("requests").one_to_one::<u32>();
    let (mut results, answers) = Channel::new().named("answers").one_to_one::<u32>();
    network.process("server", spe(0), move |process| {
        loop {
            to_serve.read(process)?;
            if false {
                results.write(process, 0)?;
            }
        }
    });
    (requests, answers)
}

fn a_deadlock_names_the_task(block_on: BlockOn) {
    let host = host();
    let mut network = Network::on(&host);
    let ends = silent_server(&mut network);
    let (gate, (requests, answers)) = network.gate("client", ends).into_async();
    let (mut requests, mut answers) = (gate.writer(requests), gate.reader(answers));
    let task = async move {
        requests.write(1).only().await.unwrap();
        assert_eq!(answers.read().only().await, Err(Ended::Closed));
        drop(gate);
    };
    let result = beside(network, block_on, task);
    let Err(NetworkError::Deadlock(deadlock)) = result else {
        panic!("a deadlock is an error, not {result:?}");
    };
    let outside: Vec<_> = deadlock.cycle.iter().map(|it| it.is_outside).collect();
    assert_eq!(outside, [true, false]);
    assert!(deadlock.cycle[0].at.file().ends_with("asynchronous.rs"));
    let text = deadlock.to_string();
    let lines = text
        .lines()
        .map(|line| line.split(" at crates").next().unwrap());
    assert_eq!(
        lines.collect::<Vec<_>>().join("\n"),
        "deadlock: these two processes wait for each other\n  \
         outside, the gate `client` waits to read the channel `answers`\n  \
         the process `server` waits to read the channel `requests`"
    );
}

#[test]
fn a_wait_that_may_end_otherwise_is_no_deadlock() {
    let host = host();
    let mut network = Network::on(&host);
    let ends = silent_server(&mut network);
    let (gate, (requests, answers)) = network.gate("client", ends).into_async();
    let (mut requests, mut answers) = (gate.writer(requests), gate.reader(answers));
    let task = async move {
        let time = Duration::from_millis(20);
        for number in 0..3 {
            tokio::time::timeout(time, answers.read())
                .await
                .unwrap_err();
            requests.write(number).await.unwrap();
        }
        drop(gate);
    };
    beside(network, on_one_thread_of_tokio, task).unwrap();
}

#[test]
fn a_thousand_networks_end_in_a_deadlock_with_two_tasks() {
    let host = Host::builder().spes(2).build().unwrap();
    for round in 0..1_000 {
        let mut network = Network::on(&host);
        let clients = [0, 1].map(|_| successor(&mut network, round % 2));
        let result = thread::scope(|scope| {
            for (_gate, numbers, mut answers) in clients {
                scope.spawn(move || {
                    assert_eq!(smol::block_on(answers.read().only()), Err(Ended::Closed));
                    drop(numbers);
                });
            }
            network.run()
        });
        let text = result.unwrap_err().to_string();
        let outside = text
            .matches("outside, the gate `client` waits to read")
            .count();
        let inside = text.matches("the process `successor`").count();
        assert_eq!((outside, inside), (2, 2), "{text}");
    }
}

fn a_task_waits_until_its_network_runs(block_on: BlockOn) {
    let host = host();
    let mut network = Network::on(&host);
    let (gate, mut numbers, mut answers) = successor(&mut network, 0);
    assert_eq!(answers.try_read(), Ok(None));
    assert_eq!(numbers.try_write(5), Err(Refused::NotTaken(5)));
    let task = async move {
        numbers.write(1).await.unwrap();
        assert_eq!(answers.read().await, Ok(2));
        drop(gate);
    };
    thread::scope(|scope| {
        let client = scope.spawn(move || block_on(Box::pin(task)));
        pause();
        assert!(!client.is_finished());
        network.run().unwrap();
        client.join().unwrap();
    });
}

/// A waker that counts, and then runs a closure.
struct Counts(AtomicUsize, Box<dyn Fn(&Waker) + Send + Sync>);

impl Wake for Counts {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
        self.1(&Waker::from(Arc::clone(&self)));
    }
}

fn counts(then: impl Fn(&Waker) + Send + Sync + 'static) -> (Arc<Counts>, Waker) {
    let counts = Arc::new(Counts(AtomicUsize::new(0), Box::new(then)));
    (Arc::clone(&counts), Waker::from(counts))
}

fn poll_by<F: Future + Unpin>(waker: &Waker, future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

/// Polls until the future is ready.
fn poll_on<F: Future + Unpin>(waker: &Waker, future: &mut F) -> F::Output {
    loop {
        match poll_by(waker, future) {
            Poll::Ready(result) => return result,
            Poll::Pending => thread::yield_now(),
        }
    }
}

/// Waits until a waker has been woken at least once.
fn wait_for(counts: &Counts) {
    while counts.0.load(Ordering::SeqCst) == 0 {
        thread::yield_now();
    }
}

/// Waits until the network runs. From then on only the process wakes wakers.
fn settle(numbers: &mut AsyncWriter<u32>, answers: &mut AsyncReader<u32>) {
    poll_on(Waker::noop(), &mut numbers.write(0)).unwrap();
    assert_eq!(poll_on(Waker::noop(), &mut answers.read()), Ok(1));
}

/// Runs a network with a successor beside `outside`. The ends belong to two tasks, so that what
/// wakes one of them does not wake the other.
fn with_successor(
    capacity: usize,
    outside: impl FnOnce(AsyncGate, AsyncWriter<u32>, AsyncReader<u32>) + Send,
) {
    let host = host();
    let mut network = Network::on(&host);
    let ends = successor_of(&mut network, capacity);
    let (gate, (numbers, answers)) = network.gate("client", ends).into_async();
    let numbers = gate.another("numbers").writer(numbers);
    let answers = gate.reader(answers);
    thread::scope(|scope| {
        let outside = scope.spawn(move || outside(gate, numbers, answers));
        network.run().unwrap();
        outside.join().unwrap();
    });
}

#[test]
fn a_future_may_be_polled_too_often_and_by_other_wakers() {
    for capacity in [0, 2] {
        with_successor(capacity, |_gate, mut numbers, mut answers| {
            settle(&mut numbers, &mut answers);
            let (often, waker) = counts(|_| ());
            let mut reading = answers.read();
            for _ in 0..100 {
                assert!(poll_by(&waker, &mut reading).is_pending());
            }
            poll_on(Waker::noop(), &mut numbers.write(1)).unwrap();
            wait_for(&often);
            assert_eq!(poll_on(&waker, &mut reading), Ok(2));
            drop(reading);
            assert_eq!(often.0.load(Ordering::SeqCst), 1);
            let (replaced, waker) = counts(|_| ());
            let (last, other) = counts(|_| ());
            let mut reading = answers.read();
            for _ in 0..10 {
                assert!(poll_by(&waker, &mut reading).is_pending());
                assert!(poll_by(&other, &mut reading).is_pending());
            }
            poll_on(Waker::noop(), &mut numbers.write(2)).unwrap();
            wait_for(&last);
            assert_eq!(replaced.0.load(Ordering::SeqCst), 0);
            assert_eq!(poll_on(Waker::noop(), &mut reading), Ok(3));
        });
    }
}

#[test]
fn a_waker_may_panic() {
    with_successor(0, |_gate, mut numbers, mut answers| {
        settle(&mut numbers, &mut answers);
        for number in 0..10 {
            let (woken, waker) = counts(|_| panic!("a waker"));
            let mut reading = answers.read();
            assert!(poll_by(&waker, &mut reading).is_pending());
            poll_on(Waker::noop(), &mut numbers.write(number)).unwrap();
            wait_for(&woken);
            // The process that has woken the task goes on.
            assert_eq!(poll_on(&waker, &mut reading), Ok(number + 1));
        }
    });
}

#[test]
fn a_waker_may_poll_the_future_that_it_wakes() {
    with_successor(0, |_gate, mut numbers, mut answers| {
        settle(&mut numbers, &mut answers);
        for number in 0..10 {
            let (read, results) = std::sync::mpsc::channel();
            let shared = Arc::new(Mutex::new(None));
            let here = Arc::clone(&shared);
            let (_, waker) = counts(move |waker| {
                let mut answers: std::sync::MutexGuard<'_, Option<AsyncReader<u32>>> =
                    here.lock().unwrap();
                let reader = answers.as_mut().unwrap();
                let mut context = Context::from_waker(waker);
                // The wait of the poll below has found an item, on the thread of the process.
                if let Poll::Ready(result) = reader.poll_read(&mut context) {
                    read.send(result).unwrap();
                }
            });
            let mut context = Context::from_waker(&waker);
            assert!(answers.poll_read(&mut context).is_pending());
            *shared.lock().unwrap() = Some(answers);
            poll_on(Waker::noop(), &mut numbers.write(number)).unwrap();
            assert_eq!(results.recv().unwrap(), Ok(number + 1));
            answers = shared.lock().unwrap().take().unwrap();
        }
    });
}

#[test]
fn a_future_that_is_forgotten_loses_no_item() {
    for capacity in [0, 2] {
        with_successor(capacity, |gate, mut numbers, mut answers| {
            // The task of the numbers is counted, so a wait with `only` is no deadlock.
            for number in 0..100 {
                let mut reading = answers.read();
                assert!(poll_by(Waker::noop(), &mut reading).is_pending());
                std::mem::forget(reading);
                let mut reading = answers.read().only();
                assert!(poll_by(Waker::noop(), &mut reading).is_pending());
                std::mem::forget(reading);
                poll_on(Waker::noop(), &mut numbers.write(number)).unwrap();
                assert_eq!(poll_on(Waker::noop(), &mut answers.read()), Ok(number + 1));
            }
            let mut all = vec![numbers.write(100)];
            while poll_by(Waker::noop(), &mut all[0]).is_ready() {
                drop(all);
                all = vec![numbers.write(100)];
            }
            // The process waits to write the answer, so this write waits, too, and is not written.
            all.into_iter().for_each(std::mem::forget);
            while let Poll::Ready(result) = poll_by(Waker::noop(), &mut answers.read()) {
                assert_eq!(result, Ok(101));
            }
            drop((gate, numbers));
            let mut reading = answers.read();
            while let Ok(answer) = poll_on(Waker::noop(), &mut reading) {
                assert_eq!(answer, 101);
                drop(reading);
                reading = answers.read();
            }
        });
    }
}

#[test]
fn a_future_is_polled_on_another_thread_after_the_run() {
    let host = host();
    let mut network = Network::on(&host);
    let (gate, mut numbers, mut answers) = successor(&mut network, 0);
    let until = until_told(&mut network);
    let (writer, left_over) = Channel::new().buffered(4).one_to_one::<u32>();
    let (mut writer, mut left_over) = (gate.writer(writer), gate.reader(left_over));
    let (woken, waker) = counts(|_| ());
    let (waits, told) = std::sync::mpsc::channel();
    thread::scope(|scope| {
        let (answers, writer, waker) = (&mut answers, &mut writer, &waker);
        let outside = scope.spawn(move || {
            let mut reading = answers.read();
            assert!(poll_by(waker, &mut reading).is_pending());
            poll_on(Waker::noop(), &mut writer.write(9)).unwrap();
            drop(until);
            waits.send(()).unwrap();
            reading
        });
        let result = network.run_with(|_| {
            told.recv().unwrap();
            panic!("ends the run");
        });
        result.map(|(): ()| ()).unwrap_err();
        let mut reading = outside.join().unwrap();
        wait_for(&woken);
        assert_eq!(
            poll_by(waker, &mut reading),
            Poll::Ready(Err(Ended::Closed))
        );
        drop(reading);
        scope.spawn(move || {
            let ended = Ended::Closed;
            let unsent = Err(Unsent { item: 1, ended });
            assert_eq!(poll_by(waker, &mut numbers.write(1)), Poll::Ready(unsent));
            // As with a gate, what is in a buffer can still be read.
            assert_eq!(poll_by(waker, &mut left_over.read()), Poll::Ready(Ok(9)));
            assert_eq!(left_over.try_read(), Err(ended));
            let mut reading = left_over.read().only();
            assert_eq!(poll_by(waker, &mut reading), Poll::Ready(Err(ended)));
        });
    });
}

#[test]
fn a_future_of_a_network_that_never_runs_ends() {
    let host = host();
    let mut network = Network::on(&host);
    let (_gate, mut numbers, mut answers) = successor(&mut network, 0);
    let (woken, waker) = counts(|_| ());
    let mut writing = numbers.write(3);
    assert!(poll_by(&waker, &mut writing).is_pending());
    drop(network);
    wait_for(&woken);
    let ended = Ended::Closed;
    assert_eq!(
        poll_by(&waker, &mut writing),
        Poll::Ready(Err(Unsent { item: 3, ended }))
    );
    assert_eq!(
        poll_by(&waker, &mut answers.read()),
        Poll::Ready(Err(ended))
    );
    drop(writing);
    // A machine without gates refuses the network, which then does not run either.
    let blade = qs22();
    let mut network = Network::on(&blade);
    let (_writer, reader) = Channel::new().one_to_one::<u32>();
    let (gate, reader) = network.gate("client", reader).into_async();
    let mut reader = gate.reader(reader);
    assert!(matches!(network.run(), Err(NetworkError::NoGate { .. })));
    assert_eq!(smol::block_on(reader.read()), Err(ended));
}

#[test]
fn a_future_is_not_polled_after_its_result() {
    with_successor(0, |_gate, mut numbers, mut answers| {
        let mut writing = numbers.write(1);
        poll_on(Waker::noop(), &mut writing).unwrap();
        let mut reading = answers.read();
        assert_eq!(poll_on(Waker::noop(), &mut reading), Ok(2));
        let text = |panic: Box<dyn std::any::Any + Send>| {
            let text = panic.downcast_ref::<&str>().copied().map(str::to_owned);
            text.or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap()
        };
        let panic = catch_unwind(AssertUnwindSafe(|| poll_by(Waker::noop(), &mut writing)));
        assert_eq!(
            text(panic.unwrap_err()),
            "a write that has ended is not polled"
        );
        let panic = catch_unwind(AssertUnwindSafe(|| poll_by(Waker::noop(), &mut reading)));
        assert_eq!(
            text(panic.unwrap_err()),
            "a read that has ended is not polled"
        );
        assert_eq!(writing.into_item(), None);
    });
}

#[test]
fn an_item_that_came_before_the_future_was_dropped_is_read_next() {
    with_successor(0, |gate, mut numbers, mut answers| {
        settle(&mut numbers, &mut answers);
        for round in 0..4 {
            let (woken, waker) = counts(|_| ());
            let mut reading = answers.read();
            assert!(poll_by(&waker, &mut reading).is_pending());
            poll_on(Waker::noop(), &mut numbers.write(round)).unwrap();
            wait_for(&woken);
            drop(reading);
            match round % 2 {
                0 => assert_eq!(answers.try_read(), Ok(Some(round + 1))),
                _ => assert_eq!(poll_on(&waker, &mut answers.read()), Ok(round + 1)),
            }
            assert_eq!(answers.try_read(), Ok(None));
        }
        let (woken, waker) = counts(|_| ());
        assert!(poll_by(&waker, &mut answers.read()).is_pending());
        let mut context = Context::from_waker(&waker);
        assert!(answers.poll_read(&mut context).is_pending());
        poll_on(Waker::noop(), &mut numbers.write(7)).unwrap();
        wait_for(&woken);
        assert_eq!(answers.poison(), [8]);
        drop(gate);
    });
}

#[test]
fn a_reader_becomes_a_stream() {
    with_successor(3, |gate, mut numbers, mut answers| {
        drop(gate);
        smol::block_on(async move {
            let writes = async move {
                for number in 0..50 {
                    numbers.write(number).await.unwrap();
                }
            };
            let stream =
                smol::stream::poll_fn(|context| answers.poll_read(context).map(Result::ok));
            let stream = pin!(stream);
            let read = smol::stream::StreamExt::collect::<Vec<_>>(stream);
            let ((), read) = smol::future::zip(writes, read).await;
            assert!(read.into_iter().eq(1..=50));
        });
    });
}

#[test]
fn a_task_may_not_use_a_channel_of_another_network() {
    let host = host();
    let mut first = Network::on(&host);
    let (numbers, mut reader) = Channel::new().named("first").any_to_one::<u32>();
    first.process("reader", spe(0), move |process| {
        assert_eq!(reader.items(process).sum::<u32>(), 1);
        Ok(())
    });
    let (gate, numbers) = first.gate("client", numbers).into_async();
    let mut second = Network::on(&host);
    let until = until_told(&mut second);
    let (other, until) = second.gate("stranger", until).into_async();
    thread::scope(|scope| {
        let outside = scope.spawn(move || {
            let mut own = gate.writer(numbers.clone());
            poll_on(Waker::noop(), &mut own.write(1)).unwrap();
            let mut strange = other.writer(numbers);
            let write = || poll_on(Waker::noop(), &mut strange.write(2));
            let panic = catch_unwind(AssertUnwindSafe(write)).unwrap_err();
            drop((other.writer(until), own));
            *panic.downcast::<String>().unwrap()
        });
        let run = scope.spawn(|| first.run());
        second.run().unwrap();
        run.join().unwrap().unwrap();
        let text = outside.join().unwrap();
        assert!(
            text.starts_with("the process `stranger` of the network that was run at"),
            "{text}"
        );
        assert!(
            text.contains("was going to use the channel `first`"),
            "{text}"
        );
    });
}

#[test]
fn ends_and_futures_have_texts() {
    let host = host();
    let mut network = Network::on(&host);
    let (gate, mut numbers, mut answers) = successor(&mut network, 0);
    assert_eq!(format!("{gate:?}"), "AsyncGate `client`");
    assert!(format!("{numbers:?}").starts_with("AsyncWriter of the channel made at"));
    assert!(format!("{answers:?}").starts_with("AsyncReader of the channel made at"));
    assert!(format!("{:?}", numbers.write(1)).starts_with("Writing at crates/csp/tests"));
    assert!(format!("{:?}", answers.read()).starts_with("Reading at crates/csp/tests"));
}
