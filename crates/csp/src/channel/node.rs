//! The node of a process that waits at a channel, with the item in it.

use std::ptr;

use cellworks_machine::{Processor, SpeId};

use super::waker::Waker;
use crate::sync::{self, AtomicU32, AtomicUsize, Ordering, UnsafeCell};
use crate::transport::origin::Origin;

/// An item, and the number under which the transport finds its bytes.
pub(crate) struct Parcel<T> {
    pub item: T,
    pub origin: Origin,
}

/// Takes the item out of `parcel`, which must have an item.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn take_parcel<T>(parcel: &mut Option<Parcel<T>>) -> Parcel<T> {
    parcel.take().expect("a writer has an item")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum NodeState {
    Idle,
    Waits,
    Served,
    Poisoned,
    Closed,
}

/// The node of a process that may wait at a channel, in the frame of the call that waits. The node
/// is not a field of a larger value, because an exclusive reference to the larger value would
/// forbid other processes to access the node. A channel of one writer and one reader has a node for
/// each of them: see [`RawChannel`](crate::channel::RawChannel).
#[repr(C, align(16))]
pub(crate) struct Node<T> {
    state: AtomicU32,
    /// [`SLEEPS`], [`POLLS`], or the [place](polls_on) where the process polls while it waits. Set
    /// together with `state`, by one store.
    polls: AtomicU32,
    /// The OS thread of a process whose place is in `polls`.
    thread: AtomicUsize,
    /// The next node in the queue, or null in a [word](super::lock). Accessed under the lock.
    pub(crate) next: UnsafeCell<*const Node<T>>,
    /// The waker of the waiting process, which writes this field. The process that serves the node
    /// reads it. Storing a copy would take longer.
    pub(crate) waker: UnsafeCell<*const Waker>,
    /// The item that a writer offers, or that a reader receives. Only the process that serves the
    /// node accesses it during the wait, and only the waiting process before and after the wait.
    pub(crate) parcel: UnsafeCell<Option<Parcel<T>>>,
}

/// A node in the frame of a call. Its item and state share a cache line.
#[repr(align(64))]
pub(crate) struct InLine<T>(pub Node<T>);

impl<T> Node<T> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn new(polls: bool) -> Self {
        Self {
            state: AtomicU32::new(NodeState::Idle as u32),
            polls: AtomicU32::new(if polls { POLLS } else { SLEEPS }),
            thread: AtomicUsize::new(0),
            next: UnsafeCell::new(ptr::null()),
            waker: UnsafeCell::new(ptr::null()),
            parcel: UnsafeCell::new(None),
        }
    }

    /// Makes the node of a process that is going to wait, with the item of a writer.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn waiting(waker: &Waker, polls: bool, parcel: Option<Parcel<T>>) -> Self {
        Self {
            state: AtomicU32::new(NodeState::Waits as u32),
            polls: AtomicU32::new(if polls {
                polls_on(waker.sleeper.processor())
            } else {
                SLEEPS
            }),
            thread: AtomicUsize::new(if polls { sync::os_thread() } else { 0 }),
            next: UnsafeCell::new(ptr::null()),
            waker: UnsafeCell::new(waker),
            parcel: UnsafeCell::new(parcel),
        }
    }

    /// Makes this node, which does not wait, one that is [waiting](Self::waiting).
    ///
    /// # Safety
    ///
    /// No other process can access the node.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn wait_again(&self, waker: &Waker, polls: bool, parcel: Option<Parcel<T>>) {
        if polls {
            let place = polls_on(waker.sleeper.processor());
            self.polls.store(place, Ordering::Relaxed);
            self.thread.store(sync::os_thread(), Ordering::Relaxed);
        } else {
            self.polls.store(SLEEPS, Ordering::Relaxed);
        }
        // SAFETY: by the contract of this function.
        self.waker.with_mut(|place| unsafe { *place = waker });
        // SAFETY: as above.
        self.parcel.with_mut(|place| unsafe { *place = parcel });
        self.set(NodeState::Waits, Ordering::Relaxed);
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn state(&self) -> NodeState {
        match self.state.load(Ordering::Acquire) {
            0 => NodeState::Idle,
            1 => NodeState::Waits,
            2 => NodeState::Served,
            3 => NodeState::Poisoned,
            _ => NodeState::Closed,
        }
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn is_served(&self) -> bool {
        self.state.load(Ordering::Acquire) > NodeState::Waits as u32
    }

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn set(&self, state: NodeState, order: Ordering) {
        self.state.store(state as u32, order);
    }

    /// Returns the waker of the waiting process.
    ///
    /// # Safety
    ///
    /// As for [`serve`](Self::serve).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn waker(&self) -> Waker {
        let polls = self.polls.load(Ordering::Relaxed) != SLEEPS;
        // SAFETY: the process waits, so its waker is in place.
        self.waker
            .with_mut(|waker| unsafe { **waker }.polling(polls))
    }

    /// Returns how to wake the waiting process. The waker of a process that polls on another OS
    /// thread is not read, because it would be one more cache line from that core.
    ///
    /// # Safety
    ///
    /// As for [`serve`](Self::serve).
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn way_to_wake(&self) -> WayToWake {
        let polls = self.polls.load(Ordering::Relaxed);
        if polls >= FIRST_PLACE && self.thread.load(Ordering::Relaxed) != sync::os_thread() {
            return WayToWake::Notify(place(polls));
        }
        // SAFETY: by the contract of this function.
        WayToWake::Wake(unsafe { self.waker() })
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
    /// process goes on. Returns what `look` has read in the node before.
    ///
    /// # Safety
    ///
    /// The process of the node waits, and no other process can find the node in a queue or a word.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn serve<R>(
        node: *const Self,
        state: NodeState,
        exchange: impl FnOnce(&mut Option<Parcel<T>>),
        look: impl FnOnce(&Self) -> R,
    ) -> R {
        // SAFETY: until the state is stored, the process waits, so the node is in place, and the
        // parcel belongs to the caller. After the store, the node is not accessed.
        let node = unsafe { &*node };
        // SAFETY: as above.
        node.parcel
            .with_mut(|place| exchange(unsafe { &mut *place }));
        let seen = look(node);
        node.set(state, Ordering::Release);
        seen
    }
}

/// How to wake a process that was served.
pub(crate) enum WayToWake {
    Wake(Waker),
    /// The process polls on another OS thread, that of this processor.
    Notify(Processor),
}

/// The value of [`Node::polls`] of a process that sleeps, and that of one that polls anywhere.
const SLEEPS: u32 = 0;
const POLLS: u32 = 1;

/// The value of [`Node::polls`] of a process that polls on the first SPE.
const FIRST_PLACE: u32 = 2;

/// Returns the value of [`Node::polls`] of a process that polls on a processor.
#[inline(always)]
fn polls_on(processor: Processor) -> u32 {
    match processor {
        Processor::Ppe => u32::MAX,
        Processor::Spe(spe) => spe.index() as u32 + FIRST_PLACE,
    }
}

/// Returns the processor of a value that [`polls_on`] has returned.
#[inline(always)]
fn place(polls: u32) -> Processor {
    match polls {
        u32::MAX => Processor::Ppe,
        spe => Processor::Spe(SpeId::new((spe - FIRST_PLACE) as u16)),
    }
}
