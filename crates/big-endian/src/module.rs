//! A whole module of IR, line by line.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::emit::Output;
use crate::function::{self, Function, private_variables};
use crate::refusal::Refusal;
use crate::text::{Rest, Type, names};
use crate::{data, elsewhere, labels};

/// The memory of wasm32 as its code generator describes it.
const LAYOUT: &str = "e-m:e-p:32:32-p10:8:8-p20:8:8-i64:64-i128:128-n32:64-S128-ni:1:10:20";

/// What the code generator may use: all of it is in WebAssembly 2, and clang 19 knows the names.
const FEATURES: &str = "+bulk-memory,+mutable-globals,+nontrapping-fptoint,+sign-ext,+simd128";

/// The modules whose functions a program imports by assembler names such as `spu.rdch`.
const IMPORTED: &[&str] = &["env.", "ppu.", "spu.", "wasi_snapshot_preview1."];

/// The name with which wasi-libc declares functions of WASI.
const LIBC_IMPORTED: &str = "__imported_wasi_snapshot_preview1_";

/// Why IR cannot be rewritten.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum RewriteError {
    /// A line has a form that is not known, so its bytes might lie in the wrong order.
    #[error(
        "{at}line {line} of the program's IR has a form that `cellworks cc` does not know ({text}); \
         please report it"
    )]
    Form {
        /// The line of C as `in line 7: `, if it is known, and nothing else.
        at: String,
        /// The number of the line, from 1.
        line: usize,
        /// The line.
        text: String,
    },
    /// A function uses an instruction of the PowerPC that WebAssembly does not have.
    #[error(
        "function `{function}` uses `{intrinsic}`, an instruction of the PowerPC that cannot be \
         translated; whole vectors are compared by vec_cmpgt, spu_cmpgt and the like, not by > or =="
    )]
    Intrinsic {
        /// The function.
        function: String,
        /// The name of the instruction in LLVM.
        intrinsic: String,
    },
    /// A function has inline assembler.
    #[error(
        "{at}function `{function}` has inline assembler ({text:?}), which cannot be translated; \
         barriers and hints (`sync`, `nop`, `dcbt`, `hbrr`) can, on the PPU `mftb` and `dcbz`, and on \
         an SPU `stop`, and `rdch`, `wrch` and `rchcnt` of mailboxes, signals and the decrementer; \
         the intrinsics of the Cell's headers do the rest"
    )]
    Assembler {
        /// The line of C as `in line 7: `, if it is known, and nothing else.
        at: String,
        /// The function.
        function: String,
        /// The text of the assembler.
        text: String,
    },
    /// A program reaches memory of the PPU, by `__ea`, in a way that does not go through a cache.
    #[error("{at}{what}")]
    Elsewhere {
        /// The line of C as `in line 7: `, if it is known, and nothing else.
        at: String,
        /// What cannot be done, and what to do instead.
        what: &'static str,
    },
    /// A function says that it changes how numbers are rounded.
    #[error(
        "function `{function}` changes how numbers are rounded (by `#pragma STDC FENV_ACCESS` or \
         -frounding-math), and WebAssembly always rounds to the nearest; remove the pragma or flag"
    )]
    Rounding {
        /// The function.
        function: String,
    },
}

