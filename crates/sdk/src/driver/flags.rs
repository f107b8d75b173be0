//! The command line of gcc, as the SDK's compilers have it.
//!
//! Each flag is one of four: it goes to clang, it is done here, it means nothing for WebAssembly,
//! or it is unknown. An unknown flag is reported once, in a sentence, and left out.

use std::io::Read;
use std::path::Path;

use super::tools::{Side, Stack};

/// What a command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// A line of text on standard output, such as a version.
    Text(String),
    /// `--version`.
    Version,
    Job(Job),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    #[default]
    Link,
    Compile,
    Preprocess,
    /// Checks the sources, and writes nothing.
    Check,
}

/// The inputs, the outputs and the flags of a call.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Job {
    pub mode: Mode,
    pub inputs: Vec<Input>,
    pub output: Option<String>,
    /// Flags of the preprocessor and the compiler, in their order.
    pub flags: Vec<String>,
    /// The folders of `-L`, in their order.
    pub folders: Vec<String>,
    /// The stack of an SPU program.
    pub stack: Stack,
    /// The file of dependencies, if a compilation also writes one.
    pub dependencies: Option<Dependencies>,
    /// Sentences for the user.
    pub notes: Vec<String>,
    /// `-S`: the object is in a file `.s`, from which the next call makes what it would make of
    /// assembly.
    pub assembly: bool,
    pub verbose: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// A source, and its language if `-x` or the name of the compiler says it.
    Source {
        path: String,
        language: Option<String>,
    },
    /// An object, an archive, or an SPU program.
    Object(String),
    /// The name after `-l`.
    Library(String),
}

/// `-MD` and its companions.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Dependencies {
    /// Whether headers of the system are left out, as by `-MMD`.
    pub own_only: bool,
    /// The file, by `-MF`.
    pub file: Option<String>,
    /// `-MT`, `-MQ` and `-MP`, with their values.
    pub flags: Vec<String>,
}

/// The version of gcc that the compilers say they are: that of the last SDKs.
pub(crate) const GCC_VERSION: &str = "4.1.1";

/// Parses a command line.
///
/// # Errors
///
/// A sentence about what cannot be done, such as `-shared`.
pub(crate) fn parse(side: Side, cpp: bool, arguments: &[String]) -> Result<Asked, String> {
    let mut parser = Parser {
        side,
        cpp,
        language: None,
        job: Job::default(),
        own_only: None,
        dependency: Dependencies::default(),
        only_dependencies: false,
        unknown: Vec::new(),
        linker: Vec::new(),
    };
    let arguments = expand(arguments, 0)?;
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        if let Some(asked) = parser.argument(argument, &mut rest)? {
            return Ok(asked);
        }
    }
    Ok(Asked::Job(parser.end()))
}

struct Parser {
    side: Side,
    cpp: bool,
    /// The language by the last `-x`.
    language: Option<String>,
    job: Job,
    /// Set by `-MD` (false) and `-MMD` (true).
    own_only: Option<bool>,
    dependency: Dependencies,
    /// Whether `-M` or `-MM` asks for dependencies in place of what the preprocessor makes.
    only_dependencies: bool,
    unknown: Vec<String>,
    /// The flags for the linker.
    linker: Vec<String>,
}

/// Flags that go to clang with the value that follows them, together or as another argument.
const WITH_VALUE: &[&str] = &[
    "-D",
    "-I",
    "-U",
    "-idirafter",
    "-imacros",
    "-include",
    "-iquote",
    "-isystem",
];

/// Those whose values are folders of headers.
const HEADER_FOLDERS: &[&str] = &["-I", "-idirafter", "-iquote", "-isystem"];

/// Returns whether a folder has the headers of this computer's own compiler. On a Cell, that is
/// the compiler that Makefiles mean, and gcc looks into these folders anyway.
fn is_of_this_computer(folder: &str) -> bool {
    let folders = ["/usr/include", "/usr/local/include"];
    folders
        .iter()
        .any(|own| Path::new(folder) == Path::new(own))
}

/// Flags with a value that mean nothing for WebAssembly.
const IGNORED_WITH_VALUE: &[&str] = &[
    "--param",
    "--sysroot",
    "-A",
    "-B",
    "-G",
    "-T",
    "-V",
    "-Xassembler",
    "-aux-info",
    "-b",
    "-e",
    "-iprefix",
    "-isysroot",
    "-iwithprefix",
    "-u",
    "-z",
];

