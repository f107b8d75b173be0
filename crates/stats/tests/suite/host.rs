//! Measures every function of the paper on this computer.

use std::ops::ControlFlow;

use crate::LIMITS;
use cellworks_host::Host;
use cellworks_machine::{CellId, Machine, ModuleId, Span};
use cellworks_stats::{
    Between, Buffers, Count, Function, Iterations, Limits, MeasureError, Measured, Measurement,
    Request, Settings, Visits, characterize, measure,
};

/// Visits the host, and returns the result of all visits so far.
fn visited(visits: &mut Visits, host: &Host, more: bool) -> Measurement {
    match visits.visit(host, more, &mut |_, _| ControlFlow::Continue(())) {
        Ok(Measured::Operation(measurement)) => *measurement,
        other => panic!("{other:?}"),
    }
}

/// Returns the functions from `first` to `last`, in the order of the paper.
fn functions(first: Function, last: Function) -> impl Iterator<Item = Function> {
    let range = first..=last;
    Function::ALL
        .into_iter()
        .filter(move |function| range.contains(function))
}

fn host(spes: usize) -> Host {
    Host::builder().spes(spes).build().unwrap()
}

/// A number of iterations with which a short operation takes longer than reading a slow clock.
const OFTEN: u64 = 3_000;

/// Requests few iterations.
fn few(function: Function) -> Request {
    Request {
        iterations: Iterations::Exactly(OFTEN),
        warm_up: Some(3),
        ..Request::new(function)
    }
}

/// Requests very few iterations of an operation that takes long.
fn very_few(function: Function) -> Request {
    Request {
        iterations: Iterations::Exactly(37),
        ..few(function)
    }
}

fn measured(host: &Host, request: &Request) -> Measurement {
    let plan = request.plan(host.topology(), &LIMITS).unwrap();
    let measurement = measure(host, &plan).unwrap_or_else(|error| panic!("{request:?}: {error}"));
    let latency = measurement.latency_ns;
    assert!(latency.mean > 0.0, "{measurement:?}");
    if let Some(interval) = measurement.median_interval_ns {
        assert!(
            interval.low <= latency.p50 && latency.p50 <= interval.high,
            "{measurement:?}"
        );
    }
    // Samples are whole femtoseconds, but the mean is not.
    let rounding = 1e-3;
    assert!(
        latency.min <= latency.p50 && latency.p50 <= latency.p99,
        "{measurement:?}"
    );
    assert!(
        latency.p99 <= latency.max && latency.mean <= latency.max + rounding,
        "{measurement:?}"
    );
    assert!(latency.min <= latency.mean + rounding, "{measurement:?}");
    assert!(measurement.samples >= 1, "{measurement:?}");
    measurement
}

#[test]
fn every_function_by_one_spe_and_by_three() {
    let host = host(3);
    for function in functions(Function::MkThread, Function::FetchSet) {
        for spes in [1, 3] {
            let measurement = measured(
                &host,
                &Request {
                    spes: Count::Shared(spes),
                    ..few(function)
                },
            );
            assert_eq!(
                (measurement.function, measurement.parameters.spes),
                (function, spes)
            );
            assert_eq!((measurement.iterations, measurement.rounds), (OFTEN, 1));
            assert_eq!(measurement.median_interval_ns, None);
            assert_eq!(measurement.samples_ns, None);
            assert_eq!(
                measurement.bandwidth_bytes_per_s.is_some(),
                function.name().starts_with("dma"),
                "{measurement:?}"
            );
        }
    }
}

/// The paper's examples of DMA, lists and atomic operations (sections 3.1.4 and 3.1.5), with SPEs
/// of Cell 0 and memory module 0, which every computer has.
#[test]
fn the_papers_examples_in_cell_0() {
    let host = host(16);
    let example = |function, spes| Request {
        spes,
        cell: Some(CellId::new(0)),
        module: Some(ModuleId::new(0)),
        ..few(function)
    };
    let kilobyte = |function, spes| example(function, spes).with_block(1_024);
    let strided = |request: Request| Request {
        settings: Settings {
            stride_bytes: Some(2_048),
            ..request.settings
        },
        ..request
    };
    let line = |function, spes| strided(example(function, spes)).with_block(128);
    let requests = [
        kilobyte(Function::DmaGet, Count::Shared(3)),
        kilobyte(Function::DmaPut, Count::Shared(6)),
        strided(kilobyte(Function::DmaGet, Count::Private(3))),
        strided(kilobyte(Function::DmaPut, Count::Private(6))),
        Request {
            settings: Settings {
                block_bytes: Some(32),
                stride_bytes: Some(128),
                ..example(Function::DmaGet, Count::Private(6)).settings
            },
            between_spes: true,
            // If Cell 0 has only SPE 0, the partners are in the next Cell.
            cell: None,
            ..example(Function::DmaGet, Count::Private(6))
        },
        Request {
            settings: Settings {
                list_elements: Some(16),
                block_bytes: Some(64),
                ..example(Function::DmaListGet, Count::Shared(6)).settings
            },
            ..example(Function::DmaListGet, Count::Shared(6))
        },
        example(Function::FetchAdd, Count::Shared(3)),
        example(Function::FetchSub, Count::Shared(6)),
        line(Function::FetchInc, Count::Private(3)),
        line(Function::FetchSet, Count::Private(6)),
    ];
    for request in requests {
        let measurement = measured(&host, &request);
        let parameters = &measurement.parameters;
        assert_eq!(parameters.spes, request.spes.number(), "{request:?}");
        assert_eq!(
            parameters.settings.stride_bytes, request.settings.stride_bytes,
            "{request:?}"
        );
        assert_eq!(measurement.iterations, OFTEN, "{request:?}");
    }
}

