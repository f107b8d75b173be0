//! The plan of the memory matrix: which SPE reads which module, and the size of the block.

use std::collections::BTreeSet;

use cellworks_machine::{ModuleId, SpeId, Topology};

use super::chase::NODE_BYTES;
use super::layout::{Layout, WINDOW_BYTES, check_multiple};
use super::pairs::divided;
use super::place::Placed;
use crate::error::RequestError;
use crate::function::Function;
use crate::report::{MemoryRow, Storage};
use crate::request::{Iterations, Limits, Request};
use crate::settings::Settings;

/// The default size of a block, as a multiple of the size of the last-level cache. With this size,
/// the cache changes the measured latency of memory by only some per cent.
const PER_CACHE: usize = 4;

/// The default size of a block if the size of the last-level cache is not known.
const BLOCK_BYTES: usize = 256 << 20;

/// The default size of a block on a machine without caches. A larger block has nearly the same
/// figures, and takes longer to measure.
const BLOCK_WITHOUT_CACHES_BYTES: usize = 256 << 10;

/// The size of the largest block. An SPE receives the size in 32 bits.
const BLOCK_BYTES_MAX: usize = 2 << 30;

/// The task in which one SPE of each NUMA node or Cell reads each memory module, one module after
/// the other. `P` is the type of plans.
#[derive(Clone, Debug)]
pub(crate) struct MemoryTask<P> {
    pub block_bytes: usize,
    pub page_bytes: Option<usize>,
    pub lies_in: Option<Storage>,
    pub rows: Vec<MemoryRow>,
    pub modules: Vec<ModuleId>,
    pub cells: Vec<MemoryCellTask<P>>,
}

#[derive(Clone, Debug)]
pub(crate) struct MemoryCellTask<P> {
    pub module: ModuleId,
    /// The plan for following pointers in the block.
    pub latency: P,
    /// The plan for getting the whole block.
    pub bandwidth: P,
}

impl<P> MemoryTask<P> {
    /// Plans all cells of the matrix. `planned` makes the plan of a function for chosen SPEs.
    pub(super) fn plan(
        request: &Request,
        topology: &Topology,
        limits: &Limits,
        planned: impl Fn(&Request, Placed, &Limits) -> Result<P, RequestError>,
    ) -> Result<Self, RequestError> {
        let block_bytes = block_bytes(request, topology, limits)?;
        let rows = rows(topology);
        let modules: Vec<ModuleId> = topology.modules().collect();
        let cells = rows.len() * modules.len();
        let each = Request::new(Function::Chase).iterations;
        let each = match (request.budget, each) {
            (Some(budget), Iterations::Within(usual)) => {
                // Each cell has an equal share of the budget. Half of the share is for
                // preparations, and a quarter is for each of the two measurements.
                Iterations::Within(usual.min(divided(budget, 4 * cells)))
            }
            (_, usual) => usual,
        };
        let cell = |row: &MemoryRow, module| {
            let of = |function| Request {
                iterations: each,
                settings: Settings {
                    block_bytes: Some(block_bytes),
                    ..Settings::default()
                },
                ..Request::new(function)
            };
            let cell = topology.cell_of(SpeId::new(row.spe as u16));
            let placed = || Placed {
                cell,
                module,
                first: None,
                spes: vec![SpeId::new(row.spe as u16)],
            };
            let limits = Limits {
                block_bytes_max: block_bytes,
                ..*limits
            };
            Ok(MemoryCellTask {
                module,
                latency: planned(&of(Function::Chase), placed(), &limits)?,
                bandwidth: planned(&of(Function::DmaGet), placed(), &limits)?,
            })
        };
        let cells: Result<Vec<_>, RequestError> = rows
            .iter()
            .flat_map(|row| topology.modules().map(move |module| (row, module)))
            .map(|(row, module)| cell(row, module))
            .collect();
        Ok(Self {
            block_bytes,
            page_bytes: request.settings.page_bytes,
            lies_in: lies_in(block_bytes, topology),
            modules,
            cells: cells?,
            rows,
        })
    }

