//! From C to an object: clang's front end of the PowerPC, the order of bytes, and clang's code
//! generator of WebAssembly.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::driver::tools::{Failed, Side, because};

use super::alignments::Lowered;
use super::cache::write;
use super::cpp_source;
use super::overloads::shortened;
use super::programs::Programs;
use super::remedies::remedies;

/// The language is that of the PowerPC with its vectors: 32 bits, big-endian, `char` unsigned.
const FRONT_END: &[&str] = &[
    "--target=powerpc",
    "-maltivec",
    "-mvsx",
    "-mcpu=pwr8",
    "-mlong-double-64",
    "-maix-struct-return",
    "-flax-vector-conversions",
    "-nostdlibinc",
    // Programs ask for memory only to see how much there is.
    "-fno-builtin-malloc",
    "-fno-builtin-calloc",
    "-fno-builtin-realloc",
    // Old programs read memory as another type than it was written, and no function sets errno.
    "-fno-strict-aliasing",
    "-fno-math-errno",
    "-fno-strict-return",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    "-g",
    "-D__wasm__=1",
    "-D__wasm32__=1",
    "-D__wasi__=1",
    // `lib/common/posix.c` has what these headers declare.
    "-D_WASI_EMULATED_GETPID",
    "-D_WASI_EMULATED_MMAN",
    "-D_WASI_EMULATED_PROCESS_CLOCKS",
    "-D_WASI_EMULATED_SIGNAL",
    "-U__VSX__",
    "-U__CRYPTO__",
    "-U__HTM__",
    "-U__POWER8_VECTOR__",
    "-U_ARCH_PWR4",
    "-U_ARCH_PWR5",
    "-U_ARCH_PWR5X",
    "-U_ARCH_PWR6",
    "-U_ARCH_PWR7",
    "-U_ARCH_PWR8",
    "-U__ELF__",
    "-U__FP_FAST_FMA",
    "-U__FP_FAST_FMAF",
];

/// What the PPU is known by.
const PPU: &[&str] = &["-D__PPU__=1", "-D__ppu__=1", "-frtti"];

/// `main` has three parameters of 64 bits on an SPU, and others in old C. Only under another name
/// does clang take them.
const MAIN: &[&str] = &["-Dmain=__cell_main"];

/// What an SPU is known by: it is no PowerPC.
const SPU: &[&str] = &[
    "-U__powerpc__",
    "-U__PPC__",
    "-U__ppc__",
    "-U__POWERPC__",
    "-U_ARCH_PPC",
    "-U_ARCH_PPCGR",
    "-U_ARCH_PPCSQ",
    "-U__ALTIVEC__",
    "-U__VEC__",
    "-D__SPU__=1",
    "-D__spu__=1",
];

/// What the SDK's gcc took, or only warned of.
const OLD_C: &[&str] = &[
    "-fcommon",
    "-Wno-unknown-warning-option",
    "-Wno-unused-command-line-argument",
    "-Wno-implicit-int",
    "-Wno-deprecated-non-prototype",
    "-Wno-return-type",
    "-Wno-empty-body",
    "-Wno-gnu-designator",
    "-Wno-invalid-source-encoding",
    // Ours is fabs in tgmath.h.
    "-Wno-absolute-value",
    // printf prints vectors.
    "-Wno-format-invalid-specifier",
    "-Wno-error=implicit-function-declaration",
    "-Wno-error=int-conversion",
    "-Wno-error=incompatible-pointer-types",
    "-Wno-error=incompatible-function-pointer-types",
    "-Wno-error=return-mismatch",
    "-Wno-deprecated-altivec-src-compat",
    "-Wno-deprecate-lax-vec-conv-all",
    // Ours is the way in which the next argument is read, and that atomic operations are not
    // locked.
    "-Wno-unsequenced",
    "-Wno-atomic-alignment",
];

/// What no flag of the user changes: WebAssembly always rounds to the nearest number, and nothing
/// traps.
const FIXED: &[&str] = &["-fno-rounding-math", "-fno-trapping-math"];

/// Functions that write through a pointer, and which clang must call and not know.
const CALLED: &[&str] = &["frexp", "modf", "remquo", "sincos"];

/// The level at which each access of memory happens where the program says, and that of gcc if no
/// flag has one.
const UNOPTIMISED: &str = "-O0";

/// Leaves handlers of exceptions out, and with them the destruction of variables by an exception.
const IGNORE_EXCEPTIONS: &str = "-fignore-exceptions";

