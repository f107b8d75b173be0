//! Two closures, perhaps at once.

use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::panic::resume_unwind;

use cellworks_machine::{Cancelled, Payload, Spe};

use crate::frames::Frame;
use crate::place::sealed::Sealed;
use crate::worker::Worker;

/// The second closure of a `join`, and its result.
#[repr(C)]
struct Half<S: Spe, B, R> {
    frame: Frame<S>,
    body: UnsafeCell<ManuallyDrop<B>>,
    result: UnsafeCell<Option<Result<R, Payload>>>,
}

impl<S: Spe, B, R> Half<S, B, R>
where
    B: FnOnce(&Worker<'_, S>) -> R,
{
    /// Runs the closure on a worker that has taken it.
    ///
    /// # Safety
    ///
    /// As [`Frame::run`]; `frame` is that of a `Half` of these types.
    unsafe fn run(frame: *const Frame<S>, worker: &Worker<'_, S>) -> Result<(), Payload> {
        let half = frame.cast::<Self>();
        // SAFETY: it is there, and this worker alone has it until the offer ends.
        let (body, result) = unsafe {
            let body = ManuallyDrop::take(&mut *(*half).body.get());
            (body, &mut *(*half).result.get())
        };
        match worker.guarded(|| body(worker)) {
            Ok(value) => *result = Some(Ok(value)),
            Err(panic) if worker.is_cancelled() => {
                *result = Some(Err(Box::new(Cancelled)));
                return Err(panic);
            }
            Err(panic) => *result = Some(Err(panic)),
        }
        Ok(())
    }
}

impl<S: Spe> Worker<'_, S> {
    /// Runs two closures, at once if another worker has nothing to do, and returns what they
    /// return.
    ///
    /// The caller runs `first`. Whether another worker runs `second` meanwhile is decided as late
    /// as possible: a worker without work asks for some, and a worker that comes by a `join` then
    /// offers the oldest `second` that it has. So a `join` costs a few nanoseconds, and needs no
    /// bound below which it is not worth while.
    ///
    /// If `second` has been taken by another worker and has not ended, this waits for it: other
    /// tasks of this worker run meanwhile, on stacks of their own.
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
    /// With the panic of `first`, else that of `second`, after both have ended. `second` may not
    /// have been begun if `first` panicked.
    #[inline]
    pub fn join<A, B, RA, RB>(&self, first: A, second: B) -> (RA, RB)
    where
        A: FnOnce(&Self) -> RA,
        B: FnOnce(&Worker<'_, S>) -> RB + Send,
        RB: Send,
    {
        let half = Half::<S, B, RB> {
            frame: Frame::new(Half::<S, B, RB>::run),
            body: UnsafeCell::new(ManuallyDrop::new(second)),
            result: UnsafeCell::new(None),
        };
        // The frame is the first field, and the worker that runs the half has to reach all of it.
        self.frames().push((&raw const half).cast());
        self.answer();
        let first = self.guarded(|| first(self));
        if self.frames().pop() {
            // SAFETY: it was never offered, so nothing else has taken it.
            let second = unsafe { ManuallyDrop::take(&mut *half.body.get()) };
            return self.both(first, second);
        }
        self.end_offered(&half, first)
    }

    /// Runs the second half here.
    #[inline(always)]
    fn both<B, RA, RB>(&self, first: Result<RA, Payload>, second: B) -> (RA, RB)
    where
        B: FnOnce(&Worker<'_, S>) -> RB,
    {
        match first {
            Ok(first) => (first, second(self)),
            Err(panic) => {
                drop(second);
                resume_unwind(panic)
            }
        }
    }

    /// The end of a `join` whose second half was offered to others.
    #[cold]
    #[inline(never)]
    fn end_offered<B, RA, RB>(&self, half: &Half<S, B, RB>, first: Result<RA, Payload>) -> (RA, RB)
    where
        B: FnOnce(&Worker<'_, S>) -> RB,
    {
        let ticket = half.frame.ticket.take();
        let ticket = ticket.expect("a half that was offered has a ticket");
        if ticket.offer.withdraw() {
            // SAFETY: the offer is withdrawn, so nothing else has taken it.
            let second = unsafe { ManuallyDrop::take(&mut *half.body.get()) };
            return self.both(first, second);
        }
        let why = "another worker to end its half of a join";
        let waited = self.wait_for(&why, &mut || ticket.offer.has_ended());
        // SAFETY: the offer has ended, so the other worker has left the half.
        let second = unsafe { (*half.result.get()).take() };
        let second = second.expect("a half that has ended has a result");
        match (waited, first, second) {
            (Ok(()), Ok(first), Ok(second)) => (first, second),
            (Err(panic), _, _) | (_, Err(panic), _) | (_, _, Err(panic)) => resume_unwind(panic),
        }
    }
}
