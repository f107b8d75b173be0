//! The protocol of a channel: what a step of a reader, a writer or an alternation does, under the channel's lock.
//!
//! ```text
//!      writers that wait ──► buffer ──► readers that wait        a node each, on the stack of who waits
//!      guards that write ─┘         └─► guards that read         alternations that list the channel
//! ```
//!
//! | who comes | is served by | or else |
//! |---|---|---|
//! | writer | a reader that waits, a waiting alternation that reads, room in the buffer | waits |
//! | reader | the buffer (then the first writer that waits fills it up), a writer that waits, a waiting alternation that writes | waits |
//! | alternation, active | as the reader or writer that the guard is | looks at its next guard |
//!
//! Readers wait only while the buffer is empty, writers only while it is full. Whoever waits, and every item that becomes
//! ready, is made known to the alternations on the other side.

use std::collections::VecDeque;
use std::ptr;

use crate::end::Ended;
use crate::lock::Lock;
use crate::parcel::Parcel;
use crate::party::Guard;
use crate::pending;
use crate::place::Place;
use crate::process::{Process, Waiting};
use crate::ring::{Buffer, Ring};
use crate::sync::{Arc, AtomicU32, Ordering, UnsafeCell};
use crate::waker::{Waker, Woken};

/// A channel.
#[repr(C, align(64))]
pub(crate) struct Core<T, L> {
    lock: L,
    state: UnsafeCell<State<T>>,
    /// The buffer of a channel with one writer and one reader, which they use without the lock.
    ring: Option<Arc<Ring<T>>>,
}

// SAFETY: the state is accessed under the lock alone, which is `Sync` only if it keeps others out. Items, and pointers to
// nodes in frames of processes that wait, go from one process to another: items may if they are `Send`, nodes are
// accessed under the lock, or as `Node` says.
unsafe impl<T: Send, L: Sync> Sync for Core<T, L> {}
// SAFETY: as above.
unsafe impl<T: Send, L: Send> Send for Core<T, L> {}

/// What the lock protects. What changes all the time comes first, as two processors hand it to each other.
#[repr(C)]
pub(crate) struct State<T> {
    /// A rendezvous without guards that has not ended: nothing has to be looked at but who waits.
    is_plain: bool,
    ended: Option<Ended>,
    /// The processes that used the channel last, by their numbers, for the report of a deadlock.
    pub(crate) last_reader: Option<u32>,
    pub(crate) last_writer: Option<u32>,
    readers: Queue<T>,
    writers: Queue<T>,
    /// How many items it takes before somebody has to read one.
    capacity: usize,
    buffer: Buffer<T>,
    read_guards: Vec<Arc<Guard<T>>>,
    write_guards: Vec<Arc<Guard<T>>>,
    reader_ends: usize,
    writer_ends: usize,
}

/// What a writer meets.
pub(crate) enum Written<T> {
    /// The item has been accepted.
    Done(Woken),
    /// Nobody takes it now.
    Nobody(Parcel<T>),
    Ended(Parcel<T>, Ended),
}

/// What a reader meets.
pub(crate) enum Read<T> {
    Done(Parcel<T>, Woken),
    Nobody,
    Ended(Ended),
}

/// One of the two sides of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Reader,
    Writer,
}

/// Not in a queue, and was not since it was made.
const IDLE: u32 = 0;
const WAITS: u32 = 1;
const SERVED: u32 = 2;
const POISONED: u32 = 3;
const CLOSED: u32 = 4;

/// The place of a process that may have to wait at a channel: a variable of the call that waits, and nothing else's part, so
/// that there is no exclusive reference to it while others access it.
// Whoever serves it writes the item and the outcome, which should be one cache line.
#[repr(align(64))]
struct Node<T> {
    outcome: AtomicU32,
    /// Accessed under the channel's lock, as the next one.
    next: UnsafeCell<*const Node<T>>,
    previous: UnsafeCell<*const Node<T>>,
    /// The item that a writer has brought, or that a reader is given: under the lock while it waits, the process's own
    /// before and after that.
    parcel: UnsafeCell<Option<Parcel<T>>>,
    /// Written before it waits, read by who serves it.
    waker: UnsafeCell<Option<Waker>>,
}

