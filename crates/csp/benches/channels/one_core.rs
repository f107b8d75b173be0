//! Processes that take turns on one CPU.

use cellworks_csp::Channel;

use crate::cpus;
use crate::ours;
use crate::peers::{self, tasks};
use crate::table::{compare, system};

/// Messages of systems that take some ten nanoseconds for one, and of those that take microseconds. Few, so that most
/// measurements are shorter than a time slice, and what else runs on the computer shows in the maximum only.
const MESSAGES: usize = 100_000;
const SLOW_MESSAGES: usize = 4_000;

pub fn run(cpus: &[usize]) {
    let one = *cpus.last().expect("a process may use a CPU");
    cpus::use_only(&[one]);
    let host = &ours::host(1);
    compare(
        "CommsTime on one CPU, one communication",
        vec![
            system("**cellworks**, channels of one SPE", || {
                ours::comms_time(host, Channel::local, MESSAGES / 4)
            }),
            system("**cellworks**, channels", || {
                ours::comms_time(host, Channel::new, MESSAGES / 4)
            }),
            system("async-unsync (1 slot) and tokio, tasks", || {
                tasks::comms_time(tasks::AsyncUnsync, MESSAGES / 16)
            }),
            system("kanal async and tokio, tasks", || {
                tasks::comms_time(tasks::Kanal, MESSAGES / 16)
            }),
            system("tokio mpsc (1 slot), tasks", || {
                tasks::comms_time(tasks::Tokio, MESSAGES / 16)
            }),
            system("kanal, threads", || {
                peers::comms_time(peers::kanal, SLOW_MESSAGES / 4)
            }),
            system("flume, threads", || {
                peers::comms_time(peers::flume, SLOW_MESSAGES / 4)
            }),
            system("crossbeam, threads", || {
                peers::comms_time(peers::crossbeam, SLOW_MESSAGES / 4)
            }),
        ],
    );
    let zero = std::time::Duration::ZERO;
    let threads = |make| peers::ping_pong(make, [one, one], &1_u64, SLOW_MESSAGES / 2, zero);
    compare(
        "Ping-pong on one CPU, one way",
        vec![
            system("**cellworks**, channels of one SPE", || {
                ours::ping_pong_on_one_spe(host, Channel::local, MESSAGES / 2)
            }),
            system("**cellworks**, channels", || {
                ours::ping_pong_on_one_spe(host, Channel::new, MESSAGES / 2)
            }),
            system("async-unsync (1 slot) and tokio, tasks", || {
                tasks::ping_pong(tasks::AsyncUnsync, MESSAGES / 8)
            }),
            system("kanal async and tokio, tasks", || {
                tasks::ping_pong(tasks::Kanal, MESSAGES / 8)
            }),
            system("tokio mpsc (1 slot), tasks", || {
                tasks::ping_pong(tasks::Tokio, MESSAGES / 8)
            }),
            system("kanal, threads", || threads(peers::kanal)),
            system("flume, threads", || threads(peers::flume)),
            system("crossbeam, threads", || threads(peers::crossbeam)),
        ],
    );
    for channels in [2, 8, 64] {
        compare(
            &format!("Alternation over {channels} rendezvous channels on one CPU, one message"),
            vec![
                system("**cellworks**, channels of one SPE", || {
                    ours::alternation(host, Channel::local, channels, MESSAGES)
                }),
                system("**cellworks**, channels", || {
                    ours::alternation(host, Channel::new, channels, MESSAGES)
                }),
                system("crossbeam, threads", || {
                    peers::select_crossbeam(channels, SLOW_MESSAGES)
                }),
            ],
        );
    }
    cpus::use_only(cpus);
}
