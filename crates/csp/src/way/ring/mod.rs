//! The ring buffer of a channel with one writer and one reader. These two *sides* of the channel
//! use the ring buffer without the channel's lock as long as no process waits.
//!
//! ```text
//!   a side: the writer or the reader            a process with the channel's lock
//!   1. becomes busy                             1. sets `takes_lock` of the side
//!   2. executes the light barrier               2. executes the heavy barrier
//!   3. reads its `takes_lock`                   3. waits until the side is not busy
//!      true: becomes not busy, takes the lock
//!      false: puts or takes items, and adds them to its count: not busy
//! ```
//!
//! Because of the two barriers, either the side reads `takes_lock` as true, or the process with the
//! lock sees that the side is busy. A process [excludes](Ring::exclude) the other side in this way
//! before it waits, lists a guard of an alternation or ends the channel, and then checks the ring
//! buffer again. [`Ring::let_in`] ends the exclusion.
//!
//! After the OS thread or the process of a side has changed, the side takes the lock once, to
//! [register](buffer::Buffer::register) the change. Two sides on one OS thread need no barrier.
//!
//! If the network [counts](crate::counting), the items of a writer have its origin, and the count
//! of the reader also tells how many items of an origin a process has read: see [`origins`]. If the
//! origin changes, the reader takes the lock for each item from before the change.
//!
//! Read this file first, then `buffer` (a ring buffer, or a queue under the lock) and `origins`.

pub(crate) mod buffer;
mod origins;

use std::cell::Cell;
use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::{ptr, slice};

use crossbeam_utils::CachePadded;

use crate::channel::link::Side;
use crate::counting::{ReadCount, Received};
use crate::ends::item::Item;
use crate::process::place::Place;
use crate::process::{Process, User};
use crate::sync::{
    Arc, AtomicBool, AtomicU64, AtomicUsize, Backoff, Ordering, UnsafeCell, barrier, spin,
};

/// The largest ring buffer, in bytes. All slots are allocated at once. A larger buffer is a
/// [`Queue`](buffer::Buffer::Queue), which is used under the lock.
const MOST_BYTES: usize = 1 << 20;

/// The number of times that the writer or the reader polls the count of the other side before it
/// takes the lock and waits. Two in loom, because more polls would only repeat the same steps.
const POLLS: u32 = if cfg!(loom) { 2 } else { 64 };

/// The largest number of pauses before a poll. A side that has found few items pauses, so that the
/// next poll finds more: each poll moves a cache line between cores, which takes longer than all
/// other work for an item. On the Zen 4 of docs/performance.md, a pause takes 26 ns, and the work
/// for an item takes 4 ns.
const MOST_PATIENCE: u32 = 16;

/// After this many items of a ring buffer, a process lets the other processes of its core run once.
/// A power of two. Smaller for other channels (`process::TURN`), because their items take more
/// time.
const TURN: usize = 256;

/// The memory for one item, which one thread at a time accesses.
type Slot<T> = UnsafeCell<MaybeUninit<T>>;

/// A buffer of a fixed number of items.
pub(crate) struct Ring<T> {
    /// The slots. Their number is a power of two, and at least `capacity`.
    slots: Box<[Slot<T>]>,
    capacity: usize,
    /// The number of items that the writer has written. On a cache line of its own, because the
    /// other side polls this number.
    written: CachePadded<AtomicUsize>,
    /// The number of items that the reader has read.
    read: ReadCount,
    writer: CachePadded<End>,
    reader: CachePadded<End>,
    writer_gate: CachePadded<Gate>,
    reader_gate: CachePadded<Gate>,
}

/// The data of the writer or the reader that change with each item, without the lock.
struct End {
    /// The count of this side plus one while the side is busy. The store that raises the count also
    /// ends the busy state, because the count plus one is then greater than `intent`. A second
    /// store would have to wait for the store to the slot.
    intent: AtomicUsize,
    /// The count that this side last read from the other side. Only this side uses this field.
    others: Cell<usize>,
    /// The number of pauses before the next poll. Only this side uses this field.
    patience: Cell<u32>,
    /// What the reader reads without the lock, if the network counts. Only the reader uses this
    /// field and the next one.
    received: Cell<Option<std::sync::Arc<Received>>>,
    /// The `changes` of the [`Gate`] of the writer with which `received` was chosen.
    seen: Cell<usize>,
}

