//! The C library: wasi-libc, compiled for big-endian memory on the user's computer.
//!
//! Its source is the tarball of Debian's source package, 0.8 MB. It is fetched and compiled once,
//! into the user's cache.

// Rejected: the source in PyPI's ziglang (101 MB for 4 MB of it), and the compiled wasi-libc of
// Debian, which is little-endian.

use std::env;
use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use sha2::{Digest, Sha256};

use crate::driver::ar::{Member, encode};
use crate::driver::tools::{Failed, Side, because};

use super::cache::{FILES, fingerprint, folder, hex, write};
use super::compile::FrontEnd;
use super::programs::{Programs, on_path};

const SOURCE_URL: &str = "http://deb.debian.org/debian/pool/main/w/wasi-libc/wasi-libc_0.0~git20220510.9886d3d.orig.tar.xz";
const SOURCE_SHA256: &str = "8f9b802736a856942839d32966937c389f46e9f156415a549a6675b7535e5f74";

/// Names a file with the source, for computers without a network.
const SOURCE_VARIABLE: &str = "CELLWORKS_WASI_LIBC";

const FREESTANDING: &[&str] = &["-O2", "-w", "-std=gnu17", "-ffreestanding", "-DNDEBUG"];

const MUSL: &str = "libc-top-half/musl";

/// Folders of musl's source of which all is compiled, without the files that follow.
const FOLDERS: &[(&str, &[&str])] = &[
    (
        "internal",
        &["procfdname", "syscall", "syscall_ret", "vdso", "version"],
    ),
    (
        "stdio",
        &[
            "__lockfile",
            "flockfile",
            "ftrylockfile",
            "funlockfile",
            "gets",
            "pclose",
            "popen",
            "remove",
            "rename",
            "tempnam",
            "tmpfile",
            "tmpnam",
        ],
    ),
    ("string", &["strsignal"]),
    (
        "locale",
        &["bind_textdomain_codeset", "dcngettext", "textdomain"],
    ),
    ("stdlib", &[]),
    ("search", &[]),
    ("multibyte", &[]),
    ("regex", &[]),
    ("prng", &[]),
    ("conf", &[]),
    ("ctype", &[]),
    (
        "math",
        &[
            "__fpclassify",
            "__fpclassifyf",
            "__fpclassifyl",
            "__signbit",
            "__signbitf",
            "__signbitl",
            "ceil",
            "ceilf",
            "copysign",
            "copysignf",
            "fabs",
            "fabsf",
            "floor",
            "floorf",
            "fmax",
            "fmaxf",
            "fmin",
            "fminf",
            "nearbyint",
            "nearbyintf",
            "rint",
            "rintf",
            "sqrt",
            "sqrtf",
            "trunc",
            "truncf",
        ],
    ),
    (
        "complex",
        &["cimag", "cimagf", "cimagl", "creal", "crealf", "creall"],
    ),
];

/// Files of musl's source of whose folders not all is compiled.
const FILES_OF_MUSL: &[(&str, &[&str])] = &[
    (
        "misc",
        &[
            "a64l",
            "basename",
            "dirname",
            "ffs",
            "ffsl",
            "ffsll",
            "getopt",
            "getopt_long",
            "getsubopt",
        ],
    ),
    ("errno", &["strerror"]),
    ("network", &["htonl", "htons", "ntohl", "ntohs"]),
    (
        "fenv",
        &[
            "fegetexceptflag",
            "feholdexcept",
            "fenv",
            "fesetexceptflag",
            "fesetround",
            "feupdateenv",
        ],
    ),
    (
        "exit",
        &["assert", "at_quick_exit", "atexit", "exit", "quick_exit"],
    ),
    (
        "time",
        &[
            "__month_to_secs",
            "__secs_to_tm",
            "__tm_to_secs",
            "__tz",
            "__year_to_secs",
            "asctime",
            "asctime_r",
            "ctime",
            "ctime_r",
            "difftime",
            "ftime",
            "getdate",
            "gmtime",
            "gmtime_r",
            "localtime",
            "localtime_r",
            "mktime",
            "strftime",
            "strptime",
            "timegm",
            "timespec_get",
            "wcsftime",
        ],
    ),
    ("fcntl", &["creat"]),
    ("dirent", &["alphasort", "versionsort"]),
    (
        "env",
        &["clearenv", "getenv", "putenv", "setenv", "unsetenv"],
    ),
    ("unistd", &["posix_close"]),
    ("temp", &["__randname", "mkdtemp", "mkostemps", "mkstemp"]),
    ("stat", &["futimesat"]),
];

