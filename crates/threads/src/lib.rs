//! Cooperative threads of one core: stackful, never migrating, a few nanoseconds a switch.

mod arch;
#[cfg(cellworks_asan)]
mod asan;
mod block;
mod list;
mod overflow;
mod report;
mod scheduler;
mod scope;
mod stack;

pub use report::{Blocked, BlockedThread};
pub use scheduler::{
    Cancelled, Config, Idle, NoOutside, Thread, Verdict, blocked_threads, cancel_all, current,
    is_cancelled, others_ready, park, run, stack_high_water_bytes, yield_now,
};
pub use scope::{Builder, JoinHandle, Scope, scope};