/// The data of the writer or the reader that change under the channel's lock: whether this side
/// must take the lock, and its OS thread and process, which are 0 before its first use.
struct Gate {
    takes_lock: AtomicBool,
    thread: AtomicUsize,
    process: AtomicU64,
    /// How often the origin of the writer's items has changed. A reader that finds a change takes
    /// the lock until it has read all items from before the change.
    changes: AtomicUsize,
}

// SAFETY: only one thread at a time accesses a slot. Either it uses a side that is busy and has
// then read `takes_lock` as false, or it has the channel's lock and meets the conditions in the
// comment of the method. Only the registered user of a side uses its `others`, `patience`,
// `received` and `seen`. Items are `Send`.
unsafe impl<T: Send> Sync for Ring<T> {}
// SAFETY: a ring owns its items, and the items are `Send`.
unsafe impl<T: Send> Send for Ring<T> {}

impl End {
    fn new() -> CachePadded<Self> {
        CachePadded::new(Self {
            intent: AtomicUsize::new(0),
            others: Cell::new(0),
            patience: Cell::new(0),
            received: Cell::new(None),
            seen: Cell::new(0),
        })
    }
}

impl Gate {
    fn new() -> CachePadded<Self> {
        CachePadded::new(Self {
            takes_lock: AtomicBool::new(false),
            thread: AtomicUsize::new(0),
            process: AtomicU64::new(0),
            changes: AtomicUsize::new(0),
        })
    }

    #[inline(always)]
    fn is_of(&self, user: User) -> bool {
        self.thread.load(Ordering::Relaxed) == user.thread
            && self.process.load(Ordering::Relaxed) == user.process
    }
}

/// The busy state of a side, which ends with [`done`](Self::done) or when this value is dropped.
struct Busy<'a> {
    end: &'a End,
    counter: &'a AtomicUsize,
    count: usize,
}

impl Busy<'_> {
    /// Counts `items` (at least 1) as written or read, which ends the busy state.
    #[inline(always)]
    fn done(self, items: usize) {
        let count = self.count.wrapping_add(items);
        self.counter.store(count, Ordering::Release);
        std::mem::forget(self);
    }
}

impl Drop for Busy<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.end.intent.store(self.count, Ordering::Release);
    }
}

impl<T> Ring<T> {
    /// The distance, in items, at which a reader prefetches slots. Reading this many items takes
    /// about as long as moving a cache line.
    const ITEMS_AHEAD: usize = match size_of::<T>() {
        0 => 1,
        bytes => 256_usize.div_ceil(bytes),
    };

    /// Makes a ring buffer for `capacity` items. Returns `None` if `capacity` is 0 or too large.
    pub(crate) fn new(capacity: usize) -> Option<Self> {
        let slots = capacity.checked_next_power_of_two()?;
        // At least 1, because the loop below takes time for each slot.
        let bytes = slots.checked_mul(size_of::<Slot<T>>().max(1))?;
        (capacity > 0 && bytes <= MOST_BYTES).then(|| Self {
            slots: (0..slots)
                .map(|_| Slot::new(MaybeUninit::uninit()))
                .collect(),
            capacity,
            written: CachePadded::new(AtomicUsize::new(0)),
            read: ReadCount::default(),
            writer: End::new(),
            reader: End::new(),
            writer_gate: Gate::new(),
            reader_gate: Gate::new(),
        })
    }

    #[inline(always)]
    fn gate(&self, side: Side) -> (&Gate, &End) {
        match side {
            Side::Reader => (&self.reader_gate, &self.reader),
            Side::Writer => (&self.writer_gate, &self.writer),
        }
    }

    /// Returns the number of items that the side has written or read.
    #[inline(always)]
    fn counter(&self, side: Side) -> &AtomicUsize {
        match side {
            Side::Reader => &self.read,
            Side::Writer => &self.written,
        }
    }

    #[inline(always)]
    fn index(&self, count: usize) -> usize {
        count & (self.slots.len() - 1)
    }

    #[inline(always)]
    fn slot(&self, count: usize) -> &Slot<T> {
        // SAFETY: the number of slots is a power of two, so the mask keeps the index inside.
        unsafe { self.slots.get_unchecked(self.index(count)) }
    }

