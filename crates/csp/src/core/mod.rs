//! A channel: the calls of processes that read and write. Each is one exchange of the channel's [word](crate::lock), where that
//! says all there is to know, or a step of the protocol under the lock; and a wait if it meets nobody.

mod protocol;

// Not the models': what reports say is no part of the protocol.
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) use self::protocol::{Met, State};

use self::protocol::{Refused, brought};
use crate::end::Ended;
use crate::link::Link;
use crate::lock::{Lock, Resting};
use crate::node::{Node, Outcome};
use crate::parcel::Parcel;
use crate::partner::Partner;
use crate::place::Place;
use crate::prefetch;
use crate::process::Process;
use crate::ring::Ring;
use crate::side::Side;
use crate::sync::{Arc, Backoff, UnsafeCell};
use crate::waiting::{ToRead, ToWrite, Waiting, Why};
use crate::waker::Woken;

/// A channel.
#[repr(C, align(64))]
pub(crate) struct Core<T, L> {
    lock: L,
    /// The processes that read and wrote last, by their numbers, for the report of a deadlock; or [`NOBODY`].
    last_reader: AtomicU32,
    last_writer: AtomicU32,
    state: UnsafeCell<State<T>>,
}

/// How often a writer looks again that finds nobody, if the last reader was of another core and so may be on its way to wait: to
/// be given the item takes less than to fetch it, and then to have its writer find that out (docs/performance.md).
const LOOKS: u32 = 8;

/// No process has this number.
const NOBODY: u32 = u32::MAX;

// SAFETY: the state is accessed under the lock alone, which is `Sync` only if it keeps others out. Items, and pointers to
// nodes in frames of processes that wait, go from one process to another: items may if they are `Send`, nodes are
// accessed under the lock, by who has taken them out of the word, or as `Node` says.
unsafe impl<T: Send, L: Sync> Sync for Core<T, L> {}
// SAFETY: as above.
unsafe impl<T: Send, L: Send> Send for Core<T, L> {}

/// The channel is locked as long as this lives.
pub(crate) struct Locked<'a, T, L: Lock>(&'a Core<T, L>);

impl<T, L: Lock> Locked<'_, T, L> {
    /// Whoever waited alone, as the word said, does so in a queue from now on.
    #[inline(never)]
    fn queue_up(&mut self, said: Resting) {
        for side in [Side::Reader, Side::Writer] {
            if let Some(node) = said.waiting(side) {
                // SAFETY: it waits, and is in no queue, as it was in the word.
                unsafe { self.queue(side).append(node) };
            }
        }
    }
}

impl<T, L: Lock> Drop for Locked<'_, T, L> {
    #[inline]
    fn drop(&mut self) {
        let resting = self.rest();
        self.0.lock.unlock(resting);
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

/// A process may wait at a channel as long as this lives, in the frame of the call that waits: it leaves the queue or the word
/// when that returns or unwinds, or waits for who has taken it out.
struct InFrame<'a, T, L: Lock> {
    core: &'a Core<T, L>,
    side: Side,
    node: &'a Node<T>,
}

impl<T, L: Lock> Drop for InFrame<'_, T, L> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn drop(&mut self) {
        // Idle or served, mostly. Otherwise the run was cancelled.
        if self.node.outcome() == Outcome::Waits {
            self.core.leave(self.side, self.node);
        }
    }
}

impl<T, L: Lock> Core<T, L> {
    /// `is_one_to_one` if there is never more than one end of a side.
    pub(crate) fn new(capacity: usize, is_one_to_one: bool) -> Self {
        Self {
            lock: L::default(),
            last_reader: AtomicU32::new(NOBODY),
            last_writer: AtomicU32::new(NOBODY),
            state: UnsafeCell::new(State::new(capacity, is_one_to_one)),
        }
    }

    /// The buffer of a channel with one writer and one reader, which they use without the lock.
    pub(crate) fn ring(&self) -> Option<Arc<Ring<T>>> {
        self.lock().ring().cloned()
    }

