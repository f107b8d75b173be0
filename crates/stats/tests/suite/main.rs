//! Measurements, as users of the library request them.
//!
//! One program holds all these tests, because each program of tests takes time to link.

mod beyond_the_paper;
mod host;
mod matrix;
mod planning;
#[path = "../../../../tests/skipped.rs"]
mod skipped;
