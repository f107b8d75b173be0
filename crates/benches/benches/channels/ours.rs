//! The programs with our channels. Each function returns nanoseconds for each message.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cellworks_csp::{
    Alternation, Channel, Group, Item, Network, One, Place, Process, ProcessError, Reach, Reader,
    Writer, processes,
};
use cellworks_host::{Host, HostSpe};
use cellworks_machine::SpeId;

/// A host with `spes` SPEs on the CPUs that this process may use now.
pub fn host(spes: usize) -> Host {
    let host = Host::builder().spes(spes).build();
    host.unwrap_or_else(|error| panic!("no host with {spes} SPEs: {error}"))
}

fn spe(index: usize) -> SpeId {
    SpeId::new(index as u16)
}

/// The result of a measurement by one of the processes.
#[derive(Default)]
struct Result(AtomicU64);

impl Result {
    fn set(&self, time: Duration, messages: usize) {
        let ns = time.as_nanos() as f64 / messages as f64;
        self.0.store(ns.to_bits(), Ordering::Relaxed);
    }

    fn get(self) -> f64 {
        f64::from_bits(self.0.into_inner())
    }
}

fn ns_each(start: Instant, messages: usize) -> f64 {
    start.elapsed().as_nanos() as f64 / messages as f64
}

fn ran(network: Network<'_, Host>) {
    network.run().expect("no process waits for ever or panics");
}

fn write_numbers<E, R: Reach>(
    process: &Process<'_, impl Place>,
    writer: &mut Writer<u64, E, R>,
    messages: usize,
    batch: usize,
) -> std::result::Result<(), ProcessError> {
    let numbers = 0..messages as u64;
    if batch > 1 {
        return Ok(writer.write_all(process, numbers)?);
    }
    for number in numbers {
        writer.write(process, number)?;
    }
    Ok(())
}

/// Reads some items to warm up, and then measures the time to read `messages` items.
fn time_reads<T: Item, E, R: Reach>(
    process: &Process<'_, impl Place>,
    reader: &mut Reader<T, E, R>,
    messages: usize,
    batch: usize,
) -> std::result::Result<Duration, ProcessError> {
    let mut items = Vec::with_capacity(batch);
    let mut read = |messages: usize| {
        let mut left = messages;
        while left > 0 {
            if batch > 1 {
                left -= reader.read_up_to(process, batch.min(left), &mut items)?;
                for item in items.drain(..) {
                    std::hint::black_box(item);
                }
            } else {
                std::hint::black_box(reader.read(process)?);
                left -= 1;
            }
        }
        Ok::<_, ProcessError>(())
    };
    read(messages / 10)?;
    let start = Instant::now();
    read(messages)?;
    Ok(start.elapsed())
}

/// The ends of all channels of CommsTime except the channel of the consumer.
struct Ring<R: Reach> {
    to_delta: Writer<u64, One, R>,
    at_delta: Reader<u64, One, R>,
    to_successor: Writer<u64, One, R>,
    at_successor: Reader<u64, One, R>,
    to_prefix: Writer<u64, One, R>,
    at_prefix: Reader<u64, One, R>,
    to_consumer: Writer<u64, One, R>,
}

/// CommsTime on one SPE. `ring` adds the processes prefix, delta and successor; this function adds
/// the consumer.
fn comms_time_of<R: Reach + 'static>(
    host: &Host,
    channel: impl Fn() -> Channel<R> + Sync,
    loops: usize,
    ring: impl FnOnce(&mut Group<'_, HostSpe>, Ring<R>) + Send,
) -> f64 {
    let result = Result::default();
    let mut network = Network::on(host);
    network.group(spe(0), |group| {
        let (to_delta, at_delta) = channel().one_to_one();
        let (to_successor, at_successor) = channel().one_to_one();
        let (to_prefix, at_prefix) = channel().one_to_one();
        let (to_consumer, mut at_consumer) = channel().one_to_one::<u64>();
        ring(
            group,
            Ring {
                to_delta,
                at_delta,
                to_successor,
                at_successor,
                to_prefix,
                at_prefix,
                to_consumer,
            },
        );
        let result = &result;
        group.process("consumer", move |process| {
            result.set(time_reads(process, &mut at_consumer, loops, 1)?, 4 * loops);
            Ok(())
        });
    });
    ran(network);
    result.get()
}

