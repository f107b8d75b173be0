//! Frames: the second closures (halves) that the `join` calls of a thread have not begun.
//!
//! A `join` adds its half, runs the first closure, and takes the half out again, without atomic
//! operations. When another worker asks for work, the worker of the thread offers the oldest half,
//! which is the largest (`WorkerProgram::offer_oldest`).
//!
//! ```text
//!            oldest                            newest
//!   frames   [ offered | offered | private | private ]
//!   tickets  [ ticket  | ticket  ]
//! ```

use std::cell::{Cell, UnsafeCell};
use std::sync::Arc;

use cellworks_machine::{Payload, Spe};

use crate::job::Ticket;
use crate::worker::Worker;

/// The second half of a `join`, which lies on the stack of its owner.
pub(crate) struct Frame<S: Spe> {
    run: RunHalf<S>,
    half: *const (),
}

type RunHalf<S> = unsafe fn(*const (), &Worker<'_, S>) -> Result<(), Payload>;

impl<S: Spe> Clone for Frame<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Spe> Copy for Frame<S> {}

impl<S: Spe> Frame<S> {
    /// Makes a frame for `half`, which `run` gets as its argument.
    #[inline(always)]
    pub(crate) fn new(run: RunHalf<S>, half: *const ()) -> Self {
        Self { run, half }
    }

    /// Runs the half, once.
    ///
    /// # Errors
    ///
    /// Returns the payload that unwinds the caller if the run was cancelled.
    ///
    /// # Safety
    ///
    /// The caller has taken the offer of the half.
    pub(crate) unsafe fn run(self, worker: &Worker<'_, S>) -> Result<(), Payload> {
        // SAFETY: by the contract of this function the half exists.
        unsafe { (self.run)(self.half, worker) }
    }
}

/// The halves of one thread, oldest first.
pub(crate) struct Frames<S: Spe> {
    frames: UnsafeCell<Vec<Frame<S>>>,
    /// The tickets of the oldest frames, which have been offered to other workers.
    tickets: UnsafeCell<Vec<Arc<Ticket<S>>>>,
    /// The number of frames that have been offered.
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

    /// Adds a half and returns its place. The half must not move while it is in the list.
    #[inline(always)]
    pub(crate) fn push(&self, frame: Frame<S>) -> usize {
        // SAFETY: `Frames` is neither `Send` nor `Sync`, and no method lends its fields.
        let frames = unsafe { &mut *self.frames.get() };
        let place = frames.len();
        frames.push(frame);
        place
    }

    /// Takes the newest half out. Returns true if the half was never offered. If the half was
    /// offered, the caller calls [`take_ticket`](Self::take_ticket) next.
    ///
    /// # Safety
    ///
    /// `place` is the place of the newest half. The caller passes `place`, because a load would
    /// wait for the store of the previous `join`.
    #[inline(always)]
    pub(crate) unsafe fn pop(&self, place: usize) -> bool {
        // SAFETY: as in `push`. By the contract of this function, the halves before `place` exist.
        unsafe { (*self.frames.get()).set_len(place) };
        place >= self.offered.get()
    }

    /// Takes the ticket of the offered half that was taken out last.
    pub(crate) fn take_ticket(&self) -> Arc<Ticket<S>> {
        // SAFETY: as in `push`.
        let tickets = unsafe { &mut *self.tickets.get() };
        let ticket = tickets.pop().expect("a half that was offered has a ticket");
        self.offered.set(tickets.len());
        ticket
    }

    /// Returns whether a half has not been offered.
    pub(crate) fn has_private(&self) -> bool {
        // SAFETY: as in `push`.
        self.offered.get() < unsafe { (*self.frames.get()).len() }
    }

    /// Offers the oldest half that was not offered. `ticket` makes the ticket of the half. Returns
    /// `None` if all halves were offered.
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
