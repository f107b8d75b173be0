//! The queue of the events of a run, ordered by time.
//!
//! An event is a 128-bit number, so that one instruction compares two events. If each event has a
//! payload as well, the time for an event is twice as long (measured).
//!
//! ```text
//!   127            64 63               24 23    19 18                  0
//!   ┌────────────────┬───────────────────┬────────┬─────────────────────┐
//!   │ time in fs     │ order of arrival  │ kind   │ index               │
//!   └────────────────┴───────────────────┴────────┴─────────────────────┘
//! ```
//!
//! The order of arrival decides between events of the same time. A seed other than 0 permutes it.

use crate::index::ThreadIndex;
use crate::time::Moment;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

const KIND_BITS: u32 = 5;
const INDEX_BITS: u32 = 19;
const ORDER_BITS: u32 = 40;
const ORDER_MASK: u64 = (1 << ORDER_BITS) - 1;

/// The kind of an event, which decides the table that the index of the event refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum EventKind {
    /// Continues a thread, by its index in the run.
    Resume,
    /// Calls the `ready` closures of the waiting threads of a processor, by its index.
    Check,
    /// Sends the next request of an MFC, by the index of the SPE.
    MfcRequest,
    /// Handles a step of the fabric. The module `fabric` explains the index.
    Fabric,
    /// Sends a word to a register, by the index of the word in [`Flights`](crate::words::Flights).
    SendWord,
    /// Delivers a word without a transaction, by its index in [`Flights`](crate::words::Flights).
    Word,
}

impl EventKind {
    #[inline]
    fn of(number: u64) -> Self {
        let kinds = [
            Self::Resume,
            Self::Check,
            Self::MfcRequest,
            Self::Fabric,
            Self::SendWord,
        ];
        kinds
            .into_iter()
            .find(|&kind| kind as u64 == number)
            .unwrap_or(Self::Word)
    }
}

/// An event without its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub kind: EventKind,
    /// The index in the table of the kind, below 2^19.
    pub index: u32,
}

