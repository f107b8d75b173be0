//! What a worker offers to others of its private work: the second half of a `join`.
//!
//! ```text
//!              withdraw                      (its own worker runs it)
//!   OFFERED ───────────► WITHDRAWN
//!      │
//!      │ take            end
//!      └─────────► TAKEN ───► ENDED          (another worker runs it, and its owner waits)
//! ```

use crate::sync::{AtomicU8, Ordering};

const OFFERED: u8 = 0;
const WITHDRAWN: u8 = 1;
const TAKEN: u8 = 2;
const ENDED: u8 = 3;

/// Decides which of two workers runs a piece of work, and says when it has ended.
pub(crate) struct Offer(AtomicU8);

impl Offer {
    pub(crate) fn new() -> Self {
        Self(AtomicU8::new(OFFERED))
    }

    /// Another worker takes the work, and must call [`end`](Self::end) when it has run it. False if
    /// its owner has withdrawn it: then what it borrows may be gone.
    pub(crate) fn take(&self) -> bool {
        self.leave(TAKEN)
    }

    /// The owner takes the work back. False if another worker has taken it: then the owner waits
    /// until it [has ended](Self::has_ended).
    pub(crate) fn withdraw(&self) -> bool {
        self.leave(WITHDRAWN)
    }

    fn leave(&self, to: u8) -> bool {
        // What the owner wrote for the work, the taker sees by way of the queue.
        let outcome = self
            .0
            .compare_exchange(OFFERED, to, Ordering::Relaxed, Ordering::Relaxed);
        outcome.is_ok()
    }

    /// The work has ended. What it borrows, this offer included, may be gone right after.
    pub(crate) fn end(&self) {
        self.0.store(ENDED, Ordering::Release);
    }

    /// Whether the work has ended: then its owner sees what it has written.
    pub(crate) fn has_ended(&self) -> bool {
        self.0.load(Ordering::Acquire) == ENDED
    }
}
