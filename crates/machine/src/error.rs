//! The errors of a run.

use std::fmt;
use std::panic::Location;

use crate::id::Processor;
use crate::panic_payload::{PanicPayload, Payload};
use crate::time::{Span, Time};

/// The payload of the panic by which a cancelled run unwinds its programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

/// The reason why a run failed.
#[derive(thiserror::Error)]
pub enum RunError {
    /// The main program, or a program that was not joined, panicked.
    #[error("{program} panicked on {at}: {payload}")]
    Panic {
        /// The processor of the program.
        at: Processor,
        /// The name of the program.
        program: String,
        /// The payload of the panic.
        payload: PanicPayload,
    },
    /// All programs waited, or on a simulated machine did nothing but yield, so none could wake
    /// another. The run unwound the programs.
    #[error("deadlock: every program waits for another{}", listed(waits))]
    Deadlock {
        /// The waiting programs, and those that only yielded.
        waits: Vec<Waiting>,
    },
    /// The system provided no thread for a processor. The run unwound the programs.
    #[error(
        "the system gives no thread for {at}: {source}; allow this user more processes (ulimit -u), or this process \
         more memory (ulimit -v)"
    )]
    NoThread {
        /// The processor without a thread.
        at: Processor,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The run reached its limit of simulated time. The run unwound the programs.
    #[error(
        "the run was ended after {limit} of simulated time, which was its limit; give it more, or look \
         for a loop that waits for what never comes{}{}",
        listed(running),
        listed(programs)
    )]
    TimeLimit {
        /// The limit of simulated time.
        limit: Span,
        /// The programs that did not wait, and their threads.
        running: Vec<Running>,
        /// The programs that waited, and their threads.
        programs: Vec<Waiting>,
    },
}

/// A thread that neither waited nor had ended, in the report of a time limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Running {
    /// The name of the thread: `the PPE`, `SPE 3`, or `SPE 3, thread 2`.
    pub who: String,
    /// The name of its program.
    pub program: String,
    /// The call that spawned the program, and for the PPE, the call that began the run.
    pub began_at: &'static Location<'static>,
    /// The [place](crate::Spe::at) in foreign source, if the thread has one.
    pub place: Option<&'static str>,
}

/// A waiting thread in the report of a deadlock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The name of the thread: `the PPE`, `SPE 3`, or `SPE 3, thread 2`.
    pub who: String,
    /// The thread, as [`Sleeper::thread`](crate::Sleeper::thread) returns it. Unique within a run.
    pub thread: (usize, u64),
    /// The awaited event, to be printed after "waits for".
    pub what: String,
    /// The call that waits.
    pub location: &'static Location<'static>,
    /// The [place](crate::Spe::at) in foreign source, which is printed instead of `location`.
    pub place: Option<&'static str>,
    /// The time when the wait began, on simulated machines only.
    pub since: Option<Time>,
}

impl RunError {
    /// Resumes the panic of a [`RunError::Panic`]. Panics with the message of any other error.
    ///
    /// # Panics
    ///
    /// Always panics.
    pub fn resume(self) -> ! {
        match self {
            Self::Panic { payload, .. } => std::panic::resume_unwind(payload.into_inner()),
            other => panic!("{other}"),
        }
    }
}

/// The final state of a run, which [`conclude`](Self::conclude) turns into the result.
pub struct RunEnd<R> {
    /// The result of the main program, or the payload of its panic.
    pub main: Result<R, Payload>,
    /// Whether the cancellation of this run, or of a run that contains this run, unwound `main`.
    pub main_was_cancelled: bool,
    /// Whether this run was cancelled before the main program ended.
    pub was_cancelled: bool,
    /// The [`RunError::Panic`] of the first unjoined program that panicked before the main program
    /// ended.
    pub panic_before: Option<RunError>,
    /// The [`RunError::Panic`] of the first unjoined program that panicked after the main program
    /// ended.
    pub panic_after: Option<RunError>,
    /// The reason why the machine cancelled the run, if it did so.
    pub cancelled_for: Option<RunError>,
}

impl<R> RunEnd<R> {
    /// Returns the main program's result, or the failure that may have caused the other failures.
    ///
    /// # Errors
    ///
    /// Returns the first failure in this order:
    ///
    /// 1. panics of programs while the main program ran
    /// 2. the panic of the main program
    /// 3. panics of programs after the main program ended
    /// 4. the reason why programs were cancelled
    ///
    /// # Panics
    ///
    /// Resumes the main program's unwinding if only a run that contains this run was cancelled.
    pub fn conclude(self) -> Result<R, RunError> {
        if let Some(panic) = self.panic_before {
            return Err(panic);
        }
        match self.main {
            Err(payload) if !self.main_was_cancelled => {
                return Err(RunError::Panic {
                    at: Processor::Ppe,
                    program: "the main program".to_owned(),
                    payload: payload.into(),
                });
            }
            Err(payload) if !self.was_cancelled => std::panic::resume_unwind(payload),
            Ok(value) if self.cancelled_for.is_none() => {
                return self.panic_after.map_or(Ok(value), Err);
            }
            _ => {}
        }
        let without_a_reason = || RunError::Deadlock { waits: Vec::new() };
        let reason = self.panic_after.or(self.cancelled_for);
        Err(reason.unwrap_or_else(without_a_reason))
    }
}

impl fmt::Display for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            who,
            what,
            location,
            place,
            since,
            ..
        } = self;
        write!(f, "{who} waits for {what} at ")?;
        match place {
            Some(place) => write!(f, "{place}")?,
            None => write!(f, "{location}")?,
        }
        match since {
            Some(since) => write!(f, ", since the time {}", since.since(Time::default())),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            who,
            program,
            began_at,
            place,
        } = self;
        write!(f, "{who} runs {program}, begun at {began_at}")?;
        match place {
            Some(place) => write!(f, ", and is at {place}"),
            None => Ok(()),
        }
    }
}

crate::debug_by_display!(RunError);

fn listed(threads: &[impl fmt::Display]) -> String {
    threads
        .iter()
        .map(|thread| format!("\n  {thread}"))
        .collect()
}
