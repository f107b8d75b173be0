//! Files, arguments, time and randomness for both sides: `wasi_snapshot_preview1`, over big-endian
//! memory. All programs of a run share the open files, as on a Cell, whose SPEs ask the PPE.
//!
//! A program sees the standard streams, `/dev/null`, `/proc/cpuinfo` and the folders that it was
//! given. `cap-std` keeps it in them. If it looks elsewhere, a note says what to type. Time is the
//! machine's. Files are copied (`dup`) by a function of our own, `fd_copy`.

// Rejected: `wasmtime-wasi`, which reads and writes little-endian memory.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cap_std::fs::{Dir, File, FileType, Metadata, MetadataExt, OpenOptions};
use cellworks_machine::{Span, Time};
use wasmtime::{Caller, Linker};

use super::guest::{Guest, Outside, element};
use super::link::{Linked, ask};

/// What a user gives a program.
pub(crate) struct Given {
    /// The arguments, with the name of the program first.
    pub(crate) arguments: Vec<Vec<u8>>,
    /// The environment, as `NAME=value`.
    pub(crate) environment: Vec<Vec<u8>>,
    /// The folders that the program may use, with the names by which it knows them.
    pub(crate) folders: Vec<(String, Dir)>,
    /// The text of `/proc/cpuinfo`.
    pub(crate) processors: String,
    /// The time of day at the start, in nanoseconds since 1970.
    pub(crate) began: u64,
}

/// An error number of Linux. The C library has these, too (`toolchain/library.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Errno(u16);

const NOENT: Errno = Errno(2);
const IO: Errno = Errno(5);
const BADF: Errno = Errno(9);
const ACCES: Errno = Errno(13);
const FAULT: Errno = Errno(14);
const NOTDIR: Errno = Errno(20);
const INVAL: Errno = Errno(22);
const MFILE: Errno = Errno(24);
const SPIPE: Errno = Errno(29);
const NOSYS: Errno = Errno(38);
const NOTSUP: Errno = Errno(95);

impl From<Outside> for Errno {
    fn from(_: Outside) -> Self {
        FAULT
    }
}

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Self {
        let of_system = error.raw_os_error().map(u16::try_from);
        if let Some(Ok(number)) = of_system {
            return Self(number);
        }
        // An error of `cap-std`.
        match error.kind() {
            io::ErrorKind::PermissionDenied => ACCES,
            io::ErrorKind::InvalidInput => INVAL,
            _ => IO,
        }
    }
}

type Done = Result<(), Errno>;

/// The files that a program may have open. Linux on a Cell allowed 1,024; this computer may allow
/// this process no more than that, and it needs some itself.
const FILES: usize = 512;

/// An open file of a program.
enum Open {
    Input,
    Output,
    Error,
    /// `/dev/null`.
    Null,
    File(File),
    Folder {
        dir: Dir,
        name: Option<String>,
    },
    /// `/dev`, which has `null`.
    Devices,
    /// `/proc`, which has `cpuinfo`.
    Processes,
    /// A file with this text, which is read from its start to its end.
    Text(io::Cursor<String>),
    /// All folders that the program was not given.
    Refused,
}

impl Open {
    /// Returns the name of a folder that a program has from the start.
    fn first_name(&self) -> Option<&str> {
        match self {
            Self::Folder { name, .. } => name.as_deref(),
            Self::Devices => Some("/dev"),
            Self::Processes => Some("/proc"),
            Self::Refused => Some("."),
            _ => None,
        }
    }
}

/// A question about time: the part of an import that only the machine can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// How many nanoseconds have passed since the start of the run?
    Now,
    /// Wait until this many nanoseconds have passed since the start of the run.
    Sleep(u64),
    /// Wait for this many nanoseconds. Without any, others have their turn.
    SleepFor(u64),
}

impl Clock {
    /// Returns the end of a sleep that begins at `now`. The time [`Now`](Self::Now) is no sleep.
    pub(super) fn until(self, now: Time) -> Option<Time> {
        match self {
            Self::Now => None,
            Self::Sleep(at) => Some(Time::default() + Span::from_nanoseconds(at)),
            Self::SleepFor(nanoseconds) => Some(now + Span::from_nanoseconds(nanoseconds)),
        }
    }
}

