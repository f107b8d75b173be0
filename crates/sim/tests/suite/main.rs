//! What simulated machines do beyond the contracts of all machines.
//!
//! One program for all of it: each program of tests is linked on its own.

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
