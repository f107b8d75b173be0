//! Closures in a queue. A small closure is stored in place.
//!
//! A box for each closure would take longer than a small closure runs, above all if another worker
//! frees it. Crates that keep trait objects in place cannot call an `FnOnce`, or need another call
//! to drop a closure that has run.

// Rejected: the crate smallbox. It cannot call an `FnOnce`: each closure took two indirect calls
// and 64 bytes.
// Rejected: a destructor of closures in the queue. The compiler kept each copy in memory for the
// case of a panic, and each waited for the stores of the one before.

use std::mem::MaybeUninit;

use cellworks_machine::Spe;

use crate::worker::Worker;

/// Room for the data of a small closure: some references.
type Words = MaybeUninit<[usize; 3]>;

/// A closure that runs once, or is [discarded](Self::discard). It has no destructor, for speed:
/// with one, each copy on the way into the queue and out of it would have to stay in memory in case
/// of a panic.
#[must_use]
pub(crate) struct Closure<S: Spe> {
    /// Takes the closure out of the words, and runs or drops it.
    take: unsafe fn(&mut Words, Option<&Worker<'_, S>>),
    words: Words,
}

// SAFETY: it is made of a closure that is `Send`.
unsafe impl<S: Spe> Send for Closure<S> {}

impl<S: Spe> Closure<S> {
    /// # Safety
    ///
    /// What `body` borrows is there until this has run or is discarded.
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
        /// The words hold an `F`, which is theirs no longer.
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
        // SAFETY: it fits, as is asserted above.
        unsafe { words.as_mut_ptr().cast::<F>().write(body) };
        Self {
            take: take::<S, F>,
            words,
        }
    }

    #[inline(always)]
    pub(crate) fn run(mut self, worker: &Worker<'_, S>) {
        // SAFETY: this was made with these words, and ends with this call.
        unsafe { (self.take)(&mut self.words, Some(worker)) };
    }

    /// Drops the closure, which does not run.
    pub(crate) fn discard(mut self) {
        // SAFETY: as in `run`.
        unsafe { (self.take)(&mut self.words, None) };
    }
}