/// CommsTime on one SPE, with processes that are written by hand.
pub fn comms_time<R: Reach + 'static>(
    host: &Host,
    channel: impl Fn() -> Channel<R> + Sync,
    loops: usize,
) -> f64 {
    comms_time_of(host, channel, loops, |group, ring| {
        let Ring {
            mut to_delta,
            mut at_delta,
            mut to_successor,
            mut at_successor,
            mut to_prefix,
            mut at_prefix,
            mut to_consumer,
        } = ring;
        group.process("prefix", move |process| {
            to_delta.write(process, 0)?;
            loop {
                to_delta.write(process, at_prefix.read(process)?)?;
            }
        });
        group.process("delta", move |process| {
            loop {
                let number = at_delta.read(process)?;
                to_successor.write(process, number)?;
                to_consumer.write(process, number)?;
            }
        });
        group.process("successor", move |process| {
            loop {
                to_prefix.write(process, at_successor.read(process)? + 1)?;
            }
        });
    })
}

/// CommsTime with [standard processes](cellworks_csp::processes).
pub fn comms_time_of_standard_processes<R: Reach + 'static>(
    host: &Host,
    channel: impl Fn() -> Channel<R> + Sync,
    loops: usize,
) -> f64 {
    comms_time_of(host, channel, loops, |group, ring| {
        group.process("prefix", move |process| {
            processes::prefix(process, 0, ring.at_prefix, ring.to_delta)
        });
        group.process("delta", move |process| {
            processes::delta(process, ring.at_delta, ring.to_successor, ring.to_consumer)
        });
        group.process("successor", move |process| {
            processes::successor(process, ring.at_successor, ring.to_prefix)
        });
    })
}

fn echo<T: Item, R: Reach>(
    process: &Process<'_, impl Place>,
    mut reader: Reader<T, One, R>,
    mut writer: Writer<T, One, R>,
) -> std::result::Result<(), ProcessError> {
    loop {
        let item = reader.read(process)?;
        writer.write(process, item)?;
    }
}

fn ping<T: Item, R: Reach>(
    process: &Process<'_, impl Place>,
    writer: &mut Writer<T, One, R>,
    reader: &mut Reader<T, One, R>,
    mut item: T,
    round_trips: usize,
) -> std::result::Result<(Duration, T), ProcessError> {
    let start = Instant::now();
    for _ in 0..round_trips {
        writer.write(process, item)?;
        item = reader.read(process)?;
    }
    Ok((start.elapsed(), item))
}

/// An item goes back and forth between two processes of one SPE.
pub fn ping_pong_on_one_spe<R: Reach>(
    host: &Host,
    channel: impl Fn() -> Channel<R> + Sync,
    round_trips: usize,
) -> f64 {
    let result = Result::default();
    let mut network = Network::on(host);
    network.group(spe(0), |group| {
        let (mut forth, there) = channel().one_to_one::<u64>();
        let (back, mut here) = channel().one_to_one::<u64>();
        group.process("echo", move |process| echo(process, there, back));
        let result = &result;
        group.process("ping", move |process| {
            ping(process, &mut forth, &mut here, 1, round_trips / 10)?;
            let (time, _) = ping(process, &mut forth, &mut here, 1, round_trips)?;
            result.set(time, 2 * round_trips);
            Ok(())
        });
    });
    ran(network);
    result.get()
}

/// An item goes back and forth between the SPEs of several pairs at the same time. If there is a
/// pause before each message, the receiving side is asleep when the message comes.
pub fn ping_pong<T: Item + Sync + Clone>(
    host: &Host,
    pairs: usize,
    item: &T,
    round_trips: usize,
    pause: Duration,
) -> f64 {
    let result = Result::default();
    let spes = cellworks_machine::Machine::topology(host).spes().len();
    let mut network = Network::on(host);
    for pair in 0..pairs {
        let (mut forth, there) = Channel::new().one_to_one::<T>();
        let (back, mut here) = Channel::new().one_to_one::<T>();
        let result = &result;
        network.process("ping", spe(2 * pair % spes), move |process| {
            let (_, mut item) = ping(
                process,
                &mut forth,
                &mut here,
                item.clone(),
                round_trips / 10,
            )?;
            if pause.is_zero() {
                let (time, _) = ping(process, &mut forth, &mut here, item, round_trips)?;
                result.set(time, 2 * round_trips * pairs);
                return Ok(());
            }
            let mut all = Duration::ZERO;
            for _ in 0..round_trips {
                let until = Instant::now() + pause;
                while Instant::now() < until {
                    std::hint::spin_loop();
                }
                let time;
                (time, item) = ping(process, &mut forth, &mut here, item, 1)?;
                all += time;
            }
            result.set(all, 2 * round_trips);
            Ok(())
        });
        network.process("echo", spe((2 * pair + 1) % spes), move |process| {
            echo(process, there, back)
        });
    }
    ran(network);
    result.get()
}