    /// Returns the slots for `items` items, beginning with the item number `count`. The second
    /// slice has the slots that wrap around to the start of `slots`.
    #[inline(always)]
    fn parts(&self, count: usize, items: usize) -> [&[Slot<T>]; 2] {
        let (before, from) = self.slots.split_at(self.index(count));
        let first = items.min(from.len());
        [&from[..first], &before[..items - first]]
    }

    /// Makes the writer or the reader busy. Returns `None` if this side must take the lock.
    #[inline(always)]
    fn enter(&self, side: Side, user: User) -> Option<Busy<'_>> {
        let (gate, end) = self.gate(side);
        if !gate.is_of(user) {
            return None;
        }
        let counter = self.counter(side);
        let count = counter.load(Ordering::Relaxed);
        // `Release`, because a thread in `is_busy` may load this `intent` and an older `count`.
        // These two do not match, so the thread finds the side not busy, and must see all earlier
        // stores of the side.
        end.intent.store(count.wrapping_add(1), Ordering::Release);
        let busy = Busy {
            end,
            counter,
            count,
        };
        barrier::light();
        (!gate.takes_lock.load(Ordering::Acquire)).then_some(busy)
    }

    /// Returns how many free slots a writer finds, or how many items a reader finds.
    #[inline(always)]
    fn found(&self, side: Side, count: usize, others: usize) -> usize {
        match side {
            Side::Writer => self.capacity.saturating_sub(count.wrapping_sub(others)),
            Side::Reader => others.wrapping_sub(count),
        }
    }

    /// Returns [`found`](Self::found) for the count that was last read from the other side.
    #[inline(always)]
    fn known(&self, side: Side, count: usize) -> usize {
        let (_, end) = self.gate(side);
        let known = self.found(side, count, end.others.get());
        // If the reader has taken items under the lock, its count may be above `others`, and the
        // difference wraps around to more than `capacity`.
        if known <= self.capacity { known } else { 0 }
    }

    /// Returns how many free slots a busy writer finds, or how many items a busy reader finds.
    /// Polls the other side before it returns 0.
    #[inline(always)]
    fn available(&self, side: Side, count: usize) -> usize {
        match self.known(side, count) {
            0 => self.poll_patiently(side, count),
            known => known,
        }
    }

    /// Returns the same as [`available`](Self::available), but polls for a newer number if the
    /// known number is below `most`.
    fn available_for(&self, side: Side, count: usize, most: usize) -> usize {
        match self.known(side, count) {
            0 => self.poll_patiently(side, count),
            known if known < most => self.poll(side, count),
            known => known,
        }
    }

    /// Reads the count of the other side, and returns how many slots or items this side finds.
    fn poll(&self, side: Side, count: usize) -> usize {
        let ((_, end), (other, _)) = (self.gate(side), self.gate(side.other()));
        let others = self.counter(side.other()).load(Ordering::Acquire);
        // After the count, so that the reader sees the changes before the items that it finds.
        if side == Side::Reader && other.changes.load(Ordering::Relaxed) != end.seen.get() {
            return 0;
        }
        end.others.set(others);
        self.found(side, count, others)
    }

    /// Calls [`poll`](Self::poll), after some pauses if earlier polls have found few items.
    #[cold]
    fn poll_patiently(&self, side: Side, count: usize) -> usize {
        let ((gate, end), (other, _)) = (self.gate(side), self.gate(side.other()));
        let patience = end.patience.get();
        for _ in 0..patience {
            if gate.takes_lock.load(Ordering::Relaxed) {
                break;
            }
            spin();
        }
        let found = self.poll(side, count);
        let is_alone = other.thread.load(Ordering::Relaxed) == gate.thread.load(Ordering::Relaxed);
        end.patience.set(if is_alone {
            0
        } else if (1..=self.capacity / 4).contains(&found) {
            (2 * patience).clamp(1, MOST_PATIENCE)
        } else if found == 0 || found > self.capacity / 2 {
            patience / 2
        } else {
            patience
        });
        found
    }

    /// Calls [`Process::end_turn`] after every [`TURN`] items of a side.
    #[inline(always)]
    fn count_communication<P: Place>(&self, side: Side, process: &Process<'_, P>) {
        let count = self.counter(side).load(Ordering::Relaxed);
        if count.is_multiple_of(TURN) {
            process.end_turn();
        }
    }

    /// Puts an item into the ring buffer, or returns it if there is no room or the lock is needed.
    #[inline(always)]
    pub(crate) fn put(&self, user: User, item: T) -> Result<(), T> {
        let Some(busy) = self.enter(Side::Writer, user) else {
            return Err(item);
        };
        if self.available(Side::Writer, busy.count) == 0 {
            return Err(item);
        }
        // SAFETY: `enter` has made the writer busy and has read `takes_lock` as false, and the slot
        // is free, so no other thread accesses this slot.
        self.slot(busy.count)
            .with_mut(|slot| unsafe { slot.write(MaybeUninit::new(item)) });
        busy.done(1);
        Ok(())
    }

    /// Moves items from `items` into the ring buffer until the buffer is full or `items` is empty.
    /// Moves no item if the lock is needed.
    pub(crate) fn put_many(&self, user: User, items: &mut VecDeque<T>) {
        let Some(busy) = self.enter(Side::Writer, user) else {
            return;
        };
        let room = self.available_for(Side::Writer, busy.count, items.len());
        let put = room.min(items.len());
        if put == 0 {
            return;
        }
        let (first, second) = items.as_slices();
        let mut from = first.iter().chain(second);
        for part in self.parts(busy.count, put) {
            for (slot, item) in part.iter().zip(&mut from) {
                let item = ptr::from_ref(item).cast::<MaybeUninit<T>>();
                // SAFETY: as in `put`. The original item is forgotten below. Until then the
                // copy is not a `T`, because two copies of a box, for example, are not allowed.
                slot.with_mut(|slot| unsafe { slot.write(item.read()) });
            }
        }
        items.drain(..put).for_each(std::mem::forget);
        busy.done(put);
    }

    /// Counts the bytes of items that the registered reader has taken, if the network counts. The
    /// compiler leaves out this function for items of which each has the bytes of its type.
    #[inline(always)]
    fn count_bytes(&self, items: &[T])
    where
        T: Item,
    {
        // SAFETY: only a reader that registers changes the field. A ring has one reader, and the
        // caller has borrowed its end mutably, also while an item counts its bytes, so no other
        // reader can register meanwhile. Other processes that take items under the lock end what
        // the reader reads (`end_receiving`), and do not change this field.
        if let Some(received) = unsafe { &*self.reader.received.as_ptr() } {
            items.iter().for_each(|item| received.add_bytes(item));
        }
    }

    /// Takes an item. Returns `None` if there is no item or the reader must take the lock.
    #[inline(always)]
    pub(crate) fn take(&self, user: User) -> Option<T>
    where
        T: Item,
    {
        let busy = self.enter(Side::Reader, user)?;
        if self.available(Side::Reader, busy.count) == 0 {
            return None;
        }
        prefetch_to_read(self.slot(busy.count.wrapping_add(Self::ITEMS_AHEAD)));
        // SAFETY: `enter` has made the reader busy and has read `takes_lock` as false, and the slot
        // holds an item, so no other thread accesses this slot. The item is read once.
        let item = self
            .slot(busy.count)
            .with_mut(|slot| unsafe { slot.read().assume_init() });
        busy.done(1);
        self.count_bytes(slice::from_ref(&item));
        Some(item)
    }

    /// Moves up to `most` items into `items`, which must have room, and returns their number.
    pub(crate) fn take_many(&self, user: User, most: usize, items: &mut Vec<T>) -> usize
    where
        T: Item,
    {
        let Some(busy) = self.enter(Side::Reader, user) else {
            return 0;
        };
        let there = self.available_for(Side::Reader, busy.count, most);
        let taken = there.min(most);
        if taken == 0 {
            return 0;
        }
        let len = items.len();
        let mut to = items.spare_capacity_mut()[..taken].iter_mut();
        for part in self.parts(busy.count, taken) {
            for (slot, place) in part.iter().zip(&mut to) {
                // SAFETY: as in `take`.
                slot.with_mut(|slot| unsafe { *place = slot.read() });
            }
        }
        // SAFETY: the loop above has written `taken` items after the first `len` items.
        unsafe { items.set_len(len + taken) };
        busy.done(taken);
        self.count_bytes(&items[len..]);
        taken
    }

    /// Polls at most [`POLLS`] times for room (as the writer) or an item (as the reader), and
    /// returns whether the side has found room or an item. Returns false at once if the other side
    /// is on the same OS thread, or if this side must take the lock.
    #[cold]
    pub(crate) fn is_worth_another_try(&self, side: Side, user: User) -> bool {
        let (gate, _) = self.gate(side);
        let (other, _) = self.gate(side.other());
        let thread = other.thread.load(Ordering::Relaxed);
        if thread == 0 || thread == user.thread || !gate.is_of(user) {
            return false;
        }
        let count = self.counter(side).load(Ordering::Relaxed);
        let mut found = self.poll_patiently(side, count);
        for _ in 0..POLLS {
            if gate.takes_lock.load(Ordering::Relaxed) {
                return false;
            }
            if found > 0 {
                return true;
            }
            spin();
            found = self.poll(side, count);
        }
        false
    }

    /// Returns how many items the ring buffer holds at some moment during the call.
    pub(crate) fn len(&self) -> usize {
        let read = self.read.load(Ordering::Acquire);
        self.written
            .load(Ordering::Acquire)
            .wrapping_sub(read)
            .min(self.capacity)
    }

    // The callers of the methods below have the channel's lock.

    fn register(&self, side: Side, user: User) {
        let (gate, _) = self.gate(side);
        gate.thread.store(user.thread, Ordering::Relaxed);
        gate.process.store(user.process, Ordering::Relaxed);
    }

    /// Makes a side take the lock, and waits until the side is not busy. `thread` is the OS thread
    /// of the caller.
    pub(crate) fn exclude(&self, side: Side, thread: usize) {
        let (gate, _) = self.gate(side);
        gate.takes_lock.store(true, Ordering::Relaxed);
        let its = gate.thread.load(Ordering::Relaxed);
        // A side without a user is not busy. A side with a user on this OS thread is not busy
        // either, because threads are not switched while a side is busy. A later user on another OS
        // thread first takes the lock.
        if its == 0 || its == thread {
            return;
        }
        barrier::heavy();
        let backoff = Backoff::new();
        while self.is_busy(side) {
            backoff.snooze();
        }
    }

    /// Returns whether the side is busy. The caller has executed the heavy barrier, so a side that
    /// becomes busy later reads `takes_lock` as true.
    fn is_busy(&self, side: Side) -> bool {
        let (_, end) = self.gate(side);
        let count = self.counter(side).load(Ordering::Acquire);
        end.intent.load(Ordering::Acquire) == count.wrapping_add(1)
    }

    /// Lets the writer, the reader or both use the ring buffer without the lock.
    pub(crate) fn let_in(&self, writer: bool, reader: bool) {
        for (is_let_in, gate) in [(writer, &self.writer_gate), (reader, &self.reader_gate)] {
            if is_let_in && gate.takes_lock.load(Ordering::Relaxed) {
                gate.takes_lock.store(false, Ordering::Release);
            }
        }
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        let mut read = self.read.load(Ordering::Acquire);
        let written = self.written.load(Ordering::Acquire);
        while read != written {
            // SAFETY: the slots between the two counts hold items, and no other reference is left.
            self.slot(read)
                .with_mut(|slot| unsafe { (*slot).assume_init_drop() });
            read = read.wrapping_add(1);
        }
    }
}

