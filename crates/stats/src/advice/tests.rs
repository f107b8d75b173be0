//! Advice on made-up machines.

use cellworks_machine::{Distance, ModuleId};
use serde_json::json;

use super::*;
use crate::function::Primitive;
use crate::report::{Doubt, Interval, Latency, MatrixClass};
use crate::settings::Settings;
use crate::test_data::{measurement, parameters, site};

/// Makes a machine with a memory module for each Cell. `spes` has the number of SPEs of each Cell.
fn machine(spes: &[usize]) -> Topology {
    let modules = (0..spes.len()).map(|cell| ModuleId::new(cell as u16));
    let sites = spes
        .iter()
        .enumerate()
        .flat_map(|(cell, spes)| vec![site(cell as u16); *spes]);
    Topology::new("made up", modules.collect(), sites.collect())
}

fn took(function: Function, parameters: Parameters, ns: f64) -> Measurement {
    let moved = match (parameters.between, parameters.settings.block_bytes) {
        (Between::MemorySpe, Some(bytes)) => {
            bytes * parameters.spes * parameters.settings.list_elements.unwrap_or(1) as usize
        }
        _ => 0,
    };
    let measurement = measurement(function, parameters, ns);
    Measurement {
        latency_ns: Latency {
            mean: 2.0 * ns,
            p99: 3.0 * ns,
            max: 4.0 * ns,
            ..measurement.latency_ns
        },
        bandwidth_bytes_per_s: (moved > 0).then_some((moved as f64 * 1e9 / ns) as u64),
        ..measurement
    }
}

fn within(measurement: Measurement, low: f64, high: f64) -> Measurement {
    Measurement {
        median_interval_ns: Some(Interval { low, high }),
        ..measurement
    }
}

fn exchange(word: Function, between: Between, cell: usize, ns: f64) -> Measurement {
    let spes = if between == Between::SpeSpe { 2 } else { 1 };
    let parameters = Parameters {
        cell,
        ..parameters(spes, between)
    };
    took(word, parameters, ns)
}

fn transfer(
    function: Function,
    spes: usize,
    buffers: Buffers,
    bytes: usize,
    ns: f64,
) -> Measurement {
    let parameters = Parameters {
        module: Some(0),
        buffers: Some(buffers),
        settings: Settings {
            block_bytes: Some(bytes),
            ..parameters(spes, Between::MemorySpe).settings
        },
        ..parameters(spes, Between::MemorySpe)
    };
    took(function, parameters, ns)
}

fn list(elements: u32, ns: f64) -> Measurement {
    let mut list = transfer(
        Function::DmaListGet,
        1,
        Buffers::Shared,
        (16 << 10) / elements as usize,
        ns,
    );
    list.parameters.settings.list_elements = Some(elements);
    list
}

fn finding(name: &str, value: f64, parameters: serde_json::Value) -> Finding {
    Finding {
        name: name.to_owned(),
        value,
        unit: "made up".to_owned(),
        parameters: serde_json::from_value(parameters).unwrap(),
        doubtful: false,
    }
}

fn matrix(primitive: Primitive, classes: &[(&str, Option<f64>)]) -> Matrix {
    Matrix {
        primitive,
        polling: None,
        block_bytes: (primitive == Primitive::Copy).then_some(1 << 20),
        one_way_ns: Vec::new(),
        pairs: 0,
        pairs_measured: 0,
        classes: classes
            .iter()
            .map(|(name, p50_ns)| MatrixClass {
                name: (*name).to_owned(),
                pairs: 1,
                pairs_measured: 1,
                min_ns: *p50_ns,
                p50_ns: *p50_ns,
                max_ns: *p50_ns,
            })
            .collect(),
        home: None,
        choice: None,
        doubts: Vec::new(),
    }
}

fn on_one_cell(measurements: &[Measurement]) -> Vec<String> {
    texts(advise(&machine(&[2]), measurements, &[], &[]))
}

fn texts(advice: Vec<Advice>) -> Vec<String> {
    advice.into_iter().map(|advice| advice.text).collect()
}

/// Returns measurements of the paper's blade. Some numbers are from section 4.2 and tables 1 and 2.
/// The other numbers are made up, and form curves of the same shape as figures 4 to 12.
fn blade() -> Vec<Measurement> {
    use Between::{MemorySpe, PpeSpe, SpeSpe};
    use Buffers::{Private, Shared};
    use Function::{DmaGet, FetchAdd, Mailbox, MkThread, Signal};
    let mut blade = vec![
        took(MkThread, parameters(1, PpeSpe), 1_680_000.0),
        exchange(Mailbox, PpeSpe, 0, 779.7),
        exchange(Mailbox, PpeSpe, 1, 1_678.2),
        exchange(Signal, PpeSpe, 0, 503.8),
        exchange(Signal, PpeSpe, 1, 1_182.3),
        exchange(Mailbox, SpeSpe, 0, 158.1),
        exchange(Mailbox, SpeSpe, 1, 589.9),
        exchange(Signal, SpeSpe, 0, 160.1),
        exchange(Signal, SpeSpe, 1, 619.4),
    ];
    let sizes = [128, 1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10];
    for (bytes, alone) in sizes
        .into_iter()
        .zip([300.0, 330.0, 390.0, 500.0, 800.0, 1_500.0])
    {
        // All 16 SPEs together are limited to 24.6 GB/s.
        let all = (16.0 * bytes as f64 / 24.6).max(300.0);
        let contended = match bytes {
            128 => 8.0,
            1_024 => 1.5,
            _ => 1.0,
        };
        let shared = all * contended;
        blade.push(transfer(DmaGet, 1, Shared, bytes, alone));
        blade.push(transfer(DmaGet, 16, Shared, bytes, shared));
        blade.push(transfer(DmaGet, 16, Private, bytes, all));
    }
    let mut far = transfer(DmaGet, 1, Shared, 16 << 10, 1_500.0 * 1.4);
    far.parameters.module = Some(1);
    blade.push(far);
    for (elements, ns) in [(1, 1_500.0), (4, 1_500.0), (16, 1_500.0), (64, 1_510.0)] {
        blade.push(list(elements, ns));
    }
    blade.extend([list(256, 3_500.0), list(1_024, 13_000.0)]);
    let variable = |spes, buffers, ns| {
        let parameters = Parameters {
            module: Some(0),
            buffers: Some(buffers),
            settings: Settings {
                block_bytes: Some(4),
                ..parameters(spes, MemorySpe).settings
            },
            ..parameters(spes, MemorySpe)
        };
        took(FetchAdd, parameters, ns)
    };
    blade.extend([1, 2, 4, 8, 16].map(|spes| variable(spes, Shared, 111.0 * spes as f64)));
    blade.push(variable(16, Private, 111.0));
    blade
}

