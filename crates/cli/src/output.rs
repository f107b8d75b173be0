//! Prints results, and writes their files.

use std::io::{ErrorKind, IsTerminal, Write, stderr, stdout};
use std::path::{Path, PathBuf};

use cellworks_report::{Views, json};
use clap::ValueEnum;
use rustix::termios::tcgetwinsize;
use serde::Serialize;

use crate::failure::{Failure, exit_code};
use crate::message::warn;
use crate::output_file::OutputFile;
use crate::standard_output;

/// The format of a printed result.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// One object, described in docs/json.md
    Json,
    /// A header and lines for a spreadsheet, described in docs/csv.md
    Csv,
}

impl Format {
    /// Returns true if a result begins with its warnings, so that it would be the second time to
    /// print them as messages.
    pub fn begins_with_warnings(self) -> bool {
        matches!(self, Self::Table)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Printed {
    ToStandardOutput,
    /// To standard error, because the trace goes to standard output.
    ToStandardError,
}

/// Fails if standard output is closed, so that no result is computed that cannot be printed.
pub(crate) fn check_standard_output() -> Result<(), Failure> {
    if standard_output::was_closed() {
        Err(Failure::run(
            "standard output is closed, so nothing can be printed; open it, such as by `> /dev/null`",
        ))
    } else {
        Ok(())
    }
}

pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_to(text, Printed::ToStandardOutput)
}

/// Prints without styles if the stream is not a terminal or `NO_COLOR` is set.
pub(crate) fn print_to(text: &str, printed: Printed) -> Result<(), Failure> {
    let written = match printed {
        Printed::ToStandardOutput => {
            check_standard_output()?;
            let mut out = anstream::AutoStream::auto(stdout());
            out.write_all(text.as_bytes()).and_then(|()| out.flush())
        }
        Printed::ToStandardError => anstream::AutoStream::auto(stderr()).write_all(text.as_bytes()),
    };
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::ClosedPipe),
        Err(error) => Err(Failure::Run(format!(
            "the result could not be written: {error}; print it to a disk that has room"
        ))),
        Ok(()) => Ok(()),
    }
}

/// The number of columns if there is no terminal, as through a pipe: what most programs take there.
const WIDTH_OF_A_PIPE: usize = 80;

/// The largest number of columns of a table. Longer lines are hard to read.
const WIDTH_MAX: usize = 120;

/// The smallest number of columns of a table. A narrower terminal breaks the lines.
const WIDTH_MIN: usize = 60;

/// The largest number of columns of a help.
const WIDTH_OF_HELP_MAX: usize = 100;

/// Returns the largest number of columns for help. On a terminal, help also fits a narrower one.
pub(crate) fn width_of_help() -> usize {
    width().min(WIDTH_OF_HELP_MAX)
}

/// Returns the number of columns for tables, from the variable COLUMNS or from the terminal.
pub(crate) fn width() -> usize {
    let wanted = std::env::var("COLUMNS").ok();
    let wanted = wanted.and_then(|columns| columns.parse().ok());
    let of_terminal = || {
        let size = stdout().is_terminal().then(|| tcgetwinsize(stdout()));
        size?.ok().map(|size| usize::from(size.ws_col))
    };
    let columns = wanted.or_else(of_terminal).filter(|columns| *columns > 0);
    columns.map_or(WIDTH_OF_A_PIPE, |columns| {
        columns.clamp(WIDTH_MIN, WIDTH_MAX)
    })
}

/// The files that `--html`, `--json` and `--csv` name, with their formats: `None` for `--html`.
#[derive(Default)]
pub(crate) struct ResultFiles(Vec<(Option<Format>, OutputFile)>);

impl ResultFiles {
    /// Adds a file for a result in the given format. Fails if another flag names the same file.
    pub fn add(&mut self, format: Option<Format>, file: OutputFile) -> Result<(), Failure> {
        self.refuse(&file)?;
        self.0.push((format, file));
        Ok(())
    }

    /// Fails if `other`, the file of a further flag, is the same file as one of these.
    pub fn refuse(&self, other: &OutputFile) -> Result<(), Failure> {
        match self.0.iter().find(|(_, file)| file.is_same_file(other)) {
            Some((_, file)) => Err(other.refused(&format!("{} is written there", file.flag()))),
            None => Ok(()),
        }
    }

    /// Fails if the command reads one of these files.
    pub fn refuse_to_replace(&self, input: &Path) -> Result<(), Failure> {
        let mut files = self.0.iter();
        files.try_for_each(|(_, file)| file.refuse_to_replace(input))
    }

    pub fn refuse_to_replace_any<'i>(
        &self,
        inputs: impl IntoIterator<Item = &'i Option<PathBuf>>,
    ) -> Result<(), Failure> {
        let mut inputs = inputs.into_iter().flatten();
        inputs.try_for_each(|input| self.refuse_to_replace(input))
    }

    /// Keeps existing files if the run is incomplete. The result goes to new files beside them, and
    /// a warning names the new files.
    pub fn keep_what_is_there(&mut self) {
        for (_, file) in &mut self.0 {
            let kept = file.to_string();
            if let Some(beside) = file.keep_what_is_there() {
                warn(&format!(
                    "{kept} was kept, because the run did not come to its end; what it has found is in {}",
                    beside.display()
                ));
            }
        }
    }

    pub fn flag(&self) -> Option<&'static str> {
        self.0.first().map(|(_, file)| file.flag())
    }

    pub fn has_page(&self) -> bool {
        self.0.iter().any(|(format, _)| format.is_none())
    }
}

/// Prints a result in the given format, and writes its files. If one of the files is standard
/// output, the result in `format` is printed to standard error instead.
pub(crate) fn show(
    result: &(impl Serialize + Views),
    format: Format,
    printed: Printed,
    files: ResultFiles,
) -> Result<(), Failure> {
    let printed = if files.0.iter().any(|(_, file)| file.is_standard_output()) {
        Printed::ToStandardError
    } else {
        printed
    };
    let view = |format| match format {
        Some(Format::Table) => result.table(width()),
        Some(Format::Json) => json::render(result),
        Some(Format::Csv) => result.csv(),
        None => result.html(),
    };
    let mut end = print_to(&view(Some(format)), printed);
    for (format, file) in files.0 {
        end = combine(file.save(&view(format)), end);
    }
    end
}

/// Combines the outcomes of two parts of a command. If both parts failed, prints the message of one
/// failure and returns the other.
pub(crate) fn combine(
    first: Result<(), Failure>,
    second: Result<(), Failure>,
) -> Result<(), Failure> {
    match (first, second) {
        (Ok(()), end) | (end, Ok(()) | Err(Failure::ClosedPipe)) => end,
        (Err(Failure::ClosedPipe), end) => end,
        (first, second) => {
            exit_code(second);
            first
        }
    }
}