/// Headers of musl for what WASI does not have: a program that includes one is refused at once.
const LEFT_OUT: &[&str] = &[
    "aio.h",
    "alltypes.h.in",
    "bits/alltypes.h.in",
    "bits/errno.h",
    "bits/ipc.h",
    "bits/kd.h",
    "bits/link.h",
    "bits/msg.h",
    "bits/ptrace.h",
    "bits/sem.h",
    "bits/shm.h",
    "bits/soundcard.h",
    "bits/statfs.h",
    "bits/syscall.h.in",
    "bits/termios.h",
    "bits/vt.h",
    "dlfcn.h",
    "elf.h",
    "grp.h",
    "lastlog.h",
    "libintl.h",
    "link.h",
    "mntent.h",
    "net/ethernet.h",
    "net/if.h",
    "net/if_arp.h",
    "net/route.h",
    "netdb.h",
    "netinet/ether.h",
    "netinet/if_ether.h",
    "paths.h",
    "pthread.h",
    "pty.h",
    "pwd.h",
    "resolv.h",
    "scsi/scsi.h",
    "scsi/scsi_ioctl.h",
    "setjmp.h",
    "shadow.h",
    "spawn.h",
    "stdarg.h",
    "stddef.h",
    "sys/acct.h",
    "sys/auxv.h",
    "sys/cachectl.h",
    "sys/epoll.h",
    "sys/fanotify.h",
    "sys/fsuid.h",
    "sys/inotify.h",
    "sys/io.h",
    "sys/ipc.h",
    "sys/kd.h",
    "sys/klog.h",
    "sys/membarrier.h",
    "sys/mount.h",
    "sys/msg.h",
    "sys/mtio.h",
    "sys/personality.h",
    "sys/prctl.h",
    "sys/procfs.h",
    "sys/ptrace.h",
    "sys/quota.h",
    "sys/reboot.h",
    "sys/sem.h",
    "sys/sendfile.h",
    "sys/shm.h",
    "sys/signalfd.h",
    "sys/soundcard.h",
    "sys/statfs.h",
    "sys/statvfs.h",
    "sys/swap.h",
    "sys/sysmacros.h",
    "sys/syslog.h",
    "sys/termios.h",
    "sys/timerfd.h",
    "sys/ucontext.h",
    "sys/user.h",
    "sys/vfs.h",
    "sys/vt.h",
    "sys/wait.h",
    "sys/xattr.h",
    "syslog.h",
    "termios.h",
    "ucontext.h",
    "ulimit.h",
    "utmp.h",
    "utmpx.h",
    "wait.h",
    "wordexp.h",
];

/// Returns the texts by which it is compiled: what others compiled is out of date.
pub(super) fn compiled_by() -> impl Iterator<Item = &'static str> {
    let here = [include_str!("library.rs"), include_str!("compile.rs")];
    here.into_iter().chain(cellworks_big_endian::SOURCE)
}

/// The compiled C library.
pub(crate) struct Library {
    folder: PathBuf,
    cache: PathBuf,
}

impl Library {
    /// Returns the C library, after it has been compiled if it was not in the cache.
    pub(crate) fn ready(programs: &Programs, cache: &Path, own: &Path) -> Result<Self, Failed> {
        // What is compiled depends on this file and on our few files for it.
        let ours = FILES
            .iter()
            .filter(|(path, _)| path.starts_with("lib/libc/"));
        let texts = ours.flat_map(|(path, text)| [*path, *text]);
        let texts = texts.chain(compiled_by());
        let name = format!("libc-{}-{}", programs.version, fingerprint(texts));
        let folder = folder(cache, &name, |new| build(programs, cache, own, new))?;
        Ok(Self {
            folder,
            cache: cache.to_owned(),
        })
    }

