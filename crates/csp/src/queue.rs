//! The processes that wait at one side of a channel.
//!
//! ```text
//!   first ──► node ──► node ──► node ◄── last       each in the frame of the call that waits
//! ```
//!
//! Everything here is under the lock of the channel, but for the outcome, which who waits looks at without it, and for the node
//! of one that waits alone in the channel's [word](crate::lock): that is whose who has taken it out of there.

use std::ptr;

use crate::lock::Lock;
use crate::parcel::Parcel;
use crate::prefetch;
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

/// The place of a process that may have to wait at a channel: a variable of the call that waits, and nothing else's part, so
/// that there is no exclusive reference to it while others access it.
// Whoever serves it writes the item and the outcome, which should be one cache line.
#[repr(C, align(64))]
pub(crate) struct Node<T> {
    outcome: AtomicU32,
    /// Who came after it, in a queue. Null while it waits in the word; accessed under the channel's lock.
    next: UnsafeCell<*const Node<T>>,
    /// The process's own, which lives for longer than a call: written before it waits, followed by who serves it. A copy
    /// would cost a wait two loads and two stores of 16 bytes more.
    waker: UnsafeCell<*const Waker>,
    /// The item that a writer has brought, or that a reader is given: of who serves it while it waits, the process's own before
    /// and after that.
    parcel: UnsafeCell<Option<Parcel<T>>>,
}

impl<T> Node<T> {
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn new() -> Self {
        Self {
            outcome: AtomicU32::new(Outcome::Idle as u32),
            next: UnsafeCell::new(ptr::null()),
            waker: UnsafeCell::new(ptr::null()),
            parcel: UnsafeCell::new(None),
        }
    }

    /// The node of a process that waits with what it brings, before anybody knows of it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn waiting(waker: &Waker, parcel: Option<Parcel<T>>) -> Self {
        Self {
            outcome: AtomicU32::new(Outcome::Waits as u32),
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
    fn set(&self, outcome: Outcome, order: Ordering) {
        self.outcome.store(outcome as u32, order);
    }

    /// The item that it has when it was served: what was read, or what nobody took.
    ///
    /// # Safety
    ///
    /// The caller is the process, and nobody else knows of the node.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn take_parcel(&self) -> Option<Parcel<T>> {
        // SAFETY: as the caller says.
        self.parcel.with_mut(|place| unsafe { (*place).take() })
    }

    /// Serves a process that waits: `exchange` gives it an item or takes its own, and then it goes on. Returns whom to wake.
    ///
    /// # Safety
    ///
    /// The node waits, and nobody else finds it any more: it was taken out of the queue or the word that it was in.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn serve(
        node: *const Self,
        outcome: Outcome,
        exchange: impl FnOnce(&mut Option<Parcel<T>>),
    ) -> Waker {
        // SAFETY: a node that waits is in its place, as its process does not go on before the outcome is stored: nothing of it
        // is accessed after that. Until then its parcel is the caller's, and its waker is in its place, too.
        unsafe {
            let node = &*node;
            node.parcel.with_mut(|place| exchange(&mut *place));
            let waker = node.waker.with_mut(|place| **place);
            node.set(outcome, Ordering::Release);
            waker
        }
    }
}

/// Where the process waited that an end of a channel met last: probably it waits there again. So its node can be on its way from
/// another core's cache while the channel still is.
// An address, which is a multiple of 64, and one more if that process was of another core.
#[derive(Clone, Copy, Default)]
pub(crate) struct Partner(usize);

impl Partner {
    /// Has the processor fetch that node, to be written.
    #[inline(always)]
    pub(crate) fn prefetch(self) {
        prefetch::to_write(self.0);
    }

    /// Takes down who was served, and whether it is of this core.
    #[inline(always)]
    pub(crate) fn has_met<L: Lock, T>(&mut self, node: *const Node<T>, is_here: bool) {
        if L::IS_SHARED {
            self.0 = node.addr() | usize::from(!is_here);
        }
    }

    /// Whether it was of another core.
    #[inline(always)]
    pub(crate) fn is_elsewhere(self) -> bool {
        self.0 & 1 == 1
    }
}

/// The processes that wait at one side of a channel, in the order in which they came.
pub(crate) struct Queue<T> {
    first: *const Node<T>,
    last: *const Node<T>,
}

