//! The programs with processes on two CPUs, with other channels: between OS threads, and between
//! tasks that two OS threads run. The programs are written once, as tasks. An OS thread runs one
//! task, and the calls of that task block and never yield.

use std::sync::mpsc;
use std::time::Instant;

use futures::future::BoxFuture;

use super::ns;
use crate::table::{System, system};

/// Channels of numbers, and the executor of tasks that use them.
pub trait Peer: 'static {
    type Writer: Send;
    type Reader: Send;

    /// A rendezvous channel, or else a channel with the smallest buffer.
    fn channel() -> (Self::Writer, Self::Reader);

    /// Returns whether the channel still has a reader.
    fn write(writer: &mut Self::Writer, number: u64) -> impl Future<Output = bool> + Send;

    /// Returns `None` if the channel has no writer any more.
    fn read(reader: &mut Self::Reader) -> impl Future<Output = Option<u64>> + Send;

    /// Runs tasks until all have ended.
    fn run(tasks: Vec<BoxFuture<'static, ()>>);
}

struct Crossbeam;

impl Peer for Crossbeam {
    type Writer = crossbeam_channel::Sender<u64>;
    type Reader = crossbeam_channel::Receiver<u64>;

    fn channel() -> (Self::Writer, Self::Reader) {
        crossbeam_channel::bounded(0)
    }

    async fn write(writer: &mut Self::Writer, number: u64) -> bool {
        writer.send(number).is_ok()
    }

    async fn read(reader: &mut Self::Reader) -> Option<u64> {
        reader.recv().ok()
    }

    fn run(tasks: Vec<BoxFuture<'static, ()>>) {
        std::thread::scope(|scope| {
            for task in tasks {
                scope.spawn(|| futures::executor::block_on(task));
            }
        });
    }
}

struct Tokio;

impl Peer for Tokio {
    type Writer = tokio::sync::mpsc::Sender<u64>;
    type Reader = tokio::sync::mpsc::Receiver<u64>;

    fn channel() -> (Self::Writer, Self::Reader) {
        tokio::sync::mpsc::channel(1)
    }

    async fn write(writer: &mut Self::Writer, number: u64) -> bool {
        writer.send(number).await.is_ok()
    }

    async fn read(reader: &mut Self::Reader) -> Option<u64> {
        reader.recv().await
    }

    fn run(tasks: Vec<BoxFuture<'static, ()>>) {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).build();
        let runtime = runtime.expect("a runtime without I/O can be made");
        let tasks = Vec::from_iter(tasks.into_iter().map(|task| runtime.spawn(task)));
        for task in tasks {
            runtime.block_on(task).expect("no panic");
        }
    }
}

/// A program that can be run with each peer. Returns nanoseconds for each message.
pub trait Program: Copy {
    fn run<P: Peer>(self) -> f64;
}

/// A program with each peer.
pub fn systems<'a>(program: impl Program + 'a) -> [System<'a>; 2] {
    [
        system("crossbeam, OS threads", move || program.run::<Crossbeam>()),
        system("tokio, two workers, buffers of one", move || {
            program.run::<Tokio>()
        }),
    ]
}

/// The result of a task's measurement, for the caller of [`Peer::run`].
fn result(result: &mpsc::Receiver<f64>) -> f64 {
    result.try_recv().expect("a task has measured")
}

/// As [`crate::ours::comms_time_on_two_spes`].
#[derive(Clone, Copy)]
pub struct CommsTime {
    pub loops: usize,
}

impl Program for CommsTime {
    fn run<P: Peer>(self) -> f64 {
        let (mut to_delta, mut at_delta) = P::channel();
        let (mut to_successor, mut at_successor) = P::channel();
        let (mut to_prefix, mut at_prefix) = P::channel();
        let (mut to_consumer, mut at_consumer) = P::channel();
        let (measured, measurement) = mpsc::channel();
        P::run(vec![
            Box::pin(async move {
                let mut number = 0;
                while P::write(&mut to_delta, number).await {
                    let Some(next) = P::read(&mut at_prefix).await else {
                        return;
                    };
                    number = next;
                }
            }),
            Box::pin(async move {
                while let Some(number) = P::read(&mut at_delta).await {
                    if !P::write(&mut to_successor, number).await
                        || !P::write(&mut to_consumer, number).await
                    {
                        return;
                    }
                }
            }),
            Box::pin(async move {
                while let Some(number) = P::read(&mut at_successor).await
                    && P::write(&mut to_prefix, number + 1).await
                {}
            }),
            Box::pin(async move {
                for _ in 0..self.loops / 10 {
                    P::read(&mut at_consumer).await;
                }
                let start = Instant::now();
                for _ in 0..self.loops {
                    P::read(&mut at_consumer).await;
                }
                let ns = ns(start.elapsed(), 4 * self.loops);
                measured.send(ns).expect("it is waited for");
            }),
        ]);
        result(&measurement)
    }
}