impl Event {
    /// Returns the event that continues a thread.
    #[inline]
    pub const fn resume(thread: ThreadIndex) -> Self {
        Self {
            kind: EventKind::Resume,
            index: thread,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Queue {
    /// Sorted events. Most events are later than the last one, `run_last`, and are appended.
    run: VecDeque<u128>,
    run_last: u128,
    /// The events that are not in `run`.
    heap: BinaryHeap<Reverse<u128>>,
    arrivals: u64,
    seed: u64,
}

impl Queue {
    pub fn new(seed: u64) -> Self {
        Self {
            run: VecDeque::with_capacity(1024),
            run_last: 0,
            heap: BinaryHeap::with_capacity(1024),
            arrivals: 0,
            seed,
        }
    }

    #[inline(always)]
    pub fn push(&mut self, time: Moment, event: Event) {
        debug_assert!(event.index < 1 << INDEX_BITS);
        let arrival = self.arrivals & ORDER_MASK;
        self.arrivals = self.arrivals.wrapping_add(1);
        let order = if self.seed == 0 {
            arrival
        } else {
            permuted(arrival, self.seed)
        };
        let low = order << (KIND_BITS + INDEX_BITS)
            | u64::from(event.kind as u8) << INDEX_BITS
            | u64::from(event.index);
        let key = u128::from(time.as_femtoseconds()) << 64 | u128::from(low);
        if self.run_last < key {
            self.run_last = key;
            self.run.push_back(key);
        } else {
            self.push_to_heap(key);
        }
    }

    // `inline(never)` keeps `push` so small that it can be inlined.
    #[inline(never)]
    fn push_to_heap(&mut self, key: u128) {
        self.heap.push(Reverse(key));
    }

    #[inline]
    pub fn pop(&mut self) -> Option<(Moment, Event)> {
        let key = if self.is_run_first() {
            self.run.pop_front()?
        } else {
            self.pop_from_heap()?
        };
        let low = key as u64;
        let event = Event {
            kind: EventKind::of(low >> INDEX_BITS & ((1 << KIND_BITS) - 1)),
            index: low as u32 & ((1 << INDEX_BITS) - 1),
        };
        Some((time_of(key), event))
    }

    #[inline]
    pub fn next_time(&self) -> Option<Moment> {
        let next = if self.is_run_first() {
            self.run.front()
        } else {
            self.heap.peek().map(|Reverse(key)| key)
        };
        next.map(|key| time_of(*key))
    }

    pub fn len(&self) -> usize {
        self.run.len() + self.heap.len()
    }

    pub fn clear(&mut self) {
        self.run.clear();
        self.run_last = 0;
        self.heap.clear();
    }

    #[inline(never)]
    fn pop_from_heap(&mut self) -> Option<u128> {
        self.heap.pop().map(|Reverse(key)| key)
    }

    /// Returns whether the next event is in `run`, or the queue is empty.
    #[inline]
    fn is_run_first(&self) -> bool {
        match self.heap.peek() {
            Some(Reverse(heap)) => self.run.front().is_some_and(|run| run < heap),
            None => true,
        }
    }
}

#[inline]
fn time_of(key: u128) -> Moment {
    Moment::from_femtoseconds((key >> 64) as u64)
}

/// Permutes the 40-bit numbers, differently for each seed. Each step is invertible: a
/// multiplication by an odd number, an addition, or a xor with the upper bits.
#[inline]
fn permuted(number: u64, seed: u64) -> u64 {
    let mut mixed = (number ^ seed) & ORDER_MASK;
    for round in [0x9E37_79B9_7F4A_7C15_u64, 0xBF58_476D_1CE4_E5B9] {
        mixed = mixed.wrapping_mul(round | 1) & ORDER_MASK;
        mixed ^= mixed >> 20;
        mixed = mixed.wrapping_add(seed >> 24) & ORDER_MASK;
    }
    mixed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(index: u32) -> Event {
        let kind = EventKind::Resume;
        Event { kind, index }
    }

    fn at(femtoseconds: u64) -> Moment {
        Moment::from_femtoseconds(femtoseconds)
    }

    fn order(seed: u64) -> Vec<u32> {
        let mut queue = Queue::new(seed);
        (0..100).for_each(|index| queue.push(at(7), event(index)));
        std::iter::from_fn(|| queue.pop().map(|(_, event)| event.index)).collect()
    }

    #[test]
    fn time_comes_first_then_the_order_of_arrival() {
        let mut queue = Queue::new(0);
        for (time, index) in [(5, 0), (3, 1), (5, 2), (u64::MAX, 3), (3, 4)] {
            queue.push(at(time), event(index));
        }
        assert_eq!(queue.next_time(), Some(at(3)));
        let order: Vec<_> = std::iter::from_fn(|| queue.pop())
            .map(|(time, event)| (time.as_femtoseconds(), event.index))
            .collect();
        assert_eq!(order, [(3, 1), (3, 4), (5, 0), (5, 2), (u64::MAX, 3)]);
    }

    #[test]
    fn events_that_are_added_between_others_are_in_their_place() {
        let mut queue = Queue::new(0);
        let mut next = move |add: &[(u64, u32)]| {
            add.iter()
                .for_each(|&(time, index)| queue.push(at(time), event(index)));
            let next = queue.next_time();
            let popped = queue.pop();
            assert_eq!(popped.map(|(time, _)| time), next);
            popped.map(|(_, event)| event.index)
        };
        assert_eq!(next(&[(3, 0), (8, 1), (6, 2)]), Some(0));
        assert_eq!(next(&[(7, 3)]), Some(2));
        assert_eq!(next(&[(6, 4), (9, 5)]), Some(4));
        assert_eq!(next(&[(7, 6)]), Some(3));
        assert_eq!(next(&[]), Some(6));
        assert_eq!(next(&[]), Some(1));
        assert_eq!(next(&[]), Some(5));
        assert_eq!(next(&[]), None);
        assert_eq!(next(&[(1, 7)]), Some(7));
        assert_eq!(next(&[]), None);
    }

    #[test]
    fn a_cleared_queue_can_be_used_again() {
        let mut queue = Queue::new(0);
        for (time, index) in [(4, 0), (5, 1), (3, 2), (2, 3)] {
            queue.push(at(time), event(index));
        }
        assert_eq!(queue.pop(), Some((at(2), event(3))));
        queue.clear();
        assert_eq!(queue.pop(), None);
        queue.push(at(2), event(5));
        queue.push(at(1), event(6));
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(order, [(at(1), event(6)), (at(2), event(5))]);
    }

    #[test]
    fn a_seed_permutes_ties_and_loses_none() {
        let plain: Vec<u32> = (0..100).collect();
        assert_eq!(order(0), plain);
        for seed in [1, 2, u64::MAX] {
            let mut permuted = order(seed);
            assert_ne!(permuted, plain);
            assert_eq!(permuted, order(seed), "the same seed, the same order");
            permuted.sort_unstable();
            assert_eq!(permuted, plain);
        }
        assert_ne!(order(1), order(2));
    }

    #[test]
    fn a_seed_does_not_change_the_order_of_times() {
        let mut queue = Queue::new(3);
        (0..50).for_each(|index| queue.push(at(u64::from(50 - index)), event(index)));
        let times: Vec<Moment> = std::iter::from_fn(|| queue.pop().map(|(time, _)| time)).collect();
        assert!(times.is_sorted());
    }
}
