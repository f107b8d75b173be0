//! What a machine does for the programs of an SPE: what the typed views, the cooperative threads
//! and the interleaved work of this crate are made of. Programs use those, by [`Spe`](super::Spe).
//!
//! - For views: [`hold`](SpeCore::hold), [`arrived`](SpeCore::arrived),
//!   [`put_back`](SpeCore::put_back), [`departed`](SpeCore::departed),
//!   [`confined_to`](SpeCore::confined_to).
//! - For threads: [`run_threads`](SpeCore::run_threads).
//! - For interleaved work: [`look_outside`](SpeCore::look_outside),
//!   [`stages_in_place_for`](SpeCore::stages_in_place_for).
//! - For observation: [`activity_begins`](SpeCore::activity_begins),
//!   [`activity_ends`](SpeCore::activity_ends).
//! - For loops that look at what others write: [`catch_up`](SpeCore::catch_up).

use std::panic::Location;
use std::ptr::NonNull;

use crate::id::ThreadId;
use crate::local_store::{LocalStore, StageError};
use crate::memory::LINE_BYTES;
use crate::time::Span;
use crate::wake::Wake;

/// What a machine does for the programs of an SPE; they use it through [`Spe`](super::Spe).
///
/// # Safety
///
/// [`hold`](Self::hold) and [`put_back`](Self::put_back) do what they promise: typed views rely
/// on it. [`run_threads`](Self::run_threads) returns, or unwinds, only when every body that was
/// started has been run to its end or dropped: they borrow what their scope can.
pub unsafe trait SpeCore: Wake + Sized + 'static {
    /// What keeps a view's bytes in the local store; dropping it gives the room back.
    type Hold;

    /// The local store, if programs can use only what is in it, as on simulated machines and strict
    /// hosts: data is moved there, and the stacks of cooperative threads take room in it. `None`
    /// where main memory is as good.
    fn confined_to(&self) -> Option<&LocalStore> {
        None
    }

    /// For [`thread_scope`](super::Spe::thread_scope): runs `main`, which may start cooperative
    /// threads with what it is handed, and returns when all of them have ended.
    ///
    /// If `main` or a thread panics, the panic is resumed after that. `at` is the call that waits
    /// for the threads, for the report that a deadlock gets.
    fn run_threads(&self, at: &'static Location<'static>, main: &mut dyn FnMut(&dyn StartThread));

    /// For typed views: brings bytes of main memory to where this SPE can use them.
    ///
    /// The pointer that it returns is aligned to `request.align` and valid for `request.bytes`
    /// initialised bytes as long as the hold lives and the memory is borrowed. They are either the
    /// memory itself or a buffer that belongs to the hold alone; with `request.fetch`, a buffer
    /// has the memory's bytes once [`arrived`](Self::arrived) has returned, and the memory is not
    /// touched after this call returned.
    ///
    /// # Errors
    ///
    /// [`StageError`] if the local store has no room.
    ///
    /// # Safety
    ///
    /// The memory is valid for reads of `request.bytes` initialised bytes during the call.
    unsafe fn hold(&self, request: StageRequest) -> Result<(NonNull<u8>, Self::Hold), StageError>;

    /// For typed views: waits until what `hold` holds has arrived.
    fn arrived(&self, hold: &Self::Hold);

    /// For typed views: [`hold`](Self::hold) and [`arrived`](Self::arrived) in one, for machines on
    /// which that is worth having.
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

    /// For interleaved work, which may go on for long without a call that waits: lets those threads
    /// of this core go on that wait for something from outside that is there by now, and ends the
    /// program if the run was cancelled. It does nothing on a machine whose calls all do that.
    fn look_outside(&self) {}

    /// For loops that look again and again at what other processors write: where time is simulated,
    /// the others do what they do until the present time of this one. Elsewhere it does nothing, as
    /// they do so anyway.
    #[inline(always)]
    fn catch_up(&self) {}

    /// For observation: the calling thread does something from now on that has this name, within
    /// what it has begun before. A machine that keeps no record does nothing.
    #[inline(always)]
    fn activity_begins(&self, name: &str) {
        let _ = name;
    }

    /// For observation: what the calling thread has begun last ends.
    #[inline(always)]
    fn activity_ends(&self) {}

    /// For interleaved work: for about how long a slice that is staged needs nothing done, because
    /// it is read where it lies and no other thread of this SPE wants to run in the meantime.
    /// `None` if it does.
    ///
    /// The first does not change in the course of a program. The second may, so it is asked again
    /// after that time.
    fn stages_in_place_for(&self) -> Option<Span> {
        None
    }

    /// For typed views: [`hold_until_arrived`](Self::hold_until_arrived), if a slice that is staged
    /// is read where it lies. It does not wait, and does nothing else where that can be spared.
    ///
    /// # Errors
    ///
    /// As [`hold`](Self::hold).
    ///
    /// # Safety
    ///
    /// As [`hold`](Self::hold), and [`stages_in_place_for`](Self::stages_in_place_for) has named a
    /// time in the present program.
    #[inline(always)]
    unsafe fn hold_in_place(
        &self,
        request: StageRequest,
    ) -> Result<(NonNull<u8>, Self::Hold), StageError> {
        // SAFETY: the caller's promise.
        unsafe { self.hold_until_arrived(request) }
    }

    /// For typed views: copies the bytes of a hold back to main memory, before it returns.
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

    /// For typed views: waits until everything that was put back has left.
    fn departed(&self);
}

/// What a machine is asked to hold in the local store for a view.
#[derive(Clone, Copy, Debug)]
pub struct StageRequest {
    /// The first byte in main memory.
    pub memory: NonNull<u8>,
    /// How many bytes.
    pub bytes: usize,
    /// What the elements' type asks for, in bytes: at most 128.
    pub align: usize,
    /// Whether the bytes are wanted, or only room for new ones.
    pub fetch: bool,
    /// The elements' type.
    pub what: &'static str,
    /// The call that asked.
    pub at: &'static Location<'static>,
}

/// What an element that is staged may be aligned to at most, in bytes: a line of a local store.
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
    /// Bytes of its stack, if they were chosen.
    pub stack_bytes: Option<usize>,
    /// What it runs.
    pub body: Box<dyn FnOnce()>,
}

/// Starts cooperative threads on an SPE: see [`SpeCore::run_threads`].
pub trait StartThread {
    /// Starts a thread. It gets its first turn when the caller waits or yields.
    ///
    /// If its body panics, the panic is resumed where its scope ends.
    fn start(&self, thread: NewThread);
}
