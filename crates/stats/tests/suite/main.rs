//! What is measured, as users of the library meet it.
//!
//! One program for all of it: each program of tests is linked on its own.

mod beyond_the_paper;
mod host;
mod matrix;
mod planning;
#[path = "../../../../tests/skipped.rs"]
mod skipped;
