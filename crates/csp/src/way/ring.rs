//! The buffer of a channel with one writer and one reader: they use it without the channel's lock
//! as long as no process waits.
//!
//! ```text
//!   writer, or reader                          whoever has the channel's lock
//!   intends one more: is busy                  the side is to take the lock
//!   light barrier                              heavy barrier
//!   is to take the lock? ── yes ─► not busy,   waits until the side is not busy
//!     no: puts or takes items      the lock    from here on the side comes only with the lock
//!   counts them: not busy
//! ```
//!
//! Either the side sees that it is to take the lock, or who has the lock sees that the side is
//! busy. So a process that is going to wait, to list a guard or to end the channel first
//! [excludes](Ring::exclude) the other side, and polls once more. When the lock is given back and
//! there is no reason left, the sides are [let in](Ring::let_in) again.
//!
//! A side is known by its OS thread and process, and takes the lock when these change. Where both
//! are of one OS thread no barrier is needed.

use std::cell::Cell;
use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::ptr;

use crossbeam_utils::CachePadded;

use crate::parcel::{Origin, Parcel};
use crate::place::Place;
use crate::prefetch;
use crate::process::{Process, TURN};
use crate::side::{Side, User};
use crate::sync::{Arc, AtomicBool, AtomicUsize, Backoff, Ordering, UnsafeCell, barrier, spin};

/// Larger buffers are not worth having all their memory at once.
const MOST_BYTES: usize = 1 << 20;

/// How often a side polls for the other one, on another OS thread, before it takes the lock to
/// wait. Loom tries each look in every schedule, and all but the first are alike.
const LOOKS: u32 = if cfg!(loom) { 2 } else { 64 };

/// The most pauses before a look of a side that finds little each time. Two sides that keep up with
/// each other hand over cache lines for each item, which takes longer than the item; so such a side
/// waits a little longer the next time, for more items at once. A pause takes 26 ns on the Zen 4 of
/// docs/performance.md, and an item 4.
const MOST_PATIENCE: u32 = 16;

/// Room for an item, accessed by one side at a time.
type Slot<T> = UnsafeCell<MaybeUninit<T>>;

/// A buffer of a fixed number of items.
pub(crate) struct Ring<T> {
    /// A power of two of them, and at least as many as items.
    slots: Box<[Slot<T>]>,
    capacity: usize,
    writer: CachePadded<End>,
    reader: CachePadded<End>,
    writer_gate: CachePadded<Gate>,
    reader_gate: CachePadded<Gate>,
}

/// What one side changes all the time.
struct End {
    /// How many items it has written or read, all in all. The other side polls at it, so it has a
    /// line of its own.
    count: CachePadded<AtomicUsize>,
    /// One more than `count` while the side is busy. So what makes `count` larger ends that, too,
    /// without a store of its own: stores queue behind those that wait for a line of slots, and few
    /// of them do so for long.
    intent: AtomicUsize,
    /// The count of the other side, when it was last looked at. Only for the side itself.
    others: Cell<usize>,
    /// For how many pauses to wait before a look. Only for the side itself.
    patience: Cell<u32>,
}

/// What others say to a side.
struct Gate {
    takes_lock: AtomicBool,
    thread: AtomicUsize,
    process: AtomicUsize,
}

// SAFETY: slots are accessed by one at a time, see the module: the side while it is busy and was
// let in, or who has the lock, as the methods ask for. `others` and `patience` are their side's
// alone, and there is one end of each side, which is borrowed exclusively by who uses it. Items go
// from one process to another, which they may if they are `Send`.
unsafe impl<T: Send> Sync for Ring<T> {}
// SAFETY: it owns items that may be sent.
unsafe impl<T: Send> Send for Ring<T> {}

impl End {
    fn new() -> CachePadded<Self> {
        CachePadded::new(Self {
            count: CachePadded::new(AtomicUsize::new(0)),
            intent: AtomicUsize::new(0),
            others: Cell::new(0),
            patience: Cell::new(0),
        })
    }

    /// For who has seen to it by a barrier that this side is busy with what it began before, or
    /// with nothing.
    fn is_busy(&self) -> bool {
        let count = self.count.load(Ordering::Acquire);
        self.intent.load(Ordering::Acquire) == count.wrapping_add(1)
    }
}

impl Gate {
    fn new() -> CachePadded<Self> {
        CachePadded::new(Self {
            takes_lock: AtomicBool::new(false),
            thread: AtomicUsize::new(0),
            process: AtomicUsize::new(0),
        })
    }

    #[inline(always)]
    fn is_of(&self, user: User) -> bool {
        self.thread.load(Ordering::Relaxed) == user.thread
            && self.process.load(Ordering::Relaxed) == user.process as usize
    }
}

/// A side is busy until this is [done](Self::done) or dropped.
struct Busy<'a> {
    end: &'a End,
    /// How many items the side has written or read before.
    count: usize,
}

