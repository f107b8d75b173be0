//! What goes from process to process, if the network [counts](crate::Network::count_volumes).
//!
//! ```text
//!   the item in its parcel has the sender's number of the process that writes it (its origin);
//!   a ring buffer has the number once for all items of one writer
//!   the process that reads it adds the item to its own tally        no lock, no shared cache line
//!   items of a ring buffer that a process reads without the lock    nothing for each item: the
//!                                     tally takes the number from the ring buffer's own count
//!   at the end of the process, the tally goes to the network's counting
//!   (the process of a gate ends when it is dropped, which may be after the run)
//! ```
//!
//! The bytes of messages are the messages times the bytes of their type, plus what each item has
//! more than these: nothing for most types, and then the compiler leaves out the addition.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
// Models use these atomics of std, too, because counts are no part of the protocol.
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use cellworks_machine::{Flow, Flows, Party, Processor, SpeId};
use crossbeam_utils::CachePadded;

use crate::ends::item::Item;
use crate::network::numbers::is_outside;
use crate::sync::{self, locked};
use crate::transport::origin::{Origin, SENDERS_MAX};

/// The number of all threads and tasks that take part through gates.
pub(crate) const OUTSIDE: u32 = u32::MAX;

/// The number of senders that a tally finds without a look-up. A power of two.
const SLOTS: usize = 64;

/// The name of the party that stands for all [gates](crate::Gate).
const OUTSIDE_NAME: &str = "outside";

/// The number of items that the reader of a [ring buffer](crate::way::ring) has read. On a cache
/// line of its own, because the writer polls this number.
pub(crate) type ReadCount = Arc<CachePadded<sync::AtomicUsize>>;

/// What a process reads from one sender through a ring buffer without the channel's lock.
pub(crate) struct Received {
    sender: u32,
    /// The count of the ring buffer's reader.
    read: ReadCount,
    /// What `read` was at first, plus the items that the process has read with the lock since then.
    /// Only the process changes this number and `more`.
    before: AtomicU64,
    /// The bytes of the type of the items.
    of_type: u64,
    /// The bytes of all items, less `of_type` for each. Wraps around below 0.
    more: AtomicU64,
    /// The number of messages, after the end.
    messages: OnceLock<u64>,
}

impl Received {
    /// Counts the bytes of an item that the process has read.
    #[inline(always)]
    pub(crate) fn add_bytes<T: Item>(&self, item: &T) {
        let more = more(item, size_of::<T>() as u64);
        if more != 0 {
            add(&self.more, more);
        }
    }

    pub(crate) fn is_from(&self, origin: Origin) -> bool {
        self.sender == sender_of(origin)
    }

    /// Called after the process has read an item with the lock.
    pub(crate) fn pass_over(&self) {
        add(&self.before, 1);
    }

    /// Ends the reading of the process. From now on, the count of the reader may be another's.
    pub(crate) fn end(&self) {
        // Set before, if this is the second call.
        let _ = self.messages.set(self.until_now());
    }

    fn until_now(&self) -> u64 {
        let read = self.read.load(sync::Ordering::Acquire);
        read.wrapping_sub(self.before.load(Ordering::Relaxed) as usize) as u64
    }

    fn has_ended(&self) -> bool {
        self.messages.get().is_some()
    }

    fn sent(&self) -> Sent {
        // First the number until now: if it has items of another reader, then this one has ended.
        let until_now = self.until_now();
        let messages = self.messages.get().copied().unwrap_or(until_now);
        let more = self.more.load(Ordering::Relaxed);
        Sent::of(messages, self.of_type, more)
    }
}

/// Adds to a number that only one thread changes, without an atomic operation.
#[inline(always)]
fn add(number: &AtomicU64, more: u64) {
    let sum = number.load(Ordering::Relaxed).wrapping_add(more);
    number.store(sum, Ordering::Relaxed);
}

/// Returns the bytes of an item, less `of_type`. Wraps around below 0.
#[inline(always)]
fn more<T: Item>(item: &T, of_type: u64) -> u64 {
    (item.bytes() as u64).wrapping_sub(of_type)
}

fn sender_of(origin: Origin) -> u32 {
    origin.sender().unwrap_or(OUTSIDE)
}

