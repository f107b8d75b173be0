//! Allocates the main memory of measurements.

use cellworks_machine::memory::Region;
use cellworks_machine::{CellMachine, ModuleId};

use crate::error::MeasureError;

pub(super) fn allocate<M: CellMachine>(
    machine: &M,
    module: ModuleId,
    bytes: usize,
    page_bytes: Option<usize>,
) -> Result<Region, MeasureError> {
    Ok(match page_bytes {
        None => machine.allocate(module, bytes)?,
        Some(page_bytes) => machine.allocate_in_pages(module, bytes, page_bytes)?,
    })
}