/// The part of clang that reads C for one side.
pub(crate) struct FrontEnd<'a> {
    pub(crate) clang: &'a Path,
    flags: Vec<String>,
    /// Whether volatile words may be registers of an SPE.
    has_registers: bool,
    /// The cache with the library of C++, if a source that needs it gets it.
    cpp: Option<PathBuf>,
    /// Whether handlers of exceptions are left out.
    ignores_exceptions: bool,
}

impl<'a> FrontEnd<'a> {
    /// Returns the front end for a side. `own` has our headers, and `library` those of the C
    /// library.
    pub(crate) fn new(programs: &'a Programs, side: Side, own: &Path, library: &Path) -> Self {
        let side_folder = match side {
            Side::Ppu => "ppu",
            Side::Spu => "spu",
        };
        let common = own.join("include/common");
        let mut flags: Vec<String> = Vec::new();
        let macros = match side {
            Side::Ppu => PPU,
            Side::Spu => SPU,
        };
        for group in [FRONT_END, macros, MAIN, OLD_C] {
            flags.extend(group.iter().map(|flag| (*flag).to_owned()));
        }
        for name in CALLED {
            flags.extend(["", "f", "l"].map(|end| format!("-fno-builtin-{name}{end}")));
        }
        for (folder, name) in [(own, "/cellworks"), (library, "/cellworks/libc")] {
            flags.push(format!("-fdebug-prefix-map={}={name}", folder.display()));
        }
        flags.extend([
            "-include".to_owned(),
            common.join("cellworks.h").display().to_string(),
        ]);
        for folder in [
            own.join("include").join(side_folder),
            common.join("simdmath"),
            common,
            library.join("include"),
        ] {
            flags.extend(["-isystem".to_owned(), folder.display().to_string()]);
        }
        Self {
            clang: &programs.clang,
            flags,
            has_registers: false,
            cpp: None,
            ignores_exceptions: false,
        }
    }

    /// Returns the front end for sources of a user. Those of the PPU may reach registers, and get
    /// the library of C++ in `cache` if they need it.
    pub(crate) fn for_user(mut self, side: Side, cache: &Path) -> Self {
        self.has_registers = side == Side::Ppu;
        self.cpp = (side == Side::Ppu).then(|| cache.to_owned());
        self
    }

    /// Returns the front end for a source that needs the library of C++, whose source is in a
    /// folder. It leaves out handlers of exceptions.
    pub(crate) fn with_cpp(&self, library: &Path) -> Self {
        let mut flags = self.flags.clone();
        let headers = flags.iter().position(|flag| flag == "-isystem");
        let before = headers.unwrap_or(flags.len());
        flags.splice(before..before, cpp_source::flags(library));
        flags.push(IGNORE_EXCEPTIONS.to_owned());
        Self {
            clang: self.clang,
            flags,
            has_registers: self.has_registers,
            cpp: None,
            ignores_exceptions: true,
        }
    }

    /// Returns the front end with handlers of exceptions.
    fn with_handlers(&self) -> Self {
        let flags = self.flags.iter().filter(|flag| *flag != IGNORE_EXCEPTIONS);
        Self {
            clang: self.clang,
            flags: flags.cloned().collect(),
            has_registers: self.has_registers,
            cpp: None,
            ignores_exceptions: false,
        }
    }

    /// Returns the front end with the library of C++, if clang has refused a source without it.
    fn with_cpp_if_needed(&self, said: &str) -> Result<Option<Self>, Failed> {
        match &self.cpp {
            Some(cache) if cpp_source::is_needed(said) => {
                Ok(Some(self.with_cpp(&cpp_source::unpacked(cache)?)))
            }
            _ => Ok(None),
        }
    }

    /// Returns the front end with which a source is preprocessed.
    pub(crate) fn for_preprocessor(self, source: &Path, flags: &[String]) -> Result<Self, Failed> {
        if self.cpp.is_none() || !flags.iter().any(|flag| flag.starts_with("c++")) {
            return Ok(self);
        }
        let mut front = self.command();
        front
            .args(["-E", "-w", "-o", "/dev/null"])
            .args(flags)
            .arg(source);
        let read = front.stdin(Stdio::null()).output();
        let read = read.map_err(|error| cannot_run(self.clang, &error))?;
        let with_cpp = self.with_cpp_if_needed(&String::from_utf8_lossy(&read.stderr))?;
        Ok(with_cpp.unwrap_or(self))
    }

