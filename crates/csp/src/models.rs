//! Models of channels for loom and shuttle. The *parties* of a model are processes on the model's
//! threads. They use one channel in many orders of their steps.
//!
//! Models run the same code as programs, except for the waits, which loom or shuttle performs
//! instead of a machine. docs/csp.md lists the schedules. The models check three properties:
//!
//! - No party waits for ever: loom and shuttle report a deadlock.
//! - Each item ends with one owner: a reader, a writer, or the process that poisoned the channel.
//! - One reader gets the items of one writer in order.

mod explore;

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc as StdArc;

use cellworks_machine::{Processor, RemoteWaker, RunId, Sleeper, SpeId, Time, Wait, Wake};

use self::explore::check;
use crate::channel::RawChannel;
use crate::channel::link::Side;
use crate::channel::lock::Spin;
use crate::channel::node::Parcel;
use crate::channel::protocol::Met;
use crate::counting::Counted;
use crate::ends::alternation::Alternation;
use crate::ends::ended::Ended;
use crate::ends::{Any, Channel, DROPPED, Reader, Writer};
use crate::network::shared::NetworkState;
use crate::outside::polled::Polled;
use crate::process::Process;
use crate::process::place::Place;
#[cfg(loom)]
use crate::sync::barrier;
use crate::sync::{Arc, Condvar, Mutex, thread};

/// The place where a party sleeps until another party wakes it.
#[derive(Default)]
struct Seat {
    is_woken: Mutex<bool>,
    wakes: Condvar,
}

impl Seat {
    fn wake(&self) {
        *self.is_woken.lock().unwrap() = true;
        self.wakes.notify_one();
    }
}

#[derive(Clone)]
struct Seats {
    all: Arc<Vec<Seat>>,
    mine: usize,
    /// Whether the party never waits, like a destructor in a cancelled run.
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
    fn run_id(&self) -> &RunId {
        unreachable!("models have no open networks")
    }

    fn now(&self) -> Time {
        Time::default()
    }

    fn is_cancelled(&self) -> bool {
        self.is_cancelled
    }

    /// Each seat has a processor of its own.
    fn notify(&self, to: Processor) {
        let Processor::Spe(seat) = to else {
            unreachable!("no party is on the PPE")
        };
        self.all[seat.index()].wake();
    }

    fn sleeper(&self) -> Sleeper {
        // SAFETY: `wake_elsewhere` finds the thread by this number. No machine uses these sleepers.
        unsafe { Sleeper::new(self.processor(), (self.mine, 0)) }
    }

    /// Half of the parties can be woken by their processor.
    fn would_poll(&self) -> bool {
        self.mine.is_multiple_of(2)
    }

    fn wake_elsewhere(&self, sleeper: Sleeper) {
        self.all[sleeper.thread().0].wake();
    }

    fn remote_waker(&self) -> RemoteWaker {
        unreachable!("a dropped end of a model wakes by its party")
    }

    fn outlast(&self, _: &mut dyn FnMut() -> bool) {
        unreachable!("channels lend nothing that is on a stack")
    }

    /// Lets the deadline pass after any number of steps of other parties.
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
        Processor::Spe(SpeId::new(self.mine as u16))
    }

    fn let_others_run(&self) {
        thread::yield_now();
    }

    fn let_ready_others_run(&self) {
        thread::yield_now();
    }
}

const ITEMS: Token = if cfg!(shuttle) { 12 } else { 2 };

fn items(writer: Token) -> Vec<Token> {
    (1..=ITEMS).map(|item| 100 * writer + item).collect()
}

/// An item. Each party returns its items at the end of a model, so that lost items are noticed.
type Token = u32;

const MOST_PARTIES: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// [`Writer::write`] or [`Reader::read`].
    Plain,
    /// [`Writer::write_all`] or [`Reader::read_up_to`].
    Batches,
    /// [`Plain`](Self::Plain) for the first item, [`Guard`](Self::Guard) for the next, and so on.
    Turns,
    /// An alternation with one guard.
    Guard,
    /// [`Guard`](Self::Guard), but a selection with a deadline comes before each selection.
    Until,
    /// [`Writer::try_write`] or [`Reader::try_read`], and then [`Plain`](Self::Plain) if needed.
    Try,
    /// [`Writer::write_until`] or [`Reader::read_until`], then [`Plain`](Self::Plain) if needed.
    Deadline,
    /// [`Plain`](Self::Plain) in a cancelled run, so that the party never waits.
    Cancelled,
    /// Polls, as a task does, and sleeps while a poll is pending.
    Polls,
    /// [`Polls`](Self::Polls), but cancels the first poll of each item if it is pending.
    Impatient,
}
const WAYS: [Way; 4] = [Way::Plain, Way::Guard, Way::Until, Way::Cancelled];

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

