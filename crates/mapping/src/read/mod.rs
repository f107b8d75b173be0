//! Reading of problems and their parts from files. Each error has the file and the line.

mod edges;
mod error;
mod hwloc;
mod kind;
mod latencies;
mod matrix;
mod metis;
mod monitored;
mod qaplib;
mod scotch;
mod tasks;
mod text;

use std::path::Path;

use crate::costs::Costs;
use crate::problem::Problem;
use crate::volumes::Volumes;
pub use error::ReadError;
use error::{at_line, text_of};
pub use hwloc::HwlocLatencies;
pub(crate) use hwloc::{MEANS_LATENCY, ONE_WAY_PICOSECONDS, PICOSECONDS_PER_NANOSECOND};
pub use monitored::Counted;
pub use tasks::Tasks;
use text::TextError;

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
    read(file.as_ref(), |text| {
        qaplib::parse(text).map_err(|error| kind::not_qaplib(text).unwrap_or(error))
    })
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

/// Reads the volumes between tasks from a file of any known kind:
///
/// - a list of edges, as [`edges`] reads it;
/// - a matrix whose row i has the volumes from task i, separated by blanks, commas or semicolons. A
///   first line can have the number of tasks. A first row and a first column can have names, if the
///   first of them is empty or no number;
/// - a matrix of Matrix Market, with coordinates or all elements, `general` or `symmetric`;
/// - a graph of METIS or Scotch. The weight of an edge is the volume in each direction. Weights of
///   vertices are ignored, with a note;
/// - what Open MPI's monitoring has counted, as [`monitored`] reads it. `file` is the file of a
///   rank, or the name that was given to Open MPI.
///
/// The content tells the kind. Up to three lines with as many numbers can be a matrix or a list of
/// edges. They are a matrix if its diagonal is 0, with a note. A list that begins with `tasks N` is
/// a list.
///
/// # Errors
///
/// Fails if the file cannot be read, is of another kind, which the error names, or breaks a rule of
/// its kind. Fails if a volume is negative or above 10^100, or if there are no tasks.
pub fn volumes(file: impl AsRef<Path>) -> Result<Tasks, ReadError> {
    let file = file.as_ref();
    let text = match text_of(file) {
        Ok(text) => text,
        // The name of several files can be that of no file, of a folder, or of the program.
        Err(_) if monitored::is_name(file) => return monitored(file, Counted::Crossed),
        Err(error) => return Err(monitored::is_meant(file).unwrap_or(error)),
    };
    if monitored::is_monitored(&text) {
        if monitored::run_of(file).is_none() {
            return Err(ReadError::Content {
                file: file.to_path_buf(),
                rule: "it is the file of one rank of Open MPI's monitoring, and its name does not say of which: name it \
                       NAME.RANK.prof, beside the files of the other ranks"
                    .to_owned(),
            });
        }
        return monitored(file, Counted::Crossed);
    }
    kind::tasks(&text, file.extension().and_then(|ending| ending.to_str()))
        .map_err(|error| at_line(file, error))
}

/// Reads what Open MPI's monitoring component has counted in a run. `name` is the file name that
/// was given to Open MPI as `pml_monitoring_filename`, `NAME.*.prof`, the file of a rank, such as
/// `NAME.0.prof`, or a folder with the files of one run. The files of all ranks are read. Volumes
/// are in bytes.
///
/// With [`Counted::Crossed`] the volumes are the messages that went from rank to rank, and the data
/// that puts and gets moved. With [`Counted::Meant`] the messages inside of collectives are left
/// out, and what collectives mean counts instead. This takes files of `pml_monitoring_enable 2`.
///
/// # Errors
///
/// Fails if a file cannot be read, is cut off or is not of this kind, if the file of a rank is
/// missing, or if files are of different runs. Fails for [`Counted::Meant`] if there are
/// collectives and no messages inside of them.
pub fn monitored(name: impl AsRef<Path>, counted: Counted) -> Result<Tasks, ReadError> {
    monitored::read(name.as_ref(), counted)
}

/// Returns true if two files have the names of two ranks of one run, such as `NAME.0.prof` and
/// `NAME.1.prof`, for [`monitored`].
pub fn is_of_one_run(one: impl AsRef<Path>, other: impl AsRef<Path>) -> bool {
    monitored::run_of(one.as_ref())
        .is_some_and(|run| Some(run) == monitored::run_of(other.as_ref()))
}

/// Costs from a file of which only the content tells the kind.
#[derive(Clone, Debug, PartialEq)]
pub enum TextCosts {
    /// Latencies in nanoseconds, as [`latencies`] reads them, and the CPUs of the places if the
    /// table names them.
    Latencies(Costs, Option<Vec<usize>>),
    /// A target of Scotch. Its costs have no unit.
    Target(Costs),
}

/// Reads costs from a table of latencies, as [`latencies`] does, or from a target of Scotch:
/// `tleaf`, `cmplt`, `cmpltw` with equal loads, `mesh2D`, `mesh3D`, `meshXD`, `torus2D`, `torus3D`,
/// `torusXD`, `hcub` and `deco 0`.
///
/// # Errors
///
/// Fails as [`latencies`] does. Fails if a file is a target of another kind, or a target other than
/// `tleaf` and `cmplt` with more than 4,096 places. If a file is no table of latencies, the error
/// names its kind.
pub fn costs(file: impl AsRef<Path>) -> Result<TextCosts, ReadError> {
    read(file.as_ref(), |text| match scotch::target_name(text) {
        Some(_) => scotch::target(text).map(TextCosts::Target),
        None => match latencies::parse(text) {
            Ok((costs, cpus)) => Ok(TextCosts::Latencies(costs, cpus)),
            Err(error) => Err(kind::not_costs(text).unwrap_or(error)),
        },
    })
}

/// Reads a mapping of Scotch, such as [`write::scotch_mapping`](crate::write::scotch_mapping)
/// writes: the number of tasks, and then the number and the place of each task. Returns the place
/// of each task. Tasks are numbered from 0 or from 1.
///
/// # Errors
///
/// Fails if the file cannot be read, if a word is not a number, if a task is missing or named
/// twice, or if a task has no place.
pub fn scotch_mapping(file: impl AsRef<Path>) -> Result<Vec<usize>, ReadError> {
    read(file.as_ref(), scotch::mapping)
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
    read(file.as_ref(), |text| {
        latencies::parse(text).map(|(costs, _)| costs)
    })
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
    parse(&text_of(file)?).map_err(|error| at_line(file, error))
}
