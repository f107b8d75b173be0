//! A program that is ready to be instantiated, and its errors in words.

use wasmtime::{AsContextMut, Global, Instance, Linker, Store, Trap, Val, WasmBacktrace};

use super::engine::{FUEL_OF_INSTRUCTION, Pace};
use super::link::{FUEL, Fault, FaultAt};
use super::memory::NULL_BYTES;
use super::program::Program;

/// The instructions after which a program of a simulated machine lets others run. A program that
/// polls its memory sees a change this much later, so it is short: about a microsecond.
pub(super) const SLICE: u64 = 4_096;

/// A compiled program, with the imports of its side.
pub(crate) struct Code<S: 'static> {
    pub(crate) program: Program,
    pub(super) linker: Linker<S>,
    pub(super) pace: Pace,
}

impl<S> Code<S> {
    /// Lets the code of a store be interrupted, so that others run.
    pub(super) fn pace(&self, store: &mut Store<S>) -> wasmtime::Result<()> {
        if self.pace == Pace::Instructions {
            store.set_fuel(FUEL)?;
            store.fuel_async_yield_interval(Some(SLICE * FUEL_OF_INSTRUCTION))?;
        }
        Ok(())
    }
}

/// The bytes below the stack pointer that a function which calls none may use.
const RED_ZONE: u32 = 128;

/// The stack of C of an instance.
pub(super) struct Stack {
    /// The global variable with the lowest address in use.
    pointer: Global,
    pub(super) bottom: u32,
    top: u32,
}

/// What is wrong if a stack is full.
pub(super) const STACK_IS_FULL: &str = "its stack is full, or it has stored past a local variable; keep large arrays outside of \
     functions, end the recursion earlier, or, on the PPU, start a thread with a larger stack \
     (pthread_attr_setstacksize)";

/// The error of a program whose stack is full.
#[derive(Debug, thiserror::Error)]
#[error("{STACK_IS_FULL}")]
struct StackIsFull;

impl Stack {
    /// Returns the stack of a new instance, after it was set to the addresses of `own`, if it has
    /// one of its own.
    pub(super) fn of(
        instance: &Instance,
        mut store: impl AsContextMut,
        own: Option<(u32, u32)>,
    ) -> wasmtime::Result<Self> {
        let pointer = instance
            .get_global(&mut store, "__stack_pointer")
            .ok_or_else(|| wasmtime::format_err!("it has no stack pointer"))?;
        if let Some((_, top)) = own {
            pointer.set(&mut store, Val::I32(top as i32))?;
        }
        // The linker places the stack of the PPU's `main` at the start of the memory.
        let whole = (
            NULL_BYTES as u32 + RED_ZONE,
            pointer.get(&mut store).i32().unwrap_or(0) as u32,
        );
        let (bottom, top) = own.unwrap_or(whole);
        Ok(Self {
            pointer,
            bottom,
            top,
        })
    }

    /// Returns the error of a program, which is another one if its stack is full.
    pub(super) fn explain(
        &self,
        mut store: impl AsContextMut,
        error: wasmtime::Error,
    ) -> wasmtime::Error {
        if error.downcast_ref::<Trap>().is_none() {
            return error;
        }
        let at = self.pointer.get(&mut store).i32().unwrap_or(0) as u32;
        // It grows down, to where nothing may be accessed, and through 0.
        if (self.bottom..=self.top).contains(&at) {
            error
        } else {
            error.context(StackIsFull)
        }
    }
}

/// Returns whether a program has ended by the C library's `abort`.
pub(super) fn has_aborted(error: &wasmtime::Error) -> bool {
    let backtrace = error.downcast_ref::<WasmBacktrace>();
    let innermost = backtrace.and_then(|backtrace| backtrace.frames().first()?.func_name());
    matches!(error.downcast_ref(), Some(Trap::UnreachableCodeReached)) && innermost == Some("abort")
}

/// Returns what went wrong in a program, and where in its source.
pub(super) fn describe(error: &wasmtime::Error, program: &Program) -> (String, &'static str) {
    let place = error
        .downcast_ref::<WasmBacktrace>()
        .map(|backtrace| program.place(backtrace));
    let place = place.unwrap_or("its start");
    if let Some(FaultAt(why, place)) = error.downcast_ref::<FaultAt>() {
        return (why.clone(), place);
    }
    if let Some(fault) = error.downcast_ref::<Fault>() {
        return (fault.0.clone(), place);
    }
    if error.downcast_ref::<StackIsFull>().is_some() {
        return (STACK_IS_FULL.to_owned(), place);
    }
    let bytes = program.memory_bytes();
    let why = match error.downcast_ref::<Trap>() {
        Some(Trap::MemoryOutOfBounds) => match wrong_address(error) {
            Some(at) if program.stack().is_none() && is_null(at) => {
                format!("it used the address {at:#x}, through a null pointer")
            }
            Some(at) => {
                let hint = match program.stack() {
                    Some(_) => "; what is in main memory has to be copied by DMA (mfc_get)",
                    None => "",
                };
                format!("it used the address {at:#x}, and its memory ends at {bytes:#x}{hint}")
            }
            None => format!("it used an address outside of its memory of {bytes} bytes"),
        },
        Some(Trap::StackOverflow) => "it has called functions too deeply: is there a recursion without an end?".to_owned(),
        Some(Trap::IntegerDivisionByZero) => "it divided an integer by zero".to_owned(),
        Some(Trap::IntegerOverflow) => "a division of integers has a result that is too large".to_owned(),
        Some(Trap::UnreachableCodeReached) => match functions(error)[..] {
            [WRONG_FREE, ..] => {
                "it gave free or realloc an address that malloc did not return, or that it had freed before; or it has \
                 stored past the end of memory from malloc"
                    .to_owned()
            }
            [DAMAGED_HEAP, ..] => {
                "it has stored past the end of memory from malloc, or in memory that it had freed, at an earlier line that \
                 is not known"
                    .to_owned()
            }
            [NULL_FILE, ref callers @ ..] => wrong_file(stdio_function(callers).unwrap_or("a function of files")),
            ref functions => ended_itself(functions),
        },
        Some(Trap::IndirectCallToNull | Trap::TableOutOfBounds) => match stdio_function(&functions(error)) {
            Some(name) => wrong_file(name),
            None => "it called a function through a pointer that points to none".to_owned(),
        },
        Some(Trap::BadSignature) => {
            "it called a function through a pointer of another type: the function takes other arguments, or has `...`, or \
             returns another value; give the pointer the type of the function"
                .to_owned()
        }
        _ => format!("{:#}", error),
    };
    (why, place)
}

