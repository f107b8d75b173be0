//! The programs with other channels.

pub mod crossing;
pub mod go;
pub mod tasks;
pub mod threads;

use std::time::Duration;

fn ns(time: Duration, messages: usize) -> f64 {
    time.as_nanos() as f64 / messages as f64
}
