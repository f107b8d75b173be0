//! The switch for x86-64 under the System V ABI. It is symmetric: it goes directly from one thread
//! to the next.
//!
//! The saved state of a suspended thread is its stack pointer. The rest lies on its stack (threads
//! that take turns differ, see below):
//!
//! ```text
//!   suspended in `switch`            prepared, not yet started
//!     ┌────────────────┐               ┌────────────────┐
//!     │ rbx            │               │ entry          │
//!     │ rbp            │ ◄── Context   │ argument       │ ◄── Context
//!     │ resume address │               │ trampoline     │
//!     └────────────────┘               └────────────────┘
//!
//! The address lies in the red zone, the 128 bytes below the stack pointer that signal handlers leave alone, so that it need
//! not be popped.
//! ```
//!
//! A thread that takes turns is suspended in its [`Frame`] instead. Frames of different threads lie
//! side by side. A frame holds the stack pointer, the address, and as many registers as fit into a
//! cache line. The compiler keeps live values in these registers. So a turn touches the stack,
//! which lies in another page, only if there are more live values.
//!
//! `switch` is inlined into its caller and declares all other registers clobbered, so the compiler
//! saves exactly those that are live there, often none. rbx and rbp cannot be declared (the
//! compiler reserves them) and are saved by hand, as are r12 to r14 in a turn. The other thread is
//! continued by `jmp`: a `ret` would be predicted from the processor's return stack, which holds
//! the calls of the thread that is being left.
//!
//! The control bits of mxcsr and of the x87 control word are not saved, although the ABI asks a
//! *function* to preserve them. Rust assumes their default values everywhere, so no Rust program
//! may change them.

use std::arch::{asm, naked_asm};
use std::cell::Cell;
use std::ptr;

use super::Entry;

/// The stack pointer of a suspended thread.
#[derive(Clone, Copy)]
pub(crate) struct Context(*mut u8);

impl Context {
    /// The value of a place in which no context was stored yet.
    pub(crate) const NONE: Context = Context(ptr::null_mut());

    /// The suspended thread's stack pointer, which identifies its stack.
    #[cfg(cellworks_sanitizer)]
    pub(crate) fn address(self) -> usize {
        self.0.addr()
    }
}

/// Writes the first frame of a stack whose free part is `limit..top` and returns the context that
/// calls `entry(argument)` on it.
///
/// # Safety
///
/// `limit..top` is writable, used by no other code until the thread has ended, and has room for a
/// frame.
pub(crate) unsafe fn prepare(
    _limit: *mut u8,
    top: *mut u8,
    entry: Entry,
    argument: *const (),
) -> Context {
    // After the trampoline has popped two words the stack pointer is a multiple of 16, as a `call`
    // needs it.
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

/// The switch. `$go` is the code that continues the other thread, to which rsi points.
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

/// Stores the running context in `save` and continues `to`. Returns when another thread continues
/// what was saved.
///
/// # Safety
///
/// `save` is valid for a write. `to` came from [`prepare`], from a `switch` on this OS thread or
/// from [`Frame::take`], its stack still exists, and it is continued this once.
#[inline(always)]
pub(crate) unsafe fn switch(save: *const Cell<Context>, to: Context) {
    // SAFETY: all registers but rsp, rbp and rbx are declared clobbered, those three are restored
    // by the thread that continues the saved context; `nostack` is not claimed, so pushing is
    // allowed. The flags are clobbered by default.
    unsafe { switch!(save, to.0, "mov rsp, rsi", "jmp [rsp - 8]") }
}

/// As [`switch`], to a thread whose context is in its frame.
///
/// # Safety
///
/// As for [`switch`]; `to` is the frame of a thread that a `switch` or a [`turn`] has suspended,
/// and stays in its place.
#[inline(always)]
pub(crate) unsafe fn switch_to_frame(save: *const Cell<Context>, to: *const Frame) {
    // SAFETY: as in `switch`. The code that `to` points to expects the frame in rsi, as it does in
    // `turn`.
    unsafe { switch!(save, to, "mov rsp, [rsi]", "jmp [rsi + 8]") }
}

/// As [`switch_to_frame`], but the running thread is saved in a frame too, so its stack is not
/// touched. Touching it is most of the cost of a switch when there are as many stacks as the TLB
/// has entries.
///
/// # Safety
///
/// As for [`switch_to_frame`]; `me` stays in its place until the thread was continued.
#[inline(always)]
pub(crate) unsafe fn turn(me: *const Frame, to: *const Frame) {
    // SAFETY: as in `switch`, but that r12 to r14 are restored, too. The thread that continues a
    // frame names it in rsi. Nothing is pushed, but `nostack` must not be claimed: `Frame::take`
    // writes below the stack pointer, where the compiler keeps nothing because of this.
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

/// Where a suspended thread goes on. If a [`turn`] has suspended it, its registers are here; if a
/// `switch` has, they are on its stack.
#[repr(C)]
pub(crate) struct Frame {
    context: Cell<Context>,
    /// The code that continues the thread, with the stack pointer set and the address of this frame
    /// in rsi.
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

    /// The place in which the next [`switch`] that suspends the running thread is to save it.
    pub(crate) fn place(&self) -> *const Cell<Context> {
        self.resume.set(go_on_by_stack);
        &raw const self.context
    }

    /// Marks the frame as holding no suspended thread.
    pub(crate) fn clear(&self) {
        self.context.set(Context::NONE);
    }

    /// The stack pointer of the suspended thread.
    #[cfg(cellworks_sanitizer)]
    pub(crate) fn context(&self) -> Context {
        self.context.get()
    }

    pub(crate) fn is_clear(&self) -> bool {
        self.context.get().0.is_null()
    }

    /// Takes the context of the suspended thread out of the frame, if there is one. [`switch`] can
    /// continue it.
    ///
    /// # Safety
    ///
    /// The thread is suspended, and this frame stays in its place.
    pub(crate) unsafe fn take(&self) -> Option<Context> {
        let context = self.context.replace(Context::NONE);
        if context.0.is_null() {
            return None;
        }
        if self.resume.get() as usize != go_on_by_stack as *const () as usize {
            // SAFETY: no code uses what is below the stack pointer of a suspended thread, see
            // `turn`.
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

/// Continues a thread that [`turn`] has suspended and that was taken out of its frame: only its
/// stack pointer is given.
#[unsafe(naked)]
unsafe extern "C" fn go_on_by_frame() -> ! {
    naked_asm!("mov rsi, [rsp - 16]", "jmp [rsi + 8]")
}

/// Prefetches the frame that [`switch`] will pop when it continues `context`. `context` may be
/// stale.
#[inline(always)]
pub(crate) fn prefetch(context: Context) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch of any address is only a hint and never faults.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(context.0.cast()) }
}

/// The outermost frame of every stack: calls the entry function with its argument.
///
/// Undefined `rip` tells unwinders, and zero `rbp` tells frame-pointer walkers, that backtraces end
/// here.
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