/// What the programs of a run have of the system around them.
pub(crate) struct Wasi {
    arguments: Vec<Vec<u8>>,
    environment: Vec<Vec<u8>>,
    files: Vec<Option<Open>>,
    /// The text of `/proc/cpuinfo`.
    processors: String,
    /// The time of day at the start of the run, in nanoseconds since 1970.
    began: u64,
    /// The state of the generator of random numbers, the same in each run.
    random: u64,
    /// Whether the program was told how to get a folder that it was not given.
    has_advised: bool,
}

/// The data of a store with WASI.
pub(crate) trait HasWasi: Linked {
    /// Returns what all programs of the run share.
    fn wasi(&self) -> &Mutex<Wasi>;
    /// Returns the memory of the program.
    fn memory(&self) -> &Guest;
}

impl Wasi {
    /// Makes the surroundings of a run.
    pub(crate) fn new(given: Given) -> Self {
        let Given {
            arguments,
            environment,
            folders,
            processors,
            began,
        } = given;
        // The C library takes the folder with the longest name that fits, of these the last.
        let first = [
            Open::Input,
            Open::Output,
            Open::Error,
            Open::Refused,
            Open::Devices,
            Open::Processes,
        ];
        let folders = folders.into_iter().map(|(name, dir)| Open::Folder {
            dir,
            name: Some(name),
        });
        Self {
            arguments,
            environment,
            files: first.into_iter().chain(folders).map(Some).collect(),
            processors,
            began,
            random: 0x9e37_79b9_7f4a_7c15,
            has_advised: false,
        }
    }

    fn open(&mut self, fd: u32) -> Result<&mut Open, Errno> {
        self.files
            .get_mut(fd as usize)
            .and_then(Option::as_mut)
            .ok_or(BADF)
    }

    fn file(&mut self, fd: u32) -> Result<&mut File, Errno> {
        match self.open(fd)? {
            Open::File(file) => Ok(file),
            Open::Folder { .. } | Open::Devices | Open::Processes | Open::Refused => Err(BADF),
            _ => Err(SPIPE),
        }
    }

    /// Returns a folder, in which the program looks for `path`.
    fn folder(&mut self, fd: u32, path: &str) -> Result<&Dir, Errno> {
        if matches!(self.open(fd)?, Open::Refused) {
            self.advise(path);
        }
        match self.open(fd)? {
            Open::Folder { dir, .. } => Ok(dir),
            Open::Devices | Open::Processes | Open::Refused => Err(NOENT),
            _ => Err(NOTDIR),
        }
    }

    /// Whether a path without its first slash is probably one from the root: the folder with which
    /// it begins is there and not here.
    fn is_from_root(path: &str) -> bool {
        let first = Path::new(path).iter().next().map(Path::new);
        first.is_some_and(|first| Path::new("/").join(first).is_dir() && !first.is_dir())
    }

    /// Says once, if a program was given the folder `.` and did not find in it what it looks for
    /// from the root: the C library takes the first slash away.
    fn advise_if_from_root(&mut self, fd: u32, path: &str, found: Errno) {
        let is_here =
            matches!(self.open(fd), Ok(Open::Folder { name: Some(name), .. }) if name == ".");
        if found == NOENT && is_here && Self::is_from_root(path) {
            self.advise(path);
        }
    }

    /// Says once how a program gets a folder in which it looks for `path`.
    fn advise(&mut self, path: &str) {
        if self.has_advised {
            return;
        }
        self.has_advised = true;
        let path = if Self::is_from_root(path) {
            Path::new("/").join(path)
        } else {
            PathBuf::from(path)
        };
        let folder = match path.parent() {
            Some(parent) if path.is_absolute() || path.starts_with("..") => parent,
            _ => Path::new("."),
        };
        eprintln!(
            "cellworks: the program looks for {}, and a program sees only the folders that it is given: add --dir {}",
            path.display(),
            folder.display()
        );
    }

