//! Control blocks, which describe the work of SPEs. Each SPE gets its control block by DMA.

use bytemuck::{Pod, Zeroable};
use cellworks_machine::memory::{LINE_BYTES, Region};
use cellworks_machine::mfc::{EffectiveAddress, RawCommand, Tag};
use cellworks_machine::{CellMachine, CellSpe, Mfc, ModuleId};

use crate::error::{MeasureError, SpeError};

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(super) struct ControlBlock {
    /// The address of the SPE's buffer or variable.
    pub ea: u64,
    /// The number of bytes in a block or in an element of a list, or the number of words in a
    /// variable.
    pub size: u32,
    /// The number of elements of a list, or 0 for a single block.
    pub list_elements: u32,
    /// The number of the SPE's buffer, which determines its content.
    pub buffer: u32,
    /// The position of the SPE among the working SPEs.
    pub position: u32,
    /// The number of working SPEs, or 0 if there is only one.
    pub spes: u32,
    /// Padding to a multiple of 16 bytes, which DMA requires.
    pub padding: u32,
}

/// The distance between control blocks, so that no two share a cache line.
pub(super) const CONTROL_BLOCK_STRIDE_BYTES: usize = LINE_BYTES;

/// The tag group of all measured transfers.
pub(super) const TAG: Tag = Tag::of::<0>();

pub(super) fn control_blocks<M: CellMachine>(
    machine: &M,
    module: ModuleId,
    blocks: impl ExactSizeIterator<Item = ControlBlock>,
) -> Result<Region, MeasureError> {
    let region = machine.allocate(module, blocks.len() * CONTROL_BLOCK_STRIDE_BYTES)?;
    for (position, block) in blocks.enumerate() {
        region.write(
            position * CONTROL_BLOCK_STRIDE_BYTES,
            bytemuck::bytes_of(&block),
        );
    }
    Ok(region)
}

pub(super) fn receive<S: CellSpe>(
    spe: &S,
    from: EffectiveAddress,
) -> Result<ControlBlock, SpeError> {
    let bytes = size_of::<ControlBlock>();
    let buffer = spe
        .local_store()
        .reserve(bytes, LINE_BYTES as u32, "the control block")?;
    spe.mfc()
        .issue(RawCommand::get(buffer.address(), from, bytes as u32, TAG))?;
    spe.mfc().wait_all(TAG.mask());
    let mut block = ControlBlock::zeroed();
    spe.local_store()
        .read(buffer.address(), bytemuck::bytes_of_mut(&mut block));
    Ok(block)
}
