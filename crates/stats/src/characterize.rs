//! The measurements that describe a machine.

mod without_caches;

use std::collections::HashSet;

use cellworks_machine::{CellId, Span, SpeId, Topology};

use crate::function::Function;
use crate::request::{Count, Iterations, Limits, Request};
use crate::settings::Settings;

/// The time for all rounds of one measurement together.
const TIME_PER_MEASUREMENT: Span = Span::from_nanoseconds(100_000_000);

/// The maximum size of the private buffers of all SPEs together. To prepare larger buffers would
/// take longer than the measurement.
const PRIVATE_BYTES_MAX: usize = 1 << 30;

/// The sizes of blocks. Sizes for which a machine has no room are left out.
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

const LOCAL_BLOCK_BYTES: [usize; 5] = [16, 128, 1 << 10, 4 << 10, 16 << 10];

/// The bytes of all elements of a list, as in the paper's figures 10 and 11.
const LIST_TOTAL_BYTES: usize = 16 << 10;
const LIST_ELEMENTS: [u32; 6] = [1, 4, 16, 64, 256, 1_024];

const COPY_BYTES: [usize; 9] = [
    1 << 10,
    4 << 10,
    16 << 10,
    64 << 10,
    256 << 10,
    1 << 20,
    4 << 20,
    16 << 20,
    64 << 20,
];

/// The maximum size of the blocks that several SPEs copy. Most caches are smaller.
const COPY_BY_SEVERAL_BYTES_MAX: usize = 64 << 20;

/// The sizes of the smallest table, which fits into any cache, and of the largest table, which fits
/// into few caches. Sizes between them are powers of two and, because of caches of 48 KB, the means
/// of two successive powers.
const TABLE_BYTES_MIN: usize = 4 << 10;
const TABLE_BYTES_MAX: usize = 256 << 20;

/// The size of a table that is rarely in a cache, but takes little time to make.
const MEMORY_TABLE_BYTES: usize = 128 << 20;

/// The numbers of chains. The maximum of misses under way differs between cores: 10 to 48.
const CHAINS: [u32; 12] = [1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 32, 48];

/// The numbers of SPEs that contend for a variable or memory. The number of all SPEs is added.
const CONTENDERS: [usize; 13] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256];