    fn add(&mut self, open: Open) -> Result<u32, Errno> {
        let free = self.files.iter().position(Option::is_none);
        let fd = free.unwrap_or(self.files.len());
        if fd >= FILES {
            return Err(MFILE);
        }
        if fd == self.files.len() {
            self.files.push(None);
        }
        self.files[fd] = Some(open);
        Ok(fd as u32)
    }

    fn lists(memory: &Guest, texts: &[Vec<u8>], pointers: u32, mut bytes: u32) -> Done {
        for (index, text) in texts.iter().enumerate() {
            memory.set_u32(element(pointers, 4, index as u32), bytes)?;
            memory.set_bytes(bytes, text)?;
            memory.set_u8(bytes.saturating_add(text.len() as u32), 0)?;
            bytes = bytes.saturating_add(text.len() as u32 + 1);
        }
        Ok(())
    }

    fn sizes(memory: &Guest, texts: &[Vec<u8>], count: u32, bytes: u32) -> Done {
        memory.set_u32(count, texts.len() as u32)?;
        memory.set_u32(bytes, texts.iter().map(|text| text.len() as u32 + 1).sum())?;
        Ok(())
    }

    /// Calls `step` for each buffer of a list, until one is not used to its end.
    fn buffers(
        memory: &Guest,
        list: u32,
        count: u32,
        done: u32,
        mut step: impl FnMut(u32, usize) -> Result<usize, Errno>,
    ) -> Done {
        let mut all = 0;
        for buffer in 0..count {
            let at = memory.u32(element(list, 8, buffer))?;
            let bytes = memory.u32(element(list, 8, buffer).saturating_add(4))? as usize;
            let used = step(at, bytes)?;
            all += used;
            if used < bytes {
                break;
            }
        }
        Ok(memory.set_u32(done, all as u32)?)
    }

    fn fd_write(&mut self, memory: &Guest, fd: u32, list: u32, count: u32, done: u32) -> Done {
        let open = self.open(fd)?;
        Self::buffers(memory, list, count, done, |at, bytes| {
            let bytes = memory.bytes(at, bytes)?;
            match open {
                Open::Null => {}
                Open::Output => {
                    let mut output = io::stdout().lock();
                    output.write_all(&bytes)?;
                    output.flush()?;
                }
                Open::Error => io::stderr().lock().write_all(&bytes)?,
                Open::File(file) => file.write_all(&bytes)?,
                _ => return Err(BADF),
            }
            Ok(bytes.len())
        })
    }

    fn fd_read(&mut self, memory: &Guest, fd: u32, list: u32, count: u32, done: u32) -> Done {
        let open = self.open(fd)?;
        Self::buffers(memory, list, count, done, |at, bytes| {
            // What is not in the memory is not read from the file either.
            memory.bytes(at, bytes)?;
            let mut buffer = vec![0; bytes];
            let read = match open {
                Open::Input => io::stdin().lock().read(&mut buffer)?,
                Open::File(file) => file.read(&mut buffer)?,
                Open::Text(text) => text.read(&mut buffer)?,
                Open::Null => 0,
                _ => return Err(BADF),
            };
            memory.set_bytes(at, &buffer[..read])?;
            Ok(read)
        })
    }

    /// Reads or writes at `at`, and leaves the position of the file as it was.
    fn at(&mut self, fd: u32, at: u64, act: impl FnOnce(&mut Self) -> Done) -> Done {
        let file = self.file(fd)?;
        let before = file.stream_position()?;
        file.seek(SeekFrom::Start(at))?;
        let result = act(self);
        self.file(fd)?.seek(SeekFrom::Start(before))?;
        result
    }

    fn fd_seek(&mut self, memory: &Guest, fd: u32, by: i64, whence: u32, at: u32) -> Done {
        let to = match whence {
            0 => SeekFrom::Start(by.try_into().map_err(|_| INVAL)?),
            1 => SeekFrom::Current(by),
            2 => SeekFrom::End(by),
            _ => return Err(INVAL),
        };
        let now = self.file(fd)?.seek(to)?;
        Ok(memory.set_u64(at, now)?)
    }

    fn fd_close(&mut self, fd: u32) -> Done {
        self.open(fd)?;
        self.files[fd as usize] = None;
        Ok(())
    }

