//! How a run fails.

use std::any::Any;
use std::fmt;
use std::panic::Location;

use crate::id::Processor;
use crate::time::{Span, Time};

/// The payload of a panic: what it carries to the code that catches it.
pub type Payload = Box<dyn Any + Send>;

/// The payload of the panic that unwinds a cancelled program. Programs are cancelled when their run
/// has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

/// A run did not end as it should.
#[derive(thiserror::Error)]
pub enum RunError {
    /// The main program panicked, or a program panicked that was not joined. If several panicked,
    /// this is the first. If a panic caused a deadlock, the run reports the panic.
    #[error("{} panicked on {at}: {}", program, message(payload))]
    Panic {
        /// Where the program ran.
        at: Processor,
        /// Which program.
        program: String,
        /// The payload of the panic.
        payload: Payload,
    },
    /// All programs waited, and none of them could wake another. They were cancelled by unwinding.
    #[error("deadlock: every program waits for another{}", listed(waits))]
    Deadlock {
        /// The programs that waited, and what each waited for.
        waits: Vec<Waiting>,
    },
    /// The operating system gave no thread for a processor. The programs were cancelled by
    /// unwinding.
    #[error(
        "the system gives no thread for {at}: {source}; allow this user more processes (ulimit -u), or this process \
         more memory (ulimit -v)"
    )]
    NoThread {
        /// Which processor has no thread.
        at: Processor,
        /// What the system said.
        source: std::io::Error,
    },
    /// The run had not ended when its limit of simulated time was reached. Its programs were
    /// cancelled by unwinding.
    #[error(
        "the run was ended after {limit} of simulated time, which was its limit; give it more, or look \
         for a loop that waits for what never comes{}",
        listed(programs)
    )]
    TimeLimit {
        /// The limit of simulated time.
        limit: Span,
        /// What each of its programs waited for.
        programs: Vec<Waiting>,
    },
}

/// One entry in the report of a deadlock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// What waits: `the PPE`, `SPE 3`, or `SPE 3, thread 2`.
    pub who: String,
    /// The thread that waits, as [`Sleeper::thread`](crate::Sleeper::thread) returns it: no two
    /// threads of a run have the same numbers.
    pub thread: (usize, u64),
    /// What it waits for. The text completes "waits for".
    pub what: String,
    /// The call that waits.
    pub location: &'static Location<'static>,
    /// When the wait began. Only simulated machines know this.
    pub since: Option<Time>,
}

impl RunError {
    /// Resumes the panic of a [`RunError::Panic`]. Any other error panics with its text.
    ///
    /// # Panics
    ///
    /// Always.
    pub fn resume(self) -> ! {
        match self {
            Self::Panic { payload, .. } => std::panic::resume_unwind(payload),
            other => panic!("{other}"),
        }
    }
}

/// What a machine knows when all programs of a run have ended. [`conclude`](Self::conclude) decides
/// from it what [`Machine::run`] returns.
///
/// [`Machine::run`]: crate::Machine::run
pub struct RunEnd<R> {
    /// What the main program returned, or the payload with which it was unwound.
    pub main: Result<R, Payload>,
    /// Whether the main program was unwound only because a run was cancelled: this run, or one
    /// around it.
    pub main_was_cancelled: bool,
    /// Whether this run had been cancelled when the main program ended.
    pub was_cancelled: bool,
    /// The first panic of a program that was not joined, if the program panicked before the main
    /// program ended: a [`RunError::Panic`].
    pub panic_before: Option<RunError>,
    /// The first panic of such a program after the main program ended: a [`RunError::Panic`]. Its
    /// only cause may be that the programs were cancelled.
    pub panic_after: Option<RunError>,
    /// Why the machine has cancelled the programs, if it has: a deadlock, the limit of simulated
    /// time, or a thread that the system did not give.
    pub cancelled_for: Option<RunError>,
}

impl<R> RunEnd<R> {
    /// Decides what the run returns. If several things have failed, it reports the one that may
    /// have caused the others. That is the first in this order: panics of programs while the main
    /// program ran, the panic of the main program, panics of programs after it ended, and the
    /// reason why programs were cancelled.
    ///
    /// # Errors
    ///
    /// The first failure in this order.
    ///
    /// # Panics
    ///
    /// If not this run but a run around it was cancelled, resumes the unwinding.
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

/// The text of a panic, if it has one.
pub(crate) fn message(payload: &Payload) -> &str {
    if let Some(text) = payload.downcast_ref::<&str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        "(a payload that is not text)"
    }
}
