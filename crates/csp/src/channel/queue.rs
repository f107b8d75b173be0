//! The processes that wait at one side of a channel.
//!
//! ```text
//!   first ──► node ──► node ──► node ◄── last       each in the frame of the call that waits
//! ```
//!
//! The channel's lock protects the queue and its nodes, with two exceptions. A waiting process
//! reads the state in its own node without the lock. The node of the only waiting process may be
//! in the channel's [word](super::lock), and belongs to the process that takes it out of the word.

use std::ptr;

use super::node::{Node, NodeState, Parcel};
use super::waker::Waker;
use crate::sync::Ordering;

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

    /// Returns the address of the first node.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn first_address(&self) -> Option<usize> {
        (!self.is_empty()).then(|| self.first.addr())
    }

    /// Adds a node to the end of the queue, with its waker and, for a writer, the item.
    ///
    /// # Safety
    ///
    /// The node is idle. The node and the waker stay in place until the node is removed or served.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn push(&mut self, node: &Node<T>, waker: &Waker, parcel: Option<Parcel<T>>) {
        node.set(NodeState::Waits, Ordering::Relaxed);
        // SAFETY: no other process can access this node yet, and node and waker stay in place.
        unsafe {
            node.waker.with_mut(|place| *place = waker);
            if let Some(parcel) = parcel {
                node.parcel.with_mut(|place| *place = Some(parcel));
            }
            self.append(node);
        }
    }

    /// Adds a node, which already has its waker and its item, to the end of the queue.
    ///
    /// # Safety
    ///
    /// The node is [waiting](Node::waiting) and in no queue. The node and its waker stay in place
    /// until the node is removed or served.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) unsafe fn append(&mut self, node: *const Node<T>) {
        if self.is_empty() {
            self.first = node;
        } else {
            // SAFETY: links are accessed only under the channel's lock, which the caller has,
            // because it has a `&mut` to the queue. Nodes in the queue stay in place.
            unsafe { (*self.last).next.with_mut(|place| *place = node) };
        }
        self.last = node;
    }

    /// Removes a node that was not served. Returns whether the queue had the node.
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
        node.set(NodeState::Closed, Ordering::Relaxed);
        true
    }

    /// If the queue has exactly one node, removes this node without serving it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn take_only(&mut self) -> Option<*const Node<T>> {
        let is_only = !self.is_empty() && ptr::eq(self.first, self.last);
        is_only.then(|| std::mem::replace(&mut self.first, ptr::null()))
    }

    /// Removes the first node, [serves](Node::serve) it, and returns the waker of its process.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn serve(
        &mut self,
        state: NodeState,
        exchange: impl FnOnce(&mut Option<Parcel<T>>),
    ) -> Option<Waker> {
        // SAFETY: a node in the queue stays in place until it is removed, which happens here.
        unsafe {
            let node = self.first.as_ref()?;
            self.first = node.next.with_mut(|place| *place);
            Some(Node::serve(node, state, exchange, |node| node.waker()))
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use cellworks_machine::{Processor, Sleeper};

    use super::*;

    #[test]
    fn whichever_node_leaves_the_others_are_served_in_order() {
        // Bit `i` of `leaving` is set if the process `i` leaves early.
        for leaving in 0..8 {
            let nodes: [Node<u32>; 4] = std::array::from_fn(|_| Node::new(false));
            let wakers: [Waker; 4] = std::array::from_fn(|number| Waker {
                // SAFETY: the sleeper is never used to wake a thread.
                sleeper: unsafe { Sleeper::new(Processor::Ppe, (0, 0)) },
                process: number as u32,
                network: 0,
            });
            let mut queue = Queue::EMPTY;
            let push = |queue: &mut Queue<u32>, number: usize| {
                // SAFETY: each node is pushed once, and nodes and wakers stay in their arrays.
                unsafe { queue.push(&nodes[number], &wakers[number], None) };
            };
            (0..3).for_each(|number| push(&mut queue, number));
            let leaves = |number: &usize| leaving & 1 << number != 0;
            for number in (0..3).filter(leaves) {
                assert!(queue.remove(&nodes[number]));
            }
            push(&mut queue, 3);
            let served = std::iter::from_fn(|| queue.serve(NodeState::Served, |_| ()));
            let served: Vec<_> = served.map(|waker| waker.process as usize).collect();
            let stay: Vec<_> = (0..4).filter(|number| !leaves(number)).collect();
            assert_eq!(served, stay, "those of {leaving:#b} have left");
        }
    }
}
