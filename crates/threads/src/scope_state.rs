//! The state that a scope and its threads share.

use std::cell::Cell;
use std::ptr;

use crate::block::Block;
use crate::cancelled::{Cancelled, Payload, discard};
use crate::list::List;
use crate::rotation::Rotation;

/// The data of a scope, which the scope and its threads access.
pub(crate) struct ScopeState {
    /// The number of threads that have not ended.
    pub(crate) running: Cell<usize>,
    /// The ended threads that still have a handle, or had a handle that was forgotten.
    pub(crate) ended: List,
    /// The thread that waits at the end of the scope. Null until it begins to wait.
    pub(crate) drainer: Cell<*const Block>,
    /// The threads of the scope that take turns.
    pub(crate) rotation: Rotation,
    /// The first panic of a thread of the scope that was not joined.
    pub(crate) panic: Cell<Option<Payload>>,
}

impl ScopeState {
    pub(crate) fn new() -> Self {
        ScopeState {
            running: Cell::new(0),
            ended: List::new(),
            drainer: Cell::new(ptr::null()),
            rotation: Rotation::new(),
            panic: Cell::new(None),
        }
    }

    /// The scope of a thread, or null for the main thread. The scope waits for the thread, so the
    /// scope outlives the thread.
    #[inline(always)]
    pub(crate) fn of(block: &Block) -> *const ScopeState {
        block.scope.get().cast()
    }

    /// Keeps the first panic, with one exception: any other panic replaces a [`Cancelled`].
    pub(crate) fn keep(&self, panic: Payload) {
        let (kept, other) = match self.panic.take() {
            Some(first) if first.is::<Cancelled>() => (panic, Some(first)),
            Some(first) => (first, Some(panic)),
            None => (panic, None),
        };
        self.panic.set(Some(kept));
        if let Some(other) = other {
            discard(other);
        }
    }
}