#[derive(Clone)]
struct Network(StdArc<NetworkState>);

impl Network {
    fn run<R>(&self, seat: &Seats, body: impl FnOnce(&Process<'_, Seats>) -> R) -> R {
        let process = Process::new(seat, "party", &self.0, None);
        let wake = |waker: crate::channel::waker::Waker| seat.wake(waker.sleeper);
        crate::process::pending::with_wakes(self.0.network, &wake, || body(&process))
    }
}

fn network_that_counts() -> (Network, Counted) {
    let counting = StdArc::default();
    let mut state = NetworkState::default();
    state.counting = Some(StdArc::clone(&counting));
    (Network(StdArc::new(state)), Counted(counting))
}

type Party = Box<dyn FnOnce(&Process<'_, Seats>) -> Owned + Send>;

/// Runs the parties of a model, and returns their items. The `bool` is [`Seats::is_cancelled`].
fn run(parties: Vec<(Party, bool)>) -> Vec<Owned> {
    let seated =
        parties
            .into_iter()
            .zip(seats(MOST_PARTIES))
            .map(|((party, is_cancelled), mut seat)| {
                seat.is_cancelled = is_cancelled;
                vec![(party, seat)]
            });
    run_seated(seated.collect())
}

/// Runs sequences of parties at the same time, and the parties of each sequence in order.
fn run_in_turns(sequences: Vec<Vec<Party>>) -> Vec<Owned> {
    run_in_turns_in(&Network(StdArc::default()), sequences)
}

fn run_in_turns_in(network: &Network, sequences: Vec<Vec<Party>>) -> Vec<Owned> {
    let mut seats = seats(MOST_PARTIES).into_iter();
    let seated = sequences
        .into_iter()
        .map(|parties| parties.into_iter().zip(seats.by_ref()).collect());
    run_seated_in(network, seated.collect())
}

fn run_sequence(network: &Network, parties: Vec<(Party, Seats)>) -> Vec<Owned> {
    let mut parties = parties.into_iter();
    let (first, seat) = parties.next().expect("a sequence has parties");
    let mut all = vec![network.run(&seat, first)];
    for (party, seat) in parties {
        let network = network.clone();
        let thread = thread::spawn(move || network.run(&seat, party));
        all.push(thread.join().unwrap());
    }
    all
}

fn run_seated(sequences: Vec<Vec<(Party, Seats)>>) -> Vec<Owned> {
    run_seated_in(&Network(StdArc::default()), sequences)
}

fn run_seated_in(network: &Network, sequences: Vec<Vec<(Party, Seats)>>) -> Vec<Owned> {
    DROPPED.set(0);
    let mut sequences = sequences.into_iter();
    let first = sequences.next().expect("a model has parties");
    let others: Vec<_> = sequences
        .map(|parties| {
            let network = network.clone();
            thread::spawn(move || run_sequence(&network, parties))
        })
        .collect();
    let mut all = run_sequence(network, first);
    all.extend(others.into_iter().flat_map(|thread| thread.join().unwrap()));
    all
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Drop,
    Close,
    Poison,
}

/// Registers the process at the ring buffer, so that even its first item needs no lock.
fn settle<T>(process: &Process<'_, Seats>, channel: &RawChannel<T, Spin>, side: Side) {
    channel.lock().register(side, process.user_and_tally());
}

fn write<E>(
    process: &Process<'_, Seats>,
    way: Way,
    writer: &mut Writer<Token, E>,
    items: Vec<Token>,
) -> Vec<Token> {
    let mut items = items.into_iter();
    let mut given_back = Vec::new();
    match way {
        Way::Plain | Way::Cancelled => {
            let unsent = items.find_map(|item| writer.write(process, item).err());
            given_back.extend(unsent.map(|unsent| unsent.item));
        }
        Way::Try | Way::Deadline => {
            for item in items.by_ref() {
                let tried = match way {
                    Way::Try => writer.try_write(process, item),
                    _ => writer.write_until(process, item, Time::default()),
                };
                let written = tried.or_else(|refused| {
                    let item = refused.not_taken()?;
                    writer.write(process, item)
                });
                if let Err(unsent) = written {
                    given_back.push(unsent.item);
                    break;
                }
            }
        }
        Way::Batches => {
            let unsent = writer.write_all(process, items.by_ref()).err();
            given_back.extend(unsent.into_iter().flat_map(|unsent| unsent.item));
        }
        Way::Polls | Way::Impatient => {
            let channel = &*writer.end.channel;
            let mut polled = Polled::new(Side::Writer);
            for item in items.by_ref() {
                let mut parcel = Some(process.pack(item, channel));
                let met = poll(process, way, &mut polled, channel, &mut parcel);
                // What was not written is still the writer's, and what was written is not.
                assert_eq!(matches!(met, Met::Done), parcel.is_none());
                if let Some(parcel) = parcel {
                    given_back.push(parcel.item);
                    break;
                }
            }
        }
        Way::Turns => {
            let mut is_plain = true;
            for item in items.by_ref() {
                let way = if is_plain { Way::Plain } else { Way::Guard };
                given_back = write(process, way, writer, vec![item]);
                if !given_back.is_empty() {
                    break;
                }
                is_plain = !is_plain;
            }
        }
        Way::Guard | Way::Until => {
            let mut alternation = Alternation::fair();
            let guard = alternation.write(writer);
            for item in items.by_ref() {
                alternation.offer(process, &guard, item);
                if !select(&mut alternation, process, way) {
                    given_back.extend(alternation.withdraw(process, &guard));
                    break;
                }
                assert!(!alternation.is_offered(&guard));
            }
        }
    }
    given_back.extend(items);
    given_back
}

fn read<E>(
    process: &Process<'_, Seats>,
    way: Way,
    reader: &mut Reader<Token, E>,
    limit: usize,
    items: &mut Vec<Token>,
) {
    match way {
        Way::Plain | Way::Cancelled => {
            while items.len() < limit
                && let Ok(item) = reader.read(process)
            {
                items.push(item);
            }
        }
        Way::Try | Way::Deadline => {
            while items.len() < limit {
                let tried = match way {
                    Way::Try => reader.try_read(process),
                    _ => reader.read_until(process, Time::default()),
                };
                let read = match tried {
                    Ok(None) => reader.read(process).map(Some),
                    other => other,
                };
                match read {
                    Ok(item) => items.extend(item),
                    Err(_) => break,
                }
            }
        }
        Way::Polls | Way::Impatient => {
            let channel = &*reader.end.channel;
            let mut polled = Polled::new(Side::Reader);
            while items.len() < limit {
                let mut parcel = None;
                let met = poll(process, way, &mut polled, channel, &mut parcel);
                assert_eq!(matches!(met, Met::Done), parcel.is_some());
                match parcel {
                    Some(parcel) => items.push(parcel.item),
                    None => break,
                }
            }
        }
        Way::Batches => {
            while items.len() < limit
                && reader
                    .read_up_to(process, limit - items.len(), items)
                    .is_ok()
            {}
        }
        Way::Turns => {
            let mut is_plain = true;
            let mut before = usize::MAX;
            while items.len() < limit && items.len() != before {
                before = items.len();
                let way = if is_plain { Way::Plain } else { Way::Guard };
                read(process, way, reader, before + 1, items);
                is_plain = !is_plain;
            }
        }
        Way::Guard | Way::Until => {
            let mut alternation = Alternation::fair();
            let guard = alternation.read(reader);
            while items.len() < limit && select(&mut alternation, process, way) {
                items.push(alternation.take(process, &guard));
            }
        }
    }
}

/// Polls until an item was exchanged or the channel has ended.
fn poll(
    process: &Process<'_, Seats>,
    way: Way,
    polled: &mut Polled<Token>,
    channel: &RawChannel<Token, Spin>,
    parcel: &mut Option<Parcel<Token>>,
) -> Met {
    let side = match parcel {
        Some(_) => Side::Writer,
        None => Side::Reader,
    };
    let mut is_impatient = way == Way::Impatient;
    loop {
        let wake = |mut woken| process.wake(&mut woken);
        let met = polled.poll(channel, parcel, *process.waker(), wake);
        if !matches!(met, Met::NoPartner) {
            return met;
        }
        if std::mem::take(&mut is_impatient) {
            if polled.cancel(channel, parcel) {
                return Met::Done;
            }
            continue;
        }
        let mut is_poked = || polled.is_poked();
        process.wait_until(channel.waiting(side), None, false, &mut is_poked);
    }
}

fn select(alternation: &mut Alternation<'_>, process: &Process<'_, Seats>, way: Way) -> bool {
    if way == Way::Until {
        match alternation.select_until(process, Time::default()) {
            Ok(None) => {}
            other => return other.is_ok(),
        }
    }
    alternation.select(process).is_ok()
}

/// Makes a party that writes items until the channel ends, and then performs `ending`.
fn writer_that<E: 'static>(
    way: Way,
    mut writer: Writer<Token, E>,
    items: Vec<Token>,
    ending: Ending,
) -> (Party, bool) {
    let party = move |process: &Process<'_, Seats>| {
        settle(process, &writer.end.channel, Side::Writer);
        let given_back = write(process, way, &mut writer, items);
        let read = match ending {
            Ending::Poison => writer.poison(process),
            Ending::Close => {
                writer.close(process);
                Vec::new()
            }
            Ending::Drop => Vec::new(),
        };
        Owned { read, given_back }
    };
    (Box::new(party), way == Way::Cancelled)
}

