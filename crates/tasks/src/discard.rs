use std::panic::{AssertUnwindSafe, catch_unwind};

/// Drops a value of the user. Its destructor may panic: see [`forgiving`].
pub(crate) fn discard<T>(value: T) {
    forgiving(|| drop(value));
}

/// Calls a function that drops values of the user while an earlier panic is on its way to the
/// user, or the run is cancelled. If a destructor panics, the payload of its panic is leaked.
pub(crate) fn forgiving(drop_values: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(drop_values)) {
        // The payload is not dropped, because its own destructor may panic, too.
        std::mem::forget(payload);
    }
}