impl fmt::Debug for RewriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Rewrites the IR of a module for wasm32 with big-endian memory.
///
/// `ir` is the text that clang's front end for a big-endian processor of 32 bits writes before any
/// optimisation (`-O2 -Xclang -disable-llvm-passes -emit-llvm -S`). In the result
///
/// - every number, pointer and vector is turned round when it is read or written, but not what is
///   only ever a local variable, read and written whole;
/// - the initial values of variables are turned round; addresses in them only by
///   [`swap_pointers`](crate::swap_pointers);
/// - arguments after the named ones lie in memory in the big-endian order, each at a multiple of
///   8 bytes, but the address of a structure among them keeps the order of WebAssembly;
/// - a function with arguments after the named ones has two parameters more in front of them, so
///   that its type is that of no call without a prototype;
/// - atomic operations are read, compute, write: they are right while the threads of the program
///   take turns, and not if another processor writes the same word at the same time;
/// - a variable of which each thread has its own is found by `__cell_thread_local(first value,
///   size, alignment)`;
/// - the address of a label is a number, and a jump to it is a choice by this number;
/// - `main` is `__cell_main`, and takes a structure, a union or a vector as a vector of four words;
/// - exceptions stay as they are: the code generator has `-enable-emscripten-cxx-exceptions`;
/// - functions with names like `spu.rdch` are imports.
///
/// Inline assembler may order memory, give hints, and clear a line of 128 bytes. Its reads of the
/// time base of the PPU are calls of the import `ppu.timebase`, and its uses of channels and stops
/// of an SPU calls of `spu.rdch`, `spu.wrch`, `spu.rchcnt` and `spu.stop`.
///
/// # Errors
///
/// Something in the module cannot be translated, or has a form that is not known.
///
/// # Examples
///
/// ```
/// let ir = "define i32 @first(ptr %p) {\n  %1 = load i32, ptr %p, align 4\n  ret i32 %1\n}\n";
/// let big = cellworks_big_endian::rewrite(ir)?;
/// assert!(big.contains("%1 = call i32 @llvm.bswap.i32(i32 "));
/// # Ok::<(), cellworks_big_endian::RewriteError>(())
/// ```
pub fn rewrite(ir: &str) -> Result<String, RewriteError> {
    rewritten(ir, false, false)
}

/// Rewrites the IR of a module as [`rewrite`] does, for a program that may reach registers of
/// devices by volatile words.
///
/// A volatile access of a number or pointer of 32 bits, at an address that is computed, becomes a
/// call of `__cell_load_volatile(address)` or `__cell_store_volatile(address, number)`, which the
/// program is linked with. A number of 64 bits is two of them.
///
/// # Errors
///
/// Those of [`rewrite`].
///
/// # Examples
///
/// ```
/// let ir = "define i32 @f(ptr %p) {\n  %1 = load volatile i32, ptr %p\n  ret i32 %1\n}\n";
/// let big = cellworks_big_endian::rewrite_with_registers(ir)?;
/// assert!(big.contains("%1 = call i32 @__cell_load_volatile(ptr %p)"));
/// # Ok::<(), cellworks_big_endian::RewriteError>(())
/// ```
pub fn rewrite_with_registers(ir: &str) -> Result<String, RewriteError> {
    rewritten(ir, true, false)
}

/// Rewrites the IR of a module as [`rewrite`] does, or as [`rewrite_with_registers`] if it
/// `has_registers`, for a program that is compiled without optimisation.
///
/// Each access of memory happens where the program says, as if it were volatile, because another
/// processor may write there. Local variables whose addresses are not taken are in no memory.
///
/// # Errors
///
/// Those of [`rewrite`].
///
/// # Examples
///
/// ```
/// let ir = "define i32 @f(ptr %p) {\n  %1 = load i32, ptr %p\n  ret i32 %1\n}\n";
/// let big = cellworks_big_endian::rewrite_unoptimised(ir, false)?;
/// assert!(big.contains("load volatile i32, ptr %p"));
/// # Ok::<(), cellworks_big_endian::RewriteError>(())
/// ```
pub fn rewrite_unoptimised(ir: &str, has_registers: bool) -> Result<String, RewriteError> {
    rewritten(ir, has_registers, true)
}

