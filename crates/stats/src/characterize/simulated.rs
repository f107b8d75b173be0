//! What to measure to know a simulated machine: the curves of the paper, and what else an SPE with
//! a local store and no caches has to show.

use cellworks_machine::{CellId, ModuleId, Topology};

use crate::{Count, Function, Iterations, Limits, Request};

/// Numbers of SPEs in the paper's figures.
const SPES: [usize; 5] = [1, 2, 4, 8, 16];

/// The sizes of blocks, up to what one DMA command moves.
const BLOCK_BYTES: [usize; 5] = [16, 128, 1 << 10, 4 << 10, 16 << 10];

/// The sizes of blocks that are copied from memory to memory: less than a tile, and many tiles.
const COPY_BYTES: [usize; 3] = [1 << 10, 16 << 10, 64 << 10];

/// The size of the table of pointers. There are no caches, so every size has the same latency; of
/// this one the nodes lie in all banks of a memory module.
const TABLE_BYTES: usize = 256 << 10;

/// Numbers of chains, up to the entries of an MFC command queue.
const CHAINS: [u32; 5] = [1, 2, 4, 8, 16];

/// The measurements that describe a simulated machine, as requests that [`Request::plan`] accepts for
/// it, all with [`Iterations::Steady`]:
///
/// - starting a program on one SPE, and on all;
/// - mailboxes and signals between one SPE of each Cell and the PPE, and between it and SPE 0;
/// - DMA blocks of 16 bytes to 16 KB by 1, 2, 4, 8, 16 and all SPEs, on shared and on private buffers, with
///   each memory module of a Cell (figures 4 to 7 of the paper); and with the local store of SPE 0, by
///   SPEs of each Cell (figures 8 and 9);
/// - DMA lists of 1 to 1,024 elements, 16 KB in all, by one SPE and by all (figures 10 and 11);
/// - atomic operations by one SPE, by all on one variable, and by all on private variables;
///   `fetchadd` also by numbers of SPEs between one and all (figure 12);
/// - waking an SPE of the first and of the last Cell, by the PPE and by SPE 0;
/// - copies of 1 KB to 64 KB by one SPE, and of the largest by several;
/// - chasing pointers through a table of 256 KB with 1 to 16 chains, and while all other SPEs load the
///   memory.
///
/// A Cell blade has about 300 measurements, which take some tens of millions of bus packets. What the
/// machine has no room for, such as blocks of 16 KB in local stores of 16 KB, is left out.
pub fn characterize_simulated(topology: &Topology, limits: &Limits) -> Vec<Request> {
    let all = topology.spes().len();
    let request = |function| Request {
        iterations: Iterations::Steady,
        ..Request::new(function)
    };
    let mut requests = vec![request(Function::MkThread)];
    requests.extend((all > 1).then(|| Request {
        spes: Count::Shared(all),
        ..request(Function::MkThread)
    }));
    requests.extend(super::exchanges(topology, request));
    for function in [Function::DmaGet, Function::DmaPut] {
        requests.extend(blocks(topology, &request(function)));
        requests.extend(local_blocks(topology, &request(function)));
    }
    for function in [Function::DmaListGet, Function::DmaListPut] {
        for spes in [Count::Shared(1), Count::Shared(all)] {
            requests.extend(super::lists(&Request {
                spes,
                ..request(function)
            }));
        }
    }
    requests.extend(super::atomics(all, request));
    requests.extend(super::wake_ups(topology, &request(Function::WakeUp)));
    requests.extend(COPY_BYTES.map(|bytes| Request {
        block_bytes: Some(bytes),
        ..request(Function::Copy)
    }));
    requests.extend(numbers(all).skip(1).map(|spes| Request {
        spes: Count::Private(spes),
        block_bytes: Some(COPY_BYTES[2]),
        ..request(Function::Copy)
    }));
    let chase = |chains, loading_spes| Request {
        block_bytes: Some(TABLE_BYTES),
        chains: Some(chains),
        loading_spes: Some(loading_spes),
        ..request(Function::Chase)
    };
    requests.extend(CHAINS.map(|chains| chase(chains, 0)));
    requests.extend((all > 1).then(|| chase(1, all - 1)));
    // A machine with one SPE has the same request twice.
    let mut seen = Vec::with_capacity(requests.len());
    requests.retain(|request| {
        let is_new = !seen.contains(request);
        seen.push(request.clone());
        is_new && request.plan(topology, limits).is_ok()
    });
    requests
}

/// The numbers of SPEs of the paper's figures that a machine of so many has, and all of them.
fn numbers(all: usize) -> impl Iterator<Item = usize> {
    let below = SPES.into_iter().filter(move |number| *number < all);
    below.chain([all])
}

/// Blocks of main memory: every size by every number of SPEs, with each module that is nearest to a
/// Cell.
fn blocks(topology: &Topology, request: &Request) -> Vec<Request> {
    let mut modules: Vec<ModuleId> = topology
        .cells()
        .map(|cell| topology.nearest_module(cell))
        .collect();
    modules.sort_unstable();
    modules.dedup();
    let mut requests = Vec::new();
    for &module in &modules {
        for count in numbers(topology.spes().len()) {
            let private = (count > 1).then_some(Count::Private(count));
            for spes in [Count::Shared(count)].into_iter().chain(private) {
                requests.extend(BLOCK_BYTES.map(|bytes| Request {
                    spes,
                    cell: Some(CellId::new(0)),
                    module: Some(module),
                    block_bytes: Some(bytes),
                    ..request.clone()
                }));
            }
        }
    }
    requests
}

/// Blocks of the local store of SPE 0: every size by every number of SPEs, those of each Cell first.
fn local_blocks(topology: &Topology, request: &Request) -> Vec<Request> {
    let mut requests = Vec::new();
    for cell in topology.cells() {
        for count in numbers(topology.spes().len()).skip(1) {
            requests.extend(BLOCK_BYTES.map(|bytes| Request {
                spes: Count::Shared(count),
                between_spes: true,
                cell: Some(cell),
                block_bytes: Some(bytes),
                ..request.clone()
            }));
        }
    }
    requests
}
