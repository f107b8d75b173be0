//! Reading of problems and their parts from files. Each error has the file and the line.

mod edges;
mod hwloc;
mod latencies;
mod qaplib;
mod text;

use std::fs;
use std::path::{Path, PathBuf};

use crate::costs::Costs;
use crate::error::ProblemError;
use crate::problem::Problem;
use crate::volumes::Volumes;
pub use hwloc::HwlocLatencies;
pub(crate) use hwloc::{MEANS_LATENCY, ONE_WAY_PICOSECONDS, PICOSECONDS_PER_NANOSECOND};
use text::TextError;

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

/// Reads a problem of QAPLIB (R.E. Burkard, S.E. Karisch and F. Rendl, QAPLIB - A Quadratic
/// Assignment Problem Library, Journal of Global Optimization 10, 1997): the size n, n times n
/// volumes between tasks, and n times n costs between places, separated by blanks and ends of
/// lines. If the file has the costs first, the optimal cost is the same as in the other order.
///
/// # Errors
///
/// Fails if the file cannot be read, if a word is not a number, if there are too few or too many
/// numbers, or if a number is negative or above 10^100.
pub fn qaplib(file: impl AsRef<Path>) -> Result<Problem, ReadError> {
    read(file.as_ref(), qaplib::parse)
}

/// Reads a graph. A line is an edge: the sending task, the receiving task, and the volume (1 if it
/// is missing), separated by blanks or a comma. A `#` starts a comment. The volumes of edges with
/// the same sender and receiver add up.
///
/// ```text
/// tasks 3
/// 0 1 4096   # bytes
/// 1 2 4096
/// ```
///
/// A first line `tasks N` gives the number of tasks. Without this line the number is the largest
/// task number plus 1.
///
/// # Errors
///
/// Fails if the file cannot be read, if a line is not an edge, if a task is unknown, if a volume is
/// negative or above 10^100, or if there are no tasks.
pub fn edges(file: impl AsRef<Path>) -> Result<Volumes, ReadError> {
    read(file.as_ref(), edges::parse)
}

/// Reads measured latencies between cores in nanoseconds, as the program `core-to-core-latency` of
/// Nicolas Viennot writes them. The line of a core has its latencies with core 0, core 1 and so on,
/// separated by commas: see [`cellworks_machine::latency_table`].
///
/// # Errors
///
/// Fails if the file cannot be read, if the matrix is not square, or if an element is missing in
/// both directions, or is not a number from 0 to 10^100.
pub fn latencies(file: impl AsRef<Path>) -> Result<Costs, ReadError> {
    read(file.as_ref(), latencies::parse)
}

/// Reads latencies between CPUs from XML of hwloc 2, such as [`write::hwloc`](crate::write::hwloc)
/// writes. Reads distances of the kind latency between PUs (CPUs). If there are none, reads those
/// between cores. The CPU of a core is the first of its PUs.
///
/// # Errors
///
/// Fails if the file cannot be read, is not XML of hwloc 2 or has no latencies. Fails if an object
/// is missing or named twice, or if the values do not make a square. Fails as hwloc does if an
/// attribute `nbobjs` or `length` is not the number of objects or bytes.
pub fn hwloc(file: impl AsRef<Path>) -> Result<HwlocLatencies, ReadError> {
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
        TextError::TooManyTasks { line } => ReadError::TooManyTasks {
            file: file.to_path_buf(),
            line,
        },
        TextError::Problem(source) => ReadError::Problem {
            file: file.to_path_buf(),
            source,
        },
    })
}