/// Returns valid requests for the measurements that describe this machine.
///
/// On every machine:
///
/// - starting a program on one SPE and on all SPEs, and creating an OS thread, if the machine has
///   an operating system;
/// - exchanges of the PPE, and of SPE 0, with one SPE of each Cell, by mailbox and by signal;
/// - atomic operations by one SPE, by all SPEs on one variable, and by all SPEs on private
///   variables, and `fetchadd` on one variable by numbers of SPEs between one and all;
/// - waking an SPE of the first Cell and an SPE of the last Cell, by the PPE and by SPE 0.
///
/// On a machine that [has caches](cellworks_machine::Capabilities::has_caches):
///
/// - DMA blocks of 16 bytes to 64 MB by one SPE of Cell 0, by all SPEs on one buffer, and by all
///   SPEs on private buffers of up to 1 GB together. Blocks of 128 bytes and of 16 KB are also
///   measured in all other memory modules. Blocks of up to 16 KB are also measured between SPE 0
///   and an SPE of the first Cell, and between SPE 0 and an SPE of the last Cell;
/// - DMA lists of 1 to 1,024 elements, 16 KB in all, by one SPE;
/// - copies of 1 KB to 64 MB by one SPE, and copies of one size by several numbers of SPEs. This
///   size is the largest power of two, up to 64 MB, for which each SPE has room for two blocks;
/// - chases through tables of 4 KB to 256 MB, and through a table of 128 MB with 1 to 48 chains,
///   and while all other SPEs load the memory.
///
/// On a machine without caches, mostly as in the paper's figures:
///
/// - DMA blocks of 16 bytes to 16 KB by 1, 2, 4, 8, 16 and all SPEs, in shared and in private
///   buffers in each memory module of a Cell (figures 4 to 7). Also in a shared buffer in the local
///   store of SPE 0, by SPEs of each Cell (figures 8 and 9);
/// - DMA lists of 1 to 1,024 elements, 16 KB in all, by one and by all SPEs (figures 10, 11);
/// - copies of 1 KB to 64 KB by one SPE, and of 64 KB by several SPEs;
/// - chases through a table of 256 KB with 1 to 16 chains, and with one chain while all other SPEs
///   load the memory.
///
/// Measurements for which the machine has no room are left out. There are 100 to 300 measurements.
/// The rounds of each take at most 0.1 s, which [`Plan::set_span`](crate::Plan::set_span) can
/// change. On a simulated Cell blade, all measurements take some tens of millions of bus packets.
pub fn characterize(topology: &Topology, limits: &Limits) -> Vec<Request> {
    let all = topology.spes().len();
    let has_caches = topology.capabilities().has_caches;
    let request = |function| Request {
        iterations: Iterations::Within(TIME_PER_MEASUREMENT),
        ..Request::new(function)
    };
    let mut requests = vec![request(Function::MkThread)];
    requests.extend((all > 1).then(|| Request {
        spes: Count::Shared(all),
        ..request(Function::MkThread)
    }));
    requests.push(request(Function::OsThread));
    requests.extend(exchanges(topology, request));
    for function in [Function::DmaGet, Function::DmaPut] {
        requests.extend(if has_caches {
            blocks(topology, &request(function))
        } else {
            without_caches::blocks(topology, &request(function))
        });
    }
    for function in [Function::DmaListGet, Function::DmaListPut] {
        requests.extend(lists(&request(function)));
        if !has_caches {
            requests.extend(lists(&Request {
                spes: Count::Shared(all),
                ..request(function)
            }));
        }
    }
    requests.extend(atomics(all, request));
    requests.extend(wake_ups(topology, &request(Function::WakeUp)));
    let (copy, chase) = (request(Function::Copy), request(Function::Chase));
    if has_caches {
        requests.extend(copies(all, limits, &copy));
        requests.extend(chases(all, &chase));
    } else {
        requests.extend(without_caches::copies(all, &copy));
        requests.extend(without_caches::chases(all, &chase));
    }
    let mut seen = HashSet::new();
    requests.retain(|request| {
        // Removes requests that occur twice, and requests that need more than the machine has.
        seen.insert(request.clone()) && request.plan(topology, limits).is_ok()
    });
    requests
}

fn blocks(topology: &Topology, request: &Request) -> Vec<Request> {
    let all = topology.spes().len();
    let mut requests = Vec::new();
    for bytes in BLOCK_BYTES {
        for spes in one_and_all(all) {
            if spes == Count::Private(all) && bytes * all > PRIVATE_BYTES_MAX {
                continue;
            }
            requests.push(Request {
                spes,
                ..request.with_block(bytes)
            });
        }
    }
    let near = topology.module_of(SpeId::new(0));
    for module in topology.modules().filter(|module| *module != near) {
        requests.extend([128, 16 << 10].map(|bytes| Request {
            module: Some(module),
            ..request.with_block(bytes)
        }));
    }
    for cell in first_and_last(topology) {
        requests.extend(LOCAL_BLOCK_BYTES.map(|bytes| Request {
            spes: Count::Shared(2),
            between_spes: true,
            cell: Some(cell),
            ..request.with_block(bytes)
        }));
    }
    requests
}

/// Returns the first Cell and the last Cell, as examples of a Cell near SPE 0 and of a Cell far
/// from SPE 0. Measuring every Cell of a large machine would take minutes.
fn first_and_last(topology: &Topology) -> impl Iterator<Item = CellId> + use<> {
    let (first, last) = (topology.cells().next(), topology.cells().last());
    first.into_iter().chain(last.filter(move |_| first != last))
}

fn one_and_all(all: usize) -> Vec<Count> {
    let mut counts = vec![Count::Shared(1)];
    if all > 1 {
        counts.extend([Count::Shared(all), Count::Private(all)]);
    }
    counts
}

