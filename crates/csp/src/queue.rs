//! The processes that wait at one side of a channel.
//!
//! ```text
//!   first ──► node ──► node ──► node ◄── last       each in the frame of the call that waits
//! ```
//!
//! Everything here is under the lock of the channel, but for the outcome, which who waits polls at
//! without it, and for the node of one that waits alone in the channel's [word](crate::lock): that
//! is whose who has taken it out of there.

use std::ptr;

use crate::node::{Node, Outcome};
use crate::parcel::Parcel;
use crate::sync::Ordering;
use crate::waker::Waker;

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
    /// The node is [waiting](Node::waiting), in no queue, and it and its waker stay where they are
    /// until it is removed or served.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn append(&mut self, node: *const Node<T>) {
        if self.is_empty() {
            self.first = node;
        } else {
            // SAFETY: links are accessed under the lock, which the caller has, as there is a `&mut`
            // of what it protects; nodes in the queue are in their places.
            unsafe { (*self.last).next.with_mut(|place| *place = node) };
        }
        self.last = node;
    }

    /// Takes out a node that was not served: rare, so each node knows the next one alone. Says
    /// whether it was there.
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

    /// Takes the process that has waited longest, and [serves](Node::serve) it. Returns whom to
    /// wake.
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
            let (waker, polls) = Node::serve(node, outcome, exchange);
            Some(waker.polling(polls))
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
            let nodes: [Node<u32>; 4] = std::array::from_fn(|_| Node::new(false));
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
