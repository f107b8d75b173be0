//! Copies: one SPE has just written a block, and the other SPE gets the block by DMA.

use cellworks_machine::memory::LINE_BYTES;
use cellworks_machine::mfc::{EffectiveAddress, RawCommand, Tag};
use cellworks_machine::{CellSpe, LocalBuffer, Mfc, SpeId};

use super::command::Command;
use super::rounds::Rounds;
use super::sides::{STOP, Sides};
use crate::error::{SpeError, Untrusted};
use crate::program::check;

const TAG: Tag = Tag::of::<0>();

/// The word that requests the address of the block. The answer is the address as two words, the
/// upper half first. Any other word is the sequence number of a requested block, from 1 on.
const WHERE: u32 = 0;

/// The blocks of an SPE, which sends in some pairs and receives in other pairs.
pub(super) struct Blocks {
    sent: LocalBuffer,
    received: LocalBuffer,
    bytes: usize,
    has_sent: bool,
}

impl Blocks {
    pub fn reserve<S: CellSpe>(spe: &S, bytes: u32) -> Result<Self, SpeError> {
        let bytes = bytes as usize;
        let reserve = |what| {
            let align = LINE_BYTES as u32;
            spe.local_store().reserve(bytes, align, what)
        };
        Ok(Self {
            sent: reserve("the block that is sent")?,
            received: reserve("the block that is received")?,
            bytes,
            has_sent: false,
        })
    }

    /// Returns the content of block `number`. Successive blocks differ in every byte.
    fn content(&self, number: u32) -> Vec<u8> {
        let byte = |at: usize| (at as u8).wrapping_mul(0x35) ^ (number as u8);
        (0..self.bytes).map(byte).collect()
    }

    fn get<S: CellSpe>(&self, spe: &S, from: EffectiveAddress) -> Result<(), SpeError> {
        let command = RawCommand::get(self.received.address(), from, self.bytes as u32, TAG);
        spe.mfc().issue(command)?;
        spe.mfc().wait_all(TAG.mask());
        Ok(())
    }

    fn receive_all<S: CellSpe>(
        &self,
        spe: &S,
        command: &Command,
        rounds: &mut Rounds,
    ) -> Result<(), SpeError> {
        let partner = command.partner;
        spe.write_in_mbox_of(partner, WHERE);
        let [eah, eal] = [(); 2].map(|()| spe.read_in_mbox());
        let from = EffectiveAddress::from_halves(eah, eal);
        let number = std::cell::Cell::new(WHERE);
        rounds.operations(
            || spe.now(),
            command.span,
            || {
                number.set(number.get() + 1);
                spe.write_in_mbox_of(partner, number.get());
                Ok(check(partner, number.get(), spe.read_in_mbox())?)
            },
            || self.get(spe, from),
            || {
                let mut found = vec![0; self.bytes];
                spe.local_store().read(self.received.address(), &mut found);
                Ok(compare(partner, &self.content(number.get()), &found)?)
            },
        )
    }
}

impl<S: CellSpe> Sides<S> for Blocks {
    /// Receives blocks and takes the time, because only the receiver can detect an arrival.
    fn time(&mut self, spe: &S, command: &Command, rounds: &mut Rounds) -> Result<(), SpeError> {
        let outcome = self.receive_all(spe, command, rounds);
        spe.write_in_mbox_of(command.partner, STOP);
        outcome
    }

    /// Writes the block before each answer, so that only the cache of this SPE has the block.
    fn answer(&mut self, spe: &S, command: &Command) -> Result<(), SpeError> {
        let partner = command.partner;
        self.has_sent = true;
        loop {
            match spe.read_in_mbox() {
                STOP => return Ok(()),
                WHERE => {
                    let block = spe.local_store().effective(self.sent.address());
                    spe.write_in_mbox_of(partner, block.eah());
                    spe.write_in_mbox_of(partner, block.eal());
                }
                number => {
                    spe.local_store()
                        .write(self.sent.address(), &self.content(number));
                    spe.write_in_mbox_of(partner, number);
                }
            }
        }
    }

    fn sent(&self, spe: &S) -> Option<EffectiveAddress> {
        let block = || spe.local_store().effective(self.sent.address());
        self.has_sent.then(block)
    }
}

fn compare(sender: SpeId, expected: &[u8], found: &[u8]) -> Result<(), Untrusted> {
    let wrong = expected.iter().zip(found).position(|(a, b)| a != b);
    match wrong {
        None => Ok(()),
        Some(at) => Err(Untrusted::new(format!(
            "byte {at} of a block from {sender} is {:#04x}, and {:#04x} was written there",
            found[at], expected[at]
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_byte_is_named() {
        assert_eq!(compare(SpeId::new(2), &[1, 2], &[1, 2]), Ok(()));
        assert_eq!(
            compare(SpeId::new(2), &[1, 2], &[1, 3])
                .unwrap_err()
                .to_string(),
            "the measurement cannot be trusted: byte 1 of a block from SPE 2 is 0x03, and 0x02 was \
             written there; the machine is at fault, please report it"
        );
    }
}
