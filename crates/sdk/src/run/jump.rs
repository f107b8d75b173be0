//! `setjmp` and `longjmp`, and exceptions of C++: calls that return when the callee jumps.
//!
//! clang compiles each call in a function with `setjmp`, and each in C++ after which variables have
//! to be destroyed or an exception is caught, to a call of `env.invoke_...`, with the number of the
//! callee in the table as the first argument. `longjmp` and `throw` are errors that unwind to the
//! last such call, which notes where the jump goes (`lib/common/setjmp.c`).

// Rejected: exceptions of WebAssembly. clang 19 makes those of an older proposal, which wasmtime
// does not have.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wasmtime::{Caller, FuncType, Linker, Module, Ref, Val, WasmBacktrace};

use super::link::{Fault, Linked};
use super::wasi::HasWasi;

/// A jump that has not arrived.
#[derive(Debug, thiserror::Error)]
#[error("it jumps (longjmp) to a function that has returned, or that another thread has called")]
struct Jump {
    /// The address of the `jmp_buf`.
    place: u32,
    value: u32,
}

/// An exception of C++ that nothing has caught yet (`lib/cpp/exceptions.cpp`).
#[derive(Clone, Debug, thiserror::Error)]
#[error("nothing catches an exception: {said}")]
pub(super) struct Thrown {
    /// Its type, and what it says.
    pub(super) said: String,
    /// Where it was thrown. After variables have been destroyed, it goes on from elsewhere.
    pub(super) place: Arc<WasmBacktrace>,
}

/// The exceptions that were thrown, by their addresses. Several may be on their way at once: those
/// of several threads, and those of destructors that an exception calls.
#[derive(Clone, Default)]
struct OnTheirWay(Arc<Mutex<HashMap<u32, Thrown>>>);

