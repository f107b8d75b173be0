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
    /// Does with the closure in the words what the argument says, and returns its size in bytes.
    to: unsafe fn(&mut Words, To<'_, '_, S>) -> usize,
    words: Words,
}

/// What is done with a closure.
enum To<'a, 'w, S: Spe> {
    Run(&'a Worker<'w, S>),
    Drop,
    Measure,
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
            Self::in_place::<F, F>(body)
        } else {
            let body = Box::new(body);
            Self::in_place::<_, F>(move |worker: &Worker<'_, S>| body(worker))
        }
    }

    /// `Of` is the type of the closure, also if `body` is a box with it.
    #[inline(always)]
    fn in_place<F: FnOnce(&Worker<'_, S>), Of>(body: F) -> Self {
        /// # Safety
        ///
        /// The words hold an `F`, and are used again only after [`To::Measure`].
        unsafe fn to<S: Spe, F: FnOnce(&Worker<'_, S>), Of>(
            words: &mut Words,
            to: To<'_, '_, S>,
        ) -> usize {
            // SAFETY: by the contract of this function.
            let mut body = || unsafe { words.as_mut_ptr().cast::<F>().read() };
            match to {
                To::Run(worker) => body()(worker),
                To::Drop => drop(body()),
                To::Measure => {}
            }
            size_of::<Of>()
        }
        assert!(size_of::<F>() <= size_of::<Words>() && align_of::<F>() <= align_of::<Words>());
        let mut words = Words::uninit();
        // SAFETY: the assertion above has checked that the closure fits.
        unsafe { words.as_mut_ptr().cast::<F>().write(body) };
        Self {
            to: to::<S, F, Of>,
            words,
        }
    }

    #[inline(always)]
    pub(crate) fn run(mut self, worker: &Worker<'_, S>) {
        // SAFETY: `in_place` made `to` for these words, and this call consumes `self`.
        unsafe { (self.to)(&mut self.words, To::Run(worker)) };
    }

    /// Drops the closure without running it.
    pub(crate) fn discard(mut self) {
        // SAFETY: as in `run`.
        unsafe { (self.to)(&mut self.words, To::Drop) };
    }

    /// Returns the size of the closure in bytes, without what it refers to.
    pub(crate) fn bytes(&mut self) -> usize {
        // SAFETY: `in_place` made `to` for these words, and the words are as before.
        unsafe { (self.to)(&mut self.words, To::Measure) }
    }
}

/// A second closure, which lies on the stack of the thread that has called `join`.
pub(crate) struct Half<S: Spe> {
    run: RunHalf<S>,
    pub(crate) closure: *const (),
}

/// Runs the closure on the worker, if there is one. Returns the size of the closure in bytes.
type RunHalf<S> = unsafe fn(*const (), Option<&Worker<'_, S>>) -> Result<usize, Payload>;

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
        unsafe { (self.run)(self.closure, Some(worker)) }.map(drop)
    }

    /// Returns the size of the closure in bytes, without what it refers to.
    pub(crate) fn bytes(self) -> usize {
        // SAFETY: without a worker, the closure is not used, and need not exist.
        unsafe { (self.run)(self.closure, None) }.unwrap_or(0)
    }
}