impl<T> Queue<T> {
    pub(crate) const EMPTY: Self = Self {
        first: ptr::null(),
        last: ptr::null(),
    };

    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_null()
    }

    /// # Safety
    ///
    /// The node is idle, and it and the waker stay where they are until it is removed or served.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn push(&mut self, node: &Node<T>, waker: &Waker, parcel: Option<Parcel<T>>) {
        node.set(Outcome::Waits, Ordering::Relaxed);
        // SAFETY: nobody else knows this node yet; the rest is the caller's promise.
        unsafe {
            node.waker.with_mut(|place| *place = waker);
            if let Some(parcel) = parcel {
                node.parcel.with_mut(|place| *place = Some(parcel));
            }
            self.append(node);
        }
    }

    /// # Safety
    ///
    /// The node is [waiting](Node::waiting), in no queue, and it and its waker stay where they are until it is removed or
    /// served.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn append(&mut self, node: *const Node<T>) {
        if self.is_empty() {
            self.first = node;
        } else {
            // SAFETY: links are accessed under the lock, which the caller has, as there is a `&mut` of what it protects;
            // nodes in the queue are in their places.
            unsafe { (*self.last).next.with_mut(|place| *place = node) };
        }
        self.last = node;
    }

    /// Takes out a node that was not served: rare, so each node knows the next one alone. Says whether it was there.
    #[cold]
    pub(crate) fn remove(&mut self, node: &Node<T>) -> bool {
        // SAFETY: as in `append`.
        let next_of = |node: *const Node<T>| unsafe { (*node).next.with_mut(|place| *place) };
        let mut previous = ptr::null();
        let mut at = self.first;
        while !ptr::eq(at, node) {
            if at.is_null() {
                return false;
            }
            previous = at;
            at = next_of(at);
        }
        let next = next_of(node);
        if previous.is_null() {
            self.first = next;
        } else {
            // SAFETY: as in `append`.
            unsafe { (*previous).next.with_mut(|place| *place = next) };
        }
        if ptr::eq(self.last, node) {
            self.last = previous;
        }
        node.set(Outcome::Closed, Ordering::Relaxed);
        true
    }

    /// Takes out the only node there is, if it is the only one. It has not been served.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn take_only(&mut self) -> Option<*const Node<T>> {
        let is_only = !self.is_empty() && ptr::eq(self.first, self.last);
        is_only.then(|| std::mem::replace(&mut self.first, ptr::null()))
    }

    /// Takes the process that has waited longest, and [serves](Node::serve) it. Returns whom to wake.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn serve(
        &mut self,
        outcome: Outcome,
        exchange: impl FnOnce(&mut Option<Parcel<T>>),
    ) -> Option<Waker> {
        // SAFETY: a node in the queue is in its place until it is removed, which is now.
        unsafe {
            let node = self.first.as_ref()?;
            self.first = node.next.with_mut(|place| *place);
            Some(Node::serve(node, outcome, exchange))
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use cellworks_machine::{Processor, Sleeper};

    use super::*;

    #[test]
    fn whoever_leaves_the_others_are_served_in_order() {
        // Each set of those who leave, as bits, before the last one comes.
        for leaving in 0..8 {
            let nodes: [Node<u32>; 4] = std::array::from_fn(|_| Node::new());
            let wakers: [Waker; 4] = std::array::from_fn(|number| Waker {
                // SAFETY: nobody is woken.
                sleeper: unsafe { Sleeper::new(Processor::Ppe, (0, 0)) },
                process: number as u32,
                network: 0,
            });
            let mut queue = Queue::EMPTY;
            let push = |queue: &mut Queue<u32>, number: usize| {
                // SAFETY: each is pushed once, and stays in its array as its waker does.
                unsafe { queue.push(&nodes[number], &wakers[number], None) };
            };
            (0..3).for_each(|number| push(&mut queue, number));
            let leaves = |number: &usize| leaving & 1 << number != 0;
            for number in (0..3).filter(leaves) {
                assert!(queue.remove(&nodes[number]));
            }
            push(&mut queue, 3);
            let served = std::iter::from_fn(|| queue.serve(Outcome::Served, |_| ()));
            let served: Vec<_> = served.map(|waker| waker.process as usize).collect();
            let stay: Vec<_> = (0..4).filter(|number| !leaves(number)).collect();
            assert_eq!(served, stay, "those of {leaving:#b} have left");
        }
    }
}
