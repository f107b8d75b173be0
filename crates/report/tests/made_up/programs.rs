//! Results of programs and of simulated machines.

use std::collections::BTreeMap;

use cellworks_report::{
    Bottleneck, Counters, CpuBinding, Envelope, ExplainedPair, ExplainedPlacement,
    ExplanationReport, FigureAxis, FigureCurve, FixedTask, FreePart, LinkLoad, Machines,
    MappingTimes, PairVolume, PartCounters, PlaceCpu, PlacementProblem, PlacementReport,
    PlacementTrial, PlacementTrials, ProgramFigure, ProgramReport, Quality, ResourceCounters,
    SimulatedMachine, SpeCounters, SweepInfo, SweepReport, ToolCommand,
};
use cellworks_stats::Finding;

use super::{bare, finding};

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
            doubtful: false,
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

/// A placement of three tasks on four CPUs.
pub fn placement() -> PlacementReport {
    let parameters = || serde_json::json!({"problem": "graph.txt", "tasks": 3, "places": 4});
    let result = |name, value, unit| finding(name, value, unit, parameters());
    PlacementReport {
        envelope: Envelope {
            command: "map solve".to_owned(),
            complete: true,
            ..bare().envelope
        },
        problem: PlacementProblem {
            file: "graph.txt".to_owned(),
            costs: Some("host, today.json".to_owned()),
            unit: Some("ns".to_owned()),
            tasks: 3,
            places: 4,
            capacity: 1,
            fixed: vec![FixedTask { task: 0, place: 3 }],
            forbidden: vec![0],
            assumed: None,
        },
        seed: 7,
        time_limit_s: 10.0,
        results: vec![
            result("cost", 1_234.5, "1"),
            result("bound", 1_000.0, "1"),
            result("gap", 0.19, "1"),
            result("average", 2_469.0, "1"),
            result("in_order", 1_851.75, "1"),
            result("worst", 4_938.0, "1"),
            result("time_to_best", 12.5e6, "ns"),
            result("time", 10e9, "ns"),
            result("iterations", 54_321.0, "1"),
        ],
        optimal: false,
        quality: Quality::AsGoodAsKnown,
        placement: vec![3, 2, 1],
        worst_placement: vec![3, 1, 2],
        worst_proven: false,
        pairs: 2,
        heaviest: vec![PairVolume {
            from: 0,
            to: 1,
            volume: 4_096.0,
            cost: 1_000.5,
        }],
        nodes: Vec::new(),
        cpus: [(6, 3), (4, 2), (2, 1)]
            .map(|(cpu, core)| PlaceCpu {
                node: 0,
                cpu,
                core: Some(core),
            })
            .to_vec(),
        binding: Some(CpuBinding {
            cpus: vec![6, 4, 2],
            cpu_list: "2,4,6".to_owned(),
            omp_places: "{6},{4},{2}".to_owned(),
            slurm_cpu_bind: "map_cpu:6,4,2".to_owned(),
            hwloc_cpusets: ["0x40", "0x10", "0x4"].map(str::to_owned).to_vec(),
        }),
        picture: None,
        commands: vec![ToolCommand {
            tool: "taskset".to_owned(),
            words: "taskset --cpu-list 2,4,6 COMMAND".to_owned(),
            note: "all threads on these CPUs".to_owned(),
        }],
        trials: Some(PlacementTrials {
            command: vec!["./program".to_owned(), "10".to_owned()],
            unbound_ns: vec![12.0e6, 14.0e6, 13.0e6],
            placements: vec![PlacementTrial {
                placement: vec![3, 2, 1],
                cpus: vec![6, 4, 2],
                cost: 1_234.5,
                ns: vec![10.0e6, 11.0e6, 10.5e6],
            }],
        }),
    }
}

/// Two placements of a chain of three tasks on three CPUs.
pub fn explanation() -> ExplanationReport {
    let parameters = || serde_json::json!({"problem": "graph.txt", "tasks": 3, "places": 3});
    let result = |name, value| finding(name, value, "1", parameters());
    let placement = |name: &str, placement: [usize; 3]| ExplainedPlacement {
        name: name.to_owned(),
        placement: placement.to_vec(),
    };
    let pair = |from, to, volume, costs: [f64; 2]| ExplainedPair {
        from,
        to,
        volume,
        cost_a: costs[0],
        cost_b: costs[1],
    };
    let link = |name: &str, loads: [f64; 2]| LinkLoad {
        name: name.to_owned(),
        load_a: loads[0],
        load_b: loads[1],
    };
    let mut envelope = Envelope {
        command: "map explain".to_owned(),
        complete: true,
        ..bare().envelope
    };
    envelope.machine.spes = 3;
    envelope.machine.spe_places = ["CPU 0", "CPU 1", "CPU 2"].map(str::to_owned).to_vec();
    ExplanationReport {
        envelope,
        file: "graph.txt".to_owned(),
        costs: Some("today.csv".to_owned()),
        assumed: None,
        results: vec![
            result("cost_a", 3_000.0),
            result("cost_b", 4_500.0),
            result("difference", 1_500.0),
            result("ratio", 1.5),
        ],
        placements: vec![
            placement("0,1,2", [0, 1, 2]),
            placement("best.json", [0, 2, 1]),
        ],
        pairs: vec![
            pair(0, 1, 20.0, [1_000.0, 2_500.0]),
            pair(1, 2, 40.0, [2_000.0, 2_000.0]),
        ],
        links: vec![
            link("into CPU 1", [20.0, 40.0]),
            link("into CPU 2", [40.0, 20.0]),
            link("out of CPU 0", [20.0, 20.0]),
        ],
        around: vec![0, 2, 1],
    }
}

