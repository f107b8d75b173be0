//! The ready queue of a core: a ring buffer of saved stack pointers.

use std::cell::{Cell, RefCell};
use std::ptr;

use crate::arch::{self, Context};

/// The distance from the head of the ready queue to the entry that is prefetched.
const PREFETCH_AHEAD: usize = 4;

const FIRST_PLACES: usize = 64;

/// The memory of a ready queue, always initialised.
pub(super) struct Places(RefCell<Vec<Cell<Context>>>);

impl Places {
    pub(super) fn new() -> Self {
        Places(RefCell::new(vec![Cell::new(Context::NONE); FIRST_PLACES]))
    }
}

/// The contexts of the ready threads, in the order in which the threads will run.
#[repr(C)]
pub(super) struct Ready {
    /// A ring buffer of `mask + 1` contexts. This length is a power of two, and is at least the
    /// number of live threads. The `len` ready threads begin at the index `head` modulo `mask + 1`.
    ring: Cell<*const Cell<Context>>,
    mask: Cell<usize>,
    head: Cell<usize>,
    len: Cell<usize>,
}

impl Ready {
    pub(super) const fn new() -> Self {
        Ready {
            ring: Cell::new(ptr::null()),
            mask: Cell::new(0),
            head: Cell::new(0),
            len: Cell::new(0),
        }
    }

    /// Makes an empty queue in `places`, which the caller keeps alive while the queue is used.
    pub(super) fn begin(&self, places: &Places) {
        let ring = places.0.borrow();
        self.ring.set(ring.as_ptr());
        self.mask.set(ring.len() - 1);
        self.head.set(0);
        self.len.set(0);
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len.get()
    }

    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.len.get() == 0
    }

    pub(super) fn capacity(&self) -> usize {
        self.mask.get() + 1
    }

    #[inline(always)]
    fn place(&self, index: usize) -> *const Cell<Context> {
        // SAFETY: the mask keeps the index inside the ring buffer, which only `grow` replaces.
        unsafe { self.ring.get().add(index & self.mask.get()) }
    }

    #[inline(always)]
    pub(super) fn push(&self, context: Context) {
        let len = self.len.get();
        // SAFETY: `place` returns an element of the ring buffer.
        unsafe { (*self.place(self.head.get().wrapping_add(len))).set(context) };
        self.len.set(len + 1);
    }

    /// Returns the first ready thread. The queue must not be empty.
    #[inline(always)]
    fn first(&self) -> Context {
        let head = self.head.get();
        // SAFETY: `place` returns initialised elements of the ring buffer.
        let (first, ahead) = unsafe {
            (
                (*self.place(head)).get(),
                (*self.place(head.wrapping_add(PREFETCH_AHEAD))).get(),
            )
        };
        arch::prefetch(ahead);
        first
    }

    /// Takes the first ready thread. The queue must not be empty.
    #[inline(always)]
    pub(super) fn pop(&self) -> Context {
        let first = self.first();
        self.head.set(self.head.get().wrapping_add(1));
        self.len.set(self.len.get() - 1);
        first
    }

    /// Takes the first ready thread, and returns the last place of the queue, in which the caller
    /// stores the running context. The queue must not be empty.
    ///
    /// Writes only `head`, because `len` stays the same: more stores that miss the cache would fill
    /// the store queue of the CPU.
    #[inline(always)]
    pub(super) fn go_round(&self) -> (Context, *const Cell<Context>) {
        let next = self.first();
        let head = self.head.get();
        self.head.set(head.wrapping_add(1));
        let tail = head.wrapping_add(self.len.get());
        (next, self.place(tail))
    }

    pub(super) fn clear(&self) {
        self.len.set(0);
    }

    /// Makes the queue appear empty, and returns the argument for a later call of
    /// [`show`](Self::show). The queue must not change before this call.
    pub(super) fn hide(&self) -> usize {
        self.len.replace(0)
    }

    /// Shows the threads that [`hide`](Self::hide) hid.
    pub(super) fn show(&self, hidden: usize) {
        self.len.set(hidden);
    }

    #[cold]
    pub(super) fn grow(&self, places: &Places) {
        let mut larger = vec![Cell::new(Context::NONE); 2 * self.capacity()];
        let mut len = 0;
        while !self.is_empty() {
            larger[len] = Cell::new(self.pop());
            len += 1;
        }
        self.head.set(0);
        self.len.set(len);
        self.mask.set(larger.len() - 1);
        self.ring.set(larger.as_ptr());
        places.0.replace(larger);
    }
}
