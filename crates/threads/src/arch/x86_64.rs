//! The switch for x86-64 under the System V ABI.
//!
//! A context is the stack pointer of a suspended thread. Saved values lie on the stack.
//!
//! ```text
//!   suspended in `switch`            prepared, not yet started
//!     ┌────────────────┐               ┌────────────────┐
//!     │ rbx            │               │ entry          │
//!     │ rbp            │ ◄── Context   │ argument       │ ◄── Context
//!     │ resume address │               │ trampoline     │
//!     └────────────────┘               └────────────────┘
//!
//! The resume address lies in the red zone: the 128 bytes below the stack pointer, which signal
//! handlers do not change. Therefore no code pops the address.
//! ```
//!
//! A thread that takes turns is suspended in its [`Frame`] instead. Frames of different threads lie
//! side by side. A frame holds the stack pointer, the resume address, and as many registers as fit
//! into a cache line. The compiler keeps live values in these registers. A turn accesses the stack,
//! which lies in another page, only if the compiler has more live values.
//!
//! `switch` is inlined into its caller and declares almost all registers clobbered. Therefore the
//! compiler saves only the registers that are live in the caller, often none. The assembly saves
//! rbx and rbp, because the compiler reserves these registers and does not allow declaring them
//! clobbered. A turn also saves r12 to r14 itself. A `jmp` continues the other thread, because the
//! processor would mispredict a `ret`.
//!
//! The switch does not save the control bits of mxcsr and of the x87 control word, because Rust
//! assumes their default values everywhere.

use std::arch::{asm, naked_asm};
use std::cell::Cell;
use std::ptr;

use super::Entry;

/// The stack pointer of a suspended thread.
#[derive(Clone, Copy)]
pub(crate) struct Context(*mut u8);

impl Context {
    /// The initial value of a place for a context.
    pub(crate) const NONE: Context = Context(ptr::null_mut());

    /// Returns the stack pointer of the suspended thread, which identifies the thread's stack.
    #[cfg(cellworks_sanitizer)]
    pub(crate) fn address(self) -> usize {
        self.0.addr()
    }
}

/// Writes the first frame into the free memory `limit..top` of a stack. Returns the context that
/// calls `entry(argument)` on this stack.
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
    // When the trampoline has popped two words, the stack pointer is a multiple of 16 for `call`.
    let top = top.map_addr(|address| address & !15);
    // SAFETY: the three words below `top` lie in the free part that the caller passes.
    unsafe {
        let frame = top.cast::<usize>().sub(3);
        frame.write(trampoline as *const () as usize);
        frame.add(1).write(argument.expose_provenance());
        frame.add(2).write(entry as *const () as usize);
        Context(frame.add(1).cast())
    }
}

/// The assembly of a switch. `$go` continues the other thread, to which rsi points.
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
/// the saved context.
///
/// # Safety
///
/// `save` is valid for a write. `to` came from [`prepare`], from a `switch` on this OS thread or
/// from [`Frame::take`], and its stack still exists. No other call continues `to`.
#[inline(always)]
pub(crate) unsafe fn switch(save: *const Cell<Context>, to: Context) {
    // SAFETY: all registers except rsp, rbp and rbx are declared clobbered. The thread that
    // continues the saved context restores these three. `nostack` is not claimed, so pushing is
    // allowed. The flags are clobbered by default.
    unsafe { switch!(save, to.0, "mov rsp, rsi", "jmp [rsp - 8]") }
}

/// Switches as [`switch`] does, but continues a thread that has its context in a frame.
///
/// # Safety
///
/// See [`switch`]. In addition, a `switch` or a [`turn`] has suspended the thread of the frame
/// `to`, and the frame stays in its place.
#[inline(always)]
pub(crate) unsafe fn switch_to_frame(save: *const Cell<Context>, to: *const Frame) {
    // SAFETY: as in `switch`. The code that continues the frame `to` expects `to` in rsi.
    unsafe { switch!(save, to, "mov rsp, [rsi]", "jmp [rsi + 8]") }
}

/// Switches as [`switch_to_frame`] does, but also saves the running thread in a frame. Therefore
/// the turn accesses no stack. If there are as many stacks as the TLB has entries, accesses to
/// stacks are most of the cost of a switch.
///
/// # Safety
///
/// See [`switch_to_frame`]. In addition, `me` stays in its place until a thread has continued it.
#[inline(always)]
pub(crate) unsafe fn turn(me: *const Frame, to: *const Frame) {
    // SAFETY: as in `switch`, except that r12 to r14 are restored too. The thread that continues a
    // frame passes the address of the frame in rsi. Nothing is pushed, but `nostack` must not be
    // claimed, because the compiler could then use the memory below the stack pointer, where
    // `Frame::take` writes.
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

/// The saved state of a suspended thread. If a [`turn`] has suspended the thread, its registers are
/// in this frame. If a `switch` has suspended the thread, its registers are on its stack.
#[repr(C)]
pub(crate) struct Frame {
    context: Cell<Context>,
    /// The code that continues the thread. When this code begins, the stack pointer is set, and rsi
    /// holds the address of this frame.
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

    /// Returns the place in which the next [`switch`] stores the context of the running thread.
    pub(crate) fn place(&self) -> *const Cell<Context> {
        self.resume.set(go_on_by_stack);
        &raw const self.context
    }

    /// Marks the frame as holding no suspended thread.
    pub(crate) fn clear(&self) {
        self.context.set(Context::NONE);
    }

    /// Returns the stack pointer of the suspended thread.
    #[cfg(cellworks_sanitizer)]
    pub(crate) fn context(&self) -> Context {
        self.context.get()
    }

    pub(crate) fn is_clear(&self) -> bool {
        self.context.get().0.is_null()
    }

    /// Takes the context of the suspended thread out of the frame, for [`switch`]. Returns `None`
    /// if no thread is suspended in the frame.
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

/// Continues a thread that [`turn`] has suspended and [`Frame::take`] has taken out of its frame.
#[unsafe(naked)]
unsafe extern "C" fn go_on_by_frame() -> ! {
    naked_asm!("mov rsi, [rsp - 16]", "jmp [rsi + 8]")
}

/// Prefetches the words that [`switch`] pops when it continues `context`. `context` may be stale.
#[inline(always)]
pub(crate) fn prefetch(context: Context) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch of any address is only a hint and never faults.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(context.0.cast()) }
}

/// Calls the entry function, from the outermost frame of every stack.
///
/// The undefined `rip` ends backtraces of unwinders, and the zero `rbp` those by frame pointers.
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
