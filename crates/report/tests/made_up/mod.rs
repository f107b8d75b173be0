//! Results for all tests of this crate. Their numbers are made up, if no comment says otherwise.

// Each test file uses only some of the results.
#![allow(dead_code, unused_imports)]

mod matrices;
mod programs;
mod reproductions;

use std::collections::BTreeMap;

use cellworks_report::{
    CellInfo, Conditions, CpuLeftOut, Envelope, Environment, MachineInfo, NotMeasured, Reason,
    ReasonKind, Report, Simulation, Trust,
};
use cellworks_stats::{
    Advice, Between, Buffers, Finding, Function, Interval, Latency, Measurement, Parameters,
    Primitive, Reference, Settings, State,
};
use serde_json::json;

pub use matrices::{captured, matrix, pair, times};
pub use programs::{
    counters, counters_with_a_bottleneck, explanation, machines, placement, program, sweep,
};
pub use reproductions::{reproduction, speed_ups, two_papers};

/// A report with a value in every field.
pub fn report() -> Report {
    let mailbox = Measurement {
        parameters: Parameters {
            between: Between::SpeSpe,
            settings: Settings::default(),
            buffers: None,
            module: None,
            spes: 2,
            ..on_memory(1_024)
        },
        bandwidth_bytes_per_s: None,
        ..within(Function::Mailbox, 160.0, 2.0)
    };
    let list = Measurement {
        parameters: Parameters {
            settings: Settings {
                list_elements: Some(16),
                chains: Some(4),
                loading_spes: Some(1),
                stride_bytes: Some(2_048),
                ..on_memory(1_024).settings
            },
            buffers: Some(Buffers::Private),
            spes: 2,
            ..on_memory(1_024)
        },
        samples_ns: Some(vec![1_000.0, 1_010.5]),
        states: [(1_000.0, 0.75), (2_400.0, 0.25)]
            .map(|(ns, share)| State { ns, share })
            .to_vec(),
        median_interval_ns: None,
        ..within(Function::DmaListGet, 1_000.0, 0.0)
    };
    let machine = machine("a workstation", 2, 2);
    let environment = Environment {
        warnings: vec!["SPE 1 could not be pinned".to_owned()],
        host: Some(conditions()),
        ..environment()
    };
    Report {
        envelope: Envelope::new("stats", machine, environment, Vec::new(), true),
        not_measured: vec![NotMeasured {
            what: "dmaget 128 B, 1 SPE, module 1".to_owned(),
            why: "the machine has one memory module".to_owned(),
        }],
        measurements: vec![mailbox, within(Function::DmaGet, 800.0, 8.0), list],
        matrices: vec![pair(Primitive::Atomic, 50.0), matrices::copies()],
        memory_matrix: None,
        reference: Some(reference(160.0, 50.0)),
        results: vec![
            finding("cache_bytes", 2_097_152.0, "bytes", json!({"level": 2})),
            finding("memory_latency_ns", 95.5, "ns", json!({"loading_spes": 0})),
        ],
        advice: vec![advice("threads", "Start programs once.")],
        counters: Some(counters()),
    }
}

/// A report of `--matrix memory`.
pub fn memory_matrix() -> Report {
    Report {
        memory_matrix: Some(matrices::memory()),
        ..empty(2, 2)
    }
}

/// A report of an interrupted run on a simulated machine, without any optional value.
pub fn bare() -> Report {
    let simulated = MachineInfo {
        kind: "simulated".to_owned(),
        simulation: Some(Simulation {
            description: "qs20".to_owned(),
            seed: 7,
            system_calls: true,
        }),
        ..machine("a blade", 2, 2)
    };
    let environment = Environment {
        kernel: None,
        ..environment()
    };
    let reasons = vec![Reason {
        kind: ReasonKind::Disturbed,
        text: "others used 80 % of the CPUs; end them".to_owned(),
    }];
    Report {
        envelope: Envelope::new("stats", simulated, environment, reasons, false),
        measurements: vec![report().measurements.swap_remove(0)],
        ..empty(2, 2)
    }
}

