//! Frames: the second halves of `join` that a thread of a worker has put aside.
//!
//! A `join` puts its second half here, runs the first half, and takes the second one out again.
//! That takes some loads and stores, none of them atomic. When another worker asks for work, the
//! oldest half, which is the largest, is offered to the other workers
//! (`WorkerProgram::offer_oldest`).
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
    /// `run` is handed `half`.
    #[inline(always)]
    pub(crate) fn new(run: RunHalf<S>, half: *const ()) -> Self {
        Self { run, half }
    }

    /// Runs the half, once.
    ///
    /// # Errors
    ///
    /// What unwinds the caller because the run was cancelled.
    ///
    /// # Safety
    ///
    /// The caller has taken its offer.
    pub(crate) unsafe fn run(self, worker: &Worker<'_, S>) -> Result<(), Payload> {
        // SAFETY: by the contract of this function the half is there.
        unsafe { (self.run)(self.half, worker) }
    }
}

/// The halves of one thread, oldest first.
pub(crate) struct Frames<S: Spe> {
    frames: UnsafeCell<Vec<Frame<S>>>,
    /// The tickets of the first frames, which have been offered to other workers.
    tickets: UnsafeCell<Vec<Arc<Ticket<S>>>>,
    /// How many frames have been offered.
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

    /// Adds a half, which stays where it is until it is taken out. Returns its place.
    #[inline(always)]
    pub(crate) fn push(&self, frame: Frame<S>) -> usize {
        // SAFETY: `Frames` is neither `Send` nor `Sync`, and no method lends what is inside.
        let frames = unsafe { &mut *self.frames.get() };
        let place = frames.len();
        frames.push(frame);
        place
    }

    /// Takes the newest half out. Returns true if it was never offered. If it was offered, the
    /// caller goes on with [`take_ticket`](Self::take_ticket).
    ///
    /// # Safety
    ///
    /// `place` is the place of the newest half. It is an argument because a load of it would wait
    /// for the store of the `join` before.
    #[inline(always)]
    pub(crate) unsafe fn pop(&self, place: usize) -> bool {
        // SAFETY: as in `push`; the halves before `place` are there, by the caller's promise.
        unsafe { (*self.frames.get()).set_len(place) };
        place >= self.offered.get()
    }

    /// The ticket of the half that was taken out last, which had been offered.
    pub(crate) fn take_ticket(&self) -> Arc<Ticket<S>> {
        // SAFETY: as in `push`.
        let tickets = unsafe { &mut *self.tickets.get() };
        let ticket = tickets.pop().expect("a half that was offered has a ticket");
        self.offered.set(tickets.len());
        ticket
    }

    /// Whether there is a half that was not offered.
    pub(crate) fn has_private(&self) -> bool {
        // SAFETY: as in `push`.
        self.offered.get() < unsafe { (*self.frames.get()).len() }
    }

    /// Offers the oldest half that was not offered, if there is one, with a ticket that is made of
    /// it.
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
