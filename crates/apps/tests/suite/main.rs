//! The programs of papers, on machines.
//!
//! One program for all of it: each program of tests is linked on its own.

mod networks;
#[path = "../../../../tests/plain_machine.rs"]
mod plain_machine;
mod pools;
mod programs;
