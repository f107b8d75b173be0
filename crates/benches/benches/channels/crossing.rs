//! Several processes on each of two SPEs. Their messages cross between the SPEs.

use cellworks_host::Host;

use crate::ours::Sink;
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
const STAGES: usize = 10;
const PIPED: usize = 4_000;
const MESSAGES: usize = 40_000;

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
    pipelines(host, go.as_ref());
    alternation::<2>(host);
    alternation::<8>(host);
}

/// Pipelines with the main process as the sink, as in the first example of the guide.
fn pipelines(host: &Host, go: Option<&go::Program>) {
    let piped = |stages, spes, sink| move || ours::pipeline(host, stages, spes, sink, PIPED);
    compare(
        "A pipeline of 10 stages on one SPE, one message",
        vec![
            system(
                "an SPE on another CPU as sink",
                piped(STAGES, 1, Sink::Spe(1)),
            ),
            system(
                "the PPE on another CPU as sink",
                piped(STAGES, 1, Sink::Ppe(0)),
            ),
            system("the same SPE as sink", piped(STAGES, 1, Sink::Spe(0))),
        ],
    );
    for stages in [2, STAGES] {
        let title = format!("A pipeline of {stages} stages on two SPEs, one message");
        if !is_wanted(&title) {
            continue;
        }
        let mut systems = vec![
            system("an SPE as sink", piped(stages, 2, Sink::Spe(1))),
            system("the PPE as sink", piped(stages, 2, Sink::Ppe(0))),
            system(
                "the same, by a buffer of 64",
                piped(stages, 2, Sink::Ppe(64)),
            ),
        ];
        systems.extend(crossing::systems(crossing::Pipeline {
            stages,
            numbers: PIPED,
        }));
        let arguments = ["pipeline", &stages.to_string(), &PIPED.to_string()];
        compare(&title, with_go(systems, go, &arguments));
    }
}

/// The writers are on the other SPE. Go places them itself.
fn alternation<const N: usize>(host: &Host) {
    let title = format!("Alternation over {N} channels on two SPEs, one message");
    if !is_wanted(&title) {
        return;
    }
    let ours = system("**cellworks**", || {
        ours::alternation_on_two_spes(host, N, MESSAGES)
    });
    let go = go::Program::alternation(N);
    let messages = MESSAGES.to_string();
    let arguments = [messages.as_str()];
    let systems = with_go(vec![ours], go.as_ref(), &arguments);
    compare(&title, systems);
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
