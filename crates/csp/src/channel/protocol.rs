//! The protocol of a channel.
//!
//! A *step* is one change of the channel's state under the channel's lock, by a reader, a writer or
//! an alternation. The *sides* of a channel are its readers and its writers. The *partner* of a
//! process is a process on the other side that can exchange an item with it now. A *guard* is the
//! entry of an alternation in the list of a channel. An *active* alternation does not wait.
//!
//! ```text
//!      writers that wait ──► buffer ──► readers that wait        a node each, on the stack of the process
//!      guards that write ─┘         └─► guards that read         alternations that list the channel
//! ```
//!
//! | process that comes | is served by | otherwise |
//! |---|---|---|
//! | writer | a waiting reader, a waiting alternation that reads, room in the buffer | waits |
//! | reader | the buffer (then the first waiting writer fills it up), a waiting writer, a waiting alternation that writes | waits |
//! | active alternation | as a reader or writer, for each guard | checks its next guard |
//!
//! Partners are tried in the order of the table. Readers wait only while the buffer is empty, and
//! writers only while it is full. When a process begins to wait, or an item becomes ready, the
//! alternations on the other side are notified.

// Steps are inlined in optimised builds, because a function that is not inlined returns the result
// of a step through memory. In other builds, inlining would make frames too large for small stacks.

use std::collections::VecDeque;

use super::link::Side;
use super::lock::Word;
use super::node::{Node, NodeState, Parcel, take_parcel};
use super::party::Guard;
use super::queue::Queue;
use super::waker::{Waker, Woken};
use crate::counting::Tally;
use crate::ends::ended::Ended;
use crate::process::place::Place;
use crate::process::{Process, User};
use crate::sync::{self, Arc};
use crate::way::ring::Ring;
use crate::way::ring::buffer::Buffer;

/// The state of a channel, which the channel's lock protects. The fields that each step reads come
/// first, so that few cache lines move between processors.
#[repr(C)]
pub(crate) struct State<T> {
    /// Whether the channel has no buffer and no guards, and has not ended.
    is_plain: bool,
    ended: Option<Ended>,
    /// Whether the channel has a buffer. If not, steps save the load of the cache line of `buffer`.
    is_buffered: bool,
    pub(crate) readers: Queue<T>,
    pub(crate) writers: Queue<T>,
    capacity: usize,
    buffer: Buffer<T>,
    read_guards: Vec<Arc<Guard<T>>>,
    write_guards: Vec<Arc<Guard<T>>>,
    reader_ends: usize,
    writer_ends: usize,
}

pub(crate) enum Met {
    /// The item has been exchanged.
    Done,
    NoPartner,
    Ended(Ended),
}

/// An item that the channel does not take, because the channel has ended.
pub(crate) type GivenBack<T> = (Parcel<T>, Ended);

