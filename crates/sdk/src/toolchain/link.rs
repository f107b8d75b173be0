//! From objects to a module: the linker, the addresses in data, and the sign of the side.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cellworks_big_endian::FUNCTIONS_FROM;
use wasmparser::{ExternalKind, Operator, Parser, Payload};

use crate::driver::adapters::{self, Signature, Unadapted};
use crate::driver::ar;
use crate::driver::tools::{Failed, Side, Stack, because};
use crate::format;

use super::any_lane::to_any_true;
use super::compile::cannot_run;
use super::shuffles::to_swizzles;
use super::uses::first_use;

/// The memory of a PPU program: what it does not touch costs nothing.
const PPU_MEMORY: u32 = 256 << 20;
/// The stack of `main` on the PPU, as Linux on a Cell gives it.
const PPU_STACK: u32 = 8 << 20;

/// The local store.
const SPU_MEMORY: u32 = 256 << 10;

/// The smallest stack of an SPU program. The heap leaves it at least so much.
const SPU_STACK: u32 = 16 << 10;

/// The bytes at the start of the local store that hold nothing. The linker takes them for the
/// stack, but the machine lets the stack begin at the end of the local store.
const SPU_FIRST: u32 = 1 << 10;

/// What the machine calls and reads.
const EXPORTS: &[&str] = &[
    "__cell_main",
    "__cell_init",
    "__cell_exit",
    "__stack_pointer",
    "__heap_base",
];

/// What the machine needs of programs that have it: where it writes that they have jumped
/// (`lib/common/setjmp.c`), and how they load volatile words.
const EXPORTS_IF_THERE: &[&str] = &["__THREW__", "__threwValue", format::LOAD_VOLATILE];

/// Links a program of a side. `inputs` has the libraries, too.
pub(crate) fn link(
    linker: &Path,
    side: Side,
    stack: Stack,
    inputs: &[PathBuf],
    output: &Path,
) -> Result<(), Failed> {
    let linked = run(linker, side, inputs, output)?;
    let bytes = stack.bytes.unwrap_or(SPU_STACK);
    let top = stack.top.unwrap_or(SPU_MEMORY).min(SPU_MEMORY) & !15;
    if side == Side::Spu {
        let variables = heap_base(&linked)?;
        if top.checked_sub(variables).is_none_or(|room| room < bytes) {
            return Err(because(&no_stack(variables, bytes, top)));
        }
    }
    let wrong = |error: &dyn Display| because(&format!("{}: {error}", output.display()));
    let mut module = cellworks_big_endian::swap_pointers(&linked).map_err(|error| wrong(&error))?;
    to_swizzles(&mut module)
        .and_then(|()| to_any_true(&mut module))
        .map_err(|error| wrong(&error))?;
    module.extend(sign(side));
    if side == Side::Spu {
        module.extend(section(
            format::STACK_SECTION,
            &[bytes, top].map(u32::to_le_bytes).concat(),
        ));
    }
    fs::write(output, module).map_err(|error| wrong(&error))
}

/// Runs the linker, and returns the module.
fn run(linker: &Path, side: Side, inputs: &[PathBuf], output: &Path) -> Result<Vec<u8>, Failed> {
    let (memory, stack) = match side {
        Side::Ppu => (PPU_MEMORY, PPU_STACK),
        Side::Spu => (SPU_MEMORY, SPU_FIRST),
    };
    let mut command = Command::new(linker);
    command.args([
        "--no-entry",
        "--stack-first",
        "--emit-relocs",
        "--export-table",
    ]);
    command.arg(format!("--table-base={FUNCTIONS_FROM}"));
    // Each function that is missing is named.
    command.args(["--error-limit=0", "-z", &format!("stack-size={stack}")]);
    command.args([
        format!("--initial-memory={memory}"),
        format!("--max-memory={memory}"),
    ]);
    command.args(EXPORTS.iter().map(|name| format!("--export={name}")));
    let exports: &[&str] = match side {
        Side::Ppu => &["__cell_thread", "__cw_turn"],
        Side::Spu => &[format::STACK_END],
    };
    command.args(exports.iter().map(|name| format!("--export={name}")));
    command.args(
        EXPORTS_IF_THERE
            .iter()
            .map(|name| format!("--export-if-defined={name}")),
    );
    let ended = command.args(inputs).arg("-o").arg(output).output();
    let ended = ended.map_err(|error| cannot_run(linker, &error))?;
    let said = String::from_utf8_lossy(&ended.stderr);
    let failed = |error| because(&format!("{}: {error}", output.display()));
    let folder = output.parent().unwrap_or(Path::new(""));
    let adapted = adapters::adapted(&said, inputs, folder).map_err(|why| match why {
        Unadapted::File(error) => failed(error),
        Unadapted::Unnamed {
            function,
            called,
            defined,
            object,
        } => because(&unnamed(side, &function, &called, &defined, &object)),
    });
    if let Some(adapted) = adapted? {
        return run(linker, side, &adapted, output);
    }
    let sentences = sentences(side, &said);
    if !sentences.is_empty() {
        eprintln!("{}", sentences.join("\n"));
    }
    if ended.status.success() {
        fs::read(output).map_err(failed)
    } else if said.contains(UNDEFINED) {
        Err(Failed::Undefined)
    } else {
        Err(Failed::Said)
    }
}