fn exchanges(topology: &Topology, request: impl Fn(Function) -> Request) -> Vec<Request> {
    let mut requests = Vec::new();
    for function in [Function::Mailbox, Function::Signal] {
        for (spes, between_spes) in [(1, false), (2, true)] {
            requests.extend(topology.cells().map(|cell| Request {
                spes: Count::Shared(spes),
                between_spes,
                cell: Some(cell),
                ..request(function)
            }));
        }
    }
    requests
}

fn lists(request: &Request) -> impl Iterator<Item = Request> {
    LIST_ELEMENTS.into_iter().map(|elements| Request {
        settings: Settings {
            list_elements: Some(elements),
            block_bytes: Some(LIST_TOTAL_BYTES / elements as usize),
            ..request.settings
        },
        ..request.clone()
    })
}

fn atomics(all: usize, request: impl Fn(Function) -> Request) -> Vec<Request> {
    let functions = Function::ALL
        .into_iter()
        .filter(|function| (Function::FetchAdd..=Function::FetchSet).contains(function));
    let by_one_and_all = functions.flat_map(|function| {
        let request = request(function);
        let by = move |spes| Request {
            spes,
            ..request.clone()
        };
        one_and_all(all).into_iter().map(by)
    });
    let by_some = some_of(all).map(|spes| Request {
        spes: Count::Shared(spes),
        ..request(Function::FetchAdd)
    });
    by_one_and_all.chain(by_some).collect()
}

fn wake_ups(topology: &Topology, request: &Request) -> Vec<Request> {
    let of_cell = |cell| {
        [(1, false), (2, true)].map(|(spes, between_spes)| Request {
            spes: Count::Shared(spes),
            between_spes,
            cell: Some(cell),
            ..request.clone()
        })
    };
    first_and_last(topology).flat_map(of_cell).collect()
}

fn some_of(all: usize) -> impl Iterator<Item = usize> {
    let is_some = move |spes: &usize| (2..all).contains(spes);
    CONTENDERS.into_iter().filter(is_some)
}

fn copies(all: usize, limits: &Limits, request: &Request) -> Vec<Request> {
    let copy = |spes, bytes| Request {
        spes,
        ..request.with_block(bytes)
    };
    // Each SPE has a source and a target.
    let room = limits.memory_bytes_max / (2 * all);
    let fitting = room.min(COPY_BY_SEVERAL_BYTES_MAX).checked_ilog2();
    let of_several = fitting.map_or(0, |log2| 1 << log2);
    let mut sizes = COPY_BYTES.to_vec();
    if all > 1 && !sizes.contains(&of_several) {
        sizes.push(of_several);
        sizes.sort_unstable();
    }
    let by_one = sizes.into_iter().map(|bytes| copy(Count::Shared(1), bytes));
    let several = some_of(all).chain((all > 1).then_some(all));
    let by_several = several.map(|spes| copy(Count::Private(spes), of_several));
    by_one.chain(by_several).collect()
}

fn chases(all: usize, request: &Request) -> Vec<Request> {
    let chase = |bytes, chains, loading_spes| Request {
        settings: Settings {
            block_bytes: Some(bytes),
            chains: Some(chains),
            loading_spes: Some(loading_spes),
            ..request.settings
        },
        ..request.clone()
    };
    let sizes = std::iter::successors(Some(TABLE_BYTES_MIN), |bytes| Some(bytes * 2));
    let by_size = sizes
        .flat_map(|bytes| [bytes, bytes / 2 * 3])
        .take_while(|bytes| *bytes <= TABLE_BYTES_MAX)
        .map(|bytes| chase(bytes, 1, 0));
    let by_chains = CHAINS
        .into_iter()
        .filter(|chains| *chains > 1)
        .map(|chains| chase(MEMORY_TABLE_BYTES, chains, 0));
    let under_load = (all > 1).then(|| chase(MEMORY_TABLE_BYTES, 1, all - 1));
    by_size.chain(by_chains).chain(under_load).collect()
}