/// Flags of machines, and others, that mean nothing for WebAssembly.
const IGNORED: &[&str] = &[
    "--no-warn-mismatch",
    "-N",
    "-Q",
    "-fexceptions",
    "-fno-exceptions",
    "-fno-rtti",
    "-frtti",
    "-m32",
    "-maltivec",
    "-mbranch-hints",
    "-mdouble-float",
    "-mdual-nops",
    "-mdouble=fast",
    "-mea32",
    "-mfloat=accurate",
    "-mfloat=fast",
    "-merror-reloc",
    "-mhard-float",
    "-mlarge-mem",
    "-mminimal-toc",
    "-mno-altivec",
    "-mno-branch-hints",
    "-mno-dual-nops",
    "-mno-safe-dma",
    "-mno-vrsave",
    "-mpowerpc",
    "-mpowerpc64",
    "-mregnames",
    "-msafe-dma",
    "-msecure-plt",
    "-msmall-mem",
    "-mstdmain",
    "-munsafe-dma",
    "-mvrsave",
    "-mwarn-reloc",
    "-no-pie",
    "-nostartfiles",
    "-nostdlib",
    "-nodefaultlibs",
    "-pie",
    "-pipe",
    "-pthread",
    "-pthreads",
    "-q",
    "-rdynamic",
    "-s",
    "-static",
    "-static-libgcc",
    "-traditional",
    // The SDK's compilers are 32-bit unless `-m64` is given.
    "-q32",
];

/// The beginnings of such flags.
const IGNORED_BEGINNINGS: &[&str] = &[
    "--param=",
    "--sysroot=",
    "-T",
    "-Wa,",
    "-Werror",
    "-mabi=",
    "-maddress-space-conversion",
    "-march=",
    "-matomic-updates",
    "-mcache-size=",
    "-mcall",
    "-mcmodel=",
    "-mcpu=",
    "-mfixed-range=",
    "-mfused-madd",
    "-mhint-max-",
    "-mlong-double-",
    "-mno-",
    "-mtune=",
    "-qaltivec",
    "-qarch=",
    "-qcompact",
    "-qflag",
    "-qhot",
    "-qinline",
    "-qlanglvl=",
    "-qmaxmem",
    "-qnocompact",
    "-qnoinline",
    "-qsimd",
    "-qstrict",
    "-qtune=",
    "-qunroll",
    "-specs=",
];

/// The beginnings of `-f` flags that clang understands as gcc does. All others only choose how gcc
/// optimises.
const CLANG_BEGINNINGS: &[&str] = &[
    "asm-blocks",
    "associative-math",
    "builtin",
    "color-diagnostics",
    "data-sections",
    "delete-null-pointer-checks",
    "diagnostics-",
    "exec-charset=",
    "fast-math",
    "finite-math-only",
    "for-scope",
    "freestanding",
    "function-sections",
    "gnu-keywords",
    "gnu89-inline",
    "hosted",
    "inline",
    "input-charset=",
    "instrument-functions",
    "lax-vector-conversions",
    "macro-backtrace-limit=",
    "math-errno",
    "message-length=",
    "ms-extensions",
    "omit-frame-pointer",
    "operator-names",
    "pack-struct",
    "permissive",
    "reciprocal-math",
    "rounding-math",
    "short-enums",
    "signed-bitfields",
    "signed-char",
    "signed-zeros",
    "strict-aliasing",
    "strict-overflow",
    "template-depth",
    "trapping-math",
    "unroll-loops",
    "unsafe-math-optimizations",
    "unsigned-bitfields",
    "unsigned-char",
    "verbose-asm",
    "vectorize",
    "wrapv",
];

/// `-f` flags of gcc that change what a program means, and which clang does not have here.
const UNKNOWN_F: &[&str] = &[
    "openmp",
    "profile",
    "split-stack",
    "sanitize",
    "plugin",
    "nested",
];