fn writer<E: 'static>(way: Way, writer: Writer<Token, E>, items: Vec<Token>) -> (Party, bool) {
    writer_that(way, writer, items, Ending::Drop)
}

/// Makes a party that reads up to `limit` items, and then performs `ending`.
fn reader_that<E: 'static>(
    way: Way,
    mut reader: Reader<Token, E>,
    limit: usize,
    ending: Ending,
) -> (Party, bool) {
    let party = move |process: &Process<'_, Seats>| {
        settle(process, &reader.end.channel, Side::Reader);
        let mut owned = Owned::default();
        read(process, way, &mut reader, limit, &mut owned.read);
        match ending {
            Ending::Poison => owned.given_back = reader.poison(process),
            Ending::Close => {
                reader.close(process);
                read(process, way, &mut reader, usize::MAX, &mut owned.read);
            }
            Ending::Drop => {}
        }
        owned
    };
    (Box::new(party), way == Way::Cancelled)
}

fn reader<E: 'static>(way: Way, reader: Reader<Token, E>, limit: usize) -> (Party, bool) {
    reader_that(way, reader, limit, Ending::Drop)
}

fn ender(ending: Ending, end: Writer<Token, Any>) -> (Party, bool) {
    writer_that(Way::Plain, end, Vec::new(), ending)
}