#[test]
fn a_cell_blade_gets_the_advice_of_the_paper() {
    let advice = advise(&machine(&[8, 8]), &blade(), &[], &[]);
    let told: Vec<(&str, &str)> = advice
        .iter()
        .map(|advice| (advice.topic.as_str(), advice.text.as_str()))
        .collect();
    let expected = [
        (
            "threads",
            "Starting a program on an SPE costs 1.68 ms, 2,150 times as long as a mailbox exchange with the PPE \
             (780 ns): start programs once, keep them until the end, and send them their tasks.",
        ),
        (
            "messages",
            "Between the PPE and an SPE an exchange takes 504 ns by signal and 780 ns by mailbox, 1.55 times as \
             long: use signals where no more than one word is under way.",
        ),
        (
            "messages",
            "Between two SPEs it makes no difference whether words travel by mailbox (158 ns for an exchange) or \
             by signal (160 ns).",
        ),
        (
            "messages",
            "Let SPEs send to each other directly: by mailbox an exchange takes 158 ns, and through the PPE it \
             would take two exchanges and 1.56 us, 9.86 times as long.",
        ),
        (
            "placement",
            "Give what talks to the PPE most to SPEs of Cell 0: by mailbox an exchange with the PPE takes 780 ns \
             there, and 1.68 us in Cell 1, 2.15 times as long.",
        ),
        (
            "placement",
            "Keep SPEs that talk to each other in one Cell: by mailbox an exchange takes 158 ns within Cell 0, \
             and 590 ns between Cells 0 and 1, 3.73 times as long.",
        ),
        (
            "blocks",
            "Make gets of at least 8 KB: gets by one SPE reach 10.2 GB/s with 8 KB (94 % of the best, 10.9 GB/s \
             with 16 KB), 8.19 GB/s with 4 KB and 427 MB/s with 128 B.",
        ),
        (
            "buffers",
            "Give each SPE a buffer of its own for gets by 16 SPEs in blocks of 128 B to 1 KB: gets of 128 B \
             reach 853 MB/s on a shared buffer and 6.83 GB/s on private ones, 8.00 times as much (larger blocks \
             are as fast either way).",
        ),
        (
            "lists",
            "Make lists of gets from elements of at least 256 B: lists of gets that move 16 KB take 1.51 us with \
             up to 64 elements and 13.0 us with 1024, 12.0 ns for each further one.",
        ),
        (
            "lists",
            "Combine gets of 1 KB to 4 KB in a list: 16 gets of 1 KB take 1.50 us in a list and 5.28 us one \
             after the other, 3.52 times as long.",
        ),
        (
            "memory",
            "Keep in memory module 0 the data for gets by SPEs of Cell 0: gets of 16 KB take 1.50 us there, and \
             2.10 us in module 1, 1.40 times as long.",
        ),
        (
            "atomics",
            "Where 16 SPEs share a variable, let each work at least 17.8 us between two operations on it. Then the \
             operations take less than 10 % of its time: fetchadd takes 111 ns with one SPE and 1.78 us with 16, in \
             proportion to their number.",
        ),
        (
            "atomics",
            "Where SPEs do little else, give each a variable of its own and combine them at the end: fetchadd \
             by 16 SPEs takes 111 ns on private variables and 1.78 us on a shared one, 16.0 times as long.",
        ),
    ];
    assert_eq!(told, expected);
}

#[test]
fn nothing_measured_is_no_advice() {
    assert!(on_one_cell(&[]).is_empty());
    let alone = machine(&[1]);
    assert!(advise(&alone, &[], &[], &[matrix(Primitive::Mailbox, &[])]).is_empty());
}

#[test]
fn a_single_function_gives_no_comparison() {
    for m in blade() {
        let told = on_one_cell(std::slice::from_ref(&m));
        assert!(told.is_empty(), "{told:?} from {m:?} alone");
    }
}

#[test]
fn a_machine_with_one_spe_gets_no_advice_about_several() {
    use Between::PpeSpe;
    let measurements = [
        took(Function::MkThread, parameters(1, PpeSpe), 450.0),
        exchange(Function::Mailbox, PpeSpe, 0, 150.0),
        exchange(Function::Signal, PpeSpe, 0, 200.0),
        transfer(Function::DmaGet, 1, Buffers::Shared, 128, 10.0),
        transfer(Function::DmaGet, 1, Buffers::Shared, 1 << 10, 10.0),
    ];
    assert_eq!(
        texts(advise(&machine(&[1]), &measurements, &[], &[])),
        [
            "Starting a program on an SPE costs 450 ns, 3.00 times as long as a mailbox exchange with the PPE \
             (150 ns): start programs once, keep them until the end, and send them their tasks.",
            "Between the PPE and an SPE an exchange takes 150 ns by mailbox and 200 ns by signal, 1.33 times as \
             long: use mailboxes unless bits from several senders are to be combined.",
            "Make gets of at least 1 KB: gets by one SPE reach 102 GB/s with 1 KB and 12.8 GB/s with 128 B.",
        ]
    );
}

