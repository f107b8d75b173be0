//! A pool of tasks on a machine made of cells: a worker on each SPE, queues from which workers take
//! each other's work, and tasks that may wait for anything.
//!
//! ```text
//!   Pool::run(|main| ...) ── main, on the PPE ── install, scope ──► fresh jobs
//!                                                                      │
//!   Worker: own queue ◄── scope, join ── task ◄── take ────────────────┤
//!                                                  └── queues of other workers, near ones first
//! ```
//!
//! A task is handed the [`Worker`] that runs it. With that it runs two closures at once
//! ([`Worker::join`]) or starts any number ([`Worker::scope`]). A task that waits, for its own
//! closures or for whatever else a program of the machine can wait for, gives its worker to other
//! tasks meanwhile.
//!
//! The same program runs on every machine.

mod core;
mod count;
mod frames;
mod job;
mod join;
mod offer;
mod place;
mod pool;
mod scope;
mod shared;
mod sleepers;
mod sync;
mod worker;

pub use place::Place;
pub use pool::{Main, Pool, PoolError};
pub use scope::Scope;
pub use worker::Worker;
