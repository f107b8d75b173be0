//! Buffered channels from one process to another.

use cellworks_csp::Channel;

use crate::ours;
use crate::peers;
use crate::table::{System, compare, system};
use crate::{cpus, two_cores};

const CAPACITY: usize = 1024;
const BATCH: usize = 64;
const MESSAGES: usize = 300_000;

fn peers<'a>(at: [usize; 2]) -> Vec<System<'a>> {
    let general = move |make| peers::stream_of(make, CAPACITY, at, MESSAGES / 10);
    vec![
        system("rtrb", move || peers::stream_rtrb(CAPACITY, at, MESSAGES)),
        system("rtrb, chunks of 64", move || {
            peers::stream_rtrb_chunks(CAPACITY, at, MESSAGES, BATCH)
        }),
        system("ringbuf", move || {
            peers::stream_ringbuf(CAPACITY, at, MESSAGES)
        }),
        system("kanal", move || general(peers::kanal)),
        system("crossbeam", move || general(peers::crossbeam)),
        system("flume", move || general(peers::flume)),
    ]
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
        systems.extend(peers(at));
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
    systems.extend(peers([one; 2]));
    compare("Buffered on one CPU, one message", systems);
    cpus::use_only(cpus);
}