    /// Returns the folder whose `include` has the headers.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the archives that a program of a side is linked with: our functions, and the C
    /// library.
    pub(crate) fn archives(
        &self,
        side: Side,
        programs: &Programs,
        own: &Path,
    ) -> Result<[PathBuf; 2], Failed> {
        let side_name = match side {
            Side::Ppu => "ppu",
            Side::Spu => "spu",
        };
        let texts = FILES.iter().flat_map(|(path, text)| [*path, *text]);
        let texts = texts.chain(compiled_by());
        let name = format!("{side_name}-{}-{}", programs.version, fingerprint(texts));
        let ours = folder(&self.cache, &name, |new| {
            let mut sources = Vec::new();
            for part in ["common", side_name] {
                sources.extend(c_files(&own.join("lib").join(part))?);
            }
            let front = FrontEnd::new(programs, side, own, &self.folder);
            let flags = ["-O2".to_owned()];
            let work = tempfile::tempdir_in(new)
                .map_err(|error| because(&format!("{}: {error}", new.display())))?;
            let objects = compile_all(&front, &sources, work.path(), |_| flags.to_vec(), |_| {})?;
            archive(&objects, &new.join("libcell.a"))
        })?;
        Ok([ours.join("libcell.a"), self.folder.join("libc.a")])
    }
}

/// Fetches the source of the C library, and compiles it into the folder `new`.
fn build(programs: &Programs, cache: &Path, own: &Path, new: &Path) -> Result<(), Failed> {
    let work = tempfile::tempdir_in(new)
        .map_err(|error| because(&format!("{}: {error}", new.display())))?;
    let tarball = source(cache)?;
    let unpacked = Command::new("tar")
        .arg("-xJf")
        .arg(&tarball)
        .arg("-C")
        .arg(work.path())
        .status();
    if !unpacked.is_ok_and(|status| status.success()) {
        return Err(because(&format!(
            "{}: tar cannot unpack this file; the programs tar and xz are needed",
            tarball.display()
        )));
    }
    let root = only_folder(work.path())?;
    adapt(&root)?;
    headers(&root, &new.join("include"))?;

    let sources = sources(&root, own)?;
    // Our headers come first, but a library has only its own.
    let front = FrontEnd::new(programs, Side::Spu, own, new);
    let objects = compile_with_progress(&front, "C library", &sources, work.path(), |source| {
        flags(&root, own, source)
    })?;
    archive(&objects, &new.join("libc.a"))
}

/// Returns the file with the source: the one that the environment names, or the one in the cache,
/// after it has been fetched.
fn source(cache: &Path) -> Result<PathBuf, Failed> {
    if let Some(named) = env::var_os(SOURCE_VARIABLE).map(PathBuf::from) {
        check(&named)?;
        return Ok(named);
    }
    let tarball = cache.join(format!("wasi-libc-{}.tar.xz", &SOURCE_SHA256[..8]));
    if tarball.is_file() && check(&tarball).is_ok() {
        return Ok(tarball);
    }
    eprintln!("note: the source of the C library is fetched from {SOURCE_URL}");
    let new = tarball.with_extension("new");
    let fetched = if on_path("curl").is_some() {
        Command::new("curl")
            .args(["-fsSL", "-o"])
            .arg(&new)
            .arg(SOURCE_URL)
            .status()
    } else {
        Command::new("wget")
            .args(["-q", "-O"])
            .arg(&new)
            .arg(SOURCE_URL)
            .status()
    };
    if !fetched.is_ok_and(|status| status.success()) {
        return Err(because(&format!(
            "the source of the C library could not be fetched by curl or wget; fetch {SOURCE_URL} on a computer with \
             a network, and name the file in {SOURCE_VARIABLE}"
        )));
    }
    check(&new)?;
    fs::rename(&new, &tarball)
        .map_err(|error| because(&format!("{}: {error}", tarball.display())))?;
    Ok(tarball)
}

/// Checks that a file is the source that is known.
fn check(tarball: &Path) -> Result<(), Failed> {
    let found = hex(&Sha256::digest(read(tarball)?));
    if found == SOURCE_SHA256 {
        Ok(())
    } else {
        Err(because(&format!(
            "{}: this is not the source of the C library that is known: its SHA-256 is {found}, and {SOURCE_SHA256} \
             is expected; fetch {SOURCE_URL}",
            tarball.display()
        )))
    }
}

fn read(file: &Path) -> Result<Vec<u8>, Failed> {
    fs::read(file).map_err(|error| because(&format!("{}: {error}", file.display())))
}

