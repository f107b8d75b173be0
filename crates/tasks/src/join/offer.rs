//! Offers: a worker (the owner) offers the second closure of a `join` to other workers.
//!
//! ```text
//!              withdraw                      (the owner runs the closure)
//!   OFFERED ───────────► WITHDRAWN
//!      │
//!      │ take            end
//!      └─────────► TAKEN ───► ENDED          (another worker runs it, and the owner waits)
//! ```

// Rejected: second closures in the deque, because removal from the deque needs a memory fence.
// Rejected: a heartbeat that shares work every 100 us. Each pool would need a timer, or would read
// the clock. Now an idle worker has work in less than 100 us: by a request, or without the owner.

use cellworks_machine::{Processor, Sleeper, Spe};

use crate::phase::node::CurrentTask;
use crate::scope::closure::Half;
use crate::sync::{AtomicU8, Mutex, Ordering, locked};

/// An offer of a half, which is on the stack of the caller of `join` (the owner).
pub struct Offer<S: Spe> {
    pub(crate) state: State,
    /// Valid until the owner has withdrawn the offer or has found that the half has ended.
    pub(crate) half: Half<S>,
    pub(crate) owner: Processor,
    /// The task whose code has called `join`. It has not ended while `half` is valid.
    pub(crate) current: CurrentTask<S>,
    /// The thread that waits for the end, if it waits by name. `None` if it waits for a
    /// notification of the owner, which takes less time while few threads wait.
    pub(crate) waiter: Option<Box<Waiter<Sleeper>>>,
}

impl<S: Spe> Offer<S> {
    /// Records the end of the half that this worker has run, and wakes the thread that waits.
    pub(crate) fn end(&self, spe: &S) {
        self.state.end();
        match &self.waiter {
            None => spe.notify(self.owner),
            Some(waiter) => waiter.take().into_iter().for_each(|it| spe.wake(it)),
        }
    }
}

// SAFETY: only the worker that has taken the offer uses the half, see `Worker::join`.
unsafe impl<S: Spe> Send for Offer<S> {}
// SAFETY: as above.
unsafe impl<S: Spe> Sync for Offer<S> {}

const OFFERED: u8 = 0;
const WITHDRAWN: u8 = 1;
const TAKEN: u8 = 2;
const ENDED: u8 = 3;

/// The state of an offer, which decides which worker runs the closure.
pub(crate) struct State(AtomicU8);

impl State {
    pub(crate) fn new() -> Self {
        Self(AtomicU8::new(OFFERED))
    }

    /// Takes the closure for another worker, which must call [`end`](Self::end) after running it.
    /// If the owner has withdrawn the closure, returns false, and the closure may no longer exist.
    pub(crate) fn take(&self) -> bool {
        self.leave(TAKEN)
    }

    /// Takes the closure back for the owner. If another worker has taken it, returns false, and the
    /// owner must wait until [`has_ended`](Self::has_ended).
    pub(crate) fn withdraw(&self) -> bool {
        self.leave(WITHDRAWN)
    }

    fn leave(&self, to: u8) -> bool {
        // `Relaxed` is enough: the queue makes the owner's writes visible to the other worker.
        let outcome = self
            .0
            .compare_exchange(OFFERED, to, Ordering::Relaxed, Ordering::Relaxed);
        outcome.is_ok()
    }

    /// Records the end of the closure. Right after the call, the owner may free this offer.
    pub(crate) fn end(&self) {
        self.0.store(ENDED, Ordering::Release);
    }

    /// Returns whether the closure has ended. If so, its writes are visible to the owner.
    pub(crate) fn has_ended(&self) -> bool {
        self.0.load(Ordering::Acquire) == ENDED
    }
}

/// The thread that waits for the end of an offer, by its name of the type `T`.
pub(crate) struct Waiter<T>(Mutex<Option<T>>);

impl<T> Default for Waiter<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T> Waiter<T> {
    /// Sets the thread, which then checks whether the offer has ended, and waits to be woken.
    pub(crate) fn set(&self, thread: T) {
        *locked(&self.0) = Some(thread);
    }

    /// Takes the thread, after the offer has ended. A thread that is set later finds the end.
    pub(crate) fn take(&self) -> Option<T> {
        locked(&self.0).take()
    }
}
