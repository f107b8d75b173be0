//! How a test says that it does not show here what it is for. Tests of several crates include this
//! file by its path: a crate of its own would be an arrow from each of them.

use std::io::{Write, stderr};
use std::panic::Location;
use std::thread;

/// Says which test does not show what it is for on this computer, and why. The test is to end well
/// then: the harness has no other end for it at run time.
///
/// The harness keeps to itself what a test that passes prints by `eprintln!`, but not what is
/// written here.
#[track_caller]
pub fn skipped(why: &str) {
    let (thread, at) = (thread::current(), Location::caller());
    let test = thread.name().unwrap_or("a test");
    // Where standard error cannot be written there is no other place to say it.
    let _ = writeln!(stderr(), "skipped: {test} ({at}): {why}");
}