/// Returns the entries of a folder, sorted.
pub(super) fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failed> {
    let unread = |error: io::Error| because(&format!("{}: {error}", folder.display()));
    let entries = fs::read_dir(folder).map_err(unread)?;
    let mut entries: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(unread)?;
    entries.sort();
    Ok(entries)
}

/// Returns the folder in which the tarball has everything.
fn only_folder(folder: &Path) -> Result<PathBuf, Failed> {
    let mut folders = entries(folder)?.into_iter().filter(|path| path.is_dir());
    folders
        .next()
        .ok_or_else(|| because("the source of the C library has no folder"))
}

/// Returns the C files of a folder, sorted.
fn c_files(folder: &Path) -> Result<Vec<PathBuf>, Failed> {
    let is_c = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "c");
    Ok(entries(folder)?.into_iter().filter(is_c).collect())
}

/// Returns the C files of a folder and of those in it.
fn all_c_files(folder: &Path) -> Result<Vec<PathBuf>, Failed> {
    let mut files = c_files(folder)?;
    for path in entries(folder)?.into_iter().filter(|path| path.is_dir()) {
        files.extend(all_c_files(&path)?);
    }
    Ok(files)
}

/// Functions of dlmalloc that change its lists.
const ALLOCATORS: &[&str] = &[
    "malloc(size)",
    "calloc(nmemb, size)",
    "realloc(ptr, size)",
    "posix_memalign(memptr, alignment, size)",
    "memalign(alignment, bytes)",
];

