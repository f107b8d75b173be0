//! The programs, of the channels of others: of OS threads, or of the tasks of a single-threaded `tokio`.
//!
//! A channel of OS threads is two closures, so that each program is written once.

use std::time::{Duration, Instant};

use crate::cpus;

/// The ends of a channel.
pub type Ends<T> = (
    Box<dyn FnMut(T) -> bool + Send>,
    Box<dyn FnMut() -> Option<T> + Send>,
);

/// Makes channels of a capacity, 0 for a rendezvous.
pub type Make<T> = fn(usize) -> Ends<T>;

pub fn kanal<T: Send + 'static>(capacity: usize) -> Ends<T> {
    let (sender, receiver) = kanal::bounded(capacity);
    (
        Box::new(move |item| sender.send(item).is_ok()),
        Box::new(move || receiver.recv().ok()),
    )
}

pub fn crossbeam<T: Send + 'static>(capacity: usize) -> Ends<T> {
    let (sender, receiver) = crossbeam_channel::bounded(capacity);
    (
        Box::new(move |item| sender.send(item).is_ok()),
        Box::new(move || receiver.recv().ok()),
    )
}

pub fn flume<T: Send + 'static>(capacity: usize) -> Ends<T> {
    let (sender, receiver) = flume::bounded(capacity);
    (
        Box::new(move |item| sender.send(item).is_ok()),
        Box::new(move || receiver.recv().ok()),
    )
}

fn ns(time: Duration, messages: usize) -> f64 {
    time.as_nanos() as f64 / messages as f64
}

/// CommsTime, each process an OS thread.
pub fn comms_time(make: Make<u64>, loops: usize) -> f64 {
    let (mut to_delta, mut at_delta) = make(0);
    let (mut to_successor, mut at_successor) = make(0);
    let (mut to_prefix, mut at_prefix) = make(0);
    let (mut to_consumer, mut at_consumer) = make(0);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            to_delta(0);
            while let Some(number) = at_prefix() {
                to_delta(number);
            }
        });
        scope.spawn(move || {
            while let Some(number) = at_delta() {
                if !to_successor(number) || !to_consumer(number) {
                    return;
                }
            }
        });
        scope.spawn(move || {
            while let Some(number) = at_successor() {
                to_prefix(number + 1);
            }
        });
        let consumer = scope.spawn(move || {
            let mut take = |messages: usize| {
                for _ in 0..messages {
                    at_consumer();
                }
            };
            take(loops / 10);
            let start = Instant::now();
            take(loops);
            ns(start.elapsed(), 4 * loops)
        });
        consumer.join().expect("no panic")
    })
}

/// An item goes back and forth between OS threads on two CPUs, or on one; with a pause before each message if one is given.
pub fn ping_pong<T: Send + Clone + 'static>(
    make: Make<T>,
    at: [usize; 2],
    item: &T,
    round_trips: usize,
    pause: Duration,
) -> f64 {
    let (mut forth, mut there) = make(0);
    let (mut back, mut here) = make(0);
    let mut item = item.clone();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            cpus::use_only(&[at[1]]);
            while let Some(item) = there() {
                back(item);
            }
        });
        let ping = scope.spawn(move || {
            cpus::use_only(&[at[0]]);
            let mut all = Duration::ZERO;
            for round_trip in 0..round_trips + round_trips / 10 {
                if round_trip == round_trips / 10 && pause.is_zero() {
                    let start = Instant::now();
                    for _ in 0..round_trips {
                        forth(item);
                        item = here().expect("the other side goes on");
                    }
                    return ns(start.elapsed(), 2 * round_trips);
                }
                let until = Instant::now() + pause;
                while !pause.is_zero() && Instant::now() < until {
                    std::hint::spin_loop();
                }
                let start = Instant::now();
                forth(item);
                item = here().expect("the other side goes on");
                if round_trip >= round_trips / 10 {
                    all += start.elapsed();
                }
            }
            ns(all, 2 * round_trips)
        });
        ping.join().expect("no panic")
    })
}

/// A stream of numbers between OS threads, by two closures that run on their own: the writer's makes them, the reader's
/// takes so many, and is called twice, of which the second time is measured.
pub fn stream(
    at: [usize; 2],
    messages: usize,
    mut write: impl FnMut(usize) + Send,
    mut read: impl FnMut(usize) + Send,
) -> f64 {
    std::thread::scope(|scope| {
        scope.spawn(move || {
            cpus::use_only(&[at[0]]);
            write(messages / 10 + messages);
        });
        let reader = scope.spawn(move || {
            cpus::use_only(&[at[1]]);
            read(messages / 10);
            let start = Instant::now();
            read(messages);
            ns(start.elapsed(), messages)
        });
        reader.join().expect("no panic")
    })
}