fn assert_conserved(items: &[Token], all: &[Owned]) {
    let owned = all.iter().flat_map(|o| o.read.iter().chain(&o.given_back));
    let mut owned: Vec<Token> = owned.copied().collect();
    owned.sort_unstable();
    let dropped = DROPPED.get();
    let text = || format!("items were lost or doubled: {all:?}, and {dropped} were dropped");
    assert!(owned.iter().all(|item| items.contains(item)), "{}", text());
    assert!(owned.windows(2).all(|two| two[0] != two[1]), "{}", text());
    assert_eq!(owned.len() + dropped, items.len(), "{}", text());
}

fn check_pair(preemptions: Option<usize>, capacity: usize, write: Way, read: Way, limit: usize) {
    check(preemptions, move || {
        let (to, from) = Channel::new().buffered(capacity).one_to_one::<Token>();
        let all = run(vec![writer(write, to, items(0)), reader(read, from, limit)]);
        assert!(all[1].read.is_sorted(), "{all:?}");
        let waits = |way| way != Way::Cancelled;
        let reads_all = limit == usize::MAX && waits(read);
        if reads_all && waits(write) {
            assert_eq!(all[1].read, items(0));
        }
        assert!(!reads_all || DROPPED.get() == 0, "{all:?}");
        assert_conserved(&items(0), &all);
    });
}

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

const POLLING: [Way; 2] = [Way::Polls, Way::Impatient];

fn check_polls(preemptions: Option<usize>, capacity: usize, limit: usize) {
    for way in POLLING {
        for other in [Way::Plain, Way::Guard, Way::Until, Way::Deadline] {
            check_pair(preemptions, capacity, way, other, limit);
            check_pair(preemptions, capacity, other, way, limit);
        }
        for other in POLLING {
            check_pair(preemptions, capacity, way, other, limit);
        }
    }
}

#[test]
fn those_that_poll_meet() {
    check_polls(Some(2), 0, usize::MAX);
}

#[test]
fn those_that_poll_meet_at_a_buffer() {
    check_polls(Some(2), 1, usize::MAX);
}

#[test]
fn a_reader_that_ends_is_noticed_by_those_that_poll() {
    check_polls(Some(2), 0, 1);
    check_polls(Some(2), 1, 1);
}

#[test]
fn the_end_of_a_channel_is_noticed_by_those_that_poll() {
    for ending in [Ending::Poison, Ending::Close] {
        for (write, read) in [
            (Way::Impatient, Way::Plain),
            (Way::Plain, Way::Impatient),
            (Way::Polls, Way::Polls),
        ] {
            check_ending_of(ending, 0, write, read);
        }
    }
}

#[test]
fn two_writers_that_poll_are_read_by_one() {
    for read in [Way::Plain, Way::Guard, Way::Polls] {
        check(Some(2), move || {
            let (to, from) = Channel::new().any_to_one::<Token>();
            let second = writer(Way::Polls, to.clone(), vec![2]);
            let all = run(vec![
                writer(Way::Impatient, to, vec![1]),
                second,
                reader(read, from, 3),
            ]);
            assert_conserved(&[1, 2], &all);
            assert_eq!(all[2].read.len(), 2, "{all:?}");
        });
    }
}

