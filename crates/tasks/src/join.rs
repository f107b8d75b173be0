//! `join`: two closures that may run at the same time.

use std::cell::UnsafeCell;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::panic::resume_unwind;

use cellworks_machine::{Cancelled, Payload, Spe};

use crate::discard::discard;
use crate::halves::Half;
use crate::job::Ticket;
use crate::place::sealed::Sealed;
use crate::worker::Worker;

/// The second closure of a `join`, and its result. `half` is the first field, so that a pointer to
/// it also points to the whole value.
#[repr(C)]
struct Second<S: Spe, B, R> {
    half: Half<S>,
    body: UnsafeCell<ManuallyDrop<B>>,
    /// The result, if another worker has run the closure. Otherwise uninitialised.
    result: UnsafeCell<MaybeUninit<Result<R, Payload>>>,
}

impl<S: Spe, B, R> Second<S, B, R> {
    /// Runs the closure on the worker that has taken the offer of the closure.
    ///
    /// # Safety
    ///
    /// See [`Half::run`]. In addition, `half` points to a `Second` of these types.
    unsafe fn run(half: *const Half<S>, worker: &Worker<'_, S>) -> Result<(), Payload>
    where
        B: FnOnce(&Worker<'_, S>) -> R,
    {
        let second = half.cast::<Self>();
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
                Ok(())
            }
        }
    }
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
        let second = Second::<S, B, RB> {
            half: Half::new(Second::<S, B, RB>::run),
            body: UnsafeCell::new(ManuallyDrop::new(second)),
            result: UnsafeCell::new(MaybeUninit::uninit()),
        };
        let half = (&raw const second).cast();
        // SAFETY: `second` stays where it is, and is removed below, because no panic passes before.
        let older = unsafe { self.job().halves.add(half) };
        let first = self.guarded(|| {
            self.answer();
            first(self)
        });
        // SAFETY: the half was added above.
        match unsafe { self.job().halves.remove(half, older) } {
            None => {
                // SAFETY: the half was never offered, so no other worker has taken the closure.
                let body = unsafe { ManuallyDrop::take(&mut *second.body.get()) };
                self.both(first, body)
            }
            Some(ticket) => self.end_offered(&ticket, &second, first),
        }
    }

    /// Runs the second closure on this worker, or drops it and passes on the panic in `first`.
    #[inline(always)]
    fn both<B, RA, RB>(&self, first: Result<RA, Payload>, second: B) -> (RA, RB)
    where
        B: FnOnce(&Worker<'_, S>) -> RB,
    {
        match first {
            Ok(first) => (first, second(self)),
            Err(panic) => {
                discard(second);
                resume_unwind(panic)
            }
        }
    }

    /// Ends a `join` after its second closure was offered to other workers.
    #[cold]
    #[inline(never)]
    fn end_offered<B, RA, RB>(
        &self,
        ticket: &Ticket<S>,
        second: &Second<S, B, RB>,
        first: Result<RA, Payload>,
    ) -> (RA, RB)
    where
        B: FnOnce(&Worker<'_, S>) -> RB,
    {
        if ticket.offer.withdraw() {
            // SAFETY: the offer was withdrawn, so no other worker has taken the closure.
            let body = unsafe { ManuallyDrop::take(&mut *second.body.get()) };
            return self.both(first, body);
        }
        let why = "another worker to end its half of a join";
        let waited = self.wait_for(&why, &mut || ticket.offer.has_ended());
        // SAFETY: the offer has ended, so the result is written and no other worker uses `second`.
        let second = unsafe { (*second.result.get()).assume_init_read() };
        match (waited, first, second) {
            (Ok(()), Ok(first), Ok(second)) => (first, second),
            (Err(panic), first, second) => {
                discard(first);
                discard(second);
                resume_unwind(panic)
            }
            (Ok(()), Err(panic), second) => {
                discard(second);
                resume_unwind(panic)
            }
            (Ok(()), first, Err(panic)) => {
                discard(first);
                resume_unwind(panic)
            }
        }
    }
}
