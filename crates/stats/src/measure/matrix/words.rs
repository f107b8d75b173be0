//! Mailboxes and signals: a word goes to the other SPE, and the same word comes back.

use cellworks_machine::{CellSpe, SignalRegister, SpeId};

use super::command::Command;
use super::rounds::Rounds;
use super::sides::{STOP, Sides};
use crate::error::SpeError;
use crate::program::check;

pub(super) struct Words<W>(pub W);

pub(super) struct Mailbox;

pub(super) struct Signal;

const REGISTER: SignalRegister = SignalRegister::One;

trait Way<S: CellSpe> {
    fn send(&self, spe: &S, to: SpeId, word: u32);
    fn receive(&self, spe: &S) -> u32;
}

impl<S: CellSpe> Way<S> for Mailbox {
    #[inline]
    fn send(&self, spe: &S, to: SpeId, word: u32) {
        spe.write_in_mbox_of(to, word);
    }

    #[inline]
    fn receive(&self, spe: &S) -> u32 {
        spe.read_in_mbox()
    }
}

impl<S: CellSpe> Way<S> for Signal {
    #[inline]
    fn send(&self, spe: &S, to: SpeId, word: u32) {
        spe.send_signal(to, REGISTER, word);
    }

    #[inline]
    fn receive(&self, spe: &S) -> u32 {
        spe.read_signal(REGISTER)
    }
}

impl<S: CellSpe, W: Way<S>> Sides<S> for Words<W> {
    fn time(&mut self, spe: &S, command: &Command, rounds: &mut Rounds) -> Result<(), SpeError> {
        let partner = command.partner;
        let mut word = 0;
        let outcome = rounds.exchanges(
            || spe.now(),
            command.span,
            || {
                word += 1;
                self.0.send(spe, partner, word);
                Ok(check(partner, word, self.0.receive(spe))?)
            },
        );
        self.0.send(spe, partner, STOP);
        outcome
    }

    fn answer(&mut self, spe: &S, command: &Command) -> Result<(), SpeError> {
        loop {
            match self.0.receive(spe) {
                STOP => return Ok(()),
                word => self.0.send(spe, command.partner, word),
            }
        }
    }
}
