//! Requests: workers without a job ask another worker (the owner) for the second closure of a
//! `join`.
//!
//! ```text
//!   worker without a job:  finds no job  ──►  ask  ──►  lies down, looks again, asks again
//!   owner, in each join:   is_asked?  ──►  answer: put an offer, wake a worker, forget the
//!                                          request, ask for the workers that still sleep
//! ```
//!
//! While a worker sleeps, the next `join` of the owner offers a closure: the owner is asked, or a
//! job is queued, or the worker is being woken. Two orders ensure this:
//!
//! - The owner forgets the request after it has offered. If it forgot the request first, the worker
//!   could ask again before it finds the half, and would be offered a second one in vain. A worker
//!   that has run the half, and looks again before the request is forgotten, does not ask. It asks
//!   when it looks the next time, or it lies down, and then the owner finds it:
//! - The owner looks for sleeping workers after it has forgotten the request, and a worker asks
//!   again after it has lain down. The barriers of
//!   [`Sleepers`](crate::shared::sleepers::Sleepers) ensure that the owner finds the worker, or that
//!   the worker finds that the request is forgotten.
//!
//! A worker that has asked and has found a job takes its request back. Otherwise the next `join` of
//! the owner would offer a half that no worker needs, which takes longer than a small closure. The
//! worker may so take back the only request for several workers. Those that look for jobs ask again,
//! and for those that sleep it does the same as the owner: it looks for them, and asks for them.

use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

use crate::sync::{AtomicPtr, AtomicUsize, Ordering};

/// What a worker that asks and the owner exchange. Both parts are in one cache line: the owner
/// puts the offer where the other worker looks.
pub(crate) struct Exchange<T> {
    pub(crate) request: Request,
    pub(crate) offer: OneOffer<T>,
}

impl<T> Exchange<T> {
    pub(crate) fn new() -> Self {
        Self {
            request: Request::new(),
            offer: OneOffer(AtomicPtr::new(ptr::null_mut()), PhantomData),
        }
    }
}

/// Room for one offer of the owner, which any worker may take. If there is no room, the owner puts
/// the offer into its queue, where another worker reads more cache lines to take it.
pub(crate) struct OneOffer<T>(AtomicPtr<T>, PhantomData<Arc<T>>);

impl<T> OneOffer<T> {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.load(Ordering::Acquire).is_null()
    }

    /// Puts an offer there, for the owner. Returns the offer if there is no room.
    pub(crate) fn put(&self, offer: Arc<T>) -> Result<(), Arc<T>> {
        if !self.is_empty() {
            return Err(offer);
        }
        // Only the owner puts offers there, so there is still room.
        self.0
            .store(Arc::into_raw(offer).cast_mut(), Ordering::Release);
        Ok(())
    }

    #[inline]
    pub(crate) fn take(&self) -> Option<Arc<T>> {
        // A swap by each worker that looks would take the cache line away from the owner.
        if self.is_empty() {
            return None;
        }
        let offer = self.0.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: the pointer came from `Arc::into_raw` in `put`, and the swap removed it, so it is
        // used once.
        (!offer.is_null()).then(|| unsafe { Arc::from_raw(offer) })
    }
}

impl<T> Drop for OneOffer<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

/// Whether other workers ask a worker for work, and which worker has asked: [`NOTHING`], or the
/// number of the worker plus 1, times 2. The bit [`DECLINED`] is set if the owner has seen the
/// request, and what it runs now is not worth sharing.
pub(crate) struct Request(AtomicUsize);

const NOTHING: usize = 0;
const DECLINED: usize = 1;
/// A request for workers that sleep, by the owner.
const FOR_SLEEPERS: usize = !DECLINED;

impl Request {
    pub(crate) fn new() -> Self {
        Self(AtomicUsize::new(NOTHING))
    }

    /// Asks the owner for work, for the worker with this number. The worker has found no job. It
    /// calls this before it lies down, and again after it has lain down and has looked again.
    pub(crate) fn ask(&self, worker: usize) {
        // A store by each worker that asks would take the cache line away from the owner.
        if !self.is_asked() {
            self.0.store((worker + 1) * 2, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    pub(crate) fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed) != NOTHING
    }

    /// Keeps the request for later work, for the owner.
    #[inline]
    pub(crate) fn decline(&self) {
        let request = self.0.load(Ordering::Relaxed);
        if request != NOTHING && request & DECLINED == 0 {
            self.0.store(request | DECLINED, Ordering::Relaxed);
        }
    }

    /// Returns whether the owner has declined the request since the last call.
    pub(crate) fn was_declined(&self) -> bool {
        let request = self.0.load(Ordering::Relaxed);
        let was_declined = request & DECLINED != 0;
        if was_declined {
            self.0.store(request & !DECLINED, Ordering::Relaxed);
        }
        was_declined
    }

    /// Answers the request, for the owner. `offer` makes an offer and wakes a worker, or returns
    /// false if the owner has no half to offer. `does_another_sleep` returns whether a worker that
    /// could take a half still sleeps. In both cases the request stays.
    #[cold]
    #[inline(never)]
    pub(crate) fn answer(
        &self,
        offer: impl FnOnce() -> bool,
        does_another_sleep: impl FnOnce() -> bool,
    ) {
        let request = match self.0.load(Ordering::Relaxed) & !DECLINED {
            // The worker that has asked takes its request back.
            NOTHING => FOR_SLEEPERS,
            request => request,
        };
        let has_offered = offer();
        self.0.store(NOTHING, Ordering::Relaxed);
        if !has_offered || does_another_sleep() {
            self.0.store(request, Ordering::Relaxed);
        }
    }

    /// Takes back the request of the worker with this number, if it is the last one, because the
    /// worker has a job. The request stays if a worker sleeps that could take a half.
    pub(crate) fn take_back(&self, worker: usize, does_another_sleep: impl FnOnce() -> bool) {
        let request = self.0.load(Ordering::Relaxed);
        if request & !DECLINED != (worker + 1) * 2 {
            return;
        }
        self.0.store(NOTHING, Ordering::Relaxed);
        if does_another_sleep() {
            self.0.store(request, Ordering::Relaxed);
        }
    }
}
