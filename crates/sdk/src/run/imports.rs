//! The imports of the PPU side, and the questions that they ask.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use wasmtime::{Caller, Linker, Ref, Val, ValType};

use super::guest::Guest;
use super::link::{Fault, Link, Linked, ask};
use super::slice::Slice;
use super::turns;
use super::wasi::{self, Clock, HasWasi, Wasi};

/// The data of an instance: one for each thread.
pub(crate) struct State {
    pub(super) link: Link<Question>,
    pub(super) slice: Slice,
    pub(super) wasi: Arc<Mutex<Wasi>>,
    pub(super) memory: Guest,
    /// Where the program has its words about the running thread (`lib/libc/turn.h`).
    pub(super) turn_at: Arc<OnceLock<u32>>,
    /// The bytes of the last allocation for which the heap had no room, or 0.
    pub(super) not_allocated: Arc<AtomicU32>,
}

impl Linked for State {
    type Question = Question;
    fn poll(begun: u32) -> Question {
        Question::Poll { begun }
    }
    fn link(&self) -> &Link<Question> {
        &self.link
    }
    fn slice(&mut self) -> &mut Slice {
        &mut self.slice
    }
}

impl HasWasi for State {
    fn wasi(&self) -> &Mutex<Wasi> {
        &self.wasi
    }
    fn memory(&self) -> &Guest {
        &self.memory
    }
}