    /// Returns the command that reads sources with the side's flags.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(self.clang);
        command.args(&self.flags);
        command
    }

    /// Reads a source, and returns what clang has written.
    fn read(&self, level: &str, source: &Path, flags: &[String]) -> Result<Output, Failed> {
        let mut front = self.command();
        front.args([
            level,
            "-Xclang",
            "-disable-llvm-passes",
            "-emit-llvm",
            "-S",
            "-o",
            "-",
        ]);
        if io::stderr().is_terminal() {
            front.arg("-fcolor-diagnostics");
        }
        front.args(flags).args(FIXED).arg(source);
        // Clang takes the conversions of vectors for mistakes, and what follows them.
        if fs::read(source).is_ok_and(|text| prints_vectors(&text)) {
            front.arg("-Wno-format");
        }
        let read = front.stdin(Stdio::null()).output();
        read.map_err(|error| cannot_run(self.clang, &error))
    }

    /// Returns what the preprocessor makes of a source, about which clang has said what it has to.
    fn preprocessed(&self, source: &Path, flags: &[String]) -> Result<String, Failed> {
        let mut front = self.command();
        front.args(["-E", "-w"]).args(flags).arg(source);
        let read = front.stdin(Stdio::null()).output();
        let read = read.map_err(|error| cannot_run(self.clang, &error))?;
        Ok(String::from_utf8_lossy(&read.stdout).into_owned())
    }

    /// Compiles a source to an object.
    pub(crate) fn compile(
        &self,
        source: &Path,
        output: &Path,
        given: &[String],
    ) -> Result<(), Failed> {
        let level = given.iter().rev().find(|flag| flag.starts_with("-O"));
        let level = level.map_or(UNOPTIMISED, String::as_str);
        let is_unoptimised = level == UNOPTIMISED;
        // Without any optimisation, clang 19 takes hours for a function of long expressions.
        let level = if is_unoptimised { "-O1" } else { level };
        let flags: Vec<String> = given
            .iter()
            .filter(|flag| *flag != UNOPTIMISED)
            .cloned()
            .collect();
        let flags = &flags[..];
        let mut read = self.read(level, source, flags)?;
        let mut said = String::from_utf8_lossy(&read.stderr).into_owned();
        if !read.status.success()
            && let Some(front) = self.with_cpp_if_needed(&said)?
        {
            return front.compile(source, output, given);
        }
        let mut lowered = Lowered::default();
        while !read.status.success() {
            let notes = lowered.add(&said);
            if notes.is_empty() {
                break;
            }
            let text = lowered.in_text(&self.preprocessed(source, flags)?);
            let folder = tempfile::tempdir()
                .map_err(|error| because(&format!("a temporary folder: {error}")))?;
            let is_c = source.extension().is_none_or(|extension| extension == "c");
            let name = if is_c { "source.i" } else { "source.ii" };
            let file = folder.path().join(name);
            write(&file, text.as_bytes())?;
            read = self.read(level, &file, flags)?;
            said = String::from_utf8_lossy(&read.stderr).into_owned();
            for note in notes {
                eprintln!("{}: note: {note}", source.display());
            }
        }
        // What cannot be printed is lost.
        let _ = io::stderr().write_all(shortened(&said).as_bytes());
        if !read.status.success() {
            for remedy in remedies(&said) {
                eprintln!("note: {remedy}");
            }
            return Err(Failed::Said);
        }
        let name = source.display();
        let ir = String::from_utf8(read.stdout)
            .map_err(|_| because(&format!("{name}: the source is no UTF-8")))?;
        if self.ignores_exceptions && catches(&ir) {
            return self.with_handlers().compile(source, output, given);
        }
        let ir = as_in_source(&ir);
        let big = match (is_unoptimised, self.has_registers) {
            (true, has_registers) => cellworks_big_endian::rewrite_unoptimised(&ir, has_registers),
            (false, true) => cellworks_big_endian::rewrite_with_registers(&ir),
            (false, false) => cellworks_big_endian::rewrite(&ir),
        };
        let big = big.map_err(|error| because(&format!("{name}: {error}")))?;

        let mut back = Command::new(self.clang);
        back.args([
            "--target=wasm32-wasip1",
            // The optimiser would write addresses to tables of its own, in the order of
            // WebAssembly, and the linker does not know them from those of the program.
            "-mllvm",
            "-switch-to-lookup=false",
            // Calls that end the program stay apart, each with its line: `nomerge` alone is not
            // heeded.
            "-mllvm",
            "-enable-tail-merge=0",
            // For setjmp: see `lib/common/setjmp.c`.
            "-mllvm",
            "-enable-emscripten-sjlj",
        ]);
        if big.contains(" landingpad ") {
            // For exceptions: see `lib/cpp/exceptions.cpp`.
            back.args(["-mllvm", "-enable-emscripten-cxx-exceptions"]);
        }
        back.args([level, "-w", "-x", "ir", "-c", "-", "-o"]);
        let mut back = back
            .arg(output)
            .stdin(Stdio::piped())
            .spawn()
            .map_err(|error| cannot_run(self.clang, &error))?;
        // If clang ends early, it says why.
        let given = back
            .stdin
            .take()
            .map(|mut stdin| stdin.write_all(big.as_bytes()));
        let end = back
            .wait()
            .map_err(|error| cannot_run(self.clang, &error))?;
        match (end.success(), given) {
            (true, Some(Ok(()))) => Ok(()),
            _ => Err(because(&format!(
                "{name}: clang could not make WebAssembly of it; please report it"
            ))),
        }
    }
}