fn rewritten(ir: &str, has_registers: bool, is_unoptimised: bool) -> Result<String, RewriteError> {
    let has_elsewhere = elsewhere::is_used(ir);
    let ir = elsewhere::fetched(ir);
    let ir = labels::numbered(&ir);
    let lines: Vec<&str> = ir.lines().collect();
    let types = named_types(&lines);
    let variables = lines.iter().filter(|line| line.starts_with('@'));
    let thread_locals = variables
        .filter_map(|line| data::thread_local(line))
        .collect();
    let mut out = Output::default();
    if has_elsewhere {
        let all = elsewhere::DECLARATIONS
            .iter()
            .map(|line| (*line).to_owned());
        out.declarations.extend(all);
    }
    let mut function: Option<(&str, Function<'_>, Registers<'_>)> = None;
    // The variable of `main` whose value it returns.
    let mut result = None;
    for (at, &line) in lines.iter().enumerate() {
        let of_c = || line_of_c(line, &lines).map_or(String::new(), |at| format!("in line {at}: "));
        let form = || RewriteError::Form {
            at: of_c(),
            line: at + 1,
            text: line.trim().to_owned(),
        };
        if let Some(what) = elsewhere::refused(line) {
            return Err(RewriteError::Elsewhere { at: of_c(), what });
        }
        if let Some(variable) = result.take_if(|variable| line.trim_start().starts_with(*variable))
        {
            // The end of `main` without a `return` returns 0, whatever the parameters of `main`
            // are.
            out.line(line);
            out.line(format!("  store i32 0, ptr {variable}, align 4"));
        } else if line == "}" {
            function = None;
            out.line(line);
        } else if let Some((name, function, registers)) = &function {
            let line = registers.in_line(line);
            body(function, &line, &mut out).map_err(|refusal| {
                let name = (*name).to_owned();
                match refusal {
                    Refusal::Form => form(),
                    Refusal::Rounding => RewriteError::Rounding { function: name },
                    Refusal::Intrinsic(intrinsic) => RewriteError::Intrinsic {
                        function: name,
                        intrinsic,
                    },
                    Refusal::Assembler(text) => RewriteError::Assembler {
                        at: of_c(),
                        function: name,
                        text,
                    },
                }
            })?;
        } else if line.starts_with("define ") {
            let end = lines[at..]
                .iter()
                .position(|line| *line == "}")
                .ok_or_else(form)?;
            let private = private_variables(&lines[at + 1..at + end]);
            let (_, name) = names(line, '@').next().ok_or_else(form)?;
            let mut registers = Registers::default();
            if is_main(name) {
                result = result_of(&lines[at + 1..at + end]);
                registers = Registers::of_main(line, name, &mut out).ok_or_else(form)?;
            } else {
                out.line(function::marked(&without_inreg(line), function::NAMED_MARK));
            }
            let called = if is_main(name) { "main" } else { &name[1..] };
            function = Some((
                called,
                Function {
                    types: &types,
                    thread_locals: &thread_locals,
                    private,
                    has_registers,
                    is_unoptimised,
                },
                registers,
            ));
        } else if line.starts_with('@') {
            let global = if line.contains(" alias ") {
                line.to_owned()
            } else {
                data::global(&with_mains_name(line), &types).ok_or_else(form)?
            };
            out.line(global);
        } else {
            out.line(outside(line).ok_or_else(form)?);
        }
    }
    Ok(finished(out))
}

/// Returns the number of the line of C of which an instruction is.
fn line_of_c<'a>(instruction: &str, lines: &[&'a str]) -> Option<&'a str> {
    let (_, location) = instruction.rsplit_once("!dbg ")?;
    let location = location.split(',').next()?;
    let start = format!("{location} = !DILocation(line: ");
    let found = lines.iter().find_map(|line| line.strip_prefix(&start))?;
    found.split(',').next()
}

/// Returns the structures that have names.
fn named_types<'a>(lines: &[&'a str]) -> HashMap<&'a str, Type> {
    let mut types = HashMap::new();
    for line in lines.iter().filter(|line| line.starts_with('%')) {
        let mut rest = Rest(line);
        if let Some(name) = rest.name()
            && rest.eat("= type")
            && let Some(ty) = rest.ty()
        {
            types.insert(name, ty);
        }
    }
    types
}

/// Writes a line of a function: an instruction, a label, or part of an instruction of several
/// lines.
fn body(function: &Function<'_>, line: &str, out: &mut Output) -> Result<(), Refusal> {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    // What belongs to the line above is indented more deeply: the cases of a switch, which end with
    // a bracket, where a call of C++ goes on, and which exceptions come there.
    let goes_on = ["i", "to label ", "catch ", "cleanup", "filter "];
    let cases = text.starts_with(']')
        || (indent > 2 && goes_on.iter().any(|first| text.starts_with(first)));
    let label = indent == 0 && text.contains(':');
    if text.is_empty() || text.starts_with(';') || text.starts_with("#dbg_") || cases || label {
        out.line(line);
        return Ok(());
    }
    function.instruction(&without_inreg(line), out)
}

