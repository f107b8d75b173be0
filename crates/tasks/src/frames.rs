//! Frames: the second closures (halves) of a thread's `join` calls. The halves have not begun.
//!
//! A `join` adds its half, runs the first closure, and removes the half, without atomic operations.
//! When another worker asks for work, the oldest half, usually the largest, is offered by a ticket.
//!
//! ```text
//!            oldest                            newest
//!   frames   [ offered | offered | private | private ]
//!   tickets  [ ticket  | ticket  ]
//! ```

use std::cell::{Cell, UnsafeCell};
use std::sync::Arc;

use cellworks_machine::Spe;

use crate::closure::Frame;
use crate::job::Ticket;

/// The halves of one thread, oldest first.
pub(crate) struct Frames<S: Spe> {
    frames: UnsafeCell<Vec<Frame<S>>>,
    /// A ticket for each offered half. The offered halves are the oldest halves of the thread.
    tickets: UnsafeCell<Vec<Arc<Ticket<S>>>>,
    /// The number of halves that have been offered.
    offered: Cell<usize>,
}

impl<S: Spe> Frames<S> {
    pub(crate) fn new() -> Self {
        Self {
            frames: UnsafeCell::new(Vec::with_capacity(64)),
            tickets: UnsafeCell::default(),
            offered: Cell::new(0),
        }
    }

    /// Adds a half and returns its place. The half must not move until it is removed.
    #[inline(always)]
    pub(crate) fn push(&self, frame: Frame<S>) -> usize {
        // SAFETY: `Frames` is neither `Send` nor `Sync`, and no method lends its fields.
        let frames = unsafe { &mut *self.frames.get() };
        let place = frames.len();
        frames.push(frame);
        place
    }

    /// Removes the newest half, which is at `place`. Returns false if the half was offered: then
    /// the caller calls [`take_ticket`](Self::take_ticket) next.
    ///
    /// The place is a parameter, because a load of the number of halves would wait for the store of
    /// this number by an earlier `join`.
    ///
    /// # Safety
    ///
    /// `place` is the place of the newest half.
    #[inline(always)]
    pub(crate) unsafe fn pop(&self, place: usize) -> bool {
        // SAFETY: as in `push`. By the contract of this function, the halves before `place` exist.
        unsafe { (*self.frames.get()).set_len(place) };
        place >= self.offered.get()
    }

    /// Removes the ticket of the offered half that was removed last.
    pub(crate) fn take_ticket(&self) -> Arc<Ticket<S>> {
        // SAFETY: as in `push`.
        let tickets = unsafe { &mut *self.tickets.get() };
        let ticket = tickets.pop().expect("a half that was offered has a ticket");
        self.offered.set(tickets.len());
        ticket
    }

    /// Returns whether there is a half that was not offered.
    pub(crate) fn has_private(&self) -> bool {
        // SAFETY: as in `push`.
        self.offered.get() < unsafe { (*self.frames.get()).len() }
    }

    /// Offers the oldest half that was not offered, if any. `ticket` makes the returned ticket.
    pub(crate) fn offer_oldest(
        &self,
        ticket: impl FnOnce(Frame<S>) -> Ticket<S>,
    ) -> Option<Arc<Ticket<S>>> {
        // SAFETY: as in `push`.
        let (frames, tickets) = unsafe { (&*self.frames.get(), &mut *self.tickets.get()) };
        let ticket = Arc::new(ticket(*frames.get(tickets.len())?));
        tickets.push(Arc::clone(&ticket));
        self.offered.set(tickets.len());
        Some(ticket)
    }
}
