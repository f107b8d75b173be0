//! Matrices: the planned pairs, measurements on this computer, and refused requests.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use crate::skipped::skipped;
use crate::{LIMITS, site};
use cellworks_host::Host;
use cellworks_machine::{
    Capabilities, CellId, Distance, Machine, ModuleId, Span, SpeId, SpeSite, Topology,
};
use cellworks_stats::{
    Count, Function, Iterations, Limits, Matrix, MeasureError, Measured, Plan, Polling, Primitive,
    Request, Visits,
};

const MILLISECOND: Span = Span::from_nanoseconds(1_000_000);

fn milliseconds(count: u64) -> Span {
    Span::from_nanoseconds(count * 1_000_000)
}

/// Makes a machine with two sockets of 12 Cells each. A Cell has 12 cores, and a core has two
/// hardware threads, so there are 576 CPUs. CPUs 0 to 287 are the first threads of the cores, and
/// the other CPUs the second threads.
fn two_sockets() -> Topology {
    let site = |cpu: u16| SpeSite {
        cell: CellId::new(cpu % 288 / 12),
        core: Some(u32::from(cpu % 288)),
        place: format!("CPU {cpu}"),
    };
    let module = |cell: u16| ModuleId::new(cell / 12);
    Topology::new(
        "two sockets",
        (0..24).map(module).collect(),
        (0..576).map(site).collect(),
    )
}

fn matrix_of(primitive: Primitive) -> Request {
    Request::new(Function::Matrix(primitive))
}

