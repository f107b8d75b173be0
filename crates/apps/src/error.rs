//! Errors of programs.

use std::fmt;

use cellworks_csp::NetworkError;
use cellworks_machine::sizes::{in_flags, in_words};
use cellworks_machine::{RunError, StackError, StageError};
use cellworks_tasks::{PoolError, TaskError};

use crate::figure::counted;

/// The reason why a parameter is not allowed, in general or on the given machine.
#[derive(Clone, PartialEq, thiserror::Error)]
pub enum ParameterError {
    /// The number must not be 0.
    #[error("0 {noun} do nothing; use at least 1")]
    Zero {
        /// The name of the parameter.
        parameter: &'static str,
        /// The things that the number counts, such as `threads`.
        noun: &'static str,
    },
    /// The machine has fewer SPEs than the program should use.
    #[error("{machine} has {}, not {spes}; use at most {has}", counted(*.has, "SPE"))]
    TooManySpes {
        /// The number of SPEs that the program should use.
        spes: usize,
        /// The number of SPEs of the machine.
        has: usize,
        /// The title of the machine.
        machine: String,
    },
    /// The number of bytes is not a multiple of the number that the program needs.
    #[error("{} are not a multiple of {of}, {why}; use {}", in_words(*bytes), in_flags(*nearest))]
    Multiple {
        /// The name of the parameter.
        parameter: &'static str,
        /// The number of bytes.
        bytes: usize,
        /// The number of bytes of which `bytes` should be a multiple.
        of: usize,
        /// A name for a unit of `of` bytes, such as `a block of AES`.
        why: &'static str,
        /// The next larger multiple.
        nearest: usize,
    },
    /// The number of cycles for a byte is negative or too large.
    #[error("{value} cycles a byte cannot be computed; use a number from 0 to 1,000,000")]
    Cycles {
        /// The number of cycles for a byte.
        value: f64,
    },
    /// The program cannot run with this value of the parameter.
    #[error("{why}")]
    Refused {
        /// The name of the parameter.
        parameter: &'static str,
        /// The reason, with advice.
        why: String,
    },
    /// There are fewer yields than threads, so some thread would not yield.
    #[error("{yields} yields do not give each of {threads} threads one; use at least {threads}")]
    TooFewYields {
        /// The number of yields.
        yields: u64,
        /// The number of threads.
        threads: usize,
    },
}

cellworks_machine::debug_by_display!(ParameterError);

impl ParameterError {
    /// Returns the error for `bytes` bytes that the system could not allocate.
    pub(crate) fn no_memory(parameter: &'static str, bytes: usize) -> Self {
        Self::Refused {
            parameter,
            why: format!(
                "the system gives no memory for {}; use less, or allow this process more (ulimit -v)",
                in_words(bytes)
            ),
        }
    }

    /// Returns the name of the parameter that is not allowed, as in
    /// [`Program::parameters`](crate::Program::parameters).
    pub fn parameter(&self) -> &'static str {
        match self {
            Self::Zero { parameter, .. }
            | Self::Multiple { parameter, .. }
            | Self::Refused { parameter, .. } => parameter,
            Self::TooManySpes { .. } => "spes",
            Self::Cycles { .. } => "cycles_per_byte",
            Self::TooFewYields { .. } => "yields",
        }
    }
}

