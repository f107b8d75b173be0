//! `cellworks cc`: a program of PPU sources and SPU sources in one call.

use std::fs;
use std::path::{Path, PathBuf};

use super::compiler::{FIRST_LINE, code, compile_and_link, print};
use super::embed::{embed, symbol_of};
use super::flags::{Asked, Input, Job, Mode, parse};
use super::folders;
use super::sources::{Place, Program, divide, has_main};
use super::tools::{Failed, Side, Tools, because};

pub(crate) const HELP: &str = "\
Compiles a Cell C program, with sources of the PPU and of SPUs, to one file

Usage: cellworks cc [-o PROGRAM] [FLAGS] SOURCES...
       cellworks cc --env [--native]

A source that includes spu_intrinsics.h, spu_mfcio.h or another header spu_*.h is of an SPU program; else its name
(hello_spu.c, spu_hello.c) or its folder (spu/) decides. The sources of the PPU say what the SPU program is called:
extern spe_program_handle_t NAME, or spe_image_open(\"FILE\").

Options:
  -o PROGRAM              The program [default: a.out]
  --spu NAME=FILE,FILE    The sources of the SPU program with the handle NAME, if they cannot be told apart
  --env                   Prints shell commands that put ppu-gcc, spu-gcc, ppu-embedspu and others on the PATH and
                          set CELL_TOP, so that Makefiles written for the Cell SDK work: eval \"$(cellworks cc --env)\"
  --native                With --env: also gcc, g++, ar and others, as on a PlayStation 3, where the PPU is the
                          computer's own processor
  -h, --help              Prints this text

All other flags are those of gcc, such as -I, -D, -O3, -W, -l and -L, and are of both sides. The libraries of the Cell SDK
are always linked.

Environment:
  CELLWORKS_CLANG, CELLWORKS_LLD   The programs to use in place of the newest clang and wasm-ld on the PATH
  CELLWORKS_WASI_LIBC              The file with the source of the C library, for a computer without a network

Examples:
  cellworks cc -o hello hello.c hello_spu.c && ./hello
  cellworks cc -o pair main.c --spu ping=ping.c --spu pong=pong.c
  eval \"$(cellworks cc --env)\" && make

Exit codes: 0 done, 1 a source or a flag is wrong, or a tool failed.
";

const NAME: &str = "cellworks cc";

/// Runs the command, and returns the exit code.
pub(crate) fn run(tools: &dyn Tools, arguments: &[String]) -> u8 {
    code(NAME, build(tools, arguments))
}

/// The arguments that only this command has.
#[derive(Debug, Default, PartialEq, Eq)]
struct Own {
    programs: Vec<Program>,
    env: bool,
    native: bool,
    help: bool,
    rest: Vec<String>,
}

impl Own {
    fn of(arguments: &[String]) -> Result<Self, String> {
        let mut own = Self::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--env" => own.env = true,
                "--native" => own.native = true,
                "-h" | "--help" => own.help = true,
                "--spu" => own
                    .programs
                    .push(program(arguments.next().map_or("", String::as_str))?),
                text => match text.strip_prefix("--spu=") {
                    Some(text) => own.programs.push(program(text)?),
                    None => own.rest.push(argument.clone()),
                },
            }
        }
        if own.native && !own.env {
            return Err("--native is for --env: cellworks cc --env --native".to_owned());
        }
        Ok(own)
    }
}

/// Parses the value of `--spu`.
fn program(text: &str) -> Result<Program, String> {
    let wrong = || {
        format!("--spu {text}: the value is NAME=FILE,FILE, such as --spu hello_spu=hello_spu.c")
    };
    let (name, files) = text.split_once('=').ok_or_else(wrong)?;
    let sources: Vec<String> = files.split(',').map(str::to_owned).collect();
    if name != symbol_of(name) || sources.iter().any(String::is_empty) {
        Err(wrong())
    } else {
        Ok(Program {
            place: Place::Symbol(name.to_owned()),
            sources,
        })
    }
}

fn build(tools: &dyn Tools, arguments: &[String]) -> Result<(), Failed> {
    let own = Own::of(arguments).map_err(Failed::Because)?;
    if own.help {
        return print(HELP);
    }
    if own.env {
        return print(&folders::environment(own.native).map_err(Failed::Because)?);
    }
    let job = match parse(Side::Ppu, false, &own.rest).map_err(Failed::Because)? {
        Asked::Job(job) => job,
        Asked::Text(text) => return print(&format!("{text}\n")),
        Asked::Version => {
            let (own, tools) = (env!("CARGO_PKG_VERSION"), tools.version());
            return print(&format!("{NAME} {own} ({tools})\n"));
        }
    };
    if job.mode != Mode::Link {
        return Err(because(
            "this command makes whole programs; use ppu-gcc and spu-gcc for single sources, as after \
             eval \"$(cellworks cc --env)\"",
        ));
    }
    for note in &job.notes {
        eprintln!("{NAME}: note: {note}");
    }
    build_program(tools, job, own.programs)
}

