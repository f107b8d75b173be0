//! `setjmp` and `longjmp`: calls that return when the callee jumps.
//!
//! clang compiles each call in a function with `setjmp` to a call of `env.invoke_...`, with the
//! number of the callee in the table as the first argument. `longjmp` is an error that unwinds to
//! the last such call, which notes where the jump goes (`lib/common/setjmp.c`).

// Rejected: exceptions of WebAssembly. clang 19 makes those of an older proposal, which wasmtime
// does not have.

use wasmtime::{Caller, FuncType, Linker, Module, Ref, Val};

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

/// Adds the imports by which a module calls and jumps.
pub(super) fn add_to<S>(linker: &mut Linker<S>, module: &Module) -> wasmtime::Result<()>
where
    S: HasWasi + Linked + Send + 'static,
{
    for import in module.imports().filter(|import| import.module() == "env") {
        let Some(types) = import.ty().func().cloned() else {
            continue;
        };
        match import.name() {
            "emscripten_longjmp" => {
                let jump = |place: u32, value: u32| {
                    let value = value.max(1);
                    Err::<(), _>(Jump { place, value }.into())
                };
                linker.func_wrap("env", "emscripten_longjmp", jump)?;
            }
            name if name.starts_with("invoke_") => {
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

/// Calls a function of the table, and returns zeros if it jumps.
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
    let (stack, threw, value) = (
        global("__stack_pointer"),
        global("__THREW__"),
        global("__threwValue"),
    );
    let Err(error) = function.call_async(&mut caller, arguments, results).await else {
        return Ok(());
    };
    let (Some(jump), Some((stack, top)), Some((_, threw)), Some((_, value))) =
        (error.downcast_ref::<Jump>(), stack, threw, value)
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
