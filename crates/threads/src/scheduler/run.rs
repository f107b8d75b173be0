//! The rarely accessed data of a run.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::ptr::{self, NonNull};

use super::blocks::Blocks;
use super::ready::{Places, Ready};
use crate::arch::Context;
use crate::block::Block;
use crate::cancelled::Payload;
use crate::config::{Config, Idle};
use crate::overflow::{Find, Guarded};
use crate::report::Blocked;

/// The rarely accessed data of a core. The value lies in the frame of `life::run`.
pub(super) struct CoreData {
    pub(super) idle: *const dyn Idle,
    pub(super) places: Places,
    pub(super) blocks: Blocks,
    /// The first and the last thread that was unparked on the frozen core, linked by `Block::next`.
    pub(super) woken: Cell<(*const Block, *const Block)>,
    /// The threads that were ready when the core was cancelled.
    pub(super) interrupted: RefCell<VecDeque<Context>>,
    /// The threads of a cancelled core that wait in `outlast`.
    pub(super) outlasting: RefCell<VecDeque<NonNull<Block>>>,
    pub(super) blocked: Cell<Option<Blocked>>,
    pub(super) idle_panic: Cell<Option<Payload>>,
    pub(super) larger_stacks: &'static str,
    _guarded: Guarded,
}

impl CoreData {
    pub(super) fn new(config: &Config, idle: &dyn Idle, find: Find) -> CoreData {
        let guarded = Guarded::new(find).unwrap_or_else(|error| {
            panic!("cannot map an alternate signal stack for this OS thread: {error}")
        });
        // SAFETY: only the lifetime changes. The scheduler clears its `run` before the borrow ends.
        let idle = unsafe { std::mem::transmute::<&dyn Idle, &'static dyn Idle>(idle) };
        CoreData {
            idle,
            places: Places::new(),
            blocks: Blocks::new(config.stack_bytes),
            woken: Cell::new((ptr::null(), ptr::null())),
            interrupted: RefCell::default(),
            outlasting: RefCell::default(),
            blocked: Cell::new(None),
            idle_panic: Cell::new(None),
            larger_stacks: config.larger_stacks,
            _guarded: guarded,
        }
    }

    /// Moves the ready threads of a cancelled core to `interrupted`.
    pub(super) fn interrupt(&self, ready: &Ready) {
        let mut interrupted = self.interrupted.borrow_mut();
        while !ready.is_empty() {
            interrupted.push_back(ready.pop());
        }
    }

    pub(super) fn take_woken(&self) -> (*const Block, *const Block) {
        self.woken.replace((ptr::null(), ptr::null()))
    }
}
