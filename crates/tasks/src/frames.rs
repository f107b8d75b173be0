//! The halves of `join` that a thread of a worker has not offered to others.
//!
//! A `join` puts its second half here, runs the first one, and takes the second one out again:
//! some loads and stores, none of them atomic. Only when another worker asks for work is the oldest
//! half, which is the largest, offered to others (`Core::offer_oldest`).
//!
//! ```text
//!            oldest                            newest
//!   frames   [ offered | offered | private | private ]
//!                                   ▲ first_private
//! ```

use std::cell::{Cell, UnsafeCell};
use std::sync::Arc;

use cellworks_machine::{Payload, Spe};

use crate::job::Ticket;
use crate::worker::Worker;

/// The second half of a `join`, on the stack of its owner; the first field of `join::Half`.
#[repr(C)]
pub(crate) struct Frame<S: Spe> {
    run: RunFrame<S>,
    /// There once it has been offered.
    pub(crate) ticket: Cell<Option<Arc<Ticket<S>>>>,
}

type RunFrame<S> = unsafe fn(*const Frame<S>, &Worker<'_, S>) -> Result<(), Payload>;

impl<S: Spe> Frame<S> {
    /// `run` gets a pointer to this frame.
    #[inline(always)]
    pub(crate) fn new(run: RunFrame<S>) -> Self {
        Self {
            run,
            ticket: Cell::new(None),
        }
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
    pub(crate) unsafe fn run(frame: *const Self, worker: &Worker<'_, S>) -> Result<(), Payload> {
        // SAFETY: by the contract of this function the frame is there.
        unsafe { ((*frame).run)(frame, worker) }
    }
}

/// The halves of one thread, oldest first.
pub(crate) struct Frames<S: Spe> {
    frames: UnsafeCell<Vec<*const Frame<S>>>,
    first_private: Cell<usize>,
}

impl<S: Spe> Frames<S> {
    pub(crate) fn new() -> Self {
        Self {
            frames: UnsafeCell::new(Vec::with_capacity(64)),
            first_private: Cell::new(0),
        }
    }

    /// Adds a half, which stays where it is until it is popped.
    #[inline(always)]
    pub(crate) fn push(&self, frame: *const Frame<S>) {
        // SAFETY: `Frames` is neither `Send` nor `Sync`, and no method lends what is inside.
        unsafe { (*self.frames.get()).push(frame) };
    }

    /// Takes the newest half out, and says whether it was never offered.
    #[inline(always)]
    pub(crate) fn pop(&self) -> bool {
        // SAFETY: as in `push`.
        let left = unsafe {
            let frames = &mut *self.frames.get();
            frames.pop();
            frames.len()
        };
        let is_private = left >= self.first_private.get();
        if !is_private {
            self.first_private.set(left);
        }
        is_private
    }

    /// Whether there is a half that was not offered.
    pub(crate) fn has_private(&self) -> bool {
        // SAFETY: as in `push`.
        self.first_private.get() < unsafe { (*self.frames.get()).len() }
    }

    /// The oldest half that was not offered; the caller offers it.
    pub(crate) fn oldest(&self) -> Option<*const Frame<S>> {
        let place = self.first_private.get();
        // SAFETY: as in `push`.
        let frame = unsafe { (&(*self.frames.get())).get(place).copied() }?;
        self.first_private.set(place + 1);
        Some(frame)
    }
}
