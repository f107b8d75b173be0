//! The payload with which the threads of a cancelled core are unwound.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The payload of a panic.
pub(crate) type Payload = Box<dyn Any + Send>;

/// The payload with which a cancelled thread is unwound.
///
/// If a program catches this payload with `catch_unwind`, its next call that waits unwinds it
/// again. Only this crate can make the payload.
#[derive(Debug)]
pub struct Cancelled(());

impl Cancelled {
    pub(crate) fn payload() -> Payload {
        Box::new(Cancelled(()))
    }
}

/// Drops a payload. If its destructor panics, the payload of that panic is leaked.
pub(crate) fn discard(payload: Payload) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
}