/// Returns a line between the functions and variables as it is in the result.
fn outside(line: &str) -> Option<String> {
    if line.starts_with("target datalayout = ") {
        return Some(format!("target datalayout = \"{LAYOUT}\""));
    }
    if line.starts_with("target triple = ") {
        return Some("target triple = \"wasm32-unknown-wasip1\"".to_owned());
    }
    if line.starts_with("attributes #") {
        return attributes(line);
    }
    if line.starts_with("declare ") {
        return declaration(&without_inreg(line));
    }
    let known = ["source_filename = ", "%", "$", "!", ";"];
    (line.is_empty() || known.iter().any(|start| line.starts_with(start))).then(|| line.to_owned())
}

/// Returns a group of attributes for a function of wasm32.
fn attributes(line: &str) -> Option<String> {
    let (head, list) = line.split_once('{')?;
    let list = list.trim_end().strip_suffix('}')?;
    let mut kept = String::new();
    let mut rest = list;
    while !rest.is_empty() {
        // A word ends at a space outside quotes.
        let mut quoted = false;
        let end = rest
            .find(|c| {
                quoted ^= c == '"';
                c == ' ' && !quoted
            })
            .unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after.trim_start();
        let of_target = ["\"target-cpu\"", "\"tune-cpu\"", "\"target-features\""];
        if !word.is_empty() && !of_target.iter().any(|name| word.starts_with(name)) {
            kept.push_str(word);
            kept.push(' ');
        }
    }
    Some(format!(
        "{head}{{ {kept}\"target-features\"=\"{FEATURES}\" }}"
    ))
}

/// Returns a declaration; a function of the machine or of WASI gets the module of its import.
fn declaration(line: &str) -> Option<String> {
    let (at, name) = names(line, '@').next()?;
    let name = name[1..].trim_matches('"');
    let (module, function) = match name.strip_prefix(LIBC_IMPORTED) {
        Some(function) => ("wasi_snapshot_preview1", function),
        None if IMPORTED.iter().any(|module| name.starts_with(module)) => name.split_once('.')?,
        // A function that C declares without its parameters.
        None if line[at..].contains("(...)") => {
            return Some(format!("{line} \"no-prototype\""));
        }
        None if name.starts_with("llvm.") => return Some(line.to_owned()),
        None => return Some(function::marked(line, function::MARK)),
    };
    Some(format!(
        "{line} \"wasm-import-module\"=\"{module}\" \"wasm-import-name\"=\"{function}\""
    ))
}

/// Returns a line without the request to pass an argument in a register.
fn without_inreg(line: &str) -> String {
    line.replace(" inreg ", " ")
}

/// Returns the text with the declarations that it needs and the right name of `main`.
fn finished(out: Output) -> String {
    let mut text = String::with_capacity(out.text.len());
    let mut declared = HashSet::new();
    for line in out.text.lines() {
        if (line.starts_with("declare ") || line.starts_with("define "))
            && let Some((_, name)) = names(line, '@').next()
        {
            declared.insert(name.to_owned());
        }
        text.push_str(&renamed_main(line));
        text.push('\n');
    }
    for line in &out.declarations {
        if names(line, '@').all(|(_, name)| !declared.contains(name)) {
            text.push_str(&declaration(line).unwrap_or_default());
            text.push('\n');
        }
    }
    text
}

/// Whether a function is `main`.
///
/// The compiler takes any parameters of it only if its name is `__cell_main`, which C++ writes with
/// them.
fn is_main(name: &str) -> bool {
    matches!(name, "@main" | "@__cell_main") || name.starts_with("@_Z11__cell_main")
}

/// Returns a variable with `__func__` of `main`, if it is that, with the name that the source has.
fn with_mains_name(line: &str) -> Cow<'_, str> {
    if line.starts_with("@__func__.") || line.starts_with("@__FUNCTION__.") {
        line.replace("[12 x i8] c\"__cell_main\\00\"", "[5 x i8] c\"main\\00\"")
            .into()
    } else {
        line.into()
    }
}