/// Changes the C library's source where the PowerPC of the front end is not WebAssembly, and where
/// several threads use it.
fn adapt(root: &Path) -> Result<(), Failed> {
    let musl = &root.join(MUSL);
    // A long double is a double, as in this file.
    let float = read(&musl.join("arch/powerpc/bits/float.h"))?;
    write(&musl.join("arch/wasm32/bits/float.h"), &float)?;
    let edit = |file: &Path, from: &str, to: &str| {
        let text = String::from_utf8_lossy(&read(file)?).replace(from, to);
        write(file, text.as_bytes())
    };
    // WebAssembly always rounds to the nearest number.
    for file in c_files(&musl.join("src/math"))? {
        edit(&file, "#pragma STDC FENV_ACCESS ON", "")?;
    }
    // The pages of Linux on a Cell have 4 KB, as `lib/common/posix.c` says.
    let page = root.join("libc-bottom-half/headers/public/__macro_PAGESIZE.h");
    edit(&page, "(0x10000)", "(0x1000)")?;
    // The library of Linux has these headers, too, and says nothing.
    for name in ["errno", "fcntl", "poll", "signal"] {
        let header = musl.join(format!("include/sys/{name}.h"));
        edit(&header, "#warning", "//")?;
    }
    // Programs of the Cell call memalign, which `lib/libc/memory.c` has.
    let legacy = "#ifdef __wasilibc_unmodified_upstream /* WASI libc doesn't build the legacy";
    edit(&musl.join("include/malloc.h"), legacy, "#if 1 /*")?;
    // Times and sizes are numbers of the type long, as on a Cell: programs print them by %ld.
    let public = root.join("libc-bottom-half/headers/public");
    for name in [
        "time_t",
        "clock_t",
        "suseconds_t",
        "off_t",
        "ino_t",
        "nlink_t",
        "blkcnt_t",
    ] {
        edit(
            &public.join(format!("__typedef_{name}.h")),
            " long long ",
            " long ",
        )?;
    }
    // It wants numbers of 64 bits.
    let converted = root.join("libc-bottom-half/cloudlibc/src/libc/sys/stat/stat_impl.h");
    edit(&converted, "static_assert(", "_Static_assert(1 || ")?;
    let types = musl.join("include/alltypes.h.in");
    for (long, name) in [
        ("_Int64", "off_t"),
        ("_Int64", "ino_t"),
        ("_Int64", "blkcnt_t"),
        ("_Reg", "nlink_t"),
    ] {
        edit(&types, &format!("{long} {name};"), &format!("long {name};"))?;
    }
    let second = "CLOCKS_PER_SEC ((clock_t)1000000000)";
    edit(
        &public.join("__header_time.h"),
        second,
        "CLOCKS_PER_SEC ((clock_t)1000000)",
    )?;
    // It stores where its callers say nothing, too: through a null pointer for localtime.
    edit(
        &musl.join("src/time/__tz.c"),
        "\t*oppoff = 0;",
        "\tif (oppoff) *oppoff = 0;",
    )?;
    // A macro as in the library of Linux, so that old programs can declare `extern int errno`.
    let errno = public.join("__errno.h");
    let function = "int *__errno_location(void);\n#define errno (*__errno_location())";
    edit(&errno, "#define errno errno", function)?;
    edit(&errno, "extern thread_local int errno;", "")?;
    edit(&errno, "extern _Thread_local int errno;", "")?;
    edit(
        &root.join("libc-bottom-half/cloudlibc/src/libc/errno/errno.c"),
        "thread_local int errno = 0;",
        "static thread_local int value;\nint *__errno_location(void) { return &value; }",
    )?;
    // The number of O_RDONLY is 0 on Linux.
    let open = root.join("libc-bottom-half/cloudlibc/src/libc/fcntl/openat.c");
    let switch = "switch (oflag & O_ACCMODE) {";
    let plain = format!("if ((oflag & O_ACCMODE) == 0) oflag |= O_RDONLY;\n  {switch}");
    edit(&open, switch, &plain)?;
    // What an SPU prints is printed at once, as by a Cell. The PPU gives its output a buffer
    // (`lib/ppu/crt.c`).
    edit(
        &musl.join("src/stdio/stdout.c"),
        "buf[BUFSIZ+UNGET]",
        "buf[UNGET]",
    )?;
    // As in the library of Linux, a file that gets another buffer first writes what is in the old
    // one, which a function may have had among its local variables.
    let flushed = "if (f->wpos != f->wbase) fflush(f);\n\tf->lbf = EOF;";
    edit(&musl.join("src/stdio/setvbuf.c"), "f->lbf = EOF;", flushed)?;
    // Where the library would lock, a thread of the PPU keeps its turn (`lib/libc/turn.h`), and a
    // program with a null FILE ends.
    let stdio = musl.join("src/internal/stdio_impl.h");
    for (from, to) in [
        ("FLOCK", "((f) ? __cw_hold() : __cw_null_file())"),
        ("FUNLOCK", "((void)(f), __cw_release())"),
    ] {
        let to = format!("#define {from}(f) {to}");
        edit(&stdio, &format!("#define {from}(f) ((void)(f))"), &to)?;
    }
    let lock = musl.join("src/internal/lock.h");
    for (from, to) in [("LOCK", "hold"), ("UNLOCK", "release")] {
        let to = format!("#define {from}(x) __cw_{to}()");
        edit(&lock, &format!("#define {from}(x) ((void)0)"), &to)?;
    }
    for (file, call) in [
        ("putc.h", "putc_unlocked(c, f)"),
        ("getc.h", "getc_unlocked(f)"),
    ] {
        let file = musl.join("src/stdio").join(file);
        edit(
            &file,
            &format!("return {call}"),
            &format!("return __cw_held({call})"),
        )?;
    }
    linux_errors(root)?;
    let dlmalloc = root.join("dlmalloc/src/dlmalloc.c");
    for call in ALLOCATORS {
        edit(
            &dlmalloc,
            &format!("return dl{call}"),
            &format!("return __cw_held(dl{call})"),
        )?;
    }
    // Without these, what it finds is undefined behaviour. No chunk is one of mmap here.
    let chunks = dlmalloc.with_file_name("malloc.c");
    edit(
        &chunks,
        "#define ok_inuse(p)     is_inuse(p)",
        "#define ok_inuse(p)     (is_inuse(p) && !is_mmapped(p))",
    )?;
    let checks = "#define USAGE_ERROR_ACTION(m, p) __cw_wrong_free()\n\
                  #define CORRUPTION_ERROR_ACTION(m) __cw_damaged_heap()\n\
                  #include \"malloc.c\"";
    edit(&dlmalloc, "#include \"malloc.c\"", checks)?;
    edit(
        &dlmalloc,
        "    dlfree(ptr);",
        "    __cw_hold(); dlfree(ptr); __cw_release();",
    )?;
    Ok(())
}

