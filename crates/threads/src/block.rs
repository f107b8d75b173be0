//! The control blocks of threads. A block lives until the run of its core ends.

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
    /// Runs, or is ready to run.
    Ready,
    /// Waits in [`park`](crate::park).
    Parked,
    /// Waits in `join`, or at the end of a scope.
    Joining,
    /// Has ended, whether or not its result was fetched.
    Ended,
}

/// The control block of a thread: all of its data except the result.
///
/// The scheduler, handles and scopes share a block by pointer, so its fields are cells. `take_turn`
/// accesses only the first cache line. Waiting and waking access the second cache line.
#[repr(C, align(64))]
pub(crate) struct Block {
    /// The saved state of a suspended thread that takes turns, see `Rotation`.
    pub(crate) frame: Frame,
    /// The thread that has the next turn, or null if `take_turn` must return false.
    pub(crate) turn: Cell<*const Block>,
    /// The context of a waiting thread. The context of a ready thread is in the ready queue.
    pub(crate) context: Cell<Context>,
    /// The thread's serial number, unique in the process. 0 while the block is in the pool.
    pub(crate) serial: Cell<u64>,
    pub(crate) state: Cell<State>,
    /// Whether the thread was unparked and has not parked since.
    pub(crate) token: Cell<bool>,
    /// Whether the handle was dropped, so that no code will fetch the result.
    pub(crate) detached: Cell<bool>,
    /// Whether the thread was unwinding when it was last suspended. Set to true also when
    /// cancellation unwinds the thread. See `Scheduler::is_unwinding`.
    pub(crate) unwinding: Cell<bool>,
    /// Whether `task` holds a text. Checked instead of `task`, which lies in another cache line.
    has_task: Cell<bool>,
    /// The count of attempts to end the thread since the core was cancelled.
    pub(crate) patience: Patience,
    /// The description of what the thread waits for. Valid while `state` is `Parked` or `Joining`.
    pub(crate) why: Cell<Option<NonNull<dyn fmt::Display>>>,
    pub(crate) at: Cell<&'static Location<'static>>,
    /// The next and the previous thread in the `Rotation`, if this thread is in a rotation.
    pub(crate) ahead: Cell<*const Block>,
    pub(crate) behind: Cell<*const Block>,
    /// The next block in a pool, or in the queue of threads that were unparked on a frozen core.
    pub(crate) next: Cell<*const Block>,
    pub(crate) links: Links,
    /// The thread that waits in `join` for this thread, or null.
    pub(crate) joiner: Cell<*const Block>,
    /// The scope that spawned this thread, or null for the main thread. See `ScopeState::of`.
    pub(crate) scope: Cell<*const ()>,
    /// The address of the closure before the thread starts, and of the result after its end.
    pub(crate) payload: Cell<*mut ()>,
    /// Drops the result in `payload`. Returns the panic of the thread or of the destructor, if any.
    pub(crate) discard: Cell<Discard>,
    name: Name,
    /// The number that reports show if the thread has no name.
    pub(crate) number: Cell<u64>,
    /// The size of the stack that the caller of `spawn` asked for, in bytes.
    pub(crate) stack_bytes: usize,
    pub(crate) stack: Stack,
    /// The address from which the thread's stack grows downwards.
    pub(crate) top: *mut u8,
    /// The description of the thread's work, for the report of a stack overflow. This field is the
    /// last, so that creating a thread need not access the cache line of this field.
    task: Name,
}

const _: () = assert!(
    std::mem::offset_of!(Block, turn) < 64,
    "what turns access is one cache line"
);

/// The links of a block in a [`List`](crate::list::List). A block is in one list at a time.
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

/// The function that drops the result of an ended thread: see [`Block::discard`].
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

    /// Clears the name and the description of an ended thread.
    #[inline]
    pub(crate) fn forget(&self) {
        self.set_name(None);
        if self.has_task.get() {
            drop(self.set_task(None));
        }
    }

    #[cold]
    pub(crate) fn set_task(&self, task: Option<Box<str>>) -> Option<Box<str>> {
        self.has_task.set(task.is_some());
        self.task.replace(task)
    }

    pub(crate) fn task(&self) -> Option<&str> {
        self.task.get()
    }

    pub(crate) fn set_name(&self, name: Option<Box<str>>) {
        drop(self.name.replace(name));
    }

    /// Returns `thread 'name'`, or `thread '3'` for a thread without a name.
    pub(crate) fn label(&self) -> Label<'_> {
        Label(self)
    }

    /// Returns the thread's name, or its number if it has no name.
    pub(crate) fn name(&self) -> String {
        self.name
            .get()
            .map_or_else(|| self.number.get().to_string(), str::to_owned)
    }
}

/// An optional text that a signal handler can read, because reading takes no lock.
pub(crate) struct Name(Cell<Option<NonNull<str>>>);

impl Name {
    fn none() -> Self {
        Self(Cell::new(None))
    }

    pub(crate) fn replace(&self, name: Option<Box<str>>) -> Option<Box<str>> {
        let name = name.map(|name| {
            // SAFETY: a box is not null.
            unsafe { NonNull::new_unchecked(Box::into_raw(name)) }
        });
        let old = self.0.replace(name)?;
        // SAFETY: the pointer came from `Box::into_raw` above, and the cell holds it no longer.
        Some(unsafe { Box::from_raw(old.as_ptr()) })
    }

    pub(crate) fn get(&self) -> Option<&str> {
        // SAFETY: only `replace` frees the text. `replace` is called only when a thread is spawned
        // or recycled, or sets its description, and no borrow from `get` is alive at these times.
        self.0.get().map(|name| unsafe { name.as_ref() })
    }
}

pub(crate) struct Label<'a>(&'a Block);

impl fmt::Display for Label<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.name.get() {
            Some(name) => write!(f, "thread '{name}'"),
            None => write!(f, "thread '{}'", self.0.number.get()),
        }
    }
}
