//! The protocol, model-checked: parties of every kind at one channel, in every order of their steps.
//!
//! A model runs what programs run: channels, alternations and processes, on a place whose waits are loom's. Two parties
//! are checked in all schedules; three in those with few preemptions, as each model says. What has to hold:
//!
//! - Nobody waits for ever: loom reports a deadlock.
//! - Each item ends with one owner: its reader, its writer, who was given it back, or the poisoner.
//! - One reader gets the items of one writer in order.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc as StdArc;

use cellworks_machine::{Processor, Sleeper, Time, Wait, Wake};
use loom::sync::{Condvar, Mutex};
use loom::thread;

use crate::channel::{Any, Channel, Reader, Whole, Writer};
use crate::lock::Spin;
use crate::place::Place;
use crate::process::Process;
use crate::shared::NetworkState;
use crate::sync::Arc;
use crate::waker::Woken;
use crate::{Alternation, Ended};

/// Where the parties of a model run: each has a seat, at which it sleeps until it is woken.
#[derive(Default)]
struct Seat {
    is_woken: Mutex<bool>,
    wakes: Condvar,
}

#[derive(Clone)]
struct Seats {
    all: Arc<Vec<Seat>>,
    mine: usize,
    /// It is a destructor in a run that is being cancelled: it does not wait.
    is_cancelled: bool,
}

impl Wait for Seats {
    fn wait_until(&self, _: &dyn fmt::Display, ready: &mut dyn FnMut() -> bool) -> bool {
        loop {
            if ready() {
                return true;
            }
            if self.is_cancelled {
                return false;
            }
            let seat = &self.all[self.mine];
            let mut is_woken = seat.is_woken.lock().unwrap();
            while !*is_woken {
                is_woken = seat.wakes.wait(is_woken).unwrap();
            }
            *is_woken = false;
        }
    }
}

impl Wake for Seats {
    fn sleeper(&self) -> Sleeper {
        // SAFETY: the numbers are this module's own.
        unsafe { Sleeper::new(Processor::Ppe, (self.mine, 0)) }
    }

    fn wake_elsewhere(&self, sleeper: Sleeper) {
        let seat = &self.all[sleeper.thread().0];
        *seat.is_woken.lock().unwrap() = true;
        seat.wakes.notify_one();
    }

    /// The deadline comes when the others have done any number of steps.
    fn wait_until_deadline(
        &self,
        _: &dyn fmt::Display,
        _: Time,
        ready: &mut dyn FnMut() -> bool,
    ) -> bool {
        if ready() {
            return true;
        }
        thread::yield_now();
        ready()
    }
}

impl Place for Seats {
    fn processor(&self) -> Processor {
        Processor::Ppe
    }

    fn now(&self) -> Time {
        Time::default()
    }

    fn yield_now(&self) {
        thread::yield_now();
    }

    fn yield_ready(&self) {
        thread::yield_now();
    }
}

/// An item. Ones that were lost are missing in the end, as a party returns what it owns.
type Token = u32;

/// How a party writes or reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// [`Writer::write`] or [`Reader::read`].
    Plain,
    /// An alternation with one guard.
    Guard,
    /// An alternation with one guard, that has a deadline once, which comes at any time.
    Until,
    /// As a destructor in a run that is being cancelled: it gives up instead of waiting.
    Cancelled,
}
const WAYS: [Way; 4] = [Way::Plain, Way::Guard, Way::Until, Way::Cancelled];

/// What each party owns in the end: what it has read, and what it was given back.
#[derive(Debug, Default)]
struct Owned {
    read: Vec<Token>,
    given_back: Vec<Token>,
}

fn seats(number: usize) -> Vec<Seats> {
    let all = Arc::new((0..number).map(|_| Seat::default()).collect());
    let seat = |mine| Seats {
        all: Arc::clone(&all),
        mine,
        is_cancelled: false,
    };
    (0..number).map(seat).collect()
}

/// The processes of one model are those of one network.
#[derive(Clone)]
struct Network(StdArc<NetworkState>);