/// Puts an item into the ring buffer, or returns it if there is no ring buffer or no room.
#[inline(always)]
pub(super) fn write<T, P: Place>(
    ring: Option<&Arc<Ring<T>>>,
    process: &Process<'_, P>,
    item: T,
) -> Result<(), T> {
    let (Some(ring), Some(user)) = (ring, process.user()) else {
        return Err(item);
    };
    let mut item = item;
    loop {
        item = match ring.put(user, item) {
            Ok(()) => {
                ring.count_communication(Side::Writer, process);
                return Ok(());
            }
            Err(back) => back,
        };
        if !ring.is_worth_another_try(Side::Writer, user) {
            return Err(item);
        }
    }
}

/// Moves items into the ring buffer, as [`write()`] does. Items that do not fit stay in `items`.
pub(super) fn write_many<T, P: Place>(
    ring: Option<&Arc<Ring<T>>>,
    process: &Process<'_, P>,
    items: &mut VecDeque<T>,
) {
    if let (Some(ring), Some(user)) = (ring, process.user()) {
        process.count_communication();
        ring.put_many(user, items);
        while !items.is_empty() && ring.is_worth_another_try(Side::Writer, user) {
            ring.put_many(user, items);
        }
    }
}

/// Takes an item out of the ring buffer, or returns `None` if there is no ring buffer or no item.
#[inline(always)]
pub(super) fn read<T: Item, P: Place>(
    ring: Option<&Arc<Ring<T>>>,
    process: &Process<'_, P>,
) -> Option<T> {
    let (ring, user) = (ring?, process.user()?);
    loop {
        if let Some(item) = ring.take(user) {
            ring.count_communication(Side::Reader, process);
            return Some(item);
        }
        if !ring.is_worth_another_try(Side::Reader, user) {
            return None;
        }
    }
}

