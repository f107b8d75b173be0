//! The files that `--html`, `--json`, `--csv` and `--trace` name.
//!
//! A regular file is replaced as a whole when the result is complete. Until then, and after any
//! failure, the old file is unchanged. The result is first written to a file without a name, on the
//! same disk. The system removes this file when the process ends.
//!
//! The result of an incomplete run is written beside an existing file. A device, a FIFO, or a file
//! that is already open, such as standard output, is written directly.

// Rejected: a temporary file with a name. Ctrl-C ends the process without destructors, so the file
// would stay.
// Rejected: the crate `atomic-write-file`. It leaves its temporary file behind if renaming fails.
// If the file system has no `O_TMPFILE`, it also leaves the temporary file behind after Ctrl-C.

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

/// The argument that means standard output.
const STANDARD_OUTPUT: &str = "-";

/// The folder in which the system lists the open files of this process, as symbolic links. The
/// target of such a link need not be a path: for a pipe, it is a text such as `pipe:[123]`.
const OPEN_FILES: &str = "/proc/self/fd";

/// The time that the command waits for the reader of a FIFO.
const READER: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct OutputFile {
    /// The flag, such as `--html`.
    flag: &'static str,
    /// The path as the user has given it.
    named: PathBuf,
    /// The path without symbolic links.
    path: PathBuf,
    to: File,
    writing: Writing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writing {
    /// To a temporary file without a name. At the end, its content replaces the old file.
    Replaced,
    /// To the existing file.
    Direct,
    /// To standard output, to which the command also prints.
    StandardOutput,
}

impl OutputFile {
    /// Opens the file, and does not change a regular file. Waits up to a second for the reader of a
    /// FIFO.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`], with the flag and the file, if the file cannot be written.
    pub fn open(flag: &'static str, named: &Path) -> Result<Self, Failure> {
        Self::try_open(flag, named).map_err(|error| refused(flag, named, &cause(&error)))
    }

    fn try_open(flag: &'static str, named: &Path) -> io::Result<Self> {
        let is_a_dash = named.as_os_str() == STANDARD_OUTPUT;
        let path = if is_a_dash {
            resolved(Path::new("/dev/stdout"))?
        } else {
            resolved(named)?
        };
        let writing = writing_to(&path)?;
        let to = match writing {
            Writing::Replaced => tempfile::tempfile_in(folder_of(&path))?,
            Writing::Direct => opened(&path)?,
            Writing::StandardOutput => stdout().as_fd().try_clone_to_owned()?.into(),
        };
        Ok(Self {
            flag,
            named: named.to_owned(),
            path,
            to,
            writing,
        })
    }

    /// Returns true if `path` leads to this file. The file need not exist.
    pub fn is(&self, path: &Path) -> bool {
        resolved(path).is_ok_and(|path| path == self.path)
    }

    pub fn is_same_file(&self, other: &Self) -> bool {
        self.path == other.path || self.is_standard_output() && other.is_standard_output()
    }

    /// Fails if the command reads this file. An `input` that is not an existing file, such as the
    /// name of a built-in machine, is allowed.
    pub fn refuse_to_replace(&self, input: &Path) -> Result<(), Failure> {
        if self.is(input) && input.exists() {
            Err(Failure::Usage(format!(
                "{}: it would replace {}, which the command reads; name another file",
                self.flag,
                input.display()
            )))
        } else {
            Ok(())
        }
    }

    /// Keeps an existing regular file: the result goes to a new file beside it. Returns the path of
    /// the new file, or `None` if there is nothing to keep.
    pub fn keep_what_is_there(&mut self) -> Option<PathBuf> {
        let is_there = |path: &Path| path.metadata().is_ok_and(|found| found.len() > 0);
        if self.writing != Writing::Replaced || !is_there(&self.path) {
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

    pub fn flag(&self) -> &'static str {
        self.flag
    }

    pub fn is_standard_output(&self) -> bool {
        self.writing == Writing::StandardOutput
    }

    pub fn is_replaced(&self) -> bool {
        self.writing == Writing::Replaced
    }

    /// Returns the failure of the command if this file may not be written.
    pub fn refused(&self, why: &dyn Display) -> Failure {
        refused(self.flag, &self.named, why)
    }

    /// Returns the failure of the command after a failed write to this file.
    pub fn failed(&self, error: &io::Error) -> Failure {
        if self.writing == Writing::StandardOutput && error.kind() == ErrorKind::BrokenPipe {
            return Failure::ClosedPipe;
        }
        Failure::Run(format!(
            "{self} could not be written: {}; write it to a disk that has room",
            cause(error)
        ))
    }

    /// Writes the whole file, and moves it to its path: see [`complete`](Self::complete).
    pub fn save(mut self, text: &str) -> Result<(), Failure> {
        self.write_all(text.as_bytes())
            .map_err(|error| self.failed(&error))?;
        self.complete()
    }

    /// Moves the written file to its path. The new file has the mode of the old file, if there was
    /// one.
    ///
    /// # Errors
    ///
    /// [`Failure::Run`] if moving the file fails. The old regular file is then unchanged.
    pub fn complete(mut self) -> Result<(), Failure> {
        match self.writing {
            Writing::Replaced => self.replace().map_err(|error| self.failed(&error)),
            Writing::Direct | Writing::StandardOutput => Ok(()),
        }
    }

    fn replace(&mut self) -> io::Result<()> {
        // The destructor of `beside` removes the new file if a later step fails.
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
        // Some disks only report here that they are full.
        beside.as_file().sync_all()?;
        beside.persist(&self.path)?;
        Ok(())
    }
}

/// Writes the flag and the path, such as `--trace: run.pftrace`.
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

/// Returns the path without symbolic links. The file need not exist. A link in [`OPEN_FILES`] is
/// not followed, because its target may have no name.
fn resolved(path: &Path) -> io::Result<PathBuf> {
    match path.metadata() {
        Ok(found) if found.is_dir() => return Err(is_a_folder()),
        // A circle of links is an error of `metadata`, so the recursion of `resolved` ends.
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

fn writing_to(path: &Path) -> io::Result<Writing> {
    if is_open_file(path) && path.file_name() == Some(OsStr::new("1")) {
        return Ok(Writing::StandardOutput);
    }
    let found = match path.metadata() {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Writing::Replaced),
        Err(error) => return Err(error),
    };
    let printed = File::from(stdout().as_fd().try_clone_to_owned()?).metadata()?;
    let is_printed_to = (printed.dev(), printed.ino()) == (found.dev(), found.ino());
    // If the file and standard output are the same character device, such as a terminal, both are
    // written. Their texts may mix, which is harmless because the device stores nothing.
    if is_printed_to && !found.file_type().is_char_device() {
        return Ok(Writing::StandardOutput);
    }
    if !found.is_file() || is_open_file(path) {
        return Ok(Writing::Direct);
    }
    // The rename at the end would also replace a read-only file, so this line refuses such a file.
    OpenOptions::new().write(true).open(path)?;
    Ok(Writing::Replaced)
}

/// Opens a file that is written directly. Appending keeps the content that other commands have
/// already written to the file, for example if the shell opened it with `exec 3> file`.
fn opened(path: &Path) -> io::Result<File> {
    // Without `O_NONBLOCK`, opening a FIFO blocks until there is a reader.
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

/// Returns the message of the system without the name of the temporary file.
fn cause(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" at path ")
        .next()
        .unwrap_or_default()
        .to_owned()
}
