//! More processes than CPUs, and processes that only wait.

use std::time::Duration;

use crate::peers::threads;
use crate::table::{compare, system};
use crate::{cpus, ours};

const ROUND_TRIPS: usize = 10_000;
const MESSAGES: usize = 40_000;

pub fn run(cpus: &[usize]) {
    let host = &ours::host(2);
    let zero = Duration::ZERO;
    let one = *cpus.last().expect("a process may use a CPU");
    cpus::use_only(&[one]);
    let on_one_cpu = &ours::host(2);
    cpus::use_only(cpus);
    let crowded = &ours::host(32);
    let readers = |readers| move || ours::alternating_readers(host, readers, MESSAGES);
    let selecting = |readers| move || threads::selecting_readers_crossbeam(readers, MESSAGES);
    let mut systems = vec![
        system("**cellworks**, two SPEs on two CPUs", || {
            ours::ping_pong(host, 1, &1_u64, ROUND_TRIPS, zero)
        }),
        system("**cellworks**, two SPEs on one CPU", || {
            cpus::use_only(&[one]);
            let ns = ours::ping_pong(on_one_cpu, 1, &1_u64, ROUND_TRIPS, zero);
            cpus::use_only(cpus);
            ns
        }),
        system("**cellworks**, 16 pairs of 32 SPEs", || {
            ours::ping_pong(crowded, 16, &1_u64, ROUND_TRIPS / 16, zero)
        }),
    ];
    let on_one_cpu = threads::systems(threads::PingPong {
        at: [one; 2],
        round_trips: ROUND_TRIPS,
        pause: zero,
    });
    systems.extend(on_one_cpu.into_iter().map(|s| s.called("one CPU")));
    compare(
        "Ping-pong, one way, both ends on one CPU and more processes than CPUs",
        systems,
    );
    compare(
        "Processes that alternate over the same two channels, one message",
        vec![
            system("**cellworks**, 2 readers", readers(2)),
            system("**cellworks**, 16 readers", readers(16)),
            system("crossbeam, 2 readers", selecting(2)),
            system("crossbeam, 16 readers", selecting(16)),
        ],
    );
    compare(
        "CPU time that 16 waiting processes use in a second",
        vec![system("**cellworks**", || ours::idle(host, 16))],
    );
}
