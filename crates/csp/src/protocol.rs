//! The protocol of a channel: what a step of a reader, a writer or an alternation does, under the
//! channel's lock.
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
//! Readers wait only while the buffer is empty, writers only while it is full. A process that
//! waits, and every item that becomes ready, is made known to the alternations on the other side.

// Steps are inlined by force, as results on their way between functions go through memory. Without
// optimisation that would only make frames too large for small stacks: there variables that are
// inlined share no room.

use std::collections::VecDeque;

use crate::end::Ended;
use crate::lock::Word;
use crate::node::{Node, Outcome};
use crate::parcel::{Parcel, take_parcel};
use crate::party::Guard;
use crate::place::Place;
use crate::process::Process;
use crate::queue::Queue;
use crate::side::{Side, User};
use crate::sync::{self, Arc};
use crate::waker::{Waker, Woken};
use crate::way::ring::{Buffer, Ring};

/// What the lock protects. What is looked at in each step comes first, as two processors hand it to
/// each other.
#[repr(C)]
pub(crate) struct State<T> {
    /// A rendezvous without guards that has not ended: nothing has to be looked at but who waits.
    is_plain: bool,
    ended: Option<Ended>,
    /// Its capacity is not 0. Otherwise the buffer is another cache line to stay away from.
    is_buffered: bool,
    pub(crate) readers: Queue<T>,
    pub(crate) writers: Queue<T>,
    /// How many items it takes before somebody has to read one.
    capacity: usize,
    buffer: Buffer<T>,
    read_guards: Vec<Arc<Guard<T>>>,
    write_guards: Vec<Arc<Guard<T>>>,
    reader_ends: usize,
    writer_ends: usize,
}

/// What a reader or writer meets.
pub(crate) enum Met {
    /// The item has been exchanged.
    Done,
    /// No process is there to exchange one with now.
    NoPartner,
    Ended(Ended),
}