pub fn stream_of(make: Make<u64>, capacity: usize, at: [usize; 2], messages: usize) -> f64 {
    let (mut writer, mut reader) = make(capacity);
    stream(
        at,
        messages,
        move |count| {
            for number in 0..count as u64 {
                writer(number);
            }
        },
        move |count| {
            for _ in 0..count {
                std::hint::black_box(reader());
            }
        },
    )
}

/// What a ring without waiting does when it is full or empty: spins on two CPUs, gives way on one.
fn relax(at: [usize; 2]) {
    if at[0] == at[1] {
        std::thread::yield_now();
    } else {
        std::hint::spin_loop();
    }
}

/// A stream through a ring without waiting: `push` says whether there was room.
fn stream_spinning(
    at: [usize; 2],
    messages: usize,
    mut push: impl FnMut(u64) -> bool + Send,
    mut pop: impl FnMut() -> Option<u64> + Send,
) -> f64 {
    stream(
        at,
        messages,
        move |count| {
            for number in 0..count as u64 {
                while !push(number) {
                    relax(at);
                }
            }
        },
        move |count| {
            for _ in 0..count {
                while std::hint::black_box(pop()).is_none() {
                    relax(at);
                }
            }
        },
    )
}

pub fn stream_rtrb(capacity: usize, at: [usize; 2], messages: usize) -> f64 {
    let (mut writer, mut reader) = rtrb::RingBuffer::new(capacity);
    let push = move |number| writer.push(number).is_ok();
    stream_spinning(at, messages, push, move || reader.pop().ok())
}

/// In batches of up to `batch`.
pub fn stream_rtrb_chunks(capacity: usize, at: [usize; 2], messages: usize, batch: usize) -> f64 {
    let (mut writer, mut reader) = rtrb::RingBuffer::<u64>::new(capacity);
    stream(
        at,
        messages,
        move |count| {
            let mut numbers = 0..count as u64;
            while !numbers.is_empty() {
                let room = writer
                    .slots()
                    .min(batch)
                    .min(numbers.end as usize - numbers.start as usize);
                match writer.write_chunk_uninit(room) {
                    Ok(chunk) if room > 0 => drop(chunk.fill_from_iter(&mut numbers)),
                    _ => relax(at),
                }
            }
        },
        move |count| {
            let mut left = count;
            while left > 0 {
                let there = reader.slots().min(batch).min(left);
                match reader.read_chunk(there) {
                    Ok(chunk) if there > 0 => {
                        left -= there;
                        for number in chunk {
                            std::hint::black_box(number);
                        }
                    }
                    _ => relax(at),
                }
            }
        },
    )
}

pub fn stream_ringbuf(capacity: usize, at: [usize; 2], messages: usize) -> f64 {
    use ringbuf::HeapRb;
    use ringbuf::traits::{Consumer, Producer, Split};
    let (mut writer, mut reader) = HeapRb::<u64>::new(capacity).split();
    let push = move |number| writer.try_push(number).is_ok();
    stream_spinning(at, messages, push, move || reader.try_pop())
}

/// Selection over so many rendezvous channels, each with an OS thread that writes.
pub fn select_crossbeam(channels: usize, messages: usize) -> f64 {
    std::thread::scope(|scope| {
        let mut receivers = Vec::new();
        for _ in 0..channels {
            let (sender, receiver) = crossbeam_channel::bounded(0);
            receivers.push(receiver);
            scope.spawn(move || while sender.send(1_u64).is_ok() {});
        }
        let mut select = crossbeam_channel::Select::new();
        for receiver in &receivers {
            select.recv(receiver);
        }
        let mut take = |messages| {
            for _ in 0..messages {
                let chosen = select.select();
                let index = chosen.index();
                chosen.recv(&receivers[index]).expect("its writer goes on");
            }
        };
        take(messages / 10);
        let start = Instant::now();
        take(messages);
        let time = start.elapsed();
        drop(receivers);
        ns(time, messages)
    })
}

/// So many OS threads select from two channels.
pub fn selecting_readers_crossbeam(readers: usize, messages: usize) -> f64 {
    let start = Instant::now();
    std::thread::scope(|scope| {
        let mut receivers = Vec::new();
        for _ in 0..2 {
            let (sender, receiver) = crossbeam_channel::bounded(0);
            receivers.push(receiver);
            scope.spawn(move || {
                (0..messages as u64 / 2).for_each(|n| sender.send(n).expect("readers"))
            });
        }
        for _ in 0..readers {
            let receivers = receivers.clone();
            scope.spawn(move || {
                let mut open = vec![0, 1];
                while !open.is_empty() {
                    let mut select = crossbeam_channel::Select::new();
                    for &index in &open {
                        select.recv(&receivers[index]);
                    }
                    let chosen = select.select();
                    let at = chosen.index();
                    if chosen.recv(&receivers[open[at]]).is_err() {
                        open.remove(at);
                    }
                }
            });
        }
        drop(receivers);
    });
    ns(start.elapsed(), messages)
}

