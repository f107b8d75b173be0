//! Stack overflows become errors that name the thread and the setting to change.
//!
//! A handler of SIGSEGV and SIGBUS checks whether the address of the fault lies in the guard of the
//! running thread, or of an OS thread that runs the main program of a machine. Other faults go to
//! the handler that was installed before, usually the handler of `std`.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::fmt::{self, Write};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;

use crate::block::Block;
use crate::stack::{Stack, page_bytes};

const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// The handlers that were installed before the handler of this crate.
static PREVIOUS: OnceLock<[libc::sigaction; 2]> = OnceLock::new();

/// A function that the signal handler calls with the address of a fault. If the address lies in the
/// guard of the running thread, the function returns this thread and the text
/// `Config::larger_stacks`, otherwise `None`.
pub(crate) type Find = fn(usize) -> Option<(&'static Block, &'static str)>;

/// The function that finds the thread with the overflowed stack.
static FIND: OnceLock<Find> = OnceLock::new();

/// The size of the stack on which the signal handler runs. The kernel saves the registers there,
/// which are up to 12 KiB with the largest vector registers, and the handler needs a few KiB.
const ALTERNATE_BYTES: usize = 64 * 1024;

/// A value that makes its OS thread report stack overflows until the value is dropped.
pub(crate) struct Guarded {
    /// The alternate stack. `None` if the OS thread already had one.
    installed: Option<Stack>,
}

impl Guarded {
    /// Makes this OS thread report stack overflows. All callers pass the same `find`.
    pub(crate) fn new(find: Find) -> io::Result<Guarded> {
        FIND.get_or_init(|| find);
        install_handler();
        let mut current = MaybeUninit::<libc::stack_t>::uninit();
        // SAFETY: the call writes the alternate stack of this OS thread to `current`.
        let current = unsafe {
            libc::sigaltstack(ptr::null(), current.as_mut_ptr());
            current.assume_init()
        };
        if current.ss_flags & libc::SS_DISABLE == 0 {
            return Ok(Guarded { installed: None });
        }
        let stack = Stack::map(ALTERNATE_BYTES)?;
        set_alternate(stack.limit().cast(), ALTERNATE_BYTES, 0);
        Ok(Guarded {
            installed: Some(stack),
        })
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        if let Some(stack) = self.installed.take() {
            set_alternate(ptr::null_mut(), 0, libc::SS_DISABLE);
            // SAFETY: the kernel no longer uses the stack, and no code runs on it, because this is
            // no signal handler.
            unsafe { stack.unmap() };
        }
    }
}

fn set_alternate(lowest: *mut c_void, bytes: usize, flags: c_int) {
    let alternate = libc::stack_t {
        ss_sp: lowest,
        ss_flags: flags,
        ss_size: bytes,
    };
    // SAFETY: the call disables the alternate stack, or sets it to memory that no other code uses.
    let done = unsafe { libc::sigaltstack(&alternate, ptr::null_mut()) };
    assert_eq!(done, 0, "sigaltstack: {}", io::Error::last_os_error());
}

fn install_handler() {
    PREVIOUS.get_or_init(|| {
        let previous = SIGNALS.map(|signal| {
            let mut action = MaybeUninit::<libc::sigaction>::uninit();
            // SAFETY: the call writes the present action to `action`.
            unsafe {
                libc::sigaction(signal, ptr::null(), action.as_mut_ptr());
                action.assume_init()
            }
        });
        for signal in SIGNALS {
            // SAFETY: all zeros is a valid action with an empty mask.
            let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
            action.sa_sigaction = on_fault as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            // SAFETY: `on_fault` does only what a signal handler may do.
            unsafe { libc::sigaction(signal, &action, ptr::null_mut()) };
        }
        previous
    });
}

extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, machine: *mut c_void) {
    // SAFETY: the kernel passes a filled-in `info` to a handler that has the flag SA_SIGINFO.
    let address = unsafe { (*info).si_addr() }.addr();
    if let Some((block, larger_stacks)) = FIND.get().and_then(|find| find(address)) {
        let (before, task, after) = match block.task() {
            Some(task) => (" (", task, ")"),
            None => ("", "", ""),
        };
        abort_with(format_args!(
            "cellworks: {}{before}{task}{after} overflowed its stack of {} bytes; give it more with {larger_stacks}\n",
            block.label(),
            block.stack_bytes,
        ));
    }
    if let Some(main) = MAIN_STACK.get().filter(|stack| stack.has_in_guard(address)) {
        abort_with(format_args!(
            "cellworks: the main program (of a network, the process `main`) overflowed the stack of its OS thread of {} bytes; \
             run the machine on one with more, by std::thread::Builder::stack_size, or keep large values in a Box or Vec\n",
            main.bytes,
        ));
    }
    chain(signal, info, machine);
}