fn measure_matrix(
    host: &Host,
    plan: &Plan,
    progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<Matrix, MeasureError> {
    match Visits::of(plan.clone()).visit(host, false, progress)? {
        Measured::Matrix(matrix) => Ok(matrix),
        other => panic!("{other:?}"),
    }
}

fn go_on(_: usize, _: usize) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn plan(topology: &Topology, request: &Request) -> Plan {
    request.plan(topology, &LIMITS).unwrap()
}

fn within(primitive: Primitive, budget: Span) -> Request {
    Request {
        budget: Some(budget),
        ..matrix_of(primitive)
    }
}

#[test]
fn a_steady_matrix_has_every_pair_for_ten_microseconds_and_blocks_that_fit() {
    let request = matrix_of(Primitive::Copy);
    let capabilities = Capabilities {
        is_steady: true,
        ..Capabilities::default()
    };
    let two_sockets = two_sockets().with_capabilities(capabilities);
    let steady = plan(&two_sockets, &request);
    assert_eq!(steady.pairs().len(), 576 * 575 / 2);
    assert_eq!(steady.estimated_time().unwrap().to_string(), "1.66 s");
    let some = Request {
        budget: Some(Span::from_nanoseconds(20_000_000)),
        ..request.clone()
    };
    let some = plan(&two_sockets, &some);
    assert_eq!(some.pairs().len(), 2_000);
    assert_eq!(some.estimated_time().unwrap().to_string(), "20.00 ms");

    let host = Host::builder().spes(3).build().unwrap();
    let topology = host.topology().clone().with_capabilities(capabilities);
    let plan = |local_store_bytes| {
        let limits = Limits {
            local_store_bytes,
            ..LIMITS
        };
        request.plan(&topology, &limits).unwrap()
    };
    for (local_store_bytes, block_bytes) in [(256 << 10, 16 << 10), (16 << 10, 4 << 10)] {
        let measured = measure_matrix(&host, &plan(local_store_bytes), &mut go_on).unwrap();
        assert_eq!(measured.block_bytes, Some(block_bytes));
        assert_eq!(measured.pairs_measured, 3);
    }
}

fn count<K: Ord>(keys: impl Iterator<Item = K>) -> BTreeMap<K, usize> {
    let mut counts = BTreeMap::new();
    for key in keys {
        *counts.entry(key).or_default() += 1;
    }
    counts
}

#[test]
fn a_sampled_matrix_of_576_cpus_takes_less_than_five_minutes() {
    let topology = two_sockets();
    let five_minutes = milliseconds(300_000);
    let plan = plan(&topology, &within(Primitive::Copy, five_minutes));
    assert!(
        plan.estimated_time().unwrap() <= five_minutes,
        "{}",
        plan.estimated_time().unwrap()
    );
    assert!(
        plan.estimated_time().unwrap() > milliseconds(299_000),
        "{}",
        plan.estimated_time().unwrap()
    );
    // A pair takes 2 ms, after 0.2 ms in which its SPEs get their commands.
    assert_eq!(plan.pairs().len(), 136_363);
}

#[test]
fn a_minute_on_576_cpus_covers_every_class_and_every_pair_of_cells() {
    let topology = two_sockets();
    let plan = plan(&topology, &within(Primitive::Atomic, milliseconds(60_000)));
    let pairs = plan.pairs();
    let distance = |&(a, b): &(SpeId, SpeId)| topology.distance(a, b);
    let classes = [
        Distance::SameCore,
        Distance::SameCell,
        Distance::AcrossCells,
        Distance::AcrossModules,
    ];

    let first = count(pairs[..36].iter().map(distance));
    assert_eq!(first, classes.map(|class| (class, 9)).into());

    let cells = |&(a, b): &(SpeId, SpeId)| {
        let cells = [a, b].map(|spe| topology.cell_of(spe));
        (cells[0].min(cells[1]), cells[0].max(cells[1]))
    };
    // 24 pairs within a Cell, and 24 * 23 / 2 pairs of two Cells.
    let early = count(pairs[..36 + 300].iter().map(cells));
    assert_eq!(early.len(), 300);

    let different: BTreeSet<_> = pairs.iter().map(|&(a, b)| (a.min(b), a.max(b))).collect();
    assert_eq!(different.len(), pairs.len(), "a pair comes twice");
    assert!(pairs.iter().all(|(a, b)| a != b));

    // The other pairs are spread evenly over the SPEs. Each SPE is in about 95 of 27,272 pairs.
    let each = count(pairs.iter().flat_map(|&(a, b)| [a, b]));
    assert_eq!(each.len(), 576);
    assert!(each.values().all(|pairs| (50..160).contains(pairs)));
}

#[test]
fn the_same_request_gives_the_same_plan() {
    let request = within(Primitive::Signal, milliseconds(1_000));
    let plans = [(), ()].map(|()| plan(&two_sockets(), &request));
    assert_eq!(plans[0].pairs(), plans[1].pairs());
    // The plan of a longer budget begins with the same pairs.
    let longer = plan(
        &two_sockets(),
        &within(Primitive::Signal, milliseconds(2_000)),
    );
    assert_eq!(
        plans[0].pairs()[..],
        longer.pairs()[..plans[0].pairs().len()]
    );
}

#[test]
fn all_pairs_are_measured_if_they_fit_or_no_budget_was_given() {
    let topology = two_sockets();
    let all = plan(&topology, &matrix_of(Primitive::Mailbox));
    assert_eq!(all.pairs().len(), 576 * 575 / 2);
    assert_eq!(
        all.estimated_time().unwrap(),
        Span::from_nanoseconds(576 * 575 / 2 * 15_200_000)
    );
    let enough = within(Primitive::Mailbox, milliseconds(365_000));
    assert_eq!(plan(&topology, &enough).pairs().len(), 576 * 575 / 2);
}

#[test]
fn a_short_budget_measures_some_pairs_at_each_distance_and_each_of_them_shorter() {
    let topology = two_sockets();
    let short = plan(&topology, &within(Primitive::Mailbox, milliseconds(27)));
    assert_eq!(
        (short.pairs().len(), short.estimated_time().unwrap()),
        (36, milliseconds(27))
    );
}

#[test]
fn requests_that_cannot_be_measured_are_refused() {
    let lone = Topology::new("a computer", vec![ModuleId::new(0)], vec![site(0)]);
    let sockets = two_sockets();
    let copy_of = |bytes| matrix_of(Primitive::Copy).with_block(bytes);
    let module = |primitive, module| Request {
        module: Some(ModuleId::new(module)),
        ..matrix_of(primitive)
    };
    let cases = [
        (
            &lone,
            matrix_of(Primitive::Atomic),
            "a matrix needs two SPEs, and a computer has 1; use a machine that has more, or allow \
             the process more CPUs",
        ),
        (
            &sockets,
            Request {
                polling: Some(Polling::Reads),
                ..matrix_of(Primitive::Mailbox)
            },
            "a mailbox matrix has no way of polling: only atomic has; leave it out",
        ),
        (
            &sockets,
            matrix_of(Primitive::Atomic).with_block(4),
            "an atomic matrix has no block size: it carries one word; leave it out",
        ),
        (
            &sockets,
            module(Primitive::Copy, 0),
            "a copy matrix has no memory module: the block lies in the local store of the SPE that \
             sends; leave it out",
        ),
        (
            &sockets,
            module(Primitive::Signal, 0),
            "a signal matrix has no memory module: it carries a word from SPE to SPE; leave it out",
        ),
        (
            &sockets,
            module(Primitive::Atomic, 2),
            "memory module 2: two sockets has memory modules 0 to 1; use 0 to 1",
        ),
        (
            &sockets,
            copy_of(24),
            "a block of 24 bytes: a DMA command moves 1, 2, 4, 8 or a multiple of 16 bytes up to \
             16 KB; use 16",
        ),
        (
            &sockets,
            copy_of(0),
            "a block of 0 bytes: a DMA command moves 1, 2, 4, 8 or a multiple of 16 bytes up to \
             16 KB; use 1",
        ),
        (
            &sockets,
            copy_of(64 << 10),
            "a block of 64 KB: a DMA command moves 1, 2, 4, 8 or a multiple of 16 bytes up to \
             16 KB; use 16k",
        ),
        (
            &sockets,
            Request {
                cell: Some(CellId::new(0)),
                ..matrix_of(Primitive::Mailbox)
            },
            "a mailbox matrix has no Cell: it takes every pair of SPEs as it is; leave it out",
        ),
        (
            &sockets,
            Request {
                spes: Count::Shared(3),
                ..matrix_of(Primitive::Copy)
            },
            "a copy matrix has no number of SPEs: it takes every pair of SPEs as it is; leave it out",
        ),
        (
            &sockets,
            Request {
                spes: Count::Private(1),
                ..matrix_of(Primitive::Copy)
            },
            "a copy matrix has no private buffers: it takes every pair of SPEs as it is; leave it out",
        ),
        (
            &sockets,
            Request {
                between_spes: true,
                ..matrix_of(Primitive::Signal)
            },
            "a signal matrix has no form between SPEs: it takes every pair of SPEs as it is; leave it \
             out",
        ),
        (
            &sockets,
            Request {
                iterations: Iterations::Exactly(7),
                ..matrix_of(Primitive::Signal)
            },
            "a signal matrix has no number of iterations: each pair is measured for a time; leave it out",
        ),
        (
            &sockets,
            Request {
                warm_up: Some(7),
                ..matrix_of(Primitive::Signal)
            },
            "a signal matrix has no warm-up: each pair is measured for a time; leave it out",
        ),
        (
            &sockets,
            Request {
                keep_samples: true,
                ..matrix_of(Primitive::Signal)
            },
            "a signal matrix has no samples: it has a median of each pair; leave it out",
        ),
        (
            &sockets,
            Request {
                budget: Some(MILLISECOND),
                ..Request::new(Function::Mailbox)
            },
            "mailbox has no budget: its iterations have a time; leave it out",
        ),
        (
            &sockets,
            Request {
                polling: Some(Polling::Reads),
                ..Request::new(Function::FetchAdd)
            },
            "fetchadd has no way of polling: only an atomic matrix has; leave it out",
        ),
        (
            &sockets,
            within(Primitive::Mailbox, Span::default()),
            "a budget of 0.0 ns: measuring some pairs at each distance takes 21.60 ms; use that or \
             more",
        ),
    ];
    for (topology, request, message) in cases {
        let error = request.plan(topology, &LIMITS).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
    let small = Limits {
        local_store_bytes: 16 << 10,
        ..LIMITS
    };
    let error = copy_of(16 << 10).plan(&sockets, &small).map(|_| ());
    assert_eq!(
        error.unwrap_err().to_string(),
        "a block of 16 KB: a local store of 16 KB has no room for the one that is sent and \
         the one that is received; use a smaller block"
    );
}

/// Requests every primitive, with each way of polling.
fn every_request() -> Vec<Request> {
    let mut requests: Vec<_> = Primitive::ALL.map(matrix_of).into();
    requests.push(Request {
        polling: Some(Polling::CompareAndSwap),
        ..matrix_of(Primitive::Atomic)
    });
    requests.push(matrix_of(Primitive::Copy).with_block(4));
    requests
}

fn measured(host: &Host, request: &Request) -> Matrix {
    let plan = plan(host.topology(), request);
    let mut reported = Vec::new();
    let matrix = measure_matrix(host, &plan, &mut |done, of| {
        reported.push((done, of));
        ControlFlow::Continue(())
    })
    .unwrap_or_else(|error| panic!("{request:?}: {error}"));
    let of = plan.pairs().len();
    let expected: Vec<_> = (1..=of).map(|done| (done, of)).collect();
    assert_eq!(reported, expected);
    assert_eq!(matrix.pairs_measured, of);
    matrix
}

fn cells(matrix: &Matrix) -> Vec<f64> {
    matrix
        .one_way_ns
        .iter()
        .flatten()
        .flatten()
        .copied()
        .collect()
}

#[test]
fn every_primitive_among_2_3_and_5_spes() {
    for spes in [2, 3, 5] {
        let host = Host::builder().spes(spes).build().unwrap();
        for request in every_request() {
            let pairs = spes * (spes - 1) / 2;
            let budget = Some(milliseconds(3 * pairs as u64));
            let matrix = measured(
                &host,
                &Request {
                    budget,
                    ..request.clone()
                },
            );
            assert_eq!(
                (pairs, request.function),
                (matrix.pairs, Function::Matrix(matrix.primitive))
            );
            assert_eq!(matrix.one_way_ns.len(), spes);
            for (from, row) in matrix.one_way_ns.iter().enumerate() {
                assert_eq!(row.len(), spes);
                for (to, time) in row.iter().enumerate() {
                    assert_eq!(time.is_some(), from != to, "{matrix:?}");
                }
            }
            assert!(cells(&matrix).iter().all(|ns| *ns > 0.0), "{matrix:?}");
            let is_atomic = matrix.primitive == Primitive::Atomic;
            let polling = is_atomic.then(|| request.polling.unwrap_or(Polling::Reads));
            assert_eq!(matrix.polling, polling);
            let is_copy = matrix.primitive == Primitive::Copy;
            let bytes = is_copy.then(|| request.settings.block_bytes.unwrap_or(16 << 10));
            assert_eq!(matrix.block_bytes, bytes);
            assert_eq!(matrix.home.is_some(), is_atomic || is_copy);
        }
    }
}

#[test]
fn classes_sum_up_their_pairs() {
    let host = Host::builder().spes(5).build().unwrap();
    let matrix = measured(&host, &within(Primitive::Mailbox, milliseconds(400)));
    let topology = host.topology();
    let mut of_class: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for a in topology.spes() {
        for b in topology.spes().filter(|&b| b > a) {
            let time = matrix.one_way_ns[a.index()][b.index()].unwrap();
            let name = topology.name_of(topology.distance(a, b)).to_owned();
            of_class.entry(name).or_default().push(time);
        }
    }
    assert_eq!(matrix.classes.len(), of_class.len());
    for class in &matrix.classes {
        let times = of_class.get_mut(&class.name).unwrap();
        times.sort_by(f64::total_cmp);
        assert_eq!(
            (class.pairs, class.pairs_measured),
            (times.len(), times.len())
        );
        assert_eq!(class.min_ns, times.first().copied());
        assert_eq!(class.p50_ns, Some(times[(times.len() - 1) / 2]));
        assert_eq!(class.max_ns, times.last().copied());
    }
}

#[test]
fn the_variable_is_placed_where_it_was_asked_for() {
    let host = Host::builder().spes(2).build().unwrap();
    for module in host.topology().modules() {
        let request = Request {
            module: Some(module),
            ..within(Primitive::Atomic, MILLISECOND)
        };
        let home = measured(&host, &request).home.unwrap();
        assert_eq!(home.module, Some(module.index()));
        assert_ne!(home.verified, Some(false));
        if home.verified.is_none() {
            skipped("the computer does not tell where memory is, as in a sandbox");
        }
    }
}

/// This computer has fewer CPUs than SPEs, so SPEs take turns on a CPU.
#[test]
fn a_sampled_matrix_tells_which_pairs_it_measured() {
    let host = Host::builder().spes(64).build().unwrap();
    let matrix = measured(&host, &within(Primitive::Atomic, milliseconds(100)));
    assert_eq!((matrix.pairs, matrix.pairs_measured), (64 * 63 / 2, 45));
    assert_eq!(cells(&matrix).len(), 90);
    for class in &matrix.classes {
        assert!(class.pairs_measured >= class.pairs.min(9), "{class:?}");
    }
}

#[test]
fn an_interrupted_matrix_has_the_pairs_that_were_measured() {
    let host = Host::builder().spes(4).build().unwrap();
    for primitive in [Primitive::Copy, Primitive::Signal] {
        let plan = plan(host.topology(), &within(primitive, milliseconds(12)));
        let matrix = measure_matrix(&host, &plan, &mut |done, _| match done {
            2 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        let matrix = matrix.unwrap();
        assert_eq!((matrix.pairs, matrix.pairs_measured), (6, 2));
        assert_eq!(cells(&matrix).len(), 4);
    }
}

#[test]
fn a_local_store_that_is_too_small_is_named_and_the_run_ends() {
    let host = Host::builder()
        .spes(3)
        .local_store_bytes(4096)
        .build()
        .unwrap();
    // The plan was made for larger local stores.
    let plan = plan(host.topology(), &within(Primitive::Copy, milliseconds(6)));
    let error = measure_matrix(&host, &plan, &mut go_on);
    let message = error.unwrap_err().to_string();
    assert!(
        message.starts_with("SPE 0: ") && message.contains("the block that is sent"),
        "{message}"
    );
}

#[test]
#[should_panic(expected = "the plan is for another machine than")]
fn a_plan_for_another_machine_is_refused() {
    let plan = plan(
        &two_sockets(),
        &within(Primitive::Mailbox, milliseconds(40)),
    );
    let host = Host::builder().spes(2).build().unwrap();
    let _ = measure_matrix(&host, &plan, &mut go_on);
}

#[test]
fn a_memory_matrix_of_this_computer_has_both_figures_in_each_cell() {
    for spes in [1, 3] {
        let host = Host::builder().spes(spes).build().unwrap();
        let request = Request {
            budget: Some(milliseconds(10)),
            ..Request::new(Function::Memory).with_block(1 << 20)
        };
        let plan = plan(host.topology(), &request);
        let mut reported = Vec::new();
        let measured = Visits::of(plan).visit(&host, false, &mut |done, all| {
            reported.push((done, all));
            ControlFlow::Continue(())
        });
        let Measured::Memory(matrix) = measured.unwrap() else {
            panic!("a memory matrix was asked for");
        };
        let all = matrix.rows.len() * matrix.modules;
        assert_eq!(matrix.modules, host.topology().modules().len());
        assert_eq!(
            reported,
            (1..=all).map(|done| (done, all)).collect::<Vec<_>>()
        );
        for cell in matrix.cells.iter().flatten() {
            let cell = cell.unwrap();
            assert!(cell.latency_ns > 0.0, "{cell:?}");
            assert!(cell.bandwidth_bytes_per_s > 0, "{cell:?}");
            // In a sandbox that forbids the system call, the value is `None`.
            assert_ne!(cell.verified, Some(false), "{cell:?}");
        }
    }
}

#[test]
fn an_interrupted_memory_matrix_has_the_modules_that_were_measured() {
    let host = Host::builder().spes(1).build().unwrap();
    let two_nodes = host.topology().clone().with_modules(2);
    let request = Request {
        budget: Some(milliseconds(10)),
        ..Request::new(Function::Memory).with_block(64 << 10)
    };
    let plan = plan(&two_nodes, &request);
    let stop = &mut |_, _| ControlFlow::Break(());
    let Measured::Memory(matrix) = Visits::of(plan).visit(&host, false, stop).unwrap() else {
        panic!("a memory matrix was asked for");
    };
    let is_there: Vec<bool> = matrix.cells[0].iter().map(Option::is_some).collect();
    assert_eq!(is_there, [true, false]);
}