/// Says that a function with `...` is called without knowing of it, or the other way round.
fn unnamed(
    side: Side,
    function: &str,
    called: &Signature,
    defined: &Signature,
    object: &[u8],
) -> String {
    let line = first_use(object, function);
    let user = line.unwrap_or_else(|| format!("the {} program", side.name()));
    format!(
        "{user} calls `{function}` as {called}, and it is defined as {defined} (a pointer is an int here): what is passed \
         for `...` would be wrong; declare the function with its types before the call, or include its header"
    )
}

/// What the linker says before the name of what is not defined.
const UNDEFINED: &str = "undefined symbol: ";

/// Returns what the linker said in the words of a C programmer.
fn sentences(side: Side, said: &str) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    let mut lines = said.lines().peekable();
    while let Some(line) = lines.next() {
        let text = line.split_once(": ").map_or(line, |(_, text)| text);
        let sentence = match text.split_once(UNDEFINED) {
            None if let Some((_, symbol)) = text.split_once(DUPLICATE) => {
                let mut files = Vec::new();
                while let Some(file) = lines.next_if(|line| line.starts_with(DEFINED_IN)) {
                    files.push(source_of(&file[DEFINED_IN.len()..]));
                }
                duplicate(side, symbol, &files.join(" and in "))
            }
            Some((place, symbol)) => undefined(side, place, symbol),
            None if text.contains("--export not found: __cell_main") => {
                undefined(side, "", "__cell_main")
            }
            None if text.contains("initial memory too small") => too_large(side, text),
            None => line.to_owned(),
        };
        // A function is often missing at several places in one file.
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    sentences
}

/// What the linker says of a symbol that two objects define, and before the name of each object.
const DUPLICATE: &str = "duplicate symbol: ";
const DEFINED_IN: &str = ">>> defined in ";

/// Returns the name of a source from that of its object, which is like `/tmp/.tmp1/0-main.o` if it
/// was made for this program alone.
fn source_of(object: &str) -> String {
    let name = object.rsplit('/').next().unwrap_or(object);
    match name.split_once('-') {
        Some((number, source)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            source.replace(".o", ".c")
        }
        _ => name.to_owned(),
    }
}

/// Says that several objects define a function or variable.
fn duplicate(side: Side, symbol: &str, files: &str) -> String {
    let side = side.name();
    match symbol {
        "__cell_main" => format!(
            "error: the {side} program has a function `main` in {files}; name the sources of an SPU program by \
             `cellworks cc --spu NAME=FILE`, or compile them with spu-gcc"
        ),
        _ => format!(
            "error: the {side} program has `{symbol}` in {files}; remove one of them, or make it static"
        ),
    }
}

