//! Times between all pairs of SPEs.

use std::collections::BTreeMap;

use cellworks_report::MachineInfo;
use cellworks_stats::{
    Choice, Home, Interval, Matrix, MatrixClass, MemoryCell, MemoryMatrix, MemoryRow, Polling,
    Primitive, Storage,
};

/// The matrix of two SPEs.
pub fn pair(primitive: Primitive, ns: f64) -> Matrix {
    let one_way_ns = vec![vec![None, Some(ns)], vec![Some(ns), None]];
    let classes = vec![
        class("same Cell", 2, vec![ns, ns]),
        class("across Cells", 0, Vec::new()),
    ];
    in_classes(primitive, one_way_ns, classes)
}

/// A matrix of copies of 1 MB without a fixed place of the memory.
pub fn copies() -> Matrix {
    Matrix {
        block_bytes: Some(1 << 20),
        home: None,
        doubts: Vec::new(),
        ..pair(Primitive::Copy, 50_000.0)
    }
}

/// The latency and the bandwidth of reading two memory modules. One module has no SPE beside it,
/// and there was no time to measure it.
pub fn memory() -> MemoryMatrix {
    let cell = MemoryCell {
        latency_ns: 96.0,
        latency_interval_ns: Some(Interval {
            low: 95.0,
            high: 97.5,
        }),
        bandwidth_bytes_per_s: 12_500_000_000,
        huge_page_share: Some(1.0),
        verified: Some(true),
    };
    MemoryMatrix {
        block_bytes: 128 << 20,
        lies_in: Some(Storage::Memory),
        rows: vec![MemoryRow {
            spe: 0,
            cell: 0,
            nearest_module: 0,
        }],
        modules: 2,
        module_numbers: vec![0, 1],
        cells: vec![vec![Some(cell), None]],
    }
}

/// A class with the given number of pairs. The given times were measured in some of the pairs.
fn class(name: &str, pairs: usize, mut times: Vec<f64>) -> MatrixClass {
    times.sort_by(f64::total_cmp);
    MatrixClass {
        name: name.to_owned(),
        pairs,
        pairs_measured: times.len(),
        min_ns: times.first().copied(),
        p50_ns: times.get(times.len() / 2).copied(),
        max_ns: times.last().copied(),
    }
}

fn in_classes(
    primitive: Primitive,
    one_way_ns: Vec<Vec<Option<f64>>>,
    classes: Vec<MatrixClass>,
) -> Matrix {
    let pairs = classes.iter().map(|class| class.pairs).sum();
    let pairs_measured = classes.iter().map(|class| class.pairs_measured).sum();
    Matrix {
        primitive,
        polling: (primitive == Primitive::Atomic).then_some(Polling::CompareAndSwap),
        block_bytes: None,
        pairs,
        pairs_measured,
        choice: Choice::of(&one_way_ns, pairs_measured == pairs),
        one_way_ns,
        classes,
        home: Some(Home {
            module: Some(0),
            verified: Some(true),
        }),
        doubts: Vec::new(),
    }
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
        if pairs > 0 {
            classes.push(class(name, pairs, times));
        }
    }
    in_classes(Primitive::Atomic, one_way_ns, classes)
}

/// Times that grow with the distance between the Cells of two SPEs.
pub fn times(spes: usize, cell: usize) -> Vec<Vec<Option<f64>>> {
    let time = |from: usize, to: usize| {
        let cells = (from / cell).abs_diff(to / cell) as f64;
        (from != to).then(|| 40.0 + 25.0 * cells + ((from * 7 + to * 3) % 10) as f64 / 2.0)
    };
    (0..spes)
        .map(|from| (0..spes).map(|to| time(from, to)).collect())
        .collect()
}

/// One-way times in ns between the 64 cores of a Xeon Phi 7210, as captured: see `data/README.md`.
pub fn captured() -> Vec<Vec<Option<f64>>> {
    let text = include_str!("../data/core-to-core-latency-xeon-phi-7210.csv");
    let lower: Vec<Vec<Option<f64>>> = text
        .lines()
        .map(|line| line.split(',').map(|field| field.parse().ok()).collect())
        .collect();
    // The tool measures each pair only once, for both directions.
    let both = |a: usize, b: usize| lower[a.max(b)][a.min(b)];
    (0..lower.len())
        .map(|a| (0..lower.len()).map(|b| both(a, b)).collect())
        .collect()
}