/// What Linux says of errors, where musl has other words.
const LINUX_SAYS: &[(&str, &str)] = &[
    ("Address in use", "Address already in use"),
    ("Domain error", "Numerical argument out of domain"),
    ("Filename too long", "File name too long"),
    ("I/O error", "Input/output error"),
    (
        "Illegal byte sequence",
        "Invalid or incomplete multibyte or wide character",
    ),
    ("No child process", "No child processes"),
    ("No file descriptors available", "Too many open files"),
    ("Not a tty", "Inappropriate ioctl for device"),
    ("Not supported", "Operation not supported"),
    ("Operation timed out", "Connection timed out"),
    ("Out of memory", "Cannot allocate memory"),
    ("Resource busy", "Device or resource busy"),
    ("Resource deadlock would occur", "Resource deadlock avoided"),
    ("Result not representable", "Numerical result out of range"),
    ("Symbolic link loop", "Too many levels of symbolic links"),
    (
        "Value too large for data type",
        "Value too large for defined data type",
    ),
    ("Cross-device link", "Invalid cross-device link"),
];

/// Gives errors the numbers and texts of Linux: programs print them.
fn linux_errors(root: &Path) -> Result<(), Failed> {
    let musl = root.join(MUSL);
    let text = |file: &Path| read(file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let numbers = text(&musl.join("arch/powerpc/bits/errno.h"))?;
    // Linux has no rights of files that are open. WASI's error comes if a folder was not given.
    let numbers = format!("{numbers}\n#define ENOTCAPABLE ENOENT\n");
    let public = root.join("libc-bottom-half/headers/public");
    let header = format!("#pragma once\n#include <wasi/api.h>\n{numbers}");
    write(&public.join("__errno_values.h"), header.as_bytes())?;
    // There it is a name of ENOTSUP, and in Linux ENOTSUP is one of it.
    let private = root.join("libc-bottom-half/headers/private/errno.h");
    let without = text(&private)?.replace("#define EOPNOTSUPP ENOTSUP", "");
    write(&private, without.as_bytes())?;
    let api = public.join("wasi/api.h");
    let known = text(&api)?;
    let numbered = known.lines().map(|line| linux_number(line, &numbers));
    let numbered: String = numbered.map(|line| line + "\n").collect();
    write(&api, numbered.as_bytes())?;

    let texts = musl.join("src/errno/__strerror.h");
    let mut said = text(&texts)?.replace(
        "#ifdef __wasilibc_unmodified_upstream // errno value not in WASI",
        "#if 1",
    );
    said = said.replace("E(ENOTCAPABLE, ", "// ");
    for (from, to) in LINUX_SAYS {
        said = said.replace(&format!("\"{from}\""), &format!("\"{to}\""));
    }
    write(&texts, said.as_bytes())
}

/// Returns a line of WASI's header in which an error has the number of Linux. `numbers` is the
/// header with those.
fn linux_number(line: &str, numbers: &str) -> String {
    let defined = |name: &str| {
        let mut lines = numbers.lines().map(|line| line.split_whitespace());
        lines.find_map(|mut words| {
            let is_it = words.next() == Some("#define") && words.next() == Some(name);
            is_it.then(|| words.next().unwrap_or_default())
        })
    };
    let number = || {
        let (name, _) = line
            .strip_prefix("#define __WASI_ERRNO_")?
            .split_once(' ')?;
        let mut number = defined(&format!("E{name}"))?;
        // Some errors are others by another name.
        while let Some(other) = defined(number) {
            number = other;
        }
        Some(format!("#define __WASI_ERRNO_{name} (UINT16_C({number}))"))
    };
    number().unwrap_or_else(|| line.to_owned())
}

/// Writes the headers to the folder `include`.
fn headers(root: &Path, include: &Path) -> Result<(), Failed> {
    let musl = root.join(MUSL);
    let types = [
        musl.join("arch/wasm32/bits/alltypes.h.in"),
        musl.join("include/alltypes.h.in"),
    ];
    for (from, to) in [
        (
            root.join("libc-bottom-half/headers/public"),
            include.to_owned(),
        ),
        (musl.join("include"), include.to_owned()),
        (musl.join("arch/generic/bits"), include.join("bits")),
        (musl.join("arch/wasm32/bits"), include.join("bits")),
    ] {
        copy(&from, &to)?;
    }
    let mut text = String::new();
    for file in &types {
        text += &all_types(&String::from_utf8_lossy(&read(file)?));
    }
    write(&include.join("bits/alltypes.h"), text.as_bytes())?;
    for name in LEFT_OUT {
        match fs::remove_file(include.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(because(&format!("{name}: {error}")));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Copies the files of a folder and of those in it.
fn copy(from: &Path, to: &Path) -> Result<(), Failed> {
    for path in entries(from)? {
        let Some(name) = path.file_name() else {
            continue;
        };
        let to = to.join(name);
        if path.is_dir() {
            copy(&path, &to)?;
        } else {
            write(&to, &read(&path)?)?;
        }
    }
    Ok(())
}

/// Returns the part of a header that defines each type when it is asked for.
fn all_types(template: &str) -> String {
    let mut text = String::new();
    for line in template.lines() {
        let guarded = |mark: &str, name: &str, definition: String| {
            format!(
                "#if defined(__NEED_{mark}{name}) && !defined(__DEFINED_{mark}{name})\n{definition}\n\
                 #define __DEFINED_{mark}{name}\n#endif\n"
            )
        };
        let declared = line.strip_suffix(';').unwrap_or(line);
        text += &match declared.split_once(' ') {
            Some(("TYPEDEF", rest)) => match rest.rsplit_once(' ') {
                Some((_, name)) => guarded("", name, format!("typedef {rest};")),
                None => continue,
            },
            Some((kind @ ("STRUCT" | "UNION"), rest)) => {
                let kind = kind.to_lowercase();
                let rest = rest.trim_start();
                let name = rest.split(' ').next().unwrap_or(rest);
                guarded(&format!("{kind}_"), name, format!("{kind} {rest};"))
            }
            _ => format!("{line}\n"),
        };
    }
    text
}

/// Returns every file of the C library that is compiled.
fn sources(root: &Path, own: &Path) -> Result<Vec<PathBuf>, Failed> {
    let mut sources = Vec::new();
    let musl = root.join(MUSL).join("src");
    for (folder, left_out) in FOLDERS {
        let mut files = c_files(&musl.join(folder))?;
        let stem = |path: &Path| {
            path.file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
        };
        files.retain(|file| {
            !left_out
                .iter()
                .any(|name| stem(file).as_deref() == Some(*name))
        });
        sources.extend(files);
    }
    for (folder, files) in FILES_OF_MUSL {
        sources.extend(
            files
                .iter()
                .map(|file| musl.join(folder).join(format!("{file}.c"))),
        );
    }
    for folder in [
        "libc-bottom-half/cloudlibc/src",
        "libc-bottom-half/sources",
        "libc-top-half/sources",
    ] {
        let mut files = all_c_files(&root.join(folder))?;
        // Each side has its own.
        files.retain(|file| !file.ends_with("sbrk.c"));
        sources.extend(files);
    }
    sources.push(root.join("dlmalloc/src/dlmalloc.c"));
    sources.extend(c_files(&own.join("lib/libc"))?);
    Ok(sources)
}

/// Returns the flags for a file of the C library.
fn flags(root: &Path, own: &Path, source: &Path) -> Vec<String> {
    let mut flags: Vec<String> = FREESTANDING.iter().map(|flag| (*flag).to_owned()).collect();
    let musl = root.join(MUSL);
    let folders = if source.starts_with(root.join("dlmalloc")) {
        // The local store of an SPU is small, so memory is taken in small steps.
        flags.push("-Dmalloc_getpagesize=((size_t)1024U)".to_owned());
        vec![root.join("dlmalloc/include")]
    } else if source.starts_with(root.join("libc-bottom-half")) {
        vec![
            root.join("libc-bottom-half/headers/private"),
            root.join("libc-bottom-half/cloudlibc/src/include"),
            root.join("libc-bottom-half/cloudlibc/src"),
        ]
    } else {
        vec![
            musl.join("src/include"),
            musl.join("src/internal"),
            musl.join("arch/wasm32"),
            musl.join("arch/generic"),
            root.join("libc-top-half/headers/private"),
        ]
    };
    flags.extend(
        folders
            .iter()
            .map(|folder| format!("-I{}", folder.display())),
    );
    if source.ends_with("stdio/vfprintf.c") {
        // `lib/libc/printf.c` has the function, and calls this one.
        flags.push("-Dvfprintf=__cw_vfprintf".to_owned());
    }
    let builtins = own.join("lib/libc/builtins.h");
    flags.extend(["-include".to_owned(), builtins.display().to_string()]);
    flags.push(format!(
        "-fdebug-prefix-map={}=/cellworks/libc",
        root.display()
    ));
    flags
}

/// Compiles the sources of a library to objects in a folder, and says so.
pub(super) fn compile_with_progress(
    front: &FrontEnd<'_>,
    library: &str,
    sources: &[PathBuf],
    folder: &Path,
    flags: impl Fn(&Path) -> Vec<String> + Sync,
) -> Result<Vec<PathBuf>, Failed> {
    let done = AtomicUsize::new(0);
    let number = sources.len();
    let shown = io::stderr().is_terminal();
    eprintln!(
        "note: the {library} is compiled for the Cell's order of bytes, once; {number} files"
    );
    let objects = compile_all(front, sources, folder, flags, |_| {
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if shown {
            // The number is not needed if it cannot be written.
            let _ = write!(io::stderr(), "\r{done} of {number}");
        }
    })?;
    if shown {
        eprintln!();
    }
    Ok(objects)
}

/// Compiles sources to objects in a folder, on all processors.
fn compile_all(
    front: &FrontEnd<'_>,
    sources: &[PathBuf],
    folder: &Path,
    flags: impl Fn(&Path) -> Vec<String> + Sync,
    done: impl Fn(&Path) + Sync,
) -> Result<Vec<PathBuf>, Failed> {
    let object = |at: usize| folder.join(format!("{at}.o"));
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(None);
    let workers = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(sources.len());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((at, source)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    sources.get(at).map(|source| (at, source))
                } {
                    if let Err(failure) = front.compile(source, &object(at), &flags(source)) {
                        next.store(sources.len(), Ordering::Relaxed);
                        *failed.lock().unwrap_or_else(|poison| poison.into_inner()) = Some(failure);
                    }
                    done(source);
                }
            });
        }
    });
    match failed
        .into_inner()
        .unwrap_or_else(|poison| poison.into_inner())
    {
        Some(failure) => Err(failure),
        None => Ok((0..sources.len()).map(object).collect()),
    }
}

