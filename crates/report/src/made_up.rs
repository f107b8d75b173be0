//! Reports that tests compare, read and validate: no machine was measured for them.

use std::collections::BTreeMap;

use cellworks_stats::{
    Advice, Between, Buffers, Finding, Function, Home, Interval, Latency, Matrix, MatrixClass,
    Measurement, Parameters, Polling, Primitive,
};
use serde_json::json;

use crate::reproduction::{
    Curve, CurvePoint, PaperInfo, Published, Reproduced, ReproducedFigure, ReproducedPanel,
    Reproduction, ReproductionSummary, ShapeRange,
};
use crate::{
    CellInfo, Conditions, Counters, CpuLeftOut, Envelope, Environment, FigureAxis, FigureCurve,
    MachineInfo, Machines, NotMeasured, ProgramFigure, ProgramReport, Report, ResourceCounters,
    SimulatedMachine, Simulation, SpeCounters,
};

/// A report with something in every field.
pub(crate) fn report() -> Report {
    let mailbox = Measurement {
        parameters: Parameters {
            between: Between::SpeSpe,
            block_bytes: None,
            buffers: None,
            module: None,
            ..parameters(2)
        },
        bandwidth_bytes_per_s: None,
        ..measurement(Function::Mailbox, 160.0, 2.0)
    };
    let list = Measurement {
        parameters: Parameters {
            list_elements: Some(16),
            chains: Some(4),
            loading_spes: Some(1),
            stride_bytes: Some(2_048),
            buffers: Some(Buffers::Private),
            ..parameters(2)
        },
        samples_ns: Some(vec![1_000.0, 1_010.5]),
        median_interval_ns: None,
        ..measurement(Function::DmaListGet, 1_000.0, 0.0)
    };
    Report {
        envelope: Envelope::new(
            "stats",
            machine("a workstation", 2),
            environment(),
            Vec::new(),
            true,
        ),
        not_measured: vec![NotMeasured {
            what: "dmaget 128 B, 1 SPE, module 1".to_owned(),
            why: "the machine has one memory module".to_owned(),
        }],
        measurements: vec![mailbox, measurement(Function::DmaGet, 800.0, 8.0), list],
        matrices: vec![matrix(Primitive::Atomic, 50.0), copies()],
        results: vec![
            finding("cache_bytes", 2_097_152.0, "bytes", json!({"level": 2})),
            finding("memory_latency_ns", 95.5, "ns", json!({"loading_spes": 0})),
        ],
        advice: vec![Advice {
            topic: "threads".to_owned(),
            text: "Start programs once.".to_owned(),
        }],
        counters: Some(counters()),
    }
}

/// A report with nothing where something may be missing: an interrupted run on a simulated machine.
pub(crate) fn bare() -> Report {
    let whole = report();
    let simulated = MachineInfo {
        kind: "simulated".to_owned(),
        simulation: Some(Simulation {
            description: "qs20".to_owned(),
            seed: 7,
            system_calls: true,
        }),
        ..machine("a blade", 2)
    };
    let environment = Environment {
        kernel: None,
        host: None,
        warnings: Vec::new(),
        ..environment()
    };
    let reasons = vec!["others used 80 % of the CPUs; end them".to_owned()];
    Report {
        envelope: Envelope::new("stats", simulated, environment, reasons, false),
        measurements: vec![whole.measurements[0].clone()],
        matrices: Vec::new(),
        results: Vec::new(),
        advice: Vec::new(),
        not_measured: Vec::new(),
        counters: None,
    }
}

