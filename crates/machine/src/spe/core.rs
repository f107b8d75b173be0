//! The trait that a machine implements for each SPE, as the basis of views, threads and interleaved
//! work.

use std::panic::Location;
use std::ptr::NonNull;

use crate::id::ThreadId;
use crate::local_store::{LocalStore, StageError};
use crate::memory::LINE_BYTES;
use crate::time::Span;
use crate::wake::Wake;

/// A machine implements this trait for each SPE. Programs use [`Spe`](super::Spe) instead.
///
/// # Safety
///
/// The implementor guarantees:
///
/// - [`hold`](Self::hold) and [`put_back`](Self::put_back) do what their documentation says.
/// - When [`run_threads`](Self::run_threads) returns or unwinds, every body that was started has
///   been run to its end or dropped, because bodies borrow values that their scope can borrow.
pub unsafe trait SpeCore: Wake + Sized + 'static {
    /// A hold keeps a view's bytes in the local store. Dropping the hold frees the room of the
    /// bytes.
    type Hold;

    /// Returns the local store if programs can use only data in the local store, as on simulated
    /// machines and strict hosts, or `None` if programs use main memory directly.
    fn confined_to(&self) -> Option<&LocalStore> {
        None
    }

    /// Calls `main` with a [`StartThread`], by which `main` may start cooperative threads. Returns
    /// when all of these threads have ended.
    ///
    /// If `main` or a thread panics, the panic is resumed after all threads have ended. `at` is the
    /// call that waits for the threads, for the report of a deadlock.
    fn run_threads(&self, at: &'static Location<'static>, main: &mut dyn FnMut(&dyn StartThread));

    /// Makes bytes of main memory available to this SPE, for typed views.
    ///
    /// The returned pointer is aligned to `request.align`. As long as the hold lives and the memory
    /// is borrowed, the pointer is valid for `request.bytes` initialised bytes. These bytes are
    /// either the memory itself or a buffer that belongs only to the hold. If `request.fetch` is
    /// true, a buffer has the memory's bytes once [`arrived`](Self::arrived) has returned. The
    /// machine accesses the memory only during this call and during [`put_back`](Self::put_back).
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

    /// Does [`hold`](Self::hold) and [`arrived`](Self::arrived) in one call, which may be faster.
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
        // SAFETY: the caller's promise.
        let held = unsafe { self.hold(request) }?;
        self.arrived(&held.1);
        Ok(held)
    }

    /// Looks for messages and wake-ups from other OS threads, which let waiting threads of this
    /// core go on. Interleaved work calls this method because the work may run long without a call
    /// that waits. If the run was cancelled, this call unwinds the program.
    fn look_outside(&self) {}

    /// Runs the other processors up to the present time of this processor, where time is simulated.
    /// Loops that poll memory that other processors write call this method.
    #[inline(always)]
    fn catch_up(&self) {}

    /// Begins an activity with this name in the calling thread, nested in the unfinished
    /// activities.
    #[inline(always)]
    fn activity_begins(&self, name: &str) {
        let _ = name;
    }

    /// Ends the activity that the calling thread began last.
    #[inline(always)]
    fn activity_ends(&self) {}

    /// Returns the time for which the SPE may work without a call of
    /// [`look_outside`](Self::look_outside). Returns `None` if staged slices are not read in place,
    /// or if another thread of this SPE is ready.
    ///
    /// During a program, either all or none of its slices are read in place, but other threads may
    /// become ready. Therefore the caller asks again after the returned time.
    fn uninterrupted_span(&self) -> Option<Span> {
        None
    }

    /// Does what [`hold_until_arrived`](Self::hold_until_arrived) does, without waiting, on a
    /// machine that reads staged slices in place.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`hold`](Self::hold).
    ///
    /// # Safety
    ///
    /// The conditions are those of [`hold`](Self::hold). In addition,
    /// [`uninterrupted_span`](Self::uninterrupted_span) must have returned a time in the present
    /// program.
    #[inline(always)]
    unsafe fn hold_in_place(
        &self,
        request: StageRequest,
    ) -> Result<(NonNull<u8>, Self::Hold), StageError> {
        // SAFETY: the caller's promise.
        unsafe { self.hold_until_arrived(request) }
    }

    /// Copies the bytes of a hold back to main memory before this method returns.
    ///
    /// # Safety
    ///
    /// [`hold`](Self::hold) must have returned `local` together with `hold`, for `memory` and
    /// `bytes`. No other code may access the memory during the call.
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

/// A request to hold bytes of main memory for a view: see [`SpeCore::hold`].
#[derive(Clone, Copy, Debug)]
pub struct StageRequest {
    /// The first byte in main memory.
    pub memory: NonNull<u8>,
    /// The number of bytes.
    pub bytes: usize,
    /// The alignment of the elements' type in bytes, at most 128.
    pub align: usize,
    /// Whether to get the bytes. If false, the hold only needs room for new bytes.
    pub fetch: bool,
    /// The name of the slice's type, for messages.
    pub what: &'static str,
    /// The call that asked for the bytes.
    pub at: &'static Location<'static>,
}

/// The largest alignment of staged elements in bytes: the size of a line of a local store.
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

/// A cooperative thread that a machine should start: see [`SpeCore::run_threads`].
pub struct NewThread {
    /// The id of the thread among the threads of its scope.
    pub id: ThreadId,
    /// The size of the thread's stack in bytes, if the program chose it.
    pub stack_bytes: Option<usize>,
    /// The closure that the thread runs.
    pub body: Box<dyn FnOnce()>,
}

/// Starts cooperative threads on an SPE: see [`SpeCore::run_threads`].
pub trait StartThread {
    /// Starts a thread, which first runs when the caller waits or yields. If the body of the thread
    /// panics, the panic is resumed at the end of the thread's scope.
    fn start(&self, thread: NewThread);
}