impl Network {
    fn run<R>(&self, seat: &Seats, body: impl FnOnce(&Process<'_, Seats>) -> R) -> R {
        let process = Process::new(seat, "party", &self.0, None);
        let wake = |waker: crate::waker::Waker| seat.wake(waker.sleeper);
        crate::pending::with_wakes(self.0.network, &wake, || body(&process))
    }
}

/// A party: runs as a thread of the model, at a seat.
type Party = Box<dyn FnOnce(&Process<'_, Seats>) -> Owned + Send>;

/// Runs the parties of a model. Returns what each owns in the end.
fn run(parties: Vec<(Party, bool)>) -> Vec<Owned> {
    let network = Network(StdArc::default());
    let mut threads = Vec::new();
    let mut main = None;
    for ((party, is_cancelled), mut seat) in parties.into_iter().zip(seats(4)) {
        seat.is_cancelled = is_cancelled;
        let network = network.clone();
        let body = move || network.run(&seat, party);
        if main.is_none() {
            main = Some(body);
        } else {
            threads.push(thread::spawn(body));
        }
    }
    let first = main.expect("a model has parties")();
    let others = threads.into_iter().map(|thread| thread.join().unwrap());
    std::iter::once(first).chain(others).collect()
}

/// Writes items until the channel ends, and drops its end then.
fn writer<E: 'static>(way: Way, mut writer: Writer<Token, E>, items: Vec<Token>) -> (Party, bool) {
    let party = move |process: &Process<'_, Seats>| {
        let mut owned = Owned::default();
        let mut items = VecDeque::from(items);
        match way {
            Way::Plain | Way::Cancelled => {
                while let Some(item) = items.pop_front() {
                    if let Err(unsent) = writer.write(process, item) {
                        owned.given_back.push(unsent.item);
                        break;
                    }
                }
            }
            Way::Guard | Way::Until => {
                let mut alternation = Alternation::fair();
                let write = alternation.write(&mut writer);
                while let Some(item) = items.pop_front() {
                    alternation.offer(process, &write, item);
                    if !select(&mut alternation, process, way) {
                        owned
                            .given_back
                            .extend(alternation.withdraw(process, &write));
                        break;
                    }
                    assert!(!alternation.is_offered(&write));
                }
            }
        }
        owned.given_back.extend(items);
        owned
    };
    (Box::new(party), way == Way::Cancelled)
}

/// Selects a guard. False if its channel has ended.
fn select(alternation: &mut Alternation<'_>, process: &Process<'_, Seats>, way: Way) -> bool {
    if way == Way::Until {
        match alternation.select_until(process, Time::default()) {
            Ok(None) => {}
            other => return other.is_ok(),
        }
    }
    alternation.select(process).is_ok()
}

/// Reads until the channel ends, or it has `limit` items, and drops its end then.
fn reader<E: 'static>(way: Way, mut reader: Reader<Token, E>, limit: usize) -> (Party, bool) {
    let party = move |process: &Process<'_, Seats>| {
        let mut owned = Owned::default();
        match way {
            Way::Plain | Way::Cancelled => {
                while owned.read.len() < limit
                    && let Ok(item) = reader.read(process)
                {
                    owned.read.push(item);
                }
            }
            Way::Guard | Way::Until => {
                let mut alternation = Alternation::fair();
                let read = alternation.read(&mut reader);
                while owned.read.len() < limit && select(&mut alternation, process, way) {
                    owned.read.push(alternation.take(process, &read));
                }
            }
        }
        owned
    };
    (Box::new(party), way == Way::Cancelled)
}

/// Ends a channel at any time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Poison,
    Close,
}

fn ender(ending: Ending, mut end: Writer<Token, Any>) -> (Party, bool) {
    let party = move |process: &Process<'_, Seats>| {
        let mut owned = Owned::default();
        match ending {
            Ending::Poison => owned.read = end.poison(process),
            Ending::Close => end.close(process),
        }
        owned
    };
    (Box::new(party), false)
}

type Shared = StdArc<Whole<Token, Spin>>;