/// A reference in which the computer has one state.
pub fn reference(exchange_ns: f64, line_ns: f64) -> Reference {
    let state = |ns| vec![State { ns, share: 1.0 }];
    Reference {
        spes: [0, 1],
        readings: 13,
        exchange: state(exchange_ns),
        line: state(line_ns),
    }
}

/// The default name of the machine of a report.
const PROCESSOR: &str = "A made-up processor";

/// A report without measurements, of a machine with `spes` SPEs in Cells of `cell` SPEs.
pub fn empty(spes: usize, cell: usize) -> Report {
    let machine = machine(PROCESSOR, spes, cell);
    Report {
        envelope: Envelope::new("stats", machine, environment(), Vec::new(), true),
        not_measured: Vec::new(),
        measurements: Vec::new(),
        matrices: Vec::new(),
        memory_matrix: None,
        reference: None,
        results: Vec::new(),
        advice: Vec::new(),
        counters: None,
    }
}

/// A complete report of a computer with two cores.
pub fn two_cores() -> Report {
    let mut report = empty(2, 2);
    report.envelope.machine.name = "A made-up processor with two cores".to_owned();
    let matrix = matrix(
        &report.envelope.machine,
        vec![vec![None, Some(61.3)], vec![Some(62.1), None]],
    );
    let exchange = |between, spes| Parameters {
        spes,
        ..alone(between)
    };
    let mut all = vec![
        measurement(Function::MkThread, 1_680.0, exchange(Between::PpeSpe, 1)),
        measurement(Function::MkThread, 2_410.0, exchange(Between::PpeSpe, 2)),
        measurement(Function::Mailbox, 131.0, exchange(Between::PpeSpe, 1)),
        measurement(Function::Mailbox, 127.0, exchange(Between::SpeSpe, 2)),
        measurement(Function::Signal, 124.0, exchange(Between::PpeSpe, 1)),
        measurement(Function::Signal, 122.0, exchange(Between::SpeSpe, 2)),
    ];
    all.extend(copies(Function::DmaGet, 2));
    all.extend(copies(Function::DmaPut, 2));
    for elements in [1, 4, 16, 64, 256, 1_024] {
        let parameters = Parameters {
            settings: Settings {
                list_elements: Some(elements),
                ..on_memory((16 << 10) / elements as usize).settings
            },
            ..on_memory((16 << 10) / elements as usize)
        };
        let ns = 230.0 + 2.1 * f64::from(elements);
        all.push(measurement(Function::DmaListGet, ns, parameters));
    }
    all.extend(contention(Function::FetchAdd, &[2]));
    report.measurements = all;
    report.matrices = vec![matrix];
    report.results = vec![
        finding(
            "cache_bytes",
            (2 << 20) as f64,
            "bytes",
            json!({"level": 2}),
        ),
        finding(
            "copy_bandwidth",
            24.6e9,
            "bytes/s",
            json!({"spes": 1, "block_bytes": 65_536}),
        ),
        finding("misses_in_flight", 11.2, "1", json!({})),
        finding(
            "wake_up_of_a_parked_spe",
            51_200.0,
            "ns",
            json!({"between": "ppe-spe"}),
        ),
    ];
    report.advice = vec![
        advice(
            "threads",
            "Starting a program on an SPE takes 1.68 us, as long as 13 exchanges by mailbox (131 ns each): keep \
             programs running and send them work.",
        ),
        advice(
            "block_size",
            "Copies reach 90 % of the bandwidth of one SPE (54.0 of 60.0 GB/s) from 4 KB on: move larger blocks, or \
             lists of them.",
        ),
        advice(
            "buffers",
            "Two SPEs that add to one variable take 80.4 ns, on variables of their own 4.60 ns.",
        ),
    ];
    report.envelope.environment.host = Some(Conditions {
        quota_cpus: Some(2.0),
        cpus_left_out: vec![CpuLeftOut {
            cpu: 2,
            why: "it shares its core with CPU 0".to_owned(),
        }],
        ..conditions()
    });
    report
}