    #[inline]
    pub(crate) fn lock(&self) -> Locked<'_, T, L> {
        let said = self.lock.lock();
        let mut locked = Locked(self);
        if said != Resting::GENERAL {
            locked.queue_up(said);
        }
        locked
    }

    /// Has the processor fetch what a call changes.
    #[inline(always)]
    fn prefetch(&self, partner: Partner) {
        if L::IS_SHARED {
            partner.prefetch();
            prefetch::to_write(std::ptr::from_ref(self).addr());
        }
    }

    /// A process uses an end of a side.
    #[inline(always)]
    pub(crate) fn is_used(&self, side: Side, process: u32) {
        let last = match side {
            Side::Reader => &self.last_reader,
            Side::Writer => &self.last_writer,
        };
        last.store(process, Ordering::Relaxed);
    }

    /// The numbers of the processes that used it last: reader and writer.
    pub(crate) fn last_users(&self) -> (Option<u32>, Option<u32>) {
        let known = |last: &AtomicU32| Some(last.load(Ordering::Relaxed)).filter(|n| *n != NOBODY);
        (known(&self.last_reader), known(&self.last_writer))
    }

    /// Takes one who waits out of the word, if that says so, to [serve](Node::serve) it.
    #[inline(always)]
    fn take_out(&self, said: Resting, side: Side) -> Option<*const Node<T>> {
        said.waiting::<T>(side)?;
        self.lock.exchange(said, Resting::NOBODY)?.waiting(side)
    }

    /// Writes an item: returns when a reader has it, or the buffer.
    // A rendezvous is inlined into the program as a whole: each return after a switch of stacks is predicted wrongly.
    #[track_caller]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn write<P: Place>(
        &self,
        process: &Process<'_, P>,
        parcel: Parcel<T>,
        link: &impl Link,
        partner: &mut Partner,
    ) -> Result<(), Refused<T>> {
        if !process.shares_memory() {
            return self.write_by_carrier(process, parcel, link);
        }
        self.prefetch(*partner);
        self.is_used(Side::Writer, process.number());
        let mut parcel = parcel;
        let mut looks = if partner.is_elsewhere() { LOOKS } else { 0 };
        loop {
            let said = self.lock.says();
            if let Some(node) = self.take_out(said, Side::Reader) {
                let give = |place: &mut Option<_>| *place = Some(parcel);
                // SAFETY: this has taken it out.
                let waker = unsafe { Node::serve(node, Outcome::Served, give) };
                partner.has_met::<L, T>(node, process.wake_one(waker));
                return Ok(());
            }
            if said != Resting::NOBODY {
                break;
            }
            if looks > 0 && process.wait_briefly() {
                looks -= 1;
                continue;
            }
            let node = Node::waiting(process.waker(), Some(parcel));
            // The node is in the frame of this call, which it leaves only when it was served or removed.
            let waits = Resting::with(Side::Writer, &raw const node);
            if self.lock.exchange(said, waits).is_some() {
                return self.wait_to_write(&node, process, link);
            }
            // SAFETY: nobody knows of it.
            let mut back = unsafe { node.take_parcel() };
            parcel = brought(&mut back);
        }
        let node = Node::new();
        let _frame = self.frame(Side::Writer, &node);
        let mut parcel = Some(parcel);
        // SAFETY: the node is in the frame of this call, which it leaves only when it was served or removed.
        let met = unsafe { self.step_in_general::<P, true>(&node, process, &mut parcel) };
        self.go_on_writing(&node, met, parcel, process, link)
    }

    #[track_caller]
    #[cold]
    #[inline(never)]
    fn write_by_carrier<P: Place>(
        &self,
        process: &Process<'_, P>,
        parcel: Parcel<T>,
        link: &impl Link,
    ) -> Result<(), Refused<T>> {
        let node = Node::new();
        let _frame = self.frame(Side::Writer, &node);
        let mut parcel = Some(parcel);
        let what = Waiting::Write(link);
        // SAFETY: as in `write`.
        let met = unsafe { self.step_by_carrier(Side::Writer, &what, &node, process, &mut parcel) };
        self.go_on_writing(&node, met, parcel, process, link)
    }

    /// Reads an item: returns when there is one.
    // Inlined as `write` is.
    #[track_caller]
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn read<P: Place>(
        &self,
        process: &Process<'_, P>,
        link: &impl Link,
        partner: &mut Partner,
    ) -> Result<Parcel<T>, Ended> {
        if !process.shares_memory() {
            return self.read_by_carrier(process, link);
        }
        self.prefetch(*partner);
        self.is_used(Side::Reader, process.number());
        loop {
            let said = self.lock.says();
            if let Some(node) = self.take_out(said, Side::Writer) {
                let mut parcel = None;
                let take = |offered: &mut Option<_>| parcel = offered.take();
                // SAFETY: this has taken it out.
                let waker = unsafe { Node::serve(node, Outcome::Served, take) };
                partner.has_met::<L, T>(node, process.wake_one(waker));
                return Ok(brought(&mut parcel));
            }
            if said != Resting::NOBODY {
                break;
            }
            let node = Node::waiting(process.waker(), None);
            // As in `write`.
            let waits = Resting::with(Side::Reader, &raw const node);
            if self.lock.exchange(said, waits).is_some() {
                return self.wait_to_read(&node, process, link);
            }
        }
        let node = Node::new();
        let _frame = self.frame(Side::Reader, &node);
        let mut parcel = None;
        // SAFETY: as in `write`.
        let met = unsafe { self.step_in_general::<P, false>(&node, process, &mut parcel) };
        self.go_on_reading(&node, met, parcel, process, link)
    }

    #[track_caller]
    #[cold]
    #[inline(never)]
    fn read_by_carrier<P: Place>(
        &self,
        process: &Process<'_, P>,
        link: &impl Link,
    ) -> Result<Parcel<T>, Ended> {
        let node = Node::new();
        let _frame = self.frame(Side::Reader, &node);
        let mut parcel = None;
        let what = Waiting::Read(link);
        // SAFETY: as in `read`.
        let met = unsafe { self.step_by_carrier(Side::Reader, &what, &node, process, &mut parcel) };
        self.go_on_reading(&node, met, parcel, process, link)
    }

    /// The step of a call where there may be a buffer, alternations, or an end: of a writer, or of a reader.
    ///
    /// # Safety
    ///
    /// As for [`Queue::push`](crate::queue::Queue::push).
    // One function for each: as an argument the side cost an alternation 5 ns a message.
    #[inline(never)]
    unsafe fn step_in_general<P: Place, const WRITES: bool>(
        &self,
        node: &Node<T>,
        process: &Process<'_, P>,
        parcel: &mut Option<Parcel<T>>,
    ) -> Met {
        let side = if WRITES { Side::Writer } else { Side::Reader };
        let mut woken = Woken::Nobody;
        let mut state = self.lock();
        // SAFETY: the caller's promise.
        let met = unsafe { state.step_or_push(side, node, process, parcel, &mut woken) };
        drop(state);
        process.wake(&mut woken);
        met
    }

    /// The step of a call where processors share no memory.
    ///
    /// # Safety
    ///
    /// As for [`Queue::push`](crate::queue::Queue::push).
    unsafe fn step_by_carrier<P: Place>(
        &self,
        side: Side,
        what: &Waiting<'_>,
        node: &Node<T>,
        process: &Process<'_, P>,
        parcel: &mut Option<Parcel<T>>,
    ) -> Met {
        process.perform(what, |woken| {
            self.is_used(side, process.number());
            // SAFETY: the caller's promise.
            unsafe { self.lock().step_or_push(side, node, process, parcel, woken) }
        })
    }

    /// Ends the call of a writer after its step, or waits.
    #[track_caller]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn go_on_writing<P: Place>(
        &self,
        node: &Node<T>,
        met: Met,
        mut parcel: Option<Parcel<T>>,
        process: &Process<'_, P>,
        link: &impl Link,
    ) -> Result<(), Refused<T>> {
        match met {
            Met::Done => Ok(()),
            Met::Ended(ended) => Err((brought(&mut parcel), ended)),
            Met::Nobody => self.wait_to_write(node, process, link),
        }
    }

    /// Ends the call of a reader after its step, or waits.
    #[track_caller]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn go_on_reading<P: Place>(
        &self,
        node: &Node<T>,
        met: Met,
        mut parcel: Option<Parcel<T>>,
        process: &Process<'_, P>,
        link: &impl Link,
    ) -> Result<Parcel<T>, Ended> {
        match met {
            Met::Done => Ok(brought(&mut parcel)),
            Met::Ended(ended) => Err(ended),
            Met::Nobody => self.wait_to_read(node, process, link),
        }
    }

    #[track_caller]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn wait_to_write<P: Place>(
        &self,
        node: &Node<T>,
        process: &Process<'_, P>,
        link: &impl Link,
    ) -> Result<(), Refused<T>> {
        if self.wait(Side::Writer, node, process, ToWrite(link)) {
            return Ok(());
        }
        let ended = self.give_up(Side::Writer, node);
        // SAFETY: it was served, or removed.
        match unsafe { node.take_parcel() } {
            Some(parcel) => Err((parcel, ended)),
            // Taken at last.
            None => Ok(()),
        }
    }

    #[track_caller]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn wait_to_read<P: Place>(
        &self,
        node: &Node<T>,
        process: &Process<'_, P>,
        link: &impl Link,
    ) -> Result<Parcel<T>, Ended> {
        if self.wait(Side::Reader, node, process, ToRead(link)) {
            // SAFETY: it was served.
            let mut parcel = unsafe { node.take_parcel() };
            return Ok(brought(&mut parcel));
        }
        let ended = self.give_up(Side::Reader, node);
        // SAFETY: it was served, or removed.
        unsafe { node.take_parcel() }.ok_or(ended)
    }

    /// Waits until somebody has served the process, and says true; or until it waits no more, as the channel has ended or the
    /// run was cancelled.
    #[track_caller]
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn wait<P: Place>(
        &self,
        side: Side,
        node: &Node<T>,
        process: &Process<'_, P>,
        why: impl Why,
    ) -> bool {
        let frame = self.frame(side, node);
        process.wait_until(why, None, &mut || node.is_served());
        std::mem::forget(frame);
        node.outcome() == Outcome::Served
    }

    /// A process waits no more, unless it was served in the meantime.
    #[cold]
    #[inline(never)]
    fn leave(&self, side: Side, node: &Node<T>) {
        let is_left = |mut state: Locked<'_, T, L>| {
            node.outcome() != Outcome::Waits || state.queue(side).remove(node)
        };
        if !is_left(self.lock()) {
            // Somebody has taken it out of the word, and is in the middle of serving it.
            let backoff = Backoff::new();
            while node.outcome() == Outcome::Waits {
                backoff.snooze();
            }
        }
    }

    /// A process has waited in vain, or so it seems: its item is its own from now on. Says how the channel has ended.
    #[cold]
    #[inline(never)]
    fn give_up(&self, side: Side, node: &Node<T>) -> Ended {
        // It waits still if this is a destructor, and the run was cancelled.
        self.leave(side, node);
        match node.outcome() {
            Outcome::Poisoned => Ended::Poisoned,
            _ => Ended::Closed,
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
}