/// Prefetches a cache line for reading.
#[inline(always)]
fn prefetch_to_read<T>(at: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch accesses no memory.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(at).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::thread;

    use super::*;

    const WRITER: User = User {
        thread: 1,
        process: 1,
    };
    const READER: User = User {
        thread: 2,
        process: 2,
    };

    fn ring(capacity: usize) -> Ring<Box<u64>> {
        let ring = Ring::new(capacity).unwrap();
        ring.register(Side::Writer, WRITER);
        ring.register(Side::Reader, READER);
        ring.let_in(true, true);
        ring
    }

    /// Items are boxed, so that a lost item is a leak, and an item read twice is a double free.
    #[test]
    fn items_go_from_one_os_thread_to_another_in_order() {
        const ITEMS: u64 = 300;
        for capacity in [1, 3, 8] {
            let ring = ring(capacity);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let mut items: VecDeque<_> = (0..ITEMS).map(Box::new).collect();
                    while let Some(item) = items.pop_front() {
                        if let Err(back) = ring.put(WRITER, item) {
                            items.push_front(back);
                        }
                        ring.put_many(WRITER, &mut items);
                        thread::yield_now();
                    }
                });
                let mut items = Vec::with_capacity(ITEMS as usize);
                while items.len() < ITEMS as usize {
                    items.extend(ring.take(READER));
                    let left = ITEMS as usize - items.len();
                    ring.take_many(READER, left.min(2), &mut items);
                    thread::yield_now();
                }
                assert!(items.into_iter().map(|item| *item).eq(0..ITEMS));
            });
        }
    }

    #[test]
    fn items_are_in_the_ring_or_still_the_writers_when_it_has_been_excluded() {
        const ITEMS: u64 = 20;
        for pause in 0..10 {
            let ring = ring(4);
            let mut taken = Vec::new();
            let kept = thread::scope(|scope| {
                let writer = scope.spawn(|| {
                    let mut items: VecDeque<_> = (0..ITEMS).map(Box::new).collect();
                    while let Some(item) = items.pop_front() {
                        if let Err(back) = ring.put(WRITER, item) {
                            items.push_front(back);
                            if ring.writer_gate.takes_lock.load(Ordering::Relaxed) {
                                break;
                            }
                        }
                        thread::yield_now();
                    }
                    items
                });
                for _ in 0..pause {
                    taken.extend(ring.take(READER));
                    thread::yield_now();
                }
                ring.exclude(Side::Writer, READER.thread);
                // From now on the writer puts nothing into the ring buffer.
                taken.extend(std::iter::from_fn(|| ring.take(READER)));
                writer.join().unwrap()
            });
            assert!(taken.into_iter().chain(kept).map(|item| *item).eq(0..ITEMS));
        }
    }

    #[test]
    fn items_that_were_not_taken_are_dropped_with_the_ring() {
        let item = std::rc::Rc::new(());
        let ring = Ring::new(4).unwrap();
        ring.register(Side::Writer, WRITER);
        for _ in 0..3 {
            assert!(ring.put(WRITER, item.clone()).is_ok());
        }
        drop(ring);
        assert_eq!(std::rc::Rc::strong_count(&item), 1);
    }
}
