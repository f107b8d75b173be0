//! The buffer of a channel with one writer and one reader: they use it without the channel's lock as long as nobody waits.
//!
//! ```text
//!   writer, or reader                          whoever has the channel's lock
//!   is busy                                    the side is to take the lock
//!   light barrier                              heavy barrier
//!   is to take the lock? ── yes ─► not busy,   waits until the side is not busy
//!     no: puts or takes items      the lock    from here on the side comes only with the lock
//!   not busy
//! ```
//!
//! Either the side sees that it is to take the lock, or who has the lock sees that the side is busy. So whoever is going to
//! wait, to list a guard or to end the channel first [excludes](Ring::exclude) the other side, and looks once more. When the
//! lock is given back and there is no reason left, the sides are [let in](Ring::let_in) again.
//!
//! A side is known by its OS thread and process, and takes the lock when these change. Where both are of one OS thread no
//! barrier is needed.

use std::cell::Cell;
use std::collections::VecDeque;
use std::mem::MaybeUninit;

use cellworks_machine::barrier;
use crossbeam_utils::CachePadded;

use crate::core::Side;
use crate::parcel::{Origin, Parcel};
use crate::sync::{Arc, AtomicBool, AtomicUsize, Backoff, Ordering, UnsafeCell, spin};

/// Larger buffers are not worth having all their memory at once.
const MOST_BYTES: usize = 1 << 20;

/// How often a side looks for the other one, on another OS thread, before it takes the lock to wait.
const LOOKS: u32 = 64;

/// The most pauses before the first of them. Two sides that keep up with each other hand over cache lines for each item, which
/// takes longer than the item: so who has found something at the first look waits longer the next time, for more items at once.
const MOST_PATIENCE: u32 = 16;

/// Who uses a side: an OS thread, and a process there. 0 and 0 is nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub thread: usize,
    pub process: u32,
}

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
    /// How many items it has written or read, all in all. The other side looks at it, so it has a line of its own.
    count: CachePadded<AtomicUsize>,
    is_busy: AtomicBool,
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

// SAFETY: slots and `others` are accessed by one at a time, see the module: the side while it is busy and was let in, or who
// has the lock, as the methods ask for. `patience` is its side's alone, and there is one end of each side, which is borrowed
// exclusively by who uses it. Items go from one process to another, which they may if they are `Send`.
unsafe impl<T: Send> Sync for Ring<T> {}
// SAFETY: it owns items that may be sent.
unsafe impl<T: Send> Send for Ring<T> {}

impl End {
    fn new() -> CachePadded<Self> {
        CachePadded::new(Self {
            count: CachePadded::new(AtomicUsize::new(0)),
            is_busy: AtomicBool::new(false),
            others: Cell::new(0),
            patience: Cell::new(1),
        })
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

/// A side is busy as long as this lives.
struct Busy<'a>(&'a End);

impl Drop for Busy<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.0.is_busy.store(false, Ordering::Release);
    }
}

impl<T> Ring<T> {
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