impl<T> Node<T> {
    #[inline]
    fn new() -> Self {
        Self {
            outcome: AtomicU32::new(IDLE),
            next: UnsafeCell::new(ptr::null()),
            previous: UnsafeCell::new(ptr::null()),
            parcel: UnsafeCell::new(None),
            waker: UnsafeCell::new(None),
        }
    }

    /// Whether it was served. Its parcel is the process's own then.
    #[inline]
    fn is_served(&self) -> bool {
        self.outcome.load(Ordering::Acquire) > WAITS
    }
}

/// The processes that wait at one side of a channel, in the order in which they came.
struct Queue<T> {
    first: *const Node<T>,
    last: *const Node<T>,
}

impl<T> Queue<T> {
    const EMPTY: Self = Self {
        first: ptr::null(),
        last: ptr::null(),
    };

    /// # Safety
    ///
    /// The node is idle, and stays where it is until it is removed or served.
    #[inline(always)]
    unsafe fn push(&mut self, node: &Node<T>, waker: Waker, parcel: Option<Parcel<T>>) {
        node.outcome.store(WAITS, Ordering::Relaxed);
        // SAFETY: links are accessed under the lock, which the caller has, as there is a `&mut` of what it protects; nodes
        // in the queue are in their places. Nobody else knows this node yet.
        unsafe {
            node.waker.with_mut(|place| *place = Some(waker));
            node.parcel.with_mut(|place| *place = parcel);
            node.previous.with_mut(|place| *place = self.last);
            match self.last.as_ref() {
                Some(last) => last.next.with_mut(|place| *place = node),
                None => self.first = node,
            }
        }
        self.last = node;
    }

    /// # Safety
    ///
    /// The node is in this queue.
    #[inline(always)]
    unsafe fn remove(&mut self, node: &Node<T>) {
        // SAFETY: as in `push`.
        unsafe {
            let previous = node.previous.with_mut(|place| *place);
            let next = node.next.with_mut(|place| *place);
            match previous.as_ref() {
                Some(previous) => previous.next.with_mut(|place| *place = next),
                None => self.first = next,
            }
            match next.as_ref() {
                Some(next) => next.previous.with_mut(|place| *place = previous),
                None => self.last = previous,
            }
        }
    }

    /// Takes the process that has waited longest, and serves it: `exchange` gives it an item or takes its own, and then it
    /// goes on. Returns whom to wake.
    #[inline(always)]
    fn serve<R>(
        &mut self,
        outcome: u32,
        exchange: impl FnOnce(&mut Option<Parcel<T>>) -> R,
    ) -> Option<(R, Waker)> {
        // SAFETY: a node in the queue is in its place until it is removed, which is now, and its process does not go on
        // before the outcome is stored: nothing of it is accessed after that. Until then its parcel is the lock's.
        let node = unsafe { self.first.as_ref()? };
        // SAFETY: it is the first of the queue.
        unsafe { self.remove(node) };
        // SAFETY: see above.
        let result = node
            .parcel
            .with_mut(|place| exchange(unsafe { &mut *place }));
        // SAFETY: see above.
        let waker = node.waker.with_mut(|place| unsafe { *place });
        let waker = waker.expect("a process says whom to wake before it waits");
        node.outcome.store(outcome, Ordering::Release);
        Some((result, waker))
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.first.is_null()
    }
}

fn parcel_of<T>(parcel: &mut Option<Parcel<T>>) -> Parcel<T> {
    parcel.take().expect("a writer waits with its item")
}

impl<T> State<T> {
    #[inline(always)]
    fn mark_ready(guards: &[Arc<Guard<T>>], woken: &mut Woken) {
        for waker in guards.iter().filter_map(|guard| guard.mark_ready()) {
            woken.add(waker);
        }
    }

    /// A writer, or an alternation that writes and is active, brings an item.
    #[inline(always)]
    pub(crate) fn write(&mut self, mut parcel: Parcel<T>) -> Written<T> {
        if let Some(ended) = self.ended {
            return Written::Ended(parcel, ended);
        }
        if !self.readers.is_empty() {
            let served = self.readers.serve(SERVED, |place| *place = Some(parcel));
            let ((), waker) = served.expect("the queue is not empty");
            return Written::Done(Woken::One(waker));
        }
        // An alternation may have begun to wait, and not have looked again: what came before this item goes first.
        let is_next =
            self.read_guards.is_empty() || (self.buffer.is_empty() && self.writers.is_empty());
        for guard in self.read_guards.iter().filter(|_| is_next) {
            parcel = match guard.give(parcel) {
                Ok(waker) => return Written::Done(Woken::One(waker)),
                Err(parcel) => parcel,
            };
        }
        if self.buffer.len() < self.capacity {
            self.buffer.push_back(parcel);
            let mut woken = Woken::Nobody;
            Self::mark_ready(&self.read_guards, &mut woken);
            return Written::Done(woken);
        }
        Written::Nobody(parcel)
    }

