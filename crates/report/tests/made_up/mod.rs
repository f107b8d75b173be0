//! Reports to look at. Their numbers are made up, unless said otherwise.

// Each test file uses some of them.
#![allow(dead_code)]

use std::collections::BTreeMap;

use cellworks_report::reproduction::{
    Curve, CurvePoint, PaperInfo, Published, Reproduced, ReproducedFigure, ReproducedPanel,
    Reproduction, ReproductionSummary, ShapeRange,
};
use cellworks_report::{
    CellInfo, Conditions, CpuLeftOut, Envelope, Environment, MachineInfo, NotMeasured, Report,
    Trust,
};
use cellworks_stats::{
    Advice, Between, Buffers, Finding, Function, Home, Interval, Latency, Matrix, MatrixClass,
    Measurement, Parameters, Polling, Primitive,
};

/// A report with a machine of this many SPEs in Cells of this size, and nothing measured.
pub fn empty(spes: usize, cell: usize) -> Report {
    let numbers: Vec<usize> = (0..spes).collect();
    let cells = numbers.chunks(cell).map(|spes| CellInfo {
        spes: spes.to_vec(),
        nearest_memory_module: 0,
    });
    let machine = MachineInfo {
        name: "A made-up processor".to_owned(),
        kind: "host".to_owned(),
        spes,
        cells: cells.collect(),
        memory_modules: 1,
        spe_places: numbers.iter().map(|spe| format!("CPU {spe}")).collect(),
        simulation: None,
    };
    let environment = Environment {
        cellworks_version: "0.1.0".to_owned(),
        build: "release".to_owned(),
        operating_system: "linux".to_owned(),
        kernel: Some("6.18.0".to_owned()),
        architecture: "x86_64".to_owned(),
        finished_unix_s: 1_790_000_000,
        warnings: Vec::new(),
        host: None,
    };
    Report {
        envelope: Envelope::new("stats", machine, environment, Vec::new(), true),
        not_measured: Vec::new(),
        measurements: Vec::new(),
        matrices: Vec::new(),
        results: Vec::new(),
        advice: Vec::new(),
        counters: None,
    }
}

/// A measurement with times around a median.
pub fn measurement(function: Function, p50_ns: f64, parameters: Parameters) -> Measurement {
    let moved = parameters
        .block_bytes
        .filter(|_| function < Function::FetchAdd);
    let bytes =
        moved.map(|bytes| bytes * parameters.spes * parameters.list_elements.unwrap_or(1) as usize);
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
        parameters,
    }
}

/// One SPE of Cell 0, and nothing else.
pub fn alone(between: Between) -> Parameters {
    Parameters {
        spes: 1,
        cell: 0,
        module: None,
        between,
        buffers: None,
        block_bytes: None,
        list_elements: None,
        stride_bytes: None,
        chains: None,
        loading_spes: None,
    }
}

/// One SPE, and main memory.
pub fn on_memory(block_bytes: usize) -> Parameters {
    Parameters {
        module: Some(0),
        buffers: Some(Buffers::Shared),
        block_bytes: Some(block_bytes),
        ..alone(Between::MemorySpe)
    }
}

/// One SPE; all on one buffer; all on their own.
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

/// Atomic operations by some numbers of SPEs.
fn contention(function: Function, counts: &[usize]) -> Vec<Measurement> {
    let mut all = vec![measurement(function, 4.4, on_memory(4))];
    for spes in counts {
        let [_, shared, private] = spread(*spes, &on_memory(4));
        all.push(measurement(function, 4.4 + 38.0 * *spes as f64, shared));
        all.push(measurement(function, 4.6, private));
    }
    all
}

