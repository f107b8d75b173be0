//! A program that is ready to be instantiated, and its errors in words.

use wasmtime::{AsContextMut, Global, Instance, Linker, Store, Trap, Val, WasmBacktrace};

use super::engine::{FUEL_OF_INSTRUCTION, Pace};
use super::link::{FUEL, Fault, FaultAt};
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

/// The stack of C of an instance.
pub(super) struct Stack {
    /// The global variable with the lowest address in use.
    pointer: Global,
    pub(super) bottom: u32,
    top: u32,
}

/// What is wrong if a stack is full.
pub(super) const STACK_IS_FULL: &str = "its stack is full; keep large arrays outside of functions, end the recursion \
     earlier, or, on the PPU, start a thread with a larger stack (pthread_attr_setstacksize)";

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
        // The linker places the stack at the start of the memory.
        let whole = (0, pointer.get(&mut store).i32().unwrap_or(0) as u32);
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
        // It grows down, through 0.
        match (self.bottom..=self.top).contains(&at) {
            true => error,
            false => error.context(StackIsFull),
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
        Some(Trap::UnreachableCodeReached) => {
            "it ended itself: by abort() or a failed assertion, by a call of a function with other arguments than \
             it is defined with, or by the end of a function that should return a value"
                .to_owned()
        }
        Some(Trap::IndirectCallToNull | Trap::TableOutOfBounds) => {
            "it called a function through a pointer that points to none".to_owned()
        }
        Some(Trap::BadSignature) => {
            "it called a function through a pointer of another type: the function takes other arguments, or returns \
             another value"
                .to_owned()
        }
        _ => format!("{:#}", error),
    };
    (why, place)
}

/// Returns the address of a wrong access, which the engine has as a text alone.
fn wrong_address(error: &wasmtime::Error) -> Option<u64> {
    let text = format!("{error:#}");
    let (_, rest) = text.split_once("wasm address 0x")?;
    let digits: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
    u64::from_str_radix(&digits, 16).ok()
}
