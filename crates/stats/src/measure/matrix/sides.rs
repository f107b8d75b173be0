//! What the two sides of a pair do, whatever carries their words.

use cellworks_machine::CellSpe;
use cellworks_machine::mfc::EffectiveAddress;

use super::command::Command;
use super::rounds::Rounds;
use crate::error::SpeError;

/// How many lines of a module hold the variable in turn: which line it is decides, on many
/// processors, which part of the last-level cache or of the mesh keeps its state, and the result
/// should not depend on that.
pub(super) const LINES: usize = 8;

/// In place of a word of an exchange: there are no more. Words are counted from 1, and a pair is
/// measured for milliseconds, which is too short to count so far.
pub(super) const STOP: u32 = u32::MAX;

/// The two sides of a pair.
pub(super) trait Sides<S: CellSpe> {
    /// The side that asks and takes the time. However it ends, its partner has been told to stop.
    fn time(&mut self, spe: &S, command: &Command, rounds: &mut Rounds) -> Result<(), SpeError>;

    /// The side that does what its partner asks for, until that says [`STOP`].
    fn answer(&mut self, spe: &S, command: &Command) -> Result<(), SpeError>;

    /// Where the block is that this SPE has sent.
    fn sent(&self, _: &S) -> Option<EffectiveAddress> {
        None
    }
}
