//! Halves: the second closures of a job's `join` calls. The halves have not begun.
//!
//! A `join` adds its half, runs the first closure, and removes the half, without atomic operations.
//! When another worker asks for work, the oldest half, usually the largest, is offered by a ticket.
//!
//! ```text
//!            oldest                            newest
//!   halves   [ offered | offered | private | private ]
//!   tickets  [ ticket  | ticket  ]
//! ```
//!
//! Nearly always the newest half is removed first. But the cooperative threads of a job share its
//! [`Worker`](crate::Worker), and their `join` calls end in any order.

// Rejected: a list through the stacks of the `join` calls, in which the place of a half does not
// matter. A join took 1.3 times as long, because it stores more pointers.

use std::cell::{Cell, UnsafeCell};
use std::ptr;
use std::sync::Arc;

use cellworks_machine::Spe;

use crate::closure::Half;
use crate::job::Ticket;
use crate::node::CurrentTask;

/// The state of the job that a thread runs. The cooperative threads that the job has started share
/// this state.
pub(crate) struct RunningJob<S: Spe> {
    pub(crate) halves: Halves<S>,
    pub(crate) current: Cell<CurrentTask<S>>,
}

impl<S: Spe> RunningJob<S> {
    pub(crate) fn new() -> Self {
        Self {
            halves: Halves::new(),
            current: Cell::new(CurrentTask::none()),
        }
    }
}

/// The halves of one job, oldest first.
pub(crate) struct Halves<S: Spe> {
    halves: UnsafeCell<Vec<Half<S>>>,
    /// A ticket for each offered half. The offered halves are the oldest halves of the job.
    tickets: UnsafeCell<Vec<Arc<Ticket<S>>>>,
    /// From this place on, no half was offered, and each is at the place at which it was added.
    /// [`MOVED`] if a half may be at another place.
    in_place_from: Cell<usize>,
}

const MOVED: usize = usize::MAX;

impl<S: Spe> Halves<S> {
    pub(crate) fn new() -> Self {
        Self {
            halves: UnsafeCell::new(Vec::with_capacity(64)),
            tickets: UnsafeCell::default(),
            in_place_from: Cell::new(0),
        }
    }

    /// Adds a half and returns its place. The closure must not move until the half is removed.
    #[inline(always)]
    pub(crate) fn add(&self, half: Half<S>) -> usize {
        // SAFETY: `Halves` is neither `Send` nor `Sync`, and no method lends its fields or calls
        // code that does.
        let halves = unsafe { &mut *self.halves.get() };
        let place = halves.len();
        halves.push(half);
        place
    }

    /// Removes a half that is the newest one and was not offered. `add` has returned `place`.
    /// Otherwise returns false, and the caller must call [`remove`](Self::remove).
    ///
    /// The place is a parameter, because a load of the number of halves would wait for the store of
    /// this number by an earlier `join`. Here only a check waits.
    #[inline(always)]
    pub(crate) fn remove_newest(&self, place: usize) -> bool {
        // SAFETY: as in `add`.
        let halves = unsafe { &mut *self.halves.get() };
        if halves.len().wrapping_sub(place) != 1 || place < self.in_place_from.get() {
            return false;
        }
        // SAFETY: this makes the list shorter. Elements need no drop.
        unsafe { halves.set_len(place) };
        true
    }

    /// Removes the half of a closure, wherever it is. Returns the ticket if the half was offered.
    pub(crate) fn remove(&self, closure: *const ()) -> Option<Arc<Ticket<S>>> {
        // SAFETY: as in `add`.
        let (halves, tickets) = unsafe { (&mut *self.halves.get(), &mut *self.tickets.get()) };
        let is_it = |half: &Half<S>| ptr::eq(half.closure, closure);
        let place = halves.iter().rposition(is_it);
        let place = place.expect("each join removes its half once");
        halves.remove(place);
        let ticket = (place < tickets.len()).then(|| tickets.remove(place));
        let is_newest = place == halves.len();
        self.in_place_from.set(if halves.is_empty() {
            0
        } else if is_newest && self.in_place_from.get() != MOVED {
            tickets.len()
        } else {
            MOVED
        });
        ticket
    }