    /// A reader, or an alternation that reads and is active, wants an item.
    #[inline(always)]
    pub(crate) fn read(&mut self) -> Read<T> {
        if let Some(parcel) = self.buffer.pop_front() {
            let mut woken = Woken::Nobody;
            // A closed channel accepts nothing, not even from an alternation that has not looked since then.
            if self.ended.is_none() {
                // Before the writer goes on, who may then use a ring without the lock.
                let accept = |next: &mut _| self.buffer.push_back(parcel_of(next));
                if let Some(((), waker)) = self.writers.serve(SERVED, accept) {
                    woken.add(waker);
                } else if let Some((next, waker)) = self.write_guards.iter().find_map(|g| g.take())
                {
                    self.buffer.push_back(next);
                    woken.add(waker);
                } else {
                    Self::mark_ready(&self.write_guards, &mut woken);
                }
            }
            return Read::Done(parcel, woken);
        }
        if let Some(ended) = self.ended {
            return Read::Ended(ended);
        }
        match self.take_from_writer() {
            Some((parcel, waker)) => Read::Done(parcel, Woken::One(waker)),
            None => Read::Nobody,
        }
    }

    /// Whether a reader may find something, if only that the channel has ended.
    pub(crate) fn may_be_read(&self) -> bool {
        let has_writers = !self.writers.is_empty() || !self.write_guards.is_empty();
        has_writers || !self.buffer.is_empty() || self.ended.is_some()
    }

    /// A process writes, whatever the channel is like, or begins to wait at `node`. If the channel has ended, the item is
    /// given back.
    ///
    /// # Safety
    ///
    /// As for [`Queue::push`].
    #[inline(never)]
    unsafe fn write_or_wait<P: Place>(
        &mut self,
        node: &Node<T>,
        process: &Process<'_, P>,
        parcel: Parcel<T>,
    ) -> (Woken, Option<(Parcel<T>, Ended)>) {
        if let (Some(ring), Some(user)) = (self.buffer.ring(), process.user()) {
            ring.register(Side::Writer, user);
        }
        let written = match self.write(parcel) {
            Written::Nobody(back) if self.exclude(Side::Reader) => self.write(back),
            written => written,
        };
        match written {
            Written::Done(woken) => (woken, None),
            Written::Ended(back, ended) => (Woken::Nobody, Some((back, ended))),
            Written::Nobody(back) => {
                // SAFETY: the caller's promise.
                unsafe { self.writers.push(node, process.waker(), Some(back)) };
                let mut woken = Woken::Nobody;
                Self::mark_ready(&self.read_guards, &mut woken);
                (woken, None)
            }
        }
    }

    /// A process reads, whatever the channel is like, or begins to wait at `node`.
    ///
    /// # Safety
    ///
    /// As for [`Queue::push`].
    #[inline(never)]
    unsafe fn read_or_wait<P: Place>(
        &mut self,
        node: &Node<T>,
        process: &Process<'_, P>,
    ) -> (Woken, Option<Result<Parcel<T>, Ended>>) {
        if let (Some(ring), Some(user)) = (self.buffer.ring(), process.user()) {
            ring.register(Side::Reader, user);
        }
        let read = match self.read() {
            Read::Nobody if self.exclude(Side::Writer) => self.read(),
            read => read,
        };
        match read {
            Read::Done(parcel, woken) => (woken, Some(Ok(parcel))),
            Read::Ended(ended) => (Woken::Nobody, Some(Err(ended))),
            Read::Nobody => {
                // SAFETY: the caller's promise.
                unsafe { self.readers.push(node, process.waker(), None) };
                let mut woken = Woken::Nobody;
                Self::mark_ready(&self.write_guards, &mut woken);
                (woken, None)
            }
        }
    }

