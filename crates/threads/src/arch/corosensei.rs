//! The context switch for architectures without our own assembly: coroutines of corosensei.
//!
//! A coroutine can only return to the code that has resumed it. Therefore switches go through a
//! loop on the main thread's stack:
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

/// A suspended thread: a pointer to its coroutine, or null for the main thread.
#[derive(Clone, Copy)]
pub(crate) struct Context(*const Record);

impl Context {
    /// The main thread. Also the initial value of a context.
    pub(crate) const NONE: Context = Context(ptr::null());
}

/// A coroutine and its yielder. Never dropped, because the coroutine's function never returns.
struct Record {
    coroutine: UnsafeCell<Coroutine<(), (), (), Borrowed>>,
    yielder: Cell<*const Yielder<(), ()>>,
}

/// The bounds of a stack from the pool of the scheduler.
struct Borrowed {
    base: StackPointer,
    limit: StackPointer,
}

// SAFETY: by the contract of `prepare`, the memory has a guard page, is large enough, and stays
// mapped.
unsafe impl Stack for Borrowed {
    fn base(&self) -> StackPointer {
        self.base
    }

    fn limit(&self) -> StackPointer {
        self.limit
    }
}

thread_local! {
    /// The running coroutine. Null while the main thread runs.
    static RUNNING: Cell<*const Record> = const { Cell::new(ptr::null()) };
    /// The coroutine that the main thread's loop resumes next. Null for the main thread.
    static WANTED: Cell<Context> = const { Cell::new(Context::NONE) };
}

/// Returns a new context that calls `entry(argument)` on the stack `limit..top`.
///
/// # Safety
///
/// `limit..top` is writable, lies above a guard page, and has room for a frame. No other code uses
/// this memory until the thread has ended.
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
        // SAFETY: this closure runs only after `record.write` below has initialised the record.
        unsafe { (*record).yielder.set(yielder) };
        // SAFETY: by the contract of `prepare`.
        unsafe { entry(argument) }
    };
    // SAFETY: the closure above holds only pointers, so it may live for ever. By the contract of
    // `prepare`, no other code uses the memory of the record. An old record in this memory needs no
    // destructor.
    unsafe {
        record.write(Record {
            coroutine: UnsafeCell::new(Coroutine::with_stack_unchecked(stack, body)),
            yielder: Cell::new(ptr::null()),
        });
    }
    Context(record)
}

/// Stores the running context in `save` and continues `to`. Returns when `save` is continued.
///
/// # Safety
///
/// `save` is valid for a write. `to` came from [`prepare`] or from a `switch` on this OS thread,
/// and its stack still exists. No other call continues `to`.
pub(crate) unsafe fn switch(save: *const Cell<Context>, to: Context) {
    let running = RUNNING.get();
    // SAFETY: valid by the contract of `switch`.
    unsafe { (*save).set(Context(running)) };
    if !running.is_null() {
        WANTED.set(to);
        // SAFETY: the running coroutine has stored its yielder, and this code runs on its stack.
        unsafe { (*(*running).yielder.get()).suspend(()) };
        return;
    }
    let mut wanted = to.0;
    while !wanted.is_null() {
        RUNNING.set(wanted);
        // SAFETY: the record lies on a stack that still exists. No other code refers to the
        // coroutine, because only this line resumes it, and this loop runs on one stack only.
        unsafe { (*(*wanted).coroutine.get()).resume(()) };
        wanted = WANTED.get().0;
    }
    RUNNING.set(ptr::null());
}

/// Does the same as [`switch`], with the context that the frame `to` holds.
///
/// # Safety
///
/// See [`switch`]. `to` is valid for a read.
pub(crate) unsafe fn switch_to_frame(save: *const Cell<Context>, to: *const Frame) {
    // SAFETY: by the contract of this function.
    unsafe { switch(save, (*to).context.get()) }
}

/// Does the same as [`switch_to_frame`], and saves the running context in the frame `me`.
///
/// # Safety
///
/// See [`switch_to_frame`]. `me` is not moved until the saved context has been continued.
pub(crate) unsafe fn turn(me: *const Frame, to: *const Frame) {
    // SAFETY: by the contract of this function.
    unsafe { switch(&raw const (*me).context, (*to).context.get()) }
}

/// The context of a suspended thread that takes turns.
pub(crate) struct Frame {
    context: Cell<Context>,
}

impl Frame {
    pub(crate) const fn new() -> Frame {
        Frame {
            context: Cell::new(Context::NONE),
        }
    }

    /// Returns the cell in which the next [`switch`] stores the context of the running thread.
    pub(crate) fn place(&self) -> *const Cell<Context> {
        &raw const self.context
    }

    /// Removes the context, so that [`take`](Self::take) returns `None`.
    pub(crate) fn clear(&self) {
        self.context.set(Context::NONE);
    }

    pub(crate) fn is_clear(&self) -> bool {
        self.context.get().0.is_null()
    }

    /// Takes the context out of the frame. Returns `None` if the frame holds no context.
    ///
    /// # Safety
    ///
    /// The thread of this frame is not running.
    pub(crate) unsafe fn take(&self) -> Option<Context> {
        Some(self.context.replace(Context::NONE)).filter(|context| !context.0.is_null())
    }
}

/// Does nothing, because a context does not contain the address of the saved registers.
#[inline(always)]
pub(crate) fn prefetch(_context: Context) {}
