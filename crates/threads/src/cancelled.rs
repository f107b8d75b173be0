//! The payload with which the threads of a cancelled core are unwound.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The payload of a panic.
pub(crate) type Payload = Box<dyn Any + Send>;

/// The payload with which a cancelled thread is unwound.
///
/// If a program catches it with `catch_unwind`, its next call that waits unwinds it again. It
/// cannot be made outside of this crate.
#[derive(Debug)]
pub struct Cancelled(());

impl Cancelled {
    pub(crate) fn payload() -> Payload {
        Box::new(Cancelled(()))
    }
}

/// Drops a payload that is not kept, even if its destructor panics.
pub(crate) fn discard(payload: Payload) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
}
