//! The source of the library of C++, and who needs it.
//!
//! It is that of libc++ in the wheel of PyPI's ziglang, which the user downloads into the cache. It
//! is unpacked when the first source of the PPU needs its headers.

// Rejected: Debian's libc++-19-dev-wasm32, which has the headers (1.5 MB) and a little-endian
// archive; the source package of LLVM, of 164 MB; and Debian's emscripten, of 109 MB.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::driver::tools::{Failed, because};

use super::cache::folder;

/// The version of ziglang whose libc++, 19.1, all versions of clang from 19 take.
const WHEEL: &str = "ziglang-0.14.1-";

/// Unpacks the two folders of a wheel that are needed. Who has pip has Python.
const UNPACK: &str = "import sys, zipfile; wheel = zipfile.ZipFile(sys.argv[1]); \
                      wheel.extractall(sys.argv[2], [name for name in wheel.namelist() \
                      if name.startswith(('ziglang/lib/libcxx/', 'ziglang/lib/libcxxabi/'))])";

/// How the library is configured. The threads of the PPU are those of pthread.h alone.
const CONFIGURATION: &[&str] = &[
    "-D_GNU_SOURCE",
    "-D_LIBCPP_ABI_VERSION=1",
    "-D_LIBCPP_ABI_NAMESPACE=__1",
    "-D_LIBCPP_HAS_MUSL_LIBC",
    "-D_LIBCPP_HAS_NO_MONOTONIC_CLOCK",
    "-D_LIBCPP_HAS_NO_RANDOM_DEVICE",
    "-D_LIBCPP_HAS_NO_THREADS",
    "-D_LIBCPP_HAS_NO_TIME_ZONE_DATABASE",
    "-D_LIBCPP_HAS_NO_VENDOR_AVAILABILITY_ANNOTATIONS",
    "-D_LIBCPP_DISABLE_DEPRECATION_WARNINGS",
    "-D_LIBCPP_DISABLE_VISIBILITY_ANNOTATIONS",
    "-D_LIBCPP_HARDENING_MODE_DEFAULT=2", // none
    "-D_LIBCPP_PSTL_BACKEND_SERIAL",
];

/// The headers of the library that our own headers are not.
pub(super) const HEADERS: &[&str] = &[
    "algorithm",
    "any",
    "array",
    "bitset",
    "ccomplex",
    "chrono",
    "clocale",
    "codecvt",
    "complex",
    "csetjmp",
    "csignal",
    "cwchar",
    "cwctype",
    "deque",
    "exception",
    "forward_list",
    "fstream",
    "functional",
    "initializer_list",
    "iomanip",
    "ios",
    "iosfwd",
    "iostream",
    "istream",
    "iterator",
    "limits",
    "list",
    "locale",
    "map",
    "memory",
    "numeric",
    "optional",
    "ostream",
    "queue",
    "random",
    "ratio",
    "set",
    "sstream",
    "stack",
    "stdexcept",
    "streambuf",
    "string",
    "string_view",
    "strstream",
    "system_error",
    "tuple",
    "type_traits",
    "typeindex",
    "typeinfo",
    "unordered_map",
    "unordered_set",
    "utility",
    "valarray",
    "variant",
    "vector",
];

/// What clang says of a source that needs the library without a header of it.
const WITHOUT_EXCEPTIONS: &str = "with exceptions disabled";

/// Parts of the names that an object has if it needs the library.
const MARKS: &[&[u8]] = &[
    b"NSt3__1",
    b"__cxa_throw",
    b"__cxa_find_matching_catch",
    b"__dynamic_cast",
    b"__cxa_bad_typeid",
];

/// Returns whether a source that clang has refused needs the library.
pub(super) fn is_needed(said: &str) -> bool {
    said.lines().any(|line| {
        let header = line.split_once("' file not found");
        let header = header.and_then(|(before, _)| before.rsplit_once('\''));
        header.is_some_and(|(_, header)| HEADERS.contains(&header))
            || line.contains(WITHOUT_EXCEPTIONS)
    })
}

/// Returns whether objects and archives need the library.
pub(super) fn is_used_by(inputs: &[PathBuf]) -> bool {
    let has = |bytes: &[u8], mark: &[u8]| bytes.windows(mark.len()).any(|found| found == mark);
    let mut files = inputs.iter().filter_map(|input| fs::read(input).ok());
    files.any(|bytes| MARKS.iter().any(|mark| has(&bytes, mark)))
}

/// Returns the folder with the library's source, after it has been unpacked if it was not.
pub(super) fn unpacked(cache: &Path) -> Result<PathBuf, Failed> {
    let source = folder(cache, &format!("{WHEEL}source"), |new| {
        let unread = |error| because(&format!("{}: {error}", cache.display()));
        let mut files = fs::read_dir(cache).map_err(unread)?.flatten();
        let wheel = files.find(|file| {
            let name = file.file_name().to_string_lossy().into_owned();
            name.starts_with(WHEEL) && name.ends_with(".whl")
        });
        let version = WHEEL.trim_start_matches("ziglang-").trim_end_matches('-');
        let wheel = wheel.map(|file| file.path()).ok_or_else(|| {
            because(&format!(
                "this program needs the library of C++, whose source is in PyPI's package ziglang and could not be found; \
                 download the package (83 MB) once: python3 -m pip download --no-deps -d {} ziglang=={version}",
                cache.display()
            ))
        })?;
        let unpacked = Command::new("python3")
            .args(["-c", UNPACK])
            .args([wheel.as_path(), new])
            .status();
        if unpacked.is_ok_and(|status| status.success()) {
            Ok(())
        } else {
            Err(because(&format!(
                "{}: python3 cannot unpack this file; remove it, and download it again",
                wheel.display()
            )))
        }
    })?;
    Ok(source.join("ziglang/lib"))
}

/// Returns the flags by which a source finds the library's headers before all others, and may use
/// exceptions.
pub(super) fn flags(source: &Path) -> Vec<String> {
    let mut flags = vec!["-fexceptions".to_owned()];
    flags.extend(CONFIGURATION.iter().map(|flag| (*flag).to_owned()));
    let map = format!("-fdebug-prefix-map={}=/cellworks/cpp", source.display());
    flags.push(map);
    let include = source.join("libcxx/include").display().to_string();
    flags.extend(["-isystem".to_owned(), include]);
    flags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_needs_the_library_for_its_headers_and_for_exceptions() {
        for said in [
            "a.cpp:1:10: fatal error: 'vector' file not found\n",
            "a.cpp:3:5: error: cannot use 'throw' with exceptions disabled\n",
        ] {
            assert!(is_needed(said), "{said}");
        }
        for said in [
            "a.cpp:1:10: fatal error: 'vectors.h' file not found\n",
            "a.cpp:3:5: error: use of undeclared identifier 'vector'\n",
        ] {
            assert!(!is_needed(said), "{said}");
        }
    }

    #[test]
    fn without_the_wheel_an_error_says_how_to_get_it() {
        let cache = tempfile::tempdir().unwrap();
        let Err(Failed::Because(message)) = unpacked(cache.path()) else {
            panic!("there is no wheel");
        };
        let command = format!(
            "python3 -m pip download --no-deps -d {} ziglang==0.14.1",
            cache.path().display()
        );
        assert!(message.ends_with(&command), "{message}");
    }
}
