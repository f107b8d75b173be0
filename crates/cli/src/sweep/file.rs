//! Files of results. The first line describes the sweep, each other line has the result of a step.
//!
//! ```text
//!   {"cellworks_results":1,"cellworks_version":"0.1.0","arguments":["run", ...],"machine":"...",
//!    "steps":[...]}
//!   {"step":0,"found":[["run_time",1200.5]]}
//!   {"step":3,"found":[["run_time",1300.5]]}
//! ```

use std::fs::{File, OpenOptions, read_to_string};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::failure::Failure;

/// The version of the format of the files.
const FORMAT: u32 = 1;

/// The description of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    cellworks_results: u32,
    cellworks_version: String,
    /// The arguments after `cellworks`.
    pub arguments: Vec<String>,
    /// A description of the machine. Equal texts mean equal results.
    machine: String,
    /// The parameters of each step.
    pub steps: Vec<Value>,
}

impl Header {
    /// Describes the sweep of this process.
    pub fn of(machine: String, steps: Vec<Value>) -> Self {
        let arguments = std::env::args_os().skip(1);
        Self {
            cellworks_results: FORMAT,
            cellworks_version: env!("CARGO_PKG_VERSION").to_owned(),
            arguments: arguments
                .map(|argument| argument.to_string_lossy().into_owned())
                .collect(),
            machine,
            steps,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct ResultFile {
    path: PathBuf,
    pub header: Header,
    /// Each finished step with its result, and the number of its line.
    pub found: Vec<(usize, Value, usize)>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<T> {
    step: usize,
    found: T,
}

impl ResultFile {
    /// Reads a file of results. The error has the file, the line and the reason.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let text = read_to_string(path).map_err(|error| unreadable(path, &error))?;
        Self::parse(path, &text)
    }

    fn parse(path: &Path, text: &str) -> Result<Self, Failure> {
        let wrong = |line: usize, why: String| Failure::Usage(format!("{}: {why}", at(path, line)));
        let cut_off = |line| {
            wrong(
                line,
                "the line was cut off; remove it, and its step is simulated again".to_owned(),
            )
        };
        let mut lines = text.split_inclusive('\n').zip(1..);
        let Some((first, _)) = lines.next() else {
            return Err(wrong(
                1,
                "the file is empty; name one that --results or --share has written".to_owned(),
            ));
        };
        let header: Header = match serde_json::from_str(first) {
            Ok(header) if first.ends_with('\n') => header,
            _ if first.starts_with("{\"cellworks_results\":") && !first.ends_with('\n') => {
                return Err(cut_off(1));
            }
            _ => {
                return Err(wrong(
                    1,
                    "this is no file of results; name one that --results or --share has written"
                        .to_owned(),
                ));
            }
        };
        let mut found = Vec::new();
        for (text, line) in lines {
            if !text.ends_with('\n') {
                return Err(cut_off(line));
            }
            let Line { step, found: value } = serde_json::from_str(text).map_err(|error| {
                wrong(
                    line,
                    format!(
                        "this is no result of a step: {error}; remove the line, and simulate the step again"
                    ),
                )
            })?;
            if step >= header.steps.len() {
                return Err(wrong(
                    line,
                    format!(
                        "there is no step {step}: the sweep has {}, numbered from 0; remove the line",
                        header.steps.len()
                    ),
                ));
            }
            found.push((step, value, line));
        }
        Ok(Self {
            path: path.to_owned(),
            header,
            found,
        })
    }

    /// Fails if the file has results of another sweep. The message shows the difference.
    pub fn check(&self, sweep: &Header) -> Result<(), Failure> {
        let Header {
            cellworks_results,
            cellworks_version,
            machine,
            steps,
            ..
        } = &self.header;
        let why = if cellworks_results != &sweep.cellworks_results
            || cellworks_version != &sweep.cellworks_version
        {
            format!(
                "these are results of cellworks {cellworks_version}, and this is {}: use the version that has \
                 written the file",
                sweep.cellworks_version
            )
        } else if steps != &sweep.steps {
            let differs = std::iter::zip(steps, &sweep.steps).position(|(one, other)| one != other);
            let what = match differs {
                Some(step) => format!(
                    "step {step} is {} there, and {} here",
                    steps[step], sweep.steps[step]
                ),
                None => format!(
                    "it has {} steps, and this one {}",
                    steps.len(),
                    sweep.steps.len()
                ),
            };
            format!("these are results of another sweep: {what}")
        } else if machine != &sweep.machine {
            "these are results of another machine, or of one that was simulated in another way"
                .to_owned()
        } else {
            return Ok(());
        };
        Err(Failure::Usage(format!(
            "{}: {why}; name another file",
            at(&self.path, 1)
        )))
    }

    pub fn place(&self, line: usize) -> String {
        at(&self.path, line)
    }
}

/// A file to which this process appends results.
#[derive(Debug)]
pub(super) struct Appended {
    path: PathBuf,
    file: File,
    steps: usize,
}

impl Appended {
    /// Opens the file of a sweep and reads its results, or creates the file.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] if the file has other content, if another process appends to the file, or
    /// if the file cannot be written. The file is then unchanged.
    pub fn open(path: &Path, header: &Header) -> Result<(Self, Option<ResultFile>), Failure> {
        let has_no_end = path
            .metadata()
            .is_ok_and(|is| !is.is_file() && !is.is_dir());
        if has_no_end || path.as_os_str() == "-" {
            return Err(Failure::Usage(format!(
                "--results: {} is no file on a disk, from which the results could be read again to go on; name a \
                 file, and write what was found to standard output by --format",
                path.display()
            )));
        }
        let unwritable = |error: &io::Error| {
            Failure::Usage(format!(
                "--results: {} cannot be written: {error}; name another file",
                path.display()
            ))
        };
        let mut options = OpenOptions::new();
        let file = options
            .append(true)
            .create(true)
            .open(path)
            .map_err(|error| unwritable(&error))?;
        if file.try_lock().is_err() {
            return Err(Failure::Usage(format!(
                "--results: another process adds to {}; wait for it, or name another file",
                path.display()
            )));
        }
        let text = read_to_string(path).map_err(|error| unreadable(path, &error))?;
        let before = if text.is_empty() {
            None
        } else {
            Some(ResultFile::parse(path, &text)?)
        };
        let mut this = Self {
            path: path.to_owned(),
            file,
            steps: before.as_ref().map_or(0, |before| before.found.len()),
        };
        match &before {
            Some(before) => before.check(header)?,
            None => this.write(header).map_err(Failure::Usage)?,
        }
        Ok((this, before))
    }

    /// Appends the result of a step. The error is a message that the file cannot be written.
    pub fn append(&mut self, step: usize, found: &impl Serialize) -> Result<(), String> {
        self.write(&Line { step, found })?;
        self.steps += 1;
        Ok(())
    }

    /// Returns the number of steps in the file.
    pub fn steps(&self) -> usize {
        self.steps
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a line in a single call, so that a killed process leaves a whole line or nothing.
    fn write(&mut self, line: &impl Serialize) -> Result<(), String> {
        let mut text = serde_json::to_string(line).expect("results are numbers and texts");
        text.push('\n');
        self.file.write_all(text.as_bytes()).map_err(|error| {
            format!(
                "--results: {} could not be written: {error}; write it to a disk that has room",
                self.path.display()
            )
        })
    }
}

fn at(path: &Path, line: usize) -> String {
    format!("{}, line {line}", path.display())
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    Failure::Usage(format!(
        "{} cannot be read: {error}; name a file that --results or --share has written",
        path.display()
    ))
}