#[test]
fn the_ppe_passes_words_on_where_that_is_faster() {
    let told = on_one_cell(&[
        exchange(Function::Mailbox, Between::PpeSpe, 0, 100.0),
        exchange(Function::Mailbox, Between::SpeSpe, 0, 300.0),
    ]);
    assert_eq!(
        told,
        [
            "Let the PPE pass on what SPEs send to each other: that takes two mailbox exchanges and 200 ns, and \
             a direct one takes 300 ns, 1.50 times as long."
        ]
    );
    let even = on_one_cell(&[
        exchange(Function::Mailbox, Between::PpeSpe, 0, 150.0),
        exchange(Function::Mailbox, Between::SpeSpe, 0, 300.0),
    ]);
    assert!(even.is_empty(), "{even:?}");
}

#[test]
fn equally_near_cells_are_reported_as_such() {
    use Between::{PpeSpe, SpeSpe};
    let measurements = [
        exchange(Function::Signal, PpeSpe, 0, 150.0),
        exchange(Function::Signal, PpeSpe, 1, 151.0),
        exchange(Function::Signal, SpeSpe, 0, 310.0),
        exchange(Function::Signal, SpeSpe, 1, 300.0),
    ];
    let told = texts(advise(&machine(&[2, 2]), &measurements, &[], &[]));
    assert_eq!(
        told,
        [
            "To the PPE all Cells are equally near: by signal an exchange takes 150 ns to 151 ns.",
            "SPEs that talk to each other need not sit in one Cell: by signal an exchange takes 310 ns within \
             Cell 0, and 300 ns between Cells 0 and 1.",
        ]
    );
}

#[test]
fn matrices_give_the_places_of_neighbours() {
    let matrices = [
        matrix(
            Primitive::Mailbox,
            &[
                ("same core", Some(90.0)),
                ("same Cell", Some(60.0)),
                ("across memory modules", Some(150.0)),
            ],
        ),
        matrix(
            Primitive::Signal,
            &[("same Cell", Some(50.0)), ("across Cells", Some(100.0))],
        ),
        matrix(
            Primitive::Atomic,
            &[
                ("same core", Some(20.0)),
                ("same Cell", Some(52.0)),
                ("across Cells", Some(210.0)),
            ],
        ),
        matrix(
            Primitive::Copy,
            &[
                ("same Cell", Some(50_000.0)),
                ("across Cells", Some(51_000.0)),
            ],
        ),
        matrix(
            Primitive::Mailbox,
            &[("same Cell", Some(50.0)), ("across Cells", None)],
        ),
    ];
    // The matrices already give advice about these SPEs, so the exchanges give none.
    let exchanges = [0, 1].map(|cell| {
        let ns = 100.0 + 300.0 * cell as f64;
        exchange(Function::Mailbox, Between::SpeSpe, cell, ns)
    });
    assert_eq!(
        texts(advise(&machine(&[2, 2]), &exchanges, &[], &matrices)),
        [
            "Place SPEs that exchange data in the same Cell: a mailbox word takes 60.0 ns one way there, and 150 ns \
             across memory modules, 2.50 times as long; a signal takes 50.0 ns one way there, and 100 ns across \
             Cells, 2.00 times as long.",
            "Place SPEs that exchange data on the same core: a change of an atomic variable takes 20.0 ns one way \
             there, and 210 ns across Cells, 10.5 times as long.",
            "How far apart SPEs sit makes no difference where a block of 1 MB takes 50.0 us to 51.0 us one way at \
             any distance.",
        ]
    );
}

#[test]
fn spes_of_two_cells_are_in_the_other_cell() {
    let blade = machine(&[2, 2]);
    let other_cell = blade.name_of(Distance::AcrossModules);
    let matrices = [
        matrix(
            Primitive::Mailbox,
            &[("same Cell", Some(79.0)), (other_cell, Some(300.0))],
        ),
        matrix(
            Primitive::Signal,
            &[("same Cell", Some(300.0)), (other_cell, Some(79.0))],
        ),
    ];
    assert_eq!(
        texts(advise(&blade, &[], &[], &matrices)),
        [
            "Place SPEs that exchange data in the same Cell: a mailbox word takes 79.0 ns one way there, and 300 ns \
             to an SPE in the other Cell, 3.80 times as long.",
            "Place SPEs that exchange data in different Cells: a signal takes 79.0 ns one way there, and 300 ns in \
             the same Cell, 3.80 times as long.",
        ]
    );
}

#[test]
fn copies_are_spread_over_as_many_spes_as_gain_something() {
    let copy = |spes: usize, rate: f64| {
        finding(
            "copy_bandwidth_bytes_per_s",
            rate,
            json!({"block_bytes": 64 << 20, "spes": spes}),
        )
    };
    let told = |findings: &[Finding]| texts(advise(&machine(&[8]), &[], findings, &[]));
    assert_eq!(
        told(&[copy(1, 9.5e9), copy(2, 10e9)]),
        [
            "Leave large copies to 1 SPE, as more do not help: with blocks of 64 MB that reaches 9.50 GB/s (95 % of \
             the best, 10.0 GB/s with 2)."
        ]
    );
    assert_eq!(
        told(&[copy(1, 8.3e9), copy(2, 7.5e9)]),
        [
            "Leave large copies to 1 SPE, as more do not help: with blocks of 64 MB that reaches 8.30 GB/s and 2 \
             reach 7.50 GB/s."
        ]
    );
    assert_eq!(
        told(&[copy(1, 8.5e9), copy(2, 13.4e9)]),
        [
            "Spread large copies over 2 SPEs: with blocks of 64 MB they reach 13.4 GB/s together and 1 SPE alone \
             reaches 8.50 GB/s."
        ]
    );
    assert_eq!(
        told(&[copy(1, 10e9), copy(2, 20e9), copy(4, 38e9), copy(8, 40e9)]),
        [
            "Spread large copies over 4 SPEs, as more do not help: with blocks of 64 MB they reach 38.0 GB/s together \
             (95 % of the best, 40.0 GB/s with 8) and 1 SPE alone reaches 10.0 GB/s."
        ]
    );
    assert_eq!(
        told(&[copy(1, 10e9), copy(2, 20e9), copy(4, 40e9), copy(8, 30e9)]),
        [
            "Spread large copies over 4 SPEs, as more do not help: with blocks of 64 MB they reach 40.0 GB/s \
             together, 1 SPE alone reaches 10.0 GB/s and 8 reach 30.0 GB/s."
        ]
    );
    assert!(told(&[copy(1, 10e9)]).is_empty());
    // The interval of the copies by one SPE contains the bandwidth of two SPEs.
    let mut alone = transfer(Function::Copy, 1, Buffers::Private, 64 << 20, 6.7e6);
    alone = within(alone, 4e6, 8e6);
    let copies = [copy(1, 10e9), copy(2, 15e9)];
    assert!(advise(&machine(&[2]), &[alone], &copies, &[]).is_empty());
}