/// A report with the captured matrix of 64 cores. The two cores of a tile share a cache, so they
/// are a Cell. Everything else in the report is made up.
pub fn captured_64_cores() -> Report {
    let mut report = empty(64, 2);
    report.envelope.machine.name =
        "Intel Xeon Phi 7210: captured matrix, made-up measurements".to_owned();
    report.matrices = vec![matrix(&report.envelope.machine, captured())];
    report.measurements = copies(Function::DmaGet, 64);
    for function in [Function::FetchAdd, Function::FetchSet] {
        report
            .measurements
            .extend(contention(function, &[2, 4, 8, 16, 32, 48, 64]));
    }
    report.envelope.environment.warnings =
        vec!["Frequencies may change: the governor of CPU 0 to 63 is powersave.".to_owned()];
    report.advice = vec![advice(
        "placement",
        "Neighbours on a tile answer in 43 ns, others in 95 ns (made up).",
    )];
    report
}

/// A report with every kind of reason why it is not reliable.
pub fn doubtful() -> Report {
    let mut report = two_cores();
    report.envelope.complete = false;
    report.envelope.trust = Trust {
        trustworthy: false,
        reasons: vec![
            "CPU 1 was busy for 97 % of the run; stop what runs there and measure again."
                .to_owned(),
        ],
        kinds: vec![Some(ReasonKind::Disturbed)],
    };
    report.not_measured = vec![NotMeasured {
        what: "fetchset, 2 SPEs".to_owned(),
        why: "the run was interrupted".to_owned(),
    }];
    report.envelope.environment.warnings =
        vec!["Frequencies may change: the governor of CPU 0 is powersave.".to_owned()];
    report
}

/// A machine with the given number of SPEs, in Cells of the given size.
pub fn machine(name: &str, spes: usize, cell: usize) -> MachineInfo {
    let numbers: Vec<usize> = (0..spes).collect();
    let cells = numbers.chunks(cell).map(|spes| CellInfo {
        spes: spes.to_vec(),
        nearest_memory_module: 0,
    });
    MachineInfo {
        name: name.to_owned(),
        kind: "host".to_owned(),
        spes,
        cells: cells.collect(),
        memory_modules: 1,
        spe_places: numbers.iter().map(|spe| format!("CPU {spe}")).collect(),
        spe_memory_modules: vec![0; spes],
        spe_cores: (0..spes).collect(),
        ppe_place: Some("CPU 0".to_owned()),
        simulation: None,
    }
}

/// An environment in which the state of the computer is unknown.
fn environment() -> Environment {
    Environment {
        cellworks_version: "0.1.0".to_owned(),
        build: "release".to_owned(),
        operating_system: "linux".to_owned(),
        kernel: Some("6.1.0".to_owned()),
        architecture: "x86_64".to_owned(),
        finished_unix_s: 1_790_000_000,
        warnings: Vec::new(),
        host: None,
    }
}

/// The state of a computer, without its clock rate.
fn conditions() -> Conditions {
    Conditions {
        load_average: Some(0.25),
        busy_before: Some(0.01),
        busy_during: Some(0.02),
        stolen_during: Some(0.0),
        governors: vec!["performance".to_owned()],
        quota_cpus: Some(1.5),
        clock_source: Some("tsc".to_owned()),
        highest_clock_hz: None,
        clock_step_ns: Some(1.0),
        clock_reading_ns: 20.5,
        transparent_huge_pages: Some("madvise".to_owned()),
        memory_available_bytes: Some(24 << 30),
        cpus_left_out: vec![CpuLeftOut {
            cpu: 3,
            why: "it is not in the CPU mask".to_owned(),
        }],
    }
}

