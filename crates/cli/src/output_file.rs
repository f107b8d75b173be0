//! The files that `--html`, `--json`, `--csv` and `--trace` name.
//!
//! A regular file is replaced as a whole when all of the result has been written. Until then, and
//! if anything goes wrong, the file that was there stays as it is. The result is collected in a
//! file without a name on the same disk, which the system removes however the process ends. Only
//! [`OutputFile::complete`] copies it to a file beside the old one, and renames that.
//!
//! What a run has found that did not come to its end is written beside a file that is there
//! ([`OutputFile::keep_what_is_there`]).
//!
//! A device, a FIFO, and what is open already, such as standard output, cannot be replaced: it is
//! written directly.

use std::ffi::OsStr;
use std::fmt::{self, Display, Formatter};
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Seek, Write, stdout};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::failure::Failure;

/// What a user writes for standard output, in place of a path.
const STANDARD_OUTPUT: &str = "-";

/// The folder in which the system lists what this process has open. An entry looks like a link, but
/// what it leads to may have no name.
const OPEN_FILES: &str = "/proc/self/fd";

/// How long a FIFO may have no reader: a shell starts both at once.
const READER: Duration = Duration::from_secs(1);

/// A file that a flag names for a result.
#[derive(Debug)]
pub(crate) struct OutputFile {
    /// The flag, such as `--html`.
    flag: &'static str,
    /// The file as the user has named it.
    named: PathBuf,
    /// The same file, where all symbolic links end.
    path: PathBuf,
    /// What is written to.
    to: File,
    way: Way,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// To a file without a name, which takes its place in the end.
    Replaced,
    /// Into what is there.
    Direct,
    /// To where the command prints.
    StandardOutput,
}

impl OutputFile {
    /// Opens the file, so that one that cannot be written is refused before anything is measured.
    /// What is in a regular file stays there.
    ///
    /// Waits for the reader of a FIFO, a second at the most.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`], with the flag and the file, if it cannot be written.
    pub fn open(flag: &'static str, named: &Path) -> Result<Self, Failure> {
        Self::try_open(flag, named).map_err(|error| refused(flag, named, &cause(&error)))
    }

    fn try_open(flag: &'static str, named: &Path) -> io::Result<Self> {
        let is_a_dash = named.as_os_str() == STANDARD_OUTPUT;
        let path = match is_a_dash {
            true => resolved(Path::new("/dev/stdout"))?,
            false => resolved(named)?,
        };
        let way = way_to(&path)?;
        let to = match way {
            Way::Replaced => tempfile::tempfile_in(folder_of(&path))?,
            Way::Direct => opened(&path)?,
            Way::StandardOutput => stdout().as_fd().try_clone_to_owned()?.into(),
        };
        Ok(Self {
            flag,
            named: named.to_owned(),
            path,
            to,
            way,
        })
    }

    /// Whether this path leads to the same file, which need not exist.
    pub fn is(&self, path: &Path) -> bool {
        resolved(path).is_ok_and(|path| path == self.path)
    }

    /// Whether the other is written to the same file.
    pub fn is_where(&self, other: &Self) -> bool {
        self.path == other.path || self.is_standard_output() && other.is_standard_output()
    }

    /// Refuses to replace a file that the command reads. What does not exist, such as a machine
    /// that is built in, is no file.
    pub fn refuse_to_replace(&self, input: &Path) -> Result<(), Failure> {
        match self.is(input) && input.exists() {
            true => Err(Failure::Usage(format!(
                "{}: it would replace {}, which the command reads; name another file",
                self.flag,
                input.display()
            ))),
            false => Ok(()),
        }
    }

    /// Leaves alone what is in a regular file: what is written takes its place beside it, under the
    /// name that is returned. `None` if there is nothing to lose.
    pub fn keep_what_is_there(&mut self) -> Option<PathBuf> {
        let is_there = |path: &Path| path.metadata().is_ok_and(|found| found.len() > 0);
        if self.way != Way::Replaced || !is_there(&self.path) {
            return None;
        }
        let mut name = self.path.file_stem().unwrap_or_default().to_owned();
        name.push(".partial");
        if let Some(extension) = self.path.extension() {
            name.push(".");
            name.push(extension);
        }
        self.path.set_file_name(name);
        self.named = self.path.clone();
        Some(self.path.clone())
    }