#[test]
fn a_cache_that_is_much_smaller_than_reported_is_named() {
    let cache = |level: usize, bytes: usize| Finding {
        name: "cache_bytes".to_owned(),
        value: bytes as f64,
        unit: "bytes".to_owned(),
        parameters: [("level".to_owned(), json!(level))].into(),
        doubtful: false,
    };
    let of = |caches: &[Finding]| {
        let topology = machine(&[2]).with_last_level_cache(480 << 20);
        texts(advise(&topology, &[], caches, &[]))
    };
    let advice = |measured| of(&[cache(3, measured)]);
    assert_eq!(
        advice(6 << 20),
        [
            "Count on 6 MB of the last-level cache, not on the 480 MB that the system reports: accesses in larger tables \
             took longer. A virtual machine may use only the part that the hypervisor and its other virtual machines \
             leave to it."
        ]
    );
    assert!(advice(241 << 20).is_empty());
    // A disturbed measurement shows what other programs have left, also if a lower level is sound.
    let disturbed = Finding {
        doubtful: true,
        ..cache(3, 6 << 20)
    };
    assert!(of(&[cache(2, 2 << 20), disturbed]).is_empty());
}

#[test]
fn advice_that_rests_on_doubts_is_marked() {
    let mut measurements = [pair(128, 50.0, 49.0), pair(64 << 20, 5e6, 1e7)].concat();
    let advice = |measurements: &[Measurement]| advise(&machine(&[2]), measurements, &[], &[]);
    let doubtful = |measurements: &[Measurement]| -> Vec<bool> {
        let advice = advice(measurements).into_iter();
        advice.map(|one| one.doubtful).collect()
    };
    assert_eq!(doubtful(&measurements), [false]);
    // The advice names the largest block, and does not need the smallest.
    let largest = measurements.len() - 1;
    measurements[largest].doubts = vec![Doubt::Disturbed];
    assert_eq!(doubtful(&measurements), [true]);
    let matrix = Matrix {
        doubts: vec![Doubt::Unsteady],
        ..matrix(Primitive::Mailbox, &[])
    };
    measurements[largest].doubts.clear();
    let advice = advise(&machine(&[2]), &measurements, &[], &[matrix]);
    assert_eq!(advice.len(), 1);
    assert!(!advice[0].doubtful, "it does not rest on the matrix");
}

#[test]
fn private_buffers_may_gain_nothing_or_lose() {
    assert_eq!(
        on_one_cell(&[pair(128, 50.0, 49.0), pair(16 << 10, 900.0, 910.0)].concat()),
        [
            "Private buffers gain nothing over a shared one for puts by 2 SPEs: puts of 16 KB reach 36.0 GB/s on \
             private buffers and 36.4 GB/s on a shared one."
        ]
    );
    assert_eq!(
        on_one_cell(&[pair(128, 50.0, 49.0), pair(64 << 20, 5e6, 1e7)].concat()),
        [
            "Let SPEs share a buffer for puts by 2 SPEs in blocks of 64 MB: puts of 64 MB reach 13.4 GB/s on private \
             buffers and 26.8 GB/s on a shared one, 2.00 times as much."
        ]
    );
    let mixed = [
        pair(16, 40.0, 20.0),
        pair(128, 50.0, 49.0),
        pair(1 << 10, 90.0, 30.0),
        pair(64 << 20, 5e6, 1e7),
    ];
    assert_eq!(
        on_one_cell(&mixed.concat()),
        [
            "Give each SPE a buffer of its own for puts by 2 SPEs in blocks of 16 B and 1 KB, and let SPEs share one \
             in blocks of 64 MB: puts of 1 KB reach 22.8 GB/s on a shared buffer and 68.3 GB/s on private ones, 3.00 \
             times as much; puts of 64 MB reach 13.4 GB/s on private buffers and 26.8 GB/s on a shared one, 2.00 \
             times as much.",
        ]
    );
    let lone = [
        pair(16, 20.0, 20.0),
        pair(128, 70.0, 50.0),
        pair(1 << 10, 90.0, 90.0),
    ];
    assert!(on_one_cell(&lone.concat()).is_empty());
}

fn pair(bytes: usize, shared_ns: f64, private_ns: f64) -> [Measurement; 2] {
    let put = |buffers, ns| transfer(Function::DmaPut, 2, buffers, bytes, ns);
    [
        put(Buffers::Shared, shared_ns),
        put(Buffers::Private, private_ns),
    ]
}

#[test]
fn buffers_with_unclear_differences_are_not_called_equal() {
    let unsure = pair(64 << 20, 5e6, 1e7).map(|put| within(put, 4e6, 2e7));
    assert!(on_one_cell(&unsure).is_empty());
    let with_equal = [pair(128, 50.0, 49.0), unsure].concat();
    assert!(on_one_cell(&with_equal).is_empty());
}

