//! The errors with which a run fails.

use std::any::Any;
use std::fmt;
use std::panic::Location;

use crate::id::Processor;
use crate::time::{Span, Time};

/// The payload of a panic: the value that the panic carries to the code that catches it.
pub type Payload = Box<dyn Any + Send>;

/// The payload of the panic that unwinds a cancelled program. If a run fails, its programs are
/// cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

/// The reason why a run failed.
#[derive(thiserror::Error)]
pub enum RunError {
    /// The main program, or a program that was not joined, was the first to panic.
    #[error("{} panicked on {at}: {}", program, message(payload))]
    Panic {
        /// Where the program ran.
        at: Processor,
        /// The name of the program.
        program: String,
        /// The payload of the panic.
        payload: Payload,
    },
    /// All programs waited, and none could wake another program. The run unwound the programs.
    #[error("deadlock: every program waits for another{}", listed(waits))]
    Deadlock {
        /// An entry for each waiting program.
        waits: Vec<Waiting>,
    },
    /// The system gave no thread for a processor. The run unwound the programs.
    #[error(
        "the system gives no thread for {at}: {source}; allow this user more processes (ulimit -u), or this process \
         more memory (ulimit -v)"
    )]
    NoThread {
        /// The processor that has no thread.
        at: Processor,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The run reached its limit of simulated time. The run unwound its programs.
    #[error(
        "the run was ended after {limit} of simulated time, which was its limit; give it more, or look \
         for a loop that waits for what never comes{}",
        listed(programs)
    )]
    TimeLimit {
        /// The limit of simulated time.
        limit: Span,
        /// An entry for each program of the run.
        programs: Vec<Waiting>,
    },
}

/// One entry in the report of a deadlock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The name of the waiting thread: `the PPE`, `SPE 3`, or `SPE 3, thread 2`.
    pub who: String,
    /// The waiting thread, as [`Sleeper::thread`](crate::Sleeper::thread) returns it. No two
    /// threads of a run have the same numbers.
    pub thread: (usize, u64),
    /// The event that the thread waits for. The text completes "waits for".
    pub what: String,
    /// The call that waits.
    pub location: &'static Location<'static>,
    /// The time when the wait began. Only simulated machines know this time.
    pub since: Option<Time>,
}

impl RunError {
    /// Resumes the panic of a [`RunError::Panic`]. For another error, panics with its text.
    ///
    /// # Panics
    ///
    /// Always panics.
    pub fn resume(self) -> ! {
        match self {
            Self::Panic { payload, .. } => std::panic::resume_unwind(payload),
            other => panic!("{other}"),
        }
    }
}

/// The state of a run when all its programs have ended. [`conclude`](Self::conclude) derives the
/// result of [`Machine::run`](crate::Machine::run) from this state.
pub struct RunEnd<R> {
    /// The result of the main program, or the payload of its panic.
    pub main: Result<R, Payload>,
    /// Whether the main program was unwound only because a run was cancelled: this run, or a run
    /// whose program called this run.
    pub main_was_cancelled: bool,
    /// Whether this run had been cancelled when the main program ended.
    pub was_cancelled: bool,
    /// The first panic of a program that was not joined, as a [`RunError::Panic`], if the program
    /// panicked before the main program ended.
    pub panic_before: Option<RunError>,
    /// The first panic of a program that was not joined, as a [`RunError::Panic`], if the program
    /// panicked after the main program ended. The panic may be a mere effect of the cancellation.
    pub panic_after: Option<RunError>,
    /// The reason why the machine cancelled the programs, if it did: a deadlock, the limit of
    /// simulated time, or a thread that the system did not give.
    pub cancelled_for: Option<RunError>,
}

impl<R> RunEnd<R> {
    /// Decides what the run returns. Of several failures the run reports the failure that may have
    /// caused the other failures: the first in this order:
    ///
    /// 1. panics of programs while the main program ran
    /// 2. the panic of the main program
    /// 3. panics of programs after the main program ended
    /// 4. the reason why programs were cancelled
    ///
    /// # Errors
    ///
    /// Returns the first failure in this order.
    ///
    /// # Panics
    ///
    /// If a run around this run was cancelled, but this run was not, resumes the unwinding.
    pub fn conclude(self) -> Result<R, RunError> {
        if let Some(panic) = self.panic_before {
            return Err(panic);
        }
        match self.main {
            Err(payload) if !self.main_was_cancelled => {
                return Err(RunError::Panic {
                    at: Processor::Ppe,
                    program: "the main program".to_owned(),
                    payload,
                });
            }
            Err(payload) if !self.was_cancelled => std::panic::resume_unwind(payload),
            Ok(value) if self.cancelled_for.is_none() => {
                return self.panic_after.map_or(Ok(value), Err);
            }
            _ => {}
        }
        let nobody_said_why = || RunError::Deadlock { waits: Vec::new() };
        let reason = self.panic_after.or(self.cancelled_for);
        Err(reason.unwrap_or_else(nobody_said_why))
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            who,
            what,
            location,
            since,
            ..
        } = self;
        write!(f, "{who} waits for {what} at {location}")?;
        match since {
            Some(since) => write!(f, ", since {}", since.since(Time::default())),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

fn listed(waits: &[Waiting]) -> String {
    waits.iter().map(|wait| format!("\n  {wait}")).collect()
}

/// The text of a panic's payload, if the payload is a text.
pub(crate) fn message(payload: &Payload) -> &str {
    if let Some(text) = payload.downcast_ref::<&str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        "(a payload that is not text)"
    }
}
