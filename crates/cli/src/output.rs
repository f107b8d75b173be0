//! Printing results and messages.

use std::io::{ErrorKind, Write, stderr, stdout};

use crate::args::Format;
use crate::failure::{Failure, exit_code};
use crate::output_file::OutputFile;

/// Where results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Printed {
    ToStandardOutput,
    /// Where a trace is written to standard output.
    ToStandardError,
}

/// Prints to standard output.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_to(text, Printed::ToStandardOutput)
}

/// Prints; styles go where the reader is not a terminal or `NO_COLOR` is set.
fn print_to(text: &str, printed: Printed) -> Result<(), Failure> {
    let written = match printed {
        Printed::ToStandardOutput => {
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

/// A result in every form in which it is printed.
pub(crate) struct Views<R> {
    pub table: fn(&R) -> String,
    pub csv: fn(&R) -> String,
    pub json: fn(&R) -> String,
    pub html: fn(&R) -> String,
}

/// Prints a result in this format, and writes the page if there is to be one.
pub(crate) fn show<R>(
    result: &R,
    views: &Views<R>,
    format: Format,
    printed: Printed,
    page: Option<OutputFile>,
) -> Result<(), Failure> {
    let view = match format {
        Format::Table => views.table,
        Format::Json => views.json,
        Format::Csv => views.csv,
    };
    let printed = print_to(&view(result), printed);
    let saved = page.map_or(Ok(()), |mut page| {
        match page.write_all((views.html)(result).as_bytes()) {
            Ok(()) => page.complete(),
            Err(error) => Err(page.failed(&error)),
        }
    });
    both(saved, printed)
}

/// How the command ends of which one part ended so and the other so. The user has to see why it
/// failed, so what cannot be the end of the process is said here.
pub(crate) fn both(first: Result<(), Failure>, second: Result<(), Failure>) -> Result<(), Failure> {
    match (first, second) {
        (Ok(()), end) | (end, Ok(()) | Err(Failure::ClosedPipe)) => end,
        (Err(Failure::ClosedPipe), end) => end,
        (first, second) => {
            exit_code(second);
            first
        }
    }
}
