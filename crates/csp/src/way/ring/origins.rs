//! The origins of the items in a ring buffer, if the network [counts](crate::counting).

use std::collections::VecDeque;

use super::{Gate, Ring};
use crate::counting::{Received, Tally};
use crate::process::User;
use crate::sync::Ordering;
use crate::transport::origin::Origin;

/// The origins of the items in a ring buffer, and what its reader has read of them. If the network
/// does not count, all origins are the default.
pub(crate) struct Origins {
    /// An entry for each change of the origin, with the number of the first item after the change.
    /// The last entry holds for the next items, too.
    changes: VecDeque<(usize, Origin)>,
    /// What the registered reader reads without the lock, if the network counts. Items that it
    /// takes with the lock are counted by the origins in their parcels, so they are passed over
    /// here. Ends before another process takes an item.
    received: Option<std::sync::Arc<Received>>,
}

impl Origins {
    pub(super) fn new() -> Self {
        Self {
            changes: VecDeque::from([(0, Origin::default())]),
            received: None,
        }
    }

    /// Notes that the next items that are written have this origin.
    pub(super) fn begin<T>(&mut self, ring: &Ring<T>, origin: Origin) {
        if self.changes.back().is_some_and(|(_, last)| *last == origin) {
            return;
        }
        self.at(ring.read.load(Ordering::Relaxed));
        let written = ring.written.load(Ordering::Relaxed);
        self.changes.push_back((written, origin));
        let gate = &ring.writer_gate;
        let changes = gate.changes.load(Ordering::Relaxed).wrapping_add(1);
        gate.changes.store(changes, Ordering::Relaxed);
        // The last user may write again later, and has to register its origin before.
        gate.thread.store(0, Ordering::Relaxed);
    }

    /// Forgets the changes before the item number `read`. Returns the origin of this item, and
    /// whether all later items have it, too.
    pub(super) fn at(&mut self, read: usize) -> (Origin, bool) {
        let is_past = |(first, _): &(usize, Origin)| first.wrapping_sub(read).cast_signed() <= 0;
        while self.changes.get(1).is_some_and(is_past) {
            self.changes.pop_front();
        }
        (self.changes[0].1, self.changes.len() == 1)
    }

    /// Notes that `user` reads the next items without the lock. The caller is this user.
    pub(super) fn receive<T>(&mut self, ring: &Ring<T>, user: User, tally: Option<&Tally>) {
        let (gate, end) = (&ring.reader_gate, &ring.reader);
        let changes = ring.writer_gate.changes.load(Ordering::Relaxed);
        let is_known = gate.is_of(user);
        if is_known && end.seen.get() == changes {
            return;
        }
        let (origin, is_last) = self.at(ring.read.load(Ordering::Relaxed));
        // Another number than `changes`, if a change is still to come.
        end.seen.set(changes.wrapping_sub(usize::from(!is_last)));
        let is_from = |received: &Received| received.is_from(origin);
        if !is_known || !self.received.as_deref().is_none_or(is_from) {
            self.end_receiving(gate);
            let of_type = size_of::<T>();
            self.received = tally.map(|tally| tally.receive_from(origin, &ring.read, of_type));
            end.received.set(self.received.clone());
        }
    }

    /// Notes that the reader has taken an item with the lock.
    pub(super) fn pass_over(&self) {
        if let Some(received) = &self.received {
            received.pass_over();
        }
    }

    /// Ends what the registered reader reads without the lock. If the reader goes on, it has to
    /// register again.
    pub(super) fn end_receiving(&mut self, reader: &Gate) {
        if let Some(received) = self.received.take() {
            received.end();
            reader.thread.store(0, Ordering::Relaxed);
        }
    }
}
