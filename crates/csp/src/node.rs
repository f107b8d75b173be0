//! The node of a process that waits at a channel.

use std::ptr;

use crate::parcel::Parcel;
use crate::sync::{AtomicU32, Ordering, UnsafeCell};
use crate::waker::Waker;

/// The state of a process that may have to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Outcome {
    /// The process is in no queue, and was in none since its node was made.
    Idle,
    Waits,
    Served,
    Poisoned,
    Closed,
}

/// The node of a process that may have to wait at a channel. It is a variable of the call that
/// waits, and not part of another value: so there is no exclusive reference to it while other
/// processes access it.
// The process that serves the node writes the item and the outcome, which should share a cache
// line.
#[repr(C, align(64))]
pub(crate) struct Node<T> {
    outcome: AtomicU32,
    /// Not 0 if the process polls while it waits: see [`Waker::polling`]. It is a word so that one
    /// store initialises it and the outcome.
    polls: AtomicU32,
    /// The next node in the queue. Null while the process waits in the word. Accessed under the
    /// channel's lock.
    pub(crate) next: UnsafeCell<*const Node<T>>,
    /// The waker of the process, which lives longer than the call that waits. The pointer is
    /// written before the wait, and read by the process that serves the node. A copy of the waker
    /// would cost each wait two loads and two stores of 16 bytes.
    pub(crate) waker: UnsafeCell<*const Waker>,
    /// The item that a writer has brought, or that a reader is given. While the process waits, it
    /// belongs to the process that serves the node; before and after that, to the waiting process
    /// itself.
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

    /// The node of a process that waits, with the item that it brings, before other processes know
    /// the node.
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

    /// The outcome. After `Served` the parcel belongs to the process of the node.
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

    /// Whether the process has been served, or the channel has ended.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn is_served(&self) -> bool {
        self.outcome.load(Ordering::Acquire) > Outcome::Waits as u32
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn set(&self, outcome: Outcome, order: Ordering) {
        self.outcome.store(outcome as u32, order);
    }

    /// Takes the item out of the node: the item that was read, or one that was not taken.
    ///
    /// # Safety
    ///
    /// The caller is the process of the node, and no other process knows the node.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn take_parcel(&self) -> Option<Parcel<T>> {
        // SAFETY: the caller's promise.
        self.parcel.with_mut(|place| unsafe { (*place).take() })
    }

    /// Serves a process that waits: `exchange` gives it an item or takes its item, and then the
    /// process goes on. Returns the process to wake, and whether that process polls. The flag is
    /// separate from the waker for speed: a waker with the flag in it would be written and read
    /// back in pieces of different sizes, which makes a CPU wait.
    ///
    /// # Safety
    ///
    /// The process of the node waits, and no other process can find the node: it was taken out of
    /// its queue or of the word.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn serve(
        node: *const Self,
        outcome: Outcome,
        exchange: impl FnOnce(&mut Option<Parcel<T>>),
    ) -> (Waker, bool) {
        // SAFETY: the node is in its place, because its process does not go on before the outcome
        // is stored, and nothing of the node is accessed after that store. Until then the parcel
        // belongs to the caller, and the waker is in its place too.
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
