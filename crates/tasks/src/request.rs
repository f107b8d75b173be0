//! Requests: workers without a job ask another worker (the owner) for the second closure of a
//! `join`.
//!
//! ```text
//!   worker without a job:  finds no job  ──►  ask  ──►  lies down, looks again, asks again
//!   owner, in each join:   is_asked?  ──►  answer: forget the request, offer, wake a worker,
//!                                          ask on behalf of the workers that still sleep
//! ```
//!
//! While a worker sleeps, the next `join` of the owner offers a closure: the owner is asked, or a
//! job is queued, or the worker is being woken. Two orders ensure this:
//!
//! - The owner forgets the request before it offers. A worker that runs the offered closure and
//!   then looks again asks anew. If the owner forgot the request after the offer, it could forget
//!   the new request.
//! - The owner looks for sleeping workers after it has forgotten the request, and a worker asks
//!   again after it has lain down. The barriers of [`Sleepers`](crate::sleepers::Sleepers) ensure
//!   that the owner finds the worker, or that the worker finds that the request is forgotten.

use crate::sync::{AtomicU8, Ordering};

/// Whether other workers ask a worker for work.
pub(crate) struct Request(AtomicU8);

const NOTHING: u8 = 0;
const ASKED: u8 = 1;
/// Asked, and the owner has seen the request. What it runs now is not worth sharing.
const DECLINED: u8 = 2;

impl Request {
    pub(crate) fn new() -> Self {
        Self(AtomicU8::new(NOTHING))
    }

    /// Asks the owner for work. The caller has found no job. It calls this before it lies down, and
    /// again after it has lain down and has looked again.
    pub(crate) fn ask(&self) {
        // A store by each worker that asks would take the cache line away from the owner.
        if !self.is_asked() {
            self.0.store(ASKED, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed) != NOTHING
    }

    /// Keeps the request for later work, for the owner.
    #[inline]
    pub(crate) fn decline(&self) {
        if self.0.load(Ordering::Relaxed) == ASKED {
            self.0.store(DECLINED, Ordering::Relaxed);
        }
    }

    /// Returns whether the owner has declined the request since the last call.
    pub(crate) fn was_declined(&self) -> bool {
        let was_declined = self.0.load(Ordering::Relaxed) == DECLINED;
        if was_declined {
            self.0.store(ASKED, Ordering::Relaxed);
        }
        was_declined
    }

    /// Answers the request, for the owner. `offer` queues a job and wakes a worker, or returns
    /// false if the owner has nothing to offer. `does_another_sleep` returns whether a worker that
    /// could take a job still sleeps. In both cases the request stays.
    pub(crate) fn answer(
        &self,
        offer: impl FnOnce() -> bool,
        does_another_sleep: impl FnOnce() -> bool,
    ) {
        self.0.store(NOTHING, Ordering::Relaxed);
        if !offer() || does_another_sleep() {
            self.0.store(ASKED, Ordering::Relaxed);
        }
    }
}