    /// Returns whether there is a half that was not offered.
    pub(crate) fn has_private(&self) -> bool {
        // SAFETY: as in `add`.
        let (halves, tickets) = unsafe { (&*self.halves.get(), &*self.tickets.get()) };
        tickets.len() < halves.len()
    }

    /// Offers the oldest half that was not offered, if any. `ticket` makes the returned ticket.
    pub(crate) fn offer_oldest(
        &self,
        ticket: impl FnOnce(Half<S>) -> Ticket<S>,
    ) -> Option<Arc<Ticket<S>>> {
        // SAFETY: as in `add`.
        let (halves, tickets) = unsafe { (&*self.halves.get(), &mut *self.tickets.get()) };
        let ticket = Arc::new(ticket(*halves.get(tickets.len())?));
        tickets.push(Arc::clone(&ticket));
        if self.in_place_from.get() != MOVED {
            self.in_place_from.set(tickets.len());
        }
        Some(ticket)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use cellworks_host::HostSpe;
    use cellworks_machine::{Processor, SpeId};

    use super::*;
    use crate::current::Current;
    use crate::offer::Offer;

    fn add(halves: &Halves<HostSpe>, closure: &u8) -> usize {
        halves.add(Half::new(|_, _| Ok(()), (&raw const *closure).cast()))
    }

    fn remove(halves: &Halves<HostSpe>, closure: &u8, place: usize) -> Option<*const ()> {
        if halves.remove_newest(place) {
            return None;
        }
        let ticket = halves.remove((&raw const *closure).cast());
        ticket.map(|ticket| ticket.half.closure)
    }

    fn offer(halves: &Halves<HostSpe>) -> Option<*const ()> {
        let ticket = |half| Ticket {
            offer: Offer::new(),
            half,
            owner: Processor::Spe(SpeId::new(0)),
            current: Current::none(),
        };
        halves
            .offer_oldest(ticket)
            .map(|ticket| ticket.half.closure)
    }

    /// Adds, offers and removes halves in random orders, and compares with a plain list.
    #[test]
    fn halves_are_removed_in_any_order() {
        const CLOSURES: usize = 6;
        let closures = [0_u8; CLOSURES];
        let address = |closure: usize| (&raw const closures[closure]).cast::<()>();
        for seed in 0..2_000_u64 {
            let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut next = |below: usize| {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                (random >> 33) as usize % below
            };
            let halves = Halves::new();
            // The closure, its place, and whether it was offered.
            let mut expected: Vec<(usize, usize, bool)> = Vec::new();
            for _ in 0..60 {
                match next(3) {
                    0 => {
                        let is_free = |closure: &usize| !expected.iter().any(|it| it.0 == *closure);
                        let Some(closure) = (0..CLOSURES).find(is_free) else {
                            continue;
                        };
                        let place = add(&halves, &closures[closure]);
                        expected.push((closure, place, false));
                    }
                    1 => {
                        let oldest = expected.iter_mut().find(|it| !it.2);
                        let offered = oldest.map(|it| {
                            it.2 = true;
                            address(it.0)
                        });
                        assert_eq!(offer(&halves), offered, "seed {seed}");
                    }
                    _ if expected.is_empty() => {}
                    _ => {
                        let (closure, place, is_offered) = expected.remove(next(expected.len()));
                        let ticket = is_offered.then(|| address(closure));
                        let removed = remove(&halves, &closures[closure], place);
                        assert_eq!(removed, ticket, "seed {seed}");
                    }
                }
                let has_private = expected.iter().any(|it| !it.2);
                assert_eq!(halves.has_private(), has_private, "seed {seed}");
            }
        }
    }
}
