//! Tests of simulated machines, beyond the tests that all machines share.
//!
//! One test program holds all these tests, because each test program takes time to link.

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
mod window;
