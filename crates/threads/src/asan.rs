//! Tells AddressSanitizer which stack is in use. Otherwise it would report the use of another stack
//! as an error.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ops::Bound;
use std::ptr;

use crate::arch::{self, Context};
use crate::stack::Stack;

unsafe extern "C" {
    fn __sanitizer_start_switch_fiber(save: *mut *mut c_void, bottom: *const c_void, bytes: usize);
    fn __sanitizer_finish_switch_fiber(
        saved: *mut c_void,
        old_bottom: *mut *const c_void,
        old_bytes: *mut usize,
    );
    fn __asan_unpoison_memory_region(start: *const c_void, bytes: usize);
}

/// Lowest address and size of every stack of the core.
#[derive(Default)]
pub(crate) struct Stacks {
    /// By the address of the top.
    pooled: RefCell<BTreeMap<usize, (usize, usize)>>,
    /// Lowest address and size of the main thread's stack. The sanitizer returns them at the first
    /// switch.
    main: Cell<Option<(usize, usize)>>,
}

impl Stacks {
    pub(crate) fn add(&self, stack: &Stack) {
        let (limit, top) = (stack.limit().addr(), stack.top().addr());
        self.pooled.borrow_mut().insert(top, (limit, top - limit));
    }

    fn of(&self, context: Context) -> (usize, usize) {
        let address = context.address();
        let pooled = self.pooled.borrow();
        let above = pooled
            .range((Bound::Excluded(address), Bound::Unbounded))
            .next();
        match above {
            Some((_, &(limit, bytes))) if limit <= address => (limit, bytes),
            _ => self
                .main
                .get()
                .expect("the main thread has been left before"),
        }
    }

    /// Ends the announcement of a switch, on the new stack.
    fn arrive(&self, saved: *mut c_void) {
        let mut bottom = ptr::null();
        let mut bytes = 0;
        // SAFETY: `saved` is what the sanitizer gave for this stack, or null on a fresh one.
        unsafe { __sanitizer_finish_switch_fiber(saved, &mut bottom, &mut bytes) };
        // The first switch of a run leaves the main thread.
        if self.main.get().is_none() {
            self.main.set(Some((bottom.addr(), bytes)));
        }
    }

    /// Ends the announcement of a switch, on a fresh stack. It is the first call there.
    pub(crate) fn arrive_first(&self) {
        self.arrive(ptr::null_mut());
    }

    /// Performs `switch`, which continues the thread that is suspended at `to`, and announces it.
    /// Returns when the running thread is continued.
    ///
    /// # Safety
    ///
    /// `switch` leaves the running stack for that on which `to` lies, and does nothing else.
    pub(crate) unsafe fn announced(&self, to: Context, switch: impl FnOnce()) {
        let (bottom, bytes) = self.of(to);
        let mut saved = ptr::null_mut();
        // SAFETY: the bounds are those of the stack that `to` lies on, where `switch` goes.
        unsafe {
            __sanitizer_start_switch_fiber(&mut saved, ptr::without_provenance(bottom), bytes);
        }
        switch();
        self.arrive(saved);
    }

    /// [`arch::switch`], announced, for a thread that has ended and will not be continued. It frees
    /// the fake stack of the thread.
    ///
    /// # Safety
    ///
    /// As for [`arch::switch`].
    pub(crate) unsafe fn switch_for_good(&self, save: *const Cell<Context>, to: Context) {
        let (bottom, bytes) = self.of(to);
        // SAFETY: the bounds are those of the stack that `to` lies on; the rest is the caller's
        // contract.
        unsafe {
            __sanitizer_start_switch_fiber(ptr::null_mut(), ptr::without_provenance(bottom), bytes);
            arch::switch(save, to);
        }
    }
}

/// Clears the sanitizer's records of frames that an ended thread has left on its stack between
/// `limit` and `top`.
pub(crate) fn unpoison(limit: *const u8, top: *const u8) {
    // SAFETY: marks memory of ours as usable.
    unsafe { __asan_unpoison_memory_region(limit.cast(), top.addr() - limit.addr()) };
}