/// An item that the channel does not take, because it has ended.
pub(crate) type Refused<T> = (Parcel<T>, Ended);

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
                Some(ring) => Buffer::of_ring(&Arc::new(ring)),
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

    /// Whether it has a buffer, for one item at least.
    pub(crate) fn has_buffer(&self) -> bool {
        self.is_buffered
    }

    /// Exchanges an item with the first of some alternations that waits. It is the last one from
    /// then on, so that none is always behind another.
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

    /// A writer, or an alternation that writes and is active, brings an item, which is taken if
    /// a process wants it.
    // What a step results in is small, or stays where it is: on its way through a value of several
    // variants, an item would be copied in other pieces than it was written in, which the
    // processor's store queue does not forward.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn write(&mut self, parcel: &mut Option<Parcel<T>>, woken: &mut Woken) -> Met {
        if let Some(ended) = self.ended {
            return Met::Ended(ended);
        }
        let give = |place: &mut Option<_>| *place = parcel.take();
        if let Some(waker) = self.readers.serve(Outcome::Served, give) {
            *woken = Woken::One(waker);
            return Met::Done;
        }
        // An alternation may have begun to wait, and not have looked again: what came before this
        // item goes first.
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

    /// A reader, or an alternation that reads and is active, wants an item, which is put to `place`
    /// if there is one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn read(&mut self, place: &mut Option<Parcel<T>>, woken: &mut Woken) -> Met {
        if !self.is_drained() {
            *place = self.buffer.pop_front();
            // A closed channel accepts nothing, not even from an alternation that has not looked
            // since then.
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

    /// Has somebody who waits to write put an item into the buffer, where there is room now.
    fn refill(&mut self, woken: &mut Woken) {
        // Before the writer goes on, who may then use a ring without the lock.
        let accept = |next: &mut _| self.buffer.push_back(take_parcel(next));
        if let Some(waker) = self.writers.serve(Outcome::Served, accept) {
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

    /// Whether a reader may find something, if only that the channel has ended.
    pub(crate) fn may_be_read(&self) -> bool {
        let has_writers = !self.writers.is_empty() || !self.write_guards.is_empty();
        has_writers || !self.is_drained() || self.ended.is_some()
    }

    /// The buffer, if it is one that sides use without the lock.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn ring(&self) -> Option<&Arc<Ring<T>>> {
        self.is_buffered.then(|| self.buffer.ring()).flatten()
    }

    /// Whether no item is in the buffer.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn is_drained(&self) -> bool {
        !self.is_buffered || self.buffer.is_empty()
    }

    /// A process writes or reads, whatever the channel is like, or begins to wait at `node`, if it
    /// meets no process.
    ///
    /// # Safety
    ///
    /// As for [`Queue::push`].
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn step_or_push<P: Place>(
        &mut self,
        side: Side,
        node: &Node<T>,
        process: &Process<'_, P>,
        parcel: &mut Option<Parcel<T>>,
        woken: &mut Woken,
    ) -> Met {
        let mut met = self.step_of(side, process.user(), parcel, woken);
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

    /// A process writes or reads, whatever the channel is like, if it meets another one.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn step_of(
        &mut self,
        side: Side,
        user: Option<User>,
        parcel: &mut Option<Parcel<T>>,
        woken: &mut Woken,
    ) -> Met {
        if let (Some(ring), Some(user)) = (self.ring(), user) {
            ring.register(side, user);
        }
        self.step(side, parcel, woken)
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    fn step(&mut self, side: Side, parcel: &mut Option<Parcel<T>>, woken: &mut Woken) -> Met {
        match side {
            Side::Reader => self.read(parcel, woken),
            Side::Writer => self.write(parcel, woken),
        }
    }

    /// Takes the item of somebody who waits to write. Returns whom to wake.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn take_from_writer(&mut self, place: &mut Option<Parcel<T>>) -> Option<Waker> {
        let take = |offered: &mut Option<_>| *place = offered.take();
        if let Some(waker) = self.writers.serve(Outcome::Served, take) {
            return Some(waker);
        }
        // As in `write`: readers that came before go first.
        if !self.readers.is_empty() {
            return None;
        }
        Self::meet(&mut self.write_guards, |guard| guard.take(place))
    }

    /// Whether nothing is there that an alternation could find, other than another alternation.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.ended.is_none()
            && self.is_drained()
            && self.readers.is_empty()
            && self.writers.is_empty()
    }

    /// Ends the channel. Returns, if it is poisoned, what nobody has read.
    pub(crate) fn end(&mut self, ended: Ended, woken: &mut Woken) -> VecDeque<Parcel<T>> {
        self.turn_away(ended, woken);
        match ended {
            Ended::Poisoned => self.take_unread(),
            Ended::Closed => VecDeque::new(),
        }
    }

    /// Everybody who waits goes on with `ended`, and later operations do. What is in the buffer
    /// stays.
    fn turn_away(&mut self, ended: Ended, woken: &mut Woken) {
        if self.ended == Some(Ended::Poisoned) {
            return;
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
            while let Some(waker) = queue.serve(outcome, |_| ()) {
                woken.add(waker);
            }
        }
        for guards in [&self.read_guards, &self.write_guards] {
            Self::mark_ready(guards, woken);
        }
    }

    /// One more end of a side.
    pub(crate) fn add_end(&mut self, side: Side) {
        *self.ends(side) += 1;
    }

    /// One end less of a side. The last one closes the channel, and the last reader takes what
    /// no process can read any more, to be dropped when the lock was given back.
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

    /// What is in the buffer of a channel that has ended, so that both sides are excluded.
    fn take_unread(&mut self) -> VecDeque<Parcel<T>> {
        if self.is_drained() {
            return VecDeque::new();
        }
        std::iter::from_fn(|| self.buffer.pop_front()).collect()
    }

    /// Has an alternation know when the channel may be ready for it.
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

    /// For an alternation that is about to wait with a guard at this channel: if one on the other
    /// side waits too, one of the two has to look again. Says whether it is the caller; otherwise
    /// the other one is told. One that does not wait looks here in turn before it does.
    pub(crate) fn meets(&mut self, side: Side, guard: &Guard<T>, woken: &mut Woken) -> bool {
        if !self.is_at_rest() {
            // Both know of it already, and look.
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

    /// Lets the sides use a ring without the lock, unless they have to serve or hear of somebody.
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

    /// Has a side take the lock, if it could do without until now.
    fn exclude(&self, side: Side) -> bool {
        let ring = self.ring();
        ring.inspect(|ring| ring.exclude(side, sync::os_thread()))
            .is_some()
    }

    fn note_whether_plain(&mut self) {
        let has_guards = !self.read_guards.is_empty() || !self.write_guards.is_empty();
        self.is_plain = !self.is_buffered && !has_guards && self.ended.is_none();
    }

    /// What the channel's word says when the lock is given back. It may take one that waits out of
    /// its queue for that.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn rest(&mut self) -> Word {
        if !self.is_plain {
            self.let_in();
            return Word::GENERAL;
        }
        self.rest_plain()
    }

    // Out of line: in line it cost an alternation, whose channels are not plain, a nanosecond a
    // message.
    #[inline(never)]
    fn rest_plain(&mut self) -> Word {
        // Never both wait.
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
