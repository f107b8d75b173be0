//! Tests of cooperative threads as users of the library meet them.
//!
//! All tests are one program, because each test program must be linked separately.

mod cancellation;
mod owner;
mod threads;
mod turns;