/// A reproduction with a number of every kind.
pub(crate) fn reproduction() -> Reproduction {
    let simulated = Environment {
        host: None,
        warnings: Vec::new(),
        ..environment()
    };
    let mailbox = Reproduced {
        published: Some(158.1),
        error_percent: Some(1.2),
        served_for_calibration: true,
        ..reproduced("mailbox", Some(160.0))
    };
    let get = Reproduced {
        published: Some(300.0),
        reading: Published::About,
        error_percent: Some(-7.0),
        ..reproduced("get", Some(279.0))
    };
    let flat = Reproduced {
        unit: "times".to_owned(),
        shape: Some(ShapeRange {
            rule: "longest divided by shortest".to_owned(),
            at_least: None,
            at_most: Some(1.05),
        }),
        holds: Some(false),
        served_for_calibration: true,
        ..reproduced("flat", Some(1.2))
    };
    let barrier = Reproduced {
        kept_back: true,
        ..reproduced("barrier", Some(3_456.7))
    };
    let elsewhere = Reproduced {
        published: Some(63.0),
        reading: Published::AtMost,
        not_simulated: Some("it is another program, which nobody has \"ported\"".to_owned()),
        ..reproduced("elsewhere", None)
    };
    let failed = Reproduced {
        published: Some(2.5),
        reading: Published::AtLeast,
        failed: Some("it needs 32 SPEs, and the blade has 16".to_owned()),
        ..reproduced("failed", None)
    };
    let results = vec![mailbox, get, flat, barrier, elsewhere, failed];
    let reasons = vec!["failed: it needs 32 SPEs, and the blade has 16".to_owned()];
    Reproduction {
        envelope: Envelope::new(
            "reproduce",
            machine("a blade", 16),
            simulated,
            reasons,
            false,
        ),
        other_machines: vec![machine("a console", 6)],
        papers: vec![PaperInfo {
            name: "mine".to_owned(),
            title: "What Primitives Cost".to_owned(),
            authors: "Somebody, 2009".to_owned(),
        }],
        summary: ReproductionSummary::of(&results),
        results,
        figures: vec![ReproducedFigure {
            paper: "mine".to_owned(),
            number: "4".to_owned(),
            title: "GETs of shared buffers".to_owned(),
            against: "block_bytes".to_owned(),
            panels: vec![ReproducedPanel {
                title: "XDRAM0".to_owned(),
                curves: vec![curve("1 SPE", 1.0), curve("8 SPEs", 3.0)],
            }],
        }],
    }
}

fn curve(name: &str, factor: f64) -> Curve {
    let point = |x: u64| CurvePoint {
        x,
        latency_ns: 300.0 * factor,
        bandwidth_bytes_per_s: Some(x as f64 * 1e9 / 300.0),
    };
    Curve {
        name: name.to_owned(),
        points: [16, 128, 1_024].map(point).to_vec(),
    }
}

fn reproduced(name: &str, value: Option<f64>) -> Reproduced {
    let parameter = |name: &str, value: &str| (name.to_owned(), json!(value));
    Reproduced {
        name: name.to_owned(),
        value,
        unit: "ns".to_owned(),
        parameters: BTreeMap::from([
            parameter("paper", "mine"),
            parameter("machine", "qs20"),
            parameter("conditions", "2 SPEs, of one Cell"),
        ]),
        quantity: format!("what {name} takes"),
        source: "table 1".to_owned(),
        published: None,
        reading: Published::Exact,
        kept_back: false,
        shape: None,
        holds: None,
        served_for_calibration: false,
        error_percent: None,
        not_simulated: None,
        failed: None,
    }
}

/// A millisecond in which the first of two SPEs moved data on one ring of two.
pub(crate) fn counters() -> Counters {
    let (busy, idle) = (
        SpeCounters {
            computing_ns: 250_000.0,
            waiting_for_dma_ns: 500_000.0,
            idle_ns: 250_000.0,
            commands: 1_000,
            bytes: 16_384_000,
            ..SpeCounters::default()
        },
        SpeCounters {
            idle_ns: 1_000_000.0,
            ..SpeCounters::default()
        },
    );
    let ring = |name: &str, packets| ResourceCounters {
        name: name.to_owned(),
        packets,
        bytes: 128 * packets,
        busy_ns: 125_000.0,
    };
    Counters {
        elapsed_ns: 1_000_000.0,
        spes: vec![busy, idle],
        resources: vec![ring("Cell 0, ring 0", 0), ring("Cell 0, ring 1", 128_000)],
        events: 12_345,
    }
}

/// A measurement with its median, which lies in the middle of an interval.
pub(crate) fn measurement(function: Function, p50: f64, to_either_side: f64) -> Measurement {
    Measurement {
        function,
        parameters: parameters(1),
        iterations: 1_000,
        rounds: 12,
        samples: 120,
        outliers: 1,
        latency_ns: Latency {
            mean: p50 + 5.0,
            min: p50 - 10.0,
            p50,
            p99: p50 + 50.0,
            max: p50 + 900.0,
        },
        median_interval_ns: Some(Interval {
            low: p50 - to_either_side,
            high: p50 + to_either_side,
        }),
        bandwidth_bytes_per_s: Some(1_280_000_000),
        samples_ns: None,
    }
}

fn parameters(spes: usize) -> Parameters {
    Parameters {
        spes,
        cell: 0,
        module: Some(0),
        between: Between::MemorySpe,
        buffers: Some(Buffers::Shared),
        block_bytes: Some(1_024),
        list_elements: None,
        stride_bytes: None,
        chains: None,
        loading_spes: None,
    }
}

pub(crate) fn finding(
    name: &str,
    value: f64,
    unit: &str,
    parameters: serde_json::Value,
) -> Finding {
    let parameters: BTreeMap<String, serde_json::Value> =
        serde_json::from_value(parameters).expect("an object");
    Finding {
        name: name.to_owned(),
        value,
        unit: unit.to_owned(),
        parameters,
    }
}