    fn fd_renumber(&mut self, from: u32, to: u32) -> Done {
        self.open(from)?;
        self.open(to)?;
        self.files[to as usize] = self.files[from as usize].take();
        Ok(())
    }

    /// Opens a file once more, as the number `to`, or as the lowest free one if that is -1. Both
    /// have one position.
    fn fd_copy(&mut self, memory: &Guest, fd: u32, to: u32, at: u32) -> Done {
        let copy = match self.open(fd)? {
            Open::Input => Open::Input,
            Open::Output => Open::Output,
            Open::Error => Open::Error,
            Open::Null => Open::Null,
            Open::File(file) => Open::File(file.try_clone()?),
            _ => return Err(NOTSUP),
        };
        let index = to as usize;
        let new = match to {
            u32::MAX => self.add(copy)?,
            _ if index >= FILES => return Err(BADF),
            _ => {
                let room = self.files.len().max(index + 1);
                self.files.resize_with(room, || None);
                self.files[index] = Some(copy);
                to
            }
        };
        Ok(memory.set_u32(at, new)?)
    }

    fn fd_fdstat_get(&mut self, memory: &Guest, fd: u32, at: u32) -> Done {
        let kind = match self.open(fd)? {
            Open::Input | Open::Output | Open::Error | Open::Null | Open::Text(_) => 2,
            Open::File(_) => 4,
            Open::Folder { .. } | Open::Devices | Open::Processes | Open::Refused => 3,
        };
        // All rights but those to seek and tell in a stream, by which a C library knows a terminal.
        let rights = if kind == 2 { !0x24 } else { !0u64 };
        // The C library writes each line at once to what it takes for a terminal. Whether it is one
        // is in the rights that other files would inherit (`isatty` in `lib/common/posix.c`), and so
        // is whether any user may execute it.
        let is_terminal = match self.open(fd)? {
            Open::Input => io::stdin().is_terminal(),
            Open::Output => io::stdout().is_terminal(),
            Open::Error => io::stderr().is_terminal(),
            _ => false,
        };
        let is_executable = match self.open(fd)? {
            Open::File(file) => file.metadata()?.mode() & 0o111 != 0,
            _ => false,
        };
        memory.set_bytes(at, &[0; 24])?;
        memory.set_u8(at, kind)?;
        memory.set_u64(at.saturating_add(8), rights)?;
        let own = u64::from(is_terminal) << 63 | u64::from(is_executable) << 62;
        Ok(memory.set_u64(at.saturating_add(16), !0 >> 2 | own)?)
    }

    fn filestat(memory: &Guest, at: u32, metadata: &Metadata) -> Done {
        memory.set_bytes(at, &[0; 64])?;
        memory.set_u64(at, metadata.dev())?;
        memory.set_u64(at.saturating_add(8), metadata.ino())?;
        memory.set_u8(at.saturating_add(16), kind_of(metadata.file_type()))?;
        memory.set_u64(at.saturating_add(24), metadata.nlink())?;
        memory.set_u64(at.saturating_add(32), metadata.len())?;
        let nanoseconds = |seconds: i64, rest: i64| (seconds * 1_000_000_000 + rest) as u64;
        memory.set_u64(
            at.saturating_add(40),
            nanoseconds(metadata.atime(), metadata.atime_nsec()),
        )?;
        memory.set_u64(
            at.saturating_add(48),
            nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        )?;
        Ok(memory.set_u64(
            at.saturating_add(56),
            nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        )?)
    }

    fn fd_filestat_get(&mut self, memory: &Guest, fd: u32, at: u32) -> Done {
        let metadata = match self.open(fd)? {
            Open::File(file) => file.metadata()?,
            Open::Folder { dir, .. } => dir.dir_metadata()?,
            _ => {
                memory.set_bytes(at, &[0; 64])?;
                return Ok(memory.set_u8(at.saturating_add(16), 2)?);
            }
        };
        Self::filestat(memory, at, &metadata)
    }

    fn path(memory: &Guest, at: u32, bytes: u32) -> Result<String, Errno> {
        String::from_utf8(memory.bytes(at, bytes as usize)?).map_err(|_| INVAL)
    }