/// A matrix in which SPEs of a Cell are near to each other.
pub fn matrix(machine: &MachineInfo, one_way_ns: Vec<Vec<Option<f64>>>) -> Matrix {
    let cells = machine.cells.iter().enumerate();
    let cell_of: BTreeMap<usize, usize> = cells
        .flat_map(|(cell, info)| info.spes.iter().map(move |spe| (*spe, cell)))
        .collect();
    let mut classes = Vec::new();
    for (name, near) in [("same Cell", true), ("other Cell", false)] {
        let mut pairs = 0;
        let mut times = Vec::new();
        for (from, row) in one_way_ns.iter().enumerate() {
            for (to, ns) in row.iter().enumerate() {
                if from != to && (cell_of[&from] == cell_of[&to]) == near {
                    pairs += 1;
                    times.extend(*ns);
                }
            }
        }
        times.sort_by(f64::total_cmp);
        if pairs > 0 {
            classes.push(MatrixClass {
                name: name.to_owned(),
                pairs,
                pairs_measured: times.len(),
                min_ns: times.first().copied(),
                p50_ns: times.get(times.len() / 2).copied(),
                max_ns: times.last().copied(),
            });
        }
    }
    Matrix {
        primitive: Primitive::Atomic,
        polling: Some(Polling::CompareAndSwap),
        block_bytes: None,
        pairs: classes.iter().map(|class| class.pairs).sum(),
        pairs_measured: classes.iter().map(|class| class.pairs_measured).sum(),
        one_way_ns,
        classes,
        home: Some(Home {
            module: Some(0),
            verified: Some(true),
        }),
    }
}

/// Times that grow with the distance of the numbers, from Cell to Cell.
pub fn times(spes: usize, cell: usize) -> Vec<Vec<Option<f64>>> {
    let time = |from: usize, to: usize| {
        let cells = (from / cell).abs_diff(to / cell) as f64;
        (from != to).then(|| 40.0 + 25.0 * cells + ((from * 7 + to * 3) % 10) as f64 / 2.0)
    };
    (0..spes)
        .map(|from| (0..spes).map(|to| time(from, to)).collect())
        .collect()
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
            list_elements: Some(elements),
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
            &[("level", 2.into())],
        ),
        finding(
            "copy_bandwidth",
            24.6e9,
            "bytes/s",
            &[("spes", 1.into()), ("block_bytes", 65_536.into())],
        ),
        finding("misses_in_flight", 11.2, "1", &[]),
        finding(
            "wake_up_of_a_parked_spe",
            51_200.0,
            "ns",
            &[("between", "ppe-spe".into())],
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
        load_average: Some(0.31),
        busy_before: Some(0.012),
        busy_during: Some(0.004),
        stolen_during: Some(0.0),
        governors: vec!["performance".to_owned()],
        quota_cpus: Some(2.0),
        clock_source: Some("tsc".to_owned()),
        highest_clock_hz: None,
        clock_step_ns: Some(1.0),
        clock_reading_ns: 19.4,
        transparent_huge_pages: Some("madvise".to_owned()),
        memory_available_bytes: Some(24 << 30),
        cpus_left_out: vec![CpuLeftOut {
            cpu: 2,
            why: "it shares its core with CPU 0".to_owned(),
        }],
    });
    report
}

/// Times one way in ns between the 64 cores of a Xeon Phi 7210, as captured: see `data/README.md`.
pub fn captured() -> Vec<Vec<Option<f64>>> {
    let text = include_str!("../data/core-to-core-latency-xeon-phi-7210.csv");
    let lower: Vec<Vec<Option<f64>>> = text
        .lines()
        .map(|line| line.split(',').map(|field| field.parse().ok()).collect())
        .collect();
    // The tool measures a pair once, for both directions.
    let both = |a: usize, b: usize| lower[a.max(b)][a.min(b)];
    (0..lower.len())
        .map(|a| (0..lower.len()).map(|b| both(a, b)).collect())
        .collect()
}

/// A report with the captured matrix of 64 cores: two cores on a tile with its cache are a Cell. All
/// else in it stands in for what was not captured.
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

/// A report that says in every way that it should not be relied upon.
pub fn doubtful() -> Report {
    let mut report = two_cores();
    report.envelope.complete = false;
    report.envelope.trust = Trust {
        trustworthy: false,
        reasons: vec![
            "CPU 1 was busy for 97 % of the run; stop what runs there and measure again."
                .to_owned(),
        ],
    };
    report.not_measured = vec![NotMeasured {
        what: "fetchset, 2 SPEs".to_owned(),
        why: "the run was interrupted".to_owned(),
    }];
    report.envelope.environment.warnings =
        vec!["Frequencies may change: the governor of CPU 0 is powersave.".to_owned()];
    report
}

