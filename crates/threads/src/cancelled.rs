//! What the threads of a cancelled core are unwound with, and what panics carry.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a panic carries.
pub(crate) type Payload = Box<dyn Any + Send>;

/// What a cancelled thread is unwound with.
///
/// A program that catches it with `catch_unwind` is unwound again by its next blocking call. It
/// cannot be made outside of this crate.
#[derive(Debug)]
pub struct Cancelled(());

impl Cancelled {
    pub(crate) fn payload() -> Payload {
        Box::new(Cancelled(()))
    }
}

/// Drops a payload that lost to another one, even if its destructor panics.
pub(crate) fn discard(payload: Payload) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
}
