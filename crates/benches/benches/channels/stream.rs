//! Buffered channels from one process to another.

use cellworks_csp::Channel;

use crate::ours;
use crate::peers::threads;
use crate::table::{compare, system};
use crate::{cpus, two_cores};

const CAPACITY: usize = 1024;
const BATCH: usize = 64;
const MESSAGES: usize = 300_000;

fn program(at: [usize; 2]) -> threads::Stream {
    threads::Stream {
        capacity: CAPACITY,
        at,
        messages: MESSAGES,
    }
}

pub fn run(cpus: &[usize]) {
    let host = ours::host(2);
    if let Some(at) = two_cores::cpus_of(&host) {
        let ours = |batch| {
            ours::stream(
                &host,
                Channel::new().buffered(CAPACITY),
                [0, 1],
                MESSAGES,
                batch,
            )
        };
        let mut systems = vec![
            system("**cellworks**, one by one", || ours(1)),
            system("**cellworks**, batches of 64", || ours(BATCH)),
        ];
        let program = program(at);
        let pause = std::hint::spin_loop;
        systems.extend(threads::rings(program, BATCH, "pausing", pause));
        systems.extend(threads::rings(program, BATCH, "not pausing", || ()));
        systems.extend(threads::systems(program));
        compare("Buffered between two SPEs, one message", systems);
    }

    let one = *cpus.last().expect("a process may use a CPU");
    cpus::use_only(&[one]);
    let host = ours::host(1);
    let ours = |batch| {
        ours::stream(
            &host,
            Channel::new().buffered(CAPACITY),
            [0, 0],
            MESSAGES,
            batch,
        )
    };
    let local = |batch| ours::stream_on_one_spe(&host, CAPACITY, MESSAGES, batch);
    let mut systems = vec![
        system("**cellworks**, one by one", || ours(1)),
        system("**cellworks**, batches of 64", || ours(BATCH)),
        system("**cellworks**, channel of one SPE, one by one", || local(1)),
        system("**cellworks**, channel of one SPE, batches of 64", || {
            local(BATCH)
        }),
    ];
    let program = program([one; 2]);
    let give_way = std::thread::yield_now;
    systems.extend(threads::rings(program, BATCH, "giving way", give_way));
    systems.extend(threads::systems(program));
    compare("Buffered on one CPU, one message", systems);
    cpus::use_only(cpus);
}