impl Parser {
    /// Handles an argument. Returns what it asks for, if that is all that is done.
    fn argument<'a>(
        &mut self,
        argument: &'a str,
        rest: &mut impl Iterator<Item = &'a str>,
    ) -> Result<Option<Asked>, String> {
        if argument == "-" || !argument.starts_with('-') {
            self.input(argument)?;
            return Ok(None);
        }
        for question in ["-print-prog-name=", "-print-file-name="] {
            if let Some(name) = argument.strip_prefix(question) {
                return Ok(Some(Asked::Text(name.to_owned())));
            }
        }
        let mut value = |flag: &str| {
            let next = rest.next().map(str::to_owned);
            next.ok_or_else(|| format!("{flag}: a value has to follow"))
        };
        match argument {
            "--version" => return Ok(Some(Asked::Version)),
            "-dumpversion" | "-dumpfullversion" => {
                return Ok(Some(Asked::Text(GCC_VERSION.to_owned())));
            }
            "-dumpmachine" => {
                return Ok(Some(Asked::Text(self.side.name().to_lowercase())));
            }
            "-print-search-dirs" | "-print-multi-lib" | "-print-multi-directory"
            | "-print-multi-os-directory" | "-print-sysroot" => {
                return Ok(Some(Asked::Text(".".to_owned())));
            }
            "-print-libgcc-file-name" => return Ok(Some(Asked::Text("libgcc.a".to_owned()))),
            "-c" => self.job.mode = Mode::Compile,
            "-E" => self.job.mode = Mode::Preprocess,
            "-S" => {
                self.job.mode = Mode::Compile;
                self.job.assembly = true;
            }
            "-fsyntax-only" => self.job.mode = Mode::Check,
            "-shared" => {
                return Err("-shared: programs are linked statically; make an archive of the objects with ppu-ar, \
                            and link that"
                    .to_owned());
            }
            "-v" | "--verbose" => self.job.verbose = true,
            "-o" => self.job.output = Some(value("-o")?),
            "-x" => self.language(value("-x")?),
            "-l" => self.job.inputs.push(Input::Library(value("-l")?)),
            "-L" => self.job.folders.push(value("-L")?),
            "-m64" | "-q64" => self.job.notes.push(format!(
                "{argument}: addresses of the PPU have 32 bits here, so the program is compiled as by -m32"
            )),
            "-mea64" => self.job.notes.push(format!(
                "{argument}: addresses of the PPU have 32 bits here, so the program is compiled as by -mea32"
            )),
            "-M" | "-MM" => {
                self.only_dependencies = true;
                self.job.flags.push(argument.to_owned());
            }
            "-MD" => self.own_only = Some(false),
            "-MMD" => self.own_only = Some(true),
            "-MG" | "-MP" => self.dependency.flags.push(argument.to_owned()),
            "-MF" => self.dependency.file = Some(value("-MF")?),
            "-MT" | "-MQ" => {
                let target = value(argument)?;
                self.dependency.flags.extend([argument.to_owned(), target]);
            }
            "-Xlinker" => {
                let flag = value("-Xlinker")?;
                self.linker.push(flag);
            }
            "-Xpreprocessor" => {
                let flag = value("-Xpreprocessor")?;
                self.job.flags.push(flag);
            }
            "-r" => {
                return Err("-r: objects are not linked to an object here; make an archive of them with ppu-ar"
                    .to_owned());
            }
            "-w" | "-P" | "-C" | "-CC" | "-H" | "-ansi" | "-pedantic" | "-pedantic-errors" | "-undef"
            | "-trigraphs" | "-dM" | "-dD" | "-dI" => self.job.flags.push(argument.to_owned()),
            "-O" => self.job.flags.push("-O1".to_owned()),
            _ if IGNORED.contains(&argument) => {}
            _ if IGNORED_WITH_VALUE.contains(&argument) => drop(value(argument)?),
            _ => self.joined(argument, &mut value)?,
        }
        Ok(None)
    }

    /// Handles a flag that has its value in the same argument, or is of a family.
    fn joined(
        &mut self,
        argument: &str,
        value: &mut impl FnMut(&str) -> Result<String, String>,
    ) -> Result<(), String> {
        if let Some(flag) = WITH_VALUE.iter().find(|flag| argument.starts_with(**flag)) {
            let separate = if argument == *flag {
                Some(value(flag)?)
            } else {
                None
            };
            let folder = separate.as_deref().unwrap_or(&argument[flag.len()..]);
            if HEADER_FOLDERS.contains(flag) && is_of_this_computer(folder) {
                let note = format!(
                    "{flag} {folder}: this folder has the headers of this computer's own compiler, and is left out"
                );
                if !self.job.notes.contains(&note) {
                    self.job.notes.push(note);
                }
            } else {
                self.job.flags.push(argument.to_owned());
                self.job.flags.extend(separate);
            }
            return Ok(());
        }
        if let Some(flags) = argument.strip_prefix("-Wp,") {
            self.preprocessor(flags)?;
        } else if let Some(flags) = argument.strip_prefix("-Wl,") {
            self.linker.extend(flags.split(',').map(str::to_owned));
        } else if IGNORED_BEGINNINGS
            .iter()
            .any(|beginning| argument.starts_with(beginning))
        {
        } else if let Some(path) = argument.strip_prefix("-o") {
            self.job.output = Some(path.to_owned());
        } else if let Some(language) = argument.strip_prefix("-x") {
            self.language(language.to_owned());
        } else if let Some(name) = argument.strip_prefix("-l") {
            self.job.inputs.push(Input::Library(name.to_owned()));
        } else if let Some(folder) = argument.strip_prefix("-L") {
            self.job.folders.push(folder.to_owned());
        } else if let Some(path) = argument.strip_prefix("-MF") {
            self.dependency.file = Some(path.to_owned());
        } else if argument.starts_with("-MT") || argument.starts_with("-MQ") {
            self.dependency.flags.push(argument.to_owned());
        } else if let Some(level) = argument.strip_prefix("-O") {
            // xlc has levels up to 5.
            let level = match level {
                "4" | "5" | "6" | "9" => "3",
                level => level,
            };
            self.job.flags.push(format!("-O{level}"));
        } else if argument.starts_with("-std=") || argument.starts_with("--std=") {
            let standard = argument
                .trim_start_matches("--std=")
                .trim_start_matches("-std=");
            self.job.flags.push(format!("-std={standard}"));
        } else if let Some(name) = argument.strip_prefix("-f") {
            self.feature(argument, name);
        } else if argument.starts_with("-W") {
            self.job.flags.push(argument.to_owned());
        } else if !argument.starts_with("-g") {
            // `-g` is always given to clang.
            self.unknown(argument);
        }
        Ok(())
    }

    fn feature(&mut self, argument: &str, name: &str) {
        let name = name.strip_prefix("no-").unwrap_or(name);
        let begins = |all: &[&str]| all.iter().any(|one| name.starts_with(one));
        if begins(UNKNOWN_F) {
            self.unknown(argument);
        } else if begins(CLANG_BEGINNINGS) && !name.starts_with("inline-limit") {
            self.job.flags.push(argument.to_owned());
        }
    }

    /// Handles flags of the preprocessor, such as `-Wp,-MD,FILE`.
    fn preprocessor(&mut self, flags: &str) -> Result<(), String> {
        let mut flags = flags.split(',').peekable();
        while let Some(flag) = flags.next() {
            match flag {
                "-MD" | "-MMD" => {
                    self.own_only = Some(flag == "-MMD");
                    let file = flags.next_if(|next| !next.starts_with('-'));
                    self.dependency.file = file.map(str::to_owned);
                }
                flag => {
                    let mut value = |flag: &str| {
                        let next = flags.next().map(str::to_owned);
                        next.ok_or_else(|| format!("-Wp,{flag}: a value has to follow"))
                    };
                    match flag {
                        "-MT" | "-MQ" => {
                            let target = value(flag)?;
                            self.dependency.flags.extend([flag.to_owned(), target]);
                        }
                        "-MF" => self.dependency.file = Some(value(flag)?),
                        flag => self.joined(flag, &mut value)?,
                    }
                }
            }
        }
        Ok(())
    }

    fn language(&mut self, language: String) {
        self.language = (language != "none").then_some(language);
    }

    fn unknown(&mut self, flag: &str) {
        if !self.unknown.iter().any(|known| known == flag) {
            self.unknown.push(flag.to_owned());
        }
    }

    fn input(&mut self, path: &str) -> Result<(), String> {
        let extension = match path.rsplit_once('.') {
            Some((name, extension)) if !name.is_empty() && !extension.contains('/') => extension,
            _ => "",
        };
        let language = match (&self.language, extension) {
            (Some(language), _) if language.starts_with("assembler") => {
                self.job.inputs.push(Input::Object(path.to_owned()));
                return Ok(());
            }
            (Some(language), _) => Some(language.clone()),
            // Some Makefiles give this name to what embedspu makes.
            (None, "so") if !begins_as_object(path) => {
                return Err(format!(
                    "{path}: a shared library of another computer cannot be linked; make an archive of its sources \
                     with ppu-gcc -c and ppu-ar"
                ));
            }
            // g++ takes C for C++.
            (None, "c" | "h") if self.cpp => Some("c++".to_owned()),
            (None, "C" | "cc" | "cp" | "cpp" | "cxx" | "c++" | "CPP") => Some("c++".to_owned()),
            (None, "c" | "h" | "i" | "ii") => None,
            (None, _) if path == "-" => None,
            (None, _) => {
                self.job.inputs.push(Input::Object(path.to_owned()));
                return Ok(());
            }
        };
        self.job.inputs.push(Input::Source {
            path: path.to_owned(),
            language,
        });
        Ok(())
    }

    fn end(mut self) -> Job {
        if self.job.mode == Mode::Link {
            // Some Makefiles link all that a program depends on. gcc makes nothing of a header.
            let is_header =
                |input: &Input| matches!(input, Input::Source { path, .. } if path.ends_with(".h"));
            self.job.inputs.retain(|input| !is_header(input));
        }
        for flag in &self.unknown {
            self.job.notes.push(format!(
                "{flag}: this flag is unknown here, and is left out"
            ));
        }
        self.job.stack = stack(&self.linker);
        match self.own_only {
            _ if self.only_dependencies => {
                self.job.mode = Mode::Preprocess;
                let Dependencies { file, flags, .. } = self.dependency;
                if let Some(file) = file {
                    self.job.output = Some(file);
                }
                self.job.flags.extend(flags);
            }
            Some(own_only) => {
                self.job.dependencies = Some(Dependencies {
                    own_only,
                    ..self.dependency
                });
            }
            None => {}
        }
        self.job
    }
}

