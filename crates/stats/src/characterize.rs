//! What to measure to know a machine.

use cellworks_machine::{CellId, Span, Topology};

use crate::{Count, Function, Iterations, Limits, Request};

/// How long each timed loop is meant to take: about a hundred of them stay well under a minute.
const EACH: Span = Span::from_nanoseconds(100_000_000);

/// Private buffers of all SPEs together are measured up to this size, so that preparing them does not
/// outlast the measurement.
const PRIVATE_BYTES_MAX: usize = 1 << 30;

/// The sizes of blocks, as far as the machine has them.
const BLOCK_BYTES: [usize; 9] = [
    16,
    128,
    1 << 10,
    4 << 10,
    16 << 10,
    256 << 10,
    1 << 20,
    16 << 20,
    64 << 20,
];

/// The sizes of blocks between local stores.
const LOCAL_BLOCK_BYTES: [usize; 5] = [16, 128, 1 << 10, 4 << 10, 16 << 10];

/// Lists that move 16 KB each, as in the paper's figures 10 and 11.
const LIST_TOTAL_BYTES: usize = 16 << 10;
const LIST_ELEMENTS: [u32; 6] = [1, 4, 16, 64, 256, 1_024];

/// The measurements that describe a machine, as requests that [`Request::plan`] accepts for it:
///
/// - starting a program on one SPE, and on all;
/// - mailboxes and signals between one SPE of each Cell and the PPE, and between it and SPE 0;
/// - DMA blocks of 16 bytes to 64 MB, as far as `limits` allow, by one SPE of Cell 0, by all on one
///   buffer, and by all on private buffers of up to 1 GB together; blocks of 128 bytes and 16 KB also
///   by one SPE with each other memory module; blocks up to 16 KB also between SPE 0 and an SPE
///   of the first and of the last Cell;
/// - DMA lists of 1 to 1,024 elements, 16 KB in all, by one SPE;
/// - atomic operations by one SPE, by all on one variable, and by all on private variables.
///
/// Each loop is meant to take 0.1 s after a warm-up.
///
/// On a computer with two cores they take about 20 seconds.
pub fn characterize(topology: &Topology, limits: &Limits) -> Vec<Request> {
    let all = topology.spes().len();
    let request = |function| Request {
        iterations: Iterations::Within(EACH),
        ..Request::new(function)
    };
    // One SPE; all on one buffer; each of all on its own.
    let mut counts = vec![Count::Shared(1)];
    if all > 1 {
        counts.extend([Count::Shared(all), Count::Private(all)]);
    }
    let mut requests = Vec::new();

    requests.push(request(Function::MkThread));
    if all > 1 {
        requests.push(Request {
            spes: Count::Shared(all),
            ..request(Function::MkThread)
        });
    }
    for function in [Function::Mailbox, Function::Signal] {
        for cell in topology.cells() {
            requests.push(Request {
                cell: Some(cell),
                ..request(function)
            });
        }
        for cell in topology.cells() {
            let between = Request {
                spes: Count::Shared(2),
                between_spes: true,
                ..request(function)
            };
            requests.push(Request {
                cell: Some(cell),
                ..between
            });
        }
    }
    for function in [Function::DmaGet, Function::DmaPut] {
        for bytes in BLOCK_BYTES {
            for spes in counts.iter().copied() {
                if spes == Count::Private(all) && bytes * all > PRIVATE_BYTES_MAX {
                    continue;
                }
                requests.push(Request {
                    spes,
                    block_bytes: Some(bytes),
                    ..request(function)
                });
            }
        }
        let near = topology.nearest_module(CellId::new(0));
        for module in topology.modules().filter(|module| *module != near) {
            for bytes in [128, 16 << 10] {
                let (module, block_bytes) = (Some(module), Some(bytes));
                requests.push(Request {
                    module,
                    block_bytes,
                    ..request(function)
                });
            }
        }
        // A near Cell and a far one stand for all, or large machines would take minutes.
        let (first, last) = (topology.cells().next(), topology.cells().last());
        for cell in first.into_iter().chain(last.filter(|_| first != last)) {
            for bytes in LOCAL_BLOCK_BYTES {
                requests.push(Request {
                    spes: Count::Shared(2),
                    between_spes: true,
                    cell: Some(cell),
                    block_bytes: Some(bytes),
                    ..request(function)
                });
            }
        }
    }
    for function in [Function::DmaListGet, Function::DmaListPut] {
        for elements in LIST_ELEMENTS {
            requests.push(Request {
                list_elements: Some(elements),
                block_bytes: Some(LIST_TOTAL_BYTES / elements as usize),
                ..request(function)
            });
        }
    }
    let atomics = Function::ALL
        .into_iter()
        .filter(|function| *function >= Function::FetchAdd);
    for function in atomics {
        requests.extend(counts.iter().map(|spes| Request {
            spes: *spes,
            ..request(function)
        }));
    }
    // What the machine does not have: larger blocks, Cells without SPEs, a second SPE.
    requests.retain(|request| request.plan(topology, limits).is_ok());
    requests
}
