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

use crate::end::Ended;
use crate::lock::Lock;
use crate::parcel::Parcel;
use crate::party::Guard;
use crate::pending;
use crate::place::Place;
use crate::process::{Link, Process, Waiting};
use crate::queue::{Node, Outcome, Queue, parcel_of};
use crate::ring::{Buffer, Ring};
use crate::sync::{Arc, UnsafeCell};
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

/// An item that the channel does not take, because it has ended.
pub(crate) type Refused<T> = (Parcel<T>, Ended);

/// What a process that reads or writes has to do after its step.
pub(crate) enum Begun<R> {
    Done(R),
    /// Its node is in a queue.
    Waits,
}

/// One of the two sides of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    Reader,
    Writer,
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
            let served = self
                .readers
                .serve(Outcome::Served, |place| *place = Some(parcel));
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
                if let Some(((), waker)) = self.writers.serve(Outcome::Served, accept) {
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
    #[inline]
    unsafe fn write_or_push<P: Place>(
        &mut self,
        node: &Node<T>,
        process: &Process<'_, P>,
        parcel: Parcel<T>,
    ) -> (Woken, Begun<Result<(), Refused<T>>>) {
        if let (Some(ring), Some(user)) = (self.buffer.ring(), process.user()) {
            ring.register(Side::Writer, user);
        }
        let written = match self.write(parcel) {
            Written::Nobody(back) if self.exclude(Side::Reader) => self.write(back),
            written => written,
        };
        match written {
            Written::Done(woken) => (woken, Begun::Done(Ok(()))),
            Written::Ended(back, ended) => (Woken::Nobody, Begun::Done(Err((back, ended)))),
            Written::Nobody(back) => {
                // SAFETY: the caller's promise.
                unsafe { self.writers.push(node, process.waker(), Some(back)) };
                let mut woken = Woken::Nobody;
                Self::mark_ready(&self.read_guards, &mut woken);
                (woken, Begun::Waits)
            }
        }
    }

    /// A process reads, whatever the channel is like, or begins to wait at `node`.
    ///
    /// # Safety
    ///
    /// As for [`Queue::push`].
    #[inline]
    unsafe fn read_or_push<P: Place>(
        &mut self,
        node: &Node<T>,
        process: &Process<'_, P>,
    ) -> (Woken, Begun<Result<Parcel<T>, Ended>>) {
        if let (Some(ring), Some(user)) = (self.buffer.ring(), process.user()) {
            ring.register(Side::Reader, user);
        }
        let read = match self.read() {
            Read::Nobody if self.exclude(Side::Writer) => self.read(),
            read => read,
        };
        match read {
            Read::Done(parcel, woken) => (woken, Begun::Done(Ok(parcel))),
            Read::Ended(ended) => (Woken::Nobody, Begun::Done(Err(ended))),
            Read::Nobody => {
                // SAFETY: the caller's promise.
                unsafe { self.readers.push(node, process.waker(), None) };
                let mut woken = Woken::Nobody;
                Self::mark_ready(&self.write_guards, &mut woken);
                (woken, Begun::Waits)
            }
        }
    }

    /// The item of somebody who waits to write.
    #[inline(always)]
    fn take_from_writer(&mut self) -> Option<(Parcel<T>, Waker)> {
        if let Some(served) = self.writers.serve(Outcome::Served, parcel_of) {
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
            Ended::Poisoned => Outcome::Poisoned,
            Ended::Closed => Outcome::Closed,
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
    #[inline(always)]
    fn drop(&mut self) {
        // Idle or served, mostly. Otherwise the run was cancelled.
        if self.node.outcome() == Outcome::Waits {
            self.leave();
        }
    }
}

impl<T, L: Lock> InFrame<'_, T, L> {
    /// Leaves the queue, unless it was served in the meantime.
    #[cold]
    fn leave(&self) {
        let mut state = self.core.lock();
        if self.node.outcome() == Outcome::Waits {
            // SAFETY: nobody has served it, so it is still in the queue that it was pushed to.
            unsafe { state.queue(self.side).remove(self.node) };
        }
    }

    /// Waits until somebody has served the process. Returns the item that it has then.
    #[track_caller]
    #[inline(always)]
    fn wait<P: Place>(
        &self,
        process: &Process<'_, P>,
        why: &Waiting<'_>,
    ) -> (Option<Parcel<T>>, Option<Ended>) {
        if !process.wait_until(why, &mut || self.node.is_served()) {
            // In a destructor, because the run was cancelled: what was to be written is given back.
            self.leave();
        }
        let ended = match self.node.outcome() {
            Outcome::Poisoned => Some(Ended::Poisoned),
            Outcome::Closed => Some(Ended::Closed),
            _ => None,
        };
        // SAFETY: it was served, or removed.
        let parcel = unsafe { self.node.take_parcel() };
        (parcel, ended)
    }

    #[track_caller]
    #[inline(always)]
    fn wait_to_write<P: Place>(
        &self,
        process: &Process<'_, P>,
        link: &dyn Link,
    ) -> Result<(), Refused<T>> {
        match self.wait(process, &Waiting::Write(link)) {
            (Some(parcel), ended) => Err((parcel, ended.unwrap_or(Ended::Closed))),
            (None, _) => Ok(()),
        }
    }

    #[track_caller]
    #[inline(always)]
    fn wait_to_read<P: Place>(
        &self,
        process: &Process<'_, P>,
        link: &dyn Link,
    ) -> Result<Parcel<T>, Ended> {
        let (parcel, ended) = self.wait(process, &Waiting::Read(link));
        parcel.ok_or(ended.unwrap_or(Ended::Closed))
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
    // A rendezvous is inlined into the program as a whole: each return after a switch of stacks is predicted wrongly.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn write<P: Place>(
        &self,
        process: &Process<'_, P>,
        parcel: Parcel<T>,
        link: &dyn Link,
    ) -> Result<(), Refused<T>> {
        if !process.shares_memory() {
            return self.write_by_carrier(process, parcel, link);
        }
        let mut state = self.lock();
        state.last_writer = Some(process.number());
        if !state.is_plain {
            return self.write_in_general(state, process, parcel, link);
        }
        if !state.readers.is_empty() {
            let served = state
                .readers
                .serve(Outcome::Served, |place| *place = Some(parcel));
            let ((), waker) = served.expect("the queue is not empty");
            drop(state);
            process.wake_one(waker);
            return Ok(());
        }
        let node = Node::new();
        let frame = self.frame(Side::Writer, &node);
        // SAFETY: the node is in the frame of this call, which it leaves only when it was served or removed.
        unsafe { state.writers.push(&node, process.waker(), Some(parcel)) };
        drop(state);
        frame.wait_to_write(process, link)
    }

    /// Goes on with the step of [`write`](Self::write) where there may be a buffer, alternations, or an end.
    #[track_caller]
    #[inline(never)]
    fn write_in_general<P: Place>(
        &self,
        mut state: Locked<'_, T, L>,
        process: &Process<'_, P>,
        parcel: Parcel<T>,
        link: &dyn Link,
    ) -> Result<(), Refused<T>> {
        let node = Node::new();
        let frame = self.frame(Side::Writer, &node);
        // SAFETY: as in `write`.
        let (woken, begun) = unsafe { state.write_or_push(&node, process, parcel) };
        drop(state);
        process.wake(woken);
        match begun {
            Begun::Done(result) => result,
            Begun::Waits => frame.wait_to_write(process, link),
        }
    }

    #[track_caller]
    #[cold]
    #[inline(never)]
    fn write_by_carrier<P: Place>(
        &self,
        process: &Process<'_, P>,
        parcel: Parcel<T>,
        link: &dyn Link,
    ) -> Result<(), Refused<T>> {
        let node = Node::new();
        let frame = self.frame(Side::Writer, &node);
        let begun = process.perform(&Waiting::Write(link), || {
            let mut state = self.lock();
            state.last_writer = Some(process.number());
            // SAFETY: the node is in the frame of this call, which it leaves only when it was served or removed.
            unsafe { state.write_or_push(&node, process, parcel) }
        });
        match begun {
            Begun::Done(result) => result,
            Begun::Waits => frame.wait_to_write(process, link),
        }
    }

    /// Reads an item: returns when there is one.
    // Inlined as `write` is.
    #[track_caller]
    #[inline(always)]
    pub(crate) fn read<P: Place>(
        &self,
        process: &Process<'_, P>,
        link: &dyn Link,
    ) -> Result<Parcel<T>, Ended> {
        if !process.shares_memory() {
            return self.read_by_carrier(process, link);
        }
        let mut state = self.lock();
        state.last_reader = Some(process.number());
        if !state.is_plain {
            return self.read_in_general(state, process, link);
        }
        if !state.writers.is_empty() {
            let served = state.writers.serve(Outcome::Served, parcel_of);
            let (parcel, waker) = served.expect("the queue is not empty");
            drop(state);
            process.wake_one(waker);
            return Ok(parcel);
        }
        let node = Node::new();
        let frame = self.frame(Side::Reader, &node);
        // SAFETY: the node is in the frame of this call, which it leaves only when it was served or removed.
        unsafe { state.readers.push(&node, process.waker(), None) };
        drop(state);
        frame.wait_to_read(process, link)
    }

    /// Goes on with the step of [`read`](Self::read) where there may be a buffer, alternations, or an end.
    #[track_caller]
    #[inline(never)]
    fn read_in_general<P: Place>(
        &self,
        mut state: Locked<'_, T, L>,
        process: &Process<'_, P>,
        link: &dyn Link,
    ) -> Result<Parcel<T>, Ended> {
        let node = Node::new();
        let frame = self.frame(Side::Reader, &node);
        // SAFETY: as in `read`.
        let (woken, begun) = unsafe { state.read_or_push(&node, process) };
        drop(state);
        process.wake(woken);
        match begun {
            Begun::Done(result) => result,
            Begun::Waits => frame.wait_to_read(process, link),
        }
    }

    #[track_caller]
    #[cold]
    #[inline(never)]
    fn read_by_carrier<P: Place>(
        &self,
        process: &Process<'_, P>,
        link: &dyn Link,
    ) -> Result<Parcel<T>, Ended> {
        let node = Node::new();
        let frame = self.frame(Side::Reader, &node);
        let begun = process.perform(&Waiting::Read(link), || {
            let mut state = self.lock();
            state.last_reader = Some(process.number());
            // SAFETY: the node is in the frame of this call, which it leaves only when it was served or removed.
            unsafe { state.read_or_push(&node, process) }
        });
        match begun {
            Begun::Done(result) => result,
            Begun::Waits => frame.wait_to_read(process, link),
        }
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