    /// The flag that names it, such as `--html`.
    pub fn flag(&self) -> &'static str {
        self.flag
    }

    /// Whether it is written to where the command prints.
    pub fn is_standard_output(&self) -> bool {
        self.way == Way::StandardOutput
    }

    /// Whether it replaces what is there when it is complete, and is not to be seen before.
    pub fn is_replaced(&self) -> bool {
        self.way == Way::Replaced
    }

    /// The failure of the command where this file is not to be written.
    pub fn refused(&self, why: &dyn Display) -> Failure {
        refused(self.flag, &self.named, why)
    }

    /// The failure of the command where writing to this file has failed.
    pub fn failed(&self, error: &io::Error) -> Failure {
        if self.way == Way::StandardOutput && error.kind() == ErrorKind::BrokenPipe {
            return Failure::ClosedPipe;
        }
        Failure::Run(format!(
            "{self} could not be written: {}; write it to a disk that has room",
            cause(error)
        ))
    }

    /// Puts in place what was written. A file that was there keeps its mode; a new one gets that of
    /// new files.
    ///
    /// # Errors
    ///
    /// [`Failure::Run`] if that is not possible; a regular file is as it was then.
    pub fn complete(mut self) -> Result<(), Failure> {
        match self.way {
            Way::Replaced => self.replace().map_err(|error| self.failed(&error)),
            Way::Direct | Way::StandardOutput => Ok(()),
        }
    }

    fn replace(&mut self) -> io::Result<()> {
        // Its destructor removes it if anything fails from here on.
        let mut beside = tempfile::Builder::new()
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder_of(&self.path))?;
        self.to.rewind()?;
        io::copy(&mut self.to, beside.as_file_mut())?;
        match self.path.metadata() {
            Ok(old) => beside.as_file().set_permissions(old.permissions())?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        // Some disks say only now that there is no room.
        beside.as_file().sync_all()?;
        beside.persist(&self.path)?;
        Ok(())
    }
}

/// The flag and the file: `--trace: run.pftrace`.
impl Display for OutputFile {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.flag, self.named.display())
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

fn refused(flag: &str, named: &Path, why: &dyn Display) -> Failure {
    Failure::Usage(format!(
        "{flag}: {} cannot be written: {why}; name a file in a folder where you may write",
        named.display()
    ))
}

/// The path without symbolic links, of a file that need not exist; what is open is an entry of
/// [`OPEN_FILES`].
fn resolved(path: &Path) -> io::Result<PathBuf> {
    match path.metadata() {
        Ok(found) if found.is_dir() => return Err(is_a_folder()),
        // A circle of links is an error here, so following links one by one comes to an end.
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let Some(name) = path.file_name() else {
        return Err(is_a_folder());
    };
    if path.as_os_str().as_encoded_bytes().ends_with(b"/") {
        return Err(is_a_folder());
    }
    let path = folder_of(path).canonicalize()?.join(name);
    if is_open_file(&path) || !path.is_symlink() {
        return Ok(path);
    }
    let target = path.read_link()?;
    resolved(&folder_of(&path).join(target))
}

fn is_a_folder() -> io::Error {
    io::Error::new(ErrorKind::IsADirectory, "it is a folder")
}

/// How a file is to be written at this path, if that is allowed.
fn way_to(path: &Path) -> io::Result<Way> {
    if is_open_file(path) && path.file_name() == Some(OsStr::new("1")) {
        return Ok(Way::StandardOutput);
    }
    let found = match path.metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Way::Replaced),
        Err(error) => return Err(error),
    };
    let printed = File::from(stdout().as_fd().try_clone_to_owned()?).metadata()?;
    let is_printed_to = (printed.dev(), printed.ino()) == (found.dev(), found.ino());
    // Two results that are mixed on a terminal or in /dev/null do no harm, because neither is kept.
    if is_printed_to && !found.file_type().is_char_device() {
        return Ok(Way::StandardOutput);
    }
    if !found.is_file() || is_open_file(path) {
        return Ok(Way::Direct);
    }
    // Renaming would also replace a file whose mode forbids writing.
    OpenOptions::new().write(true).open(path)?;
    Ok(Way::Replaced)
}

/// What is written directly, opened. Appending does not truncate, if it is a file that the shell
/// has opened by `3> file`.
fn opened(path: &Path) -> io::Result<File> {
    // Opening a FIFO would wait for a reader, perhaps for ever.
    let at_once = OFlags::NONBLOCK.bits() as i32;
    let begin = Instant::now();
    loop {
        let mut options = OpenOptions::new();
        match options.append(true).custom_flags(at_once).open(path) {
            Ok(file) => {
                rustix::fs::fcntl_setfl(&file, OFlags::APPEND)?;
                return Ok(file);
            }
            Err(error) if error.raw_os_error() != Some(Errno::NXIO.raw_os_error()) => {
                return Err(error);
            }
            Err(_) if begin.elapsed() < READER => thread::sleep(READER / 100),
            Err(_) => return Err(io::Error::other("no program reads it")),
        }
    }
}

fn is_open_file(path: &Path) -> bool {
    Path::new(OPEN_FILES)
        .canonicalize()
        .is_ok_and(|folder| folder == folder_of(path))
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// What the system said, without the name of the temporary file, which tempfile adds.
fn cause(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" at path ")
        .next()
        .unwrap_or_default()
        .to_owned()
}