/// Each of these items has one owner: a party, or the buffer of the channel.
fn assert_conserved(items: &[Token], all: &[Owned], channel: &Shared) {
    let buffer = channel.core.lock().end(Ended::Poisoned, &mut Woken::Nobody);
    let owned = all.iter().flat_map(|o| o.read.iter().chain(&o.given_back));
    let left = buffer.iter().map(|parcel| &parcel.item);
    let mut owned: Vec<Token> = owned.chain(left).copied().collect();
    owned.sort_unstable();
    assert_eq!(owned, items, "{all:?}");
}

fn check(preemptions: Option<usize>, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_branches = 20_000;
    builder.check(model);
}

/// A writer of two items and a reader of up to `limit`.
fn check_pair(preemptions: Option<usize>, capacity: usize, write: Way, read: Way, limit: usize) {
    check(preemptions, move || {
        let (to, from) = Channel::new().buffered(capacity).one_to_one::<Token>();
        let channel = StdArc::clone(&to.channel);
        let all = run(vec![
            writer(write, to, vec![1, 2]),
            reader(read, from, limit),
        ]);
        assert!(all[1].read.is_sorted(), "{all:?}");
        let waits = |way| way != Way::Cancelled;
        if limit > 2 && waits(write) && waits(read) {
            assert_eq!(all[1].read, [1, 2]);
        }
        assert_conserved(&[1, 2], &all, &channel);
    });
}

/// Every way of writing with every way of reading.
fn check_pairs(preemptions: Option<usize>, capacity: usize, limit: usize) {
    for write in WAYS {
        for read in WAYS {
            check_pair(preemptions, capacity, write, read, limit);
        }
    }
}

#[test]
fn a_writer_and_a_reader_meet() {
    check_pairs(Some(2), 0, usize::MAX);
}

#[test]
fn a_writer_and_a_reader_of_a_buffer_meet() {
    check_pairs(Some(2), 1, usize::MAX);
}

#[test]
fn a_reader_that_ends_closes_the_channel() {
    check_pairs(Some(3), 0, 1);
}

#[test]
fn a_reader_of_a_buffer_that_ends_closes_the_channel() {
    check_pairs(Some(3), 1, 1);
}

/// A third party ends the channel at any time.
fn check_ending(ending: Ending, capacity: usize) {
    for write in [Way::Plain, Way::Guard] {
        for read in [Way::Plain, Way::Guard] {
            check(Some(2), move || {
                let (to, from) = Channel::new().buffered(capacity).any_to_one::<Token>();
                let other = to.clone();
                let channel = StdArc::clone(&to.channel);
                let all = run(vec![
                    writer(write, to, vec![1, 2]),
                    reader(read, from, usize::MAX),
                    ender(ending, other),
                ]);
                assert!(all[1].read.is_sorted(), "{all:?}");
                if ending == Ending::Close {
                    // What was accepted is read.
                    assert_eq!(all[1].read.len() + all[0].given_back.len(), 2, "{all:?}");
                }
                assert_conserved(&[1, 2], &all, &channel);
            });
        }
    }
}

#[test]
fn poison_ends_a_rendezvous_at_any_time() {
    check_ending(Ending::Poison, 0);
}

#[test]
fn poison_ends_a_buffer_at_any_time() {
    check_ending(Ending::Poison, 1);
}

#[test]
fn close_ends_a_rendezvous_at_any_time() {
    check_ending(Ending::Close, 0);
}

#[test]
fn close_ends_a_buffer_at_any_time() {
    check_ending(Ending::Close, 1);
}

#[test]
fn two_writers_are_read_by_one() {
    for capacity in [0, 1] {
        for (first, second, read) in [
            (Way::Plain, Way::Plain, Way::Plain),
            (Way::Plain, Way::Plain, Way::Guard),
            (Way::Plain, Way::Guard, Way::Plain),
            (Way::Guard, Way::Guard, Way::Plain),
            (Way::Plain, Way::Guard, Way::Guard),
            (Way::Guard, Way::Guard, Way::Guard),
        ] {
            check(Some(2), move || {
                let (to, from) = Channel::new().buffered(capacity).any_to_one::<Token>();
                let other = to.clone();
                let channel = StdArc::clone(&to.channel);
                let all = run(vec![
                    writer(first, to, vec![1]),
                    reader(read, from, usize::MAX),
                    writer(second, other, vec![2]),
                ]);
                assert_eq!(all[1].read.len(), 2);
                assert_conserved(&[1, 2], &all, &channel);
            });
        }
    }
}