    fn path_filestat_get(
        &mut self,
        memory: &Guest,
        fd: u32,
        follow: u32,
        path: (u32, u32),
        at: u32,
    ) -> Done {
        let path = Self::path(memory, path.0, path.1)?;
        let folder = self.folder(fd, &path)?;
        let follow = follow & 1 != 0;
        let metadata = if follow {
            folder.metadata(&path)
        } else {
            folder.symlink_metadata(&path)
        };
        match metadata {
            Ok(metadata) => Self::filestat(memory, at, &metadata),
            Err(error) => {
                let errno = error.into();
                self.advise_if_from_root(fd, &path, errno);
                Err(errno)
            }
        }
    }

    fn path_open(
        &mut self,
        memory: &Guest,
        fd: u32,
        path: (u32, u32),
        (how, rights, flags): (u32, u64, u32),
        opened: u32,
    ) -> Done {
        let path = Self::path(memory, path.0, path.1)?;
        let open = match (self.open(fd)?, &*path) {
            (Open::Devices, "null") => Open::Null,
            (Open::Processes, "cpuinfo") => Open::Text(io::Cursor::new(self.processors.clone())),
            _ => {
                let open = self.opened(fd, &path, (how, rights, flags));
                open.inspect_err(|errno| self.advise_if_from_root(fd, &path, *errno))?
            }
        };
        let fd = self.add(open)?;
        Ok(memory.set_u32(opened, fd)?)
    }

    /// Opens a file or a folder.
    fn opened(
        &mut self,
        fd: u32,
        path: &str,
        (how, rights, flags): (u32, u64, u32),
    ) -> Result<Open, Errno> {
        let folder = self.folder(fd, path)?;
        let (create, directory, exclusive, truncate) =
            (how & 1 != 0, how & 2 != 0, how & 4 != 0, how & 8 != 0);
        let (read, write, append) = (rights & 2 != 0, rights & 0x40 != 0, flags & 1 != 0);
        let is_folder = || {
            folder
                .metadata(path)
                .is_ok_and(|metadata| metadata.is_dir())
        };
        Ok(if directory || !write && is_folder() {
            Open::Folder {
                dir: folder.open_dir(path)?,
                name: None,
            }
        } else {
            let mut options = OpenOptions::new();
            options
                .read(read || !write)
                .write(write && !append)
                .append(write && append);
            options.truncate(truncate && write);
            if exclusive {
                options.create_new(create);
            } else {
                options.create(create);
            }
            Open::File(folder.open_with(path, &options)?)
        })
    }

    fn fd_prestat_get(&mut self, memory: &Guest, fd: u32, at: u32) -> Done {
        let name = self.open(fd)?.first_name().ok_or(BADF)?;
        memory.set_u32(at, 0)?;
        Ok(memory.set_u32(at.saturating_add(4), name.len() as u32)?)
    }

    fn fd_prestat_dir_name(&mut self, memory: &Guest, fd: u32, at: u32, bytes: u32) -> Done {
        let name = self.open(fd)?.first_name().ok_or(BADF)?;
        let name = name.as_bytes().get(..bytes as usize).ok_or(INVAL)?;
        Ok(memory.set_bytes(at, name)?)
    }

    fn fd_readdir(
        &mut self,
        memory: &Guest,
        fd: u32,
        at: u32,
        bytes: u32,
        from: u64,
        used: u32,
    ) -> Done {
        let folder = self.folder(fd, ".")?;
        let own = folder.dir_metadata()?;
        // `cap-std` leaves these two out.
        let own = [".", ".."].map(|name| Ok((name.into(), own.ino(), own.file_type())));
        let others = folder.entries()?.map(|entry| {
            let entry = entry?;
            let number = entry.metadata().map_or(0, |metadata| metadata.ino());
            io::Result::Ok((entry.file_name(), number, entry.file_type()?))
        });
        let mut all = Vec::new();
        let entries = own.into_iter().chain(others).enumerate();
        for (index, entry) in entries.skip(from as usize) {
            let (name, number, kind): (OsString, _, _) = entry?;
            let name = name.as_encoded_bytes();
            all.extend_from_slice(&(index as u64 + 1).to_be_bytes());
            all.extend_from_slice(&number.to_be_bytes());
            all.extend_from_slice(&(name.len() as u32).to_be_bytes());
            all.extend_from_slice(&[kind_of(kind), 0, 0, 0]);
            all.extend_from_slice(name);
            if all.len() >= bytes as usize {
                break;
            }
        }
        all.truncate(bytes as usize);
        memory.set_bytes(at, &all)?;
        Ok(memory.set_u32(used, all.len() as u32)?)
    }