/// A stream of numbers through a buffer, from one SPE to another or to the same SPE.
pub fn stream(host: &Host, channel: Channel, at: [usize; 2], messages: usize, batch: usize) -> f64 {
    let result = Result::default();
    let (mut writer, mut reader) = channel.one_to_one::<u64>();
    let mut network = Network::on(host);
    network.process("writer", spe(at[0]), move |process| {
        write_numbers(process, &mut writer, messages + messages / 10, batch)
    });
    let result_of = &result;
    network.process("reader", spe(at[1]), move |process| {
        result_of.set(time_reads(process, &mut reader, messages, batch)?, messages);
        Ok(())
    });
    ran(network);
    result.get()
}

/// A stream of numbers through a buffered channel of one SPE.
pub fn stream_on_one_spe(host: &Host, capacity: usize, messages: usize, batch: usize) -> f64 {
    let result = Result::default();
    let mut network = Network::on(host);
    network.group(spe(0), |group| {
        let (mut writer, mut reader) = Channel::local().buffered(capacity).one_to_one::<u64>();
        group.process("writer", move |process| {
            write_numbers(process, &mut writer, messages + messages / 10, batch)
        });
        let result = &result;
        group.process("reader", move |process| {
            result.set(time_reads(process, &mut reader, messages, batch)?, messages);
            Ok(())
        });
    });
    ran(network);
    result.get()
}

/// Selects some items to warm up, and then measures the time to select `messages` items.
fn time_selections<R: Reach>(
    process: &Process<'_, impl Place>,
    mut readers: Vec<Reader<u64, One, R>>,
    messages: usize,
) -> std::result::Result<Duration, ProcessError> {
    let mut alternation = Alternation::fair();
    let guards: Vec<_> = readers.iter_mut().map(|r| alternation.read(r)).collect();
    let mut take = |messages| {
        for _ in 0..messages {
            let chosen = alternation.select(process)?;
            alternation.take(process, &guards[chosen.index()]);
        }
        Ok::<_, ProcessError>(())
    };
    take(messages / 10)?;
    let start = Instant::now();
    take(messages)?;
    Ok(start.elapsed())
}

/// A process alternates over `channels` rendezvous channels. Each channel has a writer of its own.
/// All processes are on one SPE.
pub fn alternation<R: Reach>(
    host: &Host,
    channel: impl Fn() -> Channel<R> + Sync,
    channels: usize,
    messages: usize,
) -> f64 {
    let result = Result::default();
    let mut network = Network::on(host);
    network.group(spe(0), |group| {
        let mut readers = Vec::new();
        for index in 0..channels {
            let (mut writer, reader) = channel().one_to_one::<u64>();
            readers.push(reader);
            group.process(format!("writer {index}"), move |process| {
                loop {
                    writer.write(process, 1)?;
                }
            });
        }
        let result = &result;
        group.process("reader", move |process| {
            result.set(time_selections(process, readers, messages)?, messages);
            Ok(())
        });
    });
    ran(network);
    result.get()
}

/// A process of SPE 0 alternates over rendezvous channels, whose writers are on SPE 1.
pub fn alternation_on_two_spes(host: &Host, channels: usize, messages: usize) -> f64 {
    let result = Result::default();
    let mut network = Network::on(host);
    let mut readers = Vec::new();
    for index in 0..channels {
        let (mut writer, reader) = Channel::new().one_to_one::<u64>();
        readers.push(reader);
        network.process(format!("writer {index}"), spe(1), move |process| {
            loop {
                writer.write(process, 1)?;
            }
        });
    }
    let result_of = &result;
    network.process("reader", spe(0), move |process| {
        result_of.set(time_selections(process, readers, messages)?, messages);
        Ok(())
    });
    ran(network);
    result.get()
}

