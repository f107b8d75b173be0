//! Runs the body of one process, and tells the network how it has ended.
//!
//! ```text
//!   run_program: ends that are dropped here wake processes
//!     └─ know_panic: a panic becomes a failure of the network
//!          └─ run_process: the process begins, and its end is recorded
//!               └─ the body
//! ```

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use cellworks_machine::{Processor, Spe};

use super::cause;
use super::shared::{Failure, NetworkState};
use crate::channel::waker::Waker;
use crate::counting::Rank;
use crate::deadlock::held;
use crate::process::error::ProcessError;
use crate::process::place::Place;
use crate::process::{Process, pending};
use crate::transport::{Carrier, NoRoomForItem};

pub(super) type ProcessBody<'env, S> =
    Box<dyn FnOnce(&Process<'_, S>) -> Result<(), ProcessError> + 'env>;

/// Runs the program of a processor. Meanwhile, ends dropped on this OS thread wake processes.
pub(super) fn run_program<R>(
    place: &impl Place,
    shared: &NetworkState,
    program: impl FnOnce() -> R,
) -> R {
    let wake = |waker: Waker| {
        // A process goes on after a message. A dropped end sends none, so one is recorded here.
        if let Some(exchange) = shared.exchange.get() {
            exchange.arrive(waker.process);
        }
        place.wake(waker.sleeper);
    };
    pending::with_wakes(shared.network, &wake, program)
}

/// The destructor ends the process, after the body of the process has returned or panicked.
struct Ending<'a, 'b, P: Place>(&'a Process<'b, P>);

impl<P: Place> Drop for Ending<'_, '_, P> {
    fn drop(&mut self) {
        let process = self.0;
        let shared = process.shared();
        let held = held::take();
        if !held.is_empty() {
            shared.waits.had(process.number(), held);
        }
        if !process.place().is_cancelled() {
            shared.waits.ended(process.number());
        }
        shared.names.creator_ended(process.number());
        process.end();
    }
}

/// Runs `body` as a process. `rank` is its rank, or `None` if it was not added before the run.
pub(crate) fn run_process<P: Place, R>(
    place: &P,
    rank: Option<Rank>,
    name: &str,
    body: impl FnOnce(&Process<'_, P>) -> R,
    shared: &NetworkState,
    carrier: Option<&dyn Carrier>,
) -> R {
    let process = Process::new(place, name, shared, carrier);
    shared.waits.began(process.number());
    process.began(rank, name);
    let _ending = Ending(&process);
    body(&process)
}

/// The payload with which a panic goes on after the network has recorded its original payload.
struct ProcessPanicked;

/// Runs the body of a process, and records a panic unless the run was cancelled.
pub(super) fn know_panic<R>(
    process: &str,
    at: Processor,
    is_cancelled: impl FnOnce() -> bool,
    shared: &NetworkState,
    body: impl FnOnce() -> R,
) -> R {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| {
        let since = cause::unwound();
        if is_cancelled() {
            resume_unwind(payload);
        }
        let failure = match payload.downcast::<NoRoomForItem>() {
            Ok(error) => Failure::NoRoomForItem(*error),
            Err(payload) => Failure::Panic {
                process: process.to_owned(),
                at,
                payload,
            },
        };
        shared.fail(since, failure);
        resume_unwind(Box::new(ProcessPanicked))
    })
}

/// The earlier task description of a thread, which the destructor restores: see
/// [`Wake::set_task`](cellworks_machine::Wake::set_task).
struct Task<'a, S: Spe>(&'a S, Option<String>);

impl<S: Spe> Drop for Task<'_, S> {
    fn drop(&mut self) {
        self.0.set_task(self.1.take());
    }
}

pub(super) fn run_on_spe<S: Spe>(
    spe: &S,
    rank: Option<Rank>,
    name: &str,
    body: ProcessBody<'_, S>,
    shared: &NetworkState,
    carrier: Option<&dyn Carrier>,
) {
    let at = spe.id();
    let is_cancelled = || spe.is_cancelled();
    let result = know_panic(name, Processor::Spe(at), is_cancelled, shared, || {
        let before = spe.set_task(Some(format!("the process `{name}`")));
        let _task = Task(spe, before);
        let _activity = spe.activity(name);
        let body = |process: &Process<'_, S>| {
            let result = body(process);
            if let Some((messages, bytes)) = process.received() {
                // A slice without length at the end of that of the process.
                drop(spe.activity(&format!("read {messages} messages, {bytes} bytes")));
            }
            result
        };
        run_process(spe, rank, name, body, shared, carrier)
    });
    if let Some((source, since)) = result.err().and_then(ProcessError::into_own) {
        let failure = Failure::Failed {
            process: name.to_owned(),
            at,
            source,
        };
        shared.fail(since, failure);
    }
}
