//! The engine that runs WebAssembly, with the settings that shared memories and machines need.

use std::sync::Arc;

use wasmtime::{Cache, Config, Engine, OperatorCost, WasmBacktraceDetails};

use super::memory::{GUARD, Memories};

/// How the code of a program is made to let others run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// By counted instructions: the same in each run, for simulated machines.
    Instructions,
    /// By the clock, which costs less: for this computer.
    Clock,
}

/// The bytes of the stack that the compiled code of a thread has beside the stack of C, which is in
/// the program's memory. The smallest frames of C take 16 bytes there and some 100 here, so that of
/// C, with 1 MB at most, is full first. The system gives memory only for what is used.
const STACK_BYTES: usize = 8 << 20;

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
    match pace {
        Pace::Instructions => config.consume_fuel(true).operator_cost(costs()),
        Pace::Clock => config.epoch_interruption(true),
    };
    Engine::new(&config)
}

/// The cost of each instruction of WebAssembly in instructions of an SPU. What a compiler keeps in
/// registers or folds into other instructions costs nothing.
fn costs() -> OperatorCost {
    OperatorCost {
        LocalGet: 0,
        LocalSet: 0,
        LocalTee: 0,
        I32Const: 0,
        I64Const: 0,
        F32Const: 0,
        F64Const: 0,
        V128Const: 0,
        ..OperatorCost::new()
    }
}
