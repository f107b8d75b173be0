//! Tests of the public functions for cooperative threads.
//!
//! All tests are one program, because each test program must be linked separately.

mod cancellation;
mod owner;
mod threads;
mod turns;
