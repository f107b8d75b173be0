//! `ppu-gcc`, `spu-gcc` and the other compilers.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use wasmparser::{Parser, Payload};

use crate::format::OBJECT_SECTION;

use super::flags::{Asked, Dependencies, GCC_VERSION, Input, Job, Mode, parse};
use super::tools::{Failed, Side, Stack, Tools, because};

/// The first line of an executable of the PPU, by which the system finds `cellworks exec`.
pub(crate) const FIRST_LINE: &[u8] = b"#!/usr/bin/env -S cellworks exec\n";

/// The libraries of the SDK and of the C library whose functions are linked without being named.
pub(crate) const OWN_LIBRARIES: &[&str] = &[
    "c",
    "dl",
    "g",
    "gcc",
    "gcc_s",
    "m",
    "mass",
    "mass_simd",
    "massv",
    "misc",
    "pthread",
    "rt",
    "simdmath",
    "spe",
    "spe2",
    "speevent",
    "sputimer",
    "stdc++",
    "supc++",
    "sync",
];

/// Runs a compiler, and returns the exit code. `name` is the name by which it was called.
pub(crate) fn run(
    tools: &dyn Tools,
    name: &str,
    side: Side,
    cpp: bool,
    arguments: &[String],
) -> u8 {
    let end = match parse(side, cpp, arguments) {
        Err(message) => Err(Failed::Because(message)),
        Ok(Asked::Text(text)) => print(&format!("{text}\n")),
        Ok(Asked::Version) => print(&version(tools, name)),
        Ok(Asked::Job(mut job)) => {
            for note in &job.notes {
                eprintln!("{name}: note: {note}");
            }
            if job.verbose {
                eprintln!("gcc version {GCC_VERSION} ({})", tools.version());
            }
            // The preprocessor's own name.
            if name.ends_with("-cpp") {
                job.mode = Mode::Preprocess;
            }
            if job.verbose && job.inputs.is_empty() {
                Ok(())
            } else {
                compile_and_link(tools, side, &job)
            }
        }
    };
    code(name, end)
}

/// Prints why a tool failed, and returns the exit code.
pub(crate) fn code(name: &str, end: Result<(), Failed>) -> u8 {
    match end {
        Ok(()) => 0,
        Err(Failed::Said | Failed::Undefined) => 1,
        Err(Failed::Because(message)) => {
            eprintln!("{name}: error: {message}");
            1
        }
    }
}

