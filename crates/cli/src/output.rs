//! Where results go: standard output, and files.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write, stdout};
use std::path::{Path, PathBuf};

use clap::builder::styling::{AnsiColor, Style};

use crate::Failure;

const BAD: Style = AnsiColor::Red.on_default().bold();
const WARN: Style = AnsiColor::Yellow.on_default().bold();

/// Says on standard error why the command fails.
pub(crate) fn error(message: &str) {
    anstream::eprintln!("{}error:{} {message}", BAD.render(), BAD.render_reset());
}

/// Says on standard error what else somebody should know.
pub(crate) fn warn(message: &str) {
    anstream::eprintln!("{}warning:{} {message}", WARN.render(), WARN.render_reset());
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

/// A file that could be opened for writing before the work began.
#[derive(Clone, Debug)]
pub(crate) struct Page(PathBuf);

impl Page {
    /// Finds out whether the file can be written, so that nobody waits a minute to be told that it
    /// cannot. What is in it stays there until it is replaced.
    pub fn at(path: &Path) -> Result<Self, Failure> {
        let existed = path.exists();
        OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .map_err(|error| {
                Failure::Usage(format!(
                    "--html: {} cannot be written: {error}; name a file in a folder where you may \
                     write",
                    path.display()
                ))
            })?;
        if !existed {
            // Until there is something to say there should be no empty page. A link that leads
            // to where it will be stays.
            let _ = path.canonicalize().and_then(std::fs::remove_file);
        }
        Ok(Self(path.to_owned()))
    }

    /// Writes the page.
    pub fn write(&self, html: &str) -> Result<(), Failure> {
        std::fs::write(&self.0, html).map_err(|error| {
            Failure::Run(format!(
                "--html: {} could not be written: {error}; write it to a disk that has room",
                self.0.display()
            ))
        })
    }
}
