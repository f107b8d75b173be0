//! What channels cost, beside the peers that are crates, and beside what no channel can go below: a
//! line that two cores hand to each other.
//!
//! ```text
//!   main ── one_core    CommsTime, rendezvous, alternation: processes that take turns on one CPU
//!       ├── two_cores   rendezvous between two SPEs, waiting actively and asleep
//!       ├── crossing    several processes on each of two SPEs, whose messages cross
//!       ├── stream      buffered channels, one by one and in batches
//!       └── crowd       more processes than CPUs, and processes that only wait
//!   ours                the same small programs, of our channels
//!   peers               and of those of others: of OS threads, of tasks, and of goroutines
//! ```
//!
//! A program takes the same number of messages with every system, and warms up with a tenth of it.
//!
//! The systems of a table are measured in turn, again and again, in one process, so that ratios
//! hold on a noisy machine. It prints Markdown tables: nanoseconds as median (minimum-maximum) over
//! the repetitions, and the median over the repetitions of the ratio to the first system in the
//! same repetition.
//!
//! Run it with `cargo bench -p cellworks-benches --bench channels`; words after `--` choose the
//! tables whose titles contain one.

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