/// Only for shuttle, because loom did not finish this model within ten minutes.
#[cfg(shuttle)]
#[test]
fn an_item_is_offered_to_any_of_two_readers() {
    for capacities in [[0, 0], [1, 0]] {
        for way in [Way::Plain, Way::Guard, Way::Try] {
            check(Some(2), move || {
                let [(to, from), (to_other, from_other)] =
                    capacities.map(|items| Channel::new().buffered(items).one_to_one::<Token>());
                let writes = move |process: &Process<'_, Seats>| {
                    let (mut to, mut to_other) = (to, to_other);
                    let mut any = Alternation::fair();
                    let guards = [any.write(&mut to), any.write(&mut to_other)];
                    for item in items(0) {
                        any.offer_to_any(process, &guards, item);
                        any.select(process).unwrap();
                        assert!(!guards.iter().any(|guard| any.is_offered(guard)));
                    }
                    Owned::default()
                };
                let all = run(vec![
                    (Box::new(writes), false),
                    reader(way, from, usize::MAX),
                    reader(way, from_other, usize::MAX),
                ]);
                assert!(all.iter().all(|owned| owned.read.is_sorted()), "{all:?}");
                assert_conserved(&items(0), &all);
            });
        }
    }
}

fn check_patience(capacity: usize, limit: usize) {
    for way in [Way::Try, Way::Deadline] {
        for other in [Way::Plain, Way::Guard, Way::Try, Way::Deadline] {
            check_pair(Some(2), capacity, way, other, limit);
            if other != way {
                check_pair(Some(2), capacity, other, way, limit);
            }
        }
    }
}

#[test]
fn those_that_try_or_have_a_deadline_meet() {
    check_patience(0, usize::MAX);
}

#[test]
fn those_that_try_or_have_a_deadline_meet_at_a_buffer() {
    check_patience(1, usize::MAX);
}

#[test]
fn a_reader_that_ends_is_noticed_by_those_that_try_or_have_a_deadline() {
    check_patience(0, 1);
    check_patience(1, 1);
}

#[test]
fn a_reader_that_ends_closes_the_channel() {
    check_pairs(Some(3), 0, 1);
}

#[test]
fn a_reader_of_a_buffer_that_ends_closes_the_channel() {
    check_pairs(Some(3), 1, 1);
}

/// A writer and a reader of a buffered channel.
#[derive(Clone, Copy)]
struct Pair {
    capacity: usize,
    items: Token,
    write: Way,
    writer: Ending,
    read: Way,
    limit: usize,
    reader: Ending,
}

const PAIR: Pair = Pair {
    capacity: 2,
    items: ITEMS,
    write: Way::Plain,
    writer: Ending::Drop,
    read: Way::Plain,
    limit: usize::MAX,
    reader: Ending::Drop,
};

impl Pair {
    fn check(self, preemptions: Option<usize>) {
        check(preemptions, move || {
            let items = Vec::from_iter(1..=self.items);
            let (to, from) = Channel::new().buffered(self.capacity).one_to_one::<Token>();
            let all = run(vec![
                writer_that(self.write, to, items.clone(), self.writer),
                reader_that(self.read, from, self.limit, self.reader),
            ]);
            assert!(all[1].read.is_sorted(), "{all:?}");
            let accepted = items.len() - all[0].given_back.len();
            if self.reader != Ending::Poison
                && self.writer != Ending::Poison
                && self.limit > items.len()
            {
                assert_eq!(all[1].read, items[..accepted], "{all:?}");
            }
            let is_left = self.limit <= items.len()
                && self.reader == Ending::Drop
                && self.writer != Ending::Poison;
            assert!(is_left || DROPPED.get() == 0, "{all:?}");
            assert_conserved(&items, &all);
        });
    }
}

#[test]
fn items_go_through_a_ring_in_order() {
    for capacity in [1, 2] {
        for write in [Way::Plain, Way::Batches] {
            for read in [Way::Plain, Way::Batches] {
                let pair = Pair {
                    capacity,
                    items: ITEMS + 1,
                    write,
                    read,
                    ..PAIR
                };
                pair.check(Some(2));
            }
        }
    }
}

#[test]
fn a_ring_is_used_in_turns_with_guards() {
    for (write, read) in [
        (Way::Turns, Way::Plain),
        (Way::Plain, Way::Turns),
        (Way::Turns, Way::Turns),
        (Way::Turns, Way::Guard),
        (Way::Guard, Way::Turns),
    ] {
        Pair {
            capacity: 1,
            items: ITEMS,
            write,
            read,
            ..PAIR
        }
        .check(Some(2));
    }
}

#[test]
fn a_writer_ends_the_channel_of_a_ring() {
    for writer in [Ending::Poison, Ending::Close] {
        for read in [Way::Plain, Way::Batches, Way::Guard] {
            Pair {
                writer,
                read,
                ..PAIR
            }
            .check(Some(3));
        }
    }
}

#[test]
fn a_reader_ends_the_channel_of_a_ring() {
    for reader in [Ending::Poison, Ending::Close] {
        for write in [Way::Plain, Way::Batches, Way::Guard] {
            for limit in [0, 1] {
                Pair {
                    reader,
                    write,
                    limit,
                    ..PAIR
                }
                .check(Some(3));
            }
        }
    }
}

