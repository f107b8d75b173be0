//! Several processes on each of two SPEs. Their messages cross between the SPEs.

use crate::peers::{crossing, go};
use crate::table::{System, compare, is_wanted, system};
use crate::{ours, two_cores};

const LOOPS: usize = 10_000;
const HOPS: usize = 20_000;
const RINGS: [usize; 4] = [10, 100, 1_000, 10_000];
/// A ring of more processes than this is not measured with OS threads.
const MOST_THREADS: usize = 1_000;
const LEAVES: usize = 1_024;
const NUMBERS: usize = 8_192;

pub fn run(_: &[usize]) {
    let host = &ours::host(2);
    if two_cores::cpus_of(host).is_none() {
        println!("\nLeft out: processes on two cores, as this process may use one CPU only.");
        return;
    }
    let go = &go::Program::crossing();
    if go.is_none() {
        println!("\nLeft out: Go, as this computer has no program `go`.");
    }
    compare_with_peers(
        "CommsTime on two SPEs, one communication",
        system("**cellworks**", || {
            ours::comms_time_on_two_spes(host, LOOPS)
        }),
        crossing::CommsTime { loops: LOOPS },
        go.as_ref(),
        &["comms-time", &LOOPS.to_string()],
    );
    for processes in RINGS {
        let title = format!("A token round a ring of {processes} processes on two SPEs, one hop");
        let ours = system("**cellworks**", || ours::token(host, processes, HOPS));
        let token = crossing::Token {
            processes,
            hops: HOPS,
        };
        let arguments = ["token", &processes.to_string(), &HOPS.to_string()];
        if processes <= MOST_THREADS {
            compare_with_peers(&title, ours, token, go.as_ref(), &arguments);
        } else {
            let [_, tokio] = crossing::systems(token);
            compare(&title, with_go(vec![ours, tokio], go.as_ref(), &arguments));
        }
    }
    compare_with_peers(
        "Merge sort of 8,192 numbers by 2,047 processes on two SPEs, one number",
        system("**cellworks**", || ours::merge_sort(host, LEAVES, NUMBERS)),
        crossing::MergeSort {
            leaves: LEAVES,
            numbers: NUMBERS,
        },
        go.as_ref(),
        &["merge-sort", &LEAVES.to_string(), &NUMBERS.to_string()],
    );
}

fn compare_with_peers(
    title: &str,
    ours: System<'_>,
    program: impl crossing::Program,
    go: Option<&go::Program>,
    arguments: &[&str],
) {
    if is_wanted(title) {
        let mut systems = vec![ours];
        systems.extend(crossing::systems(program));
        compare(title, with_go(systems, go, arguments));
    }
}

fn with_go<'a>(
    mut systems: Vec<System<'a>>,
    go: Option<&'a go::Program>,
    arguments: &'a [&'a str],
) -> Vec<System<'a>> {
    systems.extend(go.map(|go| system("Go", || go.run(arguments))));
    systems
}
