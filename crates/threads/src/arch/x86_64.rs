//! The context switch for x86-64 under the System V ABI.
//!
//! A context is the stack pointer of a suspended thread. Saved values lie on the stack:
//!
//! ```text
//!   suspended in `switch`            prepared, not yet started
//!     ┌────────────────┐               ┌────────────────┐
//!     │ rbx            │               │ entry          │
//!     │ rbp            │ ◄── Context   │ argument       │ ◄── Context
//!     │ resume address │               │ trampoline     │
//!     └────────────────┘               └────────────────┘
//! ```
//!
//! The resume address lies in the red zone: the 128 bytes below the stack pointer, which signal
//! handlers do not change. Therefore the address is stored without a push, and is never popped.
//!
//! [`turn`] saves registers in a [`Frame`] instead, as many as fit into one cache line. The
//! compiler saves any other live registers on the stack.
//!
//! The functions are inlined and declare almost all registers clobbered, so that the compiler saves
//! only live registers, often none. rbx and rbp cannot be declared clobbered, so the assembly saves
//! them. A `jmp` continues the other thread, because the processor would mispredict a `ret`.
//!
//! mxcsr and the x87 control word are not saved, because Rust assumes their default values.

use std::arch::{asm, naked_asm};
use std::cell::Cell;
use std::ptr;

use super::Entry;

/// The stack pointer of a suspended thread.
#[derive(Clone, Copy)]
pub(crate) struct Context(*mut u8);

impl Context {
    /// The initial value of a context.
    pub(crate) const NONE: Context = Context(ptr::null_mut());

    /// Returns the stack pointer, which identifies the thread's stack.
    #[cfg(cellworks_sanitizer)]
    pub(crate) fn address(self) -> usize {
        self.0.addr()
    }
}

/// Returns a new context that calls `entry(argument)` on the stack `limit..top`.
///
/// # Safety
///
/// `limit..top` is writable and has room for a frame. No other code uses this memory until the
/// thread has ended.
pub(crate) unsafe fn prepare(
    _limit: *mut u8,
    top: *mut u8,
    entry: Entry,
    argument: *const (),
) -> Context {
    // The trampoline pops two words. Then the stack pointer is a multiple of 16, as `call` needs.
    let top = top.map_addr(|address| address & !15);
    // SAFETY: the three words below `top` lie in the memory that the caller passes.
    unsafe {
        let frame = top.cast::<usize>().sub(3);
        frame.write(trampoline as *const () as usize);
        frame.add(1).write(argument.expose_provenance());
        frame.add(2).write(entry as *const () as usize);
        Context(frame.add(1).cast())
    }
}