#[test]
fn buffers_are_compared_by_bandwidth() {
    // Half of the puts to the shared buffer are slow, but the median is the time of a fast put.
    let [mut shared, private] = pair(256 << 10, 7_000.0, 6_800.0);
    shared.bandwidth_bytes_per_s = Some(28_000_000_000);
    let told = on_one_cell(&[within(shared.clone(), 6_900.0, 9_000.0), private.clone()]);
    assert_eq!(
        told,
        [
            "Give each SPE a buffer of its own for puts by 2 SPEs in blocks of 256 KB: puts of 256 KB reach 28.0 GB/s \
             on a shared buffer and 77.1 GB/s on private ones, 2.75 times as much."
        ]
    );
    // A bandwidth far below the interval may come from a stall, so there is no advice.
    let stalled = within(shared, 6_990.0, 7_010.0);
    let [_, mut slow] = pair(256 << 10, 7_000.0, 6_800.0);
    slow.bandwidth_bytes_per_s = Some(50_000_000_000);
    let slow = within(slow, 6_790.0, 6_810.0);
    assert!(on_one_cell(&[stalled, slow]).is_empty());
    let times = pair(128, 90.0, 30.0).map(|put| Measurement {
        bandwidth_bytes_per_s: None,
        ..put
    });
    assert_eq!(
        on_one_cell(&times),
        [
            "Give each SPE a buffer of its own for puts by 2 SPEs in blocks of 128 B: puts of 128 B take 30.0 ns on \
             private buffers and 90.0 ns on a shared one, 3.00 times as long."
        ]
    );
}

#[test]
fn lists_may_be_free_or_cost_from_the_first_element() {
    assert_eq!(
        on_one_cell(&[list(1, 800.0), list(1_024, 850.0)]),
        [
            "Lists of gets that move 16 KB may have any number of elements: lists of gets take 800 ns with 1 and \
             850 ns with 1024."
        ]
    );
    let get = |bytes, ns| transfer(Function::DmaGet, 1, Buffers::Shared, bytes, ns);
    let told = on_one_cell(&[list(1, 800.0), list(16, 2_300.0), get(1 << 10, 140.0)]);
    assert_eq!(
        told,
        [
            "Make lists of gets from as few elements as the data allow: lists of gets that move 16 KB take 800 ns \
             with 1 element and 2.30 us with 16, 100 ns for each further one.",
            "A list saves nothing over single gets: 16 gets of 1 KB take 2.24 us one after the other and 2.30 us in \
             a list.",
        ]
    );
    assert!(on_one_cell(&[list(1, 800.0), within(list(1_024, 900.0), 700.0, 2_000.0)]).is_empty());
}

#[test]
fn advice_for_lists_of_gets_and_of_puts_is_one_sentence() {
    let as_put = |m: &Measurement| Measurement {
        function: match m.function {
            Function::DmaListGet => Function::DmaListPut,
            _ => Function::DmaPut,
        },
        ..m.clone()
    };
    let single = |bytes, ns| {
        // This measurement has no bandwidth, so there is no advice about the size of blocks.
        Measurement {
            bandwidth_bytes_per_s: None,
            ..transfer(Function::DmaGet, 1, Buffers::Shared, bytes, ns)
        }
    };
    let gets = [
        list(1, 250.0),
        list(4, 337.0),
        list(1_024, 18_700.0),
        single(16, 22.5),
        single(4 << 10, 63.0),
    ];
    let puts: Vec<Measurement> = gets.iter().map(as_put).collect();
    assert_eq!(
        on_one_cell(&[&gets[..], &puts].concat()),
        [
            "Make lists of gets and puts from as few elements as the data allow: lists of gets that move 16 KB take \
             250 ns with 1 element and 18.7 us with 1024, 18.0 ns for each further one; lists of puts that move \
             16 KB take 250 ns with 1 element and 18.7 us with 1024, 18.0 ns for each further one.",
            "Combine gets and puts of 16 B in a list: 1024 gets of 16 B take 18.7 us in a list and 23.0 us one after \
             the other, 1.23 times as long; 1024 puts of 16 B take 18.7 us in a list and 23.0 us one after the \
             other, 1.23 times as long.",
            "Do not combine gets and puts of 4 KB in a list: 4 gets of 4 KB take 252 ns one after the other and \
             337 ns in a list, 1.34 times as long; 4 puts of 4 KB take 252 ns one after the other and 337 ns in a \
             list, 1.34 times as long.",
        ]
    );
}

#[test]
fn modules_that_are_equally_near_make_no_difference() {
    let get = |module, ns| {
        let mut get = transfer(Function::DmaGet, 1, Buffers::Shared, 128, ns);
        get.parameters.module = Some(module);
        get
    };
    assert_eq!(
        on_one_cell(&[get(0, 100.0), get(1, 104.0)]),
        [
            "Which memory module holds the data for gets by SPEs of Cell 0 makes no difference: gets of 128 B take \
             100 ns to 104 ns."
        ]
    );
}

#[test]
fn an_os_thread_is_set_beside_a_start_on_a_waiting_worker() {
    let told = |os_thread_ns| {
        on_one_cell(&[
            took(Function::MkThread, parameters(1, Between::PpeSpe), 439.0),
            took(
                Function::OsThread,
                parameters(1, Between::PpeSpe),
                os_thread_ns,
            ),
        ])
    };
    assert_eq!(
        told(24_100.0),
        [
            "Create no threads for short work: creating an OS thread and joining it takes 24.1 us, 54.9 times as long \
             as starting a program on an SPE (439 ns), whose OS thread waits for it."
        ]
    );
    assert_eq!(told(400.0), [""; 0]);
}