/// Returns what flags of the linker say of the stack. The others mean nothing here: the linker lays
/// out memories of WebAssembly as Cellworks needs them.
fn stack(flags: &[String]) -> Stack {
    // A flag and its value are one argument, or two, or have `=` between them.
    let flags = flags.join(" ");
    let number = |name: &str| {
        let (_, rest) = flags.rsplit_once(name)?;
        let digits = rest.split(' ').next()?;
        let (digits, radix) = match digits.strip_prefix("0x") {
            Some(digits) => (digits, 16),
            None => (digits, 10),
        };
        u32::from_str_radix(digits, radix).ok()
    };
    Stack {
        bytes: number("stack-size="),
        top: number(" __stack=").or_else(|| number("--defsym=__stack=")),
    }
}

fn begins_as_object(path: &str) -> bool {
    let mut begin = [0; 4];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut begin));
    read.is_ok() && begin == *b"\0asm"
}

/// The deepest nesting of files of arguments. A file that names itself would have no end.
const NESTING_MAX: usize = 20;

/// Replaces each `@FILE` by the arguments in the file. Other arguments stay.
fn expand(arguments: &[String], depth: usize) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    for argument in arguments {
        let text = argument
            .strip_prefix('@')
            .and_then(|path| std::fs::read_to_string(path).ok());
        match text {
            // As for gcc, a name that cannot be read is an argument.
            None => all.push(argument.clone()),
            Some(_) if depth == NESTING_MAX => {
                return Err(format!(
                    "{argument}: this file of arguments contains itself"
                ));
            }
            Some(text) => all.extend(expand(&words(&text), depth + 1)?),
        }
    }
    Ok(all)
}