/// The assembly of a switch. The instructions `$go` continue the other thread, with `$to` in rsi.
macro_rules! switch {
    ($save:expr, $to:expr, $($go:literal),+) => {
        asm!(
            "push rbx",
            "push rbp",
            "lea rax, [rip + 2f]",
            "mov [rsp - 8], rax",
            "mov [rdi], rsp",
            $($go,)+
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

/// Stores the running context in `save` and continues `to`. Returns when `save` is continued.
///
/// # Safety
///
/// `save` is valid for a write. `to` came from [`prepare`], from a `switch` on this OS thread or
/// from [`Frame::take`], and its stack still exists. No other call continues `to`.
#[inline(always)]
pub(crate) unsafe fn switch(save: *const Cell<Context>, to: Context) {
    // SAFETY: all registers except rsp, rbp and rbx are declared clobbered, and the assembly
    // restores these three. `nostack` is not claimed, so the assembly may push.
    unsafe { switch!(save, to.0, "mov rsp, rsi", "jmp [rsp - 8]") }
}

/// Does the same as [`switch`], but continues the thread that is suspended in the frame `to`.
///
/// # Safety
///
/// See [`switch`]. In addition, `to` is the frame of a suspended thread and is not moved.
#[inline(always)]
pub(crate) unsafe fn switch_to_frame(save: *const Cell<Context>, to: *const Frame) {
    // SAFETY: as in `switch`. The code that continues the frame `to` expects `to` in rsi.
    unsafe { switch!(save, to, "mov rsp, [rsi]", "jmp [rsi + 8]") }
}

/// Does the same as [`switch_to_frame`], and saves the running thread in the frame `me`. Accesses
/// no stack, because stack accesses are slow if there are more stacks than TLB entries.
///
/// # Safety
///
/// See [`switch_to_frame`]. In addition, `me` is not moved until `me` is continued.
#[inline(always)]
pub(crate) unsafe fn turn(me: *const Frame, to: *const Frame) {
    // SAFETY: as in `switch`, but r12 to r14 are restored too. The code that continues a frame has
    // the address of the frame in rsi. `nostack` is not claimed: it would allow the compiler to use
    // the memory below the stack pointer, where `Frame::take` writes.
    unsafe {
        asm!(
            "lea rax, [rip + 2f]",
            "mov [rdi + 8], rax",
            "mov [rdi + 16], rbx",
            "mov [rdi + 24], rbp",
            "mov [rdi + 32], r12",
            "mov [rdi + 40], r13",
            "mov [rdi + 48], r14",
            "mov [rdi], rsp",
            "mov rsp, [rsi]",
            "jmp [rsi + 8]",
            "2:",
            "mov rbx, [rsi + 16]",
            "mov rbp, [rsi + 24]",
            "mov r12, [rsi + 32]",
            "mov r13, [rsi + 40]",
            "mov r14, [rsi + 48]",
            inout("rdi") me => _,
            inout("rsi") to => _,
            out("r15") _,
            clobber_abi("sysv64"),
        );
    }
}

/// The saved state of a suspended thread. [`turn`] saves registers here, [`switch`] only a context.
#[repr(C)]
pub(crate) struct Frame {
    context: Cell<Context>,
    /// The address of the code that continues the thread. The code needs the stack pointer of the
    /// thread in rsp, and the address of this frame in rsi.
    resume: Cell<unsafe extern "C" fn() -> !>,
    rbx: Cell<usize>,
    rbp: Cell<usize>,
    r12: Cell<usize>,
    r13: Cell<usize>,
    r14: Cell<usize>,
}

impl Frame {
    pub(crate) const fn new() -> Frame {
        Frame {
            context: Cell::new(Context::NONE),
            resume: Cell::new(go_on_by_stack),
            rbx: Cell::new(0),
            rbp: Cell::new(0),
            r12: Cell::new(0),
            r13: Cell::new(0),
            r14: Cell::new(0),
        }
    }

    /// Returns the cell in which the next [`switch`] stores the running context.
    pub(crate) fn place(&self) -> *const Cell<Context> {
        self.resume.set(go_on_by_stack);
        &raw const self.context
    }

    /// Removes the context, so that [`take`](Self::take) returns `None`.
    pub(crate) fn clear(&self) {
        self.context.set(Context::NONE);
    }

    #[cfg(cellworks_sanitizer)]
    pub(crate) fn context(&self) -> Context {
        self.context.get()
    }

    pub(crate) fn is_clear(&self) -> bool {
        self.context.get().0.is_null()
    }

    /// Takes the context out of the frame, so that [`switch`] can continue the thread. Returns
    /// `None` if the frame holds no context.
    ///
    /// # Safety
    ///
    /// The thread of this frame is not running, and this frame is not moved until the thread runs.
    pub(crate) unsafe fn take(&self) -> Option<Context> {
        let context = self.context.replace(Context::NONE);
        if context.0.is_null() {
            return None;
        }
        if self.resume.get() as usize != go_on_by_stack as *const () as usize {
            // SAFETY: no code uses the memory below a suspended thread's stack pointer, see `turn`.
            unsafe {
                let top = context.0.cast::<usize>();
                top.sub(1).write(go_on_by_frame as *const () as usize);
                top.sub(2).write(ptr::from_ref(self).expose_provenance());
            }
        }
        Some(context)
    }
}

/// Continues a thread that [`switch`] has suspended.
#[unsafe(naked)]
unsafe extern "C" fn go_on_by_stack() -> ! {
    naked_asm!("jmp [rsp - 8]")
}

/// Continues a thread that [`turn`] has suspended, after [`Frame::take`] has returned its context.
#[unsafe(naked)]
unsafe extern "C" fn go_on_by_frame() -> ! {
    naked_asm!("mov rsi, [rsp - 16]", "jmp [rsi + 8]")
}

/// Prefetches the words that [`switch`] pops when it continues `context`. The prefetch of a stale
/// context is useless, but does no harm.
#[inline(always)]
pub(crate) fn prefetch(context: Context) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch of any address is only a hint and never faults.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(context.0.cast()) }
}

/// Calls the entry function in the outermost frame of a stack. Backtraces end in this frame,
/// because `rip` is undefined and `rbp` is 0.
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