    fn path_rename(&mut self, memory: &Guest, from: (u32, u32, u32), to: (u32, u32, u32)) -> Done {
        let old = Self::path(memory, from.1, from.2)?;
        let new = Self::path(memory, to.1, to.2)?;
        let target = self.folder(to.0, &new)?.try_clone()?;
        Ok(self.folder(from.0, &old)?.rename(old, &target, new)?)
    }

    fn random_get(&mut self, memory: &Guest, at: u32, bytes: u32) -> Done {
        memory.bytes(at, bytes as usize)?;
        let mut random = || {
            // splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
            // 2014).
            self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = self.random;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (mixed ^ (mixed >> 31)) as u8
        };
        let bytes: Vec<u8> = (0..bytes).map(|_| random()).collect();
        Ok(memory.set_bytes(at, &bytes)?)
    }
}

fn kind_of(kind: FileType) -> u8 {
    if kind.is_dir() {
        3
    } else if kind.is_file() {
        4
    } else if kind.is_symlink() {
        7
    } else {
        0
    }
}

fn number(done: Done) -> u32 {
    done.map_or_else(|errno| errno.0.into(), |()| 0)
}

/// Adds functions that answer at once: each calls a method of [`Wasi`] with the program's memory.
macro_rules! at_once {
    ($linker:ident: $($name:ident($($argument:ident: $type:ty),*) = |$wasi:ident, $memory:ident| $body:expr;)*) => {$(
        $linker.func_wrap(
            MODULE,
            stringify!($name),
            #[allow(unused_variables, reason = "some use neither files nor memory")]
            |caller: Caller<'_, S> $(, $argument: $type)*| -> u32 {
                let $memory = caller.data().memory();
                let $wasi = &mut *lock(caller.data().wasi());
                number($body)
            },
        )?;
    )*};
}

const MODULE: &str = "wasi_snapshot_preview1";

fn lock(wasi: &Mutex<Wasi>) -> MutexGuard<'_, Wasi> {
    wasi.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds the functions of WASI to a linker.
