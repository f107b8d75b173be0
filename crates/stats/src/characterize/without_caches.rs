//! The measurements of a machine without caches: the curves of the paper, and further curves.

use cellworks_machine::{CellId, ModuleId, Topology};

use crate::request::{Count, Request};
use crate::settings::Settings;

/// The numbers of SPEs in the paper's figures.
const SPES: [usize; 5] = [1, 2, 4, 8, 16];

/// The sizes of blocks, up to the largest block that one DMA command moves.
const BLOCK_BYTES: [usize; 5] = [16, 128, 1 << 10, 4 << 10, 16 << 10];

/// The sizes of copied blocks, from a fraction of a tile to several tiles.
const COPY_BYTES: [usize; 3] = [1 << 10, 16 << 10, 64 << 10];

/// The size of the table of pointers. With this size, all banks of a memory module have nodes. A
/// larger table would have the same latency, because there are no caches.
const TABLE_BYTES: usize = 256 << 10;

/// The numbers of chains, up to the number of entries of an MFC command queue.
const CHAINS: [u32; 5] = [1, 2, 4, 8, 16];

pub(super) fn blocks(topology: &Topology, request: &Request) -> Vec<Request> {
    let mut requests = memory_blocks(topology, request);
    requests.extend(local_blocks(topology, request));
    requests
}

pub(super) fn copies(all: usize, request: &Request) -> Vec<Request> {
    let by_one = COPY_BYTES.map(|bytes| request.with_block(bytes));
    let by_several = numbers(all).skip(1).map(|spes| Request {
        spes: Count::Private(spes),
        ..request.with_block(COPY_BYTES[2])
    });
    by_one.into_iter().chain(by_several).collect()
}

pub(super) fn chases(all: usize, request: &Request) -> Vec<Request> {
    let chase = |chains, loading_spes| Request {
        settings: Settings {
            block_bytes: Some(TABLE_BYTES),
            chains: Some(chains),
            loading_spes: Some(loading_spes),
            ..request.settings
        },
        ..request.clone()
    };
    let by_chains = CHAINS.into_iter().map(|chains| chase(chains, 0));
    by_chains
        .chain((all > 1).then(|| chase(1, all - 1)))
        .collect()
}

/// Returns the numbers of SPEs in the paper's figures that are below `all`, and `all` itself.
fn numbers(all: usize) -> impl Iterator<Item = usize> {
    let below = SPES.into_iter().filter(move |number| *number < all);
    below.chain([all])
}

fn memory_blocks(topology: &Topology, request: &Request) -> Vec<Request> {
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
                    ..request.with_block(bytes)
                }));
            }
        }
    }
    requests
}

fn local_blocks(topology: &Topology, request: &Request) -> Vec<Request> {
    let mut requests = Vec::new();
    for cell in topology.cells() {
        for count in numbers(topology.spes().len()).skip(1) {
            requests.extend(BLOCK_BYTES.map(|bytes| Request {
                spes: Count::Shared(count),
                between_spes: true,
                cell: Some(cell),
                ..request.with_block(bytes)
            }));
        }
    }
    requests
}
