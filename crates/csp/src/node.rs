//! The node of a process that waits at a channel.

use std::ptr;

use crate::parcel::Parcel;
use crate::sync::{AtomicU32, Ordering, UnsafeCell};
use crate::waker::Waker;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Outcome {
    Idle,
    Waits,
    Served,
    Poisoned,
    Closed,
}

/// The node of a process that may wait at a channel, in the frame of the call that waits. The node
/// is not a field of a larger value, because an exclusive reference to the larger value would
/// forbid other processes to access the node. Its item and outcome share a cache line.
#[repr(C, align(64))]
pub(crate) struct Node<T> {
    outcome: AtomicU32,
    /// Not 0 if the process polls while it waits. Set together with `outcome`, by one store.
    polls: AtomicU32,
    /// The next node in the queue, or null in a [word](crate::lock). Accessed under the lock.
    pub(crate) next: UnsafeCell<*const Node<T>>,
    /// The waker of the waiting process, which writes this field. The process that serves the node
    /// reads it. Storing a copy would take longer.
    pub(crate) waker: UnsafeCell<*const Waker>,
    /// The item that a writer offers, or that a reader receives. Only the process that serves the
    /// node accesses it during the wait, and only the waiting process before and after the wait.
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

    /// Makes the node of a process that is going to wait, with the item of a writer.
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

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn is_served(&self) -> bool {
        self.outcome.load(Ordering::Acquire) > Outcome::Waits as u32
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn set(&self, outcome: Outcome, order: Ordering) {
        self.outcome.store(outcome as u32, order);
    }

    /// Takes the item out of the node.
    ///
    /// # Safety
    ///
    /// The caller is the process of the node, and no other process can access the node.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn take_parcel(&self) -> Option<Parcel<T>> {
        // SAFETY: the caller's promise.
        self.parcel.with_mut(|place| unsafe { (*place).take() })
    }

    /// Serves a waiting process: `exchange` moves an item into or out of the node, and then the
    /// process goes on. Returns the waker, and whether the process polls (not in the waker, for
    /// speed).
    ///
    /// # Safety
    ///
    /// The process of the node waits, and no other process can find the node in a queue or a word.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn serve(
        node: *const Self,
        outcome: Outcome,
        exchange: impl FnOnce(&mut Option<Parcel<T>>),
    ) -> (Waker, bool) {
        // SAFETY: until the outcome is stored, the process waits, so the node and the waker are in
        // place, and the parcel belongs to the caller. After the store, the node is not accessed.
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
