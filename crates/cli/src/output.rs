//! Where results go: standard output, and files.

use std::fs::{File, Permissions};
use std::io::{self, ErrorKind, Write, stdout};
use std::os::fd::AsFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use clap::builder::styling::{AnsiColor, Style};
use tempfile::NamedTempFile;

use crate::args::Format;
use crate::{Failure, exit_code};

const BAD: Style = AnsiColor::Red.on_default().bold();
const WARN: Style = AnsiColor::Yellow.on_default().bold();

/// Says on standard error why the command fails.
pub(crate) fn error(message: &str) {
    say(BAD, "error:", message);
}

/// Says on standard error what else somebody should know.
pub(crate) fn warn(message: &str) {
    say(WARN, "warning:", message);
}

fn say(style: Style, kind: &str, message: &str) {
    let (style, reset) = (style.render(), style.render_reset());
    // Where standard error cannot be written, there is nobody to tell that.
    let _ = writeln!(anstream::stderr(), "{style}{kind}{reset} {message}");
}

/// Prints; styles go where the reader is not a terminal or `NO_COLOR` is set.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut out = anstream::AutoStream::auto(stdout());
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
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
    page: Option<&Page>,
) -> Result<(), Failure> {
    let view = match format {
        Format::Table => views.table,
        Format::Json => views.json,
        Format::Csv => views.csv,
    };
    let printed = print(&view(result));
    let saved = page.map_or(Ok(()), |page| page.write(&(views.html)(result)));
    both(saved, printed)
}

/// How the command ends of which one part ended so and the other so. Nobody may miss why it failed, so what
/// cannot be the end of the process is said here.
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

/// A file that can be written when the work is done.
#[derive(Clone, Debug)]
pub(crate) struct Page(PathBuf);

impl Page {
    /// Finds out whether the file can be written, so that nobody waits a minute to be told that it
    /// cannot. What is in it stays there until it is replaced.
    pub fn at(path: &Path) -> Result<Self, Failure> {
        let refused = |why: &dyn std::fmt::Display| {
            Failure::Usage(format!(
                "--html: {} cannot be written: {why}; name a file in a folder where you may write",
                path.display()
            ))
        };
        let page = match path.canonicalize() {
            Ok(found) if is_standard_output(&found) => {
                return Err(refused(&"the result is printed there"));
            }
            Ok(found) if found.is_file() => Self(found),
            Ok(_) => return Err(refused(&"it is not a file")),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(refused(&error)),
            // A link to a file that is still to be made; a circle of links is another error.
            Err(_) if path.is_symlink() => {
                let target = path.read_link().map_err(|error| refused(&error))?;
                return Self::at(&folder_of(path).join(target));
            }
            Err(_) => Self(path.to_owned()),
        };
        page.begin().map_err(|error| refused(&cause(&error)))?;
        Ok(page)
    }

    /// Whether it is this file.
    pub fn is(&self, path: &Path) -> bool {
        path.canonicalize().is_ok_and(|path| path == self.0)
    }

    /// Writes the page; until that has succeeded, what was there before stays.
    pub fn write(&self, html: &str) -> Result<(), Failure> {
        let write = || -> io::Result<()> {
            let mut file = self.begin()?;
            file.write_all(html.as_bytes())?;
            file.persist(&self.0)?;
            Ok(())
        };
        write().map_err(|error| {
            Failure::Run(format!(
                "--html: {} could not be written: {}; write it to a disk that has room",
                self.0.display(),
                cause(&error)
            ))
        })
    }

    /// A file beside it, that takes its place when it is complete.
    fn begin(&self) -> io::Result<NamedTempFile> {
        tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder_of(&self.0))
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Whether standard output goes to this file.
fn is_standard_output(path: &Path) -> bool {
    let printed = stdout().as_fd().try_clone_to_owned().map(File::from);
    let (Ok(printed), Ok(page)) = (printed.and_then(|file| file.metadata()), path.metadata())
    else {
        return false;
    };
    (printed.dev(), printed.ino()) == (page.dev(), page.ino())
}

/// What the system said, without the name of the temporary file, which tempfile adds.
fn cause(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" at path ")
        .next()
        .unwrap_or_default()
        .to_owned()
}