/// Says that a function or variable is not defined anywhere. `place` is like `error: a.o: `.
fn undefined(side: Side, place: &str, symbol: &str) -> String {
    let place = place
        .trim_start_matches("error: ")
        .trim_end_matches([':', ' ']);
    let file = place.rsplit('/').next().unwrap_or(place);
    let line = object(place).and_then(|object| first_use(&object, symbol));
    let user = line.as_deref().unwrap_or(file);
    let side = side.name();
    match symbol {
        // The function is exported, so the linker asks for it itself.
        "__cell_main" => format!("error: the {side} program has no function `main`"),
        _ if symbol.starts_with("_EAR_") => format!(
            "error: {user} uses `{symbol}`, an address of the PPU that the linker of the SDK filled in (CESOF), and \
             this one does not: give the address to `main` of the SPU program, as argument 4 or 5 of spe_context_run"
        ),
        _ => match not_here(symbol) {
            Some(why) => format!("error: {user} uses `{symbol}`: {why}"),
            None => format!(
                "error: {user} uses `{symbol}`, which no source, object or library of the {side} program defines"
            ),
        },
    }
}

/// Functions of Linux that no program has here, and why.
const NOT_HERE: [(&[&str], &str); 3] = [
    (
        &[
            "execl",
            "execle",
            "execlp",
            "execv",
            "execve",
            "execvp",
            "fork",
            "pclose",
            "pipe",
            "popen",
            "posix_spawn",
            "posix_spawnp",
            "vfork",
            "wait3",
            "wait4",
            "waitpid",
        ],
        "a program has no other processes and no pipes here; start a thread (pthread_create), which shares the memory",
    ),
    (
        &[
            "getaddrinfo",
            "gethostbyname",
            "recvfrom",
            "sendto",
            "setsockopt",
            "socket",
            "socketpair",
        ],
        "a program has no network here; let it read and write files (--dir)",
    ),
    (
        &["dlclose", "dlerror", "dlopen", "dlsym"],
        "programs are linked statically here; link the library's archive, and call its functions by their names",
    ),
];

/// Returns why a function of Linux is not here, if it is known.
fn not_here(symbol: &str) -> Option<&'static str> {
    let known = NOT_HERE.iter().find(|(names, _)| names.contains(&symbol));
    known.map(|(_, why)| *why)
}

/// Reads an object of which the linker spoke, as `a.o`, or as `lib.a(a.o)` in an archive.
fn object(place: &str) -> Option<Vec<u8>> {
    let Some((archive, member)) = place
        .strip_suffix(')')
        .and_then(|place| place.rsplit_once('('))
    else {
        return fs::read(place).ok();
    };
    let members = ar::members(Path::new(archive)).ok()?;
    let mut members = members.into_iter();
    members.find(|one| one.name == member).map(|one| one.bytes)
}

/// Says that the variables do not fit. `text` is like `error: initial memory too small, 300000
/// bytes needed`.
fn too_large(side: Side, text: &str) -> String {
    let numbers = text.split(|c: char| !c.is_ascii_digit());
    let needed: Option<u32> = numbers.filter_map(|number| number.parse().ok()).next();
    let needed = needed.unwrap_or(u32::MAX);
    match side {
        Side::Ppu => format!(
            "error: the variables of the PPU program take {} bytes, and there are {}; make arrays smaller, or take \
             their memory with malloc",
            needed.saturating_sub(PPU_STACK),
            PPU_MEMORY - PPU_STACK
        ),
        Side::Spu => format!("error: {}", no_stack(needed, SPU_STACK, SPU_MEMORY)),
    }
}

/// Says that the variables of an SPU program, which end at `variables`, leave no room for a stack
/// of `bytes` bytes below `top`.
fn no_stack(variables: u32, bytes: u32, top: u32) -> String {
    let (taken, room) = (variables - SPU_FIRST, top.saturating_sub(SPU_FIRST + bytes));
    format!(
        "the variables of the SPU program take {taken} bytes, and there are {room} beside a stack of {bytes}; make \
         arrays smaller, or keep the data in main memory and get parts of it by DMA"
    )
}

/// Returns the custom section that says which side and order of bytes a module has.
fn sign(side: Side) -> Vec<u8> {
    let name = match side {
        Side::Ppu => "ppu",
        Side::Spu => "spu",
    };
    section(format::SECTION, format::sign(name).as_bytes())
}

/// Returns the custom section that says of which side an object is.
pub(super) fn side_of_object(side: Side) -> Vec<u8> {
    section(format::OBJECT_SECTION, side.name().as_bytes())
}