    /// The item of somebody who waits to write.
    #[inline(always)]
    fn take_from_writer(&mut self) -> Option<(Parcel<T>, Waker)> {
        if let Some(served) = self.writers.serve(SERVED, parcel_of) {
            return Some(served);
        }
        // As in `write`: readers that came before go first.
        if !self.readers.is_empty() {
            return None;
        }
        self.write_guards.iter().find_map(|guard| guard.take())
    }

    /// Whether nothing is there that an alternation could find, other than another alternation.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.ended.is_none()
            && self.buffer.is_empty()
            && self.readers.is_empty()
            && self.writers.is_empty()
    }

    /// Everybody who waits goes on with `ended`, and later operations do. What is in the buffer stays.
    fn end(&mut self, ended: Ended) -> Woken {
        let mut woken = Woken::Nobody;
        if self.ended == Some(Ended::Poisoned) {
            return woken;
        }
        self.exclude(Side::Reader);
        self.exclude(Side::Writer);
        self.ended = Some(ended);
        self.note_whether_plain();
        let outcome = match ended {
            Ended::Poisoned => POISONED,
            Ended::Closed => CLOSED,
        };
        for queue in [&mut self.readers, &mut self.writers] {
            while let Some(((), waker)) = queue.serve(outcome, |_| ()) {
                woken.add(waker);
            }
        }
        for guards in [&self.read_guards, &self.write_guards] {
            Self::mark_ready(guards, &mut woken);
        }
        woken
    }

    /// Lets the sides use a ring without the lock, unless they have to serve or hear of somebody.
    fn let_in(&self) {
        if let Some(ring) = self.buffer.ring()
            && self.ended.is_none()
        {
            ring.let_in(
                self.readers.is_empty() && self.read_guards.is_empty(),
                self.writers.is_empty() && self.write_guards.is_empty(),
            );
        }
    }

    /// Has a side take the lock, if it could do without until now.
    fn exclude(&self, side: Side) -> bool {
        let ring = self.buffer.ring();
        ring.inspect(|ring| ring.exclude(side, pending::os_thread()))
            .is_some()
    }

    fn note_whether_plain(&mut self) {
        let has_guards = !self.read_guards.is_empty() || !self.write_guards.is_empty();
        self.is_plain = self.capacity == 0 && !has_guards && self.ended.is_none();
    }

    fn queue(&mut self, side: Side) -> &mut Queue<T> {
        match side {
            Side::Reader => &mut self.readers,
            Side::Writer => &mut self.writers,
        }
    }

    fn guards(&mut self, side: Side) -> &mut Vec<Arc<Guard<T>>> {
        match side {
            Side::Reader => &mut self.read_guards,
            Side::Writer => &mut self.write_guards,
        }
    }

    fn ends(&mut self, side: Side) -> &mut usize {
        match side {
            Side::Reader => &mut self.reader_ends,
            Side::Writer => &mut self.writer_ends,
        }
    }
}

impl Side {
    pub(crate) fn other(self) -> Self {
        match self {
            Self::Reader => Self::Writer,
            Self::Writer => Self::Reader,
        }
    }
}

/// The channel is locked as long as this lives.
pub(crate) struct Locked<'a, T, L: Lock>(&'a Core<T, L>);

impl<T, L: Lock> Drop for Locked<'_, T, L> {
    #[inline]
    fn drop(&mut self) {
        if !self.is_plain {
            self.let_in();
        }
        self.0.lock.unlock();
    }
}

impl<T, L: Lock> std::ops::Deref for Locked<'_, T, L> {
    type Target = State<T>;
    #[inline]
    fn deref(&self) -> &State<T> {
        // SAFETY: this has the lock.
        self.0.state.with_mut(|state| unsafe { &*state })
    }
}

impl<T, L: Lock> std::ops::DerefMut for Locked<'_, T, L> {
    #[inline]
    fn deref_mut(&mut self) -> &mut State<T> {
        // SAFETY: this has the lock.
        self.0.state.with_mut(|state| unsafe { &mut *state })
    }
}

/// A process may wait at a channel as long as this lives, in the frame of the call that waits: it leaves the queue when
/// that returns or unwinds.
struct InFrame<'a, T, L: Lock> {
    core: &'a Core<T, L>,
    side: Side,
    node: &'a Node<T>,
}

