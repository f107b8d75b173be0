//! This computer as a machine: SPEs are pinned OS threads that run cooperative threads.
//!
//! ```text
//!   caller's thread              worker: an OS thread on a CPU of its own
//!   PPE: the closure   spawn     one scheduler of cooperative threads
//!   given to `run`   ─────────►    SPE 0: serves programs, one at a time
//!     │                              └─ Spe::threads: more threads
//!     │  words: mailboxes, signals   SPE n: if several SPEs share the CPU
//!     └───────────────────────────► │
//!   parking: sleeping, waking, and detecting that all threads sleep
//! ```
//!
//! - A Cell is a group of CPUs with a common last-level cache. A memory module is a NUMA node.
//! - While a thread waits, other cooperative threads of its worker run. If no thread is ready, the
//!   worker's OS thread spins for some microseconds and then sleeps.
//! - `Spe::stage` copies nothing: it returns a view of main memory, and prefetches the data. On a
//!   *strict* host ([`HostBuilder::strict`]) `Spe::stage` copies the data to a local store of
//!   limited size, and returns an error if the data does not fit.
//! - If every program and the PPE wait, the run ends with
//!   [`RunError::Deadlock`](cellworks_machine::RunError::Deadlock).
//!
//! # Programs that block their OS thread
//!
//! A program must wait only with the methods of `Spe`. Other ways of waiting block all threads of
//! the worker: a lock of `std` that another thread of the worker holds across a yield, `recv` on a
//! channel of `std`, or a loop on an atomic that does not yield.
//!
//! If all OS threads of the process are blocked forever, a watchdog prints the names of the running
//! programs and aborts the process. If a signal handler (Ctrl-C) or another process with shared
//! memory might still wake a thread, the watchdog only prints a warning. If a thread waits for
//! input or with a time limit, the watchdog prints nothing.
//!
//! Do not call [`Wait::wait_until`](cellworks_machine::Wait::wait_until) for a condition that only
//! a clock or an OS thread outside of the run makes true: if all other threads wait, the host
//! reports a deadlock. Check such a condition in a loop that yields.
//!
//! ```
//! use cellworks_host::Host;
//! use cellworks_machine::{Machine, Spe, SpeId};
//!
//! let host = Host::new()?;
//! let numbers: Vec<u32> = (0..1_000).collect();
//! let sum = host.run(|ppe| {
//!     let program = ppe.spawn(SpeId::new(0), |spe| {
//!         let mut sum = 0;
//!         let mut tiles = spe.stream(&numbers, 100);
//!         while let Some(tile) = tiles.next().unwrap() {
//!             sum += tile.iter().sum::<u32>();
//!         }
//!         sum
//!     });
//!     program.join().unwrap()
//! })?;
//! assert_eq!(sum, 499_500);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod conditions;
mod cpu_time;
mod cpus;
mod crew;
mod described;
mod engine;
mod host;
mod layout;
mod machine;
mod memory;
mod mfc;
mod outside;
mod parking;
mod pin;
mod ppe;
mod programs;
mod run;
mod serve;
#[cfg(all(test, not(loom)))]
#[path = "../../../tests/skipped.rs"]
mod skipped;
mod spe;
mod sync;
mod watchdog;
mod woken;
mod words;
mod worker;

pub use conditions::{
    Clock, Conditions, CpuUsage, MemoryBound, MemoryLeft, SiblingUsage, Usage, UsageUnknown, Watch,
};
pub use cpus::list::parse_list as parse_cpus;
pub use cpus::{CpusError, LeftOut, MemoryNode, Quota, WhyLeftOut};

/// The former name of [`MemoryNode`].
#[deprecated(note = "use `MemoryNode`")]
pub type Node = MemoryNode;
pub use described::{Cache, Described, DescribedCpu};
pub use host::{Host, HostBuilder, HostError};
pub use memory::MemorySlice;
pub use mfc::HostMfc;
pub use pin::{allowed_cpus, confine_to};
pub use ppe::HostPpe;
pub use spe::{HostHold, HostSpe};
