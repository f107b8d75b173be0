//! The loading of built-in machines, of description files and of measured matrices.

use std::path::Path;
use std::{fs, io};

use super::error::DescriptionError;
use super::nearest::nearest;
use super::*;

/// The name and the text of each built-in machine.
const BUILT_IN: &[(&str, &str)] = &[
    ("ps3", include_str!("../../machines/ps3.toml")),
    ("qs20", include_str!("../../machines/qs20.toml")),
    ("qs22", include_str!("../../machines/qs22.toml")),
    ("scc", include_str!("../../machines/scc.toml")),
];

/// The description of a machine with a measured matrix, without the matrix itself.
const MEASURED: &str = include_str!("../../machines/parts/measured.toml");

/// The reason why a machine cannot be loaded.
#[derive(thiserror::Error)]
pub enum LoadError {
    /// The name is no built-in machine and no path that ends in .toml or .csv.
    #[error(
        "no machine is called `{}`; {}built in: {}; or name a file that ends in .toml or .csv",
        name.escape_debug(),
        nearest.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default(),
        Description::built_in_names().collect::<Vec<_>>().join(", ")
    )]
    Unknown {
        /// The given name or path.
        name: String,
        /// The name of a similar built-in machine, if there is one.
        nearest: Option<&'static str>,
    },
    /// The file could not be read.
    #[error(
        "{path} could not be read: {why}; {}name a file with a machine's description",
        nearest.as_ref().map(|near| format!("did you mean `{near}`? ")).unwrap_or_default()
    )]
    Unreadable {
        /// The path of the file.
        path: String,
        /// The path of a file in the same folder whose name is similar, if there is one.
        nearest: Option<String>,
        /// The error of the operating system.
        #[source]
        why: io::Error,
    },
    /// The file describes a machine that cannot exist.
    #[error(transparent)]
    Invalid(#[from] DescriptionError),
}

cellworks_machine::debug_by_display!(LoadError);