/// Returns the words of a file of arguments, which are quoted as in gcc.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('\\', _) => word.get_or_insert_default().extend(letters.next()),
            (letter, Some(open)) if letter == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (letter, None) if letter.is_whitespace() => words.extend(word.take()),
            (letter, _) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(side: Side, cpp: bool, line: &str) -> Result<Asked, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse(side, cpp, &arguments)
    }

    #[track_caller]
    fn job(line: &str) -> Job {
        match asked(Side::Ppu, false, line) {
            Ok(Asked::Job(job)) => job,
            other => panic!("{line}: {other:?}"),
        }
    }

    fn source(path: &str, language: Option<&str>) -> Input {
        Input::Source {
            path: path.to_owned(),
            language: language.map(str::to_owned),
        }
    }

    #[test]
    fn flags_of_clang_keep_their_order() {
        let line = "-c -Wall -DA=1 -D B -Iinclude -I up -U C -include x.h -isystem s -std=c99 -O3 -fsigned-char \
                    -pedantic -w a.c -o a.o";
        let job = job(line);
        assert_eq!(
            job.flags.join(" "),
            "-Wall -DA=1 -D B -Iinclude -I up -U C -include x.h -isystem s -std=c99 -O3 -fsigned-char -pedantic -w"
        );
        assert_eq!(
            (job.mode, job.output.as_deref()),
            (Mode::Compile, Some("a.o"))
        );
        assert_eq!(job.inputs, [source("a.c", None)]);
        assert_eq!(job.notes, [""; 0]);
    }

    #[test]
    fn headers_of_this_computer_are_left_out() {
        let line = "-I/usr/include -I /usr/include/ -isystem /usr/local/include -Iusr/include -I/usr/include/x \
                    -I/usr/include -include /usr/include -c a.c";
        let job = job(line);
        assert_eq!(
            job.flags.join(" "),
            "-Iusr/include -I/usr/include/x -include /usr/include"
        );
        let said = "this folder has the headers of this computer's own compiler, and is left out";
        let notes = [
            "-I /usr/include",
            "-I /usr/include/",
            "-isystem /usr/local/include",
        ];
        assert_eq!(job.notes, notes.map(|flag| format!("{flag}: {said}")));
    }

    #[test]
    fn flags_of_cells_and_of_gcc_mean_nothing() {
        let line = "-maltivec -mabi=altivec -mcpu=cell -mtune=cell -m32 -mwarn-reloc -munsafe-dma -mea32 -static -s \
                    -pipe -pthread -ggdb3 -g -Werror -Wa,-q -Wl,-q,--gc-sections,-Map=a.map -Xlinker -N -T x.ld \
                    --param max-inline-insns=9 -funroll-all-loops -ftree-vectorize -fmodulo-sched -fno-exceptions \
                    -fno-rtti -finline-limit=600 -nostartfiles -qaltivec -qhot -Bprefix a.o";
        let job = job(line);
        assert_eq!(job.flags, [""; 0]);
        assert_eq!(job.inputs, [Input::Object("a.o".to_owned())]);
        assert_eq!(
            job.notes,
            ["-Bprefix: this flag is unknown here, and is left out"]
        );
    }

    #[test]
    fn the_linker_is_told_of_the_stack_of_an_spu() {
        for (line, bytes, top) in [
            ("-Wl,-z,stack-size=32768 a.c", Some(32_768), None),
            ("-Wl,-N,-zstack-size=0x8000 a.c", Some(32_768), None),
            (
                "-Xlinker -z -Xlinker stack-size=32768 a.c",
                Some(32_768),
                None,
            ),
            ("-Wl,--defsym=__stack=0x3fff0 a.c", None, Some(0x3_fff0)),
            ("-Wl,--defsym,__stack=262128,-q a.c", None, Some(0x3_fff0)),
            ("-Wl,--defsym=__my_stack=64,--stack=9 a.c", None, None),
        ] {
            let job = job(line);
            assert_eq!(job.stack, Stack { bytes, top }, "{line}");
            assert_eq!(job.notes, [""; 0]);
        }
    }

    #[test]
    fn an_unknown_flag_is_reported_once() {
        let job = job("-mxyz -zzz -fopenmp -mxyz a.c -zzz");
        let reported = ["-mxyz", "-zzz", "-fopenmp"];
        assert_eq!(job.notes.len(), reported.len());
        for (note, flag) in job.notes.iter().zip(reported) {
            assert!(
                note.starts_with(&format!("{flag}: this flag is unknown")),
                "{note}"
            );
        }
        assert_eq!(job.flags, [""; 0]);
    }

    #[test]
    fn sixty_four_bits_are_compiled_as_thirty_two() {
        for (line, instead) in [("-m64 a.c", "-m32"), ("-mea64 a.c", "-mea32")] {
            let notes = job(line).notes;
            assert_eq!(notes.len(), 1);
            assert!(
                notes[0].contains("32 bits here") && notes[0].ends_with(instead),
                "{notes:?}"
            );
        }
    }

    #[test]
    fn levels_are_those_of_clang_that_compile_everything() {
        assert_eq!(
            job("-O -O0 -Os -O2 -O5 a.c").flags,
            ["-O1", "-O0", "-Os", "-O2", "-O3"]
        );
    }

    #[test]
    fn libraries_and_folders_are_in_their_order() {
        let job = job("-lspe2 a.c -L up -Ldown b.o -l m lib/c.a");
        let library = |name: &str| Input::Library(name.to_owned());
        let object = |path: &str| Input::Object(path.to_owned());
        let inputs = [
            library("spe2"),
            source("a.c", None),
            object("b.o"),
            library("m"),
            object("lib/c.a"),
        ];
        assert_eq!(job.inputs, inputs);
        assert_eq!(job.folders, ["up", "down"]);
    }

    #[test]
    fn headers_are_not_linked() {
        assert_eq!(job("a.h a.c -o a").inputs, [source("a.c", None)]);
        assert_eq!(job("-c a.h").inputs, [source("a.h", None)]);
    }

    #[test]
    fn languages_are_those_of_names_and_of_x() {
        let inputs = job("a.c b.cpp c.C d.cc -x c e.cpp -xc++ f -x none g.c h.spu.o i.elf").inputs;
        let cpp = Some("c++");
        let object = |path: &str| Input::Object(path.to_owned());
        let expected = [
            source("a.c", None),
            source("b.cpp", cpp),
            source("c.C", cpp),
            source("d.cc", cpp),
            source("e.cpp", Some("c")),
            source("f", cpp),
            source("g.c", None),
            object("h.spu.o"),
            object("i.elf"),
        ];
        assert_eq!(inputs, expected);
        let Ok(Asked::Job(job)) = asked(Side::Spu, true, "a.c") else {
            panic!("g++ takes a source of C");
        };
        assert_eq!(job.inputs, [source("a.c", cpp)]);
    }

    #[test]
    fn dependencies_go_where_they_are_asked_for() {
        let with = |flags: &[&str], own_only, file: Option<&str>| {
            Some(Dependencies {
                own_only,
                file: file.map(str::to_owned),
                flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            })
        };
        assert_eq!(job("-MD -c a.c").dependencies, with(&[], false, None));
        assert_eq!(
            job("-MMD -MP -MF x.d -MT y.o -c a.c").dependencies,
            with(&["-MP", "-MT", "y.o"], true, Some("x.d"))
        );
        assert_eq!(
            job("-Wp,-MD,.deps/a.d -c a.c").dependencies,
            with(&[], false, Some(".deps/a.d"))
        );
        let only = job("-MM -MT a.o a.c -MF a.d");
        assert_eq!(
            (only.mode, only.output.as_deref()),
            (Mode::Preprocess, Some("a.d"))
        );
        assert_eq!(only.flags, ["-MM", "-MT", "a.o"]);
    }

    #[test]
    fn assembly_is_an_object_of_another_name() {
        let job = job("-S -O2 a.c b.s -x assembler-with-cpp c.c");
        assert_eq!((job.mode, job.assembly), (Mode::Compile, true));
        let object = |path: &str| Input::Object(path.to_owned());
        assert_eq!(
            job.inputs,
            [source("a.c", None), object("b.s"), object("c.c")]
        );
    }

    #[test]
    fn questions_have_answers() {
        for (line, answer) in [
            ("-dumpversion", "4.1.1"),
            ("-dumpmachine", "ppu"),
            ("-print-prog-name=ld", "ld"),
            ("-print-file-name=libm.a", "libm.a"),
        ] {
            assert_eq!(
                asked(Side::Ppu, false, line),
                Ok(Asked::Text(answer.to_owned()))
            );
        }
        assert_eq!(asked(Side::Spu, false, "--version x.c"), Ok(Asked::Version));
    }

    #[test]
    fn what_cannot_be_is_refused_with_another_way() {
        for (line, parts) in [
            ("-shared a.o", ["statically", "ppu-ar"]),
            ("-r a.o", ["not linked to an object", "ppu-ar"]),
            ("libx.so", ["shared library", "ppu-ar"]),
            ("a.c -o", ["-o", "has to follow"]),
        ] {
            let message = asked(Side::Spu, false, line).unwrap_err();
            for part in parts {
                assert!(message.contains(part), "{line}: {message}");
            }
        }
    }

    #[test]
    fn files_of_arguments_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            format!("@{}", path.display())
        };
        let inner = write("inner", "-DX='a b' \"-DY=\\\"c\\\"\"");
        let outer = write("outer", &format!("-c\n{inner} a.c"));
        let job = job(&outer);
        assert_eq!(job.flags, ["-DX=a b", "-DY=\"c\""]);
        assert_eq!(job.mode, Mode::Compile);
        let own = format!("@{}", folder.path().join("own").display());
        write("own", &own);
        assert!(
            asked(Side::Ppu, false, &own)
                .unwrap_err()
                .contains("contains itself")
        );
    }
}
