//! Measures the functions that the paper does not have on this computer. SPEs may share a CPU.

use std::time::Instant;

use cellworks_host::Host;
use cellworks_machine::{Machine, Span};
use cellworks_stats::{
    Between, Buffers, Count, Function, Iterations, Limits, Measurement, Request, Settings, measure,
};

/// The limits of a machine with little memory and without local stores.
const LIMITS: Limits = Limits {
    memory_bytes_max: 4 << 20,
    ..crate::LIMITS
};

/// The limits of a machine with local stores.
const STRICT: Limits = Limits {
    staging_bytes_max: Some(16 << 10),
    ..LIMITS
};

fn times(iterations: u64, function: Function) -> Request {
    Request {
        iterations: Iterations::Exactly(iterations),
        warm_up: Some(2),
        ..Request::new(function)
    }
}

/// Requests a few wake-ups, each of which takes a millisecond.
fn few(function: Function) -> Request {
    times(6, function)
}

/// Requests copies of `bytes` bytes, which together take longer than reading a slow clock.
fn copies(bytes: usize) -> Request {
    let iterations = ((1 << 20) / bytes).clamp(6, 4_096);
    times(iterations as u64, Function::Copy).with_block(bytes)
}

/// Requests a few iterations of 1,024 nodes each.
fn walks() -> Request {
    times(12, Function::Chase)
}

/// Makes a host, and a host with local stores, each with its limits.
fn hosts(spes: usize) -> [(Host, Limits); 2] {
    let builder = || Host::builder().spes(spes);
    [
        (builder().build().unwrap(), LIMITS),
        (builder().strict().build().unwrap(), STRICT),
    ]
}

fn measured((host, limits): &(Host, Limits), request: &Request) -> Measurement {
    let plan = request.plan(host.topology(), limits).unwrap();
    let measurement = measure(host, &plan).unwrap_or_else(|error| panic!("{request:?}: {error}"));
    assert_eq!(measurement.function, request.function);
    assert_eq!(&measurement.parameters, plan.parameters());
    assert_eq!(
        request.iterations,
        Iterations::Exactly(measurement.iterations)
    );
    let latency = measurement.latency_ns;
    assert!(
        0.0 < latency.min && latency.min <= latency.p50,
        "{latency:?}"
    );
    assert!(latency.p50 <= latency.max, "{latency:?}");
    measurement
}

#[test]
fn the_ppe_wakes_one_spe_or_several() {
    for spes in [1, 3] {
        for host in hosts(spes) {
            let request = Request {
                spes: Count::Shared(spes),
                ..few(Function::WakeUp)
            };
            let measurement = measured(&host, &request);
            assert_eq!(measurement.parameters.between, Between::PpeSpe);
            assert_eq!(measurement.samples, 6 * spes, "each wake-up is a sample");
            assert_eq!(measurement.bandwidth_bytes_per_s, None);
        }
    }
}

#[test]
fn spe_0_wakes_the_others() {
    for host in hosts(3) {
        let request = Request {
            spes: Count::Shared(3),
            between_spes: true,
            ..few(Function::WakeUp)
        };
        let measurement = measured(&host, &request);
        assert_eq!(measurement.parameters.between, Between::SpeSpe);
        assert_eq!(measurement.samples, 6 * 2);
    }
}

#[test]
fn the_time_that_a_partner_sleeps_is_not_part_of_a_wake_up() {
    const WAKE_UPS: u64 = 100;
    for between_spes in [false, true] {
        let host = Host::builder().spes(2).build().unwrap();
        let request = Request {
            spes: Count::Shared(if between_spes { 2 } else { 1 }),
            between_spes,
            warm_up: Some(0),
            keep_samples: true,
            ..times(WAKE_UPS, Function::WakeUp)
        };
        let plan = request.plan(host.topology(), &LIMITS).unwrap();
        let start = Instant::now();
        let measurement = measure(&host, &plan).unwrap();
        let elapsed_ns = start.elapsed().as_nanos() as f64;
        let awake_ns: f64 = measurement.samples_ns.unwrap().iter().sum();
        let asleep_ns = WAKE_UPS as f64 * 1e6;
        assert!(
            awake_ns + asleep_ns <= elapsed_ns,
            "{awake_ns} ns of {elapsed_ns} ns"
        );
    }
}

/// The wait of a millisecond before each wake-up is part of the requested time.
#[test]
fn wake_ups_that_do_not_agree_end_with_the_time() {
    let host = Host::builder().spes(1).build().unwrap();
    let request = Request {
        iterations: Iterations::Within(Span::from_nanoseconds(8_000_000)),
        ..Request::new(Function::WakeUp)
    };
    let plan = request.plan(host.topology(), &LIMITS).unwrap();
    let measurement = measure(&host, &plan).unwrap();
    assert!((6..=8).contains(&measurement.samples), "{measurement:?}");
}

#[test]
fn copies_of_any_size_that_is_a_multiple_of_16() {
    for host in hosts(1) {
        for bytes in [16, 48, 1_024, 16_384, 16_400, 100_000, 1 << 20] {
            let measurement = measured(&host, &copies(bytes));
            assert_eq!(measurement.parameters.settings.block_bytes, Some(bytes));
            assert!(measurement.bandwidth_bytes_per_s.is_some(), "{bytes}");
        }
    }
}

#[test]
fn several_spes_copy_blocks_of_their_own() {
    for host in hosts(3) {
        let request = Request {
            spes: Count::Private(3),
            ..copies(40_000)
        };
        let measurement = measured(&host, &request);
        assert_eq!(measurement.parameters.buffers, Some(Buffers::Private));
    }
}

#[test]
fn one_chain_and_many_through_tables_of_one_node_and_of_many() {
    for host in hosts(1) {
        for (bytes, chains) in [
            (64, None),
            (128, Some(2)),
            (4_096, Some(1)),
            (4_096, Some(64)),
            (100 * 64, Some(7)),
            (1 << 20, Some(10)),
        ] {
            let request = Request {
                settings: Settings {
                    block_bytes: Some(bytes),
                    chains,
                    ..walks().settings
                },
                ..walks()
            };
            let measurement = measured(&host, &request);
            assert_eq!(measurement.parameters.settings.chains, chains.or(Some(1)));
            assert_eq!(measurement.parameters.settings.loading_spes, Some(0));
        }
    }
}

#[test]
fn others_load_the_memory_until_the_chase_is_over() {
    for host in hosts(3) {
        for loading in [1, 2] {
            let request = Request {
                settings: Settings {
                    block_bytes: Some(64 << 10),
                    loading_spes: Some(loading),
                    ..walks().settings
                },
                ..walks()
            };
            let measurement = measured(&host, &request);
            assert_eq!(measurement.parameters.settings.loading_spes, Some(loading));
        }
    }
}

#[test]
fn a_local_store_without_room_for_a_tile_is_an_error_and_no_hang() {
    let host = Host::builder()
        .spes(2)
        .strict()
        .local_store_bytes(16 << 10)
        .build()
        .unwrap();
    let copy = copies(32 << 10);
    let chase = Request {
        settings: Settings {
            block_bytes: Some(4 << 10),
            loading_spes: Some(1),
            ..walks().settings
        },
        ..walks()
    };
    for (request, on) in [(copy, "SPE 0: "), (chase, "SPE 1: ")] {
        let plan = request.plan(host.topology(), &STRICT).unwrap();
        let message = measure(&host, &plan).unwrap_err().to_string();
        assert!(
            message.starts_with(on) && message.contains("16384 bytes"),
            "{message}"
        );
    }
}