/// As [`crate::ours::token`].
#[derive(Clone, Copy)]
pub struct Token {
    pub processes: usize,
    pub hops: usize,
}

impl Program for Token {
    fn run<P: Peer>(self) -> f64 {
        let Self { processes, hops } = self;
        let rounds = hops.div_ceil(processes);
        let (writers, mut readers): (Vec<_>, Vec<_>) = (0..processes).map(|_| P::channel()).unzip();
        readers.rotate_right(1);
        let (measured, measurement) = mpsc::channel();
        let mut measured = Some(measured);
        let tasks = writers.into_iter().zip(readers);
        let tasks = tasks.map(|(mut to_next, mut here)| -> BoxFuture<'static, ()> {
            let Some(measured) = measured.take() else {
                return Box::pin(async move {
                    while let Some(number) = P::read(&mut here).await
                        && P::write(&mut to_next, number + 1).await
                    {}
                });
            };
            Box::pin(async move {
                let mut start = Instant::now();
                for round in 0..=rounds {
                    // The first round starts all tasks, so it is not measured.
                    if round == 1 {
                        start = Instant::now();
                    }
                    P::write(&mut to_next, 0).await;
                    P::read(&mut here).await;
                }
                let ns = ns(start.elapsed(), rounds * processes);
                measured.send(ns).expect("it is waited for");
            })
        });
        P::run(tasks.collect());
        result(&measurement)
    }
}

/// As [`crate::ours::pipeline`].
#[derive(Clone, Copy)]
pub struct Pipeline {
    pub stages: usize,
    pub numbers: usize,
}

impl Program for Pipeline {
    fn run<P: Peer>(self) -> f64 {
        let Self { stages, numbers } = self;
        let warm_up = numbers / 10;
        let (mut first, mut last) = P::channel();
        let mut tasks = Vec::<BoxFuture<'static, ()>>::new();
        tasks.push(Box::pin(async move {
            for number in 0..(warm_up + numbers) as u64 {
                P::write(&mut first, number).await;
            }
        }));
        for _ in 1..stages {
            let (mut to, reader) = P::channel();
            let mut from = std::mem::replace(&mut last, reader);
            tasks.push(Box::pin(async move {
                while let Some(number) = P::read(&mut from).await
                    && P::write(&mut to, number + 1).await
                {}
            }));
        }
        let (measured, measurement) = mpsc::channel();
        tasks.push(Box::pin(async move {
            for _ in 0..warm_up {
                P::read(&mut last).await;
            }
            let start = Instant::now();
            for _ in 0..numbers {
                P::read(&mut last).await;
            }
            let ns = ns(start.elapsed(), numbers * stages);
            measured.send(ns).expect("it is waited for");
        }));
        P::run(tasks);
        result(&measurement)
    }
}

/// As [`crate::ours::merge_sort`].
#[derive(Clone, Copy)]
pub struct MergeSort {
    pub leaves: usize,
    pub numbers: usize,
}

impl Program for MergeSort {
    fn run<P: Peer>(self) -> f64 {
        let Self { leaves, numbers } = self;
        let unsorted = crate::ours::unsorted(numbers);
        let start = Instant::now();
        let mut tasks = Vec::<BoxFuture<'static, ()>>::new();
        let mut level = Vec::new();
        for own in unsorted.chunks(numbers / leaves) {
            let (mut writer, reader) = P::channel();
            let mut own = own.to_vec();
            tasks.push(Box::pin(async move {
                own.sort_unstable();
                for number in own {
                    P::write(&mut writer, number).await;
                }
            }));
            level.push(reader);
        }
        while level.len() > 1 {
            let mut above = Vec::new();
            let mut below = level.into_iter();
            while let (Some(mut left), Some(mut right)) = (below.next(), below.next()) {
                let (mut writer, reader) = P::channel();
                tasks.push(Box::pin(async move {
                    let mut heads = [P::read(&mut left).await, P::read(&mut right).await];
                    while let Some(side) = crate::ours::side_of_smaller(heads) {
                        let from = if side == 0 { &mut left } else { &mut right };
                        let number = std::mem::replace(&mut heads[side], P::read(from).await);
                        P::write(&mut writer, number.expect("one was there")).await;
                    }
                }));
                above.push(reader);
            }
            level = above;
        }
        let mut sorted = level.pop().expect("a tree has a root");
        tasks.push(Box::pin(async move {
            let mut last = 0;
            while let Some(number) = P::read(&mut sorted).await {
                assert!(last <= number, "the numbers are sorted");
                last = number;
            }
        }));
        P::run(tasks);
        ns(start.elapsed(), numbers)
    }
}