/// `readers` processes alternate over the same two channels, on all SPEs.
pub fn alternating_readers(host: &Host, readers: usize, messages: usize) -> f64 {
    let result = Result::default();
    let spes = cellworks_machine::Machine::topology(host).spes().len();
    let (mut ends, mut of_writers) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let (writer, reader) = Channel::new().one_to_any::<u64>();
        of_writers.push(writer);
        ends.push(reader);
    }
    let mut network = Network::on(host);
    let started = Instant::now();
    for (index, mut writer) in of_writers.into_iter().enumerate() {
        network.process(
            format!("writer {index}"),
            spe(index % spes),
            move |process| {
                (0..messages as u64 / 2).try_for_each(|number| Ok(writer.write(process, number)?))
            },
        );
    }
    for index in 0..readers {
        let mut ends = ends.clone();
        network.process(
            format!("reader {index}"),
            spe(index % spes),
            move |process| {
                let mut alternation = Alternation::fair();
                let guards: Vec<_> = ends.iter_mut().map(|end| alternation.read(end)).collect();
                let mut open = guards.len();
                while open > 0 {
                    match alternation.select(process) {
                        Ok(chosen) => {
                            alternation.take(process, &guards[chosen.index()]);
                        }
                        Err(ended) => {
                            alternation.when(&guards[ended.guard.index()], false);
                            open -= 1;
                        }
                    }
                }
                Ok(())
            },
        );
    }
    drop(ends);
    ran(network);
    result.set(started.elapsed(), messages);
    result.get()
}

/// Where the last process of a [`pipeline`] is.
#[derive(Clone, Copy)]
pub enum Sink {
    /// The main process, as in the first example of the guide. The channel to it has a buffer of
    /// this many items.
    Ppe(usize),
    Spe(usize),
}

/// Numbers go through a pipeline of `stages` processes, a source among them, to the sink. The
/// processes take the first `spes` SPEs in turn. Returns the time of a message: a number takes
/// `stages` messages.
pub fn pipeline(host: &Host, stages: usize, spes: usize, sink: Sink, numbers: usize) -> f64 {
    let all = numbers + numbers / 10;
    let buffer = match sink {
        Sink::Ppe(buffer) => buffer,
        Sink::Spe(_) => 0,
    };
    let mut network = Network::on(host);
    let mut channels = (1..=stages).map(|stage| {
        let capacity = if stage == stages { buffer } else { 0 };
        Channel::new().buffered(capacity).one_to_one::<u64>()
    });
    let mut next = || channels.next().expect("each stage writes to a channel");
    let (mut first, mut last) = next();
    network.process("source", spe(0), move |process| {
        write_numbers(process, &mut first, all, 1)
    });
    for stage in 1..stages {
        let (mut to, reader) = next();
        let mut from = std::mem::replace(&mut last, reader);
        network.process("stage", spe(stage % spes), move |process| {
            loop {
                to.write(process, from.read(process)? + 1)?;
            }
        });
    }
    let result = Result::default();
    let result_of = &result;
    match sink {
        Sink::Ppe(_) => {
            let time = network.run_with(|process| time_reads(process, &mut last, numbers, 1));
            let time = time.expect("no process waits for ever or panics");
            result.set(time.expect("the source writes as many"), numbers * stages);
        }
        Sink::Spe(at) => {
            network.process("sink", spe(at), move |process| {
                result_of.set(
                    time_reads(process, &mut last, numbers, 1)?,
                    numbers * stages,
                );
                Ok(())
            });
            ran(network);
        }
    }
    result.get()
}

/// CommsTime on two SPEs: prefix and delta are on one, successor and consumer on the other. So
/// three of the four communications cross.
pub fn comms_time_on_two_spes(host: &Host, loops: usize) -> f64 {
    let result = Result::default();
    let (mut to_delta, mut at_delta) = Channel::new().one_to_one::<u64>();
    let (mut to_successor, mut at_successor) = Channel::new().one_to_one::<u64>();
    let (mut to_prefix, mut at_prefix) = Channel::new().one_to_one::<u64>();
    let (mut to_consumer, mut at_consumer) = Channel::new().one_to_one::<u64>();
    let mut network = Network::on(host);
    network.process("prefix", spe(0), move |process| {
        let mut number = 0;
        loop {
            to_delta.write(process, number)?;
            number = at_prefix.read(process)?;
        }
    });
    network.process("delta", spe(0), move |process| {
        loop {
            let number = at_delta.read(process)?;
            to_successor.write(process, number)?;
            to_consumer.write(process, number)?;
        }
    });
    network.process("successor", spe(1), move |process| {
        loop {
            to_prefix.write(process, at_successor.read(process)? + 1)?;
        }
    });
    let result_of = &result;
    network.process("consumer", spe(1), move |process| {
        result_of.set(time_reads(process, &mut at_consumer, loops, 1)?, 4 * loops);
        Ok(())
    });
    ran(network);
    result.get()
}