impl<T> State<T> {
    pub(crate) fn new(capacity: usize, is_one_to_one: bool) -> Self {
        let ring = is_one_to_one.then(|| Ring::new(capacity)).flatten();
        Self {
            is_plain: capacity == 0,
            ended: None,
            is_buffered: capacity > 0,
            readers: Queue::EMPTY,
            writers: Queue::EMPTY,
            capacity,
            buffer: match ring {
                Some(ring) => Buffer::of_ring(ring),
                None => Buffer::Queue(VecDeque::new()),
            },
            read_guards: Vec::new(),
            write_guards: Vec::new(),
            reader_ends: 1,
            writer_ends: 1,
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn mark_ready(guards: &[Arc<Guard<T>>], woken: &mut Woken) {
        for waker in guards.iter().filter_map(|guard| guard.mark_ready()) {
            woken.add(waker);
        }
    }

    pub(crate) fn has_buffer(&self) -> bool {
        self.is_buffered
    }

    /// Exchanges an item with the first waiting alternation in `guards`, and moves the guard to the
    /// end of the list, so that each alternation has its turn.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn meet(
        guards: &mut [Arc<Guard<T>>],
        mut exchange: impl FnMut(&Guard<T>) -> Option<Waker>,
    ) -> Option<Waker> {
        let mut numbered = guards.iter().enumerate();
        let (index, waker) = numbered.find_map(|(index, guard)| Some((index, exchange(guard)?)))?;
        if index + 1 < guards.len() {
            guards[index..].rotate_left(1);
        }
        Some(waker)
    }

    /// Performs the step of a writer, or of an active alternation that writes. If a reader or the
    /// buffer can take the item, moves the item out of `parcel`; otherwise the item stays in
    /// `parcel`.
    // Rejected: returning the item in the result if it is not taken. A returned item is stored and
    // loaded in pieces of different sizes, and a CPU cannot forward such a store to the load.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn write(&mut self, parcel: &mut Option<Parcel<T>>, woken: &mut Woken) -> Met {
        if let Some(ended) = self.ended {
            return Met::Ended(ended);
        }
        let give = |place: &mut Option<_>| *place = parcel.take();
        if let Some(waker) = self.readers.serve(NodeState::Served, give) {
            *woken = Woken::One(waker);
            return Met::Done;
        }
        // A waiting alternation may read this item only if no older items wait in the buffer or
        // with writers in the queue, because older items are read first.
        let is_next = self.is_drained() && self.writers.is_empty();
        if is_next && let Some(waker) = Self::meet(&mut self.read_guards, |g| g.give(parcel)) {
            *woken = Woken::One(waker);
            return Met::Done;
        }
        if !self.is_buffered || self.buffer.len() == self.capacity {
            return Met::NoPartner;
        }
        self.buffer.push_back(take_parcel(parcel));
        Self::mark_ready(&self.read_guards, woken);
        Met::Done
    }

