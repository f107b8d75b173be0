//! Whom dropped ends have to wake.
//!
//! An end can be dropped anywhere, in a destructor that has no process at hand. Who has to be woken for it is kept for the
//! OS thread, until the next process there that performs a step, or ends.

use std::cell::{Cell, RefCell};

use crate::waker::{Waker, Woken};

thread_local! {
    static ANY: Cell<bool> = const { Cell::new(false) };
    static WAKERS: RefCell<Vec<Waker>> = const { RefCell::new(Vec::new()) };
}

/// Has the next process of this OS thread wake these.
pub(crate) fn wake_later(woken: Woken) {
    woken.for_each(|waker| {
        ANY.set(true);
        WAKERS.with_borrow_mut(|wakers| wakers.push(waker));
    });
}

/// Whether there are any.
#[inline(always)]
pub(crate) fn any() -> bool {
    ANY.get()
}

/// Takes those that are to be woken.
pub(crate) fn take() -> Vec<Waker> {
    ANY.set(false);
    WAKERS.take()
}

/// A number that no other OS thread has as long as this one lives; not 0.
#[inline(always)]
pub(crate) fn os_thread() -> usize {
    ANY.with(|any| std::ptr::from_ref(any).addr())
}
