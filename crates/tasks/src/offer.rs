//! Offers: a worker offers the second half of a `join` to other workers.
//!
//! ```text
//!              withdraw                      (its own worker runs it)
//!   OFFERED ───────────► WITHDRAWN
//!      │
//!      │ take            end
//!      └─────────► TAKEN ───► ENDED          (another worker runs it, and its owner waits)
//! ```

// Rejected: halves of joins in the deque. Taking a half out again needs a fence, which a half
// that was put aside does not need.
// Rejected: a heartbeat that shares work every 100 us. It needs a timer, or reads of the clock,
// in each pool, and a worker that requests work is answered sooner.

use crate::sync::{AtomicU8, Ordering};

const OFFERED: u8 = 0;
const WITHDRAWN: u8 = 1;
const TAKEN: u8 = 2;
const ENDED: u8 = 3;

/// Decides which of two workers runs a piece of work, and records when it has ended.
pub(crate) struct Offer(AtomicU8);

impl Offer {
    pub(crate) fn new() -> Self {
        Self(AtomicU8::new(OFFERED))
    }

    /// Takes the work, on another worker, which must call [`end`](Self::end) when it has run it.
    /// Returns false if the owner has withdrawn the work: then what it borrows may be freed.
    pub(crate) fn take(&self) -> bool {
        self.leave(TAKEN)
    }

    /// Takes the work back, on the owner. Returns false if another worker has taken it: then the
    /// owner waits until it [has ended](Self::has_ended).
    pub(crate) fn withdraw(&self) -> bool {
        self.leave(WITHDRAWN)
    }

    fn leave(&self, to: u8) -> bool {
        // `Relaxed` is enough: through the queue the other worker sees what the owner wrote for the
        // work.
        let outcome = self
            .0
            .compare_exchange(OFFERED, to, Ordering::Relaxed, Ordering::Relaxed);
        outcome.is_ok()
    }

    /// Records that the work has ended. What the work borrows, including this offer, may be freed
    /// right after the call.
    pub(crate) fn end(&self) {
        self.0.store(ENDED, Ordering::Release);
    }

    /// Whether the work has ended. If it has, its owner sees what the work has written.
    pub(crate) fn has_ended(&self) -> bool {
        self.0.load(Ordering::Acquire) == ENDED
    }
}
