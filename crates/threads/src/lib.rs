//! Cooperative threads of one core: stackful, never migrating, a few nanoseconds a switch.
//!
//! [`run`] makes the calling OS thread a *core*. Threads of a core take turns: one runs until it
//! [yields](yield_now), [parks](park), [joins](JoinHandle::join) or ends, then the longest ready
//! one goes on. They borrow from each other's stacks through a [`scope`], and because they never
//! run at the same time nothing has to be `Send`.
//!
//! ```
//! use std::cell::RefCell;
//! use cellworks_threads::{Config, NoOutside, run, scope, yield_now};
//!
//! let log = RefCell::new(String::new());
//! run(&Config::default(), &NoOutside, || {
//!     scope(|s| {
//!         for name in ["a", "b"] {
//!             let log = &log;
//!             s.spawn(move || for turn in 0..3 {
//!                 log.borrow_mut().push_str(&format!("{name}{turn} "));
//!                 yield_now();
//!             });
//!         }
//!     });
//! }).unwrap();
//! assert_eq!(log.take(), "a0 b0 a1 b1 a2 b2 ");
//! ```
//!
//! When all threads of a core wait and its [`Idle`] hook knows of nothing outside that could wake
//! one, they are unwound and `run` says who waited for what, and where (`cargo run -p
//! cellworks-threads --example letters`):
//!
//! ```text
//! blocked for ever: 1 thread of this core waits and nothing is left to wake them
//!   thread 'main' waits for a letter at crates/threads/examples/letters.rs:41:56
//! ```
//!
//! # The life of a thread, and its stack
//!
//! ```text
//!                 ┌────────── yield_now ──────────┐
//!                 ▼                               │
//!   spawn ──►   ready  ──── its turn ────►     running  ──── returns, panics ────►  ended ──► join, or the scope
//!                 ▲                               │                                           takes its result
//!                 └─ unpark ─  waiting  ◄─ park ──┘                                           └─► stack to the pool
//!                              (or join, or the end of a scope)
//!
//!   high   ┌──────────────────────────────┐
//!          │ 0 to 31 times 128 bytes free │  so that stacks do not share sets of the L1 cache
//!          │ closure, later the result    │
//!          │ trampoline                   │  where backtraces end
//!          │ frames, growing down         │  Config::stack_bytes at least; committed when touched
//!   low    │ guard                        │  16 KiB without access
//!          └──────────────────────────────┘
//! ```
//!
//! The main thread runs on the stack of its OS thread. Nothing is allocated to create a thread
//! while the pool has a stack. A thread that runs into its guard ends the process with an error
//! that names it:
//!
//! ```text
//! cellworks: thread 'deep' overflowed its stack of 131072 bytes; give it more with Config::stack_bytes or Builder::stack_bytes
//! ```
//!
//! # Panics and cancellation: what is guaranteed
//!
//! - A panic of a thread is carried, with its payload, to the thread that joins it, else out of the
//!   scope it was spawned in. The first panic wins, and a panic wins over [`Cancelled`].
//! - A scope never returns or unwinds before all of its threads have ended; no stack is given up
//!   with frames on it.
//! - Cancelled threads are unwound, so their destructors run, those of the youngest thread first.
//!   Calls that wait, and yields, unwind; a thread that catches [`Cancelled`] is unwound again by
//!   its next such call. In a destructor during unwinding such calls return at once instead, as a
//!   second panic would end the process.
//! - While no core is cancelled, a `yield_now` during unwinding returns at once, and a wait during
//!   unwinding waits. Meanwhile `std::thread::panicking()` is true for other threads of the core
//!   too, because `std` counts panics for each OS thread; their own panics may then be printed as
//!   nested ones, but are caught and carried as ever, and a `std::sync::Mutex` that they unlock is
//!   taken for poisoned if they locked it before.
//! - A cancelled thread that does not end keeps `run` from returning: one that catches
//!   [`Cancelled`] and waits again, for ever, or whose destructors wait for ever. After a second or
//!   so of that the process ends with an error that names the thread.
//! - What `std` does not tell is guessed in one corner: a cancelled thread that began, or caught, a
//!   panic *while another thread was waiting in a destructor during unwinding*. If it waits in a
//!   destructor of its own, that may be a second panic, which ends the process; if it has caught
//!   its payload, its waits may return at once instead of unwinding.
//! - Programs built with `panic = "abort"` end where threads would be unwound.
//!
//! # Machines
//!
//! A library that builds a scheduler on top of this one, such as a machine that runs programs, runs
//! its cores as their [`Owner`]. Programs on such a core cannot start, suspend or wake its threads
//! past the owner: the functions of this crate that would do so panic there.
//!
//! # Limits
//!
//! - Each stack takes two mappings of the kernel's `vm.max_map_count`, 65,530 by default: about
//!   32,000 threads in a process.
//! - A lock of `std` held across a yield, a wait or the end of a thread's turn hangs the core when
//!   another of its threads locks it: `std` blocks the OS thread, and with it the thread that could
//!   unlock. The same goes for all other blocking calls of `std`, and for initialising a `LazyLock`
//!   or `OnceLock` with a closure that yields.
//! - Waiting in a loop that does not yield keeps every other thread of the core from running.
//! - Crates that keep a pointer in a thread-local for the time of a call and restore it afterwards,
//!   as scoped thread-locals do, are confused when threads interleave such calls. Do not yield
//!   inside of them.
//! - The floating-point control bits (mxcsr, x87 control word) are not switched; Rust requires
//!   their defaults anyway.
//! - Linux only: the C library is asked where stacks lie. On x86-64 the switch is our own assembly, elsewhere, and
//!   with the feature `corosensei`, the corosensei crate. AddressSanitizer and ThreadSanitizer are
//!   told of switches of the former.
//!
//! # What does not compile
//!
//! Everything of a core stays on its OS thread:
//!
//! ```compile_fail,E0277
//! # use cellworks_threads::*;
//! let thread = run(&Config::default(), &NoOutside, current).unwrap();
//! std::thread::spawn(move || thread.unpark());
//! ```
//!
//! ```compile_fail,E0277
//! # use cellworks_threads::*;
//! run(&Config::default(), &NoOutside, || {
//!     scope(|s| std::thread::scope(|os| { os.spawn(|| s.spawn(|| ())); }));
//! });
//! ```
//!
//! A thread cannot borrow what its scope does not outlive, and its handle cannot leave the scope:
//!
//! ```compile_fail,E0373
//! # use cellworks_threads::*;
//! scope(|s| {
//!     let inside = 1;
//!     s.spawn(|| inside + 1);
//! });
//! ```
//!
//! ```compile_fail
//! # use cellworks_threads::*;
//! let handle = scope(|s| s.spawn(|| 1));
//! ```