pub(crate) fn add_to<S>(linker: &mut Linker<S>) -> wasmtime::Result<()>
where
    S: HasWasi + Send + 'static,
    S::Question: From<Clock>,
{
    at_once! { linker:
        args_get(pointers: u32, bytes: u32) = |wasi, memory| Wasi::lists(memory, &wasi.arguments, pointers, bytes);
        args_sizes_get(count: u32, bytes: u32) = |wasi, memory| Wasi::sizes(memory, &wasi.arguments, count, bytes);
        environ_get(pointers: u32, bytes: u32) = |wasi, memory| Wasi::lists(memory, &wasi.environment, pointers, bytes);
        environ_sizes_get(count: u32, bytes: u32) = |wasi, memory| Wasi::sizes(memory, &wasi.environment, count, bytes);
        clock_res_get(id: u32, at: u32) = |wasi, memory| memory.set_u64(at, 1).map_err(Errno::from);
        fd_advise(fd: u32, offset: u64, bytes: u64, advice: u32) = |wasi, memory| wasi.file(fd).map(drop);
        fd_allocate(fd: u32, offset: u64, bytes: u64) = |wasi, memory| Err(NOTSUP);
        fd_close(fd: u32) = |wasi, memory| wasi.fd_close(fd);
        fd_copy(fd: u32, to: u32, at: u32) = |wasi, memory| wasi.fd_copy(memory, fd, to, at);
        fd_datasync(fd: u32) = |wasi, memory| wasi.file(fd).and_then(|file| Ok(file.sync_data()?));
        fd_fdstat_get(fd: u32, at: u32) = |wasi, memory| wasi.fd_fdstat_get(memory, fd, at);
        fd_fdstat_set_flags(fd: u32, flags: u32) = |wasi, memory| wasi.open(fd).map(drop);
        fd_fdstat_set_rights(fd: u32, rights: u64, inherited: u64) = |wasi, memory| wasi.open(fd).map(drop);
        fd_filestat_get(fd: u32, at: u32) = |wasi, memory| wasi.fd_filestat_get(memory, fd, at);
        fd_filestat_set_size(fd: u32, bytes: u64) = |wasi, memory| wasi.file(fd).and_then(|file| Ok(file.set_len(bytes)?));
        fd_filestat_set_times(fd: u32, accessed: u64, modified: u64, flags: u32) = |wasi, memory| Err(NOTSUP);
        fd_pread(fd: u32, list: u32, count: u32, at: u64, done: u32) = |wasi, memory| wasi.at(fd, at, |wasi| wasi.fd_read(memory, fd, list, count, done));
        fd_prestat_get(fd: u32, at: u32) = |wasi, memory| wasi.fd_prestat_get(memory, fd, at);
        fd_prestat_dir_name(fd: u32, at: u32, bytes: u32) = |wasi, memory| wasi.fd_prestat_dir_name(memory, fd, at, bytes);
        fd_pwrite(fd: u32, list: u32, count: u32, at: u64, done: u32) = |wasi, memory| wasi.at(fd, at, |wasi| wasi.fd_write(memory, fd, list, count, done));
        fd_read(fd: u32, list: u32, count: u32, done: u32) = |wasi, memory| wasi.fd_read(memory, fd, list, count, done);
        fd_readdir(fd: u32, at: u32, bytes: u32, from: u64, used: u32) = |wasi, memory| wasi.fd_readdir(memory, fd, at, bytes, from, used);
        fd_renumber(from: u32, to: u32) = |wasi, memory| wasi.fd_renumber(from, to);
        fd_seek(fd: u32, by: i64, whence: u32, at: u32) = |wasi, memory| wasi.fd_seek(memory, fd, by, whence, at);
        fd_sync(fd: u32) = |wasi, memory| wasi.file(fd).and_then(|file| Ok(file.sync_all()?));
        fd_tell(fd: u32, at: u32) = |wasi, memory| wasi.fd_seek(memory, fd, 0, 1, at);
        fd_write(fd: u32, list: u32, count: u32, done: u32) = |wasi, memory| wasi.fd_write(memory, fd, list, count, done);
        path_create_directory(fd: u32, path: u32, bytes: u32) = |wasi, memory| {
            Wasi::path(memory, path, bytes).and_then(|path| Ok(wasi.folder(fd, &path)?.create_dir(path)?))
        };
        path_filestat_get(fd: u32, follow: u32, path: u32, bytes: u32, at: u32) = |wasi, memory| {
            wasi.path_filestat_get(memory, fd, follow, (path, bytes), at)
        };
        path_filestat_set_times(fd: u32, follow: u32, path: u32, bytes: u32, accessed: u64, modified: u64, flags: u32) =
            |wasi, memory| Err(NOTSUP);
        path_link(from: u32, follow: u32, old: u32, old_bytes: u32, to: u32, new: u32, new_bytes: u32) =
            |wasi, memory| Err(NOTSUP);
        path_open(fd: u32, follow: u32, path: u32, bytes: u32, how: u32, rights: u64, inherited: u64, flags: u32, opened: u32) =
            |wasi, memory| wasi.path_open(memory, fd, (path, bytes), (how, rights, flags), opened);
        path_readlink(fd: u32, path: u32, bytes: u32, at: u32, room: u32, used: u32) = |wasi, memory| Err(NOTSUP);
        path_remove_directory(fd: u32, path: u32, bytes: u32) = |wasi, memory| {
            Wasi::path(memory, path, bytes).and_then(|path| Ok(wasi.folder(fd, &path)?.remove_dir(path)?))
        };
        path_rename(from: u32, old: u32, old_bytes: u32, to: u32, new: u32, new_bytes: u32) = |wasi, memory| {
            wasi.path_rename(memory, (from, old, old_bytes), (to, new, new_bytes))
        };
        path_symlink(old: u32, old_bytes: u32, fd: u32, new: u32, new_bytes: u32) = |wasi, memory| Err(NOTSUP);
        path_unlink_file(fd: u32, path: u32, bytes: u32) = |wasi, memory| {
            Wasi::path(memory, path, bytes).and_then(|path| Ok(wasi.folder(fd, &path)?.remove_file(path)?))
        };
        proc_raise(signal: u32) = |wasi, memory| Err(NOSYS);
        random_get(at: u32, bytes: u32) = |wasi, memory| wasi.random_get(memory, at, bytes);
        sock_accept(fd: u32, flags: u32, opened: u32) = |wasi, memory| Err(NOTSUP);
        sock_recv(fd: u32, list: u32, count: u32, flags: u32, done: u32, flags_at: u32) = |wasi, memory| Err(NOTSUP);
        sock_send(fd: u32, list: u32, count: u32, flags: u32, done: u32) = |wasi, memory| Err(NOTSUP);
        sock_shutdown(fd: u32, how: u32) = |wasi, memory| Err(NOTSUP);
    }
    linker.func_wrap_async(
        MODULE,
        "clock_time_get",
        |mut caller: Caller<'_, S>, (id, _, at): (u32, u64, u32)| {
            Box::new(async move {
                let memory = caller.data().memory().clone();
                let began = if id == 0 {
                    lock(caller.data().wasi()).began
                } else {
                    0
                };
                let since = ask(&mut caller, Clock::Now.into()).await?;
                wasmtime::Result::<u32>::Ok(number(
                    memory.set_u64(at, began + since).map_err(Errno::from),
                ))
            })
        },
    )?;
    linker.func_wrap_async(
        MODULE,
        "poll_oneoff",
        |caller: Caller<'_, S>, (list, events, count, used): (u32, u32, u32, u32)| {
            Box::new(async move { poll_oneoff(caller, list, events, count, used).await })
        },
    )?;
    linker.func_wrap_async(
        MODULE,
        "sched_yield",
        |mut caller: Caller<'_, S>, (): ()| {
            Box::new(async move {
                ask(&mut caller, Clock::SleepFor(0).into()).await?;
                wasmtime::Result::<u32>::Ok(0)
            })
        },
    )?;
    Ok(())
}