/// Returns whether functions of IR may catch exceptions: whether one of the files in which they are
/// has the word for it. Our own files are left out, because the library catches nothing.
///
/// Without handlers, no call has to go through the machine, which takes longer (`run/jump.rs`).
fn catches(ir: &str) -> bool {
    let files = ir.lines().filter_map(|line| {
        let (_, rest) = line.split_once("!DIFile(filename: \"")?;
        let (name, rest) = rest.split_once("\", directory: \"")?;
        Some(Path::new(rest.split('"').next()?).join(name))
    });
    let mut files = files.filter(|file| !file.starts_with("/cellworks"));
    files.any(|file| fs::read(file).is_ok_and(|text| has_word(&text, b"catch")))
}

fn has_word(text: &[u8], word: &[u8]) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    text.split(|byte| !is_part(byte)).any(|found| found == word)
}

/// Returns whether a source has conversions of printf for vectors, such as `%vd` and `%,hvx`.
fn prints_vectors(source: &[u8]) -> bool {
    source.split(|byte| *byte == b'%').skip(1).any(|after| {
        let sizes = |byte: &&u8| b"-+ #,;:_.*0123456789hl".contains(byte);
        let end = after.iter().take_while(sizes).count();
        matches!(after[end..], [b'v', letter, ..] if b"cdiouxXaAeEfFgG".contains(&letter))
    })
}

/// Gives what clang has read the names that it has on a Cell: the end of the variables is `_end`,
/// and `__func__` in `main` is `main`. A shorter text of the same length keeps the type.
fn as_in_source(ir: &str) -> String {
    const MAIN: &str = "c\"__cell_main\\00\"";
    let ir = ir.replace(MAIN, &format!("c\"main{}\"", "\\00".repeat(8)));
    if !ir.contains("\n@_end = external ") {
        return ir;
    }
    let mut parts = ir.split("@_end");
    let mut all = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_longer =
            part.starts_with(|next: char| next.is_ascii_alphanumeric() || "._$-".contains(next));
        all += if is_longer { "@_end" } else { "@__heap_base" };
        all += part;
    }
    all
}

/// Says that a program does not start.
pub(crate) fn cannot_run(program: &Path, error: &std::io::Error) -> Failed {
    because(&format!("{}: {error}", program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_of_vectors_are_found() {
        for text in [
            "%vd",
            "%,vd",
            "%08vx",
            "%hvd",
            "a %d %.2vf b",
            "100% %%%lvu",
        ] {
            assert!(prints_vectors(text.as_bytes()), "{text}");
        }
        for text in ["%d", "% of values", "v", "%", "%v", "a %hd vd", "5%vs"] {
            assert!(!prints_vectors(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn only_a_declared_end_is_that_of_the_variables() {
        let declared = "\n@_end = external global i8\n  store ptr @_end, ptr @_ender\n";
        assert_eq!(
            as_in_source(declared),
            "\n@__heap_base = external global i8\n  store ptr @__heap_base, ptr @_ender\n"
        );
        let own = "\n@_end = global i8 0\n  store ptr @_end\n";
        assert_eq!(as_in_source(own), own);
    }
}