fn abort_with(text: fmt::Arguments<'_>) -> ! {
    let mut message = Message::default();
    let _ = message.write_fmt(text);
    // SAFETY: `write` reads initialised bytes of the message, and `abort` ends the process.
    unsafe {
        libc::write(
            libc::STDERR_FILENO,
            message.text.as_ptr().cast(),
            message.len,
        );
        libc::abort();
    }
}

/// The stack of an OS thread that runs the main program of a machine.
#[derive(Clone, Copy)]
struct MainStack {
    lowest: usize,
    bytes: usize,
    guard_bytes: usize,
}

thread_local! {
    // A signal handler reads this value, so it has a constant initial value and no destructor.
    static MAIN_STACK: Cell<Option<MainStack>> = const { Cell::new(None) };

    /// The stack of this OS thread, if it was looked up. For the first thread of a process the C
    /// library reads `/proc/self/maps`, which takes some 20 us.
    static OWN_STACK: Cell<Option<Option<MainStack>>> = const { Cell::new(None) };
}

impl MainStack {
    /// Returns the stack of the calling OS thread, if the C library knows the stack.
    fn of_calling_thread() -> Option<Self> {
        let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
        // SAFETY: the first call fills in the attributes, and the last call frees them.
        unsafe {
            if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
                return None;
            }
            let (mut lowest, mut bytes, mut guard_bytes) = (ptr::null_mut(), 0, 0);
            let known = libc::pthread_attr_getstack(attributes.as_ptr(), &mut lowest, &mut bytes);
            libc::pthread_attr_getguardsize(attributes.as_ptr(), &mut guard_bytes);
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            (known == 0).then_some(Self {
                lowest: lowest.addr(),
                bytes,
                guard_bytes: guard_bytes.max(page_bytes()),
            })
        }
    }

    /// Returns whether the address lies in the guard. The guard is above `lowest` in some C
    /// libraries and below `lowest` in others, so both places are checked.
    fn has_in_guard(&self, address: usize) -> bool {
        address.abs_diff(self.lowest) < self.guard_bytes
    }
}

/// Runs the main program of a machine. If its stack overflows, the report names the main program.
pub(crate) fn with_main<R>(program: impl FnOnce() -> R) -> R {
    struct Before(Option<MainStack>);
    impl Drop for Before {
        fn drop(&mut self) {
            MAIN_STACK.set(self.0);
        }
    }
    install_handler();
    let own = OWN_STACK.get().unwrap_or_else(MainStack::of_calling_thread);
    OWN_STACK.set(Some(own));
    let _before = Before(MAIN_STACK.replace(own));
    program()
}

/// Passes the signal to the handler that was installed before, or takes the default action.
fn chain(signal: c_int, info: *mut libc::siginfo_t, machine: *mut c_void) {
    let previous = SIGNALS
        .iter()
        .position(|&handled| handled == signal)
        .and_then(|index| Some(PREVIOUS.get()?[index]));
    match previous {
        Some(action) if ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction) => {
            if action.sa_flags & libc::SA_SIGINFO != 0 {
                type WithInfo = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
                // SAFETY: a handler with the flag SA_SIGINFO has this type.
                let handler =
                    unsafe { std::mem::transmute::<usize, WithInfo>(action.sa_sigaction) };
                handler(signal, info, machine);
            } else {
                type Plain = extern "C" fn(c_int);
                // SAFETY: a handler without the flag SA_SIGINFO has this type.
                let handler = unsafe { std::mem::transmute::<usize, Plain>(action.sa_sigaction) };
                handler(signal);
            }
        }
        // A fault cannot be ignored. Therefore SIG_IGN is handled like SIG_DFL: the default action
        // ends the process when the instruction faults again.
        _ => {
            // SAFETY: all zeros is a valid action: the default action.
            let default: libc::sigaction = unsafe { std::mem::zeroed() };
            // SAFETY: resetting to the default action is allowed in a handler.
            unsafe { libc::sigaction(signal, &default, ptr::null_mut()) };
        }
    }
}

/// A text buffer on the stack, because a signal handler must not allocate. Text beyond the length
/// of the buffer is dropped.
struct Message {
    text: [u8; 512],
    len: usize,
}

impl Default for Message {
    fn default() -> Self {
        Message {
            text: [0; 512],
            len: 0,
        }
    }
}

impl Write for Message {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = &mut self.text[self.len..];
        let len = text.len().min(room.len());
        room[..len].copy_from_slice(&text.as_bytes()[..len]);
        self.len += len;
        Ok(())
    }
}
