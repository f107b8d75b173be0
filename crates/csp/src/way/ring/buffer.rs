//! The buffer of a channel: a ring buffer, or a queue under the lock.

use std::collections::VecDeque;
use std::mem::MaybeUninit;

use super::Ring;
use super::origins::Origins;
use crate::channel::link::Side;
use crate::channel::node::Parcel;
use crate::counting::Tally;
use crate::process::User;
use crate::sync::{Arc, Ordering};
use crate::transport::origin::Origin;

/// The items that were written to a channel and not read. The channel's lock protects the buffer.
pub(crate) enum Buffer<T> {
    Queue(VecDeque<Parcel<T>>),
    /// A ring buffer, which a side that is not excluded may use without the lock.
    Ring(Arc<Ring<T>>, Origins),
}

impl<T> Buffer<T> {
    pub(crate) fn of_ring(ring: Ring<T>) -> Self {
        Self::Ring(Arc::new(ring), Origins::new())
    }

    pub(crate) fn ring(&self) -> Option<&Arc<Ring<T>>> {
        match self {
            Self::Queue(_) => None,
            Self::Ring(ring, _) => Some(ring),
        }
    }

    /// Registers a user of a ring buffer, which is the caller. `tally` is what its process has
    /// read, if the network counts.
    pub(crate) fn register(&mut self, side: Side, user: User, tally: Option<&Tally>) {
        let Self::Ring(ring, origins) = self else {
            return;
        };
        match side {
            Side::Writer => origins.begin(ring, tally.map_or_else(Origin::default, Tally::origin)),
            Side::Reader => origins.receive(ring, user, tally),
        }
        ring.register(side, user);
    }

    /// Called before another process than the registered reader takes items.
    pub(crate) fn change_reader(&mut self) {
        if let Self::Ring(ring, origins) = self {
            origins.end_receiving(&ring.reader_gate);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Queue(queue) => queue.len(),
            Self::Ring(ring, _) => ring.len(),
        }
    }

    /// Appends an item to a buffer with room. The caller is the writer, or serves a waiting writer.
    pub(crate) fn push_back(&mut self, parcel: Parcel<T>) {
        match self {
            Self::Queue(queue) => queue.push_back(parcel),
            Self::Ring(ring, origins) => {
                origins.begin(ring, parcel.origin);
                let written = ring.written.load(Ordering::Relaxed);
                let slot = ring.slot(written);
                // SAFETY: the slot is free, and the writer is the caller or waits.
                slot.with_mut(|slot| unsafe { slot.write(MaybeUninit::new(parcel.item)) });
                ring.written
                    .store(written.wrapping_add(1), Ordering::Release);
            }
        }
    }

    /// Takes the first item. The caller is the reader, or the reader is excluded.
    pub(crate) fn pop_front(&mut self) -> Option<Parcel<T>> {
        match self {
            Self::Queue(queue) => queue.pop_front(),
            Self::Ring(ring, origins) => {
                let read = ring.read.load(Ordering::Relaxed);
                if ring.written.load(Ordering::Acquire) == read {
                    return None;
                }
                let (origin, _) = origins.at(read);
                // SAFETY: the slot holds an item, and the reader is the caller or excluded.
                let item = ring
                    .slot(read)
                    .with_mut(|slot| unsafe { slot.read().assume_init() });
                ring.read.store(read.wrapping_add(1), Ordering::Release);
                origins.pass_over();
                Some(Parcel { item, origin })
            }
        }
    }
}