fn build_program(tools: &dyn Tools, job: Job, given: Vec<Program>) -> Result<(), Failed> {
    let paths: Vec<String> = job
        .inputs
        .iter()
        .filter_map(|input| match input {
            Input::Source { path, .. } => Some(path.clone()),
            _ => None,
        })
        .collect();
    if paths.is_empty() {
        return Err(because("no input files; cellworks cc --help has examples"));
    }
    let divided = divide(&paths, given).map_err(Failed::Because)?;
    let kept =
        tempfile::tempdir().map_err(|error| because(&format!("a temporary folder: {error}")))?;
    let output = job.output.clone().unwrap_or_else(|| "a.out".to_owned());
    let mut of_ppu: Vec<Input> = Vec::new();
    for (number, program) in divided.programs.iter().enumerate() {
        let file = match &program.place {
            Place::Symbol(_) => kept.path().join(format!("{number}.spu")),
            Place::File(file) => beside(&output, file)?,
        };
        let sources = program.sources.iter().map(|path| Input::Source {
            path: path.clone(),
            language: language(path),
        });
        let of_spu = Job {
            inputs: sources.collect(),
            output: Some(file.display().to_string()),
            flags: job.flags.clone(),
            stack: job.stack,
            verbose: job.verbose,
            ..Job::default()
        };
        let end = compile_and_link(tools, Side::Spu, &of_spu);
        if let (Err(Failed::Undefined), Some(note)) = (&end, of_both(program, &divided.ppu)) {
            eprintln!("note: {note}");
        }
        end?;
        if let Place::Symbol(symbol) = &program.place {
            let object = kept.path().join(format!("{number}-{symbol}.o"));
            embed(symbol, &file, &object)?;
            of_ppu.push(Input::Object(object.display().to_string()));
        }
    }
    let is_of_ppu = |input: &Input| match input {
        Input::Source { path, .. } => divided.ppu.contains(path),
        _ => true,
    };
    let mut inputs: Vec<Input> = job.inputs.into_iter().filter(is_of_ppu).collect();
    inputs.extend(of_ppu);
    let job = Job {
        inputs,
        output: Some(output),
        ..job
    };
    compile_and_link(tools, Side::Ppu, &job)
}

/// Returns how to say that a source of the PPU is of this SPU program, too.
fn of_both(program: &Program, ppu: &[String]) -> Option<String> {
    let Place::Symbol(name) = &program.place else {
        return None;
    };
    let others = ppu
        .iter()
        .filter(|path| !fs::read_to_string(path).is_ok_and(|text| has_main(&text)));
    let others: Vec<&str> = others.map(String::as_str).collect();
    let all: Vec<&str> = program
        .sources
        .iter()
        .map(String::as_str)
        .chain(others.iter().copied())
        .collect();
    (!others.is_empty()).then(|| {
        format!(
            "{} of the PPU alone, because no header and no name says else; if the SPU program needs one, name all of \
             its sources, also those of both sides: --spu {name}={}",
            match others[..] {
                [other] => format!("{other} is a source"),
                _ => format!("{} are sources", others.join(", ")),
            },
            all.join(",")
        )
    })
}

/// Returns the path of an SPU program beside the output, and makes its folder. The name is from a
/// source, so only an older program is replaced.
fn beside(output: &str, file: &Path) -> Result<PathBuf, Failed> {
    let path = Path::new(output).with_file_name("").join(file);
    let is_program = |bytes: Vec<u8>| {
        bytes.starts_with(b"\0asm")
            || bytes.starts_with(FIRST_LINE)
            || bytes.starts_with(b"\x7fELF")
    };
    if path.exists() && !fs::read(&path).is_ok_and(is_program) {
        return Err(because(&format!(
            "{}: spe_image_open names this file, which is no SPU program and is not replaced",
            path.display()
        )));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    if !folder.as_os_str().is_empty() {
        fs::create_dir_all(folder)
            .map_err(|error| because(&format!("{}: {error}", folder.display())))?;
    }
    Ok(path)
}

/// Returns the language of a source, if its name is of C++.
fn language(path: &str) -> Option<String> {
    match parse(Side::Spu, false, &[path.to_owned()]) {
        Ok(Asked::Job(job)) => match job.inputs.into_iter().next() {
            Some(Input::Source { language, .. }) => language,
            _ => None,
        },
        _ => None,
    }
}
