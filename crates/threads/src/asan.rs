//! Calls that tell AddressSanitizer which stack is in use. Without these calls, AddressSanitizer
//! reports errors that do not exist.

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

/// The lowest address and the size of every stack of the core.
#[derive(Default)]
pub(crate) struct Stacks {
    /// The stacks of the pool. Maps the address of the top to the lowest address and the size.
    pooled: RefCell<BTreeMap<usize, (usize, usize)>>,
    /// The lowest address and the size of the main thread's stack. `None` before the first switch.
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

    /// Announces that the switch to the running thread has ended. `saved` is null in a new thread.
    fn arrive(&self, saved: *mut c_void) {
        let mut bottom = ptr::null();
        let mut bytes = 0;
        // SAFETY: `saved` came from AddressSanitizer for this stack, or is null on a fresh stack.
        unsafe { __sanitizer_finish_switch_fiber(saved, &mut bottom, &mut bytes) };
        // The first switch of a run leaves the main thread's stack.
        if self.main.get().is_none() {
            self.main.set(Some((bottom.addr(), bytes)));
        }
    }

    pub(crate) fn arrive_first(&self) {
        self.arrive(ptr::null_mut());
    }

    /// Announces and performs a switch to the thread that is suspended at `to`.
    ///
    /// # Safety
    ///
    /// `switch` leaves the running stack for the stack on which `to` lies, and does nothing else.
    pub(crate) unsafe fn announced(&self, to: Context, switch: impl FnOnce()) {
        let (bottom, bytes) = self.of(to);
        let mut saved = ptr::null_mut();
        // SAFETY: `bottom` and `bytes` describe the stack of `to`, and `switch` goes to this stack.
        unsafe {
            __sanitizer_start_switch_fiber(&mut saved, ptr::without_provenance(bottom), bytes);
        }
        switch();
        self.arrive(saved);
    }

    /// Announces and performs an [`arch::switch`] away from an ended thread, and frees its fake
    /// stack.
    ///
    /// # Safety
    ///
    /// See [`arch::switch`].
    pub(crate) unsafe fn switch_for_good(&self, save: *const Cell<Context>, to: Context) {
        let (bottom, bytes) = self.of(to);
        // SAFETY: by the contract of this function. `bottom` and `bytes` describe `to`'s stack.
        unsafe {
            __sanitizer_start_switch_fiber(ptr::null_mut(), ptr::without_provenance(bottom), bytes);
            arch::switch(save, to);
        }
    }
}

/// Marks `limit..top`, the frames of an ended thread, as usable.
pub(crate) fn unpoison(limit: *const u8, top: *const u8) {
    // SAFETY: the call marks memory of this crate as usable.
    unsafe { __asan_unpoison_memory_region(limit.cast(), top.addr() - limit.addr()) };
}
