//! The library of C++: libc++, compiled for big-endian memory on the user's computer when the first
//! program is linked with it.

use std::path::{Path, PathBuf};

use crate::driver::tools::{Failed, Side, because};

use super::cache::{FILES, fingerprint, folder};
use super::compile::FrontEnd;
use super::cpp_source::unpacked;
use super::library::{archive, compile_with_progress, compiled_by, entries};
use super::programs::Programs;

/// What the sources of the library are compiled with.
const OF_LIBRARY: &[&str] = &[
    "-std=c++23",
    "-Os",
    "-g0",
    "-w",
    "-D_LIBCPP_BUILDING_LIBRARY",
    "-D_LIBCXXABI_BUILDING_LIBRARY",
    "-D_LIBCXXABI_DISABLE_VISIBILITY_ANNOTATIONS",
    "-D_LIBCXXABI_HAS_NO_THREADS",
    "-DLIBCXX_BUILDING_LIBCXXABI",
    "-DLIBCXXABI_NON_DEMANGLING_TERMINATE",
    // Destructors return nothing, as on a Cell.
    "-U__wasm__",
];

/// The sources of libc++ that are compiled: what C++98 has, and what its headers use.
const SOURCES: &[&str] = &[
    "algorithm",
    "bind",
    "call_once",
    "error_category",
    "exception",
    "fstream",
    "functional",
    "hash",
    "ios",
    "ios.instantiations",
    "iostream",
    "locale",
    "memory",
    "optional",
    "ostream",
    "random_shuffle",
    "stdexcept",
    "string",
    "strstream",
    "system_error",
    "typeinfo",
    "valarray",
    "vector",
    "verbose_abort",
];

/// The sources of libc++abi that are compiled. `lib/cpp` has what unwinds the stack.
const SOURCES_OF_ABI: &[&str] = &[
    "abort_message",
    "cxa_aux_runtime",
    "cxa_default_handlers",
    "cxa_exception",
    "cxa_handlers",
    "cxa_vector",
    "fallback_malloc",
    "private_typeinfo",
    "stdlib_exception",
    "stdlib_stdexcept",
    "stdlib_typeinfo",
];

/// Returns the archive of the library, after it has been compiled if it was not in the cache.
pub(super) fn library(
    programs: &Programs,
    cache: &Path,
    own: &Path,
    libc: &Path,
) -> Result<PathBuf, Failed> {
    let ours = FILES
        .iter()
        .filter(|(path, _)| path.starts_with("lib/cpp/"));
    let texts = ours.flat_map(|(path, text)| [*path, *text]);
    let texts = texts
        .chain(compiled_by())
        .chain([include_str!("cplusplus.rs"), include_str!("cpp_source.rs")]);
    let name = format!("cpp-{}-{}", programs.version, fingerprint(texts));
    let source = unpacked(cache)?;
    let built = folder(cache, &name, |new| {
        let work = tempfile::tempdir_in(new)
            .map_err(|error| because(&format!("{}: {error}", new.display())))?;
        let front = FrontEnd::new(programs, Side::Ppu, own, libc).with_cpp(&source);
        let (libcxx, abi) = (source.join("libcxx"), source.join("libcxxabi"));
        let file = |folder: &Path, name: &&str| folder.join("src").join(format!("{name}.cpp"));
        let mut sources: Vec<PathBuf> = SOURCES.iter().map(|name| file(&libcxx, name)).collect();
        sources.extend(SOURCES_OF_ABI.iter().map(|name| file(&abi, name)));
        sources.extend(entries(&own.join("lib/cpp"))?);
        let mut flags: Vec<String> = OF_LIBRARY.iter().map(|flag| (*flag).to_owned()).collect();
        for folder in [libcxx.join("src"), abi.join("include"), abi.join("src")] {
            flags.push(format!("-I{}", folder.display()));
        }
        let objects =
            compile_with_progress(&front, "library of C++", &sources, work.path(), |_| {
                flags.clone()
            })?;
        archive(&objects, &new.join("libcpp.a"))
    })?;
    Ok(built.join("libcpp.a"))
}