/// Returns the first local variable if its value is what the function returns.
fn result_of<'a>(body: &[&'a str]) -> Option<&'a str> {
    let [first, .., load, end] = body else {
        return None;
    };
    let (variable, _) = first.trim_start().split_once(" = alloca i32,")?;
    let (value, place) = load.trim_start().split_once(" = load i32, ptr ")?;
    let returned = Rest(end).eat(&format!("ret i32 {value}"));
    (returned && Rest(place).name() == Some(variable)).then_some(variable)
}

/// The registers that `main` takes as values of other types, by the names of the parameters, and
/// what stands for them in the function: where a structure is, or the vector.
///
/// `main` is called with numbers and with vectors of four words. An SPU has a structure in a
/// register as it has a vector, with the first byte first, and so
/// `union { unsigned long long ull; unsigned int ui[2]; }` is a usual type of its parameters.
#[derive(Default)]
struct Registers<'a>(HashMap<&'a str, String>);

impl<'a> Registers<'a> {
    /// Writes the first line of `main`, in which each structure and vector is one of four words,
    /// and then the words to memory that has the type of the structure, or as the vector.
    fn of_main(line: &'a str, name: &str, out: &mut Output) -> Option<Self> {
        let words = Type::Vector(4, Box::new(Type::Int(32)));
        let (_, parameters) = line.split_once(name)?;
        let mut parameters = Rest(parameters);
        parameters.expect("(")?;
        let mut first = without_inreg(line);
        let mut values = Vec::new();
        for parameter in parameters.operands() {
            let (is_structure, ty) = match parameter.split_once(" byval(") {
                Some((_, ty)) => (true, Rest(ty).ty()?),
                None => (false, Rest(parameter).ty()?),
            };
            let is_other = matches!(ty, Type::Vector(..)) && ty.lanes().1.bits() != Some(32);
            if is_structure || is_other {
                let (_, value) = names(parameter, '%').last()?;
                first = first.replace(parameter, &format!("{words} {value}"));
                values.push((value, ty, is_structure));
            }
        }
        out.line(first);
        let mut known = HashMap::new();
        for (value, ty, is_structure) in values {
            let (integers, turned) = out.swapped(&words, value)?;
            let here = if is_structure {
                let room = format!("{{ {ty}, {words} }}");
                let place = out.value(format!("alloca {room}, align 16"));
                out.line(format!(
                    "  store {room} zeroinitializer, ptr {place}, align 16"
                ));
                out.line(format!(
                    "  store {integers} {turned}, ptr {place}, align 16"
                ));
                place
            } else {
                let lanes = out.value(format!("bitcast {integers} {turned} to {}", ty.integer()?));
                out.restored(&ty, &lanes)?
            };
            known.insert(value, here);
        }
        Some(Self(known))
    }

    /// Returns a line of the function without these parameters.
    fn in_line<'l>(&self, line: &'l str) -> Cow<'l, str> {
        if self.0.is_empty() {
            return Cow::Borrowed(line);
        }
        let mut replaced = String::with_capacity(line.len());
        let mut from = 0;
        for (at, name) in names(line, '%') {
            if let Some(here) = self.0.get(name) {
                replaced.push_str(&line[from..at]);
                replaced.push_str(here);
                from = at + name.len();
            }
        }
        replaced.push_str(&line[from..]);
        Cow::Owned(replaced)
    }
}

/// Returns a line in which the function `main` is called `__cell_main`.
fn renamed_main(line: &str) -> String {
    if line.starts_with(['!', ';']) || !line.contains("main") {
        return line.to_owned();
    }
    let mut renamed = String::with_capacity(line.len());
    let mut from = 0;
    for (at, name) in names(line, '@').filter(|(_, name)| is_main(name)) {
        renamed.push_str(&line[from..at]);
        renamed.push_str("@__cell_main");
        from = at + name.len();
    }
    renamed.push_str(&line[from..]);
    renamed
}