#[test]
fn the_latency_of_memory_gives_advice_on_requests() {
    let latency = |loading_spes: usize, ns| {
        finding(
            "memory_latency_ns",
            ns,
            json!({"table_bytes": 1 << 28, "loading_spes": loading_spes}),
        )
    };
    let cache = |level: usize, bytes, ns| {
        let level = json!({"level": level});
        [
            finding("cache_bytes", bytes, level.clone()),
            finding("cache_latency_ns", ns, level),
        ]
    };
    let misses = |value, chains: usize| {
        finding(
            "misses_in_flight",
            value,
            json!({"table_bytes": 1 << 28, "chains": chains}),
        )
    };
    let told = |findings: &[Finding]| texts(advise(&machine(&[2]), &[], findings, &[]));
    let caches = [cache(1, 49_152.0, 1.2), cache(2, 2_097_152.0, 4.5)].concat();
    let memory = [latency(3, 240.0), latency(0, 95.0), latency(1, 120.0)];
    assert_eq!(
        told(&[&caches[..], &memory, &[misses(10.2, 12)]].concat()),
        [
            "Work on tiles that fit into a cache: an access that depends on the one before takes 1.20 ns in tiles of \
             up to 48 KB, 4.50 ns in tiles of up to 2 MB, and 95.0 ns in main memory.",
            "Keep up to 12 accesses to main memory under way on each SPE, for instance by following as many \
             independent chains of pointers: then one access ends every 9.31 ns. One after the other, accesses take \
             95.0 ns each, 10.2 times as long.",
            "Ask for data at least 240 ns before they are needed. An access to main memory takes that long while 3 \
             others copy, 2.53 times as long as the 95.0 ns of an idle machine.",
        ]
    );
    // If a cache is slower for its largest tile, the advice has both times of the cache.
    let chase = |bytes, ns| {
        let mut chase = transfer(Function::Chase, 1, Buffers::Shared, bytes, ns);
        chase.parameters.settings.chains = Some(1);
        chase.parameters.settings.loading_spes = Some(0);
        chase
    };
    let curve = [
        chase(48 << 10, 1.25),
        chase(1 << 20, 4.5),
        chase(2 << 20, 8.43),
    ];
    let advice = advise(
        &machine(&[2]),
        &curve,
        &[&caches[..], &memory].concat(),
        &[],
    );
    assert_eq!(
        advice[0].text,
        "Work on tiles that fit into a cache: an access that depends on the one before takes 1.20 ns in tiles of up \
         to 48 KB, 4.50 ns where level 2 begins and 8.43 ns in tiles of 2 MB where it ends, and 95.0 ns in main \
         memory."
    );
    assert_eq!(
        told(&[latency(0, 100.0), latency(1, 150.0), misses(1.0, 1)]),
        [
            "Asking main memory for several things at once gains nothing: one after the other takes 100 ns each, \
             and at once 100 ns.",
            "Ask for data at least 150 ns before they are needed. An access to main memory takes that long while \
             another SPE copies, 1.50 times as long as the 100 ns of an idle machine.",
        ]
    );
    // There is no advice without the latency of an idle machine, or if load does not change it.
    assert!(told(&[&caches[..], &[latency(1, 150.0), misses(10.2, 12)]].concat()).is_empty());
    assert!(told(&[latency(0, 100.0), latency(1, 101.0)]).is_empty());
    // The interval of the time under load is wider than the difference, so there is no advice.
    let loaded = Parameters {
        settings: Settings {
            block_bytes: Some(1 << 28),
            chains: Some(1),
            loading_spes: Some(1),
            ..parameters(1, Between::MemorySpe).settings
        },
        ..parameters(1, Between::MemorySpe)
    };
    let loaded = within(took(Function::Chase, loaded, 253.0), 230.0, 397.0);
    let findings = [latency(0, 179.0), latency(1, 253.0)];
    assert!(advise(&machine(&[2]), &[loaded], &findings, &[]).is_empty());
}

#[test]
fn atomics_may_be_shared_where_that_costs_nothing() {
    let variable = |spes, buffers, ns| {
        let mut m = transfer(Function::FetchInc, spes, buffers, 4, ns);
        m.bandwidth_bytes_per_s = None;
        m
    };
    use Buffers::{Private, Shared};
    assert_eq!(
        on_one_cell(&[variable(1, Shared, 5.0), variable(2, Shared, 5.1)]),
        [
            "SPEs may share a variable: fetchinc takes 5.10 ns when 2 SPEs use the same one, and 5.00 ns when one \
             SPE has it to itself."
        ]
    );
    // One SPE nearly always has the cache line, so the median is short and the mean is long.
    let mut unfair = variable(2, Shared, 5.1);
    unfair.latency_ns.mean = 14.0;
    assert_eq!(on_one_cell(&[variable(1, Shared, 5.0), unfair]), [""; 0]);
    let told = on_one_cell(&[
        variable(1, Shared, 5.0),
        variable(2, Shared, 20.0),
        variable(2, Private, 19.0),
    ]);
    assert_eq!(
        told,
        [
            "Where 2 SPEs share a variable, let each work at least 200 ns between two operations on it. Then the \
             operations take less than 10 % of its time: fetchinc takes 5.00 ns with one SPE and 20.0 ns with 2, \
             4.00 times as long.",
            "Private variables gain nothing: fetchinc by 2 SPEs takes 19.0 ns on them and 20.0 ns on a shared one.",
        ]
    );
}

#[test]
fn waiting_sleeps_or_spins() {
    let exchanges = [exchange(Function::Mailbox, Between::SpeSpe, 0, 150.0)];
    let told = |ns| {
        let from = |between: &str| json!({"between": between, "cell": 0, "spes": 2});
        // No exchange with the PPE was measured, so the first wake-up gives no advice.
        let wake_up = [
            finding("wake_up_ns", 9.0 * ns, from("ppe-spe")),
            finding("wake_up_ns", ns, from("spe-spe")),
        ];
        texts(advise(&machine(&[2]), &exchanges, &wake_up, &[]))
    };
    assert_eq!(
        told(5_000.0),
        [
            "Spin where a wait is shorter than 5.00 us, and sleep where it is longer. To wake an SPE takes 5.00 us, \
             33.3 times as long as a mailbox exchange while both sides spin (150 ns)."
        ]
    );
    assert_eq!(
        told(150.0),
        [
            "Let SPEs wait, and do not spin: an SPE that has waited has its word after 150 ns, as long as a mailbox \
             exchange takes (150 ns)."
        ]
    );
    assert_eq!(
        told(100.0),
        [
            "Let SPEs wait, and do not spin: an SPE that has waited has its word after 100 ns, less than a mailbox \
             exchange takes (150 ns)."
        ]
    );
}