/// A program could not run, or its result was wrong.
#[derive(thiserror::Error)]
pub enum ProgramError {
    /// A parameter is not allowed on this machine.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The local store has no room for the data.
    #[error("{0}; use smaller blocks or fewer threads")]
    LocalStore(#[from] StageError),
    /// The stacks of the threads do not fit into a local store.
    #[error(transparent)]
    Stacks(#[from] StackError),
    /// A byte of the result is wrong.
    #[error(
        "the result is wrong: byte {byte} of {bytes} is {found:#04x}, and {expected:#04x} in what {by} \
         gives; this is an error of cellworks or of this computer's memory, so please report it"
    )]
    Wrong {
        /// The index of the first byte that differs.
        byte: usize,
        /// The length of the result in bytes.
        bytes: usize,
        /// The byte in the result.
        found: u8,
        /// The right byte.
        expected: u8,
        /// The method that gave the right bytes, such as `the cipher at once`.
        by: &'static str,
    },
    /// A number of the result is wrong.
    #[error(
        "the result is wrong: {what} is {found}, and {expected} {by}; this is an error of cellworks or of this \
         computer's memory, so please report it"
    )]
    Differs {
        /// The name of the number.
        what: String,
        /// The number in the result.
        found: String,
        /// The right number.
        expected: String,
        /// The method that gave the right number, such as `by brute force`.
        by: &'static str,
    },
    /// The program needs parts that only a Cell has, and the machine is not a Cell.
    #[error(
        "{machine} has no {what}, which the program is made of; run it on this computer or on a \
         simulated Cell"
    )]
    NoCell {
        /// The title of the machine.
        machine: String,
        /// The missing parts, such as `signals`.
        what: &'static str,
    },
    /// A network of processes failed.
    #[error(transparent)]
    Network(NetworkError),
    /// The run on the machine failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The pool of workers failed.
    #[error(transparent)]
    Pool(PoolError),
    /// A task failed.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// A measurement inside the program failed, with this message.
    #[error("{0}")]
    Measurement(String),
}

cellworks_machine::debug_by_display!(ProgramError);

/// Converts a [`ParameterError`] of a process into [`ProgramError::Parameter`].
impl From<NetworkError> for ProgramError {
    fn from(error: NetworkError) -> Self {
        match error {
            NetworkError::Failed {
                process,
                at,
                source,
            } => match source.downcast() {
                Ok(parameter) => Self::Parameter(*parameter),
                Err(source) => Self::Network(NetworkError::Failed {
                    process,
                    at,
                    source,
                }),
            },
            other => Self::Network(other),
        }
    }
}

impl From<PoolError> for ProgramError {
    fn from(error: PoolError) -> Self {
        match error {
            PoolError::Run(error) => Self::Run(error),
            other => Self::Pool(other),
        }
    }
}

/// Returns [`ProgramError::Wrong`] with the first byte that differs. The slices have equal lengths.
pub(crate) fn verify(found: &[u8], expected: &[u8], by: &'static str) -> Result<(), ProgramError> {
    let mut pairs = found.iter().zip(expected).enumerate();
    let wrong = pairs.find(|(_, (found, expected))| found != expected);
    match wrong {
        None => Ok(()),
        Some((byte, (&found, &expected_byte))) => Err(ProgramError::Wrong {
            byte,
            bytes: expected.len(),
            found,
            expected: expected_byte,
            by,
        }),
    }
}

pub(crate) fn agree<T: PartialEq + fmt::Display>(
    what: impl FnOnce() -> String,
    found: T,
    expected: T,
    by: &'static str,
) -> Result<(), ProgramError> {
    if found == expected {
        return Ok(());
    }
    Err(ProgramError::Differs {
        what: what(),
        found: found.to_string(),
        expected: expected.to_string(),
        by,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_result_names_the_first_byte_that_differs() {
        assert!(verify(&[1, 2, 3], &[1, 2, 3], "the sum").is_ok());
        let error = verify(&[1, 9, 9], &[1, 2, 3], "the sum").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the result is wrong: byte 1 of 3 is 0x09, and 0x02 in what the sum gives; this is an error of \
             cellworks or of this computer's memory, so please report it"
        );
    }

    #[test]
    fn a_number_that_differs_is_named_with_its_reference() {
        assert!(agree(|| unreachable!(), 3, 3, "by the sum").is_ok());
        let error = agree(|| "message 2".to_owned(), 4, 3, "by the sum").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the result is wrong: message 2 is 4, and 3 by the sum; this is an error of cellworks or of this \
             computer's memory, so please report it"
        );
    }
}
