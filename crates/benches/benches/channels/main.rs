//! Compares the cost of channels with other crates, and with the least possible cost: two cores
//! that hand a cache line to each other.
//!
//! ```text
//!   main ── one_core    CommsTime, rendezvous, alternation: processes that take turns on one CPU
//!       ├── two_cores   rendezvous between two SPEs, which wait actively or sleep
//!       ├── crossing    several processes on each of two SPEs, with messages between them
//!       ├── stream      buffered channels, one by one and in batches
//!       └── crowd       more processes than CPUs, and processes that only wait
//!   ours                the small programs of these tables, with our channels
//!   peers               the same programs with other channels: of OS threads, tasks and goroutines
//! ```
//!
//! A program sends the same number of messages in every system, and warms up with a tenth of them.
//!
//! The systems of a table take turns in every repetition, in one process, so that ratios hold on a
//! noisy machine. Prints Markdown tables: nanoseconds as median (minimum-maximum) over the
//! repetitions, and the median of the ratio to the first system in the same repetition.
//!
//! Run it with `cargo bench -p cellworks-benches --bench channels`. If words follow `--`, only
//! tables with one of these words in the title are measured.

mod cpus;
mod crossing;
mod crowd;
mod one_core;
mod ours;
mod peers;
mod stream;
mod table;
mod two_cores;

fn main() {
    let cpus = cpus::allowed();
    one_core::run(&cpus);
    two_cores::run(&cpus);
    crossing::run(&cpus);
    stream::run(&cpus);
    crowd::run(&cpus);
}