/// Generates the questions of the PPU side, and the imports that ask them.
macro_rules! questions {
    ($($(#[$doc:meta])* $name:ident = $variant:ident { $($argument:ident: $type:ty),* } -> $result:ty;)*) => {
        /// What a program of the PPU asks.
        #[derive(Clone, Copy, Debug)]
        pub(crate) enum Question {
            Clock(Clock),
            Exit { code: u32 },
            /// Polls memory, in the loop that has this number.
            Poll { begun: u32 },
            /// Loads `SPU_Out_Mbox`.
            OutMboxLoad { context: u32 },
            /// Stores to `SPU_In_Mbox`.
            InMboxStore { context: u32, word: u32 },
            /// Loads `SPU_Status`.
            StatusLoad { context: u32 },
            /// Stores to a register of the proxy command that comes next, or of the query for tag
            /// groups.
            ProxyStore { context: u32, offset: u32, word: u32 },
            /// Stores to `MFC_ClassID_CMD`.
            ProxyCommand { context: u32, command: u32 },
            /// Loads `MFC_CMDStatus`.
            ProxyCommandStatus { context: u32 },
            /// Loads `Prxy_TagStatus`.
            ProxyTagStatus { context: u32 },
            /// Loads or stores a register that has no effect here, or none at all.
            NoRegister { context: Option<u32>, offset: u32, stores: bool },
            $($(#[$doc])* $variant { $($argument: $type),* },)*
        }

        impl Question {
            /// Returns the name of the function that asks.
            pub(super) fn name(&self) -> &'static str {
                match self {
                    Self::Clock(_) => "a time",
                    Self::Exit { .. } => "exit",
                    Self::Poll { .. } => "memory to change",
                    Self::OutMboxLoad { .. }
                    | Self::InMboxStore { .. }
                    | Self::StatusLoad { .. }
                    | Self::ProxyStore { .. }
                    | Self::ProxyCommand { .. }
                    | Self::ProxyCommandStatus { .. }
                    | Self::ProxyTagStatus { .. }
                    | Self::NoRegister { .. } => "a register",
                    $(Self::$variant { .. } => stringify!($name),)*
                }
            }
        }

        fn add_questions(linker: &mut Linker<State>) -> wasmtime::Result<()> {
            $(linker.func_wrap_async(
                "ppu",
                stringify!($name),
                |mut caller: Caller<'_, State>, ($($argument,)*): ($($type,)*)| {
                    Box::new(async move {
                        let value = ask(&mut caller, Question::$variant { $($argument),* }).await?;
                        wasmtime::Result::<$result>::Ok(value as $result)
                    })
                },
            )?;)*
            Ok(())
        }
    };
}

questions! {
    /// Makes a context.
    context_create = ContextCreate { flags: u32 } -> i32;
    context_destroy = ContextDestroy { context: u32 } -> i32;
    /// Loads the module of `bytes` bytes at `image`.
    program_load = ProgramLoad { context: u32, image: u32, bytes: u32 } -> i32;
    /// Runs a context until it stops. `stop` receives two words: the reason, and its code.
    context_run = ContextRun { context: u32, flags: u32, argument: u32, environment: u32, stop: u32 } -> i32;
    /// Takes the end of a run, for a context with events.
    stop_info_read = StopInfoRead { context: u32, stop: u32 } -> i32;
    mbox_status = MboxStatus { context: u32 } -> i32;
    in_mbox_write = InMboxWrite { context: u32, words: u32, count: u32, behavior: u32 } -> i32;
    out_mbox_read = OutMboxRead { context: u32, words: u32, count: u32 } -> i32;
    out_intr_mbox_read = OutIntrMboxRead { context: u32, words: u32, count: u32, behavior: u32 } -> i32;
    signal_write = SignalWrite { context: u32, register: u32, word: u32 } -> i32;
    mfcio = Mfcio { context: u32, opcode: u32, lsa: u32, ea: u32, size: u32, tag: u32 } -> i32;
    mfcio_status = MfcioStatus { context: u32, mask: u32, behavior: u32, status: u32 } -> i32;
    /// Waits for events: `units` has three words for each, a context, its events, and the result.
    wait_events = WaitEvents { units: u32, count: u32, timeout_ms: i32 } -> i32;
    show_local_store = ShowLocalStore { context: u32, at: u32 } -> i32;
    show_problem_state = ShowProblemState { context: u32, at: u32 } -> i32;
    /// Loads the word at `at`, which may be a register.
    load_register = LoadRegister { at: u32 } -> u32;
    /// Stores to the word at `at`, which may be a register.
    store_register = StoreRegister { at: u32, word: u32 } -> i32;
    cpu_info = CpuInfo { what: u32, node: i32 } -> i32;
    /// Looks whether the module of `bytes` bytes at `image` is a program of an SPU.
    program_check = ProgramCheck { image: u32, bytes: u32 } -> i32;
    timebase = Timebase { } -> u64;
    timebase_hertz = TimebaseHertz { } -> u64;
    /// Reads a number of 4 or 8 bytes, for which the thread then has a reservation.
    load_reserved = LoadReserved { at: u32, bytes: u32 } -> u64;
    /// Writes a number, and returns 1, if the thread's reservation for it was not lost.
    store_conditional = StoreConditional { at: u32, bytes: u32, value: u64 } -> u32;
    /// Makes a thread, which calls `__cell_thread` with `start`.
    thread_create = ThreadCreate { start: u32, stack_bottom: u32, stack_top: u32 } -> i32;
    thread_detach = ThreadDetach { thread: u32 } -> i32;
    thread_join = ThreadJoin { thread: u32, value: u32 } -> i32;
    /// Waits while the word at `at` is `word`.
    wait_word = WaitWord { at: u32, word: u32, timeout_ns: i64, what: u32 } -> i32;
    thread_yield = ThreadYield { } -> i32;
    /// Ends the wait of a thread for a word, a thread or a time, or its next one.
    thread_wake = ThreadWake { thread: u32 } -> i32;
}

impl From<Clock> for Question {
    fn from(clock: Clock) -> Self {
        Self::Clock(clock)
    }
}

/// Adds the imports of the PPU side to a linker.
pub(crate) fn add_to(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wasi::add_to(linker)?;
    turns::add_to(linker, "ppu")?;
    add_questions(linker)?;
    linker.func_wrap_async(
        "ppu",
        "call_function",
        |caller: Caller<'_, State>, (function, first, second): (u32, u32, u32)| {
            Box::new(async move { call_function(caller, function, [first, second]).await })
        },
    )?;
    linker.func_wrap_async(
        "wasi_snapshot_preview1",
        "proc_exit",
        |mut caller: Caller<'_, State>, (code,): (u32,)| {
            Box::new(async move { ask(&mut caller, Question::Exit { code }).await.map(drop) })
        },
    )?;
    linker.func_wrap(
        "ppu",
        "heap_is_full",
        |caller: Caller<'_, State>, bytes: u32| {
            caller.data().not_allocated.store(bytes, Ordering::Relaxed);
        },
    )?;
    // The thread's value is where `pthread_join` looks for it already.
    linker.func_wrap("ppu", "thread_exit", |_: Caller<'_, State>, value: u32| {
        Err::<(), _>(ThreadExit(value).into())
    })?;
    Ok(())
}