/// What a process has read from one sender, except through ring buffers without the lock.
#[derive(Default)]
#[repr(align(32))]
struct Slot {
    /// The origin of the items, which tells their sender without any look-up.
    origin: Cell<Origin>,
    /// The bytes of the type of the first item.
    of_type: Cell<u32>,
    messages: Cell<u64>,
    /// The bytes of all items, less `of_type` for each. Wraps around below 0.
    more: Cell<u64>,
}

impl Slot {
    #[inline(always)]
    fn count<T: Item>(&self, item: &T) {
        self.messages.set(self.messages.get() + 1);
        let more = more(item, self.of_type.get().into());
        if more != 0 {
            self.more.set(self.more.get().wrapping_add(more));
        }
    }

    fn sent(&self) -> Sent {
        let of_type = u64::from(self.of_type.get());
        Sent::of(self.messages.get(), of_type, self.more.get())
    }
}

#[derive(Clone, Copy, Default)]
struct Sent {
    messages: u64,
    bytes: u64,
}

impl Sent {
    fn of(messages: u64, of_type: u64, more: u64) -> Self {
        let bytes = messages.wrapping_mul(of_type).wrapping_add(more);
        Self { messages, bytes }
    }

    fn add(&mut self, other: Self) {
        self.messages += other.messages;
        self.bytes = self.bytes.wrapping_add(other.bytes);
    }
}

/// What a process has read, by sender. The destructor adds the counts to those of the network.
pub(crate) struct Tally {
    counting: Arc<Counting>,
    /// The number of this process as a sender and a reader. No process of another network has it,
    /// because items may stay in a channel until a later network reads them.
    pub sender: u32,
    /// The number of this process as a [`User`](crate::process::User): another one each
    /// time that a thread enters a gate, because each time has a tally of its own.
    pub user: u64,
    /// What came from the first sender. Many processes have no other, and it needs no look-up.
    first: Slot,
    slots: [Slot; SLOTS],
    /// The counts of senders whose slots other senders have taken, and those of `received` that
    /// have ended.
    others: RefCell<BTreeMap<u32, Sent>>,
    /// What the process reads without a lock now, and some of what has ended.
    received: RefCell<Vec<Arc<Received>>>,
}

impl Tally {
    /// Makes the tally of the process `number` of the network.
    pub(crate) fn of(number: u32, counting: &Arc<Counting>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        Self {
            counting: Arc::clone(counting),
            sender: if is_outside(number) {
                OUTSIDE
            } else {
                (next % u64::from(SENDERS_MAX)) as u32
            },
            // Processes of networks that do not count have small numbers.
            user: u64::MAX - next,
            first: Slot::default(),
            slots: std::array::from_fn(|_| Slot::default()),
            others: RefCell::default(),
            received: RefCell::default(),
        }
    }

    /// Returns the origin of the items that this process writes.
    pub(crate) fn origin(&self) -> Origin {
        Origin::of_sender(self.sender)
    }

    /// Returns what this process reads from now on from the sender of `origin` through a ring
    /// buffer whose items have a type of `of_type` bytes.
    pub(crate) fn receive_from(
        &self,
        origin: Origin,
        read: &ReadCount,
        of_type: usize,
    ) -> Arc<Received> {
        let mut all = self.received.borrow_mut();
        // A process may use any number of ring buffers one after the other.
        if all.len() == all.capacity() {
            let mut others = self.others.borrow_mut();
            for ended in all.extract_if(.., |one| one.has_ended()) {
                others.entry(ended.sender).or_default().add(ended.sent());
            }
            let left = all.len();
            all.reserve(left + 1);
        }
        let received = Arc::new(Received {
            sender: sender_of(origin),
            before: AtomicU64::new(read.load(sync::Ordering::Relaxed) as u64),
            read: Arc::clone(read),
            of_type: of_type as u64,
            more: AtomicU64::new(0),
            messages: OnceLock::new(),
        });
        all.push(Arc::clone(&received));
        received
    }

