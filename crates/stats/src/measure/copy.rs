//! `copy`: copies a block of main memory to another place in main memory. The paper does not have
//! this function. An SPE moves a tile in by DMA, copies the tile, and moves the copy out.
//!
//! ```text
//!   source  ── stream ──►  a tile to read   ─┐
//!                                            │ copy_from_slice
//!   target ◄─ stage_out ─  a tile to write  ◄┘
//! ```
//!
//! Each SPE allocates and first touches its two blocks, so the operating system places them near
//! the SPE. A tile is as large as staging allows. Without local stores, a tile is the whole block.
//! The time is then the time of the C library's `memcpy` plus the time of staging. Staging
//! prefetches the beginnings of both blocks, and yields to other threads.

use std::ops::ControlFlow;

use cellworks_machine::{CellMachine, CellSpe};

use super::control_block::{CONTROL_BLOCK_STRIDE_BYTES, ControlBlock, control_blocks};
use super::crew::{Crew, Work, work};
use super::outcome::Outcome;
use crate::error::{MeasureError, SpeError, Untrusted};
use crate::plan::Plan;
use crate::plan::copy::CopyTask;

pub(super) fn measure<M: CellMachine>(
    machine: &M,
    plan: &Plan,
    task: &CopyTask,
) -> Result<Outcome, MeasureError> {
    let blocks = (0..task.spes.len()).map(|position| ControlBlock {
        position: position as u32,
        spes: task.spes.len() as u32,
        ..ControlBlock::default()
    });
    let region = control_blocks(machine, plan.module, blocks)?;
    let results = machine.run(|ppe| {
        let spawn = |(position, spe)| {
            let block = region.at(position * CONTROL_BLOCK_STRIDE_BYTES);
            ppe.spawn_named(spe, plan.function().name(), move |spe| {
                work(spe, block, |_, block| Ok(Copier::new(task, block.position)))
            })
        };
        let programs = task.spes.iter().copied().enumerate().map(spawn).collect();
        Crew::measure(ppe, &plan.pace, programs)
    })??;
    Ok(Outcome {
        loops: results.into_iter().map(|(timed, ())| timed).collect(),
        operations_per_iteration: 1,
        bytes_per_iteration: task.bytes,
        ..Outcome::default()
    })
}

/// The distance of two addresses at which many processors delay a load after a store, because they
/// first compare only the lower 12 bits of the addresses (4K aliasing).
const ALIAS_BYTES: usize = 4096;

/// The source and the target of one SPE, in one allocation. To avoid aliasing, their distance is a
/// number of whole pages plus half a page. The distance of large blocks in separate allocations is
/// only a few bytes more than whole pages. With such a distance, copies of 4,096 bytes took 119 to
/// 172 ns instead of 65 ns (EPYC of family 25).
pub(super) struct Copier {
    memory: Vec<u64>,
    words: usize,
    tile: usize,
    position: u32,
}

impl Copier {
    /// Allocates the blocks of the calling SPE in memory near this SPE. `position` is the index of
    /// the SPE among the measured SPEs.
    #[inline]
    pub fn new(task: &CopyTask, position: u32) -> Self {
        let words = task.bytes / size_of::<u64>();
        let gap_bytes = (ALIAS_BYTES / 2 + ALIAS_BYTES - task.bytes % ALIAS_BYTES) % ALIAS_BYTES;
        let source = (0..words).map(|index| content(position, index));
        let gap = (0..gap_bytes / size_of::<u64>()).map(|_| 0);
        let target = (0..words).map(|index| !content(position, index));
        let mut memory = Vec::with_capacity(2 * words + gap.len());
        memory.extend(source.chain(gap).chain(target));
        Self {
            memory,
            words,
            tile: task.tile_bytes / size_of::<u64>(),
            position,
        }
    }

    fn blocks(&mut self) -> (&[u64], &mut [u64]) {
        let (source, rest) = self.memory.split_at_mut(self.words);
        let gap = rest.len() - self.words;
        (source, &mut rest[gap..])
    }

    /// Copies the block tile by tile. Ends early if `go_on`, called after each tile, returns a
    /// break.
    pub fn copy<S: CellSpe>(
        &mut self,
        spe: &S,
        mut go_on: impl FnMut() -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, SpeError> {
        let tile_words = self.tile;
        let (source, target) = self.blocks();
        let mut tiles = spe.stream(source, tile_words);
        for target in target.chunks_mut(tile_words) {
            let tile = tiles.next()?.expect("both blocks have equally many tiles");
            let mut out = spe.stage_out(target)?;
            out.copy_from_slice(tile);
            out.commit();
            if go_on().is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

impl<S: CellSpe> Work<S> for Copier {
    type Left = ();

    fn operate(&mut self, spe: &S) -> Result<(), SpeError> {
        self.copy(spe, || ControlFlow::Continue(())).map(|_| ())
    }

    fn finish(mut self, _: &S) -> Result<(), SpeError> {
        Ok(verify(self.position, self.blocks().1)?)
    }
}

/// Returns word `index` of the source of the SPE at `position`. All words of all sources differ.
#[inline]
fn content(position: u32, index: usize) -> u64 {
    (u64::from(position) << 40 | index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[inline]
fn verify(position: u32, copied: &[u64]) -> Result<(), Untrusted> {
    let expected = (0..).map(|index| content(position, index));
    let wrong = expected
        .zip(copied)
        .zip(0_usize..)
        .find(|((a, b), _)| a != *b);
    match wrong {
        None => Ok(()),
        Some(((expected, found), index)) => Err(Untrusted::new(format!(
            "word {index} of a copied block is {found:#018x}, and its source is {expected:#018x}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_and_target_are_half_a_page_apart() {
        for bytes in [16, 48, 2_048, 2_064, 4_096, 6_144, 6_160, 1 << 20] {
            let task = CopyTask {
                bytes,
                tile_bytes: bytes,
                spes: Vec::new(),
            };
            let mut copier = Copier::new(&task, 0);
            let (source, target) = copier.blocks();
            assert_eq!((source.len() * 8, target.len() * 8), (bytes, bytes));
            let apart = target.as_ptr().addr() - source.as_ptr().addr();
            assert_eq!(apart % 4_096, 2_048, "{bytes}");
            assert!((bytes..bytes + 4_096).contains(&apart), "{bytes}");
        }
    }

    #[test]
    fn a_word_that_was_not_copied_is_an_error() {
        let mut block: Vec<_> = (0..100).map(|index| content(2, index)).collect();
        assert_eq!(verify(2, &block), Ok(()));
        assert!(verify(1, &block).is_err(), "it is the block of another SPE");
        block[70] = !block[70];
        assert_eq!(
            verify(2, &block).unwrap_err().to_string(),
            format!(
                "the measurement cannot be trusted: word 70 of a copied block is {:#018x}, and its \
                 source is {:#018x}; the machine is at fault, please report it",
                block[70], !block[70]
            )
        );
    }
}
