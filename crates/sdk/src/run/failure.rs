//! Why a program did not run to its end.

use cellworks_machine::{ProgramPanic, RunError, Span};

/// Why a program did not run to its end.
#[derive(thiserror::Error)]
pub(crate) enum Failure {
    /// The program was wrong.
    #[error("{who} failed at {place}: {why}")]
    Program {
        /// The part of the program.
        who: String,
        /// What was wrong.
        why: String,
        /// The line of C.
        place: &'static str,
    },
    /// The program of the PPU has called `abort`, which also a failed assertion does.
    #[error("{who} called abort at {place}, or an assertion failed there")]
    Abort {
        /// The thread.
        who: String,
        /// The line of C.
        place: &'static str,
    },
    /// The program of the PPU has thrown an exception of C++ that nothing has caught.
    #[error("{who} threw an exception at {place} that nothing caught: {said}")]
    Exception {
        /// The thread.
        who: String,
        /// The type of the exception, and what it says.
        said: String,
        /// The line of C++.
        place: &'static str,
    },
    /// All programs and threads wait for each other, each as a line says.
    #[error("deadlock: every program waits for another{0}")]
    Deadlock(String),
    /// The run reached its limit of simulated time. Each program and thread is on a line.
    #[error(
        "the run was ended after {limit} of simulated time, which was its limit; give it more, or look for a loop that \
         waits for what never comes{programs}"
    )]
    TimeLimit {
        /// The limit of simulated time.
        limit: Span,
        /// What each program did.
        programs: String,
    },
    /// The machine ended the run.
    #[error(transparent)]
    Run(RunError),
    /// A defect of Cellworks.
    #[error("a program of an SPE panicked: {0}")]
    Panic(ProgramPanic),
    /// The file is no program.
    #[error("{file}: {why}")]
    File {
        /// The name of the file.
        file: String,
        /// What is wrong with it.
        why: String,
    },
    /// The system did not give what a run needs.
    #[error("the memory of the program could not be made: {0}")]
    Memory(String),
}

impl Failure {
    /// Returns whether the program of the PPU has called `abort`, as it also does on a Cell if
    /// nothing catches an exception.
    pub(crate) fn is_abort(&self) -> bool {
        matches!(self, Self::Abort { .. } | Self::Exception { .. })
    }
}

impl std::fmt::Debug for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}
