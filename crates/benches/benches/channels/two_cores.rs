//! Processes of two SPEs that wait for each other.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cellworks_machine::{Machine, SpeId};
use crossbeam_utils::CachePadded;

use crate::peers::threads;
use crate::table::{compare, system};
use crate::{cpus, ours};

const ROUND_TRIPS: usize = 10_000;
const SLEEPY_ROUND_TRIPS: usize = 50;

/// A time after which every waiting thread has fallen asleep.
const PAUSE: Duration = Duration::from_micros(300);

/// The CPUs of the first two SPEs of a host.
pub fn cpus_of(host: &impl Machine) -> Option<[usize; 2]> {
    let cpus = [0, 1].map(|spe| {
        let place = host.topology().place_of(SpeId::new(spe));
        place
            .trim_start_matches("CPU ")
            .parse()
            .expect("a place of a host is a CPU")
    });
    (cpus[0] != cpus[1]).then_some(cpus)
}

/// Two threads hand a cache line to each other and wait for it actively. Between two looks at the
/// line a thread calls `between_looks`. Returns the time of one way.
fn line(at: [usize; 2], round_trips: usize, between_looks: impl Fn() + Sync) -> f64 {
    let line = &CachePadded::new(AtomicU64::new(0));
    let hand_over = |from: u64| {
        let warm_up = round_trips / 10;
        let mut start = Instant::now();
        for round_trip in 0..warm_up + round_trips {
            if round_trip == warm_up {
                start = Instant::now();
            }
            let turn = 2 * round_trip as u64 + from;
            while line.load(Ordering::Acquire) != turn {
                between_looks();
            }
            line.store(turn + 1, Ordering::Release);
        }
        start.elapsed().as_nanos() as f64 / (2 * round_trips) as f64
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            cpus::use_only(&[at[1]]);
            hand_over(1)
        });
        let first = scope.spawn(|| {
            cpus::use_only(&[at[0]]);
            hand_over(0)
        });
        first.join().expect("no panic")
    })
}

pub fn run(_: &[usize]) {
    let host = &ours::host(2);
    let Some(at) = cpus_of(host) else {
        println!("\nLeft out: two cores, as this process may use one CPU only.");
        return;
    };
    let zero = Duration::ZERO;
    let mut systems = vec![
        system("a line, handed over with a load and a store", || {
            line(at, ROUND_TRIPS, || ())
        }),
        system(
            "the same, with the processor's pause between two looks",
            || line(at, ROUND_TRIPS, std::hint::spin_loop),
        ),
        system("**cellworks**", || {
            ours::ping_pong(host, 1, &1_u64, ROUND_TRIPS, zero)
        }),
    ];
    systems.extend(threads::systems(threads::PingPong {
        at,
        round_trips: ROUND_TRIPS,
        pause: zero,
    }));
    compare("Ping-pong between two SPEs, one way", systems);

    let mut systems = vec![system("**cellworks**", || {
        ours::ping_pong(host, 1, &1_u64, SLEEPY_ROUND_TRIPS, PAUSE)
    })];
    systems.extend(threads::systems(threads::PingPong {
        at,
        round_trips: SLEEPY_ROUND_TRIPS,
        pause: PAUSE,
    }));
    compare(
        "Ping-pong between two SPEs that have fallen asleep, one way",
        systems,
    );

    let (small, large) = (
        vec![0_u8; 64].into_boxed_slice(),
        vec![0_u8; 1 << 20].into_boxed_slice(),
    );
    compare(
        "An item between two SPEs, one way",
        vec![
            system("**cellworks**, 64 bytes", || {
                ours::ping_pong(host, 1, &small, ROUND_TRIPS, zero)
            }),
            system("**cellworks**, 1 MiB", || {
                ours::ping_pong(host, 1, &large, ROUND_TRIPS, zero)
            }),
        ],
    );
}