/// Writes objects to an archive.
pub(super) fn archive(objects: &[PathBuf], output: &Path) -> Result<(), Failed> {
    let mut members = Vec::new();
    for object in objects {
        let name = object
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        members.push(Member {
            name,
            bytes: read(object)?,
        });
    }
    write(output, &encode(&members))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_is_not_taken_for_the_source() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("other.tar.xz");
        write(&file, b"abc").unwrap();
        let Err(Failed::Because(message)) = check(&file) else {
            panic!("it was taken");
        };
        // The SHA-256 of "abc" is an example of the standard.
        let of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        for part in ["other.tar.xz: ", of_abc, SOURCE_SHA256, SOURCE_URL] {
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn errors_have_the_numbers_of_linux() {
        let numbers = "#define EPERM 1\n#define EOPNOTSUPP      95\n#define ENOTSUP EOPNOTSUPP\n";
        for (line, expected) in [
            (
                "#define __WASI_ERRNO_PERM (UINT16_C(63))",
                "#define __WASI_ERRNO_PERM (UINT16_C(1))",
            ),
            (
                "#define __WASI_ERRNO_NOTSUP (UINT16_C(58))",
                "#define __WASI_ERRNO_NOTSUP (UINT16_C(95))",
            ),
            (
                "#define __WASI_ERRNO_SUCCESS (UINT16_C(0))",
                "#define __WASI_ERRNO_SUCCESS (UINT16_C(0))",
            ),
            ("typedef int other;", "typedef int other;"),
        ] {
            assert_eq!(linux_number(line, numbers), expected);
        }
    }

    #[test]
    fn a_type_is_defined_where_it_is_asked_for() {
        assert_eq!(
            all_types(
                "#define X 1\nTYPEDEF unsigned long size_t;\nSTRUCT iovec { void *base; };\n"
            ),
            "#define X 1\n\
             #if defined(__NEED_size_t) && !defined(__DEFINED_size_t)\n\
             typedef unsigned long size_t;\n\
             #define __DEFINED_size_t\n\
             #endif\n\
             #if defined(__NEED_struct_iovec) && !defined(__DEFINED_struct_iovec)\n\
             struct iovec { void *base; };\n\
             #define __DEFINED_struct_iovec\n\
             #endif\n"
        );
    }
}
