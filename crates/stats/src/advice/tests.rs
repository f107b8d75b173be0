//! Advice on made-up machines.

use cellworks_machine::{CellId, ModuleId, SpeSite};
use serde_json::json;

use super::*;
use crate::{Interval, Latency, MatrixClass};

/// A machine with a Cell of so many SPEs, and a memory module, for each number.
fn machine(spes: &[usize]) -> Topology {
    let modules = (0..spes.len()).map(|cell| ModuleId::new(cell as u16));
    let sites = spes.iter().enumerate().flat_map(|(cell, spes)| {
        let site = SpeSite {
            cell: CellId::new(cell as u16),
            core: None,
            place: String::new(),
        };
        vec![site; *spes]
    });
    Topology::new("made up", modules.collect(), sites.collect())
}

fn parameters(spes: usize, between: Between) -> Parameters {
    Parameters {
        spes,
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

fn took(function: Function, parameters: Parameters, ns: f64) -> Measurement {
    let moved = match (parameters.between, parameters.block_bytes) {
        (Between::MemorySpe, Some(bytes)) => {
            bytes * parameters.spes * parameters.list_elements.unwrap_or(1) as usize
        }
        _ => 0,
    };
    Measurement {
        function,
        parameters,
        iterations: 1_000,
        rounds: 10,
        samples: 100,
        outliers: 0,
        latency_ns: Latency {
            mean: 2.0 * ns,
            min: ns,
            p50: ns,
            p99: 3.0 * ns,
            max: 4.0 * ns,
        },
        median_interval_ns: None,
        bandwidth_bytes_per_s: (moved > 0).then_some((moved as f64 * 1e9 / ns) as u64),
        samples_ns: None,
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
        block_bytes: Some(bytes),
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
    list.parameters.list_elements = Some(elements);
    list
}

fn finding(name: &str, value: f64, parameters: serde_json::Value) -> Finding {
    Finding {
        name: name.to_owned(),
        value,
        unit: "made up".to_owned(),
        parameters: serde_json::from_value(parameters).unwrap(),
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
    }
}

/// What a machine with one Cell of two SPEs is told about measurements.
fn on_one_cell(measurements: &[Measurement]) -> Vec<String> {
    texts(advise(&machine(&[2]), measurements, &[], &[]))
}

fn texts(advice: Vec<Advice>) -> Vec<String> {
    advice.into_iter().map(|advice| advice.text).collect()
}

/// The blade of the paper: section 4.2, tables 1 and 2, and numbers that have the shape of figures 4
/// to 12.
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
        // All 16 together are limited by 24.6 GB/s.
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
            block_bytes: Some(4),
            ..parameters(spes, MemorySpe)
        };
        took(FetchAdd, parameters, ns)
    };
    blade.extend([1, 2, 4, 8, 16].map(|spes| variable(spes, Shared, 111.0 * spes as f64)));
    blade.push(variable(16, Private, 111.0));
    blade
}