/// A token goes round a ring of processes, alternately on two SPEs. Returns the time of a hop.
pub fn token(host: &Host, processes: usize, hops: usize) -> f64 {
    let result = Result::default();
    let rounds = hops.div_ceil(processes);
    let (writers, mut readers): (Vec<_>, Vec<_>) = (0..processes)
        .map(|_| Channel::new().one_to_one::<u64>())
        .unzip();
    readers.rotate_right(1);
    let mut network = Network::on(host);
    for (index, (mut to_next, mut here)) in writers.into_iter().zip(readers).enumerate() {
        let result = &result;
        network.process("process", spe(index % 2), move |process| {
            if index > 0 {
                loop {
                    to_next.write(process, here.read(process)? + 1)?;
                }
            }
            let mut round = || {
                to_next.write(process, 0)?;
                Ok::<_, ProcessError>(here.read(process)?)
            };
            // The first round starts all processes, so it is not measured.
            round()?;
            let start = Instant::now();
            for _ in 0..rounds {
                round()?;
            }
            result.set(start.elapsed(), rounds * processes);
            Ok(())
        });
    }
    ran(network);
    result.get()
}

/// Numbers in a random order.
pub fn unsorted(numbers: usize) -> Vec<u64> {
    let mut random = 1_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    (0..numbers).map(|_| next()).collect()
}

/// Which of two numbers comes first in a merge: 0 or 1. `None` if there are no numbers.
pub fn side_of_smaller(heads: [Option<u64>; 2]) -> Option<usize> {
    match heads {
        [None, None] => None,
        [Some(left), Some(right)] => Some(usize::from(right < left)),
        [left, _] => Some(usize::from(left.is_none())),
    }
}

/// A merge sort by a tree of processes, which are distributed over the SPEs of a host. Returns the
/// time for a number.
pub fn merge_sort(host: &Host, leaves: usize, numbers: usize) -> f64 {
    let spes = cellworks_machine::Machine::topology(host).spes().len();
    let unsorted = unsorted(numbers);
    let start = Instant::now();
    let mut network = Network::on(host);
    let mut places = (0..spes).map(spe).cycle();
    let mut place = move || places.next().expect("a host has an SPE");
    let mut level = Vec::new();
    for own in unsorted.chunks(numbers / leaves) {
        let (mut writer, reader) = Channel::new().one_to_one();
        let mut own = own.to_vec();
        network.process("leaf", place(), move |process| {
            own.sort_unstable();
            for number in own {
                writer.write(process, number)?;
            }
            Ok(())
        });
        level.push(reader);
    }
    while level.len() > 1 {
        let mut above = Vec::new();
        let mut below = level.into_iter();
        while let (Some(mut left), Some(mut right)) = (below.next(), below.next()) {
            let (mut writer, reader) = Channel::new().one_to_one();
            network.process("node", place(), move |process| {
                let mut heads = [left.read(process).ok(), right.read(process).ok()];
                while let Some(side) = side_of_smaller(heads) {
                    let from = if side == 0 { &mut left } else { &mut right };
                    let number = std::mem::replace(&mut heads[side], from.read(process).ok());
                    writer.write(process, number.expect("one was there"))?;
                }
                Ok(())
            });
            above.push(reader);
        }
        level = above;
    }
    let mut sorted = level.pop().expect("a tree has a root");
    network.process("root", spe(0), move |process| {
        let mut last = 0;
        while let Ok(number) = sorted.read(process) {
            assert!(last <= number, "the numbers are sorted");
            last = number;
        }
        Ok(())
    });
    ran(network);
    ns_each(start, numbers)
}

/// The CPU time that `processes` waiting processes take, in nanoseconds for each second.
pub fn idle(host: &Host, processes: usize) -> f64 {
    let spes = cellworks_machine::Machine::topology(host).spes().len();
    let mut network = Network::on(host);
    let mut writers = Vec::new();
    for index in 0..processes {
        let (writer, mut reader) = Channel::new().one_to_one::<u64>();
        writers.push(writer);
        network.process(
            format!("reader {index}"),
            spe(index % spes),
            move |process| Ok(reader.read(process).map(drop)?),
        );
    }
    let used = network.run_with(|_| {
        // All processes fall asleep in this time.
        std::thread::sleep(Duration::from_millis(100));
        let before = crate::cpus::time_used_ns();
        std::thread::sleep(Duration::from_secs(1));
        let used = crate::cpus::time_used_ns() - before;
        drop(writers);
        used
    });
    used.expect("the readers end when their channels do")
}
