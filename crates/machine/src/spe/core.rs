//! The trait that a machine implements for each SPE, for staging, threads and interleaved work.

use std::panic::Location;
use std::ptr::NonNull;

use crate::id::ThreadId;
use crate::local_store::{LocalStore, StageError};
use crate::memory::LINE_BYTES;
use crate::time::Span;
use crate::wake::Wake;

/// The operations that a machine implements for each SPE. Programs use [`Spe`](super::Spe) instead.
///
/// # Safety
///
/// [`hold`](Self::hold) and [`put_back`](Self::put_back) must behave as documented. When
/// [`run_threads`](Self::run_threads) returns or unwinds, every started body must have ended or
/// been dropped, because bodies borrow values.
pub unsafe trait SpeCore: Wake + Sized + 'static {
    /// A guard for the bytes that a view (`Staged` or `StagedMut`) uses in the local store.
    /// Dropping the guard frees the bytes.
    type Hold;

    /// Returns the local store if programs can only use data in it, or else `None`.
    fn confined_to(&self) -> Option<&LocalStore> {
        None
    }

    /// Calls `main` with a [`StartThread`], waits until all started threads have ended, and resumes
    /// any panic. The report of a deadlock prints `at` as the waiting call.
    fn run_threads(&self, at: &'static Location<'static>, main: &mut dyn FnMut(&dyn StartThread));

    /// Makes bytes of main memory available to this SPE, for typed views.
    ///
    /// The returned pointer is aligned to `request.align`. While the hold lives and the memory is
    /// borrowed, the pointer is valid for `request.bytes` initialised bytes. These bytes are the
    /// memory itself, or a buffer that only the hold uses. If `request.fetch` is true, the buffer
    /// contains the memory's bytes after [`arrived`](Self::arrived). The machine accesses the
    /// memory only during this call and [`put_back`](Self::put_back).
    ///
    /// # Errors
    ///
    /// Returns [`StageError`] if the local store has no room.
    ///
    /// # Safety
    ///
    /// The memory must be valid for reads of `request.bytes` initialised bytes during the call.
    unsafe fn hold(&self, request: StageRequest) -> Result<(NonNull<u8>, Self::Hold), StageError>;

    /// Waits until the bytes of `hold` have arrived.
    fn arrived(&self, hold: &Self::Hold);

    /// Calls [`hold`](Self::hold) and [`arrived`](Self::arrived), perhaps in a faster way.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`hold`](Self::hold).
    ///
    /// # Safety
    ///
    /// The conditions are those of [`hold`](Self::hold).
    #[inline(always)]
    unsafe fn hold_until_arrived(
        &self,
        request: StageRequest,
    ) -> Result<(NonNull<u8>, Self::Hold), StageError> {
        // SAFETY: the caller guarantees the conditions of `hold`.
        let held = unsafe { self.hold(request) }?;
        self.arrived(&held.1);
        Ok(held)
    }

    /// Handles messages and wake-ups from other OS threads, and unwinds the program if the run was
    /// cancelled. Interleaved work calls this method, because it may run long without waiting.
    fn look_outside(&self) {}

    /// Runs the other processors up to this processor's simulated time. Called before a program
    /// looks at, or changes, memory that programs of other processors use. Other machines do
    /// nothing.
    #[inline(always)]
    fn catch_up(&self) {}

    /// Begins a named activity in the calling thread, nested in the unfinished activities.
    #[inline(always)]
    fn activity_begins(&self, name: &str) {
        let _ = name;
    }

    /// Ends the activity that the calling thread began last.
    #[inline(always)]
    fn activity_ends(&self) {}

    /// Sets the [place](crate::Spe::at) of the calling thread, and returns the old place. The
    /// machine forgets the places of a program when the program ends. Machines without reports do
    /// nothing.
    fn set_place(&self, place: Option<&'static str>) -> Option<&'static str> {
        let _ = place;
        None
    }

    /// See [`Spe::begin_window`](crate::Spe::begin_window).
    #[inline(always)]
    fn window_begins(&self) {}

    /// See [`Spe::end_window`](crate::Spe::end_window).
    #[inline(always)]
    fn window_ends(&self) {}

    /// Returns how long the program may run without a call of [`look_outside`](Self::look_outside).
    /// Returns `None` if another thread of the SPE is ready, or if slices are not read in place
    /// (directly in main memory). So a returned time permits [`hold_in_place`](Self::hold_in_place)
    /// in this program, because a program reads all or none of its slices in place.
    fn uninterrupted_span(&self) -> Option<Span> {
        None
    }

    /// Does [`hold_until_arrived`](Self::hold_until_arrived) in place, without waiting.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`hold`](Self::hold).
    ///
    /// # Safety
    ///
    /// The conditions are those of [`hold`](Self::hold). In addition,
    /// [`SpeCore::uninterrupted_span`] must have returned a time in the present program.
    #[inline(always)]
    unsafe fn hold_in_place(
        &self,
        request: StageRequest,
    ) -> Result<(NonNull<u8>, Self::Hold), StageError> {
        // SAFETY: the caller guarantees the conditions of `hold`.
        unsafe { self.hold_until_arrived(request) }
    }

    /// Copies the bytes at `local` back to main memory before this method returns, unless they are
    /// the memory itself.
    ///
    /// # Safety
    ///
    /// One call of the method [`hold`](Self::hold), for `memory` and `bytes`, must have returned
    /// both `local` and the value `hold`. No other code may access the memory during the call.
    unsafe fn put_back(
        &self,
        hold: &Self::Hold,
        local: NonNull<u8>,
        memory: NonNull<u8>,
        bytes: usize,
    );

    /// Waits until all puts are complete.
    fn departed(&self);
}

/// A request for bytes of main memory in a view: see [`SpeCore::hold`].
#[derive(Clone, Copy, Debug)]
pub struct StageRequest {
    /// The first byte in main memory.
    pub memory: NonNull<u8>,
    /// The number of bytes.
    pub bytes: usize,
    /// The alignment of the elements in bytes, at most 128.
    pub align: usize,
    /// Whether to copy the bytes from main memory. If false, the program writes all bytes itself.
    pub fetch: bool,
    /// The type of the slice, for messages.
    pub what: &'static str,
    /// The call that requested the bytes.
    pub at: &'static Location<'static>,
}

/// The largest alignment of staged elements in bytes.
const ALIGN_MAX: usize = LINE_BYTES;

impl StageRequest {
    #[inline(always)]
    pub(crate) fn new<T>(
        memory: NonNull<T>,
        len: usize,
        fetch: bool,
        at: &'static Location<'static>,
    ) -> Self {
        const {
            assert!(
                align_of::<T>() <= ALIGN_MAX,
                "a type that is staged is aligned to at most 128 bytes"
            );
        }
        Self {
            memory: memory.cast(),
            bytes: len * size_of::<T>(),
            align: align_of::<T>(),
            fetch,
            what: std::any::type_name::<[T]>(),
            at,
        }
    }
}

/// A cooperative thread to be started: see [`SpeCore::run_threads`].
pub struct NewThread {
    /// The id of the thread in its scope.
    pub id: ThreadId,
    /// The size of the thread's stack in bytes, if the program chose it.
    pub stack_bytes: Option<usize>,
    /// The closure that the thread runs.
    pub body: Box<dyn FnOnce()>,
}

/// An interface that starts cooperative threads on an SPE: see [`SpeCore::run_threads`].
pub trait StartThread {
    /// Starts a thread, which runs once the caller waits or yields. The scope resumes any panic.
    fn start(&self, thread: NewThread);
}
