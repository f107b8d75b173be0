//! What simulated machines do beyond the contracts of all machines.
//!
//! One program holds all these tests, because each program of tests takes time to link.

mod conditions;
mod determinism;
mod documentation;
mod failures;
mod late_errors;
mod limits;
mod memory;
mod proxy;
mod time;
mod trace;
