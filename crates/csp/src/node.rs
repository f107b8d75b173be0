//! The place of a process that waits at a channel.

use std::ptr;

use crate::parcel::Parcel;
use crate::sync::{AtomicU32, Ordering, UnsafeCell};
use crate::waker::Waker;

/// What has become of a process that may have to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Outcome {
    /// It is in no queue, and was in none since its node was made.
    Idle,
    Waits,
    Served,
    Poisoned,
    Closed,
}

/// The place of a process that may have to wait at a channel: a variable of the call that waits,
/// and nothing else's part, so that there is no exclusive reference to it while others access it.
// The process that serves it writes the item and the outcome, which should be one cache line.
#[repr(C, align(64))]
pub(crate) struct Node<T> {
    outcome: AtomicU32,
    /// Not 0 if the process polls while it waits: see [`Waker::polling`]. A word, so that one
    /// store begins both.
    polls: AtomicU32,
    /// The node that came after it, in a queue. Null while it waits in the word; accessed under the
    /// channel's lock.
    pub(crate) next: UnsafeCell<*const Node<T>>,
    /// The process's own, which lives for longer than a call: written before it waits, followed by
    /// who serves it. A copy would cost a wait two loads and two stores of 16 bytes more.
    pub(crate) waker: UnsafeCell<*const Waker>,
    /// The item that a writer has brought, or that a reader is given: of the process that serves it
    /// while it waits, the process's own before and after that.
    pub(crate) parcel: UnsafeCell<Option<Parcel<T>>>,
}

impl<T> Node<T> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn new(polls: bool) -> Self {
        Self {
            outcome: AtomicU32::new(Outcome::Idle as u32),
            polls: AtomicU32::new(u32::from(polls)),
            next: UnsafeCell::new(ptr::null()),
            waker: UnsafeCell::new(ptr::null()),
            parcel: UnsafeCell::new(None),
        }
    }

    /// The node of a process that waits with what it brings, before anybody knows of it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn waiting(waker: &Waker, polls: bool, parcel: Option<Parcel<T>>) -> Self {
        Self {
            outcome: AtomicU32::new(Outcome::Waits as u32),
            polls: AtomicU32::new(u32::from(polls)),
            next: UnsafeCell::new(ptr::null()),
            waker: UnsafeCell::new(waker),
            parcel: UnsafeCell::new(parcel),
        }
    }

    /// Its parcel is the process's own if it was served.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn outcome(&self) -> Outcome {
        match self.outcome.load(Ordering::Acquire) {
            0 => Outcome::Idle,
            1 => Outcome::Waits,
            2 => Outcome::Served,
            3 => Outcome::Poisoned,
            _ => Outcome::Closed,
        }
    }

    /// Whether it has been served, or the channel has ended.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn is_served(&self) -> bool {
        self.outcome.load(Ordering::Acquire) > Outcome::Waits as u32
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn set(&self, outcome: Outcome, order: Ordering) {
        self.outcome.store(outcome as u32, order);
    }

    /// The item that it has when it was served: what was read, or what was not taken.
    ///
    /// # Safety
    ///
    /// The caller is the process, and no other process knows of the node.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn take_parcel(&self) -> Option<Parcel<T>> {
        // SAFETY: as the caller says.
        self.parcel.with_mut(|place| unsafe { (*place).take() })
    }

    /// Serves a process that waits: `exchange` gives it an item or takes its own, and then it goes
    /// on. Returns the process to wake, and whether that polls: a copy with the flag in it would be
    /// read back in other pieces than it was written, for which a processor waits.
    ///
    /// # Safety
    ///
    /// The node waits, and no other process finds it any more: it was taken out of the queue or the
    /// word that it was in.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn serve(
        node: *const Self,
        outcome: Outcome,
        exchange: impl FnOnce(&mut Option<Parcel<T>>),
    ) -> (Waker, bool) {
        // SAFETY: a node that waits is in its place, as its process does not go on before the
        // outcome is stored: nothing of it is accessed after that. Until then its parcel is the
        // caller's, and its waker is in its place, too.
        unsafe {
            let node = &*node;
            node.parcel.with_mut(|place| exchange(&mut *place));
            let polls = node.polls.load(Ordering::Relaxed) != 0;
            let waker = node.waker.with_mut(|place| **place);
            node.set(outcome, Ordering::Release);
            (waker, polls)
        }
    }
}