/// Returns whether a program of the PPU has failed because it used a null pointer.
pub(super) fn has_used_null(error: &wasmtime::Error) -> bool {
    let is_address = matches!(error.downcast_ref(), Some(Trap::MemoryOutOfBounds));
    is_address && wrong_address(error).is_some_and(is_null)
}

/// Returns whether a null pointer of a PPU program, or one to a member of a structure there, has
/// an address.
fn is_null(at: u64) -> bool {
    at < NULL_BYTES as u64
}

/// Returns the functions that had called each other when a program failed, the innermost first.
fn functions(error: &wasmtime::Error) -> Vec<&str> {
    let backtrace = error.downcast_ref::<WasmBacktrace>();
    let frames = backtrace.map_or(&[][..], WasmBacktrace::frames);
    frames
        .iter()
        .filter_map(|frame| frame.func_name())
        .collect()
}

/// The function of our C library that ends a program with a null FILE (`lib/libc/turn.c`).
const NULL_FILE: &str = "__cw_null_file";

/// The functions of our C library that end a program with a wrong heap (`lib/libc/turn.c`).
const WRONG_FREE: &str = "__cw_wrong_free";
const DAMAGED_HEAP: &str = "__cw_damaged_heap";

/// Says that the function `name` of the C library got no FILE.
fn wrong_file(name: &str) -> String {
    format!(
        "the FILE that it gave to {name} is a null pointer or is closed; fopen returns a null pointer if it cannot open \
         a file"
    )
}

/// Says how a program ended itself.
fn ended_itself(functions: &[&str]) -> String {
    let how = match functions {
        ["abort", "__assert_fail", ..] => "an assertion failed".to_owned(),
        ["abort", "deliver" | "end", ..] => "by a signal that no function handles".to_owned(),
        ["abort", ..] => "by abort()".to_owned(),
        [name, ..] if let Some(called) = with_other_arguments(name) => format!(
            "by a call of {called} with other arguments than it is defined with; a function with `...` needs a \
             declaration, and a pointer to it, with `...`"
        ),
        _ => "by __builtin_trap(), by an operation of numbers that has no result, or by the end of a function that \
              should return a value"
            .to_owned(),
    };
    format!("it ended itself: {how}")
}

/// Returns the name of the function whose place one with this name takes, if it was called with
/// other arguments: the linker or the code generator have made that.
fn with_other_arguments(name: &str) -> Option<&str> {
    let by_linker = name.strip_prefix("signature_mismatch:");
    by_linker.or_else(|| name.strip_prefix(".L")?.strip_suffix("_bitcast_invalid"))
}

/// Functions of the C library that call functions of a FILE.
const OF_FILES: &[&str] = &[
    "clearerr", "fclose", "feof", "ferror", "fflush", "fgetc", "fgetpos", "fgets", "fileno",
    "fprintf", "fputc", "fputs", "fread", "freopen", "fscanf", "fseek", "fseeko", "fsetpos",
    "ftell", "ftello", "fwrite", "getc", "getdelim", "getline", "putc", "rewind", "setvbuf",
    "ungetc", "vfprintf", "vfscanf",
];

/// Returns the function of the C library with which a program used a FILE, if that is the call in
/// which it failed. Inner functions of the library have other names.
fn stdio_function<'a>(functions: &[&'a str]) -> Option<&'a str> {
    let is_inner = |name: &&&str| {
        name.starts_with("__")
            || ["out", "pad", "printf_core", "locking_putc", "locking_getc"].contains(name)
    };
    let is_of_library = |name: &&&str| OF_FILES.contains(name) || is_inner(name);
    let library = functions.iter().take_while(is_of_library);
    library
        .filter(|name| OF_FILES.contains(name))
        .last()
        .copied()
}

/// Returns the address of a wrong access, which the engine has as a text alone.
fn wrong_address(error: &wasmtime::Error) -> Option<u64> {
    let text = format!("{error:#}");
    let (_, rest) = text.split_once("wasm address 0x")?;
    let digits: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
    u64::from_str_radix(&digits, 16).ok()
}
