//! C programs of the Cell: compiled, and run on this computer or on a simulated Cell.

pub mod driver;
pub mod exec;
mod format;
mod lines;
mod run;
mod toolchain;