#[test]
fn a_cell_blade_is_told_what_the_paper_recommends() {
    let advice = advise(&machine(&[8, 8]), &blade(), &[], &[]);
    let told: Vec<(&str, &str)> = advice
        .iter()
        .map(|advice| (advice.topic.as_str(), advice.text.as_str()))
        .collect();
    let expected = [
        (
            "threads",
            "Starting a program on an SPE costs 1.68 ms, as much as 2,150 mailbox exchanges with the PPE (780 ns \
             each): start programs once, keep them until the end, and send them their tasks by mailbox.",
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
            "Get at least 8 KB at a time: from there on one SPE reaches 90 % of the best bandwidth, 10.9 GB/s \
             with blocks of 16 KB; blocks of 128 B reach 427 MB/s.",
        ),
        (
            "buffers",
            "Give each SPE a buffer of its own for gets from main memory by 16 SPEs in blocks of up to 1 KB: \
             128 B take 300 ns on private buffers, and 2.40 us on a shared one, 8.00 times as long. Larger blocks \
             take as long either way.",
        ),
        (
            "lists",
            "Make the elements of lists no smaller than 256 B: a list that gets 16 KB takes 1.51 us with up to \
             64 elements and 13.0 us with 1024, 12.0 ns for each further one.",
        ),
        (
            "lists",
            "Use lists for elements of 1 KB to 4 KB: 16 gets of 1 KB take 1.50 us in a list and 5.28 us one \
             after the other, 3.52 times as long.",
        ),
        (
            "memory",
            "Keep what SPEs of Cell 0 get in memory module 0: a block of 16 KB takes 1.50 us there, and 2.10 us \
             in module 1, 1.40 times as long.",
        ),
        (
            "atomics",
            "On a variable that SPEs share, fetchadd takes 111 ns with one SPE and 1.78 us with 16, in \
             proportion to their number: where each SPE works 17.8 us between two operations, as long as 160 of \
             them alone, waiting for the variable costs less than 10 %.",
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
fn one_function_alone_is_compared_with_nothing() {
    for m in blade() {
        let told = on_one_cell(std::slice::from_ref(&m));
        assert!(told.is_empty(), "{told:?} from {m:?} alone");
    }
}

#[test]
fn a_machine_with_one_spe_is_told_nothing_about_others() {
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
            "Starting a program on an SPE costs 450 ns, as much as 3.00 mailbox exchanges with the PPE (150 ns \
             each): start programs once, keep them until the end, and send them their tasks by mailbox.",
            "Between the PPE and an SPE an exchange takes 150 ns by mailbox and 200 ns by signal, 1.33 times as \
             long: use mailboxes unless bits from several senders are to be combined.",
            "Get at least 1 KB at a time: from there on one SPE reaches 90 % of the best bandwidth, 102 GB/s \
             with blocks of 1 KB; blocks of 128 B reach 12.8 GB/s.",
        ]
    );
}

#[test]
fn a_cheap_start_needs_no_lasting_programs() {
    let told = on_one_cell(&[
        took(Function::MkThread, parameters(1, Between::PpeSpe), 290.0),
        exchange(Function::Signal, Between::PpeSpe, 0, 150.0),
    ]);
    assert_eq!(
        told,
        [
            "Starting a program on an SPE costs 290 ns, hardly more than the 150 ns of a signal exchange with the \
             PPE: a task may well be a program of its own."
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
fn where_cells_are_equally_near_it_says_so() {
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
fn matrices_say_where_neighbours_sit() {
    let matrices = [
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
        matrix(
            Primitive::Signal,
            &[("same Cell", Some(50.0)), ("across Cells", Some(100.0))],
        ),
        matrix(
            Primitive::Mailbox,
            &[("same core", Some(90.0)), ("same Cell", Some(60.0))],
        ),
    ];
    assert_eq!(
        texts(advise(&machine(&[2, 2]), &[], &[], &matrices)),
        [
            "Place neighbours by distance, `same core` first: a change of an atomic variable takes 20.0 ns (same \
             core), 52.0 ns (same Cell) and 210 ns (across Cells) one way, up to 10.5 times as long.",
            "How far apart neighbours sit makes no difference: a block of 1 MB takes 50.0 us (same Cell) and \
             51.0 us (across Cells) one way.",
            "Place neighbours by distance, `same Cell` first: a signal takes 50.0 ns (same Cell) and 100 ns \
             (across Cells) one way, up to 2.00 times as long.",
            "Place neighbours by distance, `same Cell` first: a mailbox word takes 90.0 ns (same core) and \
             60.0 ns (same Cell) one way, up to 1.50 times as long.",
        ]
    );
}

#[test]
fn blocks_that_outgrow_the_caches_are_too_large() {
    let put = |bytes, ns| transfer(Function::DmaPut, 1, Buffers::Shared, bytes, ns);
    let told = on_one_cell(&[
        put(16, 4.0),
        put(4 << 10, 68.0),
        put(16 << 10, 270.0),
        put(64 << 20, 7e6),
    ]);
    assert_eq!(
        told,
        [
            "Put 4 KB to 16 KB at a time: there one SPE reaches 90 % of the best bandwidth, 60.7 GB/s with \
             blocks of 16 KB; blocks of 64 MB reach 9.59 GB/s."
        ]
    );
    let one = on_one_cell(&[put(16, 4.0), put(4 << 10, 68.0), put(64 << 20, 7e6)]);
    assert_eq!(
        one,
        [
            "Put 4 KB at a time: there one SPE reaches 90 % of the best bandwidth, 60.2 GB/s with blocks of 4 KB; \
             blocks of 64 MB reach 9.59 GB/s."
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
            "Let 1 SPE copy large blocks: that reaches 9.50 GB/s with blocks of 64 MB, and more SPEs reach no more \
             than 10.0 GB/s."
        ]
    );
    assert_eq!(
        told(&[copy(1, 10e9), copy(2, 20e9), copy(4, 38e9), copy(8, 40e9)]),
        [
            "Spread copies of large blocks over 4 SPEs: with blocks of 64 MB they reach 38.0 GB/s together, where \
             1 SPE alone reaches 10.0 GB/s, and the best is 40.0 GB/s with 8."
        ]
    );
    assert!(told(&[copy(1, 10e9)]).is_empty());
}

#[test]
fn private_buffers_may_gain_nothing_or_lose() {
    let put = |buffers, bytes, ns| transfer(Function::DmaPut, 2, buffers, bytes, ns);
    let pair = |bytes, shared, private| {
        [
            put(Buffers::Shared, bytes, shared),
            put(Buffers::Private, bytes, private),
        ]
    };
    assert_eq!(
        on_one_cell(&[pair(128, 50.0, 49.0), pair(16 << 10, 900.0, 910.0)].concat()),
        [
            "Private buffers gain nothing over a shared one for puts to main memory by 2 SPEs: 16 KB take 910 ns \
             and 900 ns."
        ]
    );
    assert_eq!(
        on_one_cell(&[pair(128, 50.0, 49.0), pair(64 << 20, 5e6, 1e7)].concat()),
        [
            "Let SPEs share a buffer for puts to main memory by 2 SPEs in blocks of 64 MB or more: 64 MB take \
             5.00 ms on a shared one, and 10.0 ms on private ones, 2.00 times as long."
        ]
    );
    // What the intervals do not tell apart counts as equal, however far the medians are.
    let mut unsure = pair(64 << 20, 5e6, 1e7);
    for m in &mut unsure {
        m.median_interval_ns = Some(Interval {
            low: 4e6,
            high: 2e7,
        });
    }
    assert_eq!(
        on_one_cell(&unsure),
        [
            "Private buffers gain nothing over a shared one for puts to main memory by 2 SPEs: 64 MB take 10.0 ms \
             and 5.00 ms."
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
            "Give each SPE a buffer of its own for puts to main memory by 2 SPEs in blocks of 16 B and 1 KB: 1 KB \
             take 30.0 ns on private buffers, and 90.0 ns on a shared one, 3.00 times as long. Let SPEs share a \
             buffer for puts to main memory by 2 SPEs in blocks of 64 MB or more: 64 MB take 5.00 ms on a shared \
             one, and 10.0 ms on private ones, 2.00 times as long."
        ]
    );
}

#[test]
fn lists_may_be_free_or_cost_from_the_first_element() {
    assert_eq!(
        on_one_cell(&[list(1, 800.0), list(1_024, 850.0)]),
        [
            "A list that gets 16 KB may have any number of elements: it takes 800 ns with 1 and 850 ns with 1024."
        ]
    );
    let get = |bytes, ns| transfer(Function::DmaGet, 1, Buffers::Shared, bytes, ns);
    let told = on_one_cell(&[list(1, 800.0), list(16, 2_300.0), get(1 << 10, 140.0)]);
    assert_eq!(
        told,
        [
            "Make lists of as few elements as the data allow: a list that gets 16 KB takes 800 ns with 1 element \
             and 2.30 us with 16, 100 ns for each further one.",
            "A list saves nothing over single gets: 16 gets of 1 KB take 2.30 us in a list and 2.24 us one after \
             the other.",
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
            "Which memory module holds what SPEs of Cell 0 get makes no difference: a block of 128 B takes 100 ns \
             to 104 ns."
        ]
    );
}

#[test]
fn what_memory_answers_says_what_to_ask_for_and_when() {
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
            "Work on tiles that fit into a cache: what depends on the datum before takes 1.20 ns in tiles of up to \
             48 KB, 4.50 ns in tiles of up to 2 MB, and 95.0 ns in main memory.",
            "Have 12 misses of the caches in flight on each SPE, by as many independent chains of pointers, or by \
             staging as many blocks ahead: one comes every 9.31 ns then, and one after the other takes 95.0 ns each, \
             10.2 times as long.",
            "Ask for data at least 240 ns before it is needed: so long main memory takes while 3 others copy, 2.53 \
             times as long as the 95.0 ns of an idle machine.",
        ]
    );
    assert_eq!(
        told(&[latency(0, 100.0), latency(1, 150.0), misses(1.0, 1)]),
        [
            "Asking main memory for several things at once gains nothing: one after the other takes 100 ns each, \
             and at once 100 ns.",
            "Ask for data at least 150 ns before it is needed: so long main memory takes while another SPE copies, \
             1.50 times as long as the 100 ns of an idle machine.",
        ]
    );
    // Nothing is said without the time of an idle machine, nor of a load that makes no difference.
    assert!(told(&[&caches[..], &[latency(1, 150.0), misses(10.2, 12)]].concat()).is_empty());
    assert!(told(&[latency(0, 100.0), latency(1, 101.0)]).is_empty());
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
    let told = on_one_cell(&[
        variable(1, Shared, 5.0),
        variable(2, Shared, 20.0),
        variable(2, Private, 19.0),
    ]);
    assert_eq!(
        told,
        [
            "On a variable that SPEs share, fetchinc takes 5.00 ns with one SPE and 20.0 ns with 2, 4.00 times as \
             long: where each SPE works 200 ns between two operations, as long as 40.0 of them alone, waiting for \
             the variable costs less than 10 %.",
            "Private variables gain nothing: fetchinc by 2 SPEs takes 19.0 ns on them and 20.0 ns on a shared one.",
        ]
    );
}

#[test]
fn waiting_sleeps_or_spins() {
    let exchanges = [exchange(Function::Mailbox, Between::SpeSpe, 0, 150.0)];
    let told = |ns| {
        let from = |between: &str| json!({"between": between, "cell": 0, "spes": 2});
        // The PPE's exchange, which would belong to the first, was not measured.
        let wake_up = [
            finding("wake_up_ns", 9.0 * ns, from("ppe-spe")),
            finding("wake_up_ns", ns, from("spe-spe")),
        ];
        texts(advise(&machine(&[2]), &exchanges, &wake_up, &[]))
    };
    assert_eq!(
        told(5_000.0),
        [
            "Sleep only where the wait is longer than 5.00 us: so long it takes to wake an SPE, 33.3 times as \
             long as a whole mailbox exchange (150 ns) while both sides spin."
        ]
    );
    assert_eq!(
        told(150.0),
        [
            "Waiting may always sleep: waking an SPE takes 150 ns, no longer than a mailbox exchange (150 ns) \
             while both sides spin."
        ]
    );
}

#[test]
fn numbers_that_cannot_be_are_passed_over() {
    let findings = [
        finding("wake_up_ns", 0.0, json!({"between": "ppe-spe", "cell": 0})),
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
