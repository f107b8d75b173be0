//! Type-erased closures that a worker runs: closures in a queue, and second closures of `join`.
//! Small closures lie in the queue itself, because allocating a box would take longer than running
//! a small closure.

// Rejected: the crate smallbox. It cannot call an `FnOnce`. Therefore each closure needed two
// calls, and occupied 64 bytes.
// Rejected: a destructor. To drop a closure after a panic, the compiler copied the closure through
// memory at each move. Each copy waited for the stores of the previous copy.

use std::mem::MaybeUninit;

use cellworks_machine::{Payload, Spe};

use crate::worker::Worker;

/// The memory for a small closure, such as one that captures three references.
type Words = MaybeUninit<[usize; 3]>;

/// A closure that must be run or [discarded](Self::discard) once, because it has no destructor.
#[must_use]
pub(crate) struct Closure<S: Spe> {
    /// Reads the closure from the words. Runs the closure on the worker, or drops the closure if
    /// there is no worker.
    take: unsafe fn(&mut Words, Option<&Worker<'_, S>>),
    words: Words,
}

// SAFETY: `new` makes the value from a closure that is `Send`.
unsafe impl<S: Spe> Send for Closure<S> {}

impl<S: Spe> Closure<S> {
    /// # Safety
    ///
    /// Values that `body` borrows live until the returned closure has run or was discarded.
    #[inline(always)]
    pub(crate) unsafe fn new<F: FnOnce(&Worker<'_, S>) + Send>(body: F) -> Self {
        if size_of::<F>() <= size_of::<Words>() && align_of::<F>() <= align_of::<Words>() {
            Self::in_place(body)
        } else {
            let body = Box::new(body);
            Self::in_place(move |worker: &Worker<'_, S>| body(worker))
        }
    }

    #[inline(always)]
    fn in_place<F: FnOnce(&Worker<'_, S>)>(body: F) -> Self {
        /// # Safety
        ///
        /// The words hold an `F`, and are not used again.
        unsafe fn take<S: Spe, F: FnOnce(&Worker<'_, S>)>(
            words: &mut Words,
            worker: Option<&Worker<'_, S>>,
        ) {
            // SAFETY: by the contract of this function.
            let body = unsafe { words.as_mut_ptr().cast::<F>().read() };
            match worker {
                Some(worker) => body(worker),
                None => drop(body),
            }
        }
        assert!(size_of::<F>() <= size_of::<Words>() && align_of::<F>() <= align_of::<Words>());
        let mut words = Words::uninit();
        // SAFETY: the assertion above has checked that the closure fits.
        unsafe { words.as_mut_ptr().cast::<F>().write(body) };
        Self {
            take: take::<S, F>,
            words,
        }
    }

    #[inline(always)]
    pub(crate) fn run(mut self, worker: &Worker<'_, S>) {
        // SAFETY: `in_place` made `take` for these words, and this call consumes `self`.
        unsafe { (self.take)(&mut self.words, Some(worker)) };
    }

    /// Drops the closure without running it.
    pub(crate) fn discard(mut self) {
        // SAFETY: as in `run`.
        unsafe { (self.take)(&mut self.words, None) };
    }
}

/// A second closure, which lies on the stack of the thread that has called `join`.
pub(crate) struct Half<S: Spe> {
    run: RunHalf<S>,
    pub(crate) closure: *const (),
}

type RunHalf<S> = unsafe fn(*const (), &Worker<'_, S>) -> Result<(), Payload>;

impl<S: Spe> Clone for Half<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Spe> Copy for Half<S> {}

impl<S: Spe> Half<S> {
    #[inline(always)]
    pub(crate) fn new(run: RunHalf<S>, closure: *const ()) -> Self {
        Self { run, closure }
    }

    /// Runs the closure. If the run was cancelled, fails with the panic that the caller must
    /// resume.
    ///
    /// # Safety
    ///
    /// The caller has taken the offer of the half.
    pub(crate) unsafe fn run(self, worker: &Worker<'_, S>) -> Result<(), Payload> {
        // SAFETY: by the contract of this function the closure exists.
        unsafe { (self.run)(self.closure, worker) }
    }
}
