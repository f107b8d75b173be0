//! The programs with other channels between OS threads.
//!
//! Each program is written once, generic over the kind of channels. So the compiler inlines these
//! channels as it inlines ours.

use std::time::{Duration, Instant};

use super::ns;
use crate::cpus;
use crate::table::{System, system};

/// Channels of numbers between OS threads.
pub trait Kind: 'static {
    /// Makes the ends of a channel with a capacity, where 0 means a rendezvous. The first end
    /// writes, and returns whether the channel still has a reader. The second end reads, and
    /// returns `None` if the channel has no writer any more.
    fn channel(
        capacity: usize,
    ) -> (
        impl FnMut(u64) -> bool + Send,
        impl FnMut() -> Option<u64> + Send,
    );
}

macro_rules! kind {
    ($kind:ident, $bounded:path) => {
        struct $kind;

        impl Kind for $kind {
            fn channel(
                capacity: usize,
            ) -> (
                impl FnMut(u64) -> bool + Send,
                impl FnMut() -> Option<u64> + Send,
            ) {
                let (sender, receiver) = $bounded(capacity);
                (
                    move |item| sender.send(item).is_ok(),
                    move || receiver.recv().ok(),
                )
            }
        }
    };
}

kind!(Kanal, kanal::bounded);
kind!(Flume, flume::bounded);
kind!(Crossbeam, crossbeam_channel::bounded);

/// A program that can be run with channels of any kind. Returns nanoseconds for each message.
pub trait Program: Copy {
    fn run<K: Kind>(self) -> f64;
}

/// A program with each kind of channel.
pub fn systems<'a>(program: impl Program + 'a) -> [System<'a>; 3] {
    [
        system("kanal, threads", move || program.run::<Kanal>()),
        system("flume, threads", move || program.run::<Flume>()),
        system("crossbeam, threads", move || program.run::<Crossbeam>()),
    ]
}

/// CommsTime, where each process is an OS thread.
#[derive(Clone, Copy)]
pub struct CommsTime {
    pub loops: usize,
}

impl Program for CommsTime {
    fn run<K: Kind>(self) -> f64 {
        let (mut to_delta, mut at_delta) = K::channel(0);
        let (mut to_successor, mut at_successor) = K::channel(0);
        let (mut to_prefix, mut at_prefix) = K::channel(0);
        let (mut to_consumer, mut at_consumer) = K::channel(0);
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
                        std::hint::black_box(at_consumer());
                    }
                };
                take(self.loops / 10);
                let start = Instant::now();
                take(self.loops);
                ns(start.elapsed(), 4 * self.loops)
            });
            consumer.join().expect("no panic")
        })
    }
}

/// An item goes back and forth between OS threads on two CPUs, or on one. If a pause is given, a
/// thread pauses before each message.
#[derive(Clone, Copy)]
pub struct PingPong {
    pub at: [usize; 2],
    pub round_trips: usize,
    pub pause: Duration,
}

impl Program for PingPong {
    fn run<K: Kind>(self) -> f64 {
        let Self {
            at,
            round_trips,
            pause,
        } = self;
        let (mut forth, mut there) = K::channel(0);
        let (mut back, mut here) = K::channel(0);
        let mut item = 1;
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
}

/// Numbers go through a buffer, from one OS thread to another.
#[derive(Clone, Copy)]
pub struct Stream {
    pub capacity: usize,
    pub at: [usize; 2],
    pub messages: usize,
}

impl Program for Stream {
    fn run<K: Kind>(self) -> f64 {
        let (mut writer, mut reader) = K::channel(self.capacity);
        stream(
            self,
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
}

/// A stream between two closures, which run on OS threads of their own. The writer's closure makes
/// numbers, and the reader's closure takes them. The reader's closure is called twice, and its
/// second call is measured.
fn stream(
    Stream { at, messages, .. }: Stream,
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

/// A stream through rings that do not wait: one by one, and for rtrb also in batches of up to
/// `batch`. The writer calls `relax` when its ring is full, and the reader when it is empty.
pub fn rings<'a>(
    program: Stream,
    batch: usize,
    relax_name: &str,
    relax: impl Fn() + Copy + Send + 'a,
) -> [System<'a>; 3] {
    [
        system(format!("rtrb, {relax_name}"), move || {
            let (mut writer, mut reader) = rtrb::RingBuffer::new(program.capacity);
            let push = move |number| writer.push(number).is_ok();
            one_by_one(program, relax, push, move || reader.pop().ok())
        }),
        system(
            format!("rtrb, chunks of {batch}, {relax_name}"),
            move || rtrb_chunks(program, batch, relax),
        ),
        system(format!("ringbuf, {relax_name}"), move || {
            use ringbuf::HeapRb;
            use ringbuf::traits::{Consumer, Producer, Split};
            let (mut writer, mut reader) = HeapRb::<u64>::new(program.capacity).split();
            let push = move |number| writer.try_push(number).is_ok();
            one_by_one(program, relax, push, move || reader.try_pop())
        }),
    ]
}

/// A stream through a ring that does not wait. `push` returns whether the ring had room.
fn one_by_one(
    program: Stream,
    relax: impl Fn() + Copy + Send,
    mut push: impl FnMut(u64) -> bool + Send,
    mut pop: impl FnMut() -> Option<u64> + Send,
) -> f64 {
    stream(
        program,
        move |count| {
            for number in 0..count as u64 {
                while !push(number) {
                    relax();
                }
            }
        },
        move |count| {
            for _ in 0..count {
                while std::hint::black_box(pop()).is_none() {
                    relax();
                }
            }
        },
    )
}

fn rtrb_chunks(program: Stream, batch: usize, relax: impl Fn() + Copy + Send) -> f64 {
    let (mut writer, mut reader) = rtrb::RingBuffer::<u64>::new(program.capacity);
    stream(
        program,
        move |count| {
            let mut numbers = 0..count as u64;
            while !numbers.is_empty() {
                let left = numbers.end as usize - numbers.start as usize;
                let room = writer.slots().min(batch).min(left);
                match writer.write_chunk_uninit(room) {
                    Ok(chunk) if room > 0 => drop(chunk.fill_from_iter(&mut numbers)),
                    _ => relax(),
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
                    _ => relax(),
                }
            }
        },
    )
}

/// An OS thread selects from rendezvous channels. Each channel has an OS thread that writes.
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

/// A number of OS threads select from the same two channels.
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
                let mut select = crossbeam_channel::Select::new();
                for receiver in &receivers {
                    select.recv(receiver);
                }
                let mut open = receivers.len();
                while open > 0 {
                    let chosen = select.select();
                    let index = chosen.index();
                    if chosen.recv(&receivers[index]).is_err() {
                        select.remove(index);
                        open -= 1;
                    }
                }
            });
        }
        drop(receivers);
    });
    ns(start.elapsed(), messages)
}