/// Prints a text. A reader that has gone is no error.
pub(crate) fn print(text: &str) -> Result<(), Failed> {
    match io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(because(&format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

fn version(tools: &dyn Tools, name: &str) -> String {
    format!(
        "{name} (GCC) {GCC_VERSION} (Cellworks {}, {})\n\
         It takes the command line of GCC, and compiles Cell C to WebAssembly with clang.\n",
        env!("CARGO_PKG_VERSION"),
        tools.version()
    )
}

/// Compiles the sources of a job, and links what it has.
pub(crate) fn compile_and_link(tools: &dyn Tools, side: Side, job: &Job) -> Result<(), Failed> {
    let sources = job.inputs.iter();
    let sources = sources.filter(|input| matches!(input, Input::Source { .. }));
    let sources = sources.count();
    if job
        .inputs
        .iter()
        .all(|input| matches!(input, Input::Library(_)))
    {
        return Err(because("no input files"));
    }
    if job.mode != Mode::Link && sources > 1 && job.output.is_some() {
        return Err(because(
            "-o with several sources names one file for all; leave -o out, or link",
        ));
    }
    let kept =
        tempfile::tempdir().map_err(|error| because(&format!("a temporary folder: {error}")))?;
    let extension = if job.assembly { ".s" } else { ".o" };
    let mut objects = Vec::new();
    for input in &job.inputs {
        match input {
            Input::Source { path, language } => {
                let source = source(path, &kept)?;
                let mut flags = job.flags.clone();
                if let Some(language) = language {
                    flags.splice(0..0, ["-x".to_owned(), language.clone()]);
                }
                add_standard(&mut flags, language.as_deref());
                match job.mode {
                    Mode::Preprocess => {
                        let output = job.output.as_deref().map(Path::new);
                        tools.preprocess(side, &source, output, &flags)?;
                    }
                    Mode::Check => {
                        let object = kept.path().join("checked.o");
                        tools.compile(side, &source, &object, &flags)?;
                    }
                    Mode::Compile => {
                        let object = match &job.output {
                            Some(output) => PathBuf::from(output),
                            None => PathBuf::from(stem(path) + extension),
                        };
                        flags.extend(dependencies(job, &object));
                        tools.compile(side, &source, &object, &flags)?;
                    }
                    Mode::Link => {
                        let named = match &job.output {
                            Some(output) => PathBuf::from(output),
                            None => PathBuf::from(stem(path)),
                        };
                        flags.extend(dependencies(job, &named.with_extension("o")));
                        let name = format!("{}-{}.o", objects.len(), stem(path));
                        let object = kept.path().join(name);
                        tools.compile(side, &source, &object, &flags)?;
                        objects.push(object);
                    }
                }
            }
            Input::Object(path) if job.mode == Mode::Link && is_own_library(path) => {}
            Input::Object(path) if job.mode == Mode::Link => objects.push(object(side, path)?),
            // What -S has made is made an object by -c.
            Input::Object(path) if job.mode == Mode::Compile && is_assembly(path) => {
                let file = object(side, path)?;
                let object = job.output.clone().unwrap_or_else(|| stem(path) + ".o");
                fs::copy(file, &object).map_err(|error| because(&format!("{object}: {error}")))?;
            }
            Input::Library(name) if job.mode == Mode::Link => {
                objects.extend(library(side, name, &job.folders));
            }
            Input::Object(path) => {
                eprintln!("note: {path}: nothing is linked, so this file is not used");
            }
            Input::Library(_) => {}
        }
    }
    match job.mode {
        Mode::Link => {
            let output = Path::new(job.output.as_deref().unwrap_or("a.out"));
            link(tools, side, job.stack, &objects, output, &kept)
        }
        _ => Ok(()),
    }
}

/// Adds the standard of the language, if no flag says it: C99 and C++98 with the extensions of GNU.
/// The SDK's gcc took C89 and let programs use much of C99, and its `inline` was that of GNU's C89.
fn add_standard(flags: &mut Vec<String>, language: Option<&str>) {
    let given = flags
        .iter()
        .rev()
        .find(|flag| flag.starts_with("-std=") || *flag == "-ansi");
    let is_given = given.is_some();
    let is_old =
        given.is_none_or(|flag| ["98", "03", "ansi"].iter().any(|old| flag.ends_with(old)));
    let mut add = |flag: &str| flags.push(flag.to_owned());
    if language.is_some_and(|one| one.starts_with("c++")) {
        if !is_given {
            add("-std=gnu++98");
        }
        if is_old {
            // The headers of the C library use the word of newer C++.
            add("-Dthread_local=_Thread_local");
        }
    } else if !is_given {
        add("-std=gnu99");
        add("-fgnu89-inline");
    }
}

/// Links objects to an executable file.
fn link(
    tools: &dyn Tools,
    side: Side,
    stack: Stack,
    objects: &[PathBuf],
    output: &Path,
    kept: &TempDir,
) -> Result<(), Failed> {
    let module = kept.path().join("linked.wasm");
    tools.link(side, stack, objects, &module)?;
    write_executable(&module, output)
        .map_err(|error| because(&format!("{}: {error}", output.display())))
}

fn write_executable(module: &Path, output: &Path) -> io::Result<()> {
    let mut bytes = FIRST_LINE.to_vec();
    fs::File::open(module)?.read_to_end(&mut bytes)?;
    // A file that runs cannot be written, but it can be replaced.
    if output.is_file() {
        fs::remove_file(output)?;
    }
    fs::write(output, bytes)?;
    if !output.is_file() {
        // It is a device such as /dev/null, as in tests of configure scripts.
        return Ok(());
    }
    let mode = fs::metadata(output)?.permissions().mode();
    // Who may read may execute, as the creation mask allows.
    fs::set_permissions(
        output,
        fs::Permissions::from_mode(mode | (mode & 0o444) >> 2),
    )
}

/// Returns a source. `-` is standard input, which is kept in a file.
fn source(path: &str, kept: &TempDir) -> Result<PathBuf, Failed> {
    let unread = |error: io::Error| because(&format!("{path}: {error}"));
    if path != "-" {
        return match fs::metadata(path) {
            Ok(_) => Ok(PathBuf::from(path)),
            Err(error) => Err(because(&match error.kind() {
                io::ErrorKind::NotFound => format!("{path}: No such file or directory"),
                _ => format!("{path}: {error}"),
            })),
        };
    }
    let mut text = Vec::new();
    io::stdin().read_to_end(&mut text).map_err(unread)?;
    let file = kept.path().join("stdin.c");
    fs::write(&file, text).map_err(unread)?;
    Ok(file)
}

/// Returns the flags by which clang writes the dependencies of `object`.
fn dependencies(job: &Job, object: &Path) -> Vec<String> {
    let Some(Dependencies {
        own_only,
        file,
        flags,
    }) = &job.dependencies
    else {
        return Vec::new();
    };
    let object = object.display().to_string();
    let file = file
        .clone()
        .unwrap_or_else(|| Path::new(&object).with_extension("d").display().to_string());
    let mut all = vec![
        if *own_only { "-MMD" } else { "-MD" }.to_owned(),
        "-MF".to_owned(),
        file,
    ];
    let names_target = |flag: &String| flag.starts_with("-MT") || flag.starts_with("-MQ");
    if !flags.iter().any(names_target) {
        all.extend(["-MT".to_owned(), object]);
    }
    all.extend(flags.iter().cloned());
    all
}

fn is_assembly(path: &str) -> bool {
    [".s", ".S", ".asm"].iter().any(|end| path.ends_with(end))
}

/// Returns an object or archive, after a look at its first bytes.
fn object(side: Side, path: &str) -> Result<PathBuf, Failed> {
    let unread = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => because(&format!("{path}: No such file or directory")),
        _ => because(&format!("{path}: {error}")),
    };
    let mut first = Vec::new();
    let file = fs::File::open(path).map_err(unread)?;
    file.take(8).read_to_end(&mut first).map_err(unread)?;
    match first.as_slice() {
        [0x7f, b'E', b'L', b'F', ..] => Err(because(&format!(
            "{path}: this object is of another compiler; remove it, such as by `make clean`, and compile it again"
        ))),
        b"!<arch>\n" if !is_archive_of_wasm(Path::new(path)) => Err(because(&format!(
            "{path}: this archive is of another compiler; remove it, and make it again"
        ))),
        [0, b'a', b's', b'm', ..] | b"!<arch>\n" => match other_side(Path::new(path), side) {
            Some(file) => Err(because(&of_other_side(side, path, &file))),
            None => Ok(PathBuf::from(path)),
        },
        first if FIRST_LINE.starts_with(first) && !first.is_empty() => Err(because(&format!(
            "{path}: this is a program and no object; link the objects of which it was made"
        ))),
        _ if is_assembly(path) => Err(because(&format!(
            "{path}: assembly of the {} cannot be compiled to WebAssembly; write the function in C, with the intrinsics \
             of {}",
            side.name(),
            match side {
                Side::Ppu => "ppu_intrinsics.h and altivec.h",
                Side::Spu => "spu_intrinsics.h",
            }
        ))),
        _ => Err(because(&format!(
            "{path}: this file is neither a source nor an object; name sources with .c or .cpp"
        ))),
    }
}

/// Returns the name of the first object of the other side in an object or archive.
fn other_side(path: &Path, side: Side) -> Option<String> {
    let other = match side {
        Side::Ppu => Side::Spu,
        Side::Spu => Side::Ppu,
    };
    let is_other = |module: &[u8]| {
        let sections = Parser::new(0).parse_all(module).map_while(Result::ok);
        let mut sections = sections.filter_map(|payload| match payload {
            Payload::CustomSection(section) if section.name() == OBJECT_SECTION => {
                Some(section.data() == other.name().as_bytes())
            }
            _ => None,
        });
        sections.any(|is_other| is_other)
    };
    let file = path.display().to_string();
    match super::ar::members(path) {
        Ok(members) => {
            let found = members.iter().find(|member| is_other(&member.bytes));
            found.map(|member| format!("{file} ({})", member.name))
        }
        Err(_) => is_other(&fs::read(path).ok()?).then_some(file),
    }
}

/// Says that `file`, which is `path` or in it, is for the other side, and what to do.
fn of_other_side(side: Side, path: &str, file: &str) -> String {
    match side {
        Side::Ppu => format!(
            "{file} is an object of an SPU program, and the PPU program cannot contain it; link it with spu-gcc to a \
             program, and embed that by `ppu-embedspu NAME PROGRAM NAME.o`, or give its sources to `cellworks cc`"
        ),
        Side::Spu => format!(
            "{file} is an object of the PPU; compile the sources of {path} with spu-gcc for an SPU program, and remove \
             objects that were made otherwise"
        ),
    }
}

/// Returns the archive of a library, or `None` if it is linked anyway or there is none.
fn library(side: Side, name: &str, folders: &[String]) -> Option<PathBuf> {
    let file = match name.strip_prefix(':') {
        Some(file) => file.to_owned(),
        None => format!("lib{name}.a"),
    };
    let mut paths = folders.iter().map(|folder| Path::new(folder).join(&file));
    let found = paths.find(|path| is_archive_of_wasm(path) && other_side(path, side).is_none());
    if found.is_none() && !OWN_LIBRARIES.contains(&name) {
        eprintln!(
            "note: -l{name}: no folder of -L has {file}, so the program is linked without it; compile it with \
             ppu-gcc and ppu-ar if the linker misses functions"
        );
    }
    found
}

/// Returns whether a path that leads to no file is that of a library of the SDK, which is linked
/// anyway.
fn is_own_library(path: &str) -> bool {
    let name = Path::new(path).file_name().and_then(|name| name.to_str());
    let name = name.and_then(|name| name.strip_prefix("lib")?.strip_suffix(".a"));
    let is_own =
        name.is_some_and(|name| OWN_LIBRARIES.contains(&name)) && !Path::new(path).exists();
    if is_own {
        eprintln!("note: {path}: there is no such file; this library of the SDK is always linked");
    }
    is_own
}

/// Returns whether a file is an archive with no object of another compiler at its begin.
fn is_archive_of_wasm(path: &Path) -> bool {
    super::ar::members(path).is_ok_and(|members| {
        let mut members = members.iter();
        members.all(|member| !member.bytes.starts_with(b"\x7fELF"))
    })
}

/// Returns the name of a file without its folders and its extension.
pub(crate) fn stem(path: &str) -> String {
    let stem = Path::new(path).file_stem();
    stem.map_or_else(
        || "a".to_owned(),
        |stem| stem.to_string_lossy().into_owned(),
    )
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// A toolchain that writes down its calls, and files with the beginning of WebAssembly.
    #[derive(Default)]
    struct Recorded(RefCell<Vec<String>>);

    impl Recorded {
        fn add(&self, what: &str, output: Option<&Path>, flags: &[String]) -> Result<(), Failed> {
            let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
            let to = output.map_or_else(String::new, |output| format!(" > {}", name(output)));
            self.0.borrow_mut().push(
                format!("{what}{to} {}", flags.join(" "))
                    .trim_end()
                    .to_owned(),
            );
            if let Some(output) = output {
                fs::write(output, b"\0asm").unwrap();
            }
            Ok(())
        }
    }

    impl Tools for Recorded {
        fn compile(
            &self,
            side: Side,
            source: &Path,
            output: &Path,
            flags: &[String],
        ) -> Result<(), Failed> {
            let name = source.file_name().unwrap().display().to_string();
            self.add(
                &format!("{} compile {name}", side.name()),
                Some(output),
                flags,
            )
        }

        fn preprocess(
            &self,
            side: Side,
            source: &Path,
            output: Option<&Path>,
            flags: &[String],
        ) -> Result<(), Failed> {
            let name = source.file_name().unwrap().display().to_string();
            self.add(&format!("{} preprocess {name}", side.name()), output, flags)
        }

        fn link(
            &self,
            side: Side,
            _: Stack,
            inputs: &[PathBuf],
            output: &Path,
        ) -> Result<(), Failed> {
            let name = |path: &PathBuf| path.file_name().unwrap().display().to_string();
            let names: Vec<String> = inputs.iter().map(name).collect();
            self.add(
                &format!("{} link {}", side.name(), names.join(" ")),
                Some(output),
                &[],
            )
        }

        fn version(&self) -> String {
            "clang 0".to_owned()
        }
    }

    /// Runs a compiler in a folder with the given files, whose paths begin with `@`. Returns the
    /// exit code and the calls.
    fn called(side: Side, files: &[(&str, &[u8])], line: &str) -> (u8, Vec<String>, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            fs::write(folder.path().join(name), bytes).unwrap();
        }
        let path = format!("{}/", folder.path().display());
        let arguments = line.split_whitespace().map(|word| word.replace('@', &path));
        let arguments: Vec<String> = arguments.collect();
        let tools = Recorded::default();
        let code = run(&tools, "test-gcc", side, false, &arguments);
        (code, tools.0.into_inner(), folder)
    }

    /// An archive with an object of another compiler.
    const FOREIGN: &[u8] =
        b"!<arch>\nx.o/            0           0     0     100644  4         `\n\x7fELF";

    const OBJECT: &[u8] = b"\0asm\x01\0\0\0";

    #[test]
    fn sources_and_objects_are_linked_in_their_order() {
        let files: &[(&str, &[u8])] = &[("a.c", b""), ("b.o", OBJECT), ("c.c", b"")];
        let (code, calls, folder) = called(Side::Ppu, files, "-O3 @a.c @b.o @c.c -lspe2 -o @out");
        assert_eq!(code, 0);
        assert_eq!(
            calls,
            [
                "PPU compile a.c > 0-a.o -O3 -std=gnu99 -fgnu89-inline",
                "PPU compile c.c > 2-c.o -O3 -std=gnu99 -fgnu89-inline",
                "PPU link 0-a.o b.o 2-c.o > linked.wasm",
            ]
        );
        let program = folder.path().join("out");
        let bytes = fs::read(&program).unwrap();
        assert_eq!(bytes, [FIRST_LINE, b"\0asm"].concat());
        let mode = fs::metadata(&program).unwrap().permissions().mode();
        assert_eq!(mode & 0o100, 0o100, "it can be executed");
    }

    #[test]
    fn an_spu_program_is_a_bare_module() {
        let (code, calls, folder) = called(Side::Spu, &[("a.c", b"")], "-std=c99 @a.c -o @out");
        assert_eq!(
            (code, calls[0].as_str()),
            (0, "SPU compile a.c > 0-a.o -std=c99")
        );
        let bytes = fs::read(folder.path().join("out")).unwrap();
        assert_eq!(bytes, [FIRST_LINE, b"\0asm"].concat());
    }

    #[test]
    fn dependencies_are_those_of_the_object() {
        let (code, calls, folder) = called(Side::Ppu, &[("a.c", b"")], "-MMD -c @a.c -o @x.o");
        let at = folder.path().display();
        assert_eq!(code, 0);
        assert_eq!(
            calls,
            [format!(
                "PPU compile a.c > x.o -std=gnu99 -fgnu89-inline -MMD -MF {at}/x.d -MT {at}/x.o"
            )]
        );
    }

    #[test]
    fn cpp_gets_the_language_and_its_old_standard() {
        let (_, calls, _folder) = called(Side::Spu, &[("a.cpp", b"")], "-E @a.cpp");
        assert_eq!(
            calls,
            ["SPU preprocess a.cpp -x c++ -std=gnu++98 -Dthread_local=_Thread_local"]
        );
    }

    #[test]
    fn a_library_in_a_folder_comes_before_ours() {
        let archive = b"!<arch>\n";
        let files: &[(&str, &[u8])] = &[
            ("a.o", OBJECT),
            ("libmine.a", archive),
            ("libm.a", archive),
            ("libnative.a", FOREIGN),
        ];
        let (_, calls, _folder) = called(
            Side::Ppu,
            files,
            "@a.o -L@ -lmine -lm -lspe2 -lnative -lgone -o @out",
        );
        assert_eq!(calls, ["PPU link a.o libmine.a libm.a > linked.wasm"]);
    }

    #[test]
    fn a_build_by_way_of_assembly_has_objects() {
        let files: &[(&str, &[u8])] = &[("a.c", b""), ("b.s", OBJECT), ("c.s", b"stop 1")];
        let (code, calls, _folder) = called(Side::Spu, files, "-S @a.c -o @a.s");
        assert_eq!(
            (code, calls[0].as_str()),
            (0, "SPU compile a.c > a.s -std=gnu99 -fgnu89-inline")
        );
        let (code, calls, folder) = called(Side::Spu, files, "-c @b.s -o @b.o");
        assert_eq!((code, calls), (0, Vec::new()));
        assert_eq!(fs::read(folder.path().join("b.o")).unwrap(), OBJECT);
        let (code, calls, _folder) = called(Side::Spu, files, "@b.s -o @b");
        assert_eq!(
            (code, calls),
            (0, vec!["SPU link b.s > linked.wasm".to_owned()])
        );
        for line in ["-c @c.s", "@c.s"] {
            let (code, calls, _folder) = called(Side::Spu, files, &format!("{line} -o @c"));
            assert_eq!((code, calls), (1, Vec::new()), "{line}");
        }
    }

    #[test]
    fn inputs_that_cannot_be_linked_are_errors() {
        let files: &[(&str, &[u8])] = &[
            ("elf.o", b"\x7fELF"),
            ("elf.a", FOREIGN),
            ("text", b"hello"),
            ("program", FIRST_LINE),
            ("empty.o", b""),
            ("a.c", b""),
            ("b.c", b""),
        ];
        for line in [
            "@elf.o",
            "@elf.a",
            "@text",
            "@program",
            "@empty.o",
            "@gone.o",
            "@gone.c",
            "",
            "-lm",
            "-c @a.c @b.c -o @x.o",
        ] {
            let (code, calls, _folder) = called(Side::Ppu, files, &format!("{line} -o @out"));
            assert_eq!((code, calls), (1, Vec::new()), "{line}");
        }
    }
}
