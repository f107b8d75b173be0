//! Files that hold a problem or a part of one.
//!
//! Each error names the file, the line, and what such a file has there.

mod edges;
mod hwloc;
mod latencies;
mod qaplib;
mod text;

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Costs, Problem, ProblemError, Volumes};
pub(crate) use hwloc::MEANS_LATENCY;
use text::TextError;

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
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
        /// The content that was found, and the content that was expected.
        rule: String,
    },
    /// The lines are well formed, but their contents are no valid problem.
    #[error("{}: {source}", file.display())]
    Problem {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        source: ProblemError,
    },
}

/// Reads a problem of the Quadratic Assignment Problem Library: the size n, then n times n volumes
/// between tasks, then n times n costs between places, separated by blanks and ends of lines.
///
/// QAPLIB leaves open which of its two matrices is which; the cost of a placement is the same. Its
/// permutations count from 1, placements here from 0. Numbers may have fractions.
///
/// Source: R.E. Burkard, S.E. Karisch and F. Rendl, QAPLIB - A Quadratic Assignment Problem
/// Library, Journal of Global Optimization 10 (1997).
///
/// # Errors
///
/// A file that cannot be read; a text that is no number, numbers that are missing or too many,
/// negative or not finite.
pub fn qaplib(file: impl AsRef<Path>) -> Result<Problem, ReadError> {
    read(file.as_ref(), qaplib::parse)
}

/// Reads a graph: a line for each edge, with the number of the sending task, that of the receiving
/// task, and the volume, separated by blanks or a comma. A line without a volume has 1. What
/// follows a `#` is a comment. Edges between the same tasks in the same direction add up.
///
/// ```text
/// tasks 3
/// 0 1 4096   # bytes
/// 1 2 4096
/// ```
///
/// A first line `tasks N` says how many tasks there are, and a task from N on is an error. Without
/// it there are as many as the largest number needs.
///
/// # Errors
///
/// A file that cannot be read; a line that is no edge; an unknown task; a volume that is negative
/// or not finite; no tasks.
pub fn edges(file: impl AsRef<Path>) -> Result<Volumes, ReadError> {
    read(file.as_ref(), edges::parse)
}

/// Reads measured latencies between the cores of a computer: a line for each core, with the
/// latency between it and core 0, core 1 and so on, separated by commas. Either all latencies are
/// there, or those above the diagonal are all empty: then the ones below count for both
/// directions. An empty element of the diagonal is 0.
///
/// The program `core-to-core-latency` of Nicolas Viennot writes such files, in nanoseconds.
///
/// # Errors
///
/// A file that cannot be read; a line that is longer or shorter than there are lines; an element
/// that is no number, is missing, negative or not finite.
pub fn latencies(file: impl AsRef<Path>) -> Result<Costs, ReadError> {
    read(file.as_ref(), latencies::parse)
}

/// Reads latencies between CPUs from XML of hwloc 2: distances that are latencies, between PUs, or
/// between cores if there are none. Returns them in the unit of the file, and the CPU of each
/// place; of a core it is the first of its PUs.
///
/// [`write::hwloc`](crate::write::hwloc) writes such a file.
///
/// # Errors
///
/// A file that cannot be read; a text that is no XML, or not of hwloc 2; no such distances; objects
/// that are not there or are named twice; more or fewer values than a square has.
pub fn hwloc(file: impl AsRef<Path>) -> Result<(Costs, Vec<usize>), ReadError> {
    read(file.as_ref(), hwloc::parse)
}

fn read<T>(file: &Path, parse: impl FnOnce(&str) -> Result<T, TextError>) -> Result<T, ReadError> {
    let text = fs::read_to_string(file).map_err(|source| ReadError::File {
        file: file.to_path_buf(),
        source,
    })?;
    parse(&text).map_err(|error| match error {
        TextError::Line { line, rule } => ReadError::Line {
            file: file.to_path_buf(),
            line,
            rule,
        },
        TextError::Problem(source) => ReadError::Problem {
            file: file.to_path_buf(),
            source,
        },
    })
}
