//! A channel: the calls of processes that read and write, each a step of the protocol under the lock, and a wait if that meets
//! nobody.

mod protocol;

pub(crate) use self::protocol::{Met, Side, State};

use self::protocol::{Refused, brought};
use crate::end::Ended;
use crate::lock::Lock;
use crate::parcel::Parcel;
use crate::place::Place;
use crate::process::{Link, Process, ToRead, ToWrite, Waiting, Why};
use crate::queue::{Node, Outcome, Partner};
use crate::ring::Ring;
use crate::sync::{Arc, UnsafeCell};
use crate::waker::Woken;

/// A channel.
#[repr(C, align(64))]
pub(crate) struct Core<T, L> {
    lock: L,
    state: UnsafeCell<State<T>>,
}

// SAFETY: the state is accessed under the lock alone, which is `Sync` only if it keeps others out. Items, and pointers to
// nodes in frames of processes that wait, go from one process to another: items may if they are `Send`, nodes are
// accessed under the lock, or as `Node` says.
unsafe impl<T: Send, L: Sync> Sync for Core<T, L> {}
// SAFETY: as above.
unsafe impl<T: Send, L: Send> Send for Core<T, L> {}

/// The channel is locked as long as this lives.
pub(crate) struct Locked<'a, T, L: Lock>(&'a Core<T, L>);

impl<T, L: Lock> Locked<'_, T, L> {
    /// As its destructor, of a channel that is known to be plain.
    #[inline(always)]
    fn unlock_plain(self) {
        self.0.lock.unlock();
        std::mem::forget(self);
    }
}

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
            state: UnsafeCell::new(State::new(capacity, is_one_to_one)),
        }
    }

    /// The buffer of a channel with one writer and one reader, which they use without the lock.
    pub(crate) fn ring(&self) -> Option<Arc<Ring<T>>> {
        self.lock().ring().cloned()
    }

    #[inline]
    pub(crate) fn lock(&self) -> Locked<'_, T, L> {
        self.lock.lock();
        Locked(self)
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
        partner.prefetch::<L>();
        let mut state = self.lock();
        state.is_used(Side::Writer, process.number());
        if state.is_plain && !state.readers.is_empty() {
            partner.meet::<L, T>(&state.readers);
            let give = |place: &mut Option<_>| *place = Some(parcel);
            let waker = state.readers.serve(Outcome::Served, give);
            state.unlock_plain();
            process.wake_one(waker.expect("the queue is not empty"));
            return Ok(());
        }
        if state.is_plain {
            let node = Node::waiting(process.waker(), Some(parcel));
            // SAFETY: the node is in the frame of this call, which it leaves only when it was served or removed.
            unsafe { state.writers.append(&node) };
            state.unlock_plain();
            return self.wait_to_write(&node, process, link);
        }
        let node = Node::new();
        let _frame = self.frame(Side::Writer, &node);
        let mut parcel = Some(parcel);
        // SAFETY: as above.
        let met = unsafe { self.step_in_general::<P, true>(state, &node, process, &mut parcel) };
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
        partner.prefetch::<L>();
        let mut state = self.lock();
        state.is_used(Side::Reader, process.number());
        if state.is_plain && !state.writers.is_empty() {
            partner.meet::<L, T>(&state.writers);
            let mut parcel = None;
            let take = |offered: &mut Option<_>| parcel = offered.take();
            let waker = state.writers.serve(Outcome::Served, take);
            state.unlock_plain();
            process.wake_one(waker.expect("the queue is not empty"));
            return Ok(brought(&mut parcel));
        }
        if state.is_plain {
            let node = Node::waiting(process.waker(), None);
            // SAFETY: the node is in the frame of this call, which it leaves only when it was served or removed.
            unsafe { state.readers.append(&node) };
            state.unlock_plain();
            return self.wait_to_read(&node, process, link);
        }
        let node = Node::new();
        let _frame = self.frame(Side::Reader, &node);
        let mut parcel = None;
        // SAFETY: as above.
        let met = unsafe { self.step_in_general::<P, false>(state, &node, process, &mut parcel) };
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
        mut state: Locked<'_, T, L>,
        node: &Node<T>,
        process: &Process<'_, P>,
        parcel: &mut Option<Parcel<T>>,
    ) -> Met {
        let side = if WRITES { Side::Writer } else { Side::Reader };
        let mut woken = Woken::Nobody;
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
            let mut state = self.lock();
            state.is_used(side, process.number());
            // SAFETY: the caller's promise.
            unsafe { state.step_or_push(side, node, process, parcel, woken) }
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
        process.wait_until(why, &mut || node.is_served());
        std::mem::forget(frame);
        node.outcome() == Outcome::Served
    }

    /// A process leaves the queue, unless it was served in the meantime.
    #[cold]
    #[inline(never)]
    fn leave(&self, side: Side, node: &Node<T>) {
        let mut state = self.lock();
        if node.outcome() == Outcome::Waits {
            // SAFETY: nobody has served it, so it is still in the queue that it was pushed to.
            unsafe { state.queue(side).remove(node) };
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