/// A reproduction of two papers, with a number of every kind and figures with as many curves as any.
pub fn reproduction() -> Reproduction {
    let Envelope {
        machine,
        environment,
        ..
    } = empty(16, 8).envelope;
    let reasons = vec!["a pair: it needs 32 SPEs, and the blade has 16".to_owned()];
    let number = |name: &str, value: Option<f64>| Reproduced {
        name: name.to_owned(),
        value,
        unit: "ns".to_owned(),
        parameters: BTreeMap::from([
            ("paper".to_owned(), "mine".into()),
            ("machine".to_owned(), "qs20".into()),
            (
                "conditions".to_owned(),
                "16 SPEs, large blocks, shared buffer in the module of the other Cell".into(),
            ),
        ]),
        quantity: format!("what {name} takes where everything else is as it was"),
        source: "section 4.5.1, figure 12".to_owned(),
        published: None,
        reading: Published::Exact,
        kept_back: false,
        shape: None,
        holds: None,
        served_for_calibration: false,
        error_percent: None,
        not_simulated: None,
        failed: None,
    };
    let compared = |name: &str, served_for_calibration| Reproduced {
        published: Some(1_678.2),
        error_percent: Some(-2.2),
        served_for_calibration,
        ..number(name, Some(1_641.0))
    };
    let shape = |name: &str, holds, served_for_calibration| Reproduced {
        unit: "times".to_owned(),
        shape: Some(ShapeRange {
            rule: "longest of all divided by the shortest".to_owned(),
            at_least: Some(0.8),
            at_most: Some(1.25),
        }),
        holds: Some(holds),
        served_for_calibration,
        ..number(name, Some(1.292))
    };
    let results = vec![
        compared("a mailbox", true),
        shape("a list", true, true),
        compared("a GET", false),
        shape("a PUT", false, false),
        Reproduced {
            kept_back: true,
            ..number("a barrier", Some(674.1))
        },
        Reproduced {
            published: Some(204.8),
            not_simulated: Some("the machine's description states it".to_owned()),
            ..number("a peak", None)
        },
        Reproduced {
            published: Some(2.5),
            failed: Some("it needs 32 SPEs, and the blade has 16".to_owned()),
            ..number("a pair", None)
        },
    ];
    let paper = |name: &str, title: &str| PaperInfo {
        name: name.to_owned(),
        title: title.to_owned(),
        authors: "Somebody, Somebody Else, Journal of Measurements 2009".to_owned(),
    };
    Reproduction {
        envelope: Envelope::new("reproduce", machine, environment, reasons, false),
        other_machines: vec![empty(6, 6).envelope.machine],
        papers: vec![
            paper("mine", "What the Primitives of a Blade with Two Cells Cost"),
            paper("other", "What Others Found"),
        ],
        summary: ReproductionSummary::of(&results),
        results,
        figures: vec![
            made_up_figure("4", "block_bytes", &[4, 16, 128, 1_024, 16_384]),
            made_up_figure("10 and 11", "list_elements", &[1, 8, 64, 1_024]),
            made_up_figure("12", "spes", &[1, 2, 4, 8, 12, 16]),
        ],
    }
}

/// A figure of two panels, whose curves are up to 1,000 times apart.
fn made_up_figure(number: &str, against: &str, at: &[u64]) -> ReproducedFigure {
    let curve = |name: &str, factor: f64| Curve {
        name: name.to_owned(),
        points: at
            .iter()
            .map(|&x| CurvePoint {
                x,
                latency_ns: 110.0 * factor * (1.0 + x as f64),
                bandwidth_bytes_per_s: (against != "spes").then_some(1e9 * x as f64 / factor),
            })
            .collect(),
    };
    let panel = |title: &str| ReproducedPanel {
        title: title.to_owned(),
        curves: vec![
            curve("Private-CX-MX", 1.0),
            curve("Shared-C0-M0", 2.0),
            curve("Shared-C0-M1", 2.1),
            curve("Shared-C1-M0", 3.0),
            curve("Shared-C1-M1", 5.0),
        ],
    };
    ReproducedFigure {
        paper: "mine".to_owned(),
        number: number.to_owned(),
        title: "Operations on buffers in main memory".to_owned(),
        against: against.to_owned(),
        panels: vec![panel("XDRAM0"), panel("XDRAM1")],
    }
}

fn advice(topic: &str, text: &str) -> Advice {
    Advice {
        topic: topic.to_owned(),
        text: text.to_owned(),
    }
}

/// A finding with these parameters.
fn finding(
    name: &str,
    value: f64,
    unit: &str,
    parameters: &[(&str, serde_json::Value)],
) -> Finding {
    let parameters = parameters
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()));
    Finding {
        name: name.to_owned(),
        value,
        unit: unit.to_owned(),
        parameters: parameters.collect::<BTreeMap<_, _>>(),
    }
}
