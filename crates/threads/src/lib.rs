//! Cooperative threads. Each thread has its own stack and never moves to another core. A switch
//! between two threads takes a few nanoseconds.
//!
//! [`run`] makes the calling OS thread a *core*. A thread of a core runs until it
//! [yields](yield_now), [parks](park), [joins](JoinHandle::join) or ends. Then the thread that has
//! been ready longest runs. Threads of a [`scope`] can borrow values, which need not be `Send`.
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
//! When all threads of a core wait, the core calls its [`Idle`] hook. If no event outside of the
//! core can wake a thread, all threads are unwound, and `run` returns an error that describes each
//! wait. `cargo run -p cellworks-threads --example letters` prints:
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
//! The main thread runs on the stack of its OS thread. Creating a thread allocates nothing while
//! the pool has a stack. If a thread overflows its stack, the process ends with an error:
//!
//! ```text
//! cellworks: thread 'deep' overflowed its stack of 131072 bytes; give it more with Config::stack_bytes or Builder::stack_bytes
//! ```
//!
//! # Panics and cancellation: what is guaranteed
//!
//! - A panic is passed to the thread that joins the panicking thread. A scope passes on the first
//!   panic of a thread that was not joined. A panic takes precedence over [`Cancelled`].
//! - A scope never returns or unwinds before all of its threads have ended.
//! - When a core is cancelled (see [`Verdict::Stuck`] and [`cancel_all`]), all of its threads are
//!   unwound, the youngest first. Every call that waits or yields unwinds the calling thread with
//!   the payload [`Cancelled`]. During unwinding, these calls return at once, because a second
//!   panic would end the process.
//! - If the core is not cancelled, a `yield_now` during unwinding returns at once, and a wait
//!   during unwinding waits. During this wait `std::thread::panicking()` is true for all threads of
//!   the core, because `std` counts panics for each OS thread. Therefore `std` may print another
//!   thread's panic as nested, and may poison a `Mutex` that another thread unlocks.
//! - `run` returns only after all cancelled threads have ended. If a thread catches [`Cancelled`]
//!   or waits in destructors again and again, the process ends after about a second with an error.
//! - Two cases fail while a thread waits in a destructor. If another cancelled thread catches a
//!   panic, its next wait may return instead of unwinding. If this other thread begins a panic, its
//!   next wait may start a second panic, which ends the process.
//! - In a program built with `panic = "abort"`, the process ends where a thread would be unwound.
//!
//! # Machines
//!
//! A machine is a library that runs programs of its users on cooperative threads and schedules
//! these threads itself. A machine runs its cores through an [`Owner`]. On these cores, the
//! functions of this crate that start, suspend or wake threads panic if a program calls them.
//!
//! # Limits
//!
//! - Each stack needs two mappings, so the default `vm.max_map_count` allows about 32,000 threads.
//! - Do not hold a lock of `std` across a yield or a wait. If another thread of the core then waits
//!   for the lock, the core hangs, because `std` blocks the OS thread. The same holds for
//!   initialising a `LazyLock` or `OnceLock` with a closure that yields.
//! - A loop that waits without yielding blocks every other thread of the core.
//! - All threads of a core share the thread-locals of the OS thread. Do not yield between the
//!   setting of a thread-local and the restoring of its old value.
//! - A switch does not save the floating-point control bits (mxcsr, x87 control word).
//! - The crate runs on Linux only. On processors other than x86-64, and with the feature
//!   `corosensei`, the crate corosensei performs the switches, and AddressSanitizer and
//!   ThreadSanitizer are not supported.
//!
//! # What does not compile
//!
//! Handles and scopes of a core stay on its OS thread:
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
//! A thread cannot borrow a value that the scope outlives, and a handle cannot leave the scope:
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