#[test]
fn spes_that_wait_in_hardware_need_no_wake_up() {
    let exchanges = [exchange(Function::Mailbox, Between::PpeSpe, 0, 744.0)];
    let word = |between: &str, cell: usize, ns| {
        let parameters = json!({"between": between, "cell": cell, "spes": 1});
        finding("word_one_way_ns", ns, parameters)
    };
    let all = [
        word("ppe-spe", 0, 310.0),
        word("spe-spe", 0, 79.4),
        word("ppe-spe", 1, 759.0),
        word("spe-spe", 1, 302.0),
    ];
    let told = |found: &[Finding]| texts(advise(&machine(&[2, 2]), &exchanges, found, &[]));
    assert_eq!(
        told(&all),
        [
            "Let SPEs wait for words, and do not poll: an SPE waits in hardware and needs no wake-up. It has \
             one from the PPE after 310 ns and one from another SPE after 79.4 ns."
        ]
    );
    assert_eq!(
        told(&all[1..2]),
        [
            "Let SPEs wait for words, and do not poll: an SPE waits in hardware and needs no wake-up. It has \
             one from another SPE after 79.4 ns."
        ]
    );
}

#[test]
fn commands_in_flight_are_advised_like_misses() {
    let chains = |chains: u32, ns| {
        let parameters = Parameters {
            settings: Settings {
                block_bytes: Some(256 << 10),
                chains: Some(chains),
                loading_spes: Some(0),
                ..parameters(1, Between::MemorySpe).settings
            },
            ..parameters(1, Between::MemorySpe)
        };
        took(Function::Chase, parameters, ns)
    };
    let found = finding(
        "commands_in_flight",
        12.7,
        json!({"table_bytes": 256 << 10, "chains": 16}),
    );
    assert_eq!(
        texts(advise(
            &machine(&[8]),
            &[chains(1, 287.0), chains(16, 22.6)],
            &[found],
            &[]
        )),
        [
            "Keep up to 16 accesses to main memory under way on each SPE, for instance by following as many \
             independent chains of pointers: then one access ends every 22.6 ns. One after the other, accesses take \
             287 ns each, 12.7 times as long."
        ]
    );
}

#[test]
fn numbers_that_cannot_be_are_passed_over() {
    let findings = [
        finding("wake_up_ns", 0.0, json!({"between": "ppe-spe", "cell": 0})),
        finding(
            "word_one_way_ns",
            0.0,
            json!({"between": "ppe-spe", "cell": 0}),
        ),
        finding("memory_latency_ns", f64::NAN, json!({"loading_spes": 0})),
        finding("misses_in_flight", -1.0, json!({})),
    ];
    let measurements = [
        took(Function::MkThread, parameters(1, Between::PpeSpe), 0.0),
        exchange(Function::Mailbox, Between::PpeSpe, 0, 100.0),
        list(0x8000, 5.0),
    ];
    assert!(advise(&machine(&[1]), &measurements, &findings, &[]).is_empty());
}

#[test]
fn a_start_is_called_short_only_if_it_is() {
    let told = |start: Measurement| {
        on_one_cell(&[start, exchange(Function::Signal, Between::PpeSpe, 0, 150.0)])
    };
    let started = |ns| took(Function::MkThread, parameters(1, Between::PpeSpe), ns);
    assert_eq!(
        told(started(298.0)),
        [
            "Starting a program on an SPE costs 298 ns, 1.99 times as long as a signal exchange with the PPE \
             (150 ns): start programs once, keep them until the end, and send them their tasks."
        ]
    );
    assert_eq!(
        told(started(160.0)),
        [
            "Starting a program on an SPE costs 160 ns, as long as a signal exchange with the PPE (150 ns): each \
             task may be a program of its own."
        ]
    );
    assert_eq!(
        told(started(120.0)),
        [
            "Starting a program on an SPE costs 120 ns, less than a signal exchange with the PPE (150 ns): each \
             task may be a program of its own."
        ]
    );
    assert!(told(within(started(298.0), 140.0, 310.0)).is_empty());
}

#[test]
fn overlapping_classes_of_pairs_are_not_distinguished() {
    let of_far_pairs = |min_ns, max_ns| {
        let mut matrix = matrix(
            Primitive::Atomic,
            &[("same Cell", Some(50.0)), ("across Cells", Some(100.0))],
        );
        matrix.classes[1].min_ns = Some(min_ns);
        matrix.classes[0].max_ns = Some(max_ns);
        texts(advise(&machine(&[2, 2]), &[], &[], &[matrix]))
    };
    // A disturbed near pair does not change the advice.
    assert_eq!(
        of_far_pairs(80.0, 900.0),
        [
            "Place SPEs that exchange data in the same Cell: a change of an atomic variable takes 50.0 ns one way \
             there, and 100 ns across Cells, 2.00 times as long."
        ]
    );
    assert!(of_far_pairs(45.0, 55.0).is_empty());
}

