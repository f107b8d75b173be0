//! The state that a scope and its threads share.

use std::cell::Cell;
use std::ptr;

use crate::block::Block;
use crate::cancelled::{Cancelled, Payload, discard};
use crate::list::List;
use crate::rotation::Rotation;

pub(crate) struct ScopeState {
    /// The number of threads that have not ended.
    pub(crate) running: Cell<usize>,
    /// The ended threads with results that were neither fetched nor dropped.
    pub(crate) ended: List,
    /// The thread that waits at the end of the scope, or null.
    pub(crate) drainer: Cell<*const Block>,
    /// The threads of the scope that take turns.
    pub(crate) rotation: Rotation,
    /// The first panic of a thread that was not joined.
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

    /// Returns the scope of a thread, or null for the main thread. The scope outlives the thread.
    #[inline(always)]
    pub(crate) fn of(block: &Block) -> *const ScopeState {
        block.scope.get().cast()
    }

    /// Keeps the first panic, but replaces a [`Cancelled`] by a later panic.
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
