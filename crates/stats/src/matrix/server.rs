//! The SPE's side: it does what it is told until there is nothing more.

use cellworks_machine::mailbox::Outbound;
use cellworks_machine::mfc::EffectiveAddress;
use cellworks_machine::{CellSpe, Span, SpeId};

use super::blocks::Blocks;
use super::command::{Command, Role};
use super::request::Carrier;
use super::rounds::Rounds;
use super::variable::{Reads, Swaps, Variable};
use super::words::{Mailbox, Signal, Words};
use crate::error::SpeError;
use crate::program::FAILED;
use crate::report::Polling;
use crate::sample::Clock;

/// In the outbound mailbox: the SPE has done what it was told, and waits for what comes next.
const DONE: u32 = 1;

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

/// What SPEs measured.
#[derive(Debug, Default)]
pub(super) struct Served {
    /// Who took the time with whom, and how long one way took, unless the clock saw no time.
    pub one_way: Vec<(SpeId, SpeId, Span)>,
    /// The SPEs that sent blocks, and where these are.
    pub blocks: Vec<(SpeId, EffectiveAddress)>,
}

/// The program of every SPE.
pub(super) fn serve<S: CellSpe>(spe: &S, carrier: Carrier) -> Result<Served, SpeError> {
    match carrier {
        Carrier::Mailbox => obey(spe, Ok(Words(Mailbox))),
        Carrier::Signal => obey(spe, Ok(Words(Signal))),
        Carrier::Atomic(Polling::Reads) => obey(spe, Ok(Variable(Reads))),
        Carrier::Atomic(Polling::CompareAndSwap) => obey(spe, Ok(Variable(Swaps))),
        Carrier::Copy { bytes } => obey(spe, Blocks::reserve(spe, bytes)),
    }
}

fn obey<S: CellSpe>(spe: &S, sides: Result<impl Sides<S>, SpeError>) -> Result<Served, SpeError> {
    // Whoever fails says so, or the PPE would wait for its report for ever.
    let or_report = |failure| {
        spe.write_out_mbox(Outbound::Plain, FAILED);
        failure
    };
    let mut sides = sides.map_err(or_report)?;
    let mut served = Served::default();
    // Most SPEs take the time of many pairs, some of none.
    let mut clock = None;
    spe.write_out_mbox(Outbound::Plain, DONE);
    while let Some(command) = Command::receive(spe) {
        match command.role {
            Role::Answer => sides.answer(spe, &command).map_err(or_report)?,
            Role::Time => {
                let clock = *clock.get_or_insert_with(|| Clock::calibrate(|| spe.now()));
                let mut rounds = Rounds::new(clock);
                sides.time(spe, &command, &mut rounds).map_err(or_report)?;
                let one_way = rounds.median();
                served
                    .one_way
                    .extend(one_way.map(|median| (spe.id(), command.partner, median)));
            }
        }
        spe.write_out_mbox(Outbound::Plain, DONE);
    }
    let sent = sides.sent(spe);
    served.blocks.extend(sent.map(|block| (spe.id(), block)));
    Ok(served)
}