#[cfg(loom)]
const POISONED: Pair = Pair {
    reader: Ending::Poison,
    limit: 0,
    ..PAIR
};

#[cfg(loom)]
#[test]
#[should_panic(expected = "items were lost or doubled")]
fn a_ring_fails_without_the_light_half_of_the_barrier() {
    barrier::without(barrier::Half::Light, || POISONED.check(Some(3)));
}

#[cfg(loom)]
#[test]
#[should_panic(expected = "items were lost or doubled")]
fn a_ring_fails_without_the_heavy_half_of_the_barrier() {
    barrier::without(barrier::Half::Heavy, || POISONED.check(Some(3)));
}

/// The reader reads one item, and then checks that the writer has written both items.
#[test]
fn a_writer_that_waits_for_room_goes_on_when_there_is_some() {
    for way in [Way::Plain, Way::Guard] {
        check(Some(3), move || {
            let (mut to, mut from) = Channel::new().buffered(1).one_to_one::<Token>();
            let (until_written, mut has_written) = Channel::new().one_to_one::<Token>();
            let writes: Party = Box::new(move |process| {
                settle(process, &to.end.channel, Side::Writer);
                let given_back = write(process, way, &mut to, vec![1, 2]);
                drop(until_written);
                Owned {
                    given_back,
                    ..Owned::default()
                }
            });
            let reads: Party = Box::new(move |process| {
                settle(process, &from.end.channel, Side::Reader);
                let mut owned = Owned::default();
                read(process, Way::Plain, &mut from, 1, &mut owned.read);
                assert_eq!(has_written.read(process), Err(Ended::Closed));
                read(process, Way::Plain, &mut from, 2, &mut owned.read);
                owned
            });
            let all = run(vec![(writes, false), (reads, false)]);
            assert_eq!(all[1].read, [1, 2]);
        });
    }
}

/// Makes a party that runs `first` with `end`, and a later party that runs `then` with this end.
fn moves<E: Send + 'static>(
    end: E,
    first: impl FnOnce(&Process<'_, Seats>, &mut E) -> Owned + Send + 'static,
    then: impl FnOnce(&Process<'_, Seats>, &mut E) -> Owned + Send + 'static,
) -> [Party; 2] {
    let place = StdArc::new(std::sync::Mutex::new(Some(end)));
    let next_place = StdArc::clone(&place);
    [
        Box::new(move |process| {
            let mut end = place.lock().unwrap().take().expect("it was not moved yet");
            let owned = first(process, &mut end);
            *place.lock().unwrap() = Some(end);
            owned
        }),
        Box::new(move |process| {
            let mut end = next_place
                .lock()
                .unwrap()
                .take()
                .expect("the first party has ended");
            then(process, &mut end)
        }),
    ]
}

#[test]
fn a_writer_of_a_ring_moves_to_another_thread() {
    for way in [Way::Plain, Way::Guard] {
        check(Some(2), move || {
            let (to, from) = Channel::new().buffered(2).one_to_one::<Token>();
            let write = |items| {
                move |process: &Process<'_, Seats>, to: &mut Writer<Token>| Owned {
                    given_back: write(process, Way::Plain, to, items),
                    ..Owned::default()
                }
            };
            let all = run_in_turns(vec![
                Vec::from(moves(to, write(vec![1]), write(vec![2, 3]))),
                vec![reader(way, from, usize::MAX).0],
            ]);
            assert_eq!(all[2].read, [1, 2, 3]);
            assert_conserved(&[1, 2, 3], &all);
        });
    }
}

/// The reader finds the items of two writers in the ring buffer, in every order of the steps.
#[test]
fn items_in_a_ring_count_for_the_processes_that_have_written_them() {
    check(Some(2), || {
        let (to, mut from) = Channel::new().buffered(2).one_to_one::<Token>();
        let (network, counted) = network_that_counts();
        let write = |name: &'static str, items| {
            move |process: &Process<'_, Seats>, to: &mut Writer<Token>| {
                process.began(None, name);
                Owned {
                    given_back: write(process, Way::Plain, to, items),
                    ..Owned::default()
                }
            }
        };
        let reads: Party = Box::new(move |process| {
            process.began(None, "reader");
            settle(process, &from.end.channel, Side::Reader);
            let mut owned = Owned::default();
            read(process, Way::Plain, &mut from, usize::MAX, &mut owned.read);
            owned
        });
        let writes = moves(to, write("first", vec![1]), write("second", vec![2, 3]));
        let all = run_in_turns_in(&network, vec![Vec::from(writes), vec![reads]]);
        assert_eq!(all[2].read, [1, 2, 3]);
        let flows = counted.flows();
        assert_eq!(flows.between("first", "reader").messages, 1);
        assert_eq!(flows.between("second", "reader").messages, 2);
    });
}