/// The matrix of two SPEs.
pub(crate) fn matrix(primitive: Primitive, ns: f64) -> Matrix {
    Matrix {
        primitive,
        polling: (primitive == Primitive::Atomic).then_some(Polling::CompareAndSwap),
        block_bytes: None,
        one_way_ns: vec![vec![None, Some(ns)], vec![Some(ns), None]],
        pairs: 2,
        pairs_measured: 2,
        classes: vec![
            MatrixClass {
                name: "same Cell".to_owned(),
                pairs: 2,
                pairs_measured: 2,
                min_ns: Some(ns),
                p50_ns: Some(ns),
                max_ns: Some(ns),
            },
            MatrixClass {
                name: "across Cells".to_owned(),
                pairs: 0,
                pairs_measured: 0,
                min_ns: None,
                p50_ns: None,
                max_ns: None,
            },
        ],
        home: Some(Home {
            module: Some(0),
            verified: Some(true),
        }),
    }
}

fn copies() -> Matrix {
    Matrix {
        block_bytes: Some(1 << 20),
        home: None,
        ..matrix(Primitive::Copy, 50_000.0)
    }
}

pub(crate) fn machine(name: &str, spes: usize) -> MachineInfo {
    MachineInfo {
        name: name.to_owned(),
        kind: "host".to_owned(),
        spes,
        cells: vec![CellInfo {
            spes: (0..spes).collect(),
            nearest_memory_module: 0,
        }],
        memory_modules: 1,
        spe_places: (0..spes).map(|spe| format!("CPU {spe}")).collect(),
        simulation: None,
    }
}

fn environment() -> Environment {
    Environment {
        cellworks_version: "0.1.0".to_owned(),
        build: "release".to_owned(),
        operating_system: "linux".to_owned(),
        kernel: Some("6.1.0".to_owned()),
        architecture: "x86_64".to_owned(),
        finished_unix_s: 1_700_000_000,
        warnings: vec!["SPE 1 could not be pinned".to_owned()],
        host: Some(Conditions {
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
        }),
    }
}

/// Machines of which no two are alike.
pub fn machines() -> Machines {
    let machine = |name: &str, title: &str, [spes, cells, memory_modules]: [usize; 3], bytes| {
        SimulatedMachine {
            name: name.to_owned(),
            title: title.to_owned(),
            spes,
            cells,
            memory_modules,
            memory_bytes_per_module: bytes,
            interconnect: if spes > 16 { "mesh" } else { "rings" }.to_owned(),
        }
    };
    let long =
        "A machine whose title is so long that it takes more than the line that it begins on";
    Machines::new(vec![
        machine("one", "One, \"the first\"", [6, 1, 1], Some(256 << 20)),
        machine("two", "Two", [16, 2, 2], Some(512 << 20)),
        machine("odd", long, [48, 1, 3], None),
    ])
}

pub fn program() -> ProgramReport {
    let result = |name: &str, value, unit: &str, buffering: &str, cycles_per_byte: Option<f64>| {
        let mut parameters = BTreeMap::from([
            ("buffering".to_owned(), buffering.into()),
            ("bytes".to_owned(), (1 << 20).into()),
            ("spes".to_owned(), 1.into()),
        ]);
        let cycles = cycles_per_byte.map(|cycles| ("cycles_per_byte".to_owned(), cycles.into()));
        parameters.extend(cycles);
        Finding {
            name: name.to_owned(),
            value,
            unit: unit.to_owned(),
            parameters,
        }
    };
    let axis = |label: &str, unit: &str| FigureAxis {
        label: label.to_owned(),
        unit: unit.to_owned(),
    };
    ProgramReport {
        envelope: Envelope {
            command: "run".to_owned(),
            complete: true,
            ..bare().envelope
        },
        program: "overlap".to_owned(),
        not_measured: Vec::new(),
        results: vec![
            result("bandwidth", 875e6, "bytes/s", "double", Some(11.7)),
            result("taken", 11.9, "cycles/byte", "double", Some(11.7)),
            result("bandwidth", 500e6, "bytes/s", "single", Some(5.0)),
            result("crossover", 2.5, "cycles/byte", "double", None),
        ],
        figures: vec![ProgramFigure {
            title: "Moved by all SPEs together".to_owned(),
            x: axis("computation (cycles a byte)", "cycles/byte"),
            y: axis("bandwidth", "bytes/s"),
            curves: vec![FigureCurve {
                name: "double".to_owned(),
                points: vec![(0.0, 9e9), (0.1, 8e9), (11.7, 875e6)],
            }],
        }],
        counters: None,
    }
}
