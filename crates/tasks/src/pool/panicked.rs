//! The panic of a closure that was given to a pool, with the call that gave it.

use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};

use cellworks_machine::{Payload, Spe};

use crate::worker::Worker;

/// The payload with which the panic of a closure goes on to the end of the pool.
pub(crate) struct Panicked {
    pub(crate) call: &'static str,
    pub(crate) at: &'static Location<'static>,
    pub(crate) payload: Payload,
}

/// Returns a closure whose panic names the call that was given `body`.
pub(crate) fn named<S: Spe>(
    call: &'static str,
    at: &'static Location<'static>,
    body: impl FnOnce(&Worker<'_, S>) + Send,
) -> impl FnOnce(&Worker<'_, S>) + Send {
    move |worker| {
        let Err(payload) = catch_unwind(AssertUnwindSafe(|| body(worker))) else {
            return;
        };
        // The panic that unwinds a cancelled run is none of the closure.
        resume_unwind(if worker.is_cancelled() {
            payload
        } else {
            Box::new(Panicked { call, at, payload })
        })
    }
}