#[test]
fn private_buffers_and_variables() {
    let host = host(3);
    for function in functions(Function::DmaGet, Function::FetchSet) {
        let measurement = measured(
            &host,
            &Request {
                spes: Count::Private(3),
                ..few(function)
            },
        );
        assert_eq!(measurement.parameters.buffers, Some(Buffers::Private));
    }
}

#[test]
fn exchanges_and_transfers_between_spes() {
    let host = host(3);
    for function in functions(Function::Mailbox, Function::DmaListPut) {
        let request = Request {
            spes: Count::Shared(3),
            between_spes: true,
            ..few(function)
        };
        let measurement = measured(&host, &request);
        assert_eq!(measurement.parameters.between, Between::SpeSpe);
        assert_eq!(measurement.parameters.module, None);
    }
    let private = Request {
        spes: Count::Private(3),
        between_spes: true,
        ..few(Function::DmaPut)
    };
    measured(&host, &private);
}

#[test]
fn every_legal_size_of_a_block() {
    let host = host(2);
    for function in [Function::DmaGet, Function::DmaPut] {
        for bytes in [
            1,
            2,
            4,
            8,
            16,
            48,
            16_384,
            16_400,
            65_536,
            65_552,
            1 << 20,
            (1 << 20) + 32,
        ] {
            let repeated = if bytes < 1 << 10 { few } else { very_few };
            let request = Request {
                spes: Count::Private(2),
                ..repeated(function).with_block(bytes)
            };
            measured(&host, &request);
        }
    }
}

#[test]
fn lists_of_small_and_of_many_elements() {
    let host = host(1);
    for function in [Function::DmaListGet, Function::DmaListPut] {
        for (elements, bytes) in [
            (1, 16_384),
            (5, 1),
            (9, 2),
            (7, 4),
            (3, 8),
            (2_048, 16),
            (15, 16_384),
        ] {
            let (list_elements, block_bytes) = (Some(elements), Some(bytes));
            let measurement = measured(
                &host,
                &Request {
                    settings: Settings {
                        list_elements,
                        block_bytes,
                        ..very_few(function).settings
                    },
                    ..very_few(function)
                },
            );
            assert_eq!(
                measurement.parameters.settings.list_elements,
                Some(elements)
            );
        }
    }
}

#[test]
fn variables_of_every_size() {
    let host = host(2);
    for bytes in (4..=128).step_by(4) {
        for spes in [Count::Shared(2), Count::Private(2)] {
            measured(
                &host,
                &Request {
                    spes,
                    ..few(Function::FetchSet).with_block(bytes)
                },
            );
        }
    }
}

#[test]
fn a_time_and_no_warm_up_are_enough() {
    let host = host(1);
    let iterations = Iterations::Within(Span::from_nanoseconds(1_000_000));
    let request = Request {
        iterations,
        warm_up: Some(0),
        ..Request::new(Function::FetchInc)
    };
    assert!(measured(&host, &request).rounds >= 6);
}

/// The PPE times the first function without partners, and the second function with partners. SPEs
/// time the third function.
#[test]
fn a_time_is_spent_in_rounds_and_their_samples_are_there_on_request() {
    let host = host(2);
    for function in [Function::MkThread, Function::Signal, Function::DmaPut] {
        let request = Request {
            spes: Count::Shared(2),
            iterations: Iterations::Within(Span::from_nanoseconds(3_000_000)),
            warm_up: Some(10),
            keep_samples: true,
            ..Request::new(function)
        };
        let measurement = measured(&host, &request);
        assert!(measurement.rounds >= 6, "{measurement:?}");
        assert!(
            measurement.iterations >= measurement.rounds.into(),
            "{measurement:?}"
        );
        assert!(measurement.median_interval_ns.is_some(), "{measurement:?}");
        let kept = measurement.samples_ns.unwrap();
        assert_eq!(kept.len(), measurement.samples);
        let fastest = kept.iter().copied().fold(f64::INFINITY, f64::min);
        assert_eq!(fastest, measurement.latency_ns.min);
    }
}

