//! The two sides of a pair, for any carrier of words.

use cellworks_machine::CellSpe;
use cellworks_machine::mfc::EffectiveAddress;

use super::command::Command;
use super::rounds::Rounds;
use crate::error::SpeError;

/// The number of lines of a module that hold the variable in turn. On many processors, the address
/// of a line decides which part of the last-level cache or of the mesh keeps the state of the line.
/// With several lines, the result does not depend on one such part.
pub(super) const LINES: usize = 8;

/// The word that ends an exchange. Other words are counted from 1, and milliseconds are too short
/// to count up to this number.
pub(super) const STOP: u32 = u32::MAX;

/// The two sides of a pair.
pub(super) trait Sides<S: CellSpe> {
    /// The side that sends requests and takes the time. At the end, even after an error, it sends
    /// its partner the word that ends the exchange.
    fn time(&mut self, spe: &S, command: &Command, rounds: &mut Rounds) -> Result<(), SpeError>;

    /// The side that does what its partner requests, until it gets [`STOP`].
    fn answer(&mut self, spe: &S, command: &Command) -> Result<(), SpeError>;

    /// The address of the block that this SPE has sent.
    fn sent(&self, _: &S) -> Option<EffectiveAddress> {
        None
    }
}
