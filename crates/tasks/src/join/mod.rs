//! `join`: two closures that may run at the same time.
//!
//! ```text
//!   the worker that calls join (the owner)             another worker
//!     adds the second closure, a half, to its halves
//!     runs the first closure                           has no job, and asks with a request
//!     sees the request, and offers the oldest half ──► takes the offer, and runs the half
//!     removes the half, and runs it
//!       or waits, if it was taken                  ◄── ends the offer, and notifies the owner
//! ```
//!
//! Read this file first, then `halves` (the halves of a job that have not begun), `request` (how a
//! worker asks, and how the owner answers) and `offer` (which of the two runs a half). A worker
//! that takes an offer has a [`Job::Offered`](crate::shared::job::Job).

pub(crate) mod halves;
pub(crate) mod offer;
pub(crate) mod request;

use std::cell::UnsafeCell;
use std::mem::{ManuallyDrop, MaybeUninit, needs_drop};
use std::panic::resume_unwind;
use std::ptr;

use cellworks_machine::{Cancelled, Payload, Spe};

use crate::discard::discard;
use crate::place::WokenBy;
use crate::place::sealed::Sealed;
use crate::scope::closure::Half;
use crate::worker::Worker;

/// The second closure of a `join`, and its result.
struct Second<B, R> {
    body: UnsafeCell<ManuallyDrop<B>>,
    /// The result, if another worker has run the closure. Otherwise uninitialised.
    result: UnsafeCell<MaybeUninit<Result<R, Payload>>>,
}

