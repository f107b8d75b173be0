//! `mailbox` and `signal`: a word to a partner and a word back (paper, sections 3.1.2 and 3.1.3).
//!
//! | | there | back |
//! |---|---|---|
//! | mailbox, PPE and SPE | inbound mailbox | outbound mailbox |
//! | mailbox, SPE and SPE | inbound mailbox | inbound mailbox |
//! | signal, PPE and SPE | signal register 1 | outbound mailbox |
//! | signal, SPE and SPE | signal register 1 | signal register 1 |

use cellworks_machine::mailbox::Outbound;
use cellworks_machine::mfc::EffectiveAddress;
use cellworks_machine::{CellMachine, CellSpe, SignalRegister, SpeId};

use super::control_block::{CONTROL_BLOCK_STRIDE_BYTES, ControlBlock, control_blocks, receive};
use super::crew::{Crew, READY, Work, conduct, work};
use super::outcome::Outcome;
use crate::error::{MeasureError, SpeError, Untrusted};
use crate::function::Channel;
use crate::plan::Plan;
use crate::program::{FAILED, check, join};
use crate::sample::Stopwatch;

const REGISTER: SignalRegister = SignalRegister::One;
/// The word that ends a partner's program, the only word with the most significant bit.
pub(super) const STOP: u32 = 1 << 31;

/// Measures exchanges of the initiator, which is SPE 0 or the PPE, with its partners. An iteration
/// is one exchange with each partner in turn.
pub(super) fn measure<M: CellMachine>(
    machine: &M,
    plan: &Plan,
    channel: Channel,
    between_spes: bool,
    partners: &[SpeId],
) -> Result<Outcome, MeasureError> {
    let initiator = between_spes.then_some(SpeId::new(0));
    let name = plan.function().name();
    let blocks = vec![ControlBlock::default(); partners.len() + 1];
    let region = control_blocks(machine, plan.module, blocks.into_iter())?;
    let block_of = |position: usize| region.at(position * CONTROL_BLOCK_STRIDE_BYTES);
    let rounds = machine.run(|ppe| {
        let mut handles = Vec::new();
        let mut all_ready = true;
        for (position, partner) in partners.iter().enumerate() {
            let block = block_of(position);
            let answer = move |spe: &M::Spe| answer(spe, block, channel, initiator);
            handles.push(ppe.spawn_named(*partner, name, answer));
        }
        for partner in partners {
            all_ready &= ppe.read_out_mbox(*partner, Outbound::Plain) == READY;
        }
        let rounds = match initiator {
            _ if !all_ready => Ok(Vec::new()),
            None => {
                let mut stopwatch = Stopwatch::new(1, || ppe.now());
                let mut word = 0;
                let mut exchange_with_each = || {
                    for partner in partners {
                        word = next(word);
                        match channel {
                            Channel::Mailbox => ppe.write_in_mbox(*partner, word),
                            Channel::Signal => ppe.send_signal(*partner, REGISTER, word),
                        }
                        check(*partner, word, ppe.read_out_mbox(*partner, Outbound::Plain))?;
                    }
                    Ok::<_, Untrusted>(())
                };
                let conducted = conduct(&plan.pace, |round| {
                    stopwatch.time(round, || ppe.now(), &mut exchange_with_each)
                });
                conducted
                    .map(|()| stopwatch.into_rounds())
                    .map_err(MeasureError::from)
            }
            Some(initiator) => {
                let block = block_of(partners.len());
                let program = ppe.spawn_named(initiator, name, move |spe| {
                    work(spe, block, |_, _| {
                        Ok(Initiator {
                            channel,
                            partners,
                            word: 0,
                        })
                    })
                });
                let results = Crew::measure(ppe, &plan.pace, vec![program]);
                results.map(|mut results| results.swap_remove(0).0)
            }
        };
        for partner in partners {
            match channel {
                Channel::Mailbox => ppe.write_in_mbox(*partner, STOP),
                Channel::Signal => ppe.send_signal(*partner, REGISTER, STOP),
            }
        }
        let answered: Vec<_> = handles.into_iter().map(join).collect();
        answered.into_iter().collect::<Result<(), _>>()?;
        rounds
    })??;
    Ok(Outcome {
        loops: vec![rounds],
        operations_per_iteration: partners.len(),
        ..Outcome::default()
    })
}

struct Initiator<'a> {
    channel: Channel,
    partners: &'a [SpeId],
    word: u32,
}

impl<S: CellSpe> Work<S> for Initiator<'_> {
    type Left = ();

    fn operate(&mut self, spe: &S) -> Result<(), SpeError> {
        for partner in self.partners {
            self.word = next(self.word);
            let reply = match self.channel {
                Channel::Mailbox => {
                    spe.write_in_mbox_of(*partner, self.word);
                    spe.read_in_mbox()
                }
                Channel::Signal => {
                    spe.send_signal(*partner, REGISTER, self.word);
                    spe.read_signal(REGISTER)
                }
            };
            check(*partner, self.word, reply)?;
        }
        Ok(())
    }

    fn finish(self, _: &S) -> Result<(), SpeError> {
        Ok(())
    }
}

/// Sends every word back to `initiator` or, without an `initiator`, to the PPE.
fn answer<S: CellSpe>(
    spe: &S,
    control_block: EffectiveAddress,
    channel: Channel,
    initiator: Option<SpeId>,
) -> Result<(), SpeError> {
    let received = receive(spe, control_block);
    spe.write_out_mbox(
        Outbound::Plain,
        if received.is_ok() { READY } else { FAILED },
    );
    loop {
        let word = match channel {
            Channel::Mailbox => spe.read_in_mbox(),
            Channel::Signal => spe.read_signal(REGISTER),
        };
        if word == STOP {
            return received.map(|_| ());
        }
        match (initiator, channel) {
            (None, _) => spe.write_out_mbox(Outbound::Plain, word),
            (Some(initiator), Channel::Mailbox) => spe.write_in_mbox_of(initiator, word),
            (Some(initiator), Channel::Signal) => spe.send_signal(initiator, REGISTER, word),
        }
    }
}

/// Returns the word after `word`, which is never 0 and never [`STOP`].
pub(super) fn next(word: u32) -> u32 {
    word % (STOP - 1) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_never_0_and_never_stop() {
        assert_eq!(next(0), 1);
        assert_eq!(next(STOP - 2), STOP - 1);
        assert_eq!(next(STOP - 1), 1);
    }
}
