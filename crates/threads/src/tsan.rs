//! Calls that tell ThreadSanitizer which stack is in use. ThreadSanitizer represents each stack by
//! a *fiber*, which records the calls that are under way on the stack.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::{c_uint, c_void};
use std::ops::Bound;

use crate::arch::{self, Context};
use crate::stack::Stack;

unsafe extern "C" {
    fn __tsan_get_current_fiber() -> *mut c_void;
    fn __tsan_create_fiber(flags: c_uint) -> *mut c_void;
    fn __tsan_destroy_fiber(fiber: *mut c_void);
    fn __tsan_switch_to_fiber(fiber: *mut c_void, flags: c_uint);
}

/// The fibers of all stacks of the core.
pub(crate) struct Stacks {
    /// The stacks of the pool. Maps the address of the top to the lowest address and the fiber.
    pooled: RefCell<BTreeMap<usize, (usize, *mut c_void)>>,
    /// The fiber of the OS thread's own stack.
    main: *mut c_void,
}

impl Default for Stacks {
    fn default() -> Self {
        // SAFETY: the call only reads the current fiber.
        let main = unsafe { __tsan_get_current_fiber() };
        Stacks {
            pooled: RefCell::default(),
            main,
        }
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        for &(_, fiber) in self.pooled.get_mut().values() {
            // SAFETY: `add` made the fiber, and all threads except the main thread have ended.
            unsafe { __tsan_destroy_fiber(fiber) };
        }
    }
}

impl Stacks {
    pub(crate) fn add(&self, stack: &Stack) {
        // SAFETY: the call only makes a new fiber.
        let fiber = unsafe { __tsan_create_fiber(0) };
        let (limit, top) = (stack.limit().addr(), stack.top().addr());
        self.pooled.borrow_mut().insert(top, (limit, fiber));
    }

    fn of(&self, context: Context) -> *mut c_void {
        let address = context.address();
        let pooled = self.pooled.borrow();
        let above = pooled
            .range((Bound::Excluded(address), Bound::Unbounded))
            .next();
        match above {
            Some((_, &(limit, fiber))) if limit <= address => fiber,
            _ => self.main,
        }
    }

    /// Does nothing, because ThreadSanitizer needs no call on a fresh stack.
    pub(crate) fn arrive_first(&self) {}

    /// Announces and performs a switch to the thread that is suspended at `to`.
    ///
    /// # Safety
    ///
    /// `switch` leaves the running stack for the stack on which `to` lies, and does nothing else.
    #[inline(always)]
    pub(crate) unsafe fn announced(&self, to: Context, switch: impl FnOnce()) {
        let fiber = self.of(to);
        // SAFETY: `fiber` belongs to the stack of `to`. The flags 0 order all accesses before the
        // switch before those after the switch.
        unsafe { __tsan_switch_to_fiber(fiber, 0) };
        switch();
    }

    /// Announces and performs an [`arch::switch`] away from a thread that has ended.
    ///
    /// # Safety
    ///
    /// See [`arch::switch`].
    pub(crate) unsafe fn switch_for_good(&self, save: *const Cell<Context>, to: Context) {
        // SAFETY: by the contract of this function.
        unsafe { self.announced(to, || arch::switch(save, to)) }
    }
}

/// Does nothing, because ThreadSanitizer keeps no records of frames.
pub(crate) fn unpoison(_limit: *const u8, _top: *const u8) {}