    /// Counts an item that the process has read, whose origin has no bytes in the transport.
    #[inline(always)]
    pub(crate) fn count<T: Item>(&self, origin: Origin, item: &T) {
        if self.first.origin.get() == origin {
            return self.first.count(item);
        }
        let slot = &self.slots[origin.number() as usize % SLOTS];
        if slot.origin.get() == origin {
            slot.count(item)
        } else {
            self.make_room(slot, origin, size_of::<T>()).count(item)
        }
    }

    /// Returns the numbers of messages and bytes of all senders.
    pub(crate) fn sum(&self) -> (u64, u64) {
        let mut sum = Sent::default();
        self.by_sender().values().for_each(|sent| sum.add(*sent));
        (sum.messages, sum.bytes)
    }

    fn by_sender(&self) -> BTreeMap<u32, Sent> {
        let mut all = self.others.borrow().clone();
        for slot in self.slots.iter().chain([&self.first]) {
            let sender = sender_of(slot.origin.get());
            all.entry(sender).or_default().add(slot.sent());
        }
        for received in self.received.borrow().iter() {
            all.entry(received.sender).or_default().add(received.sent());
        }
        all
    }

    #[cold]
    #[inline(never)]
    fn make_room<'a>(&'a self, slot: &'a Slot, origin: Origin, of_type: usize) -> &'a Slot {
        let slot = match self.first.messages.get() {
            0 => &self.first,
            _ => slot,
        };
        let before = sender_of(slot.origin.replace(origin));
        let mut others = self.others.borrow_mut();
        others.entry(before).or_default().add(slot.sent());
        slot.messages.set(0);
        slot.of_type.set(of_type as u32);
        slot.more.set(0);
        slot
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        self.counting.add(self);
    }
}

/// The name of the party that stands for a unit in which no process has begun.
const NO_PROCESS: &str = "no process";

/// The place of a process in the order of [`Flows`]: its unit, and its index in the unit. The unit
/// of an added process is the number of the call that added it. Larger numbers are no units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    pub unit: u32,
    pub index: u32,
}

impl Rank {
    pub(crate) const MAIN: Self = Self {
        unit: 1 << 31,
        index: 0,
    };
    const OUTSIDE: Self = Self {
        unit: u32::MAX,
        index: 0,
    };

    /// Returns the rank of the process `number`, which was not added before the run.
    pub(crate) fn of_started(number: u32) -> Self {
        Self {
            unit: (1 << 30) + number,
            index: 0,
        }
    }
}

struct Member {
    rank: Rank,
    name: String,
    at: Option<Processor>,
}

#[derive(Default)]
struct State {
    /// By their numbers as senders.
    members: BTreeMap<u32, Member>,
    /// The SPE of each unit. `None` in an [`OpenNetwork`](crate::OpenNetwork), where each process
    /// is a unit.
    units: Option<Vec<SpeId>>,
    /// The numbers as senders, by the numbers in the network.
    senders: BTreeMap<u32, u32>,
    /// What went from a process (the first number) to another.
    sent: BTreeMap<(u32, u32), Sent>,
}

/// What goes from process to process in a network that counts.
#[derive(Default)]
pub(crate) struct Counting(Mutex<State>);

impl Counting {
    /// Sets the SPE of each unit, when the network begins to run.
    pub(crate) fn set_units(&self, spes: Vec<SpeId>) {
        locked(&self.0).units = Some(spes);
    }

    /// Adds the process `number` of the network.
    pub(crate) fn began(&self, tally: &Tally, number: u32, rank: Rank, name: &str, at: Processor) {
        let member = Member {
            rank,
            name: name.to_owned(),
            at: Some(at),
        };
        let mut state = locked(&self.0);
        state.members.insert(tally.sender, member);
        state.senders.insert(number, tally.sender);
    }

    /// Returns the number as a sender of the process `number` of the network.
    pub(crate) fn sender_of(&self, number: u32) -> Option<u32> {
        locked(&self.0).senders.get(&number).copied()
    }

    fn add(&self, tally: &Tally) {
        let mut state = locked(&self.0);
        for (sender, sent) in tally.by_sender() {
            if sent.messages > 0 {
                let between = (sender, tally.sender);
                state.sent.entry(between).or_default().add(sent);
            }
        }
    }

