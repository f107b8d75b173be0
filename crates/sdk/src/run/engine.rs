//! The engine that runs WebAssembly, with the settings that shared memories and machines need.

use std::sync::Arc;

use serde_json::Value;
use wasmtime::{Cache, Config, Engine, OperatorCost, WasmBacktraceDetails};

use super::memory::{GUARD, Memories};

/// How the code of a program is made to let others run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// By counted instructions: the same in each run, for simulated machines.
    Instructions,
    /// By the clock, which costs less: for this computer (`turns`).
    Clock,
}

/// The bytes of the stack that the compiled code of a thread has beside the stack of C, which is in
/// the program's memory. The smallest frames of C take 16 bytes there and some 100 here, so that of
/// C, with 8 MB for `main`, is full first. The system gives memory only for what is used.
const STACK_BYTES: usize = 64 << 20;

/// Makes the engine of a run.
pub(crate) fn engine(pace: Pace) -> wasmtime::Result<Engine> {
    let mut config = Config::new();
    config
        .with_host_memory(Arc::new(Memories))
        .memory_may_move(false)
        .memory_init_cow(false)
        .memory_guard_size(GUARD as u64)
        .max_wasm_stack(STACK_BYTES)
        .async_stack_size(STACK_BYTES + (1 << 20))
        // What compilers of C do not use here, and what shared memories rule out.
        .wasm_memory64(false)
        .wasm_multi_memory(false)
        .wasm_custom_page_sizes(false)
        // Lines are looked up when one is needed, not in each backtrace.
        .wasm_backtrace_details(WasmBacktraceDetails::Disable)
        .cache(Cache::from_file(None).ok());
    if pace == Pace::Instructions {
        config.consume_fuel(true).operator_cost(costs());
    }
    Engine::new(&config)
}

/// The fuel that one instruction of an SPU takes. Of a copy, an instruction is for several bytes.
pub(super) const FUEL_OF_INSTRUCTION: u64 = 8;

/// The fuel of each instruction of WebAssembly, which stands for the instructions of an SPU.
fn costs() -> OperatorCost {
    /// An SPU has no instruction that divides or takes a root: a compiler writes an estimate and
    /// steps of Newton's method, and for integers a loop over bits.
    const FLOATS: u8 = 10 * FUEL_OF_INSTRUCTION as u8;
    const INTEGERS: u8 = u8::MAX;
    let mut costs = OperatorCost {
        // What a compiler keeps in registers or folds into other instructions costs nothing, and so
        // does what turns round the bytes of a vector, a swizzle (`toolchain/shuffles.rs`).
        LocalGet: 0,
        LocalSet: 0,
        LocalTee: 0,
        I32Const: 0,
        I64Const: 0,
        F32Const: 0,
        F64Const: 0,
        V128Const: 0,
        I8x16Shuffle: 0,
        I8x16Swizzle: 0,
        // A number that becomes a vector or is taken out of one moves as in a shuffle. So do its
        // bytes when they are turned round (`costs`).
        I32x4Splat: 0,
        I32x4ExtractLane: 0,
        I64x2Splat: 0,
        I64x2ExtractLane: 0,
        // A branch tests for 0 itself.
        I32Eqz: 0,
        // A sum that costs an instruction has a `nop` for it (`costs`), and so has what sets a
        // global of the program itself.
        GlobalSet: 0,
        Nop: FUEL_OF_INSTRUCTION as u8,
        F32Add: 0,
        F32Sub: 0,
        F64Add: 0,
        F64Sub: 0,
        F32x4Add: 0,
        F32x4Sub: 0,
        F64x2Add: 0,
        F64x2Sub: 0,
        F32Div: FLOATS,
        F32x4Div: FLOATS,
        F32Sqrt: FLOATS,
        F32x4Sqrt: FLOATS,
        F64Div: INTEGERS,
        F64x2Div: INTEGERS,
        F64Sqrt: INTEGERS,
        F64x2Sqrt: INTEGERS,
        I32DivS: INTEGERS,
        I32DivU: INTEGERS,
        I32RemS: INTEGERS,
        I32RemU: INTEGERS,
        I64DivS: INTEGERS,
        I64DivU: INTEGERS,
        I64RemS: INTEGERS,
        I64RemU: INTEGERS,
        ..in_fuel(OperatorCost::new())
    };
    // A load and a store for 16 bytes.
    costs.variable.memory_copy_per_byte = 1;
    costs.variable.memory_fill_per_byte = 1;
    costs
}

/// Returns costs that are given in instructions in fuel.
fn in_fuel(costs: OperatorCost) -> OperatorCost {
    fn multiply(value: &mut Value) {
        match value {
            Value::Object(costs) => costs.values_mut().for_each(multiply),
            cost => *cost = (cost.as_u64().unwrap_or(0) * FUEL_OF_INSTRUCTION).into(),
        }
    }
    // They have a name for each of hundreds of instructions, and no other way to go through them.
    let mut named = serde_json::to_value(costs).expect("costs are numbers with names");
    multiply(&mut named);
    serde_json::from_value(named).expect("each cost has a byte of room")
}
