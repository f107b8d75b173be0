//! A library for machines of *cells*: cores with a small local store that move data explicitly, by
//! DMA, mailboxes and signals. Programs use it to run on such machines, to measure them, and to
//! place tasks on their cores.
//!
//! A program for an SPE (such a core) uses [`machine::Spe`]. It runs on [`host::Host`], which is
//! this computer, and on `sim::Sim`, a simulated Cell.
//!
//! ```
//! use cellworks::prelude::*;
//!
//! // Runs on any machine, because the code names no machine.
//! fn dot<S: Spe>(spe: &S, a: &[f32], b: &[f32]) -> Result<f32, StageError> {
//!     let (mut a, mut b) = (spe.stream(a, 1_024), spe.stream(b, 1_024));
//!     let mut sum = 0.0;
//!     while let (Some(a), Some(b)) = (a.next()?, b.next()?) {
//!         sum += a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
//!     }
//!     Ok(sum)
//! }
//!
//! let host = Host::new()?;
//! let (a, b) = (vec![2.0; 10_000], vec![0.5; 10_000]);
//! let sum = host.run(|ppe| {
//!     let first = ppe.topology().spes().next().unwrap();
//!     ppe.spawn(first, |spe| dot(spe, &a, &b)).join().unwrap()
//! })??;
//! assert_eq!(sum, 10_000.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | crate | what it is | feature |
//! |---|---|---|
//! | [`machine`] | the traits and types: machines, SPEs, staging, the raw level and its rules | |
//! | [`host`] | this computer as a machine | |
//! | [`threads`] | cooperative threads of one core, for programs that use no machine | |
//! | [`csp`] | channels, alternation, poison, and networks of processes | |
//! | [`tasks`] | a pool of tasks that are staged ahead, split on demand, and may wait | |
#![cfg_attr(
    feature = "mapping",
    doc = "| [`mapping`] | placing communicating tasks on cores | `mapping` |"
)]
#![cfg_attr(
    feature = "sim",
    doc = "| [`sim`] | simulated machines: PS3, QS20, QS22 and your own | `sim` |"
)]
#![cfg_attr(
    feature = "stats",
    doc = "| [`stats`] | what a machine's primitives cost | `stats` |"
)]
//!
//! A feature adds its crate. The feature `async` adds ends of channels for tasks of async runtimes to
//! [`csp`]. A program that runs only on the host needs no feature.

/// Tests the code in the guide to memory latency.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/latency.md")]
struct GuideToLatency;

/// Tests the code in the guide to channels.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/channels.md")]
struct GuideToChannels;

/// Tests the code in the guide to simulated machines.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/simulate.md")]
struct GuideToSimulation;

/// Tests the code in the guide to the pool.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/tasks.md")]
struct GuideToTasks;

/// Tests the code in the guide to placing tasks.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/mapping.md")]
struct GuideToMapping;

pub use cellworks_csp as csp;
pub use cellworks_host as host;
pub use cellworks_host::Host;
pub use cellworks_machine as machine;
pub use cellworks_machine::bytemuck;
#[cfg(feature = "mapping")]
pub use cellworks_mapping as mapping;
#[cfg(feature = "sim")]
pub use cellworks_sim as sim;
#[cfg(feature = "sim")]
pub use cellworks_sim::Sim;
#[cfg(feature = "stats")]
pub use cellworks_stats as stats;
pub use cellworks_tasks as tasks;
pub use cellworks_threads as threads;

/// The names that most programs use. No two of the traits have a method of the same name for an SPE:
///
/// ```
/// use cellworks::prelude::*;
///
/// let host = Host::new()?;
/// let id = host.run(|ppe| {
///     let program = ppe.spawn(SpeId::new(0), |spe| {
///         spe.yield_now();
///         spe.yield_ready();
///         spe.id()
///     });
///     program.join().unwrap()
/// })?;
/// assert_eq!(id, SpeId::new(0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub mod prelude {
    pub use cellworks_csp::{
        Alternation, Channel, Ended, Foreign, Gate, Group, Input, Item, Local, Network,
        NetworkError, OpenNetwork, Output, Place, Process, ProcessError, Reader, Refused, Started,
        Starter, Writer, item, processes,
    };
    pub use cellworks_host::Host;
    pub use cellworks_machine::mailbox::Outbound;
    pub use cellworks_machine::{
        CellMachine, CellSpe, InFlight, Machine, Mfc, Pending, PendingMut, Ppe, RunError,
        SignalMode, SignalRegister, Spe, SpeId, StageError, Staged, StagedMut, Stream, ThreadId,
        Wait, Wake,
    };
    #[cfg(feature = "mapping")]
    pub use cellworks_mapping::{
        Binding, Costs, Limit, Placement, Problem, Search, Solution, Volumes,
    };
    #[cfg(feature = "sim")]
    pub use cellworks_sim::Sim;
    pub use cellworks_tasks::{Pool, PoolError, SharedPool, TaskError, Worker};
}