impl Description {
    /// Returns the names of the built-in machines, in alphabetical order.
    pub fn built_in_names() -> impl ExactSizeIterator<Item = &'static str> {
        BUILT_IN.iter().map(|(name, _)| *name)
    }

    /// Returns the TOML text of a built-in machine, with its comments.
    pub fn built_in_text(name: &str) -> Option<&'static str> {
        let (_, text) = BUILT_IN.iter().find(|(built_in, _)| *built_in == name)?;
        Some(text)
    }

    /// Returns the built-in machine with this name, if there is one.
    pub fn built_in(name: &str) -> Option<Self> {
        let text = Self::built_in_text(name)?;
        Some(committed(text, name))
    }

    /// Returns the TOML text of a machine to edit: one Cell with `spes` SPEs on rings, and the numbers
    /// of the built-in machine `ps3`. Returns `None` without an SPE, and for more than 1,024.
    ///
    /// ```
    /// # use cellworks_sim::Description;
    /// let text = Description::template(12).unwrap();
    /// let machine = Description::from_toml(&text, "mine.toml")?;
    /// assert_eq!(machine.spes().count(), 12);
    /// # Ok::<(), cellworks_sim::DescriptionError>(())
    /// ```
    pub fn template(spes: usize) -> Option<String> {
        if !(1..=check::SPES_MAX).contains(&spes) {
            return None;
        }
        // The order of the Cell: the odd numbers on one side, the even numbers on the other side.
        let spe = |number: usize| format!("SPE{number}");
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        let odd = (1..spes).step_by(2).map(spe);
        let even = (0..spes).step_by(2).rev().map(spe);
        let ring = names(&["PPE"]).into_iter().chain(odd);
        let ring = ring.chain(names(&["IOIF1", "IOIF0"])).chain(even);
        let ring: Vec<_> = ring.chain(names(&["MIC"])).collect();
        let hops = ring.len() / 2;
        let numbers: Vec<_> = (0..spes).collect();
        let many = match spes {
            1 => "1 SPE".to_owned(),
            _ => format!("{spes} SPEs"),
        };
        let lines = [
            ("name ", "\"mine\"".to_owned()),
            ("title ", format!("\"A Cell with {many}\"")),
            ("spes ", format!("{numbers:?}")),
            ("elements ", format!("{ring:?}")),
            (
                "elements_source ",
                "\"made up: as in the Cell/B.E., with another number of SPEs\"".to_owned(),
            ),
            (
                "hops_max ",
                format!(
                    "{{ value = {hops}, sure = \"derived\", source = \"half way round {} elements\" }}",
                    ring.len()
                ),
            ),
        ];
        let ps3 = Self::built_in_text("ps3")?;
        // The first lines and the comment on `spes` are about the PlayStation 3.
        let about_ps3 = |line: &&str| {
            let comments = [
                "# Sony",
                "# What was fitted",
                "# Eight are",
                "# the neighbours",
            ];
            !comments.iter().any(|comment| line.starts_with(comment))
        };
        let changed = ps3.lines().filter(about_ps3).map(|line| {
            let change = lines.iter().find(|(key, _)| line.starts_with(key));
            match change.zip(line.split_once('=')) {
                Some(((_, value), (key, _))) => format!("{key}= {value}\n"),
                None => format!("{line}\n"),
            }
        });
        let head = format!(
            "# A machine to change: one Cell with {many}, and the numbers of the PlayStation 3 \
             (cellworks machines ps3).\n"
        );
        Some(head + &changed.collect::<String>())
    }

    /// Loads a built-in machine by its name, or a machine from a TOML file by its path. A path that
    /// ends in `.csv` is a measured matrix.
    ///
    /// A matrix has a line for each core, with one-way times in nanoseconds separated by commas, as
    /// the program core-to-core-latency prints them. A time that is missing is the time of the
    /// other direction, or 0 on the diagonal. Every core becomes an SPE. The other parameters are
    /// uncertain and belong to no real machine.
    ///
    /// ```
    /// # use cellworks_sim::Description;
    /// assert_eq!(Description::load("ps3")?.cells.len(), 1);
    /// let error = Description::load("qs21").unwrap_err().to_string();
    /// assert!(error.starts_with("no machine is called `qs21`; did you mean `qs20`?"));
    /// # Ok::<(), cellworks_sim::LoadError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns a [`LoadError`] if the machine is not known, or the file is unreadable or invalid.
    pub fn load(name_or_path: &str) -> Result<Self, LoadError> {
        if let Some(built_in) = Self::built_in(name_or_path) {
            return Ok(built_in);
        }
        let path = Path::new(name_or_path);
        let is_matrix = path.extension().is_some_and(|end| end == "csv");
        let is_toml = path.extension().is_some_and(|end| end == "toml");
        if !(is_matrix || is_toml || path.is_file()) {
            return Err(LoadError::Unknown {
                name: name_or_path.to_owned(),
                nearest: nearest(&name_or_path.to_lowercase(), Self::built_in_names()),
            });
        }
        let text = fs::read_to_string(path).map_err(|why| LoadError::Unreadable {
            path: name_or_path.to_owned(),
            nearest: nearest_file(path),
            why,
        })?;
        Ok(if is_matrix {
            Self::from_matrix(&text, name_or_path)?
        } else {
            Self::from_toml(&text, name_or_path)?
        })
    }

    /// Makes a machine from the CSV text of a measured matrix: see [`load`](Self::load). Errors
    /// name the file as `file`.
    ///
    /// # Errors
    ///
    /// Returns an error for the first line that is not a row of a valid matrix.
    pub fn from_matrix(text: &str, file: &str) -> Result<Self, DescriptionError> {
        let one_way_ps = matrix::read(text, file)?;
        let mut machine = committed(MEASURED, "measured.toml");
        // A file name may contain control characters, which titles and sources must not contain.
        let printable = |text: &str| text.replace(char::is_control, "\u{fffd}");
        let stem = Path::new(file).file_stem().unwrap_or_default();
        let stem = printable(&stem.to_string_lossy());
        machine.title = format!("{} cores, measured: {stem}", one_way_ps.len());
        machine.cells[0].spes = (0..one_way_ps.len() as u16).collect();
        let Interconnect::Matrix(matrix) = &mut machine.interconnect else {
            unreachable!("what stands for the rest has a matrix");
        };
        matrix.one_way_ps = one_way_ps;
        matrix.one_way_source = printable(file);
        Ok(machine)
    }
}

/// Returns the path of the file beside `path` whose name is most similar, and has the same ending.
fn nearest_file(path: &Path) -> Option<String> {
    let folder = path.parent()?;
    let listed = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let files = fs::read_dir(listed).ok()?.flatten();
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    let names: Vec<_> = names
        .filter(|name| Path::new(name).extension() == path.extension())
        .collect();
    let near = nearest(
        path.file_name()?.to_str()?,
        names.iter().map(String::as_str),
    )?;
    Some(folder.join(near).to_string_lossy().into_owned())
}

/// Reads a description that is part of this program. A test checks that all are valid.
fn committed(text: &str, name: &str) -> Description {
    Description::from_toml(text, name).unwrap_or_else(|error| panic!("{error}"))
}