#[cfg(not(unix))]
compile_error!("cellworks-threads needs a Unix: its stacks come from mmap");

#[cfg(not(target_os = "linux"))]
compile_error!(
    "Cellworks runs on Linux alone: it asks Linux for stacks, CPUs and memory. On another system, \
     build and run it in a container or a virtual machine with Linux."
);

mod arch;
#[cfg(cellworks_sanitizer = "address")]
mod asan;
mod block;
mod calls;
mod cancelled;
mod config;
mod list;
mod overflow;
mod owner;
mod patience;
mod report;
mod rotation;
mod scheduler;
mod scope;
mod scope_state;
mod serials;
mod stack;
mod thread;
#[cfg(cellworks_sanitizer = "thread")]
mod tsan;

#[cfg(cellworks_sanitizer = "address")]
use asan as sanitizer;
#[cfg(cellworks_sanitizer = "thread")]
use tsan as sanitizer;

pub use calls::{
    alive, begin_turns, blocked_threads, cancel_all, current, free_stack_bytes, is_cancelled,
    is_running, is_unwinding, others_ready, park, run, scope, stack_high_water_bytes, take_turn,
    yield_now,
};
pub use cancelled::Cancelled;
pub use config::{Config, Idle, NoOutside, Verdict};
pub use owner::Owner;
pub use patience::Patience;
pub use report::{Blocked, BlockedThread};
pub use scope::{Builder, JoinHandle, Scope};
pub use thread::Thread;