impl<T, L: Lock> Drop for InFrame<'_, T, L> {
    #[inline]
    fn drop(&mut self) {
        // Idle or served, mostly. Otherwise the run was cancelled.
        if self.node.outcome.load(Ordering::Acquire) == WAITS {
            let mut state = self.core.lock();
            if !self.node.is_served() {
                // SAFETY: nobody has served it, so it is still in the queue that it was pushed to.
                unsafe { state.queue(self.side).remove(self.node) };
            }
        }
    }
}

impl<T, L: Lock> InFrame<'_, T, L> {
    /// Waits until somebody has served the process. Returns the item that it has then.
    #[track_caller]
    #[inline(always)]
    fn wait<P: Place>(
        &self,
        process: &Process<'_, P>,
        why: &Waiting<'_>,
    ) -> (Option<Parcel<T>>, Option<Ended>) {
        process.wait_until(why, &mut || self.node.is_served());
        if !self.node.is_served() {
            // In a destructor, because the run was cancelled: what was to be written is given back.
            let mut state = self.core.lock();
            if !self.node.is_served() {
                // SAFETY: nobody has served it, so it is still in the queue that it was pushed to.
                unsafe { state.queue(self.side).remove(self.node) };
                self.node.outcome.store(CLOSED, Ordering::Relaxed);
            }
        }
        let ended = match self.node.outcome.load(Ordering::Acquire) {
            POISONED => Some(Ended::Poisoned),
            CLOSED => Some(Ended::Closed),
            _ => None,
        };
        // SAFETY: it was served, or removed.
        let parcel = self
            .node
            .parcel
            .with_mut(|place| unsafe { (*place).take() });
        (parcel, ended)
    }
}

impl<T, L: Lock> Core<T, L> {
    /// `is_one_to_one` if there is never more than one end of a side.
    pub(crate) fn new(capacity: usize, is_one_to_one: bool) -> Self {
        let ring = is_one_to_one.then(|| Ring::new(capacity)).flatten();
        let ring = ring.map(Arc::new);
        Self {
            lock: L::default(),
            state: UnsafeCell::new(State {
                is_plain: capacity == 0,
                ended: None,
                capacity,
                buffer: match &ring {
                    Some(ring) => Buffer::Ring(Arc::clone(ring)),
                    None => Buffer::Queue(VecDeque::new()),
                },
                readers: Queue::EMPTY,
                writers: Queue::EMPTY,
                read_guards: Vec::new(),
                write_guards: Vec::new(),
                reader_ends: 1,
                writer_ends: 1,
                last_reader: None,
                last_writer: None,
            }),
            ring,
        }
    }

    /// See [`Ring`]; `None` for other channels.
    #[inline(always)]
    pub(crate) fn ring(&self) -> Option<&Ring<T>> {
        self.ring.as_deref()
    }