/// The PPE times some functions, and SPEs together time others. Wake-ups are timed one by one.
#[test]
fn visits_add_up_and_the_last_one_has_an_interval() {
    let host = host(2);
    for (function, spes) in [
        (Function::Mailbox, Count::Shared(2)),
        (Function::DmaGet, Count::Private(2)),
        (Function::WakeUp, Count::Shared(2)),
    ] {
        let request = Request {
            spes,
            iterations: Iterations::Within(Span::from_nanoseconds(6_000_000)),
            warm_up: Some(1),
            ..Request::new(function)
        };
        let mut visits = Visits::of(request.plan(host.topology(), &LIMITS).unwrap());
        let mut before = 0;
        for (more, rounds) in [(true, 2..=4), (true, 4..=8), (false, 6..=24)] {
            let visit = visited(&mut visits, &host, more);
            assert!(rounds.contains(&visit.rounds), "{visit:?}");
            assert!(visit.iterations > before, "{visit:?}");
            before = visit.iterations;
            let interval = visit.median_interval_ns;
            assert_eq!(interval.is_some(), visit.rounds >= 6, "{visit:?}");
            let p50 = visit.latency_ns.p50;
            assert!(interval.is_none_or(|i| (i.low..=i.high).contains(&p50)));
        }
    }
}

#[test]
fn each_visit_does_all_of_exact_iterations() {
    let host = host(1);
    let plan = few(Function::FetchAdd).plan(host.topology(), &LIMITS);
    let mut visits = Visits::of(plan.unwrap());
    for (more, visit) in [(true, 1), (true, 2), (false, 3)] {
        let measurement = visited(&mut visits, &host, more);
        let (iterations, rounds) = (measurement.iterations, measurement.rounds);
        assert_eq!((iterations, rounds), (visit * OFTEN, visit as u32));
    }
}

#[test]
fn another_time_is_for_plans_with_a_time() {
    let host = host(1);
    let long = Span::from_nanoseconds(3_600_000_000_000);
    for (iterations, short_ns, least) in [
        (Iterations::Within(long), 1_000_000, 6),
        (Iterations::Exactly(5), 1_000_000, 5),
    ] {
        let request = Request {
            iterations,
            warm_up: Some(1),
            ..Request::new(Function::FetchDec)
        };
        let mut plan = request.plan(host.topology(), &LIMITS).unwrap();
        plan.set_span(Span::from_nanoseconds(short_ns));
        let measurement = measure(&host, &plan).unwrap();
        assert!(measurement.iterations >= least, "{measurement:?}");
        let exact = iterations == Iterations::Exactly(5);
        assert_eq!(measurement.rounds == 1, exact, "{measurement:?}");
    }
}

#[test]
fn a_bandwidth_that_the_machine_cannot_have_is_an_error() {
    let host = host(1);
    let request = few(Function::DmaGet);
    let limits = Limits {
        bandwidth_bytes_per_s_max: Some(1),
        ..LIMITS
    };
    let plan = request.plan(host.topology(), &limits).unwrap();
    let refused = measure(&host, &plan).unwrap_err();
    assert!(matches!(refused, MeasureError::Impossible(_)), "{refused}");
}

#[test]
fn a_local_store_that_is_too_small_is_an_error_and_no_hang() {
    let host = Host::builder()
        .spes(2)
        .local_store_bytes(16 << 10)
        .build()
        .unwrap();
    for (between_spes, on) in [(false, "SPE 0: "), (true, "SPE 0: ")] {
        let spes = Count::Shared(if between_spes { 2 } else { 1 });
        let request = Request {
            spes,
            between_spes,
            ..few(Function::DmaGet).with_block(32 << 10)
        };
        let plan = request.plan(host.topology(), &LIMITS).unwrap();
        let message = measure(&host, &plan).unwrap_err().to_string();
        assert!(
            message.starts_with(on) && message.contains("32768 bytes"),
            "{message}"
        );
    }
}

#[test]
fn everything_that_characterizes_this_computer_can_be_planned() {
    let host = Host::new().unwrap();
    let requests = characterize(host.topology(), &LIMITS);
    for function in Function::ALL {
        assert!(
            requests.iter().any(|request| request.function == function),
            "{function}"
        );
    }
    // One request of each kind runs, on all SPEs.
    for request in requests
        .iter()
        .filter(|r| r.settings.block_bytes.is_none_or(|bytes| bytes == 1_024))
    {
        measured(
            &host,
            &Request {
                iterations: Iterations::Exactly(100),
                ..request.clone()
            },
        );
    }
}