/// A process ends while the next reader already takes items, and has read one of them.
#[test]
fn a_reader_of_a_ring_counts_until_it_gives_its_end_away() {
    check(Some(2), || {
        let (mut to, mut from) = Channel::new().buffered(2).one_to_one::<Token>();
        let (mut hand_over, mut at_second) = Channel::new().one_to_one::<Reader<Token>>();
        let (network, counted) = network_that_counts();
        let first: Party = Box::new(move |process| {
            process.began(None, "first");
            settle(process, &to.end.channel, Side::Writer);
            settle(process, &from.end.channel, Side::Reader);
            let mut owned = Owned {
                given_back: write(process, Way::Plain, &mut to, vec![1, 2]),
                ..Owned::default()
            };
            read(process, Way::Plain, &mut from, 1, &mut owned.read);
            assert!(hand_over.write(process, from).is_ok());
            owned
        });
        let second: Party = Box::new(move |process| {
            process.began(None, "second");
            let mut from = at_second.read(process).unwrap();
            settle(process, &from.end.channel, Side::Reader);
            let mut owned = Owned::default();
            read(process, Way::Plain, &mut from, 1, &mut owned.read);
            owned
        });
        let all = run_in_turns_in(&network, vec![vec![first], vec![second]]);
        assert_eq!((&*all[0].read, &*all[1].read), (&[1][..], &[2][..]));
        let flows = counted.flows();
        assert_eq!(flows.between("first", "first").messages, 1);
        // The end and an item.
        assert_eq!(flows.between("first", "second").messages, 2);
    });
}

/// Reader and writer need a barrier only after the writer has moved to another thread.
#[test]
fn a_writer_of_a_ring_moves_away_from_the_thread_of_the_reader() {
    check(Some(3), || {
        let (mut to, mut from) = Channel::new().buffered(2).one_to_one::<Token>();
        let network = Network(StdArc::default());
        let mut seats = seats(2).into_iter();
        let (here, there) = (seats.next().unwrap(), seats.next().unwrap());
        let mut owned = Owned::default();
        network.run(&here, |process| {
            let given_back = write(process, Way::Plain, &mut to, vec![1]);
            assert!(given_back.is_empty());
            let network = network.clone();
            let writer = thread::spawn(move || {
                network.run(&there, |process| {
                    let given_back = write(process, Way::Plain, &mut to, vec![2, 3]);
                    drop(to);
                    given_back
                })
            });
            read(process, Way::Plain, &mut from, usize::MAX, &mut owned.read);
            assert!(writer.join().unwrap().is_empty());
        });
        assert_eq!(owned.read, [1, 2, 3]);
    });
}

#[test]
fn a_reader_of_a_ring_moves_to_another_thread() {
    for way in [Way::Plain, Way::Guard] {
        check(Some(2), move || {
            let (to, from) = Channel::new().buffered(2).one_to_one::<Token>();
            let read_up_to = |limit| {
                move |process: &Process<'_, Seats>, from: &mut Reader<Token>| {
                    let mut owned = Owned::default();
                    read(process, Way::Plain, from, limit, &mut owned.read);
                    owned
                }
            };
            let all = run_in_turns(vec![
                vec![writer(way, to, vec![1, 2, 3]).0],
                Vec::from(moves(from, read_up_to(1), read_up_to(usize::MAX))),
            ]);
            assert_eq!(all[1].read, [1]);
            assert_eq!(all[2].read, [2, 3]);
            assert_conserved(&[1, 2, 3], &all);
        });
    }
}

fn check_ending(ending: Ending, capacity: usize) {
    for write in [Way::Plain, Way::Guard] {
        for read in [Way::Plain, Way::Guard] {
            check_ending_of(ending, capacity, write, read);
        }
    }
}

fn check_ending_of(ending: Ending, capacity: usize, write: Way, read: Way) {
    check(Some(2), move || {
        let (to, from) = Channel::new().buffered(capacity).any_to_one::<Token>();
        let other = to.clone();
        let all = run(vec![
            writer(write, to, items(0)),
            reader(read, from, usize::MAX),
            ender(ending, other),
        ]);
        assert!(all[1].read.is_sorted(), "{all:?}");
        if ending == Ending::Close {
            let owned = all[1].read.len() + all[0].given_back.len();
            assert_eq!(owned, items(0).len(), "{all:?}");
        }
        assert_conserved(&items(0), &all);
    });
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
                let all = run(vec![
                    writer(first, to, vec![1]),
                    reader(read, from, usize::MAX),
                    writer(second, other, vec![2]),
                ]);
                assert_eq!(all[1].read.len(), 2);
                assert_conserved(&[1, 2], &all);
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
                let all = run(vec![
                    writer(write, to, items(0)),
                    reader(first, from, usize::MAX),
                    reader(second, other, usize::MAX),
                ]);
                assert_conserved(&items(0), &all);
                assert!(all[0].given_back.is_empty());
            });
        }
    }
}