#[test]
fn two_readers_share_what_one_writes() {
    for capacity in [0, 1] {
        for (write, first, second) in [
            (Way::Plain, Way::Plain, Way::Plain),
            (Way::Plain, Way::Plain, Way::Cancelled),
            (Way::Guard, Way::Plain, Way::Plain),
            (Way::Plain, Way::Plain, Way::Guard),
            (Way::Plain, Way::Guard, Way::Guard),
            (Way::Guard, Way::Plain, Way::Guard),
            (Way::Guard, Way::Guard, Way::Guard),
        ] {
            check(Some(2), move || {
                let (to, from) = Channel::new().buffered(capacity).one_to_any::<Token>();
                let other = from.clone();
                let channel = StdArc::clone(&to.channel);
                let all = run(vec![
                    writer(write, to, vec![1, 2]),
                    reader(first, from, usize::MAX),
                    reader(second, other, usize::MAX),
                ]);
                assert_conserved(&[1, 2], &all, &channel);
                assert!(all[0].given_back.is_empty());
            });
        }
    }
}

/// Reads one item and writes one, whichever is possible first.
fn exchanger(item: Token, mut to: Writer<Token>, mut from: Reader<Token>) -> (Party, bool) {
    let party = move |process: &Process<'_, Seats>| {
        let mut owned = Owned::default();
        let mut alternation = Alternation::fair();
        let read = alternation.read(&mut from);
        let write = alternation.write(&mut to);
        alternation.offer(process, &write, item);
        while owned.read.is_empty() || alternation.is_offered(&write) {
            alternation.when(&read, owned.read.is_empty());
            if alternation.select(process).expect("nobody ends it") == read {
                owned.read.push(alternation.take(process, &read));
            }
        }
        owned
    };
    (Box::new(party), false)
}

/// Each party writes to the next one, and the last one to the first.
fn check_ring(preemptions: Option<usize>, number: u32, capacity: usize) {
    check(preemptions, move || {
        let mut readers = VecDeque::new();
        let mut writers = Vec::new();
        for _ in 0..number {
            let (to, from) = Channel::new().buffered(capacity).one_to_one::<Token>();
            writers.push(to);
            readers.push_back(from);
        }
        readers.rotate_right(1);
        let parties = (1..).zip(writers).zip(readers);
        let all = run(parties
            .map(|((item, to), from)| exchanger(item, to, from))
            .collect());
        let read = all.iter().flat_map(|owned| &owned.read);
        assert_eq!(read.sum::<Token>(), (1..=number).sum());
    });
}

#[test]
fn two_alternations_of_mixed_guards_meet() {
    check_ring(Some(3), 2, 0);
    check_ring(Some(3), 2, 1);
}

#[test]
fn three_alternations_in_a_ring_meet() {
    check_ring(Some(2), 3, 0);
}

/// Reads from two channels until both have ended.
fn reader_of_two(from: [Reader<Token>; 2]) -> (Party, bool) {
    let party = move |process: &Process<'_, Seats>| {
        let mut from = from;
        let mut owned = Owned::default();
        let mut alternation = Alternation::priority();
        let guards = from.each_mut().map(|reader| alternation.read(reader));
        let mut open = 2;
        while open > 0 {
            match alternation.select(process) {
                Ok(chosen) => {
                    let item = alternation.take(process, &guards[chosen.index()]);
                    owned.read.push(item);
                }
                Err(ended) => {
                    assert_eq!(ended.ended, Ended::Closed);
                    alternation.when(&guards[ended.guard.index()], false);
                    open -= 1;
                }
            }
        }
        owned
    };
    (Box::new(party), false)
}

#[test]
fn an_alternation_reads_from_two_writers() {
    for second in [Way::Plain, Way::Guard] {
        check(Some(2), move || {
            let (first_to, first_from) = Channel::new().one_to_one::<Token>();
            let (second_to, second_from) = Channel::new().buffered(1).one_to_one::<Token>();
            let all = run(vec![
                writer(Way::Plain, first_to, vec![1]),
                reader_of_two([first_from, second_from]),
                writer(second, second_to, vec![2]),
            ]);
            let mut read = all[1].read.clone();
            read.sort_unstable();
            assert_eq!(read, [1, 2]);
        });
    }
}