impl OnTheirWay {
    fn lock(&self) -> MutexGuard<'_, HashMap<u32, Thrown>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the code generator takes for an exception: no `jmp_buf` has this address.
const EXCEPTION: Jump = Jump { place: 1, value: 0 };

/// Adds the imports by which a module calls and jumps.
pub(super) fn add_to<S>(linker: &mut Linker<S>, module: &Module) -> wasmtime::Result<()>
where
    S: HasWasi + Linked + Send + 'static,
{
    let thrown = OnTheirWay::default();
    for import in module.imports() {
        let Some(types) = import.ty().func().cloned() else {
            continue;
        };
        let on_their_way = thrown.clone();
        match (import.module(), import.name()) {
            ("ppu", "throw") => {
                let throw = move |caller: Caller<'_, S>, exception, texts: [(u32, u32); 2]| {
                    let place = Arc::new(WasmBacktrace::force_capture(&caller));
                    let said = said(&caller, texts);
                    let thrown = Thrown { said, place };
                    on_their_way.lock().insert(exception, thrown.clone());
                    Err::<(), _>(thrown.into())
                };
                linker.func_wrap(
                    "ppu",
                    "throw",
                    move |caller: Caller<'_, S>, exception: u32, a, b, c, d| {
                        throw(caller, exception, [(a, b), (c, d)])
                    },
                )?;
            }
            ("ppu", "throw_on") => {
                let throw = move |exception: u32| {
                    let thrown = on_their_way.lock().get(&exception).cloned();
                    let none =
                        || Fault("it goes on with an exception, and there is none".to_owned());
                    Err::<(), _>(thrown.map_or_else(|| none().into(), Into::into))
                };
                linker.func_wrap("ppu", "throw_on", throw)?;
            }
            ("env", "emscripten_longjmp") => {
                let jump = |place: u32, value: u32| {
                    let value = value.max(1);
                    Err::<(), _>(Jump { place, value }.into())
                };
                linker.func_wrap("env", "emscripten_longjmp", jump)?;
            }
            ("env", name) if name.starts_with("invoke_") => {
                let results = types.clone();
                linker.func_new_async("env", name, types, move |caller, given, results_| {
                    let types = results.clone();
                    Box::new(invoke(caller, types, given, results_))
                })?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// Returns the type of an exception and what it says, of which a program has given the addresses
/// and lengths.
fn said<S: HasWasi>(caller: &Caller<'_, S>, texts: [(u32, u32); 2]) -> String {
    let [kind, said] = texts.map(|(at, bytes)| {
        let bytes = caller.data().memory().bytes(at, bytes as usize);
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    });
    let colon = if said.is_empty() { "" } else { ": " };
    type_of(&kind) + colon + &said
}

/// Calls a function of the table, and returns zeros if it jumps or throws.
async fn invoke<S: HasWasi + Send + 'static>(
    mut caller: Caller<'_, S>,
    types: FuncType,
    given: &[Val],
    results: &mut [Val],
) -> wasmtime::Result<()> {
    let none = || Fault("it called a function through a pointer that points to none".to_owned());
    let Some((Val::I32(function), arguments)) = given.split_first() else {
        return Err(none().into());
    };
    let table = caller
        .get_export("__indirect_function_table")
        .and_then(|export| export.into_table());
    let entry = table.and_then(|table| table.get(&mut caller, u64::from(*function as u32)));
    let Some(Ref::Func(Some(function))) = entry else {
        return Err(none().into());
    };
    let mut global = |name: &str| {
        let export = caller.get_export(name)?.into_global()?;
        Some((export, export.get(&mut caller).i32()?))
    };
    let stack = global("__stack_pointer");
    let Err(error) = function.call_async(&mut caller, arguments, results).await else {
        return Ok(());
    };
    let jump = match error.downcast_ref::<Thrown>() {
        Some(_) => Some(&EXCEPTION),
        None => error.downcast_ref::<Jump>(),
    };
    let mut global = |name: &str| {
        let export = caller.get_export(name)?.into_global()?;
        export.get(&mut caller).i32()
    };
    let (threw, value) = (global("__THREW__"), global("__threwValue"));
    let (Some(jump), Some((stack, top)), Some(threw), Some(value)) = (jump, stack, threw, value)
    else {
        return Err(error);
    };
    stack.set(&mut caller, Val::I32(top))?;
    let memory = caller.data().memory();
    for (at, word) in [(threw, jump.place), (value, jump.value)] {
        let written = memory.set_bytes(at as u32, &word.to_le_bytes());
        written.map_err(|_| none())?;
    }
    for (result, kind) in results.iter_mut().zip(types.results()) {
        *result = Val::default_for_ty(&kind).unwrap_or(Val::I32(0));
    }
    Ok(())
}

/// Returns the name that C++ has for a type, such as `std::runtime_error` for `St13runtime_error`.
/// A template and the like stays as it is.
fn type_of(mangled: &str) -> String {
    let simple = [
        ("i", "int"),
        ("j", "unsigned int"),
        ("PKc", "const char *"),
        ("Pc", "char *"),
    ];
    if let Some((_, name)) = simple.iter().find(|(code, _)| *code == mangled) {
        return (*name).to_owned();
    }
    let inner = mangled
        .strip_prefix('N')
        .and_then(|names| names.strip_suffix('E'));
    let (mut rest, mut names) = (inner.unwrap_or(mangled), Vec::new());
    if let Some(after) = rest.strip_prefix("St") {
        names.push("std");
        rest = after;
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let length = rest[..digits].parse().unwrap_or(usize::MAX);
        let Some((name, after)) = rest[digits..].split_at_checked(length) else {
            return mangled.to_owned();
        };
        names.push(name);
        rest = after;
    }
    names.retain(|name| *name != "__1");
    names.join("::")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_their_names_in_cpp() {
        for (mangled, name) in [
            ("i", "int"),
            ("PKc", "const char *"),
            ("7MyError", "MyError"),
            ("St13runtime_error", "std::runtime_error"),
            ("NSt3__18ios_base7failureE", "std::ios_base::failure"),
            ("N5outer5innerE", "outer::inner"),
            ("St6vectorIiE", "St6vectorIiE"),
            ("99short", "99short"),
        ] {
            assert_eq!(type_of(mangled), name);
        }
    }
}