/// Not for loom, which cannot run this many parties in all schedules.
#[cfg(shuttle)]
#[test]
fn three_writers_and_three_readers_meet() {
    const CROWDS: [[Way; 3]; 4] = [
        [Way::Plain, Way::Plain, Way::Plain],
        [Way::Plain, Way::Plain, Way::Guard],
        [Way::Guard, Way::Until, Way::Guard],
        [Way::Batches, Way::Turns, Way::Guard],
    ];
    for capacity in [0, 3] {
        for writers in CROWDS {
            for readers in CROWDS {
                check(None, move || {
                    let (to, from) = Channel::new().buffered(capacity).any_to_any::<Token>();
                    let mut parties = Vec::new();
                    for (number, (write, read)) in (0..).zip(writers.into_iter().zip(readers)) {
                        parties.push(writer(write, to.clone(), items(number)));
                        parties.push(reader(read, from.clone(), usize::MAX));
                    }
                    drop((to, from));
                    let all = run(parties);
                    let written: Vec<Token> = (0..3).flat_map(items).collect();
                    assert_conserved(&written, &all);
                    for owned in &all {
                        for number in 0..3 {
                            let is_of_writer = |item: &&Token| **item / 100 == number;
                            assert!(owned.read.iter().filter(is_of_writer).is_sorted());
                        }
                    }
                });
            }
        }
    }
}

const ROUNDS: usize = if cfg!(shuttle) { 6 } else { 1 };

/// Makes a party that reads and writes the same number of items, in any order.
fn exchanger(item: Token, mut to: Writer<Token>, mut from: Reader<Token>) -> (Party, bool) {
    let party = move |process: &Process<'_, Seats>| {
        let mut owned = Owned::default();
        let mut alternation = Alternation::fair();
        let read = alternation.read(&mut from);
        let write = alternation.write(&mut to);
        let mut to_write = ROUNDS;
        loop {
            if to_write > 0 && !alternation.is_offered(&write) {
                alternation.offer(process, &write, item);
            }
            alternation.when(&read, owned.read.len() < ROUNDS);
            if to_write == 0 && owned.read.len() == ROUNDS {
                return owned;
            }
            if alternation.select(process).expect("no process ends it") == read {
                owned.read.push(alternation.take(process, &read));
            } else {
                to_write -= 1;
            }
        }
    };
    (Box::new(party), false)
}

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
        assert_eq!(
            read.sum::<Token>() as usize,
            ROUNDS * (1..=number as usize).sum::<usize>()
        );
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

/// Between two steps of the writer, the alternation may end the wait that the writer has seen, and
/// begin its next wait, in which the guard's pre-condition is false.
#[test]
fn a_guard_without_its_condition_is_not_chosen() {
    check(Some(3), || {
        let (to, mut from) = Channel::new().one_to_one::<Token>();
        let reads: Party = Box::new(move |process| {
            let mut alternation = Alternation::fair();
            let guard = alternation.read(&mut from);
            let until = |alternation: &mut Alternation<'_>| {
                alternation.select_until(process, Time::default()).unwrap()
            };
            let mut chosen = until(&mut alternation);
            if chosen.is_none() {
                alternation.when(&guard, false);
                assert_eq!(until(&mut alternation), None, "it has no condition");
                alternation.when(&guard, true);
                chosen = Some(alternation.select(process).unwrap());
            }
            assert!(chosen.is_some_and(|chosen| chosen == guard));
            let read = vec![alternation.take(process, &guard)];
            Owned {
                read,
                ..Owned::default()
            }
        });
        let all = run(vec![(reads, false), writer(Way::Plain, to, vec![1])]);
        assert_eq!(all[0].read, [1]);
    });
}

/// The second item comes between the begin of the alternation's wait and its next check of guards.
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

/// The channel is closed and read after the alternation has begun to wait, before its next check.
#[test]
fn a_closed_channel_accepts_nothing() {
    check(Some(4), || {
        let (mut to, mut from) = Channel::new().buffered(1).one_to_one::<Token>();
        let writes: Party = Box::new(move |process| {
            to.write(process, 1).unwrap();
            let mut alternation = Alternation::fair();
            let write = alternation.write(&mut to);
            alternation.offer(process, &write, 2);
            assert!(
                alternation.select(process).is_err(),
                "no process reads before"
            );
            let given_back = alternation.withdraw(process, &write);
            Owned {
                given_back: given_back.into_iter().collect(),
                ..Owned::default()
            }
        });
        let closes: Party = Box::new(move |process| {
            let mut read = Vec::new();
            while from.end.ring.as_ref().is_some_and(|ring| ring.len() == 0) {
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