    /// Performs the step of a reader, or of an active alternation that reads: if the channel has an
    /// item, moves the item into `place`.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn read(&mut self, place: &mut Option<Parcel<T>>, woken: &mut Woken) -> Met {
        if !self.is_drained() {
            *place = self.buffer.pop_front();
            // A closed channel is not refilled, even if an alternation still waits to write.
            if self.ended.is_none() {
                self.refill(woken);
            }
            return Met::Done;
        }
        if let Some(ended) = self.ended {
            return Met::Ended(ended);
        }
        match self.take_from_writer(place) {
            Some(waker) => {
                *woken = Woken::One(waker);
                Met::Done
            }
            None => Met::NoPartner,
        }
    }

    /// Moves the item of a waiting writer into the buffer, which has room.
    fn refill(&mut self, woken: &mut Woken) {
        // Moves the item before the writer goes on and may use the ring buffer itself.
        let accept = |next: &mut _| self.buffer.push_back(take_parcel(next));
        if let Some(waker) = self.writers.serve(NodeState::Served, accept) {
            *woken = Woken::One(waker);
            return;
        }
        let mut next = None;
        if let Some(waker) = Self::meet(&mut self.write_guards, |g| g.take(&mut next)) {
            self.buffer.push_back(take_parcel(&mut next));
            *woken = Woken::One(waker);
            return;
        }
        Self::mark_ready(&self.write_guards, woken);
    }

    pub(crate) fn may_be_read(&self) -> bool {
        let has_writers = !self.writers.is_empty() || !self.write_guards.is_empty();
        has_writers || !self.is_drained() || self.ended.is_some()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn ring(&self) -> Option<&Arc<Ring<T>>> {
        self.is_buffered.then(|| self.buffer.ring()).flatten()
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn is_drained(&self) -> bool {
        !self.is_buffered || self.buffer.is_empty()
    }

    /// Performs the step of a reader or writer, as `side` selects. If the result is
    /// [`Met::NoPartner`], puts `node` into the queue of `side`, so that the process can wait.
    ///
    /// # Safety
    ///
    /// The caller meets the conditions of [`Queue::push`].
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn step_or_push<P: Place>(
        &mut self,
        side: Side,
        node: &Node<T>,
        process: &Process<'_, P>,
        parcel: &mut Option<Parcel<T>>,
        woken: &mut Woken,
    ) -> Met {
        let mut met = self.step_of(side, process.user_and_tally(), parcel, woken);
        if matches!(met, Met::NoPartner) && self.exclude(side.other()) {
            met = self.step(side, parcel, woken);
        }
        if matches!(met, Met::NoPartner) {
            let queue = self.queue(side);
            // SAFETY: the caller's promise.
            unsafe { queue.push(node, process.waker(), parcel.take()) };
            Self::mark_ready(self.guards(side.other()), woken);
        }
        met
    }

    /// Registers `user` as the reader or writer of the ring buffer, if the channel has a ring
    /// buffer. Then performs the step of a reader or writer, as `side` selects.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn step_of(
        &mut self,
        side: Side,
        user: Option<(User, Option<&Tally>)>,
        parcel: &mut Option<Parcel<T>>,
        woken: &mut Woken,
    ) -> Met {
        self.register(side, user);
        self.step(side, parcel, woken)
    }

    /// Registers the reader or the writer, and what it has read if the network counts. Without a
    /// user, the step that follows uses the ring buffer only under the lock.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn register(&mut self, side: Side, user: Option<(User, Option<&Tally>)>) {
        match user {
            _ if !self.is_buffered => {}
            Some((user, tally)) => self.buffer.register(side, user, tally),
            None if side == Side::Reader => self.buffer.change_reader(),
            None => {}
        }
    }

    /// Called before another process than the registered reader takes items.
    pub(crate) fn change_reader(&mut self) {
        if self.is_buffered {
            self.buffer.change_reader();
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn step(&mut self, side: Side, parcel: &mut Option<Parcel<T>>, woken: &mut Woken) -> Met {
        match side {
            Side::Reader => self.read(parcel, woken),
            Side::Writer => self.write(parcel, woken),
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take_from_writer(&mut self, place: &mut Option<Parcel<T>>) -> Option<Waker> {
        let take = |offered: &mut Option<_>| *place = offered.take();
        if let Some(waker) = self.writers.serve(NodeState::Served, take) {
            return Some(waker);
        }
        // Waiting readers came earlier, so they read an alternation's item first.
        if !self.readers.is_empty() {
            return None;
        }
        Self::meet(&mut self.write_guards, |guard| guard.take(place))
    }

    /// Returns whether the channel has not ended and has no item and no waiting process, so that an
    /// alternation can exchange an item only with another alternation.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.ended.is_none()
            && self.is_drained()
            && self.readers.is_empty()
            && self.writers.is_empty()
    }

    /// Ends the channel. If the channel is poisoned, returns the items in the buffer.
    pub(crate) fn end(&mut self, ended: Ended, woken: &mut Woken) -> VecDeque<Parcel<T>> {
        self.turn_away(ended, woken);
        match ended {
            Ended::Poisoned => self.take_unread(),
            Ended::Closed => VecDeque::new(),
        }
    }

    /// Ends the channel, but leaves the items in the buffer.
    fn turn_away(&mut self, ended: Ended, woken: &mut Woken) {
        if self.ended == Some(Ended::Poisoned) {
            return;
        }
        self.exclude(Side::Reader);
        self.exclude(Side::Writer);
        self.ended = Some(ended);
        self.note_whether_plain();
        let state = match ended {
            Ended::Poisoned => NodeState::Poisoned,
            Ended::Closed => NodeState::Closed,
        };
        for queue in [&mut self.readers, &mut self.writers] {
            while let Some(waker) = queue.serve(state, |_| ()) {
                woken.add(waker);
            }
        }
        for guards in [&self.read_guards, &self.write_guards] {
            Self::mark_ready(guards, woken);
        }
    }

    pub(crate) fn add_end(&mut self, side: Side) {
        *self.ends(side) += 1;
    }

    /// Removes a reader or a writer, and closes the channel if it was the last one. For the last
    /// reader, returns the items in the buffer, which the caller must drop without the lock.
    pub(crate) fn drop_end(&mut self, side: Side, woken: &mut Woken) -> VecDeque<Parcel<T>> {
        let ends = self.ends(side);
        *ends -= 1;
        if *ends > 0 {
            return VecDeque::new();
        }
        if self.ended.is_none() {
            self.turn_away(Ended::Closed, woken);
        }
        match side {
            Side::Reader => self.take_unread(),
            Side::Writer => VecDeque::new(),
        }
    }

    /// Takes the items out of the buffer of an ended channel. Both sides must be excluded from it.
    fn take_unread(&mut self) -> VecDeque<Parcel<T>> {
        self.change_reader();
        if self.is_drained() {
            return VecDeque::new();
        }
        std::iter::from_fn(|| self.buffer.pop_front()).collect()
    }

    /// Lists a guard. Its alternation is notified when the channel may be ready.
    pub(crate) fn add_guard(&mut self, side: Side, guard: &Arc<Guard<T>>) {
        self.exclude(side.other());
        for other in self.guards(side.other()).iter() {
            other.oppose();
            guard.oppose();
        }
        self.guards(side).push(Arc::clone(guard));
        self.note_whether_plain();
    }

    pub(crate) fn remove_guard(&mut self, side: Side, guard: &Arc<Guard<T>>) {
        self.guards(side).retain(|other| !Arc::ptr_eq(other, guard));
        self.note_whether_plain();
    }

    /// Called before an alternation waits with `guard`. If another alternation waits on the other
    /// side, one of the two must check the channel. Returns true if the caller must, and otherwise
    /// wakes the other one.
    pub(crate) fn meets(&mut self, side: Side, guard: &Guard<T>, woken: &mut Woken) -> bool {
        if !self.is_at_rest() {
            // An earlier step has already marked `guard` and the guards on the other side as ready.
            return false;
        }
        for other in self.guards(side.other()).iter() {
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

    /// Lets a side use the ring buffer if the other side has no waiting process and no guard.
    fn let_in(&self) {
        if let Some(ring) = self.ring()
            && self.ended.is_none()
        {
            ring.let_in(
                self.readers.is_empty() && self.read_guards.is_empty(),
                self.writers.is_empty() && self.write_guards.is_empty(),
            );
        }
    }

    /// Makes a side take the lock to use the ring buffer, until `let_in`. Returns whether the
    /// channel has a ring buffer.
    fn exclude(&self, side: Side) -> bool {
        let ring = self.ring();
        ring.inspect(|ring| ring.exclude(side, sync::os_thread()))
            .is_some()
    }

    fn note_whether_plain(&mut self) {
        let has_guards = !self.read_guards.is_empty() || !self.write_guards.is_empty();
        self.is_plain = !self.is_buffered && !has_guards && self.ended.is_none();
    }

    /// Returns the [word](super::lock) that is stored when the lock is released. May move the only
    /// waiting process from its queue into the word.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn rest(&mut self) -> Word {
        if !self.is_plain {
            self.let_in();
            return Word::GENERAL;
        }
        self.rest_plain()
    }

    // Not inlined, because inlining made a message of an alternation 1 ns slower.
    #[inline(never)]
    fn rest_plain(&mut self) -> Word {
        for side in [Side::Reader, Side::Writer] {
            let queue = self.queue(side);
            if let Some(node) = queue.take_only() {
                return Word::with(side, node);
            }
            if !queue.is_empty() {
                return Word::GENERAL;
            }
        }
        Word::EMPTY
    }

    pub(crate) fn queue(&mut self, side: Side) -> &mut Queue<T> {
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
