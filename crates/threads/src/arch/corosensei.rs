//! The switch for architectures without an assembly version here: by corosensei's coroutines.
//!
//! These are asymmetric: a coroutine is resumed by its parent and suspends to it. A loop on the
//! main thread's stack makes symmetric switches of them:
//!
//! ```text
//!   main: switch(to) ─► loop { resume the wanted coroutine } ◄─┐ until main is wanted
//!                              │                               │
//!                              └─► thread: switch(to): want `to`, suspend
//! ```

use std::cell::{Cell, UnsafeCell};
use std::num::NonZeroUsize;
use std::ptr;

use ::corosensei::stack::{STACK_ALIGNMENT, Stack, StackPointer};
use ::corosensei::{Coroutine, Yielder};

use super::Entry;

/// A suspended thread: its coroutine, or null for the main thread of the core.
#[derive(Clone, Copy)]
pub(crate) struct Context(*const Record);

impl Context {
    /// The value of a place in which no context was stored yet.
    pub(crate) const NONE: Context = Context(ptr::null());
}

/// The data of a coroutine. They lie at the top of its stack and are never dropped, because its
/// function never returns.
struct Record {
    coroutine: UnsafeCell<Coroutine<(), (), (), Borrowed>>,
    yielder: Cell<*const Yielder<(), ()>>,
}

/// A stack that belongs to the pool of the scheduler.
struct Borrowed {
    base: StackPointer,
    limit: StackPointer,
}

// SAFETY: `prepare` is given memory above a guard page, large enough for a frame, that stays mapped
// until the thread has ended.
unsafe impl Stack for Borrowed {
    fn base(&self) -> StackPointer {
        self.base
    }

    fn limit(&self) -> StackPointer {
        self.limit
    }
}

thread_local! {
    /// The coroutine that runs; null while the main thread does.
    static RUNNING: Cell<*const Record> = const { Cell::new(ptr::null()) };
    /// The coroutine that the loop on the main thread's stack is to resume next; null for the main
    /// thread.
    static WANTED: Cell<Context> = const { Cell::new(Context::NONE) };
}

/// Makes a coroutine on a stack whose free part is `limit..top` and returns the context that calls
/// `entry(argument)`.
///
/// # Safety
///
/// `limit..top` is writable, lies above a guard page, is used by no other code until the thread has
/// ended, and has room for a frame.
pub(crate) unsafe fn prepare(
    limit: *mut u8,
    top: *mut u8,
    entry: Entry,
    argument: *const (),
) -> Context {
    let record = top
        .map_addr(|address| {
            (address - size_of::<Record>()) & !(STACK_ALIGNMENT.max(align_of::<Record>()) - 1)
        })
        .cast::<Record>();
    let stack = Borrowed {
        base: NonZeroUsize::new(record.expose_provenance()).expect("a stack is not at address 0"),
        limit: NonZeroUsize::new(limit.expose_provenance().next_multiple_of(STACK_ALIGNMENT))
            .expect("a stack is not at address 0"),
    };
    let body = move |yielder: &Yielder<(), ()>, ()| {
        // SAFETY: the record was written below, before the coroutine could be resumed.
        unsafe { (*record).yielder.set(yielder) };
        // SAFETY: by the contract of `prepare`.
        unsafe { entry(argument) }
    };
    // SAFETY: the function holds only pointers, so it lives as long as the coroutine uses it. The
    // place of the record is free by the contract of `prepare`, and what an ended thread left there
    // needs no destructor.
    unsafe {
        record.write(Record {
            coroutine: UnsafeCell::new(Coroutine::with_stack_unchecked(stack, body)),
            yielder: Cell::new(ptr::null()),
        });
    }
    Context(record)
}

/// Stores the running context in `save` and continues `to`. Returns when another thread continues
/// what was saved.
///
/// # Safety
///
/// `save` is valid for a write. `to` came from [`prepare`] or from a `switch` on this OS thread,
/// its stack still exists, and it is continued this once.
pub(crate) unsafe fn switch(save: *const Cell<Context>, to: Context) {
    let running = RUNNING.get();
    // SAFETY: valid by the contract of `switch`.
    unsafe { (*save).set(Context(running)) };
    if !running.is_null() {
        WANTED.set(to);
        // SAFETY: a running coroutine has stored its yielder, and this is its own stack.
        unsafe { (*(*running).yielder.get()).suspend(()) };
        return;
    }
    let mut wanted = to.0;
    while !wanted.is_null() {
        RUNNING.set(wanted);
        // SAFETY: the record lies on a stack that still exists; no other code refers to the
        // coroutine, because it is resumed only here and this loop runs on one stack only.
        unsafe { (*(*wanted).coroutine.get()).resume(()) };
        wanted = WANTED.get().0;
    }
    RUNNING.set(ptr::null());
}

/// As [`switch`], to a thread whose context is in its frame.
///
/// # Safety
///
/// As for [`switch`], for what is in `to`, which is valid for a read.
pub(crate) unsafe fn switch_to_frame(save: *const Cell<Context>, to: *const Frame) {
    // SAFETY: the caller's promise.
    unsafe { switch(save, (*to).context.get()) }
}

/// As [`switch_to_frame`], but the running thread is saved in a frame too.
///
/// # Safety
///
/// As for [`switch_to_frame`]; `me` stays where it is until it has been continued.
pub(crate) unsafe fn turn(me: *const Frame, to: *const Frame) {
    // SAFETY: the caller's promise.
    unsafe { switch(&raw const (*me).context, (*to).context.get()) }
}

/// Where a suspended thread goes on. Its coroutine has that information.
pub(crate) struct Frame {
    context: Cell<Context>,
}

impl Frame {
    pub(crate) const fn new() -> Frame {
        Frame {
            context: Cell::new(Context::NONE),
        }
    }

    /// The place in which the next [`switch`] that suspends the running thread is to save it.
    pub(crate) fn place(&self) -> *const Cell<Context> {
        &raw const self.context
    }

    /// Marks the frame as holding no suspended thread.
    pub(crate) fn clear(&self) {
        self.context.set(Context::NONE);
    }

    pub(crate) fn is_clear(&self) -> bool {
        self.context.get().0.is_null()
    }

    /// Takes the context of the suspended thread out of the frame, if there is one.
    ///
    /// # Safety
    ///
    /// The thread is suspended.
    pub(crate) unsafe fn take(&self) -> Option<Context> {
        Some(self.context.replace(Context::NONE)).filter(|context| !context.0.is_null())
    }
}

/// Does nothing: this switch keeps its frames elsewhere.
#[inline(always)]
pub(crate) fn prefetch(_context: Context) {}
