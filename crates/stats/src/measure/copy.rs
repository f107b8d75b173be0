//! `copy`: a block of main memory to another place in main memory. The paper does not have it, but
//! moving blocks in and out by DMA is half of it each.
//!
//! ```text
//!   source  ── stream ──►  a tile to read   ─┐
//!                                            │ copy_from_slice
//!   target ◄─ stage_out ─  a tile to write  ◄┘
//! ```
//!
//! Each SPE allocates its two blocks itself and is the first to touch them: that is how ordinary
//! memory comes to lie near to it. A tile is as large as staging allows. Where staging moves nothing,
//! a tile is the whole block, and what is measured is the C library's `memcpy`.

use std::ops::ControlFlow;

use cellworks_machine::{Machine, Spe};

use super::crew::{Crew, Work, conduct, work};
use super::{CONTROL_BLOCK_STRIDE_BYTES, ControlBlock, Outcome, control_blocks};
use crate::error::{MeasureError, SpeError, Untrusted};
use crate::request::{CopyTask, Plan};

pub(super) fn measure<M: Machine>(
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
            ppe.spawn(spe, move |spe| {
                work(spe, block, |_, block| Ok(Copier::new(task, block.position)))
            })
        };
        let programs = task.spes.iter().copied().enumerate().map(spawn).collect();
        let mut crew = Crew::gather(ppe, programs);
        // Whoever stopped the crew is named by `dismiss`.
        let _ = conduct(&plan.pace, |round| crew.round(round));
        crew.dismiss()
    })??;
    Ok(Outcome {
        loops: results.into_iter().map(|(timed, ())| timed).collect(),
        operations_per_iteration: 1,
        bytes_per_iteration: task.bytes,
    })
}

/// The two blocks of one SPE.
pub(super) struct Copier {
    source: Vec<u64>,
    target: Vec<u64>,
    tile: usize,
    position: u32,
}

impl Copier {
    /// Blocks for the SPE at `position`, which must be the one that calls.
    pub fn new(task: &CopyTask, position: u32) -> Self {
        let words = task.bytes / size_of::<u64>();
        Self {
            source: (0..words).map(|index| content(position, index)).collect(),
            target: (0..words).map(|index| !content(position, index)).collect(),
            tile: task.tile_bytes / size_of::<u64>(),
            position,
        }
    }

    /// Copies the block, and asks after each tile whether to go on.
    pub fn copy<S: Spe>(
        &mut self,
        spe: &S,
        mut go_on: impl FnMut() -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, SpeError> {
        let mut tiles = spe.stream(&self.source, self.tile);
        for target in self.target.chunks_mut(self.tile) {
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

impl<S: Spe> Work<S> for Copier {
    type Left = ();

    fn operate(&mut self, spe: &S) -> Result<(), SpeError> {
        self.copy(spe, || ControlFlow::Continue(())).map(|_| ())
    }

    fn finish(self, _: &S) -> Result<(), SpeError> {
        Ok(verify(self.position, &self.target)?)
    }
}

/// What word `index` of the source at `position` is: no two are equal, in one block or in several.
fn content(position: u32, index: usize) -> u64 {
    (u64::from(position) << 40 | index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

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