    /// Adds an item that a task outside the machine has read.
    #[cfg(feature = "async")]
    pub(crate) fn add_outside(&self, sender: Option<u32>, bytes: usize) {
        let sent = Sent {
            messages: 1,
            bytes: bytes as u64,
        };
        let between = (sender.unwrap_or(OUTSIDE), OUTSIDE);
        locked(&self.0).sent.entry(between).or_default().add(sent);
    }

    fn flows(&self) -> Flows {
        let state = locked(&self.0);
        let known = |number: u32| {
            if state.members.contains_key(&number) {
                number
            } else {
                // A process of an earlier network, or a thread outside the machine.
                OUTSIDE
            }
        };
        let outside = Member {
            rank: Rank::OUTSIDE,
            name: OUTSIDE_NAME.to_owned(),
            at: None,
        };
        let mut ends = state.sent.keys().flat_map(|(from, to)| [*from, *to]);
        let has_outside = ends.any(|number| known(number) == OUTSIDE);
        let begun: BTreeSet<u32> = state.members.values().map(|one| one.rank.unit).collect();
        let units = (0..).zip(state.units.iter().flatten());
        let empty: Vec<Member> = units
            .filter(|(unit, _)| !begun.contains(unit))
            .map(|(unit, at)| Member {
                rank: Rank { unit, index: 0 },
                name: NO_PROCESS.to_owned(),
                at: Some(Processor::Spe(*at)),
            })
            .collect();
        let mut members: Vec<(Option<u32>, &Member)> = state
            .members
            .iter()
            .map(|(number, member)| (Some(*number), member))
            .collect();
        members.extend(empty.iter().map(|member| (None, member)));
        members.extend(has_outside.then_some((Some(OUTSIDE), &outside)));
        members.sort_by_key(|(_, member)| member.rank);
        let places: BTreeMap<u32, usize> = (0..)
            .zip(&members)
            .filter_map(|(at, (number, _))| Some(((*number)?, at)))
            .collect();
        let flows = state.sent.iter().map(|((from, to), sent)| Flow {
            from: places[&known(*from)],
            to: places[&known(*to)],
            messages: sent.messages,
            bytes: sent.bytes,
        });
        let units = state.units.as_ref().map_or(0, Vec::len);
        let is_added = |member: &Member| (member.rank.unit as usize) < units;
        let added = members
            .iter()
            .filter(|(_, member)| is_added(member))
            .count();
        let unit_of = |at: usize, member: &Member| {
            if is_added(member) {
                member.rank.unit as usize
            } else {
                units + at - added
            }
        };
        let parties = (0..).zip(&members).map(|(at, (_, member))| Party {
            name: member.name.clone(),
            at: member.at,
            unit: unit_of(at, member),
        });
        let flows = Flows::new(parties.collect(), flows);
        match &state.units {
            Some(units) => flows.with_units(units.len()),
            None => flows,
        }
    }
}

/// What has gone from process to process in a network: see
/// [`Network::count_volumes`](crate::Network::count_volumes).
#[derive(Clone)]
pub struct Counted(pub(crate) Arc<Counting>);

impl Counted {
    /// Returns what the processes that have ended have read. After the run these are all processes,
    /// also if the run has failed, except those of [gates](crate::Gate): what a thread has read
    /// through a gate counts when its process is dropped, which may be after the run. An async end
    /// that a task first uses after the run counts nothing. Before the run there are none.
    ///
    /// Parties are in the order in which processes and groups were added to the network. Then come
    /// processes that a [`Starter`](crate::Starter) has started, `main`, and one party `outside`
    /// for all gates, if one of them has written or read an item. Items that an earlier network
    /// left in a channel come from `outside`, too.
    ///
    /// The unit of a process is the number of the call that added it, from 0 on: see
    /// [`Network::place`](crate::Network::place). A group in which no process has begun is one
    /// party `no process`. The units of started processes, `main` and `outside` come
    /// after these, and cannot be placed. In an [`OpenNetwork`](crate::OpenNetwork), each process
    /// has a unit of its own.
    pub fn flows(&self) -> Flows {
        self.0.flows()
    }
}

impl std::fmt::Debug for Counted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&self.flows(), f)
    }
}