#[test]
fn transfers_are_sized_by_what_one_command_moves() {
    let block = |function| {
        move |bytes, gb_per_s| {
            let ns = bytes as f64 / gb_per_s;
            transfer(function, 1, Buffers::Shared, bytes, ns)
        }
    };
    let (get, put) = (block(Function::DmaGet), block(Function::DmaPut));
    assert_eq!(
        on_one_cell(&[
            get(16, 0.7),
            get(4 << 10, 62.2),
            get(16 << 10, 69.9),
            get(64 << 20, 90.0),
            put(16, 4.0),
            put(4 << 10, 60.2),
            put(16 << 10, 60.7),
            put(64 << 20, 9.6),
        ]),
        [
            "Make gets of 16 KB, the most that one command moves: gets by one SPE reach 69.9 GB/s with 16 KB, \
             62.2 GB/s with 4 KB and 700 MB/s with 16 B.",
            "Make puts of at least 4 KB: puts by one SPE reach 60.2 GB/s with 4 KB (99 % of the best, 60.7 GB/s \
             with 16 KB) and 4.00 GB/s with 16 B.",
        ]
    );
    assert_eq!(
        on_one_cell(&[
            get(16, 4.0),
            get(1 << 10, 60.0),
            get(16 << 10, 10.0),
            put(16, 3.0),
            put(1 << 10, 50.0),
            put(16 << 10, 9.0),
        ]),
        [
            "Make gets and puts of 1 KB: gets by one SPE reach 60.0 GB/s with 1 KB, 4.00 GB/s with 16 B and \
             10.0 GB/s with 16 KB; puts by one SPE reach 50.0 GB/s with 1 KB, 3.00 GB/s with 16 B and 9.00 GB/s \
             with 16 KB."
        ]
    );
    assert_eq!(
        on_one_cell(&[put(1 << 10, 58.0), put(16 << 10, 60.0)]),
        [
            "Make puts of any size: puts by one SPE reach 58.0 GB/s with 1 KB and 60.0 GB/s with 16 KB."
        ]
    );
    // If it is not clear whether the smallest blocks are slower, there is no advice.
    let even = within(put(1 << 10, 58.0), 10.0, 20.0);
    assert!(on_one_cell(&[even, put(16 << 10, 60.0)]).is_empty());
    let unsure = within(get(16, 4.0), 0.1, 6.0);
    assert!(on_one_cell(&[unsure, get(16 << 10, 6.0)]).is_empty());
}

#[test]
fn caches_and_main_memory_have_their_bandwidths() {
    let findings = [
        finding("cache_bytes", 4_194_304.0, json!({"level": 1})),
        finding("cache_latency_ns", 14.6, json!({"level": 1})),
        finding(
            "memory_latency_ns",
            179.0,
            json!({"table_bytes": 1 << 27, "loading_spes": 0}),
        ),
    ];
    let tiles = |measurements: &[Measurement]| {
        let advice = advise(&machine(&[1]), measurements, &findings, &[]);
        texts(advice.into_iter().filter(|a| a.topic == "tiles").collect())
    };
    let block = |function, bytes, gb_per_s| {
        transfer(function, 1, Buffers::Shared, bytes, bytes as f64 / gb_per_s)
    };
    use Function::{DmaGet, DmaPut};
    let latencies = "Work on tiles that fit into a cache: an access that depends on the one before takes 14.6 ns in \
                     tiles of up to 4 MB, and 179 ns in main memory.";
    let blocks = [
        block(DmaGet, 1 << 10, 72.6),
        block(DmaGet, 64 << 20, 17.0),
        block(DmaPut, 1 << 10, 67.1),
        block(DmaPut, 64 << 20, 15.3),
    ];
    assert_eq!(
        tiles(&blocks),
        [format!(
            "{latencies} By one SPE, gets reach 72.6 GB/s with 1 KB in a cache and 17.0 GB/s with 64 MB in main \
             memory, and puts reach 67.1 GB/s with 1 KB in a cache and 15.3 GB/s with 64 MB in main memory."
        )]
    );
    // Neither block is surely in main memory: a cache holds `command`, and maybe a part of `near`.
    let command = block(DmaGet, 16 << 10, 17.0);
    let near = block(DmaGet, 6 << 20, 17.0);
    for largest in [command, near] {
        assert_eq!(tiles(&[blocks[0].clone(), largest]), [latencies]);
    }
}

#[test]
fn in_proportion_means_within_a_tenth() {
    let told = |several_ns| {
        on_one_cell(&[(1, 10.0), (2, several_ns)].map(|(spes, ns)| Measurement {
            bandwidth_bytes_per_s: None,
            ..transfer(Function::FetchAdd, spes, Buffers::Shared, 4, ns)
        }))
    };
    assert!(told(21.0)[0].ends_with("and 21.0 ns with 2, in proportion to their number."));
    assert!(told(26.1)[0].ends_with("and 26.1 ns with 2, 2.61 times as long."));
    assert!(told(15.0)[0].ends_with("and 15.0 ns with 2, 1.50 times as long."));
}

#[test]
fn every_topic_is_silent_where_intervals_hide_the_difference() {
    for m in &mut [blade(), pair(128, 90.0, 30.0).to_vec()] {
        for m in m.iter_mut() {
            *m = within(m.clone(), 1.0, 1e9);
        }
        let told = texts(advise(&machine(&[8, 8]), m, &[], &[]));
        assert!(told.is_empty(), "{told:?}");
    }
}

#[test]
fn a_machine_of_many_cells_gets_the_farthest_distance() {
    let mut measurements: Vec<Measurement> = (0..8)
        .flat_map(|cell| {
            let far = cell as f64;
            [
                exchange(Function::Mailbox, Between::PpeSpe, cell, 150.0 + 40.0 * far),
                exchange(Function::Mailbox, Between::SpeSpe, cell, 130.0 + 50.0 * far),
            ]
        })
        .collect();
    for function in [Function::DmaGet, Function::DmaPut] {
        for module in 0..8 {
            let ns = 200.0 + 30.0 * module as f64;
            let mut block = transfer(function, 1, Buffers::Shared, 16 << 10, ns);
            block.parameters.module = Some(module);
            measurements.push(block);
        }
    }
    assert_eq!(
        texts(advise(&machine(&[8; 8]), &measurements, &[], &[])),
        [
            "Let SPEs send to each other directly: by mailbox an exchange takes 130 ns, and through the PPE it would \
             take two exchanges and 300 ns, 2.31 times as long.",
            "Give what talks to the PPE most to SPEs of Cell 0: by mailbox an exchange with the PPE takes 150 ns \
             there, and 430 ns in Cell 7, 2.87 times as long.",
            "Keep SPEs that talk to each other in one Cell: by mailbox an exchange takes 130 ns within Cell 0, and \
             480 ns between Cells 0 and 7, 3.69 times as long.",
            "Keep in memory module 0 the data for gets and puts by SPEs of Cell 0: gets of 16 KB take 200 ns there, \
             and 410 ns in module 7, 2.05 times as long; puts of 16 KB take 200 ns there, and 410 ns in module 7, \
             2.05 times as long.",
        ]
    );
}