    pub fn settings(&self) -> Settings {
        Settings {
            block_bytes: Some(self.block_bytes),
            ..Settings::default()
        }
    }
}

/// Returns a row for each SPE that reads. On a computer, the first SPE of each NUMA node reads.
/// Without caches, the first SPE of each Cell reads, as several Cells may have one nearest module.
fn rows(topology: &Topology) -> Vec<MemoryRow> {
    let row = |spe: SpeId| MemoryRow {
        spe: spe.index(),
        cell: topology.cell_of(spe).index(),
        nearest_module: topology.module_of(spe).index(),
    };
    let has_caches = topology.capabilities().has_caches;
    let mut met = BTreeSet::new();
    let mut rows: Vec<MemoryRow> = topology
        .spes()
        .map(row)
        .filter(|row| {
            met.insert(if has_caches {
                row.nearest_module
            } else {
                row.cell
            })
        })
        .collect();
    if has_caches {
        rows.sort_by_key(|row| row.nearest_module);
    } else {
        rows.sort_by_key(|row| row.cell);
    }
    rows
}

fn block_bytes(
    request: &Request,
    topology: &Topology,
    limits: &Limits,
) -> Result<usize, RequestError> {
    let room = limits.memory_bytes_max.min(BLOCK_BYTES_MAX);
    let Some(bytes) = request.settings.block_bytes else {
        let wanted = match topology.last_level_cache_bytes() {
            _ if !topology.capabilities().has_caches => BLOCK_WITHOUT_CACHES_BYTES,
            Some(cache) => cache.saturating_mul(PER_CACHE),
            None => BLOCK_BYTES,
        };
        let whole = wanted.min(room) / WINDOW_BYTES * WINDOW_BYTES;
        return Ok(whole.max(NODE_BYTES));
    };
    check_multiple(request.function, bytes, NODE_BYTES)?;
    Layout::packed(1, bytes).check_fits(request, room, "main memory")?;
    Ok(bytes)
}

/// Returns the storage (a cache or memory) of a block of this size, while an SPE reads the block
/// again and again. Returns `None` without caches or if their size is not known.
fn lies_in(bytes: usize, topology: &Topology) -> Option<Storage> {
    let has_caches = topology.capabilities().has_caches;
    let cache = topology.last_level_cache_bytes().filter(|_| has_caches)?;
    Some(crate::storage::of_bytes(bytes, (cache, cache)))
}

#[cfg(test)]
mod tests {
    use cellworks_machine::{Capabilities, Span};

    use super::*;
    use crate::test_data::{LIMITS, site};

    const MB: usize = 1 << 20;

    /// Makes a topology from the Cell and the nearest memory module of each SPE.
    fn topology(sites: &[(u16, u16)], modules: u16) -> Topology {
        let cells = sites.iter().map(|(cell, _)| cell).max().unwrap() + 1;
        let of_cell = |cell| sites.iter().find(|(of, _)| *of == cell).unwrap().1;
        let of_cells = (0..cells).map(|cell| ModuleId::new(of_cell(cell)));
        let of_spes = sites.iter().map(|(_, module)| ModuleId::new(*module));
        Topology::new(
            "a machine",
            of_cells.collect(),
            sites.iter().map(|(cell, _)| site(*cell)).collect(),
        )
        .with_modules_of_spes(of_spes.collect())
        .with_modules(modules)
    }

    fn limits(memory_bytes_max: usize) -> Limits {
        Limits {
            memory_bytes_max,
            ..LIMITS
        }
    }

    type Asked = (Request, Vec<SpeId>);

    fn asked(request: &Request, placed: Placed, _: &Limits) -> Result<Asked, RequestError> {
        Ok((request.clone(), placed.spes))
    }

    fn planned(topology: &Topology, request: &Request) -> Result<MemoryTask<Asked>, RequestError> {
        MemoryTask::plan(request, topology, &limits(1 << 30), asked)
    }