#[test]
fn one_that_skips_finds_one_that_waits() {
    for (writes, capacity) in [(true, 0), (false, 0), (true, 1), (false, 1)] {
        check(Some(3), move || {
            let (mut to, mut from) = Channel::new().buffered(capacity).one_to_one::<Token>();
            let skips: Party = if writes {
                Box::new(move |process| {
                    let mut alternation = Alternation::fair();
                    let write = alternation.write(&mut to);
                    alternation.offer(process, &write, 1);
                    while alternation.select_or_skip(process).unwrap().is_none() {
                        thread::yield_now();
                    }
                    Owned::default()
                })
            } else {
                let (party, _) = writer(Way::Guard, to, vec![1]);
                party
            };
            let reads: (Party, bool) = if writes {
                reader(Way::Guard, from, 1)
            } else {
                let party: Party = Box::new(move |process| {
                    let mut alternation = Alternation::fair();
                    let read = alternation.read(&mut from);
                    while alternation.select_or_skip(process).unwrap().is_none() {
                        thread::yield_now();
                    }
                    let read = vec![alternation.take(process, &read)];
                    Owned {
                        read,
                        ..Owned::default()
                    }
                });
                (party, false)
            };
            let all = run(vec![(skips, false), reads]);
            assert_eq!(all[1].read, [1]);
        });
    }
}

#[test]
fn an_end_that_is_dropped_wakes_one_that_waits_for_another() {
    // The one who drops it does nothing else at a channel.
    for side in [true, false] {
        check(None, move || {
            let (mut to, mut from) = Channel::new().one_to_one::<Token>();
            let (waits, drops): (Party, Party) = if side {
                (
                    Box::new(move |process| {
                        assert_eq!(from.read(process), Err(Ended::Closed));
                        Owned::default()
                    }),
                    Box::new(move |_| {
                        drop(to);
                        Owned::default()
                    }),
                )
            } else {
                (
                    Box::new(move |process| Owned {
                        given_back: vec![to.write(process, 1).unwrap_err().item],
                        ..Owned::default()
                    }),
                    Box::new(move |_| {
                        drop(from);
                        Owned::default()
                    }),
                )
            };
            run(vec![(waits, false), (drops, false)]);
        });
    }
}

/// The alternation has begun to wait and not looked again when the second item comes.
#[test]
fn an_item_does_not_overtake_one_in_the_buffer() {
    check(Some(4), || {
        let (to, from) = Channel::new().buffered(1).one_to_one::<Token>();
        let all = run(vec![
            reader(Way::Guard, from, 2),
            writer(Way::Plain, to, vec![1, 2]),
        ]);
        assert_eq!(all[0].read, [1, 2]);
    });
}

/// The alternation has begun to wait and not looked again when the channel is closed, and read.
#[test]
fn a_closed_channel_accepts_nothing() {
    check(Some(4), || {
        let (mut to, mut from) = Channel::new().buffered(1).one_to_one::<Token>();
        let writes: Party = Box::new(move |process| {
            to.write(process, 1).unwrap();
            let mut alternation = Alternation::fair();
            let write = alternation.write(&mut to);
            alternation.offer(process, &write, 2);
            assert!(alternation.select(process).is_err(), "nobody reads before");
            let given_back = alternation.withdraw(process, &write);
            Owned {
                given_back: given_back.into_iter().collect(),
                ..Owned::default()
            }
        });
        let closes: Party = Box::new(move |process| {
            let mut read = Vec::new();
            while from.channel.core.lock().is_at_rest() {
                thread::yield_now();
            }
            from.close(process);
            while let Ok(item) = from.read(process) {
                read.push(item);
            }
            Owned {
                read,
                ..Owned::default()
            }
        });
        let all = run(vec![(writes, false), (closes, false)]);
        assert_eq!(
            (&all[1].read[..], &all[0].given_back[..]),
            (&[1][..], &[2][..])
        );
    });
}
