//! A pool of tasks on a machine made of cells. Each SPE runs a worker with a queue, from which
//! other workers can take tasks. The same program runs on every machine.
//!
//! ```text
//!   Pool::run(|main| ...) ── main, on the PPE ── install, scope ──► fresh jobs
//!                                                                      │
//!   Worker: own queue ◄── scope, join ── task ◄── take ────────────────┤
//!                                                  └── queues of other workers, nearest first
//! ```
//!
//! A task is given the [`Worker`] that runs it. With the worker, the task can run two closures that
//! may run in parallel ([`Worker::join`]), start closures one by one ([`Worker::scope`]), run loops
//! on all workers ([`Worker::for_each`], [`Worker::map_reduce`]) and sort ([`Worker::sort`]). A
//! task may wait for any event, and its worker runs other tasks meanwhile.
//!
//! Other threads of the process use a [`SharedPool`], which runs until it is ended.
//!
//! A switch between tasks or threads does not save the floating-point control bits, such as the
//! rounding mode. A task that changes them must restore them before it waits, joins or yields.
//!
//! On a host, workers that share a CPU share an OS thread, and what a task starts is pinned like the
//! task. The documentation of `cellworks_host::Host` has more on this, and on the size of stacks.
//!
//! With the feature `parameters`, [`Scheduler`] implements traits of clap and of serde.

// Each folder has a `mod.rs`, whose head is a drawing and the order in which to read its files.
// Read `pool`, `shared` and `worker` first (who takes a job, and when), then `join`, `scope` and
// `phase` (the three kinds of jobs), and the rest in any order: `iter` and `sort` are loops over
// `join`, `shared_pool` lets other threads in, `three_level` has queues in main memory.

mod discard;
mod elsewhere;
mod error;
mod iter;
mod join;
#[cfg(all(test, loom))]
mod models;
mod phase;
mod place;
mod pool;
mod range;
mod scope;
mod shared;
mod shared_pool;
mod sort;
mod sync;
mod three_level;
mod worker;

pub use error::TaskError;
pub use iter::{FromParallelIterator, Indexed, IntoSource, ParallelIterator, Source};
pub use phase::Phase;
pub use phase::blocks::Blocks;
pub use phase::data::{Data, Part, Read, SharedData, Update, Value, Write};
pub use phase::handle::Handle;
pub use phase::task::{Task, TaskLock};
pub use place::Place;
pub use pool::counters::{Counters, SchedulerCounters, WorkerCounters};
pub use pool::settings::{DICING_THRESHOLD, Priority, Scheduler, Staging};
pub use pool::{Main, Pool, PoolError};
pub use scope::Scope;
pub use shared_pool::SharedPool;
pub use three_level::PendingTask;
pub use worker::Worker;