/// Channels of one slot between tasks of one OS thread: the smallest that they have.
pub mod tasks {
    use std::future::Future;

    use super::*;

    /// A channel of tasks.
    pub trait Kind: Copy + 'static {
        fn make(self) -> (impl Send1, impl Receive1);
    }

    pub trait Send1: 'static {
        fn send(&self, number: u64) -> impl Future<Output = bool>;
    }

    pub trait Receive1: 'static {
        fn receive(&mut self) -> impl Future<Output = Option<u64>>;
    }

    #[derive(Clone, Copy)]
    pub struct AsyncUnsync;

    #[derive(Clone, Copy)]
    pub struct Tokio;

    #[derive(Clone, Copy)]
    pub struct Kanal;

    impl Kind for AsyncUnsync {
        fn make(self) -> (impl Send1, impl Receive1) {
            async_unsync::bounded::channel(1).into_split()
        }
    }

    impl Kind for Tokio {
        fn make(self) -> (impl Send1, impl Receive1) {
            tokio::sync::mpsc::channel(1)
        }
    }

    impl Kind for Kanal {
        fn make(self) -> (impl Send1, impl Receive1) {
            kanal::bounded_async(0)
        }
    }

    impl Send1 for async_unsync::bounded::Sender<u64> {
        async fn send(&self, number: u64) -> bool {
            self.send(number).await.is_ok()
        }
    }

    impl Receive1 for async_unsync::bounded::Receiver<u64> {
        async fn receive(&mut self) -> Option<u64> {
            self.recv().await
        }
    }

    impl Send1 for tokio::sync::mpsc::Sender<u64> {
        async fn send(&self, number: u64) -> bool {
            self.send(number).await.is_ok()
        }
    }

    impl Receive1 for tokio::sync::mpsc::Receiver<u64> {
        async fn receive(&mut self) -> Option<u64> {
            self.recv().await
        }
    }

    impl Send1 for kanal::AsyncSender<u64> {
        async fn send(&self, number: u64) -> bool {
            self.send(number).await.is_ok()
        }
    }

    impl Receive1 for kanal::AsyncReceiver<u64> {
        async fn receive(&mut self) -> Option<u64> {
            self.recv().await.ok()
        }
    }

    fn run(program: impl Future<Output = f64>) -> f64 {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.expect("a runtime without I/O can be made");
        tokio::task::LocalSet::new().block_on(&runtime, program)
    }

    pub fn comms_time(kind: impl Kind, loops: usize) -> f64 {
        run(async move {
            let (to_delta, mut at_delta) = kind.make();
            let (to_successor, mut at_successor) = kind.make();
            let (to_prefix, mut at_prefix) = kind.make();
            let (to_consumer, mut at_consumer) = kind.make();
            tokio::task::spawn_local(async move {
                to_delta.send(0).await;
                while let Some(number) = at_prefix.receive().await {
                    to_delta.send(number).await;
                }
            });
            tokio::task::spawn_local(async move {
                while let Some(number) = at_delta.receive().await {
                    if !to_successor.send(number).await || !to_consumer.send(number).await {
                        return;
                    }
                }
            });
            tokio::task::spawn_local(async move {
                while let Some(number) = at_successor.receive().await {
                    to_prefix.send(number + 1).await;
                }
            });
            let consumer = tokio::task::spawn_local(async move {
                for _ in 0..loops / 10 {
                    at_consumer.receive().await;
                }
                let start = Instant::now();
                for _ in 0..loops {
                    at_consumer.receive().await;
                }
                ns(start.elapsed(), 4 * loops)
            });
            consumer.await.expect("no panic")
        })
    }

    pub fn ping_pong(kind: impl Kind, round_trips: usize) -> f64 {
        run(async move {
            let (forth, mut there) = kind.make();
            let (back, mut here) = kind.make();
            tokio::task::spawn_local(async move {
                while let Some(number) = there.receive().await {
                    back.send(number).await;
                }
            });
            let ping = tokio::task::spawn_local(async move {
                let mut start = Instant::now();
                for round_trip in 0..round_trips + round_trips / 10 {
                    if round_trip == round_trips / 10 {
                        start = Instant::now();
                    }
                    forth.send(1).await;
                    here.receive().await;
                }
                ns(start.elapsed(), 2 * round_trips)
            });
            ping.await.expect("no panic")
        })
    }
}
