//! Why a program did not run to its end.

use cellworks_machine::{ProgramPanic, RunError};

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
    /// The program made more contexts than the machine has SPEs.
    #[error(
        "the program makes more contexts than the machine has SPEs ({spes}), and here each context has an SPE of its \
         own; give the machine more (--spes), or let the program destroy contexts that it needs no more"
    )]
    TooManyContexts {
        /// The number of SPEs.
        spes: usize,
    },
    /// All programs and threads wait for each other, each as a line says.
    #[error("deadlock: every program waits for another{0}")]
    Deadlock(String),
    /// The machine ended the run, for instance at its limit of simulated time.
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

impl std::fmt::Debug for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}
