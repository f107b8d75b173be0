//! The control block of a thread. It lies beside others, so that many of them need few pages, and
//! lives until the end of the run.

use std::cell::Cell;
use std::fmt;
use std::panic::Location;
use std::ptr::{self, NonNull};

use crate::arch::{Context, Frame};
use crate::patience::Patience;
use crate::stack::Stack;

/// What a thread is doing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Runs, or is ready to.
    Ready,
    /// Waits in [`park`](crate::park); [`Thread::unpark`](crate::Thread::unpark) makes it ready.
    Parked,
    /// Waits for another thread to end; that thread makes it ready.
    Joining,
    /// Has run to its end; its result may not have been fetched yet.
    Ended,
}

/// Everything about one thread but its result and, unless it takes turns, its registers.
///
/// All fields are cells: blocks are shared by pointer between the scheduler, handles and scopes of
/// one OS thread. What turns access comes first, and is one cache line, so that a block is found
/// where its frame is; what waiting and waking access is the next one.
#[repr(C, align(64))]
pub(crate) struct Block {
    /// Where a thread goes on that is in a `Rotation`, when it is its turn.
    pub(crate) frame: Frame,
    /// Who goes on when this thread takes its turn; null if it cannot take one without further ado.
    pub(crate) turn: Cell<*const Block>,
    /// Where a waiting thread goes on. Of a thread that yielded, this is in the ready queue itself,
    /// and nothing here.
    pub(crate) context: Cell<Context>,
    /// Counts the threads of this OS thread, over all runs; 0 while the block is in the pool.
    pub(crate) serial: Cell<u64>,
    pub(crate) state: Cell<State>,
    /// An unpark has come that no park has consumed.
    pub(crate) token: Cell<bool>,
    /// The handle was dropped: nobody will fetch the result.
    pub(crate) detached: Cell<bool>,
    /// Was known to be unwinding when it was last suspended, or was made to unwind. See
    /// `Scheduler::is_unwinding`.
    pub(crate) unwinding: Cell<bool>,
    /// `task` holds a text. It is on a line of its own, which the end of a thread need not access.
    has_task: Cell<bool>,
    /// For how long its end is waited for, once it was cancelled.
    pub(crate) patience: Patience,
    /// What a waiting thread waits for. Valid while `state` is `Parked` or `Joining`.
    pub(crate) why: Cell<Option<NonNull<dyn fmt::Display>>>,
    pub(crate) at: Cell<&'static Location<'static>>,
    /// Who has the turn after this thread, and before it, if it is in a `Rotation`.
    pub(crate) ahead: Cell<*const Block>,
    pub(crate) behind: Cell<*const Block>,
    /// The next block in the pool, or in the queue of threads woken while the scheduler was frozen.
    pub(crate) next: Cell<*const Block>,
    pub(crate) links: Links,
    /// The thread that waits in `join` for this one.
    pub(crate) joiner: Cell<*const Block>,
    /// The scope that waits for this thread; null for the main thread. Without its type, as the
    /// state of a scope is made of blocks: see
    /// [`ScopeState::of`](crate::scope_state::ScopeState::of).
    pub(crate) scope: Cell<*const ()>,
    /// Where the closure lies until the thread starts and its result when it has ended.
    pub(crate) payload: Cell<*mut ()>,
    /// Drops the result in `payload`, handing back what a panic left there.
    pub(crate) discard: Cell<Discard>,
    name: Name,
    /// The thread's number, shown when it has no name.
    pub(crate) number: Cell<u64>,
    /// Bytes that the caller asked for.
    pub(crate) stack_bytes: usize,
    pub(crate) stack: Stack,
    /// Where its part of the stack begins, downwards.
    pub(crate) top: *mut u8,
    /// What the thread runs now, for the report of an overflow. Behind all that creating a thread
    /// accesses.
    task: Name,
}

const _: () = assert!(
    std::mem::offset_of!(Block, turn) < 64,
    "what turns access is one cache line"
);

/// The places by which a block hangs in a [`List`](crate::list::List); it is in one list at a time.
pub(crate) struct Links {
    pub(crate) previous: Cell<*const Block>,
    pub(crate) next: Cell<*const Block>,
}