impl<B, R> Second<B, R> {
    /// Runs the closure on the worker that has taken the offer of the closure. Returns the size of
    /// the closure, and does nothing else without a worker.
    ///
    /// # Safety
    ///
    /// If there is a worker: see [`Half::run`]. In addition, `second` points to a `Second` of these
    /// types.
    unsafe fn run<S: Spe>(
        second: *const (),
        worker: Option<&Worker<'_, S>>,
    ) -> Result<usize, Payload>
    where
        B: FnOnce(&Worker<'_, S>) -> R,
    {
        let Some(worker) = worker else {
            return Ok(size_of::<B>());
        };
        let second = second.cast::<Self>();
        // SAFETY: `second` is alive, and only this worker uses these fields until the offer ends.
        let (body, result) = unsafe {
            let body = ManuallyDrop::take(&mut *(*second).body.get());
            (body, &mut *(*second).result.get())
        };
        match worker.guarded(|| body(worker)) {
            Err(panic) if worker.is_cancelled() => {
                result.write(Err(Box::new(Cancelled)));
                Err(panic)
            }
            outcome => {
                result.write(outcome);
                Ok(size_of::<B>())
            }
        }
    }
}

/// Runs two closures, and `$begin` before the first one. A macro, because with a function that both
/// forms of `join` call, the compiler did not inline as much, and a join of small closures took 1.6
/// times as long.
macro_rules! run_both {
    ($worker:ident, $first:ident, $second:ident, $begin:expr) => {{
        // In simulated time, too, the half is there while the first closure runs, and only then.
        if let Err(cancelled) = $worker.catch_up() {
            discard($first);
            discard($second);
            resume_unwind(cancelled);
        }
        let second = Second::<B, RB> {
            body: UnsafeCell::new(ManuallyDrop::new($second)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
        };
        let closure = (&raw const second).cast();
        let half = Half::new(Second::<B, RB>::run::<S>, closure);
        let list = move || $worker.program().requests.list($worker.job());
        let place = $worker.job().halves.add(half, list);
        // From here on, the half must be removed. So all that may panic is guarded. The first
        // closure is in a call of its own, because a panic before it would drop it while it
        // unwinds.
        let begun = $worker.guarded(|| {
            $worker.tell_idle_thread();
            $begin
        });
        let first = match begun {
            Ok(()) => $worker.guarded(|| $first($worker)),
            Err(cancelled) => {
                discard($first);
                Err(cancelled)
            }
        };
        let first = first.and_then(|first| match $worker.catch_up() {
            Ok(()) => Ok(first),
            Err(cancelled) => {
                discard(first);
                Err(cancelled)
            }
        });
        let first = match first {
            Ok(first) => first,
            Err(panic) => $worker.end_panicked(&second, panic),
        };
        if !$worker.job().halves.remove_newest(place) {
            return $worker.end_elsewhere(&second, first);
        }
        // SAFETY: the half was never offered, so no other worker has taken the closure.
        let body = unsafe { ManuallyDrop::take(&mut *second.body.get()) };
        $worker.run_second(first, body)
    }};
}

impl<S: Spe> Worker<'_, S> {
    /// Runs two closures, at the same time if another worker is idle, and returns their results.
    ///
    /// The calling worker runs `first`, and then `second` if no other worker has taken `second`. A
    /// `join` takes a few nanoseconds, so the closures may be small.
    ///
    /// If another worker still runs `second` when `first` has ended, the call waits. During the
    /// wait, other tasks of this worker run on other stacks.
    ///
    /// ```
    /// use cellworks_machine::Spe;
    /// use cellworks_tasks::Worker;
    ///
    /// fn fibonacci<S: Spe>(worker: &Worker<'_, S>, n: u64) -> u64 {
    ///     if n < 2 {
    ///         return n;
    ///     }
    ///     let (a, b) = worker.join(|w| fibonacci(w, n - 1), |w| fibonacci(w, n - 2));
    ///     a + b
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// Passes on the panic of `first`, or the panic of `second` if `first` did not panic. If
    /// `first` panics, `second` may not run. When `join` panics, neither closure runs any more.
    #[inline]
    pub fn join<A, B, RA, RB>(&self, first: A, second: B) -> (RA, RB)
    where
        A: FnOnce(&Self) -> RA,
        B: FnOnce(&Worker<'_, S>) -> RB + Send,
        RB: Send,
    {
        run_both!(self, first, second, self.offer_if_asked())
    }

    /// Does the same as [`join`](Self::join), but offers no half at its begin. `first` offers
    /// halves when it knows that its work is worth sharing.
    #[inline]
    pub(crate) fn join_quietly<A, B, RA, RB>(&self, first: A, second: B) -> (RA, RB)
    where
        A: FnOnce(&Self) -> RA,
        B: FnOnce(&Worker<'_, S>) -> RB + Send,
        RB: Send,
    {
        run_both!(self, first, second, ())
    }

    /// Wakes an idle thread of this worker, which runs a new half if the first closure waits.
    /// Panics if the run is cancelled.
    #[inline(always)]
    fn tell_idle_thread(&self) {
        // A host looks again and again, and needs no notification; the compiler finds that it says
        // `Some`.
        if self.spe().is_last_check().is_none() {
            self.program().wake_idle_thread();
        }
    }

    /// Runs the second closure of a `join`. If it panics, the result of the first one is discarded.
    #[inline(always)]
    fn run_second<RA, RB>(&self, first: RA, second: impl FnOnce(&Self) -> RB) -> (RA, RB) {
        // Without a destructor, there is nothing to discard, and the call needs no guard.
        if !needs_drop::<RA>() {
            return (first, second(self));
        }
        match self.guarded(|| second(self)) {
            Ok(second) => (first, second),
            Err(panic) => {
                discard(first);
                resume_unwind(panic)
            }
        }
    }

    /// Ends a `join` whose half was offered, or is not the newest half of the job.
    #[cold]
    #[inline(never)]
    fn end_elsewhere<B, RA, RB>(&self, second: &Second<B, RB>, first: RA) -> (RA, RB)
    where
        B: FnOnce(&Worker<'_, S>) -> RB,
    {
        match self.take_back(second) {
            Ok(body) => self.run_second(first, body),
            Err((Ok(()), Ok(second))) => (first, second),
            Err((Err(panic), second)) => {
                discard(second);
                discard(first);
                resume_unwind(panic)
            }
            Err((Ok(()), Err(panic))) => {
                discard(first);
                resume_unwind(panic)
            }
        }
    }

    /// Ends a `join` whose first closure has panicked.
    #[cold]
    #[inline(never)]
    fn end_panicked<B, RB>(&self, second: &Second<B, RB>, panic: Payload) -> ! {
        match self.take_back(second) {
            Ok(body) => discard(body),
            Err((waited, second)) => {
                discard(waited);
                discard(second);
            }
        }
        resume_unwind(panic)
    }

    /// Removes the half. Returns the closure if no other worker has taken it. Otherwise waits for
    /// this worker, and returns the outcome of the wait and the result of the closure.
    #[expect(clippy::type_complexity, reason = "the outcomes of two calls")]
    fn take_back<B, RB>(
        &self,
        second: &Second<B, RB>,
    ) -> Result<B, (Result<(), Payload>, Result<RB, Payload>)> {
        let closure = ptr::from_ref(second).cast();
        let is_it = |half: Half<S>| ptr::eq(half.closure, closure);
        let offer = self.job().halves.remove(is_it);
        match offer {
            Some(offer) if !offer.state.withdraw() => {
                let why = "another worker to end its half of a join";
                let woken_by = match &offer.waiter {
                    None => WokenBy::Notification,
                    Some(waiter) => {
                        waiter.set(self.sleeper());
                        WokenBy::Name
                    }
                };
                let waited = self.wait_for(&why, woken_by, &mut || offer.state.has_ended());
                // SAFETY: the offer has ended, so the result is written and no other worker uses
                // `second`.
                Err((waited, unsafe { (*second.result.get()).assume_init_read() }))
            }
            // SAFETY: no other worker has taken the closure, or can still take it.
            _ => Ok(unsafe { ManuallyDrop::take(&mut *second.body.get()) }),
        }
    }
}
