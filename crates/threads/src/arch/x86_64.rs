//! The switch of x86-64 under the System V ABI: symmetric, straight from one thread to the next.
//!
//! A suspended thread is its stack pointer; the rest lies on its stack:
//!
//! ```text
//!   suspended in `switch`            prepared, not yet started
//!     ┌────────────────┐               ┌────────────────┐
//!     │ rbx            │               │ entry          │
//!     │ rbp            │ ◄── Context   │ argument       │ ◄── Context
//!     │ resume address │               │ trampoline     │
//!     └────────────────┘               └────────────────┘
//!
//! The address lies in the red zone, the 128 bytes below the stack pointer that nobody but the running code touches, so
//! that it need not be popped.
//! ```
//!
//! `switch` is inlined into its caller and declares all other registers clobbered, so the compiler saves exactly those
//! that are live there, often none. rbx and rbp cannot be declared (the compiler reserves them) and are saved by hand.
//! The other thread is continued by `jmp`: a `ret` would be predicted from the processor's return stack,
//! which holds the calls of the thread that is being left.
//!
//! Not saved: the control bits of mxcsr and of the x87 control word, which the ABI asks a *function* to preserve. Rust
//! assumes their default values everywhere, so no Rust program may change them anyway.

use std::arch::{asm, naked_asm};
use std::cell::Cell;

use super::Entry;

/// The stack pointer of a suspended thread.
#[derive(Clone, Copy)]
pub(crate) struct Context(*mut u8);

impl Context {
    /// Stands where no context has been stored yet.
    pub(crate) const NONE: Context = Context(std::ptr::null_mut());

    /// The suspended thread's stack pointer: tells whose stack this is.
    #[cfg(cellworks_asan)]
    pub(crate) fn address(self) -> usize {
        self.0.addr()
    }
}

/// Writes the first frame of a stack whose free part is `limit..top` and returns the context that calls
/// `entry(argument)` on it.
///
/// # Safety
///
/// `limit..top` is writable, used by nobody else until the thread has ended, and has room for a frame.
pub(crate) unsafe fn prepare(
    _limit: *mut u8,
    top: *mut u8,
    entry: Entry,
    argument: *const (),
) -> Context {
    // After the trampoline has popped two words the stack pointer is a multiple of 16, as a `call` needs it.
    let top = top.map_addr(|address| address & !15);
    // SAFETY: three words below `top` lie in the caller's free part.
    unsafe {
        let frame = top.cast::<usize>().sub(3);
        frame.write(trampoline as *const () as usize);
        frame.add(1).write(argument.expose_provenance());
        frame.add(2).write(entry as *const () as usize);
        Context(frame.add(1).cast())
    }
}

/// The switch, where `$load` is the instruction that gets the stack pointer of the other thread from rsi.
macro_rules! switch {
    ($load:literal, $save:expr, $to:expr) => {
        asm!(
            "push rbx",
            "push rbp",
            "lea rax, [rip + 2f]",
            "mov [rsp - 8], rax",
            "mov [rdi], rsp",
            $load,
            "jmp [rsp - 8]",
            "2:",
            "pop rbp",
            "pop rbx",
            inout("rdi") $save => _,
            inout("rsi") $to => _,
            out("r12") _, out("r13") _, out("r14") _, out("r15") _,
            clobber_abi("sysv64"),
        )
    };
}

/// Stores the running context in `save` and continues `to`. Returns when somebody continues what was saved.
///
/// # Safety
///
/// `save` is valid for a write. `to` came from [`prepare`] or from a `switch` on this OS thread, its stack still exists,
/// and it is continued this once.
#[inline(always)]
pub(crate) unsafe fn switch(save: *const Cell<Context>, to: Context) {
    // SAFETY: all registers but rsp, rbp and rbx are declared clobbered, those three are restored by whoever continues
    // the saved context; `nostack` is not claimed, so pushing is allowed. The flags are clobbered by default.
    unsafe { switch!("mov rsp, rsi", save, to.0) }
}

/// As [`switch`], to the context in `to`: one instruction less.
///
/// # Safety
///
/// As for [`switch`], for what is in `to`, which is valid for a read.
#[cfg_attr(cellworks_asan, allow(dead_code))]
#[inline(always)]
pub(crate) unsafe fn switch_to_saved(save: *const Cell<Context>, to: *const Cell<Context>) {
    // SAFETY: as in `switch`.
    unsafe { switch!("mov rsp, [rsi]", save, to) }
}

/// Asks the processor to load the frame that [`switch`] will pop when it continues `context`, which may be stale.
#[inline(always)]
pub(crate) fn prefetch(context: Context) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch of any address is only a hint and never faults.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(context.0.cast()) }
}

/// The outermost frame of every stack: calls the entry function with its argument.
///
/// Undefined `rip` and zero `rbp` tell unwinders and frame-pointer walkers alike that backtraces end here.
#[unsafe(naked)]
unsafe extern "C" fn trampoline() -> ! {
    naked_asm!(
        ".cfi_startproc",
        ".cfi_undefined rip",
        "pop rdi",
        "pop rax",
        "xor ebp, ebp",
        "call rax",
        "ud2",
        ".cfi_endproc",
    )
}