impl Links {
    const fn new() -> Self {
        Links {
            previous: Cell::new(ptr::null()),
            next: Cell::new(ptr::null()),
        }
    }
}

/// Drops or moves out the result of an ended thread.
pub(crate) type Discard = unsafe fn(*mut ()) -> Option<Box<dyn std::any::Any + Send>>;

impl Block {
    pub(crate) fn new(stack: Stack, top: *mut u8, stack_bytes: usize) -> Self {
        unsafe fn nothing(_: *mut ()) -> Option<Box<dyn std::any::Any + Send>> {
            None
        }
        Block {
            context: Cell::new(Context::NONE),
            frame: Frame::new(),
            turn: Cell::new(ptr::null()),
            ahead: Cell::new(ptr::null()),
            behind: Cell::new(ptr::null()),
            serial: Cell::new(0),
            state: Cell::new(State::Ready),
            token: Cell::new(false),
            detached: Cell::new(false),
            unwinding: Cell::new(false),
            has_task: Cell::new(false),
            patience: Patience::new(),
            links: Links::new(),
            next: Cell::new(ptr::null()),
            joiner: Cell::new(ptr::null()),
            scope: Cell::new(ptr::null()),
            payload: Cell::new(ptr::null_mut()),
            discard: Cell::new(nothing),
            why: Cell::new(None),
            at: Cell::new(Location::caller()),
            name: Name::none(),
            task: Name::none(),
            number: Cell::new(0),
            stack_bytes,
            stack,
            top,
        }
    }

    /// The thread has ended: what it was called and what it did is forgotten, for the next one that
    /// gets its block.
    #[inline]
    pub(crate) fn forget(&self) {
        self.set_name(None);
        if self.has_task.get() {
            drop(self.set_task(None));
        }
    }

    /// Says what the thread does, for the report of an overflow. Returns what was said before.
    #[cold]
    pub(crate) fn set_task(&self, task: Option<Box<str>>) -> Option<Box<str>> {
        self.has_task.set(task.is_some());
        self.task.replace(task)
    }

    /// What the thread does, if it was said.
    pub(crate) fn task(&self) -> Option<&str> {
        self.task.get()
    }

    /// Names the thread, or takes its name away.
    pub(crate) fn set_name(&self, name: Option<Box<str>>) {
        drop(self.name.replace(name));
    }

    /// `thread 'name'`, or `thread '3'` for a thread without a name.
    pub(crate) fn label(&self) -> Label<'_> {
        Label(self)
    }

    /// The name, or the number for a thread without one.
    pub(crate) fn name(&self) -> String {
        self.name
            .get()
            .map_or_else(|| self.number.get().to_string(), str::to_owned)
    }
}

/// A text that may be there. It is read in signal handlers, which must not take locks.
pub(crate) struct Name(Cell<Option<NonNull<str>>>);

impl Name {
    fn none() -> Self {
        Self(Cell::new(None))
    }

    /// Returns the text before.
    pub(crate) fn replace(&self, name: Option<Box<str>>) -> Option<Box<str>> {
        let name = name.map(|name| {
            // SAFETY: a box is not null.
            unsafe { NonNull::new_unchecked(Box::into_raw(name)) }
        });
        let old = self.0.replace(name)?;
        // SAFETY: came from `Box::into_raw` above and is in no cell any more.
        Some(unsafe { Box::from_raw(old.as_ptr()) })
    }

    pub(crate) fn get(&self) -> Option<&str> {
        // SAFETY: the text is freed by the caller of `replace` only, which no `Display` or
        // other foreign code can reach while a borrow from here is alive: names are set at spawn,
        // and by the running thread for itself, and taken away when an ended thread is recycled.
        self.0.get().map(|name| unsafe { name.as_ref() })
    }
}

/// Prints a thread as reports and errors name it.
pub(crate) struct Label<'a>(&'a Block);

impl fmt::Display for Label<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.name.get() {
            Some(name) => write!(f, "thread '{name}'"),
            None => write!(f, "thread '{}'", self.0.number.get()),
        }
    }
}