    /// Makes a side busy, if it need not take the lock.
    #[inline(always)]
    fn enter<'a>(&self, gate: &Gate, end: &'a End, user: User) -> Option<Busy<'a>> {
        if !gate.is_of(user) {
            return None;
        }
        end.is_busy.store(true, Ordering::Relaxed);
        let busy = Busy(end);
        barrier::light();
        (!gate.takes_lock.load(Ordering::Acquire)).then_some(busy)
    }

    /// Room for the writer, which is busy: at least one, if there is any.
    #[inline(always)]
    fn room(&self, written: usize) -> usize {
        let end = &*self.writer;
        let room = |read| self.capacity.saturating_sub(written.wrapping_sub(read));
        let known = room(end.others.get());
        if known > 0 {
            return known;
        }
        end.others.set(self.reader.count.load(Ordering::Acquire));
        room(end.others.get())
    }

    /// Items for the reader, which is busy: at least one, if there is any.
    #[inline(always)]
    fn items(&self, read: usize) -> usize {
        let end = &*self.reader;
        let items = end.others.get().wrapping_sub(read);
        // The copy lies behind if the reader has taken items with the lock.
        if (1..=self.capacity).contains(&items) {
            return items;
        }
        end.others.set(self.writer.count.load(Ordering::Acquire));
        end.others.get().wrapping_sub(read)
    }

    /// Puts an item, if there is room and the writer need not take the lock.
    #[inline(always)]
    pub(crate) fn put(&self, user: User, item: T) -> Result<(), T> {
        let Some(_busy) = self.enter(&self.writer_gate, &self.writer, user) else {
            return Err(item);
        };
        let written = self.writer.count.load(Ordering::Relaxed);
        if self.room(written) == 0 {
            return Err(item);
        }
        // SAFETY: the writer is busy and was let in, and there is room: nobody else accesses this slot.
        self.slot(written)
            .with_mut(|slot| unsafe { slot.write(MaybeUninit::new(item)) });
        self.writer
            .count
            .store(written.wrapping_add(1), Ordering::Release);
        Ok(())
    }

    /// Puts as many items as there is room for, from the front, unless the writer has to take the lock.
    pub(crate) fn put_many(&self, user: User, items: &mut VecDeque<T>) {
        let Some(_busy) = self.enter(&self.writer_gate, &self.writer, user) else {
            return;
        };
        let written = self.writer.count.load(Ordering::Relaxed);
        let mut room = self.room(written);
        if room < items.len() {
            self.writer
                .others
                .set(self.reader.count.load(Ordering::Acquire));
            room = self.room(written);
        }
        let put = room.min(items.len());
        for (index, item) in items.drain(..put).enumerate() {
            let slot = self.slot(written.wrapping_add(index));
            // SAFETY: as in `put`.
            slot.with_mut(|slot| unsafe { slot.write(MaybeUninit::new(item)) });
        }
        self.writer
            .count
            .store(written.wrapping_add(put), Ordering::Release);
    }

    /// Takes an item, if there is one and the reader need not take the lock.
    #[inline(always)]
    pub(crate) fn take(&self, user: User) -> Option<T> {
        let _busy = self.enter(&self.reader_gate, &self.reader, user)?;
        let read = self.reader.count.load(Ordering::Relaxed);
        if self.items(read) == 0 {
            return None;
        }
        // SAFETY: the reader is busy and was let in, and there is an item: nobody else accesses this slot, which is read once.
        let item = self
            .slot(read)
            .with_mut(|slot| unsafe { slot.read().assume_init() });
        self.reader
            .count
            .store(read.wrapping_add(1), Ordering::Release);
        Some(item)
    }

    /// Takes up to `most` items, unless the reader has to take the lock. Hands each to `take`, which must not unwind.
    #[inline(always)]
    pub(crate) fn take_many(&self, user: User, most: usize, mut take: impl FnMut(T)) -> usize {
        let Some(_busy) = self.enter(&self.reader_gate, &self.reader, user) else {
            return 0;
        };
        let read = self.reader.count.load(Ordering::Relaxed);
        let mut items = self.items(read);
        if items < most {
            self.reader
                .others
                .set(self.writer.count.load(Ordering::Acquire));
            items = self.items(read);
        }
        let taken = items.min(most);
        for index in 0..taken {
            let slot = self.slot(read.wrapping_add(index));
            // SAFETY: as in `take`.
            take(slot.with_mut(|slot| unsafe { slot.read().assume_init() }));
        }
        self.reader
            .count
            .store(read.wrapping_add(taken), Ordering::Release);
        taken
    }

    /// Waits actively, for a moment, until there is something for a side to do; not if the other side is of the same OS
    /// thread, or something else is to be done first. Says whether to try again.
    #[cold]
    pub(crate) fn is_worth_another_try(&self, side: Side, user: User) -> bool {
        let (gate, end) = self.gate(side);
        let (other, _) = self.gate(side.other());
        let thread = other.thread.load(Ordering::Relaxed);
        if thread == 0 || thread == user.thread || !gate.is_of(user) {
            return false;
        }
        let patience = end.patience.get();
        (0..patience).for_each(|_| spin());
        for look in 0..LOOKS {
            if gate.takes_lock.load(Ordering::Relaxed) {
                return false;
            }
            let items = self.len();
            if side == Side::Reader && items > 0 || side == Side::Writer && items < self.capacity {
                let next = if look == 0 {
                    2 * patience
                } else {
                    patience / 2
                };
                end.patience.set(next.clamp(1, MOST_PATIENCE));
                return true;
            }
            spin();
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

    /// Has a side take the lock from now on, and waits until what it does without is done. `thread` is the caller's.
    pub(crate) fn exclude(&self, side: Side, thread: usize) {
        let (gate, end) = self.gate(side);
        gate.takes_lock.store(true, Ordering::SeqCst);
        let its = gate.thread.load(Ordering::Relaxed);
        // Nobody: the first one will take the lock. Of this OS thread: it is not in the middle of anything, and whoever uses
        // the end on another one takes the lock first.
        if its == 0 || its == thread {
            return;
        }
        barrier::heavy();
        let backoff = Backoff::new();
        while end.is_busy.load(Ordering::Acquire) {
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

/// What a channel has accepted and nobody has read; under its lock.
pub(crate) enum Buffer<T> {
    Queue(VecDeque<Parcel<T>>),
    /// One process writes, and one reads. The other side may be using it, unless it is excluded.
    Ring {
        ring: Arc<Ring<T>>,
        /// Where the item in each place waits, if processors share no memory: then the sides come with the lock only.
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

#[cfg(all(test, loom))]
mod models {
    use loom::sync::Mutex;
    use loom::thread;

    use super::*;

    const WRITER: User = User {
        thread: 1,
        process: 1,
    };
    const READER: User = User {
        thread: 2,
        process: 2,
    };

    /// A ring, with what a channel has under its lock: whether it was poisoned, and whether the reader waits.
    struct Model {
        ring: Arc<Ring<u32>>,
        locked: Mutex<Locked>,
        served: AtomicBool,
    }

    struct Locked {
        buffer: Buffer<u32>,
        is_poisoned: bool,
        reader_waits: bool,
        writer_waits: Option<u32>,
    }

    fn parcel(item: u32) -> Parcel<u32> {
        let origin = Origin::default();
        Parcel { item, origin }
    }

    impl Model {
        fn new(capacity: usize) -> Arc<Self> {
            let ring = Arc::new(Ring::new(capacity).unwrap());
            ring.register(Side::Writer, WRITER);
            ring.register(Side::Reader, READER);
            let locked = Locked {
                buffer: Buffer::of_ring(&ring),
                is_poisoned: false,
                reader_waits: false,
                writer_waits: None,
            };
            Arc::new(Self {
                ring,
                locked: Mutex::new(locked),
                served: AtomicBool::new(false),
            })
        }

        fn unlock(&self, locked: &Locked) {
            if !locked.is_poisoned {
                let writer_waits = locked.writer_waits.is_some();
                self.ring.let_in(!locked.reader_waits, !writer_waits);
            }
        }

        /// Says whether the item was accepted. Nobody waits for room.
        fn write(&self, item: u32) -> bool {
            let Err(back) = self.ring.put(WRITER, item) else {
                return true;
            };
            let mut locked = self.locked.lock().unwrap();
            if locked.is_poisoned {
                return false;
            }
            locked.buffer.push_back(parcel(back));
            if std::mem::take(&mut locked.reader_waits) {
                self.served.store(true, Ordering::Release);
            }
            self.unlock(&locked);
            true
        }

        /// Waits until there is an item, or the channel is poisoned.
        fn read(&self) -> Option<u32> {
            if let Some(item) = self.ring.take(READER) {
                return Some(item);
            }
            loop {
                let mut locked = self.locked.lock().unwrap();
                if locked.is_poisoned {
                    return None;
                }
                let mut found = locked.buffer.pop_front();
                if found.is_none() {
                    self.ring.exclude(Side::Writer, READER.thread);
                    found = locked.buffer.pop_front();
                }
                if let Some(parcel) = found {
                    if let Some(next) = locked.writer_waits.take() {
                        // Before the writer goes on.
                        locked.buffer.push_back(super::models::parcel(next));
                        self.served.store(true, Ordering::Release);
                    }
                    self.unlock(&locked);
                    return Some(parcel.item);
                }
                locked.reader_waits = true;
                drop(locked);
                while !self.served.load(Ordering::Acquire) {
                    thread::yield_now();
                }
                self.served.store(false, Ordering::Relaxed);
            }
        }

        fn poison(&self, thread: usize) -> Vec<u32> {
            let mut locked = self.locked.lock().unwrap();
            self.ring.exclude(Side::Writer, thread);
            self.ring.exclude(Side::Reader, thread);
            locked.is_poisoned = true;
            if std::mem::take(&mut locked.reader_waits) {
                self.served.store(true, Ordering::Release);
            }
            std::iter::from_fn(|| locked.buffer.pop_front())
                .map(|parcel| parcel.item)
                .collect()
        }
    }

    /// Most schedules differ by what they interrupt at most three times.
    fn check(model: impl Fn() + Sync + Send + 'static) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(model);
    }

    #[test]
    fn a_reader_that_waits_hears_of_every_item() {
        check(|| {
            let model = Model::new(2);
            let writer = {
                let model = Arc::clone(&model);
                thread::spawn(move || (1..=2).for_each(|item| assert!(model.write(item))))
            };
            assert_eq!([model.read(), model.read()], [Some(1), Some(2)]);
            writer.join().unwrap();
        });
    }

    #[test]
    fn items_are_read_or_given_to_a_reader_that_poisons_or_back_to_the_writer() {
        check(|| {
            let model = Model::new(2);
            let writer = {
                let model = Arc::clone(&model);
                thread::spawn(move || {
                    (1..=2)
                        .filter(|item| !model.write(*item))
                        .collect::<Vec<_>>()
                })
            };
            let mut items = Vec::from_iter(model.read());
            items.extend(model.poison(READER.thread));
            items.extend(writer.join().unwrap());
            assert_eq!(items, [1, 2]);
        });
    }

    #[test]
    fn items_are_read_or_given_to_a_writer_that_poisons() {
        check(|| {
            let model = Model::new(2);
            let reader = {
                let model = Arc::clone(&model);
                thread::spawn(move || std::iter::from_fn(|| model.read()).collect::<Vec<_>>())
            };
            assert!(model.write(1) && model.write(2));
            let unread = model.poison(WRITER.thread);
            let mut items = reader.join().unwrap();
            items.extend(unread);
            assert_eq!(items, [1, 2]);
        });
    }

    #[test]
    fn what_a_writer_waits_with_is_put_before_what_it_writes_next() {
        check(|| {
            let model = Model::new(1);
            let writer = {
                let model = Arc::clone(&model);
                thread::spawn(move || {
                    assert!(model.write(1));
                    if let Err(back) = model.ring.put(WRITER, 2) {
                        let mut locked = model.locked.lock().unwrap();
                        model.ring.exclude(Side::Reader, WRITER.thread);
                        if locked.buffer.len() == 0 {
                            locked.buffer.push_back(parcel(back));
                            model.unlock(&locked);
                        } else {
                            locked.writer_waits = Some(back);
                            drop(locked);
                            while !model.served.load(Ordering::Acquire) {
                                thread::yield_now();
                            }
                        }
                    }
                })
            };
            // The reader does not wait, as this model has one place for who was served.
            let mut items = Vec::new();
            while items.len() < 2 {
                let mut next = model.ring.take(READER);
                if next.is_none() {
                    let mut locked = model.locked.lock().unwrap();
                    next = locked.buffer.pop_front().map(|parcel| parcel.item);
                    if next.is_some()
                        && let Some(waiting) = locked.writer_waits.take()
                    {
                        locked.buffer.push_back(parcel(waiting));
                        model.served.store(true, Ordering::Release);
                    }
                    model.unlock(&locked);
                }
                items.extend(next);
                thread::yield_now();
            }
            assert_eq!(items, [1, 2]);
            writer.join().unwrap();
        });
    }
}
