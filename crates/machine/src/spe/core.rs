//! What a machine implements for each SPE. The typed views, cooperative threads and interleaved
//! work of this crate are built on it. Programs do not call these methods: they use
//! [`Spe`](super::Spe).
//!
//! - For views: [`hold`](SpeCore::hold), [`arrived`](SpeCore::arrived),
//!   [`put_back`](SpeCore::put_back), [`departed`](SpeCore::departed),
//!   [`confined_to`](SpeCore::confined_to).
//! - For threads: [`run_threads`](SpeCore::run_threads).
//! - For interleaved work: [`look_outside`](SpeCore::look_outside),
//!   [`uninterrupted_span`](SpeCore::uninterrupted_span).
//! - For observation: [`activity_begins`](SpeCore::activity_begins),
//!   [`activity_ends`](SpeCore::activity_ends).
//! - For loops that poll what other processors write: [`catch_up`](SpeCore::catch_up).

use std::panic::Location;
use std::ptr::NonNull;

use crate::id::ThreadId;
use crate::local_store::{LocalStore, StageError};
use crate::memory::LINE_BYTES;
use crate::time::Span;
use crate::wake::Wake;

/// What a machine implements for each SPE. Programs use it through [`Spe`](super::Spe).
///
/// # Safety
///
/// [`hold`](Self::hold) and [`put_back`](Self::put_back) do what their documentation says: typed
/// views rely on it. [`run_threads`](Self::run_threads) returns, or unwinds, only when every body
/// that was started has been run to its end or dropped: the bodies borrow what their scope can
/// borrow.
pub unsafe trait SpeCore: Wake + Sized + 'static {
    /// Keeps a view's bytes in the local store. Dropping it frees the room.
    type Hold;

    /// The local store, if programs can use only data in it, as on simulated machines and strict
    /// hosts. There data is moved to the local store, and the stacks of cooperative threads take
    /// room in it. `None` if programs use main memory directly.
    fn confined_to(&self) -> Option<&LocalStore> {
        None
    }

    /// For [`thread_scope`](super::Spe::thread_scope): runs `main`, which may start cooperative
    /// threads by its argument, and returns when all of these threads have ended.
    ///
    /// If `main` or a thread panics, the panic is resumed after all have ended. `at` is the call
    /// that waits for the threads; the report of a deadlock shows it.
    fn run_threads(&self, at: &'static Location<'static>, main: &mut dyn FnMut(&dyn StartThread));

    /// For typed views: makes bytes of main memory available to this SPE.
    ///
    /// The pointer that it returns is aligned to `request.align` and valid for `request.bytes`
    /// initialised bytes as long as the hold lives and the memory is borrowed. These bytes are
    /// either the memory itself or a buffer that belongs to the hold alone. With `request.fetch`, a
    /// buffer has the memory's bytes once [`arrived`](Self::arrived) has returned. The machine
    /// accesses the memory only during this call and during [`put_back`](Self::put_back).
    ///
    /// # Errors
    ///
    /// [`StageError`] if the local store has no room.
    ///
    /// # Safety
    ///
    /// The memory is valid for reads of `request.bytes` initialised bytes during the call.
    unsafe fn hold(&self, request: StageRequest) -> Result<(NonNull<u8>, Self::Hold), StageError>;

    /// For typed views: waits until the bytes of `hold` have arrived.
    fn arrived(&self, hold: &Self::Hold);

    /// For typed views: [`hold`](Self::hold) and [`arrived`](Self::arrived) in one call, which some
    /// machines can do faster.
    ///
    /// # Errors
    ///
    /// As [`hold`](Self::hold).
    ///
    /// # Safety
    ///
    /// As [`hold`](Self::hold).
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

    /// For interleaved work, which may run for long without a call that waits. If another thread of
    /// this core waits for something that has come from outside, it can go on after this call. If
    /// the run was cancelled, this call ends the program. On machines where every call does that,
    /// this one does nothing.
    fn look_outside(&self) {}

    /// For loops that poll what other processors write. Where time is simulated, it runs the other
    /// processors up to the present time of this one. On other machines it does nothing, because
    /// the other processors run anyway.
    #[inline(always)]
    fn catch_up(&self) {}

    /// For observation: the calling thread begins an activity with this name, nested in those that
    /// it has begun before. Machines that record no activities do nothing.
    #[inline(always)]
    fn activity_begins(&self, name: &str) {
        let _ = name;
    }

    /// For observation: ends the activity that the calling thread has begun last.
    #[inline(always)]
    fn activity_ends(&self) {}

    /// For interleaved work: for about how long this SPE may work without a look outside. It may if
    /// staged slices are read in place, and no other thread of this SPE is ready. Otherwise this
    /// returns `None`.
    ///
    /// Whether slices are read in place does not change while a program runs. Whether other threads
    /// are ready does, so this is called again after that time.
    fn uninterrupted_span(&self) -> Option<Span> {
        None
    }

    /// For typed views: [`hold_until_arrived`](Self::hold_until_arrived), on a machine that reads
    /// staged slices in place. It does not wait, and should compile to as little as possible.
    ///
    /// # Errors
    ///
    /// As [`hold`](Self::hold).
    ///
    /// # Safety
    ///
    /// As [`hold`](Self::hold). Besides, [`uninterrupted_span`](Self::uninterrupted_span) has
    /// returned a time in the present program.
    #[inline(always)]
    unsafe fn hold_in_place(
        &self,
        request: StageRequest,
    ) -> Result<(NonNull<u8>, Self::Hold), StageError> {
        // SAFETY: the caller's promise.
        unsafe { self.hold_until_arrived(request) }
    }

    /// For typed views: copies the bytes of a hold back to main memory. The copy is complete when
    /// this returns.
    ///
    /// # Safety
    ///
    /// `local` is what [`hold`](Self::hold) returned with `hold`, for `memory` and `bytes`, and
    /// nothing else accesses the memory during the call.
    unsafe fn put_back(
        &self,
        hold: &Self::Hold,
        local: NonNull<u8>,
        memory: NonNull<u8>,
        bytes: usize,
    );

    /// For typed views: waits until all puts are complete.
    fn departed(&self);
}

/// A request to hold bytes of main memory for a view: see [`SpeCore::hold`].
#[derive(Clone, Copy, Debug)]
pub struct StageRequest {
    /// The first byte in main memory.
    pub memory: NonNull<u8>,
    /// How many bytes.
    pub bytes: usize,
    /// The alignment of the elements' type in bytes, at most 128.
    pub align: usize,
    /// Whether to get the bytes. Otherwise only room for new ones is needed.
    pub fetch: bool,
    /// The name of the slice's type, for messages.
    pub what: &'static str,
    /// The call that asked.
    pub at: &'static Location<'static>,
}

/// The largest alignment of staged elements, in bytes: a line of a local store.
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

/// A cooperative thread that a machine is to start: see [`SpeCore::run_threads`].
pub struct NewThread {
    /// Its id among those of its scope.
    pub id: ThreadId,
    /// The size of its stack in bytes, if the program chose one.
    pub stack_bytes: Option<usize>,
    /// What it runs.
    pub body: Box<dyn FnOnce()>,
}

/// Starts cooperative threads on an SPE: see [`SpeCore::run_threads`].
pub trait StartThread {
    /// Starts a thread. It runs for the first time when the caller waits or yields.
    ///
    /// If its body panics, the panic is resumed at the end of its scope.
    fn start(&self, thread: NewThread);
}
