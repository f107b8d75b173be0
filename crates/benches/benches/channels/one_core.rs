//! Processes that take turns on one CPU.

use std::time::Duration;

use cellworks_csp::Channel;
use cellworks_host::Host;

use crate::cpus;
use crate::ours;
use crate::peers::{go, tasks, threads};
use crate::table::{compare, is_wanted, system};

/// The number of messages in one measurement, the same for every system.
const MESSAGES: usize = 100_000;

pub fn run(cpus: &[usize]) {
    let one = *cpus.last().expect("a process may use a CPU");
    cpus::use_only(&[one]);
    let host = &ours::host(1);
    let loops = MESSAGES / 4;
    let mut systems = vec![
        system("**cellworks**, channels of one SPE", || {
            ours::comms_time(host, Channel::local, loops)
        }),
        system("**cellworks**, channels", || {
            ours::comms_time(host, Channel::new, loops)
        }),
        system("channels of one SPE, standard processes", || {
            ours::comms_time_of_standard_processes(host, Channel::local, loops)
        }),
        system("channels, standard processes", || {
            ours::comms_time_of_standard_processes(host, Channel::new, loops)
        }),
    ];
    systems.extend(tasks::systems(tasks::CommsTime { loops }));
    systems.extend(threads::systems(threads::CommsTime { loops }));
    compare("CommsTime on one CPU, one communication", systems);

    let round_trips = MESSAGES / 2;
    let mut systems = vec![
        system("**cellworks**, channels of one SPE", || {
            ours::ping_pong_on_one_spe(host, Channel::local, round_trips)
        }),
        system("**cellworks**, channels", || {
            ours::ping_pong_on_one_spe(host, Channel::new, round_trips)
        }),
    ];
    systems.extend(tasks::systems(tasks::PingPong { round_trips }));
    systems.extend(threads::systems(threads::PingPong {
        at: [one; 2],
        round_trips,
        pause: Duration::ZERO,
    }));
    compare("Ping-pong on one CPU, one way", systems);

    alternation::<2>(host);
    alternation::<8>(host);
    alternation::<64>(host);
    cpus::use_only(cpus);
}

fn alternation<const N: usize>(host: &Host)
where
    tasks::Guards<N>: tasks::Select,
{
    let title = format!("Alternation over {N} channels on one CPU, one message");
    if !is_wanted(&title) {
        return;
    }
    let messages = MESSAGES;
    let mut systems = vec![
        system("**cellworks**, channels of one SPE", || {
            ours::alternation(host, Channel::local, N, messages)
        }),
        system("**cellworks**, channels", || {
            ours::alternation(host, Channel::new, N, messages)
        }),
    ];
    match go::Program::alternation(N) {
        Some(go) => systems.push(system("Go, `select`", move || {
            go.run(&[&messages.to_string()])
        })),
        None => println!("\nLeft out: Go, as this computer has no program `go`."),
    }
    let each_select = tasks::systems(tasks::Alternation::<N> { messages });
    systems.extend(
        each_select
            .into_iter()
            .map(|s| s.called("`tokio::select!`")),
    );
    let select_all = tasks::systems(tasks::StreamAlternation::<N> { messages });
    systems.extend(select_all.into_iter().map(|s| s.called("`select_all`")));
    systems.push(system("crossbeam `Select`, threads", || {
        threads::select_crossbeam(N, messages)
    }));
    compare(&title, systems);
}