/// Returns a custom section. Its name and its contents have fewer than 127 bytes together.
fn section(name: &str, contents: &[u8]) -> Vec<u8> {
    let length = |bytes: usize| u8::try_from(bytes).unwrap_or(u8::MAX);
    let mut section = vec![
        0,
        length(1 + name.len() + contents.len()),
        length(name.len()),
    ];
    section.extend(name.bytes());
    section.extend(contents);
    section
}

/// Returns the address behind the variables of a module.
fn heap_base(module: &[u8]) -> Result<u32, Failed> {
    let damaged = || because("the linker wrote a module that cannot be read");
    let mut values = Vec::new();
    let mut index = None;
    for payload in Parser::new(0).parse_all(module) {
        match payload.map_err(|_| damaged())? {
            // Nothing imports a global, so the first of this section has the number 0.
            Payload::GlobalSection(globals) => {
                for global in globals {
                    let global = global.map_err(|_| damaged())?;
                    let mut value = global.init_expr.get_operators_reader();
                    values.push(match value.read() {
                        Ok(Operator::I32Const { value }) => Some(value.cast_unsigned()),
                        _ => None,
                    });
                }
            }
            Payload::ExportSection(exports) => {
                for export in exports.into_iter().flatten() {
                    if export.kind == ExternalKind::Global && export.name == "__heap_base" {
                        index = usize::try_from(export.index).ok();
                    }
                }
            }
            _ => {}
        }
    }
    index
        .and_then(|index| values.get(index).copied().flatten())
        .ok_or_else(damaged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_linker_speaks_like_a_compiler_of_c() {
        for (said, sentence) in [
            (
                "wasm-ld-22: error: /tmp/x/0-a.o: undefined symbol: work\nwasm-ld-22: error: /tmp/x/0-a.o: undefined \
                 symbol: work\n",
                "error: 0-a.o uses `work`, which no source, object or library of the SPU program defines",
            ),
            (
                "wasm-ld: error: lib/libx.a(b.o): undefined symbol: work\n",
                "error: libx.a(b.o) uses `work`, which no source, object or library of the SPU program defines",
            ),
            (
                "wasm-ld: error: x.o: undefined symbol: _EAR_input\n",
                "error: x.o uses `_EAR_input`, an address of the PPU that the linker of the SDK filled in (CESOF), and \
                 this one does not: give the address to `main` of the SPU program, as argument 4 or 5 of spe_context_run",
            ),
            (
                "wasm-ld: error: a.o: undefined symbol: popen",
                "error: a.o uses `popen`: a program has no other processes and no pipes here; start a thread \
                 (pthread_create), which shares the memory",
            ),
            (
                "wasm-ld: error: a.o: undefined symbol: socket",
                "error: a.o uses `socket`: a program has no network here; let it read and write files (--dir)",
            ),
            (
                "wasm-ld: error: symbol exported via --export not found: __cell_main",
                "error: the SPU program has no function `main`",
            ),
            (
                "wasm-ld: error: initial memory too small, 300000 bytes needed",
                "error: the variables of the SPU program take 298976 bytes, and there are 244736 beside a stack of \
                 16384; make arrays smaller, or keep the data in main memory and get parts of it by DMA",
            ),
            (
                "wasm-ld-19: error: duplicate symbol: __cell_main\n>>> defined in /tmp/.tmp6/0-main.o\n>>> defined in \
                 /tmp/.tmp6/1-plain.o\n",
                "error: the SPU program has a function `main` in main.c and in plain.c; name the sources of an SPU \
                 program by `cellworks cc --spu NAME=FILE`, or compile them with spu-gcc",
            ),
            (
                "wasm-ld: error: duplicate symbol: work\n>>> defined in a.o\n>>> defined in lib/libx.a(b.o)",
                "error: the SPU program has `work` in a.o and in libx.a(b.o); remove one of them, or make it static",
            ),
            (
                "wasm-ld: warning: something else",
                "wasm-ld: warning: something else",
            ),
        ] {
            assert_eq!(sentences(Side::Spu, said), [sentence]);
        }
    }

    #[test]
    fn a_module_says_its_side_and_order_of_bytes() {
        assert_eq!(sign(Side::Spu), b"\0\x1a\x09cellworks4 spu big-endian");
    }
}