/// A ring of four tasks with two of its six mappings. One of the two was interrupted.
pub fn sweep() -> SweepReport {
    let all = || serde_json::json!({"tasks": 4, "packet_bytes": 2_048});
    let named = || serde_json::json!({"tasks": 4, "packet_bytes": 2_048, "mapping": "0123"});
    let axis = |label: &str, unit: &str| FigureAxis {
        label: label.to_owned(),
        unit: unit.to_owned(),
    };
    let times = |mapping: &str, runs_ns: [f64; 3]| MappingTimes {
        packet_bytes: 2_048,
        mapping: mapping.to_owned(),
        runs_ns: runs_ns.to_vec(),
    };
    SweepReport {
        found: ProgramReport {
            envelope: Envelope {
                command: "map ring".to_owned(),
                complete: false,
                ..bare().envelope
            },
            program: "ring".to_owned(),
            not_measured: Vec::new(),
            results: vec![
                finding("worst_to_best", 1.5, "times", all()),
                finding("median_to_best", 1.5, "times", all()),
                finding("mapping_share", 87.5, "%", all()),
                finding("rank", 2.0, "rank", named()),
                finding("to_best", 1.5, "times", named()),
                finding("time", 1_500.0, "ns", named()),
            ],
            figures: vec![ProgramFigure {
                title: "Time of a round, 2 KB".to_owned(),
                x: axis("mappings, the fastest first", "rank"),
                y: axis("time", "ns"),
                curves: vec![FigureCurve {
                    name: "average".to_owned(),
                    points: vec![(1.0, 1_000.0), (2.0, 1_500.0)],
                }],
            }],
            counters: None,
        },
        sweep: SweepInfo {
            pattern: "ring".to_owned(),
            tasks: 4,
            spes: 4,
            packet_bytes: vec![2_048],
            directions: Some(2),
            rounds: 100,
            runs: 3,
            seed: 0,
            placement: "pinned".to_owned(),
            sample: None,
        },
        mappings: vec![
            times("0123", [1_400.0, 1_500.0, 1_600.0]),
            times("0132", [900.0, 1_000.0, 1_100.0]),
        ],
    }
}

/// The counters of a millisecond, in which the first of two SPEs moved data on one of two rings.
pub fn counters() -> Counters {
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
    let busiest = |kind: &str, name: &str, busy_ns| PartCounters {
        kind: kind.to_owned(),
        name: name.to_owned(),
        busy_ns,
    };
    Counters {
        began_ns: 0.0,
        elapsed_ns: 1_000_000.0,
        spes: vec![busy, idle],
        resources: vec![ring("Cell 0, ring 0", 0), ring("Cell 0, ring 1", 128_000)],
        busiest: vec![
            busiest("the memory pins", "memory module 0", 125_000.0),
            busiest("the SPUs", "SPE 0", 250_000.0),
        ],
        events: 12_345,
        bottleneck: None,
    }
}

/// The counters, with a bottleneck that is the pins of the memory.
pub fn counters_with_a_bottleneck() -> Counters {
    let free = |kind: &str, value, saved, next: Option<&str>| FreePart {
        kind: kind.to_owned(),
        busiest: next.map(|_| "memory module 0".to_owned()),
        busy: next.map(|_| 0.96),
        value,
        saved,
        next: next.map(str::to_owned),
        next_busy: next.map(|_| 0.5),
        advice: format!("Less of {kind}."),
    };
    Counters {
        began_ns: 9_000_000.0,
        bottleneck: Some(Bottleneck {
            result: "latency_ns".to_owned(),
            unit: "ns".to_owned(),
            value: 4_000.0,
            part: Some("the memory pins".to_owned()),
            verdict: "The bottleneck is the memory pins: memory module 0 is busy for 96.0 %."
                .to_owned(),
            parts: vec![
                free("the memory pins", 3_000.0, 0.25, Some("SPE 0")),
                free("the local stores", 3_990.0, 0.0025, None),
            ],
        }),
        ..counters()
    }
}

/// Machines that differ in every column.
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