    fn request() -> Request {
        Request::new(Function::Memory)
    }

    fn shape(task: &MemoryTask<Asked>) -> (Vec<[usize; 3]>, Vec<usize>) {
        let row = |row: &MemoryRow| [row.spe, row.cell, row.nearest_module];
        let columns = task.cells.iter().map(|cell| cell.module.index());
        (task.rows.iter().map(row).collect(), columns.collect())
    }

    #[test]
    fn rows_are_the_nodes_with_cpus_and_columns_all_nodes() {
        // Cells 0 and 1 are on node 0, Cell 2 is on nodes 1 and 0, and node 2 has no SPEs.
        let computer = topology(&[(0, 0), (1, 0), (2, 1), (2, 0)], 3);
        let task = planned(&computer, &request()).unwrap();
        assert_eq!(task.modules.len(), 3);
        assert_eq!(
            shape(&task),
            (vec![[0, 0, 0], [2, 2, 1]], vec![0, 1, 2, 0, 1, 2])
        );
        let readers = task.cells.iter().map(|cell| cell.latency.1[0].index());
        assert_eq!(readers.collect::<Vec<_>>(), [0, 0, 0, 2, 2, 2]);
    }

    #[test]
    fn rows_of_a_machine_without_caches_are_its_cells() {
        let cells = topology(&[(0, 0), (0, 0), (1, 0)], 1).with_capabilities(Capabilities {
            has_caches: false,
            ..Capabilities::default()
        });
        let task = planned(&cells, &request()).unwrap();
        assert_eq!(shape(&task), (vec![[0, 0, 0], [2, 1, 0]], vec![0, 0]));
        assert_eq!((task.block_bytes, task.lies_in), (256 << 10, None));
    }

    #[test]
    fn a_block_is_four_times_the_last_level_cache_or_what_there_is_room_for() {
        let one = topology(&[(0, 0)], 1);
        let of = |cache, room| {
            let computer = one.clone().with_last_level_cache(cache);
            let task = MemoryTask::plan(&request(), &computer, &limits(room), asked).unwrap();
            (task.block_bytes, task.lies_in)
        };
        assert_eq!(of(32 * MB, 1 << 30), (128 * MB, Some(Storage::Memory)));
        assert_eq!(of(32 * MB, 48 * MB), (48 * MB, Some(Storage::Partly)));
        assert_eq!(of(32 * MB, 20 * MB), (20 * MB, Some(Storage::Cache)));
        assert_eq!(of(2 << 30, 8 << 30), (2 << 30, Some(Storage::Cache)));
        let task = planned(&one, &request()).unwrap();
        assert_eq!((task.block_bytes, task.lies_in), (256 * MB, None));
    }

    #[test]
    fn the_budget_is_shared_out() {
        let computer = topology(&[(0, 0), (1, 1)], 2);
        let budget = Some(Span::from_nanoseconds(80_000_000));
        let task = planned(
            &computer,
            &Request {
                budget,
                ..request()
            },
        );
        for cell in task.unwrap().cells {
            for (request, _) in [cell.latency, cell.bandwidth] {
                let each = Span::from_nanoseconds(5_000_000);
                assert_eq!(request.iterations, Iterations::Within(each));
            }
        }
    }

    #[test]
    fn a_block_that_cannot_be_is_refused() {
        let one = topology(&[(0, 0)], 1);
        let refusal = |bytes| {
            let error = planned(&one, &request().with_block(bytes)).unwrap_err();
            (error.flag, error.to_string())
        };
        assert_eq!(
            refusal(100),
            (
                "-b",
                "memory matrix of 100 bytes: it takes a multiple of 64; use 64 or 128".to_owned()
            )
        );
        assert_eq!(
            refusal(2 << 30),
            (
                "-b",
                "a buffer of 2 GB: it may take 1 GB of main memory; use a smaller one".to_owned()
            )
        );
    }
}