/// Sleeps: the one kind of wait that a C library of WASI has.
async fn poll_oneoff<S>(
    mut caller: Caller<'_, S>,
    list: u32,
    events: u32,
    count: u32,
    used: u32,
) -> wasmtime::Result<u32>
where
    S: HasWasi + Send + 'static,
    S::Question: From<Clock>,
{
    let memory = caller.data().memory().clone();
    let read = || {
        let mut first: Option<(u64, u32, u64, bool)> = None;
        for index in 0..count {
            let at = element(list, 48, index);
            let (kind, id, timeout, flags) = (
                memory.u8(at.saturating_add(8))?,
                memory.u32(at.saturating_add(16))?,
                memory.u64(at.saturating_add(24))?,
                memory.u16(at.saturating_add(40))?,
            );
            if kind != 0 {
                return Err(NOTSUP);
            }
            if first.is_none_or(|first| timeout < first.2) {
                first = Some((memory.u64(at)?, id, timeout, flags & 1 != 0));
            }
        }
        first.ok_or(INVAL)
    };
    let (user, id, timeout, is_absolute) = match read() {
        Ok(first) => first,
        Err(errno) => return Ok(errno.0.into()),
    };
    let sleep = if !is_absolute {
        Clock::SleepFor(timeout)
    } else if id == 0 {
        Clock::Sleep(timeout.saturating_sub(lock(caller.data().wasi()).began))
    } else {
        Clock::Sleep(timeout)
    };
    ask(&mut caller, sleep.into()).await?;
    let write = || -> Done {
        memory.set_bytes(events, &[0; 32])?;
        memory.set_u64(events, user)?;
        Ok(memory.set_u32(used, 1)?)
    };
    Ok(number(write()))
}