/// A measurement with the given median.
pub fn measurement(function: Function, p50_ns: f64, parameters: Parameters) -> Measurement {
    let moved = parameters
        .settings
        .block_bytes
        .filter(|_| function < Function::FetchAdd);
    let bytes = moved.map(|bytes| {
        bytes * parameters.spes * parameters.settings.list_elements.unwrap_or(1) as usize
    });
    Measurement {
        function,
        iterations: 100_000,
        rounds: 12,
        samples: 4_000,
        outliers: 7,
        latency_ns: Latency {
            mean: p50_ns * 1.02,
            min: p50_ns * 0.94,
            p50: p50_ns,
            p99: p50_ns * 1.3,
            max: p50_ns * 9.0,
        },
        median_interval_ns: Some(Interval {
            low: p50_ns * 0.97,
            high: p50_ns * 1.04,
        }),
        bandwidth_bytes_per_s: bytes.map(|bytes| (bytes as f64 / p50_ns * 1e9) as u64),
        samples_ns: None,
        states: Vec::new(),
        shared_cpu: Vec::new(),
        lies_in: None,
        bare_ns: None,
        huge_page_share: None,
        doubts: Vec::new(),
        parameters,
    }
}

/// A measurement of one SPE with blocks of 1 KB, with its median in the middle of its interval.
pub fn within(function: Function, p50_ns: f64, to_either_side: f64) -> Measurement {
    Measurement {
        median_interval_ns: Some(Interval {
            low: p50_ns - to_either_side,
            high: p50_ns + to_either_side,
        }),
        ..measurement(function, p50_ns, on_memory(1_024))
    }
}

/// Parameters of one SPE of Cell 0.
pub fn alone(between: Between) -> Parameters {
    Parameters {
        spes: 1,
        cell: 0,
        module: None,
        between,
        buffers: None,
        settings: Settings::default(),
    }
}

/// Parameters of one SPE and main memory.
pub fn on_memory(block_bytes: usize) -> Parameters {
    Parameters {
        module: Some(0),
        buffers: Some(Buffers::Shared),
        settings: Settings {
            block_bytes: Some(block_bytes),
            ..alone(Between::MemorySpe).settings
        },
        ..alone(Between::MemorySpe)
    }
}

/// Parameters of one SPE, of all SPEs on one buffer, and of all SPEs on private buffers.
fn spread(spes: usize, one: &Parameters) -> [Parameters; 3] {
    let all = |buffers| Parameters {
        spes,
        buffers: Some(buffers),
        ..one.clone()
    };
    [one.clone(), all(Buffers::Shared), all(Buffers::Private)]
}

/// Copies of 16 bytes to 64 MB.
fn copies(function: Function, spes: usize) -> Vec<Measurement> {
    let sizes = [4, 7, 10, 12, 14, 18, 20, 24, 26].map(|power| 1 << power);
    let mut all = Vec::new();
    for bytes in sizes {
        for (number, parameters) in spread(spes, &on_memory(bytes)).into_iter().enumerate() {
            let ns = 6.0 + bytes as f64 / [60.0, 44.0, 38.0][number];
            all.push(measurement(function, ns, parameters));
        }
    }
    for bytes in [4, 7, 10, 12, 14].map(|power| 1 << power) {
        let parameters = Parameters {
            spes: 2,
            module: None,
            between: Between::SpeSpe,
            ..on_memory(bytes)
        };
        all.push(measurement(function, 9.0 + bytes as f64 / 25.0, parameters));
    }
    all
}

/// Atomic operations by the given numbers of SPEs.
fn contention(function: Function, counts: &[usize]) -> Vec<Measurement> {
    let mut all = vec![measurement(function, 4.4, on_memory(4))];
    for spes in counts {
        let [_, shared, private] = spread(*spes, &on_memory(4));
        all.push(measurement(function, 4.4 + 38.0 * *spes as f64, shared));
        all.push(measurement(function, 4.6, private));
    }
    all
}

pub fn finding(name: &str, value: f64, unit: &str, parameters: serde_json::Value) -> Finding {
    let parameters: BTreeMap<String, serde_json::Value> =
        serde_json::from_value(parameters).expect("an object");
    Finding {
        name: name.to_owned(),
        value,
        unit: unit.to_owned(),
        parameters,
        doubtful: false,
    }
}

fn advice(topic: &str, text: &str) -> Advice {
    Advice {
        topic: topic.to_owned(),
        text: text.to_owned(),
        doubtful: false,
    }
}
