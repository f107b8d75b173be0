//! Closures in a queue. The queue stores a small closure in place, because a box would take longer
//! than a small closure runs.

// Rejected: the crate smallbox, which cannot call an `FnOnce`. A closure took two calls and 64
// bytes.
// Rejected: a destructor of closures in the queue. The compiler kept each copy in memory for the
// case of a panic, and each copy waited for the stores of the copy before.

use std::mem::MaybeUninit;

use cellworks_machine::Spe;

use crate::worker::Worker;

/// The memory for the data of a small closure, such as three references.
type Words = MaybeUninit<[usize; 3]>;

/// A closure that runs once, or is [discarded](Self::discard). Has no destructor, for speed.
#[must_use]
pub(crate) struct Closure<S: Spe> {
    /// Reads the closure from the words, and runs the closure on the worker. Without a worker,
    /// drops the closure.
    take: unsafe fn(&mut Words, Option<&Worker<'_, S>>),
    words: Words,
}

// SAFETY: `new` makes the value from a closure that is `Send`.
unsafe impl<S: Spe> Send for Closure<S> {}

impl<S: Spe> Closure<S> {
    /// # Safety
    ///
    /// All values that `body` borrows live until the result has run or is discarded.
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
        /// The words hold an `F`. The caller does not use the words after the call.
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
        // SAFETY: `in_place` made `take` for these words. This call consumes `self`, so the words
        // are not used again.
        unsafe { (self.take)(&mut self.words, Some(worker)) };
    }

    /// Drops the closure without running it.
    pub(crate) fn discard(mut self) {
        // SAFETY: as in `run`.
        unsafe { (self.take)(&mut self.words, None) };
    }
}
