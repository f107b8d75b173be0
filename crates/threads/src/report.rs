//! Reports about threads that wait for ever.

use std::fmt;
use std::panic::Location;

/// The entry of a waiting thread in a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedThread {
    /// The thread's name, or its number in the order of creation. The main thread is `main`.
    pub name: String,
    /// The thread, as [`Thread::into_raw`](crate::Thread::into_raw) returns it.
    pub thread: (usize, u64),
    /// The text passed to [`park`](crate::park), or the joined thread, or the threads of a scope.
    pub waits_for: String,
    /// The source location of the call that waits.
    pub at: &'static Location<'static>,
}

impl fmt::Display for BlockedThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BlockedThread {
            name,
            waits_for,
            at,
            ..
        } = self;
        write!(f, "thread '{name}' waits for {waits_for} at {at}")
    }
}

/// The error of [`run`](crate::run) if the core was cancelled. The text shows all waits.
#[derive(Clone, PartialEq, Eq)]
pub struct Blocked {
    /// The threads that waited when the core was cancelled, in order of creation.
    pub threads: Vec<BlockedThread>,
    pub(crate) cause: Cause,
}

impl fmt::Debug for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why the core was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// [`Idle::idle`](crate::Idle::idle) returned [`Verdict::Stuck`](crate::Verdict::Stuck).
    Stuck,
    /// [`cancel_all`](crate::cancel_all) was called.
    Cancelled,
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = match self.threads.len() {
            1 => "1 thread of this core waits".to_owned(),
            n => format!("{n} threads of this core wait"),
        };
        match self.cause {
            Cause::Stuck => write!(
                f,
                "blocked for ever: {waiting} and nothing is left to wake them"
            )?,
            Cause::Cancelled => write!(f, "cancelled: {waiting}")?,
        }
        for thread in &self.threads {
            write!(f, "\n  {thread}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Blocked {}