impl Busy<'_> {
    /// So many items were written or read, at least one.
    #[inline(always)]
    fn done(self, items: usize) {
        let count = self.count.wrapping_add(items);
        self.end.count.store(count, Ordering::Release);
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
    /// How far ahead the reader asks for slots: what it does until then takes about as long as a
    /// line on its way.
    const ITEMS_AHEAD: usize = match size_of::<T>() {
        0 => 1,
        bytes => 256_usize.div_ceil(bytes),
    };

    /// A ring for so many items, if it is worth having one.
    pub(crate) fn new(capacity: usize) -> Option<Self> {
        let slots = capacity.checked_next_power_of_two()?;
        let bytes = slots.checked_mul(size_of::<Slot<T>>() + size_of::<Origin>())?;
        (capacity > 0 && bytes <= MOST_BYTES).then(|| Self {
            slots: (0..slots)
                .map(|_| Slot::new(MaybeUninit::uninit()))
                .collect(),
            capacity,
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

    /// Where an item is that so many were written before.
    #[inline(always)]
    fn index(&self, count: usize) -> usize {
        count & (self.slots.len() - 1)
    }

    #[inline(always)]
    fn slot(&self, count: usize) -> &Slot<T> {
        // SAFETY: the number of slots is a power of two, so the mask keeps the index inside.
        unsafe { self.slots.get_unchecked(self.index(count)) }
    }

    /// The slots of `items` items from `count` on, of which the first part may reach the end of
    /// the ring.
    #[inline(always)]
    fn parts(&self, count: usize, items: usize) -> [&[Slot<T>]; 2] {
        let (before, from) = self.slots.split_at(self.index(count));
        let first = items.min(from.len());
        [&from[..first], &before[..items - first]]
    }

    /// Makes a side busy, if it need not take the lock.
    #[inline(always)]
    fn enter<'a>(&self, gate: &Gate, end: &'a End, user: User) -> Option<Busy<'a>> {
        if !gate.is_of(user) {
            return None;
        }
        let count = end.count.load(Ordering::Relaxed);
        // Released, as it also says that what it did before is done, to who has looked at `count`
        // before that was.
        end.intent.store(count.wrapping_add(1), Ordering::Release);
        let busy = Busy { end, count };
        barrier::light();
        (!gate.takes_lock.load(Ordering::Acquire)).then_some(busy)
    }

    /// What a side finds if the other one has got to `others`: room for the writer, or items for
    /// the reader.
    #[inline(always)]
    fn found(&self, side: Side, own: usize, others: usize) -> usize {
        match side {
            Side::Writer => self.capacity.saturating_sub(own.wrapping_sub(others)),
            Side::Reader => others.wrapping_sub(own),
        }
    }

    /// What a side knows of without a look at the other one.
    #[inline(always)]
    fn known(&self, side: Side, own: usize) -> usize {
        let (_, end) = self.gate(side);
        let known = self.found(side, own, end.others.get());
        // The copy lies behind if the reader has taken items with the lock.
        if known <= self.capacity { known } else { 0 }
    }

    /// Room for the writer or items for the reader, which is busy: at least one, if there is any.
    #[inline(always)]
    fn available(&self, side: Side, own: usize) -> usize {
        match self.known(side, own) {
            0 => self.look_patiently(side, own),
            known => known,
        }
    }

    /// As [`available`](Self::available), for so many.
    fn available_for(&self, side: Side, own: usize, most: usize) -> usize {
        match self.known(side, own) {
            0 => self.look_patiently(side, own),
            known if known < most => self.look(side, own),
            known => known,
        }
    }

    /// Looks how far the other side has got.
    fn look(&self, side: Side, own: usize) -> usize {
        let ((_, end), (_, other)) = (self.gate(side), self.gate(side.other()));
        end.others.set(other.count.load(Ordering::Acquire));
        self.found(side, own, end.others.get())
    }

    /// As [`look`](Self::look), but if the last polls have found something and yet little, waits a
    /// moment before it.
    #[cold]
    fn look_patiently(&self, side: Side, own: usize) -> usize {
        let ((gate, end), (others, _)) = (self.gate(side), self.gate(side.other()));
        let patience = end.patience.get();
        for _ in 0..patience {
            if gate.takes_lock.load(Ordering::Relaxed) {
                break;
            }
            spin();
        }
        let found = self.look(side, own);
        let is_alone = others.thread.load(Ordering::Relaxed) == gate.thread.load(Ordering::Relaxed);
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

    /// As [`Process::count_communication`]: here the items of the side are counted, which it does
    /// anyway.
    #[inline(always)]
    fn count_communication<P: Place>(&self, side: Side, process: &Process<'_, P>) {
        let (_, end) = self.gate(side);
        if end.count.load(Ordering::Relaxed) % TURN == TURN - 1 {
            process.end_turn();
        }
    }

    /// Puts an item, if there is room and the writer need not take the lock.
    #[inline(always)]
    pub(crate) fn put(&self, user: User, item: T) -> Result<(), T> {
        let Some(busy) = self.enter(&self.writer_gate, &self.writer, user) else {
            return Err(item);
        };
        if self.available(Side::Writer, busy.count) == 0 {
            return Err(item);
        }
        // SAFETY: the writer is busy and was let in, and there is room: no other thread accesses
        // this slot.
        self.slot(busy.count)
            .with_mut(|slot| unsafe { slot.write(MaybeUninit::new(item)) });
        busy.done(1);
        Ok(())
    }

    /// Puts as many items as there is room for, from the front, unless the writer has to take the
    /// lock.
    pub(crate) fn put_many(&self, user: User, items: &mut VecDeque<T>) {
        let Some(busy) = self.enter(&self.writer_gate, &self.writer, user) else {
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
                // SAFETY: as in `put`; the item is forgotten below. It is copied as bytes: as a `T`
                // it would be two, of which one is used after the other, and a box is the only way
                // to what is in it.
                slot.with_mut(|slot| unsafe { slot.write(item.read()) });
            }
        }
        items.drain(..put).for_each(std::mem::forget);
        busy.done(put);
    }

    /// Takes an item, if there is one and the reader need not take the lock.
    #[inline(always)]
    pub(crate) fn take(&self, user: User) -> Option<T> {
        let busy = self.enter(&self.reader_gate, &self.reader, user)?;
        if self.available(Side::Reader, busy.count) == 0 {
            return None;
        }
        prefetch::to_read(self.slot(busy.count.wrapping_add(Self::ITEMS_AHEAD)));
        // SAFETY: the reader is busy and was let in, and there is an item: no other thread accesses
        // this slot, which is read once.
        let item = self
            .slot(busy.count)
            .with_mut(|slot| unsafe { slot.read().assume_init() });
        busy.done(1);
        Some(item)
    }

    /// Takes up to `most` items, unless the reader has to take the lock, and appends them to
    /// `items`, which has room for them.
    pub(crate) fn take_many(&self, user: User, most: usize, items: &mut Vec<T>) -> usize {
        let Some(busy) = self.enter(&self.reader_gate, &self.reader, user) else {
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
        // SAFETY: so many were put there.
        unsafe { items.set_len(len + taken) };
        busy.done(taken);
        taken
    }

    /// Waits actively, for a moment, until there is something for a side to do; not if the other
    /// side is of the same OS thread, or something else is to be done first. Says whether to try
    /// again.
    #[cold]
    pub(crate) fn is_worth_another_try(&self, side: Side, user: User) -> bool {
        let (gate, end) = self.gate(side);
        let (other, _) = self.gate(side.other());
        let thread = other.thread.load(Ordering::Relaxed);
        if thread == 0 || thread == user.thread || !gate.is_of(user) {
            return false;
        }
        let own = end.count.load(Ordering::Relaxed);
        let mut found = self.look_patiently(side, own);
        for _ in 0..LOOKS {
            if gate.takes_lock.load(Ordering::Relaxed) {
                return false;
            }
            if found > 0 {
                return true;
            }
            spin();
            found = self.look(side, own);
        }
        false
    }

    /// How many items there are, at some moment.
    pub(crate) fn len(&self) -> usize {
        let read = self.reader.count.load(Ordering::Acquire);
        self.writer
            .count
            .load(Ordering::Acquire)
            .wrapping_sub(read)
            .min(self.capacity)
    }

    // What follows is for whoever has the channel's lock.

    /// From now on a side is used by `user`.
    pub(crate) fn register(&self, side: Side, user: User) {
        let (gate, _) = self.gate(side);
        gate.thread.store(user.thread, Ordering::Relaxed);
        gate.process.store(user.process as usize, Ordering::Relaxed);
    }

    /// Has a side take the lock from now on, and waits until what it does without is done. `thread`
    /// is the caller's.
    pub(crate) fn exclude(&self, side: Side, thread: usize) {
        let (gate, end) = self.gate(side);
        gate.takes_lock.store(true, Ordering::Relaxed);
        let its = gate.thread.load(Ordering::Relaxed);
        // No thread yet: the first one will take the lock. Of this OS thread: it is not in the
        // middle of anything, and a process that uses the end on another one takes the lock first.
        if its == 0 || its == thread {
            return;
        }
        barrier::heavy();
        let backoff = Backoff::new();
        while end.is_busy() {
            backoff.snooze();
        }
    }

    /// Lets sides in without the lock, or leaves them as they are.
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
        let mut read = self.reader.count.load(Ordering::Acquire);
        let written = self.writer.count.load(Ordering::Acquire);
        while read != written {
            // SAFETY: between the counts there are items, and nobody else is left.
            self.slot(read)
                .with_mut(|slot| unsafe { (*slot).assume_init_drop() });
            read = read.wrapping_add(1);
        }
    }
}

/// Puts an item into the ring, if the channel has one with room, or room comes soon. Else gives it
/// back.
#[inline(always)]
pub(super) fn write<T, P: Place>(
    ring: Option<&Arc<Ring<T>>>,
    process: &Process<'_, P>,
    item: T,
) -> Result<(), T> {
    let (Some(ring), Some(user)) = (ring, process.user()) else {
        return Err(item);
    };
    ring.count_communication(Side::Writer, process);
    let mut item = item;
    loop {
        item = match ring.put(user, item) {
            Ok(()) => return Ok(()),
            Err(back) => back,
        };
        if !ring.is_worth_another_try(Side::Writer, user) {
            return Err(item);
        }
    }
}

/// As [`write()`], for several items: those for which there is no room stay in `items`.
pub(crate) fn write_many<T, P: Place>(
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

/// Takes an item out of the ring, if the channel has one and an item is there, or comes soon.
#[inline(always)]
pub(super) fn read<T, P: Place>(
    ring: Option<&Arc<Ring<T>>>,
    process: &Process<'_, P>,
) -> Option<T> {
    let (ring, user) = (ring?, process.user()?);
    ring.count_communication(Side::Reader, process);
    loop {
        let item = ring.take(user);
        if item.is_some() || !ring.is_worth_another_try(Side::Reader, user) {
            return item;
        }
    }
}

/// What a channel has accepted and nobody has read; under its lock.
pub(crate) enum Buffer<T> {
    Queue(VecDeque<Parcel<T>>),
    /// One process writes, and one reads. The other side may be using it, unless it is excluded.
    Ring {
        ring: Arc<Ring<T>>,
        /// Where the item in each place waits, if processors share no memory: then the sides come
        /// with the lock only.
        origins: Box<[Origin]>,
    },
}

impl<T> Buffer<T> {
    pub(crate) fn of_ring(ring: &Arc<Ring<T>>) -> Self {
        Self::Ring {
            ring: Arc::clone(ring),
            origins: vec![Origin::default(); ring.slots.len()].into(),
        }
    }

    pub(crate) fn ring(&self) -> Option<&Arc<Ring<T>>> {
        match self {
            Self::Queue(_) => None,
            Self::Ring { ring, .. } => Some(ring),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Queue(queue) => queue.len(),
            Self::Ring { ring, .. } => ring.len(),
        }
    }

    /// For the writer, or on behalf of one that waits: there is room.
    pub(crate) fn push_back(&mut self, parcel: Parcel<T>) {
        match self {
            Self::Queue(queue) => queue.push_back(parcel),
            Self::Ring { ring, origins } => {
                let written = ring.writer.count.load(Ordering::Relaxed);
                let slot = ring.slot(written);
                origins[ring.index(written)] = parcel.origin;
                // SAFETY: there is room, and the writer is the caller, or waits.
                slot.with_mut(|slot| unsafe { slot.write(MaybeUninit::new(parcel.item)) });
                ring.writer
                    .count
                    .store(written.wrapping_add(1), Ordering::Release);
            }
        }
    }

    /// For the reader, or when it is excluded.
    pub(crate) fn pop_front(&mut self) -> Option<Parcel<T>> {
        match self {
            Self::Queue(queue) => queue.pop_front(),
            Self::Ring { ring, origins } => {
                let read = ring.reader.count.load(Ordering::Relaxed);
                if ring.writer.count.load(Ordering::Acquire) == read {
                    return None;
                }
                // SAFETY: there is an item, and the reader is the caller, or excluded.
                let item = ring
                    .slot(read)
                    .with_mut(|slot| unsafe { slot.read().assume_init() });
                ring.reader
                    .count
                    .store(read.wrapping_add(1), Ordering::Release);
                let origin = origins[ring.index(read)];
                Some(Parcel { item, origin })
            }
        }
    }
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

    /// A ring that both sides may use without the lock.
    fn ring(capacity: usize) -> Ring<Box<u64>> {
        let ring = Ring::new(capacity).unwrap();
        ring.register(Side::Writer, WRITER);
        ring.register(Side::Reader, READER);
        ring.let_in(true, true);
        ring
    }

    /// Items are boxed: what was lost is a leak, and what was had twice is freed twice.
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
                // From now on the writer puts nothing into the ring.
                taken.extend(std::iter::from_fn(|| ring.take(READER)));
                writer.join().unwrap()
            });
            assert!(taken.into_iter().chain(kept).map(|item| *item).eq(0..ITEMS));
        }
    }

    #[test]
    fn what_nobody_has_taken_is_dropped_with_the_ring() {
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
