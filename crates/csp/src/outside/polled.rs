//! The wait of an end that is polled: the end of an [async task](super::asynchronous).
//!
//! ```text
//!   poll ── performs a step ──► an item was exchanged, or the channel has ended
//!     │ no partner
//!     └── lists a guard, waits or listens ──► pending ── a partner wakes the task ──► poll
//!                                               └─────── cancel: no longer listed
//! ```
//!
//! The end has an alternation's [party](crate::channel::party) with one guard. A guard is in
//! no frame, so it may be forgotten.
//!
//! - A reader *waits*: a partner may put an item into its guard at any time. An item that came
//!   before the wait was cancelled is kept for the next read.
//! - A writer *listens*: a partner wakes it, and it writes the item in its next poll. So an item is
//!   written in a poll or not at all.

use crate::channel::RawChannel;
use crate::channel::link::Side;
use crate::channel::lock::Lock;
use crate::channel::node::Parcel;
use crate::channel::party::{Guard, Party, WaitState};
use crate::channel::protocol::Met;
use crate::channel::waker::{Waker, Woken};
use crate::sync::{Arc, Ordering};

pub(crate) struct Polled<T> {
    side: Side,
    party: Arc<Party>,
    guard: Arc<Guard<T>>,
    /// Whether the guard is listed at the channel, and the party waits or listens.
    waits: bool,
}

impl<T> Polled<T> {
    pub(crate) fn new(side: Side) -> Self {
        let party = Arc::new(match side {
            Side::Reader => Party::new(),
            Side::Writer => Party::new_listener(),
        });
        let guard = Arc::new(Guard::new(&party, 0, &None));
        Self {
            side,
            party,
            guard,
            waits: false,
        }
    }

    /// Returns a number that no other end has.
    #[cfg(feature = "async")]
    pub(crate) fn number(&self) -> u64 {
        self.party.number
    }

    #[cfg(feature = "async")]
    pub(crate) fn waits(&self) -> bool {
        self.waits
    }

    /// Returns whether the task should poll again.
    #[cfg(all(test, any(loom, shuttle)))]
    pub(crate) fn is_poked(&self) -> bool {
        self.party.wait_state() != WaitState::Waiting
    }

    /// Performs the step of a reader or a writer: moves an item into or out of `parcel`. Does not
    /// begin to wait.
    #[cfg(feature = "async")]
    pub(crate) fn attempt<L: Lock>(
        &self,
        channel: &RawChannel<T, L>,
        parcel: &mut Option<Parcel<T>>,
        mut wake: impl FnMut(Woken),
    ) -> Met {
        let mut woken = Woken::None;
        // Without a user, because a task uses the ring buffer only under the lock.
        let met = channel.lock().step_of(self.side, None, parcel, &mut woken);
        wake(woken);
        met
    }

    /// Performs the step of a reader or a writer, or ends the wait of the last poll if a partner has
    /// put an item into the guard. If there is no partner, waits: `waker` is woken when another poll
    /// is due. `wake` wakes partners.
    pub(crate) fn poll<L: Lock>(
        &mut self,
        channel: &RawChannel<T, L>,
        parcel: &mut Option<Parcel<T>>,
        waker: Waker,
        mut wake: impl FnMut(Woken),
    ) -> Met {
        loop {
            if self.stop(parcel) {
                self.unlist(channel);
                return Met::Done;
            }
            let mut woken = Woken::None;
            let met = self.step_or_list(channel, parcel, &mut woken);
            if !matches!(met, Met::NoPartner) {
                wake(woken);
                return met;
            }
            match self.side {
                Side::Reader => self.party.wait(waker),
                Side::Writer => self.party.listen(waker),
            }
            // As for an alternation: the bit is looked at once more, and other alternations are.
            let goes_on = self.party.ready.load(Ordering::SeqCst) != 0
                || self.party.is_opposed()
                    && channel.lock().meets(self.side, &self.guard, &mut woken);
            wake(woken);
            if !goes_on {
                return Met::NoPartner;
            }
        }
    }

    /// Ends the wait of the last poll. If a partner has put an item into the guard, moves the item
    /// to `parcel`, and returns true.
    pub(crate) fn cancel<L: Lock>(
        &mut self,
        channel: &RawChannel<T, L>,
        parcel: &mut Option<Parcel<T>>,
    ) -> bool {
        let is_done = self.stop(parcel);
        self.unlist(channel);
        is_done
    }

    fn step_or_list<L: Lock>(
        &mut self,
        channel: &RawChannel<T, L>,
        parcel: &mut Option<Parcel<T>>,
        woken: &mut Woken,
    ) -> Met {
        let mut state = channel.lock();
        let mut met = state.step_of(self.side, None, parcel, woken);
        if matches!(met, Met::NoPartner) && !self.waits {
            // From now on the other side uses no ring buffer without the lock, so a second step
            // finds all that it has put there.
            state.add_guard(self.side, &self.guard);
            self.waits = true;
            met = state.step_of(self.side, None, parcel, woken);
        }
        match met {
            Met::NoPartner => self.guard.clear_ready(),
            Met::Done | Met::Ended(_) => {
                if self.waits {
                    state.remove_guard(self.side, &self.guard);
                    self.waits = false;
                }
            }
        }
        met
    }

    /// Makes the party active. Returns whether a partner has put an item into the guard.
    fn stop(&self, parcel: &mut Option<Parcel<T>>) -> bool {
        if !self.waits || !matches!(self.party.stop_waiting(), WaitState::Claimed(_)) {
            return false;
        }
        // SAFETY: the party is active, and this method is its only user: `parcel` of the guard is
        // accessed nowhere else but by partners, and only while the party waits.
        let given = unsafe { self.guard.parcel() }.take();
        *parcel = given;
        true
    }

    fn unlist<L: Lock>(&mut self, channel: &RawChannel<T, L>) {
        if self.waits {
            channel.lock().remove_guard(self.side, &self.guard);
            self.waits = false;
        }
    }
}
