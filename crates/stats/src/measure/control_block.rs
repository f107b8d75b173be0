//! Control blocks: what the PPE tells each SPE about its work, and the SPE gets by DMA.

use bytemuck::{Pod, Zeroable};
use cellworks_machine::memory::{LINE_BYTES, Region};
use cellworks_machine::mfc::{EffectiveAddress, RawCommand, Tag};
use cellworks_machine::{CellMachine, CellSpe, Mfc, ModuleId};

use crate::error::{MeasureError, SpeError};

/// What the PPE tells an SPE about its work.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
pub(super) struct ControlBlock {
    /// Where its buffer or variable is.
    pub ea: u64,
    /// Bytes in a block or in an element of a list; words in a variable.
    pub size: u32,
    /// Elements in a list; 0 for a single block.
    pub list_elements: u32,
    /// Which buffer it is, so that no two have the same content.
    pub buffer: u32,
    /// The SPE's position among those that work.
    pub position: u32,
    /// How many SPEs work; 0 if it is alone.
    pub spes: u32,
    /// A DMA command moves a multiple of 16 bytes.
    pub padding: u32,
}

/// The distance between control blocks: each has lines of its own.
pub(super) const CONTROL_BLOCK_STRIDE_BYTES: usize = LINE_BYTES;

/// The tag group of all measured transfers.
pub(super) const TAG: Tag = Tag::of::<0>();

/// The PPE's side of the control blocks: a region that holds one for each SPE.
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

/// The SPE's side: gets its control block by DMA.
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
