//! The two sides of a pair: the timing SPE and the answering SPE, for any primitive.

use cellworks_machine::CellSpe;
use cellworks_machine::mfc::EffectiveAddress;

use super::command::Command;
use super::rounds::Rounds;
use crate::error::SpeError;

/// The number of cache lines that hold the variable, one after the other. On many processors, the
/// address of a line decides which slice of the last-level cache keeps the state of the line. With
/// several lines, the result does not depend on a single slice.
pub(super) const LINES: usize = 8;

/// The word that ends a series of exchanges. Other words count up from 1, far below this word.
pub(super) const STOP: u32 = u32::MAX;

pub(super) trait Sides<S: CellSpe> {
    /// Sends requests to the partner, and takes the time. Ends with [`STOP`], even after an error.
    fn time(&mut self, spe: &S, command: &Command, rounds: &mut Rounds) -> Result<(), SpeError>;

    /// Fulfils the requests of the partner, until the partner sends [`STOP`].
    fn answer(&mut self, spe: &S, command: &Command) -> Result<(), SpeError>;

    /// Returns the address of the block that this SPE has sent.
    fn sent(&self, _: &S) -> Option<EffectiveAddress> {
        None
    }
}
