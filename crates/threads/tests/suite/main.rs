//! What cooperative threads do, as users of the library meet it.
//!
//! One program for all of it: each program of tests is linked on its own.

mod cancellation;
mod owner;
mod threads;
mod turns;