    #[inline]
    pub(crate) fn lock(&self) -> Locked<'_, T, L> {
        self.lock.lock();
        Locked(self)
    }

    /// Writes an item: returns when a reader has it, or the buffer.
    // One call deep: each return after a switch of stacks is predicted wrongly.
    #[track_caller]
    #[inline(never)]
    pub(crate) fn write<P: Place>(
        &self,
        process: &Process<'_, P>,
        parcel: Parcel<T>,
        why: &Waiting<'_>,
    ) -> Result<(), (Parcel<T>, Ended)> {
        let mut parcel = Some(parcel);
        let mut refused = None;
        let node = Node::new();
        let frame = self.frame(Side::Writer, &node);
        process.perform(why, &mut || {
            let mut state = self.lock();
            state.last_writer = Some(process.number());
            if state.is_plain {
                let give = |place: &mut Option<Parcel<T>>| *place = parcel.take();
                if let Some(((), waker)) = state.readers.serve(SERVED, give) {
                    return Woken::One(waker);
                }
                // SAFETY: it is in the frame of this call, which it leaves only when it was served or removed.
                unsafe { state.writers.push(&node, process.waker(), parcel.take()) };
                return Woken::Nobody;
            }
            let brought = parcel.take().expect("a step is performed once");
            // SAFETY: as above.
            let (woken, given_back) = unsafe { state.write_or_wait(&node, process, brought) };
            refused = given_back;
            woken
        });
        if let Some(refused) = refused {
            return Err(refused);
        }
        if node.outcome.load(Ordering::Relaxed) == IDLE {
            return Ok(());
        }
        match frame.wait(process, why) {
            (Some(parcel), ended) => Err((parcel, ended.unwrap_or(Ended::Closed))),
            (None, _) => Ok(()),
        }
    }

    /// Reads an item: returns when there is one.
    // One call deep: each return after a switch of stacks is predicted wrongly.
    #[track_caller]
    #[inline(never)]
    pub(crate) fn read<P: Place>(
        &self,
        process: &Process<'_, P>,
        why: &Waiting<'_>,
    ) -> Result<Parcel<T>, Ended> {
        let mut found = None;
        let node = Node::new();
        let frame = self.frame(Side::Reader, &node);
        process.perform(why, &mut || {
            let mut state = self.lock();
            state.last_reader = Some(process.number());
            if state.is_plain {
                if let Some((parcel, waker)) = state.writers.serve(SERVED, parcel_of) {
                    found = Some(Ok(parcel));
                    return Woken::One(waker);
                }
                // SAFETY: it is in the frame of this call, which it leaves only when it was served or removed.
                unsafe { state.readers.push(&node, process.waker(), None) };
                return Woken::Nobody;
            }
            // SAFETY: as above.
            let (woken, what) = unsafe { state.read_or_wait(&node, process) };
            found = what;
            woken
        });
        if let Some(found) = found {
            return found;
        }
        let (parcel, ended) = frame.wait(process, why);
        parcel.ok_or(ended.unwrap_or(Ended::Closed))
    }

    #[inline]
    fn frame<'a>(&'a self, side: Side, node: &'a Node<T>) -> InFrame<'a, T, L> {
        InFrame {
            core: self,
            side,
            node,
        }
    }

    /// Ends the channel. Returns whom to wake, and, if it is poisoned, what nobody has read.
    pub(crate) fn end(&self, ended: Ended) -> (Woken, VecDeque<Parcel<T>>) {
        let mut state = self.lock();
        let woken = state.end(ended);
        let unread = match ended {
            // Both sides are excluded.
            Ended::Poisoned => std::iter::from_fn(|| state.buffer.pop_front()).collect(),
            Ended::Closed => VecDeque::new(),
        };
        (woken, unread)
    }

    /// One more end of a side.
    pub(crate) fn add_end(&self, side: Side) {
        *self.lock().ends(side) += 1;
    }

    /// One end less of a side. The last one closes the channel.
    pub(crate) fn drop_end(&self, side: Side) -> Woken {
        let mut state = self.lock();
        let ends = state.ends(side);
        *ends -= 1;
        if *ends == 0 && state.ended.is_none() {
            return state.end(Ended::Closed);
        }
        Woken::Nobody
    }

    /// Has an alternation know when the channel may be ready for it.
    pub(crate) fn add_guard(&self, side: Side, guard: &Arc<Guard<T>>) {
        let mut state = self.lock();
        state.exclude(side.other());
        let opposite = state.guards(side.other());
        for other in opposite.iter() {
            other.oppose();
            guard.oppose();
        }
        state.guards(side).push(Arc::clone(guard));
        state.note_whether_plain();
    }

    pub(crate) fn remove_guard(&self, side: Side, guard: &Arc<Guard<T>>) {
        let mut state = self.lock();
        state
            .guards(side)
            .retain(|other| !Arc::ptr_eq(other, guard));
        state.note_whether_plain();
    }

    /// For an alternation that is about to wait with a guard at this channel: if one on the other side waits too, one of
    /// the two has to look again. Says whether it is the caller; otherwise the other one is told. One that does not wait
    /// looks here in turn before it does.
    pub(crate) fn meets(&self, side: Side, guard: &Guard<T>, woken: &mut Woken) -> bool {
        let mut state = self.lock();
        if !state.is_at_rest() {
            // Both know of it already, and look.
            return false;
        }
        for other in state.guards(side.other()).iter() {
            if !other.is_of_same_party(guard) && other.is_waiting() {
                if guard.takes(other) {
                    return true;
                }
                if let Some(waker) = other.mark_ready() {
                    woken.add(waker);
                }
            }
        }
        false
    }
}
