//! Errors of files.

use std::fs;
use std::path::{Path, PathBuf};

use super::text::TextError;
use crate::error::ProblemError;

/// The reason why a file could not be read.
#[derive(thiserror::Error)]
pub enum ReadError {
    /// The file could not be read.
    #[error("{}: {source}: name a text file that can be read", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// A line is malformed.
    #[error("{}, line {line}: {rule}", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The found content and the expected content.
        rule: String,
    },
    /// The files of a name do not belong together, or a file has contents of another kind.
    #[error("{}: {rule}", file.display())]
    Content {
        /// The file, or the name of several files.
        file: PathBuf,
        /// The found content and the expected content.
        rule: String,
    },
    /// A graph has a task number, or a number of tasks, that is too large for any computer.
    #[error(
        "{}, line {line}: it makes 2^{bits} or more tasks, numbered from 0: use smaller numbers",
        file.display(),
        bits = usize::BITS
    )]
    TooManyTasks {
        /// The file.
        file: PathBuf,
        /// The line, counted from 1.
        line: usize,
    },
    /// The lines are well formed, but not a valid problem.
    #[error("{}: {source}", file.display())]
    Problem {
        /// The file.
        file: PathBuf,
        /// The reason why the problem is not valid.
        source: ProblemError,
    },
}

cellworks_machine::debug_by_display!(ReadError);

/// Returns the text of a file, without the mark that some programs write at its begin.
pub(super) fn text_of(file: &Path) -> Result<String, ReadError> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(text.trim_start_matches('\u{feff}').to_owned()),
        Err(source) => Err(ReadError::File {
            file: file.to_path_buf(),
            source,
        }),
    }
}

pub(super) fn at_line(file: &Path, error: TextError) -> ReadError {
    let file = file.to_path_buf();
    match error {
        TextError::Line { line, rule } => ReadError::Line { file, line, rule },
        TextError::TooManyTasks { line } => ReadError::TooManyTasks { file, line },
        TextError::Problem(source) => ReadError::Problem { file, source },
    }
}