/// Calls a function of any type, as on a Cell: arguments that it does not take are left out, and
/// those that are missing are 0, as is the result of a function that returns none.
async fn call_function(
    mut caller: Caller<'_, State>,
    function: u32,
    words: [u32; 2],
) -> wasmtime::Result<u32> {
    let table = caller
        .get_export("__indirect_function_table")
        .and_then(|export| export.into_table());
    let entry = table.and_then(|table| table.get(&mut caller, function.into()));
    let Some(Ref::Func(Some(function))) = entry else {
        return Err(
            Fault("it called a function through a pointer that points to none".to_owned()).into(),
        );
    };
    let types = function.ty(&caller);
    let given = words.into_iter().chain(std::iter::repeat(0));
    let values = types.params().zip(given).map(|(kind, word)| match kind {
        ValType::I64 => Val::I64(word.into()),
        ValType::F32 => Val::F32(0),
        ValType::F64 => Val::F64(0),
        ValType::V128 => Val::V128(0.into()),
        _ => Val::I32(word as i32),
    });
    let values: Vec<Val> = values.collect();
    let mut results = vec![Val::I32(0); types.results().len()];
    function
        .call_async(&mut caller, &values, &mut results)
        .await?;
    Ok(match results.first() {
        Some(Val::I32(word)) => *word as u32,
        Some(Val::I64(word)) => *word as u32,
        _ => 0,
    })
}

/// The offsets of the registers of proxy commands (CBEA s.8.1 and s.8.3).
pub(super) mod proxy {
    pub(crate) const LSA: u32 = 0x0_3004;
    pub(crate) const EAH: u32 = 0x0_3008;
    pub(crate) const EAL: u32 = 0x0_300c;
    pub(crate) const SIZE_TAG: u32 = 0x0_3010;
    pub(crate) const COMMAND: u32 = 0x0_3014;
    pub(crate) const QUERY_TYPE: u32 = 0x0_3204;
    pub(crate) const QUERY_MASK: u32 = 0x0_321c;
    pub(crate) const TAG_STATUS: u32 = 0x0_322c;
}

/// The end of a thread by `pthread_exit`.
#[derive(Debug, thiserror::Error)]
#[error("the thread ends")]
pub(super) struct ThreadExit(pub(super) u32);

impl Question {
    /// Returns what loads, or stores `word` to, the register at an offset in those of a context
    /// (CBEA s.8).
    pub(super) fn of_register(context: u32, offset: u32, word: Option<u32>) -> Self {
        let signal = |register, word| Self::SignalWrite {
            context,
            register,
            word,
        };
        match (offset, word) {
            (proxy::LSA | proxy::EAL | proxy::SIZE_TAG | proxy::QUERY_MASK, Some(word))
            | (proxy::EAH, Some(word @ 0))
            | (proxy::QUERY_TYPE, Some(word)) => Self::ProxyStore {
                context,
                offset,
                word,
            },
            (proxy::COMMAND, Some(command)) => Self::ProxyCommand { context, command },
            (proxy::COMMAND, None) => Self::ProxyCommandStatus { context },
            (proxy::TAG_STATUS, None) => Self::ProxyTagStatus { context },
            (0x0_4004, None) => Self::OutMboxLoad { context },
            (0x0_400c, Some(word)) => Self::InMboxStore { context, word },
            (0x0_4014, None) => Self::MboxStatus { context },
            (0x0_4024, None) => Self::StatusLoad { context },
            (0x1_400c, Some(word)) => signal(1, word),
            (0x1_c00c, Some(word)) => signal(2, word),
            _ => Self::NoRegister {
                context: Some(context),
                offset,
                stores: word.is_some(),
            },
        }
    }

    /// Returns the answer of a wait whose time is over.
    pub(super) fn timed_out(self) -> u64 {
        // No events, and the end of a sleep; but a word has not changed.
        matches!(self, Self::WaitWord { .. }).into()
    }
}
