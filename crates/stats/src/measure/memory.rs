//! The memory matrix: one SPE of each NUMA node or Cell reads each memory module.
//!
//! ```text
//!   for each reading SPE, and each memory module
//!     a block in the module, several times as large as the last-level cache
//!     latency     the SPE follows pointers through the block in random order: `chase`
//!     bandwidth   the SPE gets the whole block, with up to 64 KB under way: `dmaget`
//! ```
//!
//! A node in the block has the index of the next node instead of a reference, so a load takes some
//! cycles longer than in a table that an SPE allocates.

use std::ops::ControlFlow;

use cellworks_machine::memory::Region;
use cellworks_machine::{CellMachine, ModuleId};

use super::outcome::Outcome;
use super::region::allocate;
use super::summary::summarize;
use super::{chase, transfer};
use crate::error::MeasureError;
use crate::plan::memory::{MemoryCellTask, MemoryTask};
use crate::plan::{Plan, Task};
use crate::report::{Measurement, MemoryCell, MemoryMatrix};
use crate::sample::round_medians;

/// The number of addresses of a block for which the machine is asked for the memory module.
const CHECKED_PLACES: usize = 16;

/// Measures the entries of the matrix in order. After each entry, calls `progress` with the numbers
/// of measured and of all entries. If `progress` returns a break, the remaining entries are `None`.
pub(super) fn measure<M: CellMachine>(
    machine: &M,
    task: &MemoryTask<Plan>,
    progress: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<MemoryMatrix, MeasureError> {
    let mut cells = Vec::with_capacity(task.cells.len());
    for cell in &task.cells {
        cells.push(Some(measure_cell(machine, task, cell)?));
        if progress(cells.len(), task.cells.len()).is_break() {
            break;
        }
    }
    cells.resize(task.cells.len(), None);
    Ok(MemoryMatrix {
        block_bytes: task.block_bytes,
        lies_in: task.lies_in,
        rows: task.rows.clone(),
        modules: task.modules.len(),
        module_numbers: task.modules.iter().map(|module| module.index()).collect(),
        cells: cells
            .chunks(task.modules.len())
            .map(<[_]>::to_vec)
            .collect(),
    })
}

fn measure_cell<M: CellMachine>(
    machine: &M,
    task: &MemoryTask<Plan>,
    cell: &MemoryCellTask<Plan>,
) -> Result<MemoryCell, MeasureError> {
    let block = allocate(machine, cell.module, task.block_bytes, task.page_bytes)?;
    let (Task::Chase(chase), Task::Transfer(transfer)) = (&cell.latency.task, &cell.bandwidth.task)
    else {
        unreachable!("a latency is that of a chase, and a bandwidth that of a transfer");
    };
    let plan = &cell.latency;
    let latency = one_visit(plan, &chase::in_region(machine, plan, chase, &block)?)?;
    let plan = &cell.bandwidth;
    let outcome = transfer::in_region(machine, plan, transfer, block.clone())?;
    let bandwidth = one_visit(plan, &outcome)?;
    Ok(MemoryCell {
        latency_ns: latency.latency_ns.p50,
        latency_interval_ns: latency.median_interval_ns,
        bandwidth_bytes_per_s: bandwidth
            .bandwidth_bytes_per_s
            .expect("a transfer has a bandwidth"),
        huge_page_share: machine.huge_page_share(&block),
        verified: is_in(machine, &block, cell.module),
    })
}

/// Summarizes the loops of one visit. Returns an error if the result is impossible.
fn one_visit(plan: &Plan, outcome: &Outcome) -> Result<Measurement, MeasureError> {
    let mut plan = plan.clone();
    plan.pace.earlier.push(round_medians(&outcome.loops));
    summarize(&plan, outcome)
}

/// Returns whether the block lies in a memory module, or `None` if the machine cannot tell this.
fn is_in<M: CellMachine>(machine: &M, block: &Region, module: ModuleId) -> Option<bool> {
    let step = block.bytes().div_ceil(CHECKED_PLACES);
    let mut is_there = true;
    for offset in (0..block.bytes()).step_by(step) {
        is_there &= machine.home_of(block.at(offset))? == module;
    }
    Some(is_there)
}
