//! How a run fails.

use std::any::Any;
use std::fmt;
use std::panic::Location;

use crate::id::Processor;
use crate::time::{Span, Time};

/// What a panic carries.
pub type Payload = Box<dyn Any + Send>;

/// What unwinds a program that was cancelled, because the run had failed elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

/// A run did not end as it should.
#[derive(thiserror::Error)]
pub enum RunError {
    /// A program panicked and nobody joined it, or the main program did. It is the first of them
    /// if there were several, and comes before a deadlock that it caused.
    #[error("{} panicked on {at}: {}", program, message(payload))]
    Panic {
        /// Where the program ran.
        at: Processor,
        /// Which program.
        program: String,
        /// What the panic carried.
        payload: Payload,
    },
    /// Every program waited for another one. They were cancelled by unwinding.
    #[error("deadlock: every program waits for another{}", listed(waits))]
    Deadlock {
        /// Who waited for what.
        waits: Vec<Waiting>,
    },
    /// The run was still going on when its simulated time was spent. Its programs were cancelled by
    /// unwinding.
    #[error(
        "the run was ended after {limit} of simulated time, which was its limit; give it more, or look \
         for a loop that waits for what never comes{}",
        listed(programs)
    )]
    TimeLimit {
        /// The time that it was given.
        limit: Span,
        /// What its programs did.
        programs: Vec<Waiting>,
    },
}

/// One entry in the report of a deadlock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Who waits: `the PPE`, `SPE 3`, or `SPE 3, thread 2`.
    pub who: String,
    /// The thread that waits, as its [`Sleeper`](crate::Sleeper::thread) names it: no two threads
    /// of a run have the same numbers.
    pub thread: (usize, u64),
    /// What it waits for: completes "waits for".
    pub what: String,
    /// The call that waits.
    pub location: &'static Location<'static>,
    /// Since when, where the machine knows: simulated machines do.
    pub since: Option<Time>,
}

impl RunError {
    /// Goes on with the panic, if it was one, as if it had happened here; else panics with the
    /// error's text.
    ///
    /// # Panics
    ///
    /// Always: that is what it is for.
    pub fn resume(self) -> ! {
        match self {
            Self::Panic { payload, .. } => std::panic::resume_unwind(payload),
            other => panic!("{other}"),
        }
    }
}

/// What a machine knows when all programs of a run have ended, to decide what [`Machine::run`]
/// returns.
///
/// [`Machine::run`]: crate::Machine::run
pub struct RunEnd<R> {
    /// What the main program returned, or was unwound with.
    pub main: Result<R, Payload>,
    /// What the main program was unwound with is only the cancellation of a run: this one, or one
    /// around it.
    pub main_was_cancelled: bool,
    /// This run had been cancelled when the main program ended.
    pub was_cancelled: bool,
    /// The first panic of a program that was not joined when the main program ended, a
    /// [`RunError::Panic`].
    pub panic_before: Option<RunError>,
    /// The first one that came later, perhaps only because the programs were cancelled.
    pub panic_after: Option<RunError>,
    /// Why the machine has cancelled the programs, if it has: no program could go on, or the time
    /// was spent.
    pub cancelled_for: Option<RunError>,
}

impl<R> RunEnd<R> {
    /// Decides what the run returns. Causes come before what they cause: the panics of programs
    /// while the main program ran, then its own, then those of programs that it left to be
    /// cancelled, then what cancelled them.
    ///
    /// # Errors
    ///
    /// The first of these.
    ///
    /// # Panics
    ///
    /// Goes on unwinding where it was not this run that was cancelled, but the one around it.
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

/// The text of a panic, where it has one.
pub(crate) fn message(payload: &Payload) -> &str {
    if let Some(text) = payload.downcast_ref::<&str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        "(a payload that is not text)"
    }
}
