//! The payload that unwinds the threads of a cancelled core.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) type Payload = Box<dyn Any + Send>;

/// The payload that unwinds a cancelled thread. If the thread catches the payload, its next call
/// that waits unwinds the thread again.
#[derive(Debug)]
pub struct Cancelled(());

impl Cancelled {
    pub(crate) fn payload() -> Payload {
        Box::new(Cancelled(()))
    }
}

/// Drops a payload. If its destructor panics, leaks the payload of this second panic.
pub(crate) fn discard(payload: Payload) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
}
